//! E-18: habits of other REPLs and other languages get a hint with the call that does it here; right code gets none.

use serde_json::json;

use crate::reply::Reply;
use crate::rig::{Server, served};

#[track_caller]
fn run(server: &mut Server, language: &str, code: &str) -> Reply {
    server.call("eval", json!({"code": code, "language": language}))
}

/// The one hint in a reply.
#[track_caller]
fn hint(reply: &Reply) -> Option<&str> {
    let mut hints = reply.ours().into_iter().filter(|line| line.starts_with("[hint: "));
    let hint = hints.next();
    assert!(hints.next().is_none(), "{}", reply.text);
    hint
}

const SHELL: &str = "shell {\"command\":";

#[test]
fn e18_each_habit_gets_its_hint_in_each_language() {
    let (_env, mut server) = served();
    for (language, code, wanted) in [
        ("python", "%timeit sum(range(9))", "timeit.timeit(lambda: …, number=100)"),
        ("python", "%%bash\nls -la", r#"shell {"command":"ls -la"}"#),
        ("python", "x = 1\n!ls", r#"shell {"command":"ls"}"#),
        ("python", "files = !ls", "subprocess.run(\"ls\""),
        ("python", "total?", r#"inspect {"session":"py","name":"total"}, or help(total)"#),
        ("python", "pip install requests", SHELL),
        ("python", "%pip install requests", SHELL),
        ("python", "%matplotlib inline", "figures are shown by themselves"),
        ("python", "%load_ext autoreload", "importlib.reload"),
        ("python", "git status", r#"shell {"command":"git status"}"#),
        ("python", "cd ..", "os.chdir(\"..\")"),
        ("python", "ls -la", r#"shell {"command":"ls -la"}"#),
        ("python", "const x = 1", r#"give eval "language":"node""#),
        ("python", "interface A {\n  x: number\n}", r#"give eval "language":"node""#),
        ("python", "console.log(1)", r#"give eval "language":"node""#),
        ("python", "```python\nprint(1)\n```", "without the fence"),
        ("python", ">>> print(1)", "prompts"),
        ("python", "SELECT a FROM b", "SQL"),
        ("python", "x = true", "Python writes True"),
        ("python", "np.zeros(3)", "import numpy as np"),
        ("python", "display(3)", "shown by itself; or: from IPython.display import display"),
        ("bash", "import os", r#"give eval "language":"python""#),
        ("bash", "print(\"x\")", r#"give eval "language":"python""#),
        ("bash", "def f():\n  return 1", r#"give eval "language":"python""#),
        ("bash", "const x = 1", r#"give eval "language":"node""#),
        ("bash", "console.log('x')", r#"give eval "language":"node""#),
        ("bash", "%timeit x", "leave out `%timeit`"),
        ("bash", "!ls", "leave out the `!`"),
        ("bash", "total?", "inspect {"),
        ("bash", "SELECT a FROM b", "SQL"),
        ("bash", "x = 1", "x=1"),
        ("node", "interface A { x: number }", "npx tsx"),
        ("node", "const x: number = 1", "leave out the types"),
        ("node", "type T = string", "TypeScript"),
        ("node", "const a = [1] as const", "TypeScript"),
        ("node", "function f<T>(x: T): T { return x }", "TypeScript"),
        ("node", "import os", r#"give eval "language":"python""#),
        ("node", "print(\"x\")", r#"give eval "language":"python""#),
        ("node", "def f(x):\n  return x", r#"give eval "language":"python""#),
        ("node", "git status", r#"shell {"command":"git status"}"#),
        ("node", "ls -la", r#"shell {"command":"ls -la"}"#),
        ("node", "npm install zod", r#"shell {"command":"npm install zod"}"#),
        ("node", "!ls", r#"shell {"command":"ls"}"#),
        ("node", "%timeit 1", "leave out `%timeit`"),
        ("node", "require('zod')", r#"shell {"command":"npm install zod"}"#),
        ("node", "await import('zod')", r#"shell {"command":"npm install zod"}"#),
    ] {
        let reply = run(&mut server, language, code);
        let found = hint(&reply).unwrap_or_else(|| panic!("no hint for {code:?}: {}", reply.text));
        assert!(found.contains(wanted), "{code:?}: {found}");
        assert!(found.len() < 400, "{found}");
        // It stands before the closing line, which stays whole.
        assert!(reply.body().ends_with(&format!("{found}\n")), "{}", reply.text);
    }
    // A shell command is met in the same way.
    let reply = server.call("shell", json!({"command": "import os"}));
    assert!(hint(&reply).unwrap().contains(r#""language":"python""#), "{}", reply.text);
}

#[test]
fn e18_code_that_failed_in_the_background_gets_its_hint_when_it_is_read() {
    let (_env, mut server) = served();
    for (language, code) in [("python", "!ls"), ("bash", "import os")] {
        let call = json!({"code": code, "language": language, "background": true});
        let id = server.call("eval", call).id();
        let reply = server.call("output", json!({"id": id, "wait_ms": 30_000}));
        assert!(hint(&reply).is_some(), "{}", reply.text);
    }
}

#[test]
fn e18_right_code_and_other_errors_get_no_hint() {
    let (_env, mut server) = served();
    for (language, code) in [
        ("python", "x = 7 % 3"),
        ("python", "'''\n%timeit x\n!ls\n'''"),
        ("python", "type = 'const x = 1'"),
        ("python", "1 / 0"),
        ("python", "print('!ls')\nx = ("),
        ("python", "no_such_name"),
        ("python", "raise ValueError('ls -la')"),
        ("python", "{}['key']"),
        ("python", "x = = 1"),
        ("python", "please make it work"),
        ("bash", "let x=5; echo $x"),
        ("bash", "no_such_command --flag"),
        ("bash", "false"),
        ("bash", "echo 'import os'; exit 3"),
        ("bash", "x=1; [ $x = 1 ]"),
        ("node", "const total = 1"),
        ("node", "!true"),
        ("node", "throw new Error('Cannot compute')"),
        ("node", "noSuchName"),
        ("node", "const a = ;"),
        ("node", "null.x"),
        ("node", "true ? 1 : 2"),
    ] {
        let reply = run(&mut server, language, code);
        assert_eq!(hint(&reply), None, "{code:?}");
    }
}

#[test]
fn e18_a_missing_module_names_the_install_command() {
    let (_env, mut server) = served();
    let reply = run(&mut server, "python", "import cv2");
    let said = hint(&reply).unwrap();
    assert!(said.contains("install") && said.contains(" opencv-python\"}"), "{said}");
    let reply = run(&mut server, "python", "import no_such_thing_at_all");
    let said = hint(&reply).unwrap();
    assert!(said.contains("packages are installed with: ") && said.ends_with(" NAME]"), "{said}");
    assert_eq!(hint(&run(&mut server, "python", "import json.nothing")), None);
}

#[test]
fn e18_a_name_that_was_lost_says_how() {
    let (_env, mut server) = served();
    for (language, session, bind) in
        [("python", "py", "df = [1, 2]"), ("node", "js", "const df = [1, 2]")]
    {
        run(&mut server, language, bind);
        assert_eq!(hint(&run(&mut server, language, "df")), None);
        server.call("control", json!({"target": session, "action": "restart"}));
        let reply = run(&mut server, language, "df");
        let said = hint(&reply).unwrap();
        let begin = "[hint: `df` was known before the session was started afresh (the session was restarted by ";
        let end = format!("); it came from {session}:1: run the code that makes it again]");
        assert!(said.starts_with(begin) && said.ends_with(&end), "{said}");
        // What was never there is not said to have been.
        assert_eq!(hint(&run(&mut server, language, "other")), None);
        run(&mut server, language, bind);
        assert_eq!(hint(&run(&mut server, language, "df")), None);
    }
    run(&mut server, "bash", "hello() { echo hi; }");
    server.call("control", json!({"target": "sh", "action": "restart"}));
    let reply = run(&mut server, "bash", "hello");
    assert!(hint(&reply).unwrap().contains("`hello` was known before"), "{}", reply.text);
}

#[test]
fn e18_a_name_that_was_deleted_or_lost_in_a_crash_or_cleared_is_told_apart() {
    let (env, mut server) = served();
    env.json(["launch", "python", "-n", "py", "--no-undo"]);
    let eval = |server: &mut Server, code: &str| run(server, "python", code);
    eval(&mut server, "a = 1; b = 2; c = 3");
    eval(&mut server, "del b");
    eval(&mut server, "import os; os.abort()");
    let reply = eval(&mut server, "a");
    let said = hint(&reply).unwrap();
    assert!(said.contains("started afresh (the interpreter was ended by signal 6"), "{said}");
    assert_eq!(hint(&eval(&mut server, "b")), None);
    eval(&mut server, "d = 4");
    server.call("control", json!({"target": "py", "action": "clear"}));
    let reply = eval(&mut server, "d");
    assert!(
        hint(&reply).unwrap().contains("before all names were cleared by py:"),
        "{}",
        reply.text
    );
}
