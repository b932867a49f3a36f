//! PY-6, PY-9, PY-13, S-6: what ends an eval, what ends the session, and what must end neither.

use serde_json::Value;
use stead_testkit::{TestEnv, is_alive, wait_for};

use crate::STEAD;
use crate::talk::{
    chunks, expect, expect_clean, outcome, submit, touch, until, wait_for_file, wrote,
};

/// The session has ended, and the reply says how.
#[track_caller]
fn expect_end(reply: &Value, code: Option<i64>, says: &str) {
    expect(reply, "ended");
    if let Some(code) = code {
        assert_eq!(reply["data"]["exit_code"], code, "{reply:#}");
    }
    // An end that was wanted is no failure: status and exit code say it all.
    if code == Some(0) {
        assert_eq!(reply["ok"], true, "{reply:#}");
    } else {
        assert_eq!(reply["error"]["code"], "session_ended", "{reply:#}");
        let message = reply["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(says), "{reply:#}");
    }
    assert_eq!(wrote(reply, "error"), "", "{reply:#}");
}

/// The next eval runs in a fresh interpreter and says so, once.
#[track_caller]
fn expect_fresh(env: &TestEnv, generation: u32) {
    let reply = env.eval("'kept' in globals()");
    expect(&reply, "complete");
    assert_eq!(reply["data"]["value"], "False", "{reply:#}");
    assert_eq!(reply["data"]["generation"], generation, "{reply:#}");
    assert!(reply["data"]["notice"].as_str().unwrap_or_default().contains("fresh"), "{reply:#}");
    expect_clean(env);
}

/// The same, whichever words the notice has.
#[track_caller]
fn expect_fresh_again(env: &TestEnv, generation: u32) {
    let reply = env.eval("'kept' in globals()");
    expect(&reply, "complete");
    assert_eq!(reply["data"]["value"], "False", "{reply:#}");
    assert_eq!(reply["data"]["generation"], generation, "{reply:#}");
    assert!(reply["data"]["notice"].as_str().unwrap_or_default().contains("gone"), "{reply:#}");
}

#[test]
fn py13_sys_exit_ends_the_eval_and_keeps_the_state() {
    let env = TestEnv::new(STEAD);
    env.eval("import sys; kept = 41");
    for code in [
        "sys.exit()",
        "sys.exit(None)",
        "sys.exit(0)",
        "raise SystemExit",
        "exit_ = 1; raise SystemExit(0)",
    ] {
        let ran = env.run(["eval", "-n", "py", "--", &format!("print('before')\n{code}")]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let reply = ran.json();
        expect(&reply, "complete");
        assert_eq!(reply["data"]["exit_code"], 0, "{reply:#}");
        assert_eq!(chunks(&reply), [("out", "before\n")], "{reply:#}");
    }
    for (code, number, message) in [
        ("sys.exit(7)", 7, "7"),
        ("sys.exit('text')", 1, "text"),
        ("raise SystemExit('text')", 1, "text"),
        ("def f(): raise SystemExit(3)\nf()", 3, "3"),
        ("sys.exit(True)", 1, "1"),
        ("sys.exit(-1)", -1, "-1"),
        ("sys.exit((1, 2))", 1, "(1, 2)"),
        ("def main(): return 4\nsys.exit(main())", 4, "4"),
    ] {
        let ran = env.run(["eval", "-n", "py", "--", code]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let reply = ran.json();
        expect(&reply, "error");
        assert_eq!(reply["data"]["exit_code"], number, "{code}: {reply:#}");
        assert_eq!(reply["data"]["error"]["name"], "SystemExit", "{reply:#}");
        assert_eq!(reply["data"]["error"]["message"], message, "{reply:#}");
        assert!(reply["data"]["error"]["traceback"].is_null(), "{reply:#}");
        assert_eq!(wrote(&reply, "err"), "");
    }
    assert_eq!(env.value("kept + 1"), "42");
    assert_eq!(env.status()["generation"], 1);
}

#[test]
fn py13_argparse_exits_end_the_eval_only() {
    let env = TestEnv::new(STEAD);
    env.eval("import argparse; p = argparse.ArgumentParser(prog='tool')");
    let reply = env.eval("p.parse_args(['--no-such'])");
    expect(&reply, "error");
    assert_eq!(reply["data"]["exit_code"], 2);
    assert!(wrote(&reply, "err").contains("unrecognized arguments: --no-such"), "{reply:#}");
    let reply = env.eval("p.parse_args(['-h'])");
    expect(&reply, "complete");
    assert!(wrote(&reply, "out").contains("usage: tool"), "{reply:#}");
    expect_clean(&env);
}

#[test]
fn py13_an_exit_in_a_task_or_a_thread_keeps_the_session() {
    let env = TestEnv::new(STEAD);
    let reply = env.eval("import asyncio, sys\nawait asyncio.sleep(0)\nsys.exit(5)");
    expect(&reply, "error");
    assert_eq!(reply["data"]["exit_code"], 5, "{reply:#}");
    let code = "import threading; t = threading.Thread(target=sys.exit); t.start(); t.join()";
    expect(&env.eval(code), "complete");
    expect_clean(&env);
}

#[test]
fn py13_exit_and_quit_end_the_session() {
    let env = TestEnv::new(STEAD);
    let mut generation = 1;
    for (code, number) in [
        ("exit()", 0),
        ("quit()", 0),
        ("exit(3)", 3),
        ("quit('text')", 1),
        ("def f(): exit(9)\nf()", 9),
    ] {
        env.eval("kept = 1");
        let reply = env.eval(&format!("print('before')\n{code}"));
        expect_end(&reply, Some(number), &format!("exited with code {number}"));
        assert!(wrote(&reply, "out").starts_with("before\n"), "{reply:#}");
        generation += 1;
        expect_fresh(&env, generation);
    }
}

#[test]
fn py13_exit_handlers_and_threads_run_to_their_end_first() {
    let env = TestEnv::new(STEAD);
    let code = "import atexit, sys, threading, time
kept = 1
atexit.register(lambda: print('handler out'))
atexit.register(lambda: print('handler err', file=sys.stderr))
def work():
    open('up', 'w').close()
    UNTIL
    print('thread done')
threading.Thread(target=work).start()
print('leaving')
exit(4)"
        .replace("UNTIL", &until("go"));
    let id = submit(&env, &code);
    wait_for_file(&env, "up");
    expect(&env.json(["output", &id, "--wait", "100ms"]), "partial");
    // While it goes, code is not taken in; `--no-queue` because the thread may be ahead of `exit`.
    let refused = env.run(["eval", "-n", "py", "--no-queue", "--", "1"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    touch(&env, "go");
    let reply = outcome(&env, &id);
    expect_end(&reply, Some(4), "exited with code 4");
    assert_eq!(wrote(&reply, "out"), "leaving\nthread done\nhandler out\n", "{reply:#}");
    assert_eq!(wrote(&reply, "err"), "handler err\n");
    expect_fresh(&env, 2);
}

#[test]
fn py13_os_exit_and_signals_are_reported() {
    let env = TestEnv::new(STEAD);
    // A copy for undo would take the place of the interpreter.
    env.json(["launch", "py", "--no-undo"]);
    env.eval("kept = 1");
    let reply = env.eval("import os\nprint('before', flush=True)\nos._exit(5)");
    expect_end(&reply, Some(5), "exited with code 5");
    assert_eq!(wrote(&reply, "out"), "before\n");
    expect_fresh(&env, 2);
    let reply = env.eval("import os, signal; os.kill(os.getpid(), signal.SIGKILL)");
    expect_end(&reply, None, "SIGKILL");
    expect_fresh(&env, 3);
    let reply = env.eval("import ctypes; ctypes.string_at(0)");
    expect_end(&reply, None, "SIGSEGV");
    expect_fresh(&env, 4);
    let reply = env.eval("import os; os.abort()");
    expect_end(&reply, None, "SIGABRT");
    expect_fresh(&env, 5);
}

#[test]
fn s6_an_end_while_idle_is_told_before_anything_runs() {
    let env = TestEnv::new(STEAD);
    // A copy for undo would take the place of the interpreter.
    env.json(["launch", "py", "--no-undo"]);
    env.eval("kept = 1");
    let (host, pid) = (env.host_pid(), env.interpreter_pid());
    let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    wait_for("the host to leave", || !is_alive(host));
    let ran = env.run(["eval", "-n", "py", "--", "open('ran', 'w').close()"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let reply = ran.json();
    assert_eq!(reply["error"]["code"], "session_lost", "{reply:#}");
    assert!(reply["error"]["message"].as_str().unwrap().contains("SIGKILL"), "{reply:#}");
    assert!(!env.workspace().join("ran").exists());
    let reply = env.eval("'kept' in globals()");
    expect(&reply, "complete");
    assert_eq!(reply["data"]["value"], "False");
    assert_eq!(reply["data"]["generation"], 2, "{reply:#}");
    expect_clean(&env);
}

#[test]
fn s6_an_end_that_was_read_afterwards_is_told() {
    let env = TestEnv::new(STEAD);
    // A copy for undo would take the place of the interpreter.
    env.json(["launch", "py", "--no-undo"]);
    for generation in [2, 4] {
        env.eval("kept = 1");
        let host = env.host_pid();
        // Nobody watches it end.
        let id = submit(&env, "exit(3)");
        wait_for("the host to leave", || !is_alive(host));
        expect_end(&outcome(&env, &id), Some(3), "exited with code 3");
        expect(&env.json(["output", &id]), "ended");
        expect_fresh_again(&env, generation);
        // A later loss is another one.
        let (host, pid) = (env.host_pid(), env.interpreter_pid());
        let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        wait_for("the host to leave", || !is_alive(host));
        expect(&env.json(["output", &id]), "ended");
        assert_eq!(env.eval("1")["error"]["code"], "session_lost");
    }
}

#[test]
fn s6_a_program_that_replaces_the_interpreter_is_part_of_the_eval() {
    let env = TestEnv::new(STEAD);
    env.eval("kept = 1");
    let code = "import os
print('before', flush=True)
os.execvp('sh', ['sh', '-c', 'echo replaced; echo problem >&2; exit 6'])";
    let reply = env.eval(code);
    expect_end(&reply, Some(6), "replaced by another program, which exited with code 6");
    assert_eq!(wrote(&reply, "out"), "before\nreplaced\n", "{reply:#}");
    assert_eq!(wrote(&reply, "err"), "problem\n");
    expect_fresh(&env, 2);
}

#[test]
fn py6_closed_standard_descriptors_come_back() {
    let env = TestEnv::new(STEAD);
    for code in [
        "import os\nfor fd in (0, 1, 2): os.close(fd)",
        "import os; os.closerange(0, 3)",
        "import sys; sys.stdout.close(); sys.stderr.close(); sys.stdin.close()",
        "import sys; sys.stdout = sys.stderr = sys.stdin = None",
        "import sys; del sys.stdout, sys.stderr, sys.stdin",
        "import sys; sys.stdout.detach()",
        "import sys; sys.stdout.buffer.close()",
        "import sys; sys.stdin.detach()",
        "import os; fd = os.open('/dev/null', os.O_RDWR); os.dup2(fd, 0)",
    ] {
        let reply = env.eval(code);
        expect(&reply, "complete");
        let reply = env.eval("import sys\nprint('out')\nprint('err', file=sys.stderr)\n2");
        expect(&reply, "complete");
        let wanted = [("out", "out\n"), ("err", "err\n"), ("value", "2")];
        assert_eq!(chunks(&reply), wanted, "{code}: {reply:#}");
        expect_clean(&env);
    }
}

#[test]
fn py6_closing_every_descriptor_ends_cleanly_or_not_at_all() {
    let env = TestEnv::new(STEAD);
    env.eval("kept = 1");
    let reply = env.eval("import os; os.closerange(3, 65536)\nprint('still here')");
    if reply["status"] == "ended" {
        let message = reply["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("the interpreter"), "{reply:#}");
        expect_fresh(&env, 2);
    } else {
        expect(&reply, "complete");
        expect_clean(&env);
    }
    let reply = env.eval("import os; os.closerange(0, 65536)");
    assert_ne!(reply["status"], "partial", "{reply:#}");
    expect(&env.eval("1"), "complete");
    expect_clean(&env);
}

#[test]
fn py6_whatever_the_user_breaks_the_next_eval_works() {
    let env = TestEnv::new(STEAD);
    for code in [
        "ast = globals = compile = 1",
        "tuple = 3; str = None; len = print = repr = eval = exec = isinstance = type = 0",
        "import builtins; builtins.repr = None",
        "import builtins; builtins.print = builtins.compile = builtins.len = builtins.str = None",
        "import sys; sys.displayhook = None",
        "import sys; sys.excepthook = None",
        "import sys; sys.path = None",
        "import sys; sys.modules['linecache'] = sys.modules['traceback'] = 7",
        "import sys; sys.settrace(lambda *a: 1 / 0)",
        "import sys; sys.setrecursionlimit(60)",
        "import os; os.chdir('/'); os.environ.clear()",
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)",
        "import io, sys; sys.stdout = io.StringIO()",
        "import gc; gc.disable()",
        "__builtins__ = {}",
        "__name__ = 5; __loader__ = None",
    ] {
        let env_of_its_own = TestEnv::new(STEAD);
        env_of_its_own.eval(code);
        let reply = env_of_its_own.eval("import sys; sys.stdout = sys.__stdout__; x = 1");
        assert_eq!(reply["status"], "complete", "{code}: {reply:#}");
        let reply = env_of_its_own.eval("x + 1");
        assert!(
            matches!(reply["status"].as_str(), Some("complete" | "error")),
            "{code}: {reply:#}"
        );
        if reply["status"] == "complete" && !code.contains("displayhook") {
            assert_eq!(reply["data"]["value"], "2", "{code}: {reply:#}");
        }
        let reply = env_of_its_own.eval("1/0");
        expect(&reply, "error");
        assert_eq!(reply["data"]["error"]["name"], "ZeroDivisionError", "{code}: {reply:#}");
        assert_eq!(reply["data"]["generation"], 1, "{code}: {reply:#}");
    }
    expect_clean(&env);
}

#[test]
fn py6_modules_of_the_workspace_do_not_get_into_the_bridge() {
    let env = TestEnv::new(STEAD);
    // Not `linecache`: from 3.13 on `python -c` itself imports it, from the workspace too.
    let names = [
        "json",
        "ast",
        "os",
        "io",
        "types",
        "traceback",
        "tokenize",
        "code",
        "codeop",
        "signal",
        "threading",
        "asyncio",
        "inspect",
        "pydoc",
        "fcntl",
        "time",
        "re",
        "bdb",
        "pdb",
        "struct",
        "select",
        "socket",
        "builtins",
        "warnings",
        "abc",
        "codecs",
        "site",
    ];
    for name in names {
        let source = "open('loaded', 'a').write(__name__ + ' ')\nraise ImportError('not yours')\n";
        std::fs::write(env.workspace().join(format!("{name}.py")), source).unwrap();
    }
    let reply = env.eval("print('x')\n1 + 1");
    assert_eq!(chunks(&reply), [("out", "x\n"), ("value", "2")], "{reply:#}");
    let reply = env.eval("def f():\n    1/0\nf()");
    assert_eq!(reply["data"]["error"]["name"], "ZeroDivisionError", "{reply:#}");
    let trace = reply["data"]["error"]["traceback"].as_str().unwrap_or_default();
    assert!(trace.contains("1/0"), "{trace}");
    expect(&env.eval("async def g(): return 3\nawait g()"), "complete");
    env.json(["vars", "-n", "py"]);
    env.json(["inspect", "-n", "py", "f"]);
    let loaded = std::fs::read_to_string(env.workspace().join("loaded")).unwrap_or_default();
    assert_eq!(loaded, "");
    // The user's own import still finds the workspace first.
    expect(&env.eval("import json"), "error");
    expect_clean(&env);
}

#[test]
fn py9_a_forked_child_that_falls_through_never_speaks() {
    let env = TestEnv::new(STEAD);
    let code = "import os
pid = os.fork()
if pid:
    status = os.waitpid(pid, 0)[1]
else:
    print('child', flush=True)
'parent' if pid else 'child'";
    for _ in 0..5 {
        let reply = env.eval(code);
        expect(&reply, "complete");
        assert_eq!(chunks(&reply), [("out", "child\n"), ("value", "'parent'")], "{reply:#}");
        assert_eq!(env.value("status"), "0");
        expect_clean(&env);
    }
    let code = "import os, sys
if os.fork() == 0: 1/0
os.wait()[1]";
    let reply = env.eval(code);
    expect(&reply, "complete");
    assert_eq!(reply["data"]["value"], "256", "{reply:#}");
    assert!(wrote(&reply, "err").contains("ZeroDivisionError"), "{reply:#}");
    expect(&env.eval("import os\nif os.fork() == 0: exit()\nos.wait()[1]"), "complete");
    expect_clean(&env);
}

#[test]
fn py9_multiprocessing_with_fork_and_pickles_work() {
    let env = TestEnv::new(STEAD);
    let code = "import multiprocessing, pickle
def double(x): return 2 * x
class Point:
    def __init__(self, x): self.x = x
with multiprocessing.get_context('fork').Pool(2) as pool:
    doubled = pool.map(double, range(5))
doubled, pickle.loads(pickle.dumps(Point(7))).x";
    let reply = env.eval(code);
    expect(&reply, "complete");
    assert_eq!(reply["data"]["value"], "([0, 2, 4, 6, 8], 7)", "{reply:#}");
    let code = "from concurrent.futures import ProcessPoolExecutor
with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context('fork')) as pool:
    tripled = list(pool.map(double, range(3)))
tripled";
    assert_eq!(env.value(code), "[0, 2, 4]");
    expect_clean(&env);
}

#[test]
fn py9_the_namespace_is_a_scripts() {
    let env = TestEnv::new(STEAD);
    let code = "__name__, '__file__' in globals(), sorted(n for n in globals() if n[:2] != '__')";
    assert_eq!(env.value(code), "('__main__', False, [])");
    std::fs::write(env.workspace().join("own_module.py"), "x = 5\n").unwrap();
    assert_eq!(env.value("import own_module; own_module.x"), "5");
}
