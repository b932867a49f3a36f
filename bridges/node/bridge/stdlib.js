// Stdlib: the user's standard library, run at the start of a session like any other code. What it defines is not
// reported as the user's.

const STDLIB_FILE = "<stdlib>";

function doStdlib(id, source) {
  S.stdlib = true;
  doEval(id, source);
}

/** What is told of the library, as far as it came; `error` is the event of what ended it. */
function libraryReport(error) {
  const report = { names: takeGiven() };
  const line = new RegExp(STDLIB_FILE + ":(\\d+)").exec(error?.traceback ?? "");
  if (line) report.line = Number(line[1]);
  return report;
}

/** Takes the names that the library has defined, as far as it came, out of what is the user's. */
function takeGiven() {
  S.stdlib = false;
  for (const name of userNames()) {
    if (KNOWN.has(name)) continue;
    GIVEN.set(name, token(valueOf(name)));
  }
  return GIVEN.size;
}
