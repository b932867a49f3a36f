//! O-1, O-2, PY-4, PY-14: whose output it is, and in which order.

use stead_testkit::{TestEnv, wait_for_some};

use crate::STEAD;
use crate::talk::{
    answer, chunks, expect, expect_clean, outcome, submit, touch, until, wait_for_file, wrote,
};

#[test]
fn py14_what_a_thread_prints_after_its_eval_comes_once_as_background() {
    let env = TestEnv::new(STEAD);
    let code = "import threading
def work():
    UNTIL
    print('late')
    open('printed', 'w').close()
t = threading.Thread(target=work)
t.start()
print('started')";
    let reply = env.eval(&code.replace("UNTIL", &until("go")));
    assert_eq!(chunks(&reply), [("out", "started\n")], "{reply:#}");
    touch(&env, "go");
    wait_for_file(&env, "printed");
    let reply = env.eval("t.join(); 1");
    assert_eq!(chunks(&reply), [("background", "late\n"), ("value", "1")], "{reply:#}");
    expect_clean(&env);
}

#[test]
fn py14_what_a_thread_prints_during_the_next_eval_is_not_the_evals() {
    let env = TestEnv::new(STEAD);
    let code = "import threading, sys
def work():
    UNTIL
    print('of the thread')
    print('its errors', file=sys.stderr)
    open('printed', 'w').close()
t = threading.Thread(target=work)
t.start()";
    expect(&env.eval(&code.replace("UNTIL", &until("up"))), "complete");
    let code = "print('first')\nopen('up', 'w').close()\nUNTIL\nprint('second')\n3";
    let reply = env.eval(&code.replace("UNTIL", &until("printed")));
    expect(&reply, "complete");
    assert_eq!(wrote(&reply, "out"), "first\nsecond\n", "{reply:#}");
    assert_eq!(wrote(&reply, "err"), "");
    assert_eq!(wrote(&reply, "background"), "of the thread\nits errors\n");
    assert_eq!(reply["data"]["value"], "3");
    env.eval("t.join()");
    expect_clean(&env);
}

#[test]
fn o1_threads_of_the_eval_itself_are_the_evals() {
    let env = TestEnv::new(STEAD);
    let code = "import threading
ts = [threading.Thread(target=lambda i=i: [print(i) for _ in range(100)]) for i in range(4)]
[t.start() for t in ts]; [t.join() for t in ts]
None";
    let reply = env.eval(code);
    expect(&reply, "complete");
    let out = wrote(&reply, "out");
    assert_eq!(out.chars().filter(char::is_ascii_digit).count(), 400, "{reply:#}");
    assert_eq!(wrote(&reply, "background"), "");
    expect_clean(&env);
}

#[test]
fn o1_a_child_that_writes_later_is_background() {
    let env = TestEnv::new(STEAD);
    let script = "while [ ! -e go ]; do sleep 0.01; done; echo late; echo bad >&2; touch printed";
    let code = format!("import subprocess; p = subprocess.Popen(['sh', '-c', '{script}'])");
    let reply = env.eval(&code);
    assert_eq!(chunks(&reply), [], "{reply:#}");
    touch(&env, "go");
    wait_for_file(&env, "printed");
    let reply = env.eval("p.wait()");
    expect(&reply, "complete");
    let mut background: Vec<&str> =
        chunks(&reply).into_iter().filter(|(k, _)| *k == "background").map(|(_, c)| c).collect();
    background.sort_unstable();
    assert_eq!(background.concat(), "bad\nlate\n", "{reply:#}");
    assert_eq!(reply["data"]["value"], "0");
    expect_clean(&env);
}

#[test]
fn o1_all_that_children_write_during_the_eval_is_the_evals() {
    let env = TestEnv::new(STEAD);
    for turn in 0..20 {
        let code = format!("import os; os.system('seq 1 2000; echo end {turn} >&2')");
        let reply = env.eval(&code);
        assert_eq!(wrote(&reply, "out").lines().count(), 2000, "{turn}");
        assert_eq!(wrote(&reply, "err"), format!("end {turn}\n"));
        assert_eq!(chunks(&reply).last(), Some(&("value", "0")), "{turn}");
    }
}

#[test]
fn o1_nothing_is_lost_or_misplaced_between_evals() {
    let env = TestEnv::new(STEAD);
    for turn in 0..30 {
        let code = format!(
            "import sys\nfor i in range(300): print({turn}, i)\nsys.stderr.write('e{turn}')"
        );
        let reply = env.eval(&code);
        let wanted: String = (0..300).map(|i| format!("{turn} {i}\n")).collect();
        assert_eq!(wrote(&reply, "out"), wanted, "{turn}");
        assert_eq!(wrote(&reply, "err"), format!("e{turn}"));
    }
}

#[test]
fn py4_background_tasks_go_on_between_evals() {
    let env = TestEnv::new(STEAD);
    let code = "import asyncio, os
n = 0
async def work():
    global n
    while not os.path.exists('enough'):
        n += 1
        if n == 20: open('twenty', 'w').close()
        await asyncio.sleep(0.001)
    print('task done')
    open('printed', 'w').close()
task = asyncio.create_task(work())
await asyncio.sleep(0)";
    let reply = env.eval(code);
    expect(&reply, "complete");
    // No eval runs meanwhile.
    wait_for_file(&env, "twenty");
    touch(&env, "enough");
    wait_for_file(&env, "printed");
    let reply = env.eval("n >= 20, task.done()");
    let wanted = [("background", "task done\n"), ("value", "(True, True)")];
    assert_eq!(chunks(&reply), wanted, "{reply:#}");
    expect_clean(&env);
}

#[test]
fn py4_the_loop_is_the_same_in_all_evals() {
    let env = TestEnv::new(STEAD);
    env.eval("import asyncio\nq = asyncio.Queue()\nawait q.put(1)");
    env.eval("async def feed(): await q.put(2)\nt = asyncio.ensure_future(feed())\nawait asyncio.sleep(0)");
    assert_eq!(env.value("(await q.get(), await q.get())"), "(1, 2)");
    let reply = env.eval("async def bad(): raise ValueError('in a task')\nawait bad()");
    expect(&reply, "error");
    assert_eq!(reply["data"]["error"]["name"], "ValueError");
    let trace = reply["data"]["error"]["traceback"].as_str().unwrap_or_default();
    assert!(!trace.contains("asyncio") && !trace.contains("<stead>"), "{trace}");
    expect_clean(&env);
}

#[test]
fn o2_prints_to_both_streams_keep_their_order() {
    let env = TestEnv::new(STEAD);
    let code = "import sys
for i in range(50):
    print('o', i)
    print('e', i, file=sys.stderr)
'value'";
    for _ in 0..5 {
        let reply = env.eval(code);
        let mut wanted = Vec::new();
        for i in 0..50 {
            wanted.push(("out".to_owned(), format!("o {i}\n")));
            wanted.push(("err".to_owned(), format!("e {i}\n")));
        }
        wanted.push(("value".to_owned(), "'value'".to_owned()));
        let found: Vec<(String, String)> =
            chunks(&reply).into_iter().map(|(k, c)| (k.to_owned(), c.to_owned())).collect();
        assert_eq!(found, wanted);
    }
}

#[test]
fn o2_children_between_prints_keep_their_order() {
    let env = TestEnv::new(STEAD);
    let code = "import os, subprocess, sys
print('1')
os.system('echo 2')
print('3')
subprocess.run(['sh', '-c', 'echo 4'])
print('5')
sys.stderr.write('6\\n')
os.system('echo 7 >&2')
8";
    let reply = env.eval(code);
    // Between the pipes the order of children is not known, on each of them it is.
    let wanted = [("out", "1\n2\n3\n4\n5\n"), ("err", "6\n7\n"), ("value", "8")];
    assert_eq!(chunks(&reply), wanted, "{reply:#}");
}

#[test]
fn o2_unfinished_lines_and_raw_writes_keep_bytes_and_order() {
    let env = TestEnv::new(STEAD);
    let code = r"import os, sys
print('half', end='', flush=True)
sys.stdout.buffer.write(b' \xe2\x82'); sys.stdout.buffer.flush()
sys.stdout.buffer.write(b'\xac\r\n'); sys.stdout.buffer.flush()
os.write(1, b'raw\n')
sys.stdout.write('tail')
None";
    let reply = env.eval(code);
    assert_eq!(chunks(&reply), [("out", "half €\nraw\ntail")], "{reply:#}");
    // What is shown has one kind of line end; the bytes are kept as they are.
    let raw = env.run(["output", "py:1", "--raw"]).stdout;
    assert_eq!(raw, "half €\r\nraw\ntail");
    expect_clean(&env);
}

#[test]
fn o2_a_value_shown_on_the_way_keeps_its_place() {
    let env = TestEnv::new(STEAD);
    let code = "import sys
print('before')
sys.displayhook(41)
print('after')
print('problem', file=sys.stderr)
sys.displayhook('x')
42";
    let reply = env.eval(code);
    let wanted = [
        ("out", "before\n"),
        ("value", "41"),
        ("out", "after\n"),
        ("err", "problem\n"),
        ("value", "'x'"),
        ("value", "42"),
    ];
    assert_eq!(chunks(&reply), wanted, "{reply:#}");
    assert_eq!(reply["data"]["value"], "42");
}

#[test]
fn o2_an_error_comes_after_what_was_written() {
    let env = TestEnv::new(STEAD);
    let reply = env.eval("import sys\nprint('out')\nprint('err', file=sys.stderr)\n1/0");
    let kinds: Vec<&str> = chunks(&reply).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["out", "err", "error"], "{reply:#}");
}

#[test]
fn o1_background_output_of_a_submitted_eval_comes_with_the_next() {
    let env = TestEnv::new(STEAD);
    let code = "import threading
t = threading.Thread(target=lambda: (UNTIL, print('late'), open('printed', 'w').close()))
t.start()";
    let id = submit(&env, &code.replace("UNTIL", &until("go")));
    expect(&outcome(&env, &id), "complete");
    touch(&env, "go");
    wait_for_file(&env, "printed");
    let reply = env.eval("2");
    assert_eq!(chunks(&reply), [("background", "late\n"), ("value", "2")], "{reply:#}");
    env.eval("t.join()");
    expect_clean(&env);
}

#[test]
fn py14_a_thread_that_fails_later_says_so_in_the_background() {
    let env = TestEnv::new(STEAD);
    let code = "import threading
def work():
    try:
        UNTIL
        raise ValueError('late failure')
    finally:
        open('failing', 'w').close()
t = threading.Thread(target=work)
t.start()";
    expect(&env.eval(&code.replace("UNTIL", &until("go"))), "complete");
    touch(&env, "go");
    wait_for_file(&env, "failing");
    let reply = env.eval("t.join(); 1");
    assert!(wrote(&reply, "background").contains("late failure"), "{reply:#}");
    assert_eq!(wrote(&reply, "err"), "", "{reply:#}");
    expect_clean(&env);
}

#[test]
fn o1_e9_what_a_background_reader_wrote_before_its_answer_is_shown_with_it() {
    let env = TestEnv::new(STEAD);
    let code = format!(
        "import threading, time
def ask():
    {}
    print('before')
    print('got', input('later: '))
t = threading.Thread(target=ask)
t.start()",
        until("go")
    );
    expect(&env.eval(&code), "complete");
    touch(&env, "go");
    let reply = wait_for_some("the reader", || {
        let reply = answer(&env, "x");
        (reply["ok"] == true).then_some(reply)
    });
    assert_eq!(wrote(&reply, "background"), "before\nlater: got x\n", "{reply:#}");
    let next = env.eval("t.join(); 1");
    assert_eq!(wrote(&next, "background"), "", "{next:#}");
    expect_clean(&env);
}
