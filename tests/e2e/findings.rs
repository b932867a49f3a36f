//! The review findings of posit-dev/mcp-repl PR #132, one test each: what went wrong there must
//! not go wrong here. Numbers are those of our notes on it; Windows-only ones are left out.

use stead_testkit::{TestEnv, is_alive, pythons, wait_for, wait_for_some};

use crate::STEAD;
use crate::talk::{
    answer, ask, chunks, expect, expect_clean, expect_wait, id, interrupt, outcome, submit, touch,
    until, wait_for_file, wrote,
};

/// Answers a background reader as soon as there is one.
#[track_caller]
fn answer_background(env: &TestEnv, text: &str) -> serde_json::Value {
    wait_for_some("a background reader", || {
        let reply = answer(env, text);
        (reply["ok"] == true).then_some(reply)
    })
}

#[test]
fn pr132_case_11_the_first_eval_is_accepted_without_any_prompt() {
    let env = TestEnv::new(STEAD);
    expect_clean(&env);
    let other = TestEnv::new(STEAD);
    let reply = other.json(["launch", "python", "-n", "py"]);
    assert_eq!(reply["ok"], true, "{reply:#}");
    expect_clean(&other);
}

#[test]
fn pr132_case_30_a_last_expression_that_cannot_be_compiled_runs_nothing() {
    let env = TestEnv::new(STEAD);
    for last in [
        "yield 1",
        "(yield)",
        "x := 3",
        "f(**{}, *a)",
        "lambda: (yield)\nreturn",
        "print(a=1, a=2)",
        "yield from x",
    ] {
        let reply = env.eval(&format!("open('ran', 'w').close()\nran = 1\n{last}"));
        expect(&reply, "error");
        assert_eq!(reply["data"]["error"]["name"], "SyntaxError", "{last}: {reply:#}");
        assert!(!env.workspace().join("ran").exists(), "{last}");
    }
    // What is no top-level await is none of Python's last expressions either.
    let reply = env.eval("open('ran', 'w').close()\ndef f():\n    await g()");
    assert_eq!(reply["data"]["error"]["name"], "SyntaxError", "{reply:#}");
    assert!(!env.workspace().join("ran").exists());
    assert_eq!(env.value("'ran' in globals()"), "False");
}

#[test]
fn pr132_case_32_names_the_bridge_uses_may_be_assigned() {
    let env = TestEnv::new(STEAD);
    env.eval("ast = globals = compile = 1");
    assert_eq!(env.value("ast + globals + compile"), "3");
    env.eval("tuple = list = dict = str = len = isinstance = getattr = 3");
    assert_eq!(env.value("tuple + 1"), "4");
    let reply = env.eval("1/0");
    assert_eq!(reply["data"]["error"]["name"], "ZeroDivisionError");
    expect_clean(&env);
}

#[test]
fn pr132_case_36_future_imports_persist() {
    let env = TestEnv::new(STEAD);
    expect(&env.eval("from __future__ import annotations"), "complete");
    assert_eq!(
        env.value("def f(x: no_such_name): pass\nf.__annotations__"),
        "{'x': 'no_such_name'}"
    );
    let other = TestEnv::new(STEAD);
    expect(&other.eval("from __future__ import annotations\n)"), "error");
    expect(&other.eval("def f(x: no_such_name): pass"), "error");
}

#[test]
fn pr132_case_38_a_traceback_starts_at_the_users_code() {
    let env = TestEnv::new(STEAD);
    let reply = env.eval("1/0");
    let trace = reply["data"]["error"]["traceback"].as_str().unwrap().to_owned();
    let lines: Vec<&str> = trace.lines().collect();
    assert_eq!(lines[0], "Traceback (most recent call last):");
    assert_eq!(lines[1], "  File \"<py:1>\", line 1, in <module>");
    assert_eq!(lines[2].trim(), "1/0");
    assert_eq!(lines.last(), Some(&"ZeroDivisionError: division by zero"));
    assert_eq!(trace.matches("File ").count(), 1, "{trace}");
    for code in [
        "open('no such file')",
        "import sys; sys.stdout.write(5)",
        "await no_such_name",
        "import no_such_module",
    ] {
        let reply = env.eval(code);
        let trace = reply["data"]["error"]["traceback"].as_str().unwrap_or_default();
        assert_eq!(trace.matches("File ").count(), 1, "{trace}");
        assert!(!trace.contains("<stead>"), "{trace}");
    }
}

#[test]
fn pr132_case_43_sys_last_describes_the_failure() {
    let env = TestEnv::new(STEAD);
    expect(&env.eval("import sys\ndef f(): raise KeyError('k')\nf()"), "error");
    let code =
        "(sys.last_type is KeyError, sys.last_value.args, type(sys.last_value) is sys.last_type,
 sys.last_traceback is sys.last_value.__traceback__, sys.last_traceback.tb_frame.f_code.co_filename,
 getattr(sys, 'last_exc', sys.last_value) is sys.last_value)";
    assert_eq!(env.value(code), "(True, ('k',), True, True, '<py:1>', True)");
    expect(&env.eval("return 1"), "error");
    assert_eq!(env.value("sys.last_type.__name__, sys.last_traceback"), "('SyntaxError', None)");
}

#[test]
fn pr132_case_45_every_supported_python_starts_and_runs() {
    for python in pythons() {
        let env = TestEnv::with_python(STEAD, python);
        let shown = python.display();
        assert_eq!(env.value("6 * 7"), "42", "{shown}");
        let reply = env.eval("import sys\nprint('o')\nprint('e', file=sys.stderr)\nx = 1\nx");
        let wanted = [("out", "o\n"), ("err", "e\n"), ("value", "1")];
        assert_eq!(chunks(&reply), wanted, "{shown}: {reply:#}");
        let reply = env.eval("def f():\n    1/0\nf()");
        assert_eq!(reply["data"]["error"]["name"], "ZeroDivisionError", "{shown}");
        let trace = reply["data"]["error"]["traceback"].as_str().unwrap_or_default();
        assert_eq!(trace.matches("File ").count(), 2, "{shown}: {trace}");
        assert_eq!(env.value("import asyncio\nawait asyncio.sleep(0, 5)"), "5", "{shown}");
        assert_eq!(env.eval("x = = 1")["data"]["error"]["name"], "SyntaxError", "{shown}");
        ask(&env, "input('q: ')", "q: ");
        let reply = answer(&env, "a");
        assert_eq!(reply["data"]["value"], "'a'", "{shown}: {reply:#}");
        ask(&env, "def g():\n    breakpoint()\n    return 1\ng()", "(Pdb) ");
        let reply = answer(&env, "c");
        expect(&reply, "complete");
        for (code, prompt) in [
            ("input()", ""),
            ("import os; os.read(0, 1)", ""),
            ("breakpoint()\n1", "(Pdb) "),
            ("import code; code.interact(banner='')", ">>> "),
        ] {
            ask(&env, code, prompt);
            let effect = interrupt(&env);
            assert!(effect == "interrupted" || effect == "finished", "{shown}, {code}: {effect}");
            expect_clean(&env);
        }
        let running = submit(&env, "open('up', 'w').close()\nwhile True: pass");
        wait_for_file(&env, "up");
        assert_eq!(interrupt(&env), "interrupted", "{shown}");
        expect(&outcome(&env, &running), "interrupted");
        expect(&env.eval("import sys; sys.exit(3)"), "error");
        expect_clean(&env);
        expect(&env.eval("exit()"), "ended");
        assert_eq!(env.value("1"), "1", "{shown}");
    }
}

#[test]
fn pr132_case_59_input_is_a_wait_and_the_next_text_its_answer() {
    let env = TestEnv::new(STEAD);
    let reply = ask(&env, "x = input('name: ')", "name: ");
    assert!(wrote(&reply, "out").ends_with("name: "), "{reply:#}");
    expect(&answer(&env, "print('not code')"), "complete");
    assert_eq!(env.value("x"), "\"print('not code')\"");
}

#[test]
fn pr132_case_60_a_prompt_is_shown_once() {
    let env = TestEnv::new(STEAD);
    ask(&env, "x = input('name: ')", "name: ");
    let reply = answer(&env, "Ada");
    assert_eq!(chunks(&reply), [], "{reply:#}");
    assert!(reply["data"]["prompt"].is_null(), "{reply:#}");
}

#[test]
fn pr132_case_67_the_added_newline_is_dropped() {
    let env = TestEnv::new(STEAD);
    ask(&env, "import os; os.read(0, 5)", "");
    assert_eq!(answer(&env, "abcde")["data"]["value"], "b'abcde'");
    expect_clean(&env);
    ask(&env, "os.read(0, 5)", "");
    assert_eq!(answer(&env, "fg")["data"]["value"], r"b'fg\n'");
}

#[test]
fn pr132_case_68_the_rest_of_a_partial_read_is_dropped() {
    let env = TestEnv::new(STEAD);
    for code in ["import sys; sys.stdin.read(2)", "import sys; sys.stdin.readline(2)"] {
        ask(&env, code, "");
        assert_eq!(answer(&env, "abcdef\nghi")["data"]["value"], "'ab'");
        ask(&env, "sys.stdin.readline()", "");
        assert_eq!(answer(&env, "fresh")["data"]["value"], r"'fresh\n'");
        ask(&env, "input()", "");
        assert_eq!(answer(&env, "fresher")["data"]["value"], "'fresher'");
    }
}

#[test]
fn pr132_case_83_threads_that_call_back_do_not_lock_up_a_wait() {
    let env = TestEnv::new(STEAD);
    let code = "import threading, sys
stop = False
def busy():
    n = 0
    while not stop:
        n += 1
        print('b', n)
        print('e', n, file=sys.stderr)
        sys.displayhook(None)
        threading.Thread(target=print, args=('child',)).start()
ts = [threading.Thread(target=busy) for _ in range(3)]
[t.start() for t in ts]
a = input('one: ')
b = input('two: ')
stop = True
[t.join() for t in ts]
(a, b)";
    let reply = env.eval(code);
    expect(&reply, "waiting_input");
    expect(&answer(&env, "1"), "waiting_input");
    let reply = answer(&env, "2");
    expect(&reply, "complete");
    assert_eq!(reply["data"]["value"], "('1', '2')");
}

#[test]
fn pr132_case_90_a_thread_in_input_is_answered_after_its_eval() {
    let env = TestEnv::new(STEAD);
    let code = "import threading
t = threading.Thread(target=lambda: print('hello', input('who? ')))
t.start()";
    expect(&env.eval(code), "complete");
    let reply = answer_background(&env, "Ada");
    expect(&reply, "complete");
    assert!(wrote(&reply, "background").contains("hello Ada\n"), "{reply:#}");
    assert_eq!(env.value("t.join(); 1"), "1");
    expect_clean(&env);
}

#[test]
fn pr132_case_91_a_thread_in_os_read_is_answered_after_its_eval() {
    let env = TestEnv::new(STEAD);
    let code = "import threading, os
t = threading.Thread(target=lambda: print(os.read(0, 4)))
t.start()";
    expect(&env.eval(code), "complete");
    let reply = answer_background(&env, "data");
    expect(&reply, "complete");
    assert_eq!(wrote(&reply, "background"), "b'data'\n", "{reply:#}");
    env.value("t.join(); 1");
    expect_clean(&env);
}

#[test]
fn pr132_case_92_a_second_line_for_a_background_reader_is_dropped() {
    let env = TestEnv::new(STEAD);
    let code = "import threading
t = threading.Thread(target=lambda: globals().update(got=input()))
t.start()";
    expect(&env.eval(code), "complete");
    expect(&answer_background(&env, "first\nsecond"), "complete");
    assert_eq!(env.value("t.join(); got"), "'first'");
    ask(&env, "input('new: ')", "new: ");
    assert_eq!(answer(&env, "third")["data"]["value"], "'third'");
    expect_clean(&env);
}

#[test]
fn pr132_case_106_an_idle_interrupt_leaves_no_trace() {
    let env = TestEnv::new(STEAD);
    expect_clean(&env);
    assert_eq!(interrupt(&env), "nothing_running");
    let reply = env.eval("sum(range(100_000))");
    assert_eq!(chunks(&reply), [("value", "4999950000")], "{reply:#}");
}

#[test]
fn pr132_case_107_an_interrupted_wait_has_its_own_outcome() {
    let env = TestEnv::new(STEAD);
    for code in ["input('q: ')", "import sys; sys.stdin.readline()", "import os; os.read(0, 1)"] {
        for turn in 0..10 {
            let waiting = env.eval(code);
            expect(&waiting, "waiting_input");
            let waiting = id(&waiting);
            let reply = env.json(["interrupt", &waiting]);
            assert_eq!(reply["data"]["effect"], "interrupted", "{reply:#}");
            let reply = env.eval(&format!("'own {turn}'"));
            let own = format!("'own {turn}'");
            assert_eq!(chunks(&reply), [("value", own.as_str())], "{code}: {reply:#}");
            let reply = outcome(&env, &waiting);
            expect(&reply, "interrupted");
            assert_eq!(reply["data"]["error"]["name"], "KeyboardInterrupt", "{reply:#}");
        }
    }
}

#[test]
fn pr132_case_107_a_call_that_is_open_gets_the_outcome_of_its_interrupt() {
    let env = TestEnv::new(STEAD);
    expect_clean(&env);
    let open = env.spawn(["eval", "-n", "py", "--", "open('up', 'w').close()\nwhile True: pass"]);
    wait_for_file(&env, "up");
    assert_eq!(interrupt(&env), "interrupted");
    let output = open.wait_with_output().unwrap();
    let reply: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    expect(&reply, "interrupted");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn pr132_case_141_sys_exit_ends_the_eval_and_exit_the_session() {
    let env = TestEnv::new(STEAD);
    let reply = env.eval("kept = 1\nimport sys\nsys.exit()");
    expect(&reply, "complete");
    assert_eq!(chunks(&reply), [], "{reply:#}");
    assert_eq!(env.value("kept"), "1");
    for (code, generation) in [("exit()", 2), ("quit()", 3)] {
        let reply = env.eval(code);
        expect(&reply, "ended");
        assert_eq!(chunks(&reply), [], "{reply:#}");
        let reply = env.eval("'kept' in globals()");
        assert_eq!(reply["data"]["value"], "False");
        assert_eq!(reply["data"]["generation"], generation, "{reply:#}");
    }
}

#[test]
fn pr132_case_143_exit_handlers_are_heard_before_the_end() {
    let env = TestEnv::new(STEAD);
    let code = "import atexit, sys
atexit.register(lambda: (print('bye'), print('log', file=sys.stderr)))
exit()";
    let reply = env.eval(code);
    expect(&reply, "ended");
    assert_eq!(reply["data"]["exit_code"], 0, "{reply:#}");
    assert_eq!((wrote(&reply, "out"), wrote(&reply, "err")), ("bye\n".into(), "log\n".into()));
    assert_eq!(env.value("1"), "1");
}

#[test]
fn pr132_case_147_an_interpreter_that_will_not_exit_is_ended() {
    let env = TestEnv::new(STEAD);
    let code = "import atexit, threading
atexit.register(lambda: (open('up', 'w').close(), threading.Event().wait()))
exit()";
    env.eval("1");
    let pid = env.interpreter_pid();
    let leaving = submit(&env, code);
    wait_for_file(&env, "up");
    // It is still the eval's own time; whoever wants the session ends it.
    let reply = env.json(["restart", "-n", "py"]);
    assert_eq!(reply["ok"], true, "{reply:#}");
    assert!(!is_alive(pid));
    expect(&outcome(&env, &leaving), "ended");
    expect_clean(&env);
    // At a stop nobody waits for it longer than half a second.
    env.eval("import atexit, threading; atexit.register(threading.Event().wait)");
    let pid = env.interpreter_pid();
    assert_eq!(env.json(["stop", "-n", "py"])["ok"], true);
    wait_for("the end of the interpreter", || !is_alive(pid));
}

#[test]
fn pr132_case_148_an_old_interpreter_takes_nothing_from_the_new_one() {
    let env = TestEnv::new(STEAD);
    let code = "import atexit, os, tempfile
d = tempfile.mkdtemp(dir='.')
open('old', 'w').write(d)
atexit.register(lambda: os.path.isdir(d) and os.rmdir(d))
os.environ['MARK'] = 'old'";
    env.eval(code);
    let old_pid = env.interpreter_pid();
    assert_eq!(env.json(["restart", "-n", "py"])["ok"], true);
    // Whatever the old one did at its end is over once the restart is answered.
    let old = std::fs::read_to_string(env.workspace().join("old")).unwrap();
    assert!(!env.workspace().join(old.trim_start_matches("./")).exists());
    assert_eq!(env.value("import os; os.environ.get('MARK')"), "");
    assert!(!is_alive(old_pid));
    expect_clean(&env);
}

#[test]
fn pr132_case_149_late_output_of_the_old_interpreter_is_nobodys() {
    let env = TestEnv::new(STEAD);
    let code = "import subprocess
p = subprocess.Popen(['sh', '-c', \"trap '' HUP INT TERM; setsid sh -c 'touch up; while [ ! -e go ]; do sleep 0.01; done; echo late; touch late' & wait\"])";
    env.eval(code);
    wait_for_file(&env, "up");
    let reply = env.eval("exit()");
    expect(&reply, "ended");
    touch(&env, "go");
    expect(&env.eval("1"), "complete");
    let reply = env.eval("import time; time.sleep(0.1); 2");
    assert_eq!(chunks(&reply), [("value", "2")], "{reply:#}");
    assert!(!env.workspace().join("late").exists());
}

#[test]
fn pr132_case_150_children_with_the_old_streams_do_not_delay_the_end() {
    let env = TestEnv::new(STEAD);
    let code = "import subprocess
p = subprocess.Popen(['sh', '-c', \"trap '' HUP INT TERM; echo $$ > pid; touch up; sleep 600 & wait\"], start_new_session=True)";
    env.eval(code);
    wait_for_file(&env, "up");
    let pid = std::fs::read_to_string(env.workspace().join("pid")).unwrap().trim().parse().unwrap();
    let reply = env.eval("exit()");
    expect(&reply, "ended");
    assert!(!is_alive(pid));
    assert_eq!(env.value("1"), "1");
}

#[test]
fn pr132_case_210_what_a_thread_does_later_is_not_the_next_evals() {
    let env = TestEnv::new(STEAD);
    let code = "import threading, sys
def work():
    UNTIL
    print('thread')
    sys.displayhook(99)
    print('thread', file=sys.stderr)
    open('done', 'w').close()
t = threading.Thread(target=work)
t.start()";
    expect(&env.eval(&code.replace("UNTIL", &until("up"))), "complete");
    let code = "open('up', 'w').close(); UNTIL; 5".replace("UNTIL", &until("done"));
    let reply = env.eval(&code);
    expect(&reply, "complete");
    assert_eq!(reply["data"]["value"], "5", "{reply:#}");
    assert_eq!(wrote(&reply, "value"), "5", "{reply:#}");
    assert_eq!((wrote(&reply, "out"), wrote(&reply, "err")), (String::new(), String::new()));
    expect(&env.eval("t.join()"), "complete");
    expect_clean(&env);
    // Nor is its wait for input.
    let code = "def ask(): input('thread: ')\nt = threading.Thread(target=ask); t.start()";
    expect(&env.eval(code), "complete");
    let reply = answer_background(&env, "x");
    expect(&reply, "complete");
    expect(&env.eval("t.join()"), "complete");
    expect_wait(&env.eval("input('own: ')"), "own: ");
    expect(&answer(&env, "y"), "complete");
}
