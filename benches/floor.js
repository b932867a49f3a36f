// The floor of a Node eval: {"id", "code"} a line on descriptor 0, {"id", "value"} a line on descriptor 3.
'use strict';
const { writeSync } = require('fs');
const { inspect } = require('util');
const { runInThisContext } = require('vm');

let rest = '';
process.stdin.setEncoding('utf8').on('data', (data) => {
  const lines = (rest + data).split('\n');
  rest = lines.pop();
  for (const line of lines) {
    const { id, code } = JSON.parse(line);
    let value;
    try {
      value = inspect(runInThisContext(code));
    } catch (error) {
      value = String(error);
    }
    writeSync(3, JSON.stringify({ id, value }) + '\n');
  }
});
