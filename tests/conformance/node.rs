//! What Node does for each behaviour of the list.

use crate::check::Expect::*;
use crate::list::Column::{self, Does, Unsupported};
use crate::run::Step::{Clear, Eof, Eval, Input, Inspect, Interrupt, Restart, Submit, Vars};

/// Asks for a line, as a script would.
const ASK: &str = "const rl = require('readline/promises').createInterface({ input: process.stdin, output: process.stdout })
const name = await rl.question('name? ')
'hello ' + name";

pub(crate) fn column(name: &str) -> Option<Column> {
    Some(match name {
        "PY-2 the last expression is the value" => Does(vec![Eval(
            "1\n6 * 7",
            vec![Status("complete"), Value("42"), Chunks(&[("value", "42")])],
        )]),
        "PY-2 nothing is shown for nothing" => Does(vec![
            Eval("undefined", vec![Status("complete"), NoValue, Chunks(&[])]),
            Eval("1; const x = 2", vec![Status("complete"), NoValue, Chunks(&[])]),
        ]),
        "S state lasts" => Does(vec![
            Eval("const x = 41\nfunction f() { return x + 1 }", vec![Status("complete"), NoValue]),
            Eval("f()", vec![Value("42")]),
        ]),
        "E-15 empty code completes" => Does(vec![
            Eval("", vec![Status("complete"), NoValue, Chunks(&[])]),
            Eval("  \n// a remark\n", vec![Status("complete"), NoValue, Chunks(&[])]),
        ]),
        "O-2 streams are told apart, in order" => Does(vec![Eval(
            "console.log('a'); console.error('b'); console.log('c'); 'd'",
            vec![Chunks(&[("out", "a\n"), ("err", "b\n"), ("out", "c\n"), ("value", "'d'")])],
        )]),
        "O-2 output without a line end stays so" => {
            Does(vec![Eval("process.stdout.write('a\\r\\nb')", vec![Out("a\nb")])])
        }
        "O-1 a child's output is the eval's" => Does(vec![Eval(
            "console.log('before')\nrequire('child_process').execSync('echo out; echo err >&2', { stdio: 'inherit' })",
            vec![Out("before\nout\n"), Err("err\n")],
        )]),
        "O-1 background output comes once, marked" => Does(vec![
            Eval(
                "var late = new Promise(done => setTimeout(() => { console.log('late'); done(1) }, 50)); 0",
                vec![Status("complete")],
            ),
            Eval("await late", vec![Background("late\n"), Out(""), Value("1")]),
            Eval("1", vec![Background("")]),
        ]),
        "O-5 a flood is bounded, none is lost" => Does(vec![
            Eval(
                "for (var n = 0; n < 100_000; n++) console.log(n)",
                vec![Status("complete"), TotalBytes(588_890)],
            ),
            Eval("n", vec![Value("100000")]),
        ]),
        "O-8 a big value is bounded" => Does(vec![
            Eval("'x'.repeat(10_000_000)", vec![Status("complete"), ValueWithin(2_100)]),
            Eval("Array(10_000_000).fill(7)", vec![Status("complete"), ValueWithin(2_100)]),
            Eval(
                "Object.fromEntries(Array.from({ length: 300_000 }, (_, n) => ['k' + n, n]))",
                vec![Status("complete"), ValueWithin(2_100)],
            ),
        ]),
        "O-7 unicode goes through" => Does(vec![Eval(
            "var é = 'größe 漢字 🎉'\nconsole.log(é)\né",
            vec![Out("größe 漢字 🎉\n"), Value("'größe 漢字 🎉'"), Added(&["é"])],
        )]),
        "PY-1 a syntax error runs nothing" => Does(vec![
            Eval(
                "console.log('ran')\nran = 1\nx = = 2",
                vec![
                    Status("error"),
                    ErrorName("SyntaxError"),
                    Out(""),
                    CleanTraceback,
                    Traceback(&["<js:", ">:3\nx = = 2\n    ^"]),
                ],
            ),
            Eval("ran", vec![ErrorName("ReferenceError")]),
        ]),
        "PY-7 an error starts at the user's code" => Does(vec![
            Eval("function f(n) {\n  return n.x.y\n}", vec![Status("complete")]),
            Eval(
                "console.log('so far')\nf(0)",
                vec![
                    Status("error"),
                    ErrorName("TypeError"),
                    Out("so far\n"),
                    CleanTraceback,
                    Traceback(&[
                        "TypeError: Cannot read properties of undefined (reading 'y')\n    at f (<js:",
                        ">:2:14)\n    at <js:",
                        ">:2:1",
                    ]),
                ],
            ),
            Eval(
                "require('fs').readFileSync('/no/such/file')",
                vec![ErrorName("Error"), CleanTraceback, Traceback(&["ENOENT"])],
            ),
            Eval("6 * 7", vec![Value("42")]),
        ]),
        "PY-7 chained errors are shown whole" => Does(vec![Eval(
            "try {\n  null.k\n} catch (cause) {\n  throw new RangeError('outer', { cause })\n}",
            vec![
                ErrorName("RangeError"),
                Traceback(&["RangeError: outer", "[cause]: TypeError", "reading 'k'"]),
                CleanTraceback,
            ],
        )]),
        "E-13 changes of names are told" => Does(vec![
            Eval(
                "let a = 1; const b = [1, 2]",
                vec![Added(&["a", "b"]), Rebound(&[]), Removed(&[])],
            ),
            Eval("a = 2; class c {}", vec![Added(&["c"]), Rebound(&["a"]), Removed(&[])]),
            Eval("delete globalThis.a", vec![Added(&[]), Rebound(&[]), Removed(&["a"])]),
            Eval("b", vec![Added(&[]), Rebound(&[]), Removed(&[])]),
        ]),
        "E-8 input is waited for and given" => Does(vec![
            Eval(ASK, vec![Status("waiting_input"), Prompt("name? ")]),
            Input("you", vec![Status("complete"), Value("'hello you'")]),
            Eval("name", vec![Value("'you'")]),
            Eval("await rl.question('again? ')", vec![Status("waiting_input"), Prompt("again? ")]),
            Input("me", vec![Status("complete"), Value("'me'")]),
        ]),
        "E-8 code is refused while input is waited for" => Does(vec![
            Eval(ASK, vec![Status("waiting_input")]),
            Eval("console.log('no')", vec![Status("error"), Says("waiting_input")]),
            Input("yes", vec![Value("'hello yes'")]),
        ]),
        "E-8 the end of input is an end of file" => Does(vec![
            Eval(
                "const all = []; for await (const chunk of process.stdin) all.push(String(chunk)); all",
                vec![Status("waiting_input")],
            ),
            Eof(vec![Status("complete"), Value("[]")]),
            Eval("require('fs').readFileSync(0, 'utf8')", vec![Status("waiting_input")]),
            Input("one", vec![Status("waiting_input")]),
            Eof(vec![Status("complete"), Value("'one\\n'")]),
        ]),
        "E-8 a child that reads is found" => Does(vec![
            Eval(
                "require('child_process').spawnSync('cat', { stdio: 'inherit' }).status",
                vec![Status("waiting_input")],
            ),
            Input("meow", vec![Out("meow\n"), Status("waiting_input")]),
            Eof(vec![Status("complete"), Value("0")]),
        ]),
        "E-9 input that nobody read is dropped" => Does(vec![
            Eval(ASK, vec![Status("waiting_input")]),
            Input("one\ntwo", vec![Value("'hello one'")]),
            Eval(ASK, vec![Status("waiting_input")]),
            Input("three", vec![Value("'hello three'")]),
            Eval(
                "const one = Buffer.alloc(1); fs.readSync(0, one); String(one)",
                vec![Status("waiting_input")],
            ),
            Input("four", vec![Value("'f'")]),
            Eval(ASK, vec![Status("waiting_input")]),
            Input("five", vec![Value("'hello five'")]),
        ]),
        "E-6 a busy loop is interrupted, state stays" => Does(vec![
            Eval("var x = 41", vec![Status("complete")]),
            Submit("console.log('up')\nwhile (true) {}", "up"),
            Interrupt(vec![Status("interrupted"), Out("up\n"), CleanTraceback]),
            Eval("x + 1", vec![Value("42")]),
        ]),
        "E-6 a sleep is interrupted" => Does(vec![
            Submit("console.log('up')\nawait new Promise(done => setTimeout(done, 1e6))", "up"),
            Interrupt(vec![Status("interrupted")]),
            Submit(
                "console.log('up')\nAtomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
                "up",
            ),
            Interrupt(vec![Status("interrupted")]),
        ]),
        "E-6 a wait for input is interrupted" => Does(vec![
            Eval(ASK, vec![Status("waiting_input")]),
            Interrupt(vec![Status("interrupted"), CleanTraceback]),
            Eval("require('fs').readFileSync(0)", vec![Status("waiting_input")]),
            Interrupt(vec![Status("interrupted"), CleanTraceback]),
            Eval("6 * 7", vec![Value("42")]),
        ]),
        "E-6 a child is interrupted" => Does(vec![
            Submit(
                "console.log('up')\nrequire('child_process').execSync('sleep 1000', { stdio: 'inherit' })\n'after'",
                "up",
            ),
            Interrupt(vec![]),
            Eval("6 * 7", vec![Value("42")]),
        ]),
        "PY-13 an exit ends the eval and says its code" => {
            Unsupported("process.exit() ends the process wherever it is called; see S-6")
        }
        "S-6 the end of the session is told, then a fresh start" => Does(vec![
            Eval(
                "x = 1\nprocess.on('exit', () => console.log('bye')); 0",
                vec![Status("complete")],
            ),
            Eval(
                "console.log('last'); process.exit(3)",
                vec![Status("ended"), ExitCode(3), Out("last\nbye\n")],
            ),
            Eval("x", vec![Status("error"), ErrorName("ReferenceError"), Says("fresh")]),
            Eval("1", vec![Status("complete"), Value("1")]),
        ]),
        "S-6 a crash is told" => Does(vec![
            Eval("process.abort()", vec![Status("ended"), Says("SIGABRT")]),
            Eval("6 * 7", vec![Value("42"), Says("fresh")]),
            Eval("process.reallyExit(7)", vec![Status("ended"), ExitCode(7)]),
            Eval("6 * 7", vec![Value("42")]),
        ]),
        "ST-1 names are listed and described" => Does(vec![
            Eval("const n = 3\nfunction double(x) {\n  return 2 * x\n}", vec![Status("complete")]),
            Vars(&[("double", "function"), ("n", "number")]),
            Inspect("n", &["number", "3"]),
            Inspect("double", &["(x)", "return 2 * x"]),
        ]),
        "S-7 clear empties the namespace" => Does(vec![
            Eval("let x = 1; function f() {}; class C {}", vec![Status("complete")]),
            Clear,
            Vars(&[]),
            Eval("x", vec![ErrorName("ReferenceError")]),
        ]),
        "S-7 restart begins anew" => Does(vec![
            Eval("x = 1", vec![Status("complete")]),
            Restart,
            Eval("x", vec![ErrorName("ReferenceError")]),
        ]),
        "PY-4 top-level await" => Does(vec![Eval(
            "async function f() {\n  await null\n  return 42\n}\nawait f()",
            vec![Value("42")],
        )]),
        "PY-6 what user code breaks, it breaks for itself" => Does(vec![
            Eval(
                "JSON.stringify = Array.prototype.push = Promise.prototype.then = null
Object.prototype.toJSON = () => { throw 1 }; globalThis.Buffer = console = undefined
process.stdout.write = process.removeAllListeners = null; Array.prototype[Symbol.iterator] = null",
                vec![Status("complete")],
            ),
            Eval("6 * 7", vec![Value("42")]),
            Eval("await 43", vec![Value("43")]),
            Restart,
        ]),
        "PY-16 a broken repr is an error of its own" => Does(vec![
            Eval(
                "({ [require('util').inspect.custom]() { throw new Error('broken') } })",
                vec![Status("complete")],
            ),
            Eval("new Proxy({}, { get() { throw 1 } })", vec![Status("complete")]),
            Eval("6 * 7", vec![Value("42")]),
        ]),
        "PY-18 deep recursion is an error" => Does(vec![
            Eval(
                "function f() { return f() }\nf()",
                vec![Status("error"), ErrorName("RangeError")],
            ),
            Eval("6 * 7", vec![Value("42")]),
        ]),
        _ => return None,
    })
}
