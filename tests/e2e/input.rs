//! E-8, E-9, PY-10, PY-11: whoever reads the session's stdin, the call says so and takes an answer.

use stead_testkit::{TestEnv, wait_for_some};

use crate::STEAD;
use crate::talk::{
    answer, ask, chunks, end_input, expect, expect_clean, expect_wait, id, interrupt, outcome,
    submit, touch, until, wait_for_file, wrote,
};

/// Code that waits at once, and its prompt: one of every kind that an interrupt must end.
const KINDS: [(&str, &str); 13] = [
    ("input('name: ')", "name: "),
    ("input()", ""),
    ("import sys; sys.stdin.readline()", ""),
    ("import sys; sys.stdin.read()", ""),
    ("import sys; sys.stdin.buffer.read(3)", ""),
    ("import sys\nfor line in sys.stdin: pass", ""),
    ("import os; os.read(0, 5)", ""),
    ("open(0, closefd=False).readline()", ""),
    ("import subprocess; subprocess.run(['cat'])", ""),
    ("import getpass; getpass.getpass('pw: ')", "pw: "),
    ("import select; select.select([0], [], [])", ""),
    ("import select; p = select.poll(); p.register(0, select.POLLIN); p.poll()", ""),
    (ASYNC_READER, ""),
];

const ASYNC_READER: &str = "import asyncio, os
async def read_line():
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    loop.add_reader(0, lambda: future.done() or future.set_result(os.read(0, 100)))
    try:
        return await future
    finally:
        loop.remove_reader(0)
await read_line()";

/// Runs code that waits, answers with one line, and takes the value that it then has.
#[track_caller]
fn value_after(env: &TestEnv, code: &str, prompt: &str, line: &str) -> String {
    ask(env, code, prompt);
    let reply = answer(env, line);
    expect(&reply, "complete");
    let value = reply["data"]["value"].as_str().unwrap_or_default().to_owned();
    expect_clean(env);
    value
}

/// Runs code that waits, ends its input, and takes the value that it then has.
#[track_caller]
fn value_at_eof(env: &TestEnv, code: &str) -> String {
    ask(env, code, "");
    let reply = end_input(env);
    expect(&reply, "complete");
    let value = reply["data"]["value"].as_str().unwrap_or_default().to_owned();
    expect_clean(env);
    value
}

#[test]
fn e8_input_waits_with_its_prompt_and_takes_the_answer() {
    let env = TestEnv::new(STEAD);
    let reply = ask(&env, "print('first')\nx = input('name: ')\nprint('hello', x)\nx", "name: ");
    assert_eq!(chunks(&reply), [("out", "first\nname: ")], "{reply:#}");
    let reply = answer(&env, "Ada");
    expect(&reply, "complete");
    assert_eq!(chunks(&reply), [("out", "hello Ada\n"), ("value", "'Ada'")], "{reply:#}");
    expect_clean(&env);
}

#[test]
fn e8_a_read_without_prompt_invents_none() {
    let env = TestEnv::new(STEAD);
    ask(&env, "print('done so far')\ninput()", "");
    expect(&answer(&env, ""), "complete");
    expect_clean(&env);
}

#[test]
fn py10_stdin_methods_take_lines() {
    let env = TestEnv::new(STEAD);
    let read = |code: &str| value_after(&env, &format!("import sys; {code}"), "", "some text");
    assert_eq!(read("sys.stdin.readline()"), r"'some text\n'");
    assert_eq!(read("next(sys.stdin)"), r"'some text\n'");
    assert_eq!(read("sys.stdin.buffer.readline()"), r"b'some text\n'");
    assert_eq!(read("sys.stdin.buffer.raw.read(4)"), "b'some'");
    assert_eq!(read("sys.__stdin__.readline()"), r"'some text\n'");
}

#[test]
fn py10_stdin_until_its_end() {
    let env = TestEnv::new(STEAD);
    assert_eq!(value_at_eof(&env, "import sys; sys.stdin.read()"), "''");
    assert_eq!(value_at_eof(&env, "import sys; list(sys.stdin)"), "[]");
    assert_eq!(value_at_eof(&env, "import os; os.read(0, 5)"), "b''");
    ask(&env, "import sys; sys.stdin.read()", "");
    expect_wait(&answer(&env, "one"), "");
    let reply = env.json(["input", "-n", "py", "--eof", "--", "two"]);
    expect(&reply, "complete");
    assert_eq!(reply["data"]["value"], r"'one\ntwo\n'");
    expect_clean(&env);
    ask(&env, "import sys\nfor line in sys.stdin: print('got', line, end='')", "");
    let reply = answer(&env, "a\nb");
    expect_wait(&reply, "");
    assert_eq!(wrote(&reply, "out"), "got a\ngot b\n");
    expect(&end_input(&env), "complete");
    expect_clean(&env);
}

#[test]
fn e8_eof_is_for_one_eval_only() {
    let env = TestEnv::new(STEAD);
    ask(&env, "input('a: ')", "a: ");
    let reply = end_input(&env);
    expect(&reply, "error");
    assert_eq!(reply["data"]["error"]["name"], "EOFError", "{reply:#}");
    assert_eq!(value_after(&env, "input('b: ')", "b: ", "here"), "'here'");
    for code in
        ["import os; os.read(0, 9)", "import subprocess; subprocess.run(['cat']).returncode"]
    {
        value_at_eof(&env, code);
    }
    assert_eq!(value_after(&env, "import os; os.read(0, 9)", "", "here"), r"b'here\n'");
}

#[test]
fn e8_eof_can_be_aimed_at_an_eval() {
    let env = TestEnv::new(STEAD);
    let waiting = id(&ask(&env, "import sys; sys.stdin.read()", ""));
    let reply = env.json(["input", &waiting, "--eof"]);
    expect(&reply, "complete");
    expect_clean(&env);
}

#[test]
fn py10_descriptor_zero_by_other_ways() {
    let env = TestEnv::new(STEAD);
    assert_eq!(value_after(&env, "import os; os.read(0, 100)", "", "raw"), r"b'raw\n'");
    let code = "open(0, closefd=False).readline()";
    assert_eq!(value_after(&env, code, "", "opened"), r"'opened\n'");
    let code = "import os; open(os.dup(0)).readline()";
    assert_eq!(value_after(&env, code, "", "copied"), r"'copied\n'");
    let code = "open('/dev/stdin').readline()";
    assert_eq!(value_after(&env, code, "", "by name"), r"'by name\n'");
    let code = "import fileinput; next(fileinput.input([]))";
    assert_eq!(value_after(&env, code, "", "files"), r"'files\n'");
    assert_eq!(env.value("fileinput.close(); 1"), "1");
    expect_clean(&env);
}

#[test]
fn py10_getpass_takes_its_answer() {
    let env = TestEnv::new(STEAD);
    let code = "import getpass; p = getpass.getpass('key: '); n = input('name: '); p";
    let reply = ask(&env, code, "key: ");
    assert!(!wrote(&reply, "err").contains("Traceback"), "{reply:#}");
    // Marked, so that whoever asks a person does not show what is typed; what is asked next is none.
    assert_eq!(reply["data"]["secret"], true, "{reply:#}");
    let reply = answer(&env, "pw");
    expect_wait(&reply, "name: ");
    assert_eq!(reply["data"].get("secret"), None, "{reply:#}");
    let reply = answer(&env, "Ada");
    expect(&reply, "complete");
    assert_eq!(reply["data"]["value"], "'pw'", "{reply:#}");
    expect_clean(&env);
}

#[test]
fn e8_children_read_the_sessions_stdin() {
    let env = TestEnv::new(STEAD);
    ask(&env, "import subprocess; subprocess.run(['cat']).returncode", "");
    let reply = answer(&env, "meow");
    expect_wait(&reply, "");
    assert_eq!(wrote(&reply, "out"), "meow\n");
    let reply = end_input(&env);
    expect(&reply, "complete");
    assert_eq!(reply["data"]["value"], "0");
    expect_clean(&env);
    ask(&env, "import os; os.system('printf \"sure? \"; read a; echo got $a')", "sure? ");
    let reply = answer(&env, "yes");
    expect(&reply, "complete");
    assert_eq!(chunks(&reply), [("out", "got yes\n"), ("value", "0")], "{reply:#}");
    expect_clean(&env);
}

#[test]
fn e8_a_forked_child_that_reads_is_answered_too() {
    let env = TestEnv::new(STEAD);
    let code = "import os, sys
pid = os.fork()
if pid == 0:
    print('child got', os.read(0, 100), flush=True)
    os._exit(0)
os.waitpid(pid, 0)[1]";
    ask(&env, code, "");
    let reply = answer(&env, "x");
    expect(&reply, "complete");
    assert_eq!(wrote(&reply, "out"), "child got b'x\\n'\n");
    expect_clean(&env);
}

#[test]
fn py10_breakpoint_takes_commands() {
    let env = TestEnv::new(STEAD);
    let code = "def f():\n    a = 41\n    breakpoint()\n    a += 1\n    return a\nf()";
    let reply = ask(&env, code, "(Pdb) ");
    assert!(wrote(&reply, "out").contains("<py:1>"), "{reply:#}");
    let reply = answer(&env, "p a");
    expect_wait(&reply, "(Pdb) ");
    assert_eq!(wrote(&reply, "out"), "41\n(Pdb) ");
    expect_wait(&answer(&env, "n"), "(Pdb) ");
    expect_wait(&answer(&env, "n"), "(Pdb) ");
    let reply = answer(&env, "p a");
    assert_eq!(wrote(&reply, "out"), "42\n(Pdb) ");
    let reply = answer(&env, "c");
    expect(&reply, "complete");
    assert_eq!(reply["data"]["value"], "42", "{reply:#}");
    expect_clean(&env);
}

#[test]
fn py10_breakpoint_at_top_level_and_as_last_statement() {
    let env = TestEnv::new(STEAD);
    ask(&env, "a = 1\nbreakpoint()\na = 2\na", "(Pdb) ");
    let reply = answer(&env, "p a");
    expect_wait(&reply, "(Pdb) ");
    expect(&answer(&env, "c"), "complete");
    expect_clean(&env);
    let mut reply = env.eval("breakpoint()");
    if reply["status"] == "waiting_input" {
        reply = answer(&env, "c");
    }
    expect(&reply, "complete");
    expect_clean(&env);
}

#[test]
fn py10_quitting_the_debugger_ends_the_eval_only() {
    let env = TestEnv::new(STEAD);
    ask(&env, "kept = 5\nbreakpoint()\nkept = 6", "(Pdb) ");
    let reply = answer(&env, "q");
    assert_ne!(reply["status"], "waiting_input", "{reply:#}");
    assert_eq!(env.value("kept"), "5");
    expect_clean(&env);
}

#[test]
fn py10_help_never_pages() {
    let env = TestEnv::new(STEAD);
    let mut command = env.command(["eval", "-n", "py", "--", "help(len)"]);
    let output = command.env("PAGER", "less").env("TERM", "xterm").output().unwrap();
    let reply: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    expect(&reply, "complete");
    assert!(wrote(&reply, "out").contains("len(obj, /)"), "{reply:#}");
    let code = "import os; os.environ['PAGER'] = 'less'; os.environ['TERM'] = 'xterm'; help(len)";
    let reply = env.eval(code);
    expect(&reply, "complete");
    assert!(wrote(&reply, "out").contains("len(obj, /)"), "{reply:#}");
    let reply = env.eval("import pydoc; pydoc.help(len)");
    assert!(wrote(&reply, "out").contains("len(obj, /)"), "{reply:#}");
    expect_clean(&env);
}

#[test]
fn py10_interactive_help_takes_questions() {
    let env = TestEnv::new(STEAD);
    ask(&env, "help()", "help> ");
    let reply = answer(&env, "len");
    expect_wait(&reply, "help> ");
    assert!(wrote(&reply, "out").contains("len(obj, /)"), "{reply:#}");
    expect(&answer(&env, "quit"), "complete");
    expect_clean(&env);
}

#[test]
fn py10_code_interact_goes_line_by_line() {
    let env = TestEnv::new(STEAD);
    ask(&env, "import code; code.interact(banner='hi', exitmsg='', local={'a': 20})", ">>> ");
    let reply = answer(&env, "a + 1");
    expect_wait(&reply, ">>> ");
    assert_eq!(chunks(&reply), [("value", "21"), ("out", ">>> ")], "{reply:#}");
    expect_wait(&answer(&env, "if a:"), "... ");
    expect_wait(&answer(&env, "    b = 3"), "... ");
    expect_wait(&answer(&env, ""), ">>> ");
    expect_wait(&answer(&env, "print(b)"), ">>> ");
    expect(&end_input(&env), "complete");
    expect_clean(&env);
}

#[test]
fn e8_a_thread_of_the_running_eval_counts() {
    let env = TestEnv::new(STEAD);
    let code = "import threading
t = threading.Thread(target=lambda: print('got', input('thread: ')))
t.start(); t.join()";
    ask(&env, code, "thread: ");
    let reply = answer(&env, "x");
    expect(&reply, "complete");
    assert_eq!(chunks(&reply), [("out", "got x\n")]);
    expect_clean(&env);
}

#[test]
fn e9_a_background_thread_in_input_is_answered() {
    let env = TestEnv::new(STEAD);
    let code = "import threading
t = threading.Thread(target=lambda: print('got', input('later: ')))
t.start()";
    expect(&env.eval(code), "complete");
    let reply = wait_for_some("the reader", || {
        let reply = answer(&env, "x");
        (reply["ok"] == true).then_some(reply)
    });
    expect(&reply, "complete");
    assert!(wrote(&reply, "background").contains("got x\n"), "{reply:#}");
    env.value("t.join(); 1");
    expect_clean(&env);
}

#[test]
fn e9_a_background_os_read_is_answered() {
    let env = TestEnv::new(STEAD);
    let code = "import threading, os
t = threading.Thread(target=lambda: print('got', os.read(0, 3)))
t.start()";
    expect(&env.eval(code), "complete");
    let reply = wait_for_some("the reader", || {
        let reply = answer(&env, "abc");
        (reply["ok"] == true).then_some(reply)
    });
    expect(&reply, "complete");
    assert_eq!(wrote(&reply, "background"), "got b'abc'\n", "{reply:#}");
    env.value("t.join(); 1");
    let reply = ask(&env, "input('fresh: ')", "fresh: ");
    assert_eq!(wrote(&reply, "background"), "", "{reply:#}");
    expect(&answer(&env, "y"), "complete");
    expect_clean(&env);
}

/// Leaves a thread behind that waits for input.
const LEAVE_A_READER: &str = "import threading, os
def read():
    global got
    got = os.read(0, 100)
    open('answered', 'w').close()
t = threading.Thread(target=read)
t.start()";

#[test]
fn e9_a_background_reader_waits_on_while_evals_run() {
    let env = TestEnv::new(STEAD);
    expect(&env.eval(LEAVE_A_READER), "complete");
    // Other evals neither count as waiting nor end its wait.
    expect_clean(&env);
    let running = submit(&env, &format!("open('up', 'w').close(); {}; 7", until("go")));
    wait_for_file(&env, "up");
    expect(&env.json(["output", &running, "--wait", "100ms"]), "partial");
    touch(&env, "go");
    let reply = outcome(&env, &running);
    expect(&reply, "complete");
    assert_eq!(reply["data"]["value"], "7");
    expect(&answer(&env, "at last"), "complete");
    wait_for_file(&env, "answered");
    assert_eq!(env.value("t.join(); got"), r"b'at last\n'");
    expect_clean(&env);
}

#[test]
fn e9_a_background_reader_can_be_answered_while_an_eval_runs() {
    let env = TestEnv::new(STEAD);
    expect(&env.eval(LEAVE_A_READER), "complete");
    let running = submit(&env, &format!("open('up', 'w').close(); {}; 7", until("answered")));
    wait_for_file(&env, "up");
    let reply = answer(&env, "now");
    assert_eq!(reply["ok"], true, "{reply:#}");
    expect(&outcome(&env, &running), "complete");
    assert_eq!(env.value("t.join(); got"), r"b'now\n'");
    expect_clean(&env);
}

#[test]
fn e9_a_background_child_is_answered() {
    let env = TestEnv::new(STEAD);
    let code = "import subprocess; p = subprocess.Popen(['sh', '-c', 'read a; echo child $a'])";
    expect(&env.eval(code), "complete");
    let reply = wait_for_some("the reader", || {
        let reply = answer(&env, "x");
        (reply["ok"] == true).then_some(reply)
    });
    assert_eq!(wrote(&reply, "background"), "child x\n", "{reply:#}");
    assert_eq!(env.value("p.wait()"), "0");
    expect_clean(&env);
}

#[test]
fn e8_a_loop_of_prompts_goes_one_by_one() {
    let env = TestEnv::new(STEAD);
    ask(&env, "for i in range(3): print('got', input(f'{i}: '))", "0: ");
    let reply = answer(&env, "a");
    expect_wait(&reply, "1: ");
    assert_eq!(wrote(&reply, "out"), "got a\n1: ");
    let reply = answer(&env, "b");
    expect_wait(&reply, "2: ");
    assert_eq!(wrote(&reply, "out"), "got b\n2: ");
    let reply = answer(&env, "c");
    expect(&reply, "complete");
    assert_eq!(wrote(&reply, "out"), "got c\n");
    expect_clean(&env);
}

#[test]
fn e9_two_lines_serve_two_reads_and_a_third_is_dropped() {
    let env = TestEnv::new(STEAD);
    ask(&env, "(input(), input())", "");
    let reply = answer(&env, "a\nb\nc");
    expect(&reply, "complete");
    assert_eq!(reply["data"]["value"], "('a', 'b')");
    assert_eq!(value_after(&env, "input('next: ')", "next: ", "new"), "'new'");
}

#[test]
fn py11_a_partial_read_leaves_nothing() {
    let env = TestEnv::new(STEAD);
    let partial = [
        ("import os; os.read(0, 5)", "b'hello'"),
        ("import sys; sys.stdin.read(5)", "'hello'"),
        ("import sys; sys.stdin.readline(5)", "'hello'"),
        ("import sys; sys.stdin.buffer.read1(5)", "b'hello'"),
        (
            "import subprocess; subprocess.run(['head', '-c5'], capture_output=True).stdout",
            "b'hello'",
        ),
    ];
    for (code, value) in partial {
        assert_eq!(value_after(&env, code, "", "hello and more\nand more"), value, "{code}");
        assert_eq!(value_after(&env, "input('next: ')", "next: ", "new"), "'new'", "{code}");
        assert_eq!(value_after(&env, "import os; os.read(0, 9)", "", "raw"), r"b'raw\n'", "{code}");
    }
}

#[test]
fn e8_no_newline_is_added_when_told_not_to() {
    let env = TestEnv::new(STEAD);
    ask(&env, "import os; os.read(0, 100)", "");
    let reply = env.json(["input", "-n", "py", "--no-newline", "--", "bare"]);
    expect(&reply, "complete");
    assert_eq!(reply["data"]["value"], "b'bare'");
    ask(&env, "input('whole: ')", "whole: ");
    let reply = env.json(["input", "-n", "py", "--no-newline", "--", "half "]);
    expect_wait(&reply, "whole: ");
    let reply = answer(&env, "line");
    expect(&reply, "complete");
    assert_eq!(reply["data"]["value"], "'half line'");
    expect_clean(&env);
}

#[test]
fn e8_code_sent_while_the_foreground_waits_is_refused() {
    let env = TestEnv::new(STEAD);
    let waiting = id(&ask(&env, "x = input('name: ')", "name: "));
    let ran = env.run(["eval", "-n", "py", "--", "y = 1"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let reply = ran.json();
    assert_eq!(reply["error"]["code"], "waiting_input", "{reply:#}");
    let hint = reply["error"]["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("stead input") && hint.contains(&waiting), "{reply:#}");
    expect(&answer(&env, "Ada"), "complete");
    assert_eq!(env.value("x"), "'Ada'");
    assert_eq!(env.eval("y")["data"]["error"]["name"], "NameError");
    expect_clean(&env);
}

#[test]
fn e8_input_when_nothing_waits_is_an_error() {
    let env = TestEnv::new(STEAD);
    expect_clean(&env);
    let ran = env.run(["input", "-n", "py", "--", "x"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(ran.json()["error"]["code"], "bad_request");
    let ended = id(&env.eval("2"));
    assert_eq!(env.run(["input", &ended, "x"]).code, Some(2));
    assert_eq!(value_after(&env, "input('next: ')", "next: ", "new"), "'new'");
}

#[test]
fn e8_a_mebibyte_of_input_arrives_whole() {
    let env = TestEnv::new(STEAD);
    ask(&env, "import sys; d = sys.stdin.buffer.readline(); (len(d), d[:3], d[-3:])", "");
    let mut text = String::from("a");
    while text.len() < 1 << 20 {
        text.push_str("0123456789abcdef");
    }
    text.truncate((1 << 20) - 1);
    // One argument holds at most 128 KiB, so it goes in parts.
    for part in text.as_bytes().chunks(100_000) {
        let part = std::str::from_utf8(part).unwrap();
        expect_wait(&env.json(["input", "-n", "py", "--no-newline", "--", part]), "");
    }
    let reply = answer(&env, "");
    expect(&reply, "complete");
    let value = format!("(1048576, b'a01', b'{}\\n')", &text[text.len() - 2..]);
    assert_eq!(reply["data"]["value"], value.as_str());
    expect_clean(&env);
}

#[test]
fn e8_input_that_is_not_ascii_arrives_as_it_is() {
    let env = TestEnv::new(STEAD);
    assert_eq!(value_after(&env, "input('où? ')", "où? ", "là-bas ✓ 🙂"), "'là-bas ✓ 🙂'");
    let value = value_after(&env, "import os; os.read(0, 99).decode()", "", "日本");
    assert_eq!(value, r"'日本\n'");
    // Half a character stays in the decoder; it must not come out later.
    ask(&env, "import sys; sys.stdin.buffer.raw.read(1)", "");
    expect(&answer(&env, "é"), "complete");
    assert_eq!(value_after(&env, "input()", "", "ok"), "'ok'");
}

#[test]
fn e8_select_poll_and_asyncio_readers_wait_for_input() {
    let env = TestEnv::new(STEAD);
    let code = "import select, os; select.select([0], [], []); os.read(0, 9)";
    assert_eq!(value_after(&env, code, "", "one"), r"b'one\n'");
    let code = "p = select.poll(); p.register(0, select.POLLIN); p.poll(); os.read(0, 9)";
    assert_eq!(value_after(&env, code, "", "two"), r"b'two\n'");
    assert_eq!(value_after(&env, ASYNC_READER, "", "three"), r"b'three\n'");
    let code = "import asyncio; await asyncio.to_thread(input, 'async: ')";
    assert_eq!(value_after(&env, code, "async: ", "four"), "'four'");
}

#[test]
fn e6_an_interrupt_ends_every_kind_of_wait_and_the_next_eval_runs() {
    let env = TestEnv::new(STEAD);
    for (code, prompt) in KINDS {
        for turn in 0..20 {
            let waiting = id(&ask(&env, code, prompt));
            assert_eq!(interrupt(&env), "interrupted", "{code}, {turn}");
            let reply = env.eval(&format!("{turn}"));
            assert_eq!(chunks(&reply), [("value", turn.to_string().as_str())], "{code}: {reply:#}");
            expect(&outcome(&env, &waiting), "interrupted");
        }
        assert_eq!(value_after(&env, "input('next: ')", "next: ", "new"), "'new'", "{code}");
    }
}

#[test]
fn e6_an_interrupt_ends_nested_prompts() {
    let env = TestEnv::new(STEAD);
    let kinds = [
        ("breakpoint()\nx = 1", "(Pdb) "),
        ("def f():\n    breakpoint()\n    return 1\nf()", "(Pdb) "),
        ("import code; code.interact(banner='', exitmsg='')", ">>> "),
        ("help()", "help> "),
    ];
    for (code, prompt) in kinds {
        for turn in 0..20 {
            let waiting = id(&ask(&env, code, prompt));
            let effect = interrupt(&env);
            assert!(effect == "interrupted" || effect == "finished", "{code}: {effect}");
            let reply = env.eval(&format!("{turn}"));
            assert_eq!(chunks(&reply), [("value", turn.to_string().as_str())], "{code}: {reply:#}");
            outcome(&env, &waiting);
        }
        assert_eq!(value_after(&env, "input('next: ')", "next: ", "new"), "'new'", "{code}");
    }
}

#[test]
fn e6_an_interrupt_of_a_join_on_a_reading_thread_leaves_the_thread() {
    let env = TestEnv::new(STEAD);
    let code = "import threading
t = threading.Thread(target=lambda: globals().update(got=input('t: ')))
t.start(); t.join()";
    ask(&env, code, "t: ");
    assert_eq!(interrupt(&env), "interrupted");
    expect_clean(&env);
    let reply = wait_for_some("the reader", || {
        let reply = answer(&env, "still here");
        (reply["ok"] == true).then_some(reply)
    });
    expect(&reply, "complete");
    assert_eq!(env.value("t.join(); got"), "'still here'");
    expect_clean(&env);
}
