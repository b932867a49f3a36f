//! E-18: inputs that get a hint and inputs that get none.

use stead_protocol::{ErrorInfo, EvalSeq, Missing, SessionName};

use super::line::Failed;
use super::{Hint, HintCalls, LostBy};

struct Tools;

impl HintCalls for Tools {
    fn shell(&self, command: &str) -> String {
        format!("shell<{command}>")
    }
    fn eval(&self, language: &str) -> String {
        format!("eval<{language}>")
    }
    fn inspect(&self, _: &SessionName, name: &str) -> String {
        format!("inspect<{name}>")
    }
    fn names(&self, _: &SessionName) -> String {
        "names<>".to_owned()
    }
    fn clear(&self, _: &SessionName) -> String {
        "clear<>".to_owned()
    }
    fn restart(&self, _: &SessionName) -> String {
        "restart<>".to_owned()
    }
}

/// How a piece of code failed, in the words of its interpreter.
enum Fails<'a> {
    /// It cannot be compiled: the line.
    Syntax(usize),
    /// A name is not known: the name, and the line.
    Name(&'a str, usize),
    /// A shell does not know this command.
    Unknown(&'a str),
    /// What a shell said.
    Said(&'a str),
}
use Fails::{Name, Said, Syntax, Unknown};

fn text(language: &str, code: &str, fails: &Fails<'_>) -> Option<String> {
    hint(language, code, fails).map(|hint| hint.text(&"py".parse().unwrap(), &Tools))
}

fn hint(language: &str, code: &str, fails: &Fails<'_>) -> Option<Hint> {
    let error = |name: &str, message: String, traceback: String| ErrorInfo {
        name: name.to_owned(),
        message,
        traceback: Some(traceback),
        ..ErrorInfo::default()
    };
    let mut said = String::new();
    let error = match (language, fails) {
        ("python", Syntax(line)) => error(
            "SyntaxError",
            format!("invalid syntax (<py:7>, line {line})"),
            format!("  File \"<py:7>\", line {line}\n    x\n    ^\nSyntaxError: invalid syntax\n"),
        ),
        ("python", Name(name, line)) => error(
            "NameError",
            format!("name '{name}' is not defined"),
            format!(
                "Traceback (most recent call last):\n  File \"<py:7>\", line {line}, in <module>\nNameError: name '{name}' is not defined\n"
            ),
        ),
        ("node", Syntax(line)) => error(
            "SyntaxError",
            "Unexpected identifier".to_owned(),
            format!("<py:7>:{line}\nx\n^\n\nSyntaxError: Unexpected identifier"),
        ),
        ("node", Name(name, line)) => error(
            "ReferenceError",
            format!("{name} is not defined"),
            format!("ReferenceError: {name} is not defined\n    at <py:7>:{line}:1"),
        ),
        (_, Syntax(line)) => error(
            "SyntaxError",
            format!("py:7: line {line}: syntax error near unexpected token `('"),
            String::new(),
        ),
        (_, Unknown(_) | Said(_) | Name(..)) => {
            said = match fails {
                Unknown(word) => format!("bash: {word}: command not found\n"),
                Said(text) => format!("{text}\n"),
                Syntax(_) | Name(..) => panic!("shells know no such failure"),
            };
            error("ExitStatus", "exit status 127".to_owned(), String::new())
        }
    };
    let failed = Failed {
        language,
        code,
        eval: "<py:7>".to_owned(),
        error: Some(&error),
        said,
        cwd: "/nowhere".as_ref(),
    };
    failed.hint()
}

#[test]
fn e18_habits_in_python_get_their_hint() {
    for (code, fails, wanted) in [
        ("%timeit f(x)", Syntax(1), "timeit.timeit(lambda: …"),
        ("%%timeit\nf(x)", Syntax(1), "timeit.timeit"),
        ("%%time\nf(x)", Syntax(1), "leave out `%%time`"),
        ("r = %timeit -o f()", Syntax(1), "timeit.timeit"),
        ("%%bash\nls -la\n", Syntax(1), "`%%bash` is IPython's; for shell commands: shell<ls -la>"),
        ("%%bash\ncd x\nmake\n", Syntax(1), "shell<cd x; …>"),
        ("%%writefile a.py\nx = 1", Syntax(1), "pathlib.Path(\"a.py\").write_text"),
        ("%run train.py --fast", Syntax(1), "runpy.run_path(\"train.py\""),
        ("%cd ..", Syntax(1), "os.chdir(\"..\")"),
        ("%env KEY=5", Syntax(1), "os.environ[\"KEY\"] = \"5\""),
        ("%matplotlib inline", Syntax(1), "figures are shown by themselves"),
        ("import numpy as np\n%matplotlib inline", Syntax(2), "figures are shown"),
        ("%load_ext autoreload\n%autoreload 2", Syntax(1), "importlib.reload"),
        ("%whos", Syntax(1), "names<>"),
        ("%reset -f", Syntax(1), "clear<>"),
        ("%prun f()", Syntax(1), "cProfile"),
        ("%%html\n<b>x</b>", Syntax(1), "nothing like it"),
        ("%ls -la", Syntax(1), "shell<ls -la>"),
        ("%pip install pandas", Syntax(1), "shell<pip install pandas>"),
        ("!ls", Syntax(1), "shell<ls>"),
        ("x = 1\n!pip install rich", Syntax(2), "shell<pip install rich>"),
        ("!cat data.csv | head", Syntax(1), "shell<cat data.csv | head>"),
        ("!cd sub", Syntax(1), "os.chdir(\"sub\")"),
        ("files = !ls *.csv", Syntax(1), "subprocess.run(\"ls *.csv\""),
        ("total?", Syntax(1), "inspect<total>, or help(total)"),
        ("?df.head", Syntax(1), "inspect<df.head>"),
        ("df.head??", Syntax(1), "inspect<df.head>"),
        ("pip install requests", Syntax(1), "shell<pip install requests>"),
        ("uv add httpx", Syntax(1), "shell<uv add httpx>"),
        ("conda install -y numpy", Syntax(1), "shell<conda install -y numpy>"),
        ("python -m pip install x", Syntax(1), "shell<python -m pip install x>"),
        ("git status", Syntax(1), "this is a shell command; run it so: shell<git status>"),
        ("git commit -m 'done'", Syntax(1), "shell<git commit"),
        ("cd ..", Syntax(1), "os.chdir(\"..\")"),
        ("cd /tmp", Name("cd", 1), "os.chdir(\"/tmp\")"),
        ("ls -la", Name("ls", 1), "shell<ls -la>"),
        ("ls", Name("ls", 1), "shell<ls>"),
        ("make -j4", Name("make", 1), "shell<make -j4>"),
        ("find . -name '*.py'", Syntax(1), "shell<find"),
        ("cat README.md", Syntax(1), "shell<cat README.md>"),
        ("FLAVOUR=mint git log", Syntax(1), "shell<FLAVOUR=mint git log>"),
        ("export KEY=5", Syntax(1), "os.environ[\"KEY\"] = \"5\""),
        ("export PATH=$PATH:/opt/x", Syntax(1), "os.environ[\"PATH\"] = …"),
        (r#"export SAID="it's so""#, Syntax(1), r#"os.environ["SAID"] = "it's so""#),
        (r#"%env SAID=a "b" \c"#, Syntax(1), r#"os.environ["SAID"] = "a \"b\" \\c""#),
        ("cd 'my dir'", Syntax(1), "os.chdir(\"my dir\")"),
        ("%cd my\\ \"dir\"", Syntax(1), "os.chdir(\"my dir\")"),
        ("cd $HOME/x", Syntax(1), "os.chdir(…)"),
        ("%run \"a.py", Syntax(1), r#"runpy.run_path("\"a.py""#),
        ("source .venv/bin/activate", Syntax(1), "environment is in force"),
        ("for f in *.txt; do echo $f; done", Syntax(1), "shell<for f"),
        ("$ npm test", Syntax(1), "shell<npm test>"),
        ("const x = 1", Syntax(1), "this looks like JavaScript: eval<node>"),
        ("let total = items.reduce((a, b) => a + b)", Syntax(1), "eval<node>"),
        ("console.log(1)", Name("console", 1), "eval<node>"),
        ("const fs = require('fs');\nconsole.log(fs)", Syntax(1), "eval<node>"),
        ("if (a === b) {\n  run();\n}", Syntax(1), "eval<node>"),
        ("export default function f() {}", Syntax(1), "eval<node>"),
        ("interface A {\n  x: number\n}", Syntax(1), "eval<node>"),
        ("function add(a, b) {\n  return a + b;\n}", Syntax(1), "eval<node>"),
        ("import { z } from 'zod'", Syntax(1), "eval<node>"),
        ("const x: number = 1", Syntax(1), "eval<node>"),
        ("x <- c(1, 2, 3)", Name("x", 1), "this looks like R"),
        ("SELECT name FROM users WHERE id = 1", Syntax(1), "SQL"),
        ("select * from users", Syntax(1), "SQL"),
        ("```python\nprint(1)\n```", Syntax(1), "without the fence"),
        (">>> x = 1", Syntax(1), "without the `>>>` prompts"),
        ("In [3]: x", Syntax(1), "prompts"),
        ("In [3]: x", Name("In", 1), "prompts"),
        ("chmod +x run.sh", Syntax(1), "shell<chmod +x run.sh>"),
        ("x = true", Name("true", 1), "Python writes True"),
        ("return_value = null", Name("null", 1), "Python writes None"),
        (
            "df = load()\ndisplay(df)",
            Name("display", 2),
            "the last value is shown by itself; or: from IPython.display import display",
        ),
        ("np.zeros(3)", Name("np", 1), "not imported: import numpy as np"),
        ("p = Path('x')", Name("Path", 1), "from pathlib import Path"),
        ("pd.DataFrame()", Name("pd", 1), "import pandas as pd"),
    ] {
        let got = text("python", code, &fails);
        assert!(got.as_ref().is_some_and(|got| got.contains(wanted)), "{code:?}: {got:?}");
        let got = got.unwrap();
        assert!(!got.contains('\n') && got.len() < 400, "{got}");
    }
}

#[test]
fn e18_wrong_python_and_prose_get_none() {
    for (code, fails) in [
        ("x = (1 + 2", Syntax(1)),
        ("print 'hello'", Syntax(1)),
        ("if x = 1:\n  pass", Syntax(1)),
        ("if x == 1 {", Syntax(1)),
        ("def f()\n  return 1", Syntax(1)),
        ("for i in range(3) print(i)", Syntax(1)),
        ("x = 5 +", Syntax(1)),
        ("x++", Syntax(1)),
        ("if a && b:\n  pass", Syntax(1)),
        ("class A\n  pass", Syntax(1)),
        ("foo bar", Syntax(1)),
        ("Please make sure that it works", Syntax(1)),
        ("make sure that src/main.rs compiles", Syntax(1)),
        ("find the file in /tmp please", Syntax(1)),
        ("git is a version control system", Syntax(1)),
        ("head over to example.com", Syntax(1)),
        ("let me think about this", Syntax(1)),
        ("select one from the list", Syntax(1)),
        ("What is the total?", Syntax(1)),
        ("Is this right?", Syntax(1)),
        ("The quick brown fox", Syntax(1)),
        ("ready = !done", Syntax(1)),
        ("x % y = 3", Syntax(1)),
        ("%foo bar", Syntax(1)),
        ("!important = 5", Syntax(1)),
        ("total", Name("total", 1)),
        ("ls = [1]\nprint(lss)", Name("lss", 2)),
        ("result = compute(data)", Name("compute", 1)),
        ("sort(x)", Name("sort", 1)),
        ("head - 1", Name("head", 1)),
        ("test == 3", Name("test", 1)),
        ("cd = ls + 1", Name("ls", 1)),
        // The habit is in another line than the error.
        ("code = '''\n!ls\n'''\nx = = 1", Syntax(4)),
        ("doc = 'const x = 1'\ny = (", Syntax(2)),
        ("==== Results ====", Syntax(1)),
        ("1. first\n2. second", Syntax(1)),
        ("- a point", Syntax(1)),
        ("{\"a\": 1,, \"b\": 2}", Syntax(1)),
        ("update the table with new values", Syntax(1)),
        ("import foo bar", Syntax(1)),
        ("await x = 3", Syntax(1)),
    ] {
        assert_eq!(text("python", code, &fails), None, "{code:?}");
    }
}

#[test]
fn e18_habits_in_bash_get_their_hint_and_wrong_bash_none() {
    for (code, fails, wanted) in [
        ("import os", Unknown("import"), Some("this looks like Python: eval<python>")),
        ("echo 1\nfrom x import y", Unknown("from"), Some("eval<python>")),
        ("print(\"x\")", Syntax(1), Some("eval<python>")),
        ("def f():\n  return 1", Syntax(1), Some("eval<python>")),
        ("for i in range(3):\n  print(i)", Syntax(1), Some("eval<python>")),
        ("const x = 1", Unknown("const"), Some("eval<node>")),
        ("console.log('a')", Syntax(1), Some("eval<node>")),
        ("let x = 5", Said("bash: let: =: syntax error: operand expected"), Some("eval<node>")),
        ("%timeit x", Said("bash: fg: no job control"), Some("leave out `%timeit`")),
        ("ls\n%%bash", Said("bash: fg: no job control"), Some("this session runs that already")),
        ("!ls", Unknown("!ls"), Some("leave out the `!`")),
        ("total?", Unknown("total?"), Some("inspect<total>")),
        ("x = 1", Unknown("x"), Some("no spaces around `=`: x=1")),
        ("SELECT a FROM b", Unknown("SELECT"), Some("SQL")),
        (">>> print(1)", Syntax(1), Some("prompts")),
        (
            "class A:\n  pass",
            Said("bash: class: command not found\nbash: pass: command not found"),
            Some("eval<python>"),
        ),
        ("foo --bar", Unknown("foo"), None),
        ("gti status", Unknown("gti"), None),
        ("if true; then", Syntax(2), None),
        ("echo (a", Syntax(1), None),
        ("for i in 1 2 3; do echo $i; don", Syntax(2), None),
        ("ls | grpe x", Unknown("grpe"), None),
        ("case x in a) ;; esca", Syntax(1), None),
        ("[ 1 = 1", Said("bash: [: missing `]'"), None),
        ("let y=3+", Said("bash: let: y=3+: syntax error: operand expected"), None),
        ("import nothing | x", Unknown("x"), None),
    ] {
        let got = text("bash", code, &fails);
        let right = match wanted {
            Some(wanted) => got.as_ref().is_some_and(|got| got.contains(wanted)),
            None => got.is_none(),
        };
        assert!(right, "{code:?}: {got:?}");
    }
}

#[test]
fn e18_habits_in_node_get_their_hint_and_wrong_javascript_none() {
    for (code, fails, wanted) in [
        ("interface A { x: number }", Syntax(1), Some("TypeScript")),
        ("const x: number = 1", Syntax(1), Some("shell<npx tsx FILE.ts>")),
        ("type T = string | number", Syntax(1), Some("TypeScript")),
        ("const a = [1] as const", Syntax(1), Some("TypeScript")),
        ("function id<T>(x: T): T { return x }", Syntax(1), Some("TypeScript")),
        ("const f = (x: number) => x + 1", Syntax(1), Some("TypeScript")),
        ("const m = new Map<string, number>()", Syntax(1), Some("TypeScript")),
        ("class P { constructor(private x: number) {} }", Syntax(1), Some("TypeScript")),
        ("enum Color { Red }", Syntax(1), Some("TypeScript")),
        ("import type { A } from './a'", Syntax(1), Some("TypeScript")),
        ("class A {\n  private x = 1\n}", Syntax(2), Some("TypeScript")),
        ("function f(a: string, b?: number) {", Syntax(1), Some("TypeScript")),
        ("import os", Syntax(1), Some("this looks like Python: eval<python>")),
        ("from math import sqrt", Syntax(1), Some("eval<python>")),
        ("print(\"x\")", Name("print", 1), Some("eval<python>")),
        ("def f(x):\n  return x", Syntax(1), Some("eval<python>")),
        ("let a = 1\nfor x in y:", Syntax(2), Some("eval<python>")),
        ("x = None", Name("None", 1), Some("JavaScript writes null")),
        ("ls -la", Name("ls", 1), Some("shell<ls -la>")),
        ("git status", Syntax(1), Some("shell<git status>")),
        ("npm install zod", Syntax(1), Some("shell<npm install zod>")),
        ("cd ..", Syntax(1), Some("process.chdir(\"..\")")),
        ("export KEY=5", Syntax(1), Some("process.env.KEY = \"5\"")),
        ("!ls", Name("ls", 1), Some("shell<ls>")),
        ("%timeit f()", Syntax(1), Some("leave out `%timeit`")),
        ("total?", Syntax(1), Some("inspect<total>")),
        ("SELECT 1 FROM x", Syntax(1), Some("SQL")),
        ("```js\n1\n```", Syntax(1), Some("fence")),
        ("export const x = 1", Syntax(1), None),
        ("export default class A {}", Syntax(1), None),
        ("export { a, b }; a = 1", Syntax(1), None),
        ("export * from './a.js'", Syntax(1), None),
        ("const x = ;", Syntax(1), None),
        ("let x = {a: 1", Syntax(1), None),
        ("foo(", Syntax(1), None),
        ("if (x) { y", Syntax(1), None),
        ("const x 5", Syntax(1), None),
        ("const a = b ? c ;", Syntax(1), None),
        ("total", Name("total", 1), None),
        ("!ready", Name("ready", 1), None),
        ("fetchAll(url)", Name("fetchAll", 1), None),
        ("return 5;;;)", Syntax(1), None),
        ("for (let i = 0; i < 3; i++ {", Syntax(1), None),
        ("var 1x = 3", Syntax(1), None),
        ("this is not code", Syntax(1), None),
        ("async function f() { await }", Syntax(1), None),
        ("x => { y", Syntax(1), None),
    ] {
        let got = text("node", code, &fails);
        let right = match wanted {
            Some(wanted) => got.as_ref().is_some_and(|got| got.contains(wanted)),
            None => got.is_none(),
        };
        assert!(right, "{code:?}: {got:?}");
    }
}

#[test]
fn e18_an_error_in_a_file_of_somebody_else_gets_none() {
    let of = |language: &str, code: &str, name: &str, message: &str, traceback: Option<&str>| {
        let error = ErrorInfo {
            name: name.to_owned(),
            message: message.to_owned(),
            traceback: traceback.map(str::to_owned),
            ..ErrorInfo::default()
        };
        let failed = Failed {
            language,
            code,
            eval: "<py:7>".to_owned(),
            error: Some(&error),
            said: String::new(),
            cwd: "/nowhere".as_ref(),
        };
        let name = failed.missing_name().map(str::to_owned);
        (failed.hint().is_some(), name)
    };
    let text = "Traceback (most recent call last):\n  File \"<py:7>\", line 1, in <module>\n  File \"/x/lib.py\", line 3\n    !ls\nSyntaxError: invalid syntax\n";
    assert_eq!(of("python", "!ls", "SyntaxError", "invalid syntax", Some(text)), (false, None));
    let text = text.replace("SyntaxError: invalid syntax", "NameError: name 'np' is not defined");
    let undefined = "name 'np' is not defined";
    assert_eq!(of("python", "f()", "NameError", undefined, Some(&text)), (false, None));
    let text = "  File \"<py:7>\", line 1, in <module>\n  File \"<py:3>\", line 1, in f\n";
    let np = Some("np".to_owned());
    assert_eq!(of("python", "f()", "NameError", undefined, Some(text)), (true, np));
    // A hook of the user's has printed the error.
    assert!(of("python", "!ls", "SyntaxError", "invalid syntax", None).0);
    assert!(!of("python", "x = 1\n!ls", "SyntaxError", "invalid syntax", None).0);
    let text = "ReferenceError: q is not defined\n    at f (/x/lib.js:1:1)\n    at <py:7>:1:1";
    assert_eq!(of("node", "f()", "ReferenceError", "q is not defined", Some(text)).1, None);
    let text = "ReferenceError: q is not defined\n    at f (<py:2>:1:1)\n    at <py:7>:1:1";
    assert!(of("node", "f()", "ReferenceError", "q is not defined", Some(text)).1.is_some());
    // The line is one of a file that the code sources.
    let message = "./x.sh: line 1: syntax error near unexpected token `('";
    assert!(!of("bash", "print(1)", "SyntaxError", message, None).0);
}

/// The hint for a Python module that its bridge says is missing.
fn missing(module: &str, missing: Missing) -> Option<String> {
    let error = ErrorInfo {
        name: "ModuleNotFoundError".to_owned(),
        message: format!("No module named '{module}'"),
        missing: Some(Box::new(Missing { module: Some(module.to_owned()), ..missing })),
        ..ErrorInfo::default()
    };
    let failed = Failed {
        language: "python",
        code: "import x",
        eval: "<py:7>".to_owned(),
        error: Some(&error),
        said: String::new(),
        cwd: "/nowhere".as_ref(),
    };
    failed.hint().map(|hint| hint.text(&"py".parse().unwrap(), &Tools))
}

#[test]
fn e18_a_missing_module_names_the_command_of_the_environment() {
    let uv = || Missing { install: Some("uv add".to_owned()), ..Missing::default() };
    let got = missing("cv2", uv()).unwrap();
    assert_eq!(got, "`cv2` is not installed; install it so: shell<uv add opencv-python>");
    let got = missing("sklear", uv()).unwrap();
    assert_eq!(got, "not installed in this environment; packages are installed with: uv add NAME");
    assert!(missing("imp", uv()).unwrap().contains("importlib"));
    assert_eq!(missing("tkinter", Missing { of_language: true, ..uv() }), None);
    assert_eq!(missing("cv2", Missing::default()), None);
    let fresh = Missing { makes_environment: true, ..uv() };
    assert!(missing("numpy", fresh).unwrap().ends_with(", then restart<>"));
}

#[test]
fn e18_a_missing_package_of_node_names_the_projects_manager() {
    let dir = tempfile::tempdir().unwrap();
    let of = |message: &str| {
        let error = ErrorInfo {
            name: "Error".to_owned(),
            message: message.to_owned(),
            ..ErrorInfo::default()
        };
        let failed = Failed {
            language: "node",
            code: "require('x')",
            eval: "<js:7>".to_owned(),
            error: Some(&error),
            said: String::new(),
            cwd: dir.path(),
        };
        failed.hint().map(|hint| hint.text(&"js".parse().unwrap(), &Tools))
    };
    let got = of("Cannot find module 'zod'\nRequire stack:\n- /x").unwrap();
    assert_eq!(got, "`zod` is not installed; install it so: shell<npm install zod>");
    std::fs::write(dir.path().join("pnpm-lock.yaml"), "").unwrap();
    let got = of("Cannot find package '@scope/thing' imported from /x").unwrap();
    assert!(got.contains("shell<pnpm add @scope/thing>"), "{got}");
    assert!(of("Cannot find module 'lodash/fp'").unwrap().contains("add lodash>"));
    assert_eq!(of("Cannot find module './mine'"), None);
    assert_eq!(of("Cannot find module '/abs/path.js'"), None);
    assert_eq!(of("Cannot find the way"), None);
}

#[test]
fn e18_a_lost_name_says_what_became_of_it() {
    let of = |lost| Hint::Fresh { name: "df".to_owned(), eval: EvalSeq(3), lost };
    let said = |lost| of(lost).text(&"py".parse().unwrap(), &Tools);
    let reason = Some(stead_protocol::EndReason::Restarted { by: None });
    assert_eq!(
        said(LostBy::End { reason }),
        "`df` was known before the session was started afresh (the session was restarted); it came from py:3: \
         run the code that makes it again"
    );
    assert!(said(LostBy::Clear { eval: EvalSeq(9) }).contains("cleared by py:9"));
    assert!(said(LostBy::End { reason: None }).contains("started afresh; it came"));
    assert!(said(LostBy::Undo).starts_with("`df` came from py:3, which was undone"));
}
