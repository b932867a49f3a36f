//! What Python does for each behaviour of the list.

use crate::check::Expect::*;
use crate::list::Column::{self, Does};
use crate::run::Step::{Clear, Eof, Eval, Input, Inspect, Interrupt, Restart, Submit, Vars};

pub(crate) fn column(name: &str) -> Option<Column> {
    Some(match name {
        "PY-2 the last expression is the value" => Does(vec![Eval(
            "1\n6 * 7",
            vec![Status("complete"), Value("42"), Chunks(&[("value", "42")])],
        )]),
        "PY-2 nothing is shown for nothing" => {
            Does(vec![Eval("None", vec![Status("complete"), NoValue, Chunks(&[])])])
        }
        "S state lasts" => Does(vec![
            Eval("x = 41\ndef f(): return x + 1", vec![Status("complete"), NoValue]),
            Eval("f()", vec![Value("42")]),
        ]),
        "E-15 empty code completes" => Does(vec![
            Eval("", vec![Status("complete"), NoValue, Chunks(&[])]),
            Eval("  \n# a remark\n", vec![Status("complete"), NoValue, Chunks(&[])]),
        ]),
        "O-2 streams are told apart, in order" => Does(vec![Eval(
            "import sys\nprint('a'); print('b', file=sys.stderr); print('c'); 'd'",
            vec![Chunks(&[("out", "a\n"), ("err", "b\n"), ("out", "c\n"), ("value", "'d'")])],
        )]),
        "O-2 output without a line end stays so" => {
            Does(vec![Eval("print('a\\r\\nb', end='')", vec![Out("a\nb")])])
        }
        "O-1 a child's output is the eval's" => Does(vec![Eval(
            "import subprocess\nprint('before')\n_ = subprocess.run('echo out; echo err >&2', shell=True)",
            vec![Out("before\nout\n"), Err("err\n")],
        )]),
        "O-1 background output comes once, marked" => Does(vec![
            Eval(
                "import threading\nt = threading.Timer(0.05, print, ['late'])\nt.start()",
                vec![Status("complete")],
            ),
            Eval("t.join()", vec![Background("late\n"), Out("")]),
            Eval("1", vec![Background("")]),
        ]),
        "O-5 a flood is bounded, none is lost" => Does(vec![
            Eval(
                "for n in range(100_000): print(n)",
                vec![Status("complete"), TotalBytes(588_890)],
            ),
            Eval("n", vec![Value("99999")]),
        ]),
        "O-8 a big value is bounded" => Does(vec![
            Eval("'x' * 10_000_000", vec![Status("complete"), ValueWithin(2_100)]),
            Eval("list(range(10_000_000))", vec![Status("complete"), ValueWithin(2_100)]),
        ]),
        "O-7 unicode goes through" => Does(vec![Eval(
            "é = 'größe 漢字 🎉'\nprint(é)\né",
            vec![Out("größe 漢字 🎉\n"), Value("'größe 漢字 🎉'"), Added(&["é"])],
        )]),
        "PY-1 a syntax error runs nothing" => Does(vec![
            Eval(
                "print('ran')\nran = 1\nx = = 2",
                vec![Status("error"), ErrorName("SyntaxError"), Out(""), CleanTraceback],
            ),
            Eval("ran", vec![ErrorName("NameError")]),
        ]),
        "PY-7 an error starts at the user's code" => Does(vec![
            Eval("def f(n):\n    return 1 / n", vec![Status("complete")]),
            Eval(
                "print('so far')\nf(0)",
                vec![
                    Status("error"),
                    ErrorName("ZeroDivisionError"),
                    Out("so far\n"),
                    CleanTraceback,
                    Traceback(&[
                        "Traceback (most recent call last):\n  File \"<py:",
                        "return 1 / n",
                        "f(0)",
                        "division by zero",
                    ]),
                ],
            ),
            Eval("open('/no/such/file')", vec![ErrorName("FileNotFoundError"), CleanTraceback]),
            Eval("6 * 7", vec![Value("42")]),
        ]),
        "PY-7 chained errors are shown whole" => Does(vec![Eval(
            "try:\n    {}['k']\nexcept KeyError as e:\n    raise ValueError('outer') from e",
            vec![
                ErrorName("ValueError"),
                Traceback(&["KeyError: 'k'", "direct cause", "ValueError: outer"]),
                CleanTraceback,
            ],
        )]),
        "E-13 changes of names are told" => Does(vec![
            Eval("a = 1; b = [1, 2]", vec![Added(&["a", "b"]), Rebound(&[]), Removed(&[])]),
            Eval("a = 2; c = 3", vec![Added(&["c"]), Rebound(&["a"]), Removed(&[])]),
            Eval("del a", vec![Added(&[]), Rebound(&[]), Removed(&["a"])]),
            Eval("b", vec![Added(&[]), Rebound(&[]), Removed(&[])]),
        ]),
        "E-8 input is waited for and given" => Does(vec![
            Eval(
                "name = input('name? ')\n'hello ' + name",
                vec![Status("waiting_input"), Prompt("name? ")],
            ),
            Input("you", vec![Status("complete"), Value("'hello you'")]),
            Eval("name", vec![Value("'you'")]),
        ]),
        "E-8 code is refused while input is waited for" => Does(vec![
            Eval("input('? ')", vec![Status("waiting_input")]),
            Eval("print('no')", vec![Status("error"), Says("waiting_input")]),
            Input("yes", vec![Value("'yes'")]),
        ]),
        "E-8 the end of input is an end of file" => Does(vec![
            Eval("input()", vec![Status("waiting_input")]),
            Eof(vec![Status("error"), ErrorName("EOFError"), CleanTraceback]),
            Eval("import sys; sys.stdin.read()", vec![Status("waiting_input")]),
            Input("one", vec![Status("waiting_input")]),
            Eof(vec![Status("complete"), Value("'one\\n'")]),
        ]),
        "E-8 a child that reads is found" => Does(vec![
            Eval(
                "import subprocess\nsubprocess.run(['cat'], check=True).returncode",
                vec![Status("waiting_input")],
            ),
            Input("meow", vec![Out("meow\n"), Status("waiting_input")]),
            Eof(vec![Status("complete"), Value("0")]),
        ]),
        "E-9 input that nobody read is dropped" => Does(vec![
            Eval("input()", vec![Status("waiting_input")]),
            Input("one\ntwo", vec![Value("'one'")]),
            Eval("input()", vec![Status("waiting_input")]),
            Input("three", vec![Value("'three'")]),
        ]),
        "E-6 a busy loop is interrupted, state stays" => Does(vec![
            Eval("x = 41", vec![Status("complete")]),
            Submit("print('up')\nwhile True: pass", "up"),
            Interrupt(vec![Status("interrupted"), Out("up\n"), CleanTraceback]),
            Eval("x + 1", vec![Value("42")]),
        ]),
        "E-6 a sleep is interrupted" => Does(vec![
            Submit("import time\nprint('up')\ntime.sleep(1000)", "up"),
            Interrupt(vec![Status("interrupted")]),
        ]),
        "E-6 a wait for input is interrupted" => Does(vec![
            Eval("input('? ')", vec![Status("waiting_input")]),
            Interrupt(vec![Status("interrupted"), CleanTraceback]),
            Eval("6 * 7", vec![Value("42")]),
        ]),
        "E-6 a child is interrupted" => Does(vec![
            Submit("import os\nprint('up', flush=True)\nos.system('sleep 1000')\n'after'", "up"),
            Interrupt(vec![]),
            Eval("6 * 7", vec![Value("42")]),
        ]),
        "PY-13 an exit ends the eval and says its code" => Does(vec![
            Eval("import sys\nx = 1\nsys.exit(3)", vec![Status("error"), ExitCode(3)]),
            Eval("sys.exit(0)", vec![Status("complete"), ExitCode(0)]),
            Eval("x", vec![Value("1")]),
        ]),
        "S-6 the end of the session is told, then a fresh start" => Does(vec![
            Eval(
                "x = 1\nimport atexit\n_ = atexit.register(print, 'bye')",
                vec![Status("complete")],
            ),
            Eval("print('last'); exit(3)", vec![Status("ended"), ExitCode(3), Out("last\nbye\n")]),
            Eval("x", vec![Status("error"), ErrorName("NameError"), Says("fresh")]),
            Eval("1", vec![Status("complete"), Value("1")]),
        ]),
        "S-6 a crash is told" => Does(vec![
            Eval("import os\nos.abort()", vec![Status("ended"), Says("SIGABRT")]),
            Eval("6 * 7", vec![Value("42"), Says("fresh")]),
            Eval("import os; os._exit(7)", vec![Status("ended"), ExitCode(7)]),
            Eval("6 * 7", vec![Value("42")]),
        ]),
        "ST-1 names are listed and described" => Does(vec![
            Eval(
                "n = 3\ndef double(x):\n    'Twice x.'\n    return 2 * x",
                vec![Status("complete")],
            ),
            Vars(&[("double", "function"), ("n", "int")]),
            Inspect("n", &["int", "3"]),
            Inspect("double", &["Twice x.", "(x)", "return 2 * x"]),
        ]),
        "S-7 clear empties the namespace" => Does(vec![
            Eval("x = 1", vec![Status("complete")]),
            Clear,
            Vars(&[]),
            Eval("x", vec![ErrorName("NameError")]),
        ]),
        "S-7 restart begins anew" => Does(vec![
            Eval("x = 1", vec![Status("complete")]),
            Restart,
            Eval("x", vec![ErrorName("NameError")]),
        ]),
        "PY-4 top-level await" => Does(vec![Eval(
            "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 42\nawait f()",
            vec![Value("42")],
        )]),
        "PY-6 what user code breaks, it breaks for itself" => Does(vec![
            Eval(
                "import sys, builtins\nsys.stdout = None\nprint = len = 3\nbuiltins.repr = None",
                vec![Status("complete")],
            ),
            Eval("del print, len\n[1, 2]", vec![Value("[1, 2]")]),
            Eval("print('still')", vec![Out("still\n")]),
            Restart,
        ]),
        "PY-16 a broken repr is an error of its own" => Does(vec![
            Eval(
                "class B:\n    def __repr__(self): raise ValueError('broken')\nB()",
                vec![Status("complete")],
            ),
            Eval("6 * 7", vec![Value("42")]),
        ]),
        "PY-18 deep recursion is an error" => Does(vec![
            Eval("def f(): return f()\nf()", vec![Status("error"), ErrorName("RecursionError")]),
            Eval("6 * 7", vec![Value("42")]),
        ]),
        _ => return None,
    })
}
