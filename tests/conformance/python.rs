//! Python's column.

use crate::column::Column;
use crate::talk::Talk;

pub(crate) static PYTHON: Column = COLUMN;

/// Kernels of Python speak the same language.
pub(crate) const COLUMN: Column = Column {
    session: "py",
    language: "python",
    kernel: "",
    cannot: &[],
    own: &[
        ("PY-1 a syntax error leaves no name", no_name_of_a_syntax_error),
        ("PY-7 a failing call of the library shows no bridge", library_error),
        ("PY-13 exits of every kind keep the session", exits),
        ("PY-14 what a thread prints after its eval is background", thread),
        ("ST-1 doc and signature are told", doc),
    ],
    remark: "# TEXT",
    nothing: "None",
    value: ("1\n6 * 7", "42"),
    awaited: (
        "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 42\nawait f()",
        "42",
    ),
    picture: "import base64
class Picture:
    def _repr_png_(self): return base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=')
Picture()",
    big_value: "list(range(2_000_000))",
    broken_value: "class B:\n    def __repr__(self): raise ValueError('broken')\nB()",
    say: "print('TEXT')",
    complain: "import sys; print('TEXT', file=sys.stderr)",
    write: "print('TEXT', end='')",
    lines: "for n in range(VALUE): print('%99d' % (n + 1))",
    huge_line: "print('x' * VALUE)",
    set: "NAME = VALUE",
    tell: "print(NAME)",
    forget: "del NAME",
    set_many: "for n in range(VALUE): globals()['many_%d' % n] = n",
    define: "def NAME():\n    print('TEXT')\n",
    call: "NAME()",
    types: ("int", "function"),
    allocate: "blob = b'x' * 40_000_000",
    syntax_error: ("x = = 2", "SyntaxError"),
    incomplete: &["print(1,", "x = 'a", "x = '''a\nb", "if x:", "x = 1 + \\"],
    fail: ("raise ValueError('TEXT')", "ValueError"),
    define_failing: "def NAME():\n    raise ValueError('TEXT')\n",
    chained: (
        "try:\n    {}['k']\nexcept KeyError as e:\n    raise ValueError('outer') from e",
        &["KeyError: 'k'", "direct cause", "ValueError: outer"],
    ),
    recurse: "def f(): return f()\nf()",
    vandalise: "import sys, builtins, ast, json, os, subprocess\nsys.stdout = None\nprint = len = tuple = 3\nbuiltins.repr = builtins.compile = None\nast.parse = json.dumps = os.write = None",
    ask: "NAME = input('TEXT')",
    read_all: "import sys; print(sys.stdin.read(), end='')",
    child: "import subprocess; _ = subprocess.run(['sh', '-c', 'COMMAND'])",
    background: "import subprocess; child = subprocess.Popen(['sh', '-c', 'COMMAND'])",
    cwd: "import os; print(os.getcwd())",
    env: "import os; print(os.environ['NAME'])",
    tells_interrupts: false,
    spin: "while True: pass",
    sleep: "import time; time.sleep(1000)",
    spin_stubbornly: "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass",
    exit_eval: "import sys; sys.exit(VALUE)",
    exit_session: "exit(VALUE)",
    at_exit: "import atexit; _ = atexit.register(print, 'TEXT')",
    crash: "import os; sys = __import__('sys'); sys.stdout.flush(); os.kill(os.getpid(), 9)",
};

fn no_name_of_a_syntax_error(talk: &Talk<'_>) {
    talk.eval("ran = 1\nx = = 2").status("error").changed(&[], &[], &[]);
    talk.eval("ran").error_name("NameError");
}

fn library_error(talk: &Talk<'_>) {
    talk.eval("open('/no/such/file')").error_name("FileNotFoundError").traceback(&["<py:"]);
    talk.eval("import json\njson.loads('{')").error_name("JSONDecodeError").traceback(&["<py:"]);
}

fn exits(talk: &Talk<'_>) {
    talk.eval("x = 1\nraise SystemExit").complete().has("exit_code", 0);
    talk.eval("import sys\nsys.exit('no luck')").status("error").has("exit_code", 1);
    talk.eval("import argparse\nargparse.ArgumentParser().parse_args(['--no'])").status("error");
    talk.eval("x").has("value", "1");
    talk.eval("import os; os._exit(7)").status("ended").has("exit_code", 7);
}

fn thread(talk: &Talk<'_>) {
    let code = "import os, threading, time\ndef late():\n    while not os.path.exists('go'): time.sleep(0.01)\n    print('late')\nt = threading.Thread(target=late)\nt.start()";
    talk.eval(code).complete();
    talk.make_file("go");
    talk.eval("t.join()").background("late\n").out("");
    talk.eval("1").background("");
}

fn doc(talk: &Talk<'_>) {
    talk.eval("def double(x):\n    'Twice x.'\n    return 2 * x").complete();
    talk.command(["inspect", "double"]).ok().contains(&["Twice x.", "(x)", "return 2 * x"]);
}
