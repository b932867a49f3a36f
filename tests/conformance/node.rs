//! Node's column.

use crate::cannot::Cannot;
use crate::column::Column;
use crate::talk::Talk;

pub(crate) const EXITS: Cannot = (
    "process.exit() ends the process wherever it is called",
    &["PY-13 an exit ends the eval and says its code"],
);

pub(crate) static NODE: Column = COLUMN;

/// Kernels of JavaScript speak nearly the same language.
pub(crate) const COLUMN: Column = Column {
    session: "js",
    language: "node",
    cannot: &[
        (
            "Node has no convention for values that are pictures",
            &["O-9 a picture is kept as a file"],
        ),
        EXITS,
    ],
    own: &[
        ("JS-1 names are declared anew, and a last declaration has no value", declarations),
        ("JS-2 errors of the library show no bridge", library_error),
        ("JS-3 a wait that blocks all of Node is interrupted", blocked),
        ("E-8 Node's own ways to read are waited for", readers),
        ("E-9 what is read by the byte leaves nothing", bytes),
        ("O-1 a timer that writes after its eval is background", timer),
        ("O-8 big objects are bounded", big_objects),
        ("S-6 an abort and a bare exit are told", ends),
    ],
    remark: "// TEXT",
    nothing: "undefined",
    value: ("1\n6 * 7", "42"),
    awaited: ("async function f() {\n  await null\n  return 42\n}\nawait f()", "42"),
    big_value: "'x'.repeat(10_000_000)",
    broken_value: "({ [require('util').inspect.custom]() { throw new Error('broken') } })",
    say: "console.log('TEXT')",
    complain: "console.error('TEXT')",
    write: "process.stdout.write('TEXT'); undefined",
    lines: "for (let n = 1; n <= VALUE; n++) process.stdout.write(String(n).padStart(99) + '\\n'); undefined",
    huge_line: "console.log('x'.repeat(VALUE))",
    set: "NAME = VALUE; undefined",
    tell: "console.log(NAME)",
    forget: "delete globalThis.NAME; undefined",
    set_many: "for (let n = 0; n < VALUE; n++) globalThis[`many_${n}`] = n",
    define: "function NAME() { console.log('TEXT') }",
    call: "NAME()",
    types: ("number", "function"),
    allocate: "blob = Buffer.alloc(40_000_000, 'x'); undefined",
    syntax_error: ("x = = 2", "SyntaxError"),
    incomplete: &["f(1", "x = 'a", "x = `a\nb", "if (x) {", "x = 1 +"],
    fail: ("throw new RangeError('TEXT')", "RangeError"),
    define_failing: "function NAME() {\n  throw new RangeError('TEXT')\n}",
    chained: (
        "try {\n  null.k\n} catch (cause) {\n  throw new RangeError('outer', { cause })\n}",
        &["RangeError: outer", "[cause]: TypeError", "reading 'k'"],
    ),
    recurse: "function f() { return f() }\nf()",
    vandalise: "JSON.stringify = Array.prototype.push = Promise.prototype.then = null
Object.prototype.toJSON = () => { throw 1 }; globalThis.Buffer = console = undefined
process.stdout.write = process.removeAllListeners = null; undefined",
    ask: "var rl = require('readline/promises').createInterface({ input: process.stdin, output: process.stdout })
NAME = await Promise.race([rl.question('TEXT'), new Promise(done => rl.once('close', () => done('')))]); rl.close()",
    read_all: "process.stdout.write(require('fs').readFileSync(0)); undefined",
    child: "require('child_process').spawnSync('sh', ['-c', 'COMMAND'], { stdio: 'inherit' }); undefined",
    background: "require('child_process').spawn('sh', ['-c', 'COMMAND'], { stdio: 'inherit' }); undefined",
    cwd: "console.log(process.cwd())",
    env: "console.log(process.env.NAME)",
    spin: "while (true) {}",
    sleep: "await new Promise(done => setTimeout(done, 1e6))",
    spin_stubbornly: "require('child_process').execSync('mkfifo fifo'); require('fs').openSync('fifo')",
    exit_session: "process.exit(VALUE)",
    at_exit: "process.on('exit', () => console.log('TEXT')); undefined",
    crash: "process.kill(process.pid, 'SIGKILL'); while (true) {}",
    ..Column::NONE
};

fn declarations(talk: &Talk<'_>) {
    talk.eval("const x = 41; class C {}").complete().no_value().changed(&["x", "C"], &[], &[]);
    talk.eval("const x = 42; let C = 1").complete().no_value();
    talk.says("console.log(x, C)", "42 1\n");
}

fn library_error(talk: &Talk<'_>) {
    let failed = talk.eval("require('fs').readFileSync('/no/such/file')").error_name("Error");
    failed.traceback(&["ENOENT", "<js:"]);
    talk.eval("x = = 2").traceback(&["<js:", ">:1\nx = = 2\n    ^"]);
}

fn blocked(talk: &Talk<'_>) {
    let id = talk.start_up("Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)");
    talk.interrupt(&id).has("effect", "interrupted");
    talk.end(&id).status("interrupted");
    let id = talk.eval("require('fs').readFileSync(0)").status("waiting_input").id();
    talk.interrupt(&id);
    talk.end(&id).status("interrupted").traceback(&[]);
}

fn readers(talk: &Talk<'_>) {
    let all =
        "const all = []; for await (const chunk of process.stdin) all.push(String(chunk)); all";
    talk.eval(all).status("waiting_input");
    talk.eof().complete().has("value", "[]");
    let ask = "const rl = require('readline/promises').createInterface({ input: process.stdin, output: process.stdout })
await rl.question('name? ')";
    talk.eval(ask).status("waiting_input").has("prompt", "name? ");
    talk.input("you").complete().has("value", "'you'");
    talk.eval("await rl.question('again? ')").status("waiting_input").has("prompt", "again? ");
    talk.input("me").complete().has("value", "'me'");
}

fn bytes(talk: &Talk<'_>) {
    let code = "const one = Buffer.alloc(1); require('fs').readSync(0, one); String(one)";
    talk.eval(code).status("waiting_input");
    talk.input("four").complete().has("value", "'f'");
    talk.eval(code).status("waiting_input");
    talk.input("five").complete().has("value", "'f'");
}

fn timer(talk: &Talk<'_>) {
    let code =
        "var late = new Promise(done => setTimeout(() => { console.log('late'); done(1) }, 50)); 0";
    talk.eval(code).complete();
    talk.eval("await late").background("late\n").out("").has("value", "1");
    talk.eval("1").background("");
}

fn big_objects(talk: &Talk<'_>) {
    talk.eval("Array(10_000_000).fill(7)").complete().value_within(2_100);
    let code = "Object.fromEntries(Array.from({ length: 300_000 }, (_, n) => ['k' + n, n]))";
    talk.eval(code).complete().value_within(2_100);
    talk.eval("new Proxy({}, { get() { throw 1 } })").complete();
}

fn ends(talk: &Talk<'_>) {
    talk.eval("process.abort()").status("ended").says("SIGABRT");
    talk.eval("6 * 7").has("value", "42").says("fresh");
    talk.eval("process.reallyExit(7)").status("ended").has("exit_code", 7);
}
