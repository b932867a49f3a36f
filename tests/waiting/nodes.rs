//! What JavaScript does with the session's input: in a session of its own, and as a program.

use crate::judge::In::{Bash, Node};
use crate::judge::Right::{Alone, Listens, No, Waits, WaitsOrAlone};
use crate::judge::{Situation, case, judge, place};

const SITUATIONS: &[Situation] = &[
    case("a question", Node, "const rl = require('readline/promises').createInterface({ input: process.stdin, output: process.stdout });
await rl.question('name: ')", Waits),
    case("data", Node, "await new Promise((r) => process.stdin.once('data', r))", Waits),
    case("readSync", Node, "require('fs').readSync(0, Buffer.alloc(9))", Waits),
    case("data and a timer that prints", Node, "console.log('up'); process.stdin.on('data', () => {});
for (let i = 0; i < 4; i++) { await new Promise((r) => setTimeout(r, 400)); console.log(i); }
process.stdin.pause()", No),
    case("data and a far timer", Node, "process.stdin.on('data', () => {}); await new Promise((r) => setTimeout(r, 600000))", Alone),
    case("data and a server", Node, "console.log('up'); process.stdin.on('data', () => {});
const s = require('http').createServer(() => {}).listen(0, '127.0.0.1');
await new Promise((r) => setTimeout(r, 4500)); s.close(); process.stdin.pause()", No),
    case("a program with data", Bash, "node -e \"process.stdin.on('data', () => {})\"", Waits),
    case("a program with readline", Bash, "node -e \"require('readline').createInterface({ input: process.stdin }).question('n: ', () => {})\"", Waits),
    case("a program with data and a timer", Bash, "echo up; node -e \"
process.stdin.on('data', () => {}); let n = 0;
const t = setInterval(() => { console.log(n); if (++n == 4) process.exit() }, 500)\"", No),
    case("a program with data and a server", Bash, "echo up; node -e \"
process.stdin.on('data', () => {}); require('http').createServer(() => {}).listen(0, '127.0.0.1');
setTimeout(() => process.exit(), 4500)\"", No),
    case("a program with data and a child", Bash, "echo up; node -e \"
process.stdin.on('data', () => {});
require('child_process').spawn('sleep', ['1.2'], { stdio: 'ignore' }).on('exit', () => process.exit())\"", No),
    case("a program with data and a busy worker", Bash, "node -e \"
process.stdin.on('data', () => {}); new (require('worker_threads').Worker)('for (;;);', { eval: true })\"", Listens),
    case("node -i", Bash, "node -i", WaitsOrAlone),
];

#[test]
fn e8_node_gets_the_right_answer() {
    judge(&place(), SITUATIONS, str::to_owned);
}
