//! What a person at a terminal sees while code runs, and what Ctrl-C does.

use stead_testkit::{Terminal, TestEnv};

use crate::STEAD;
use crate::gate::Gate;

#[test]
fn c9_ctrl_c_interrupts_and_a_second_one_leaves_it_running() {
    let env = TestEnv::new(STEAD);
    env.value("x = 1");
    let code = "x = 2\nprint('up', flush=True)\nwhile True: pass";
    let mut terminal = Terminal::run(env.command(["eval", "-n", "py", code]));
    // The spinner shows the last line.
    terminal.wait_for("up");
    terminal.type_keys("\x03");
    let (exit, shown) = terminal.finish();
    assert_eq!(exit, Some(1), "{shown}");
    assert!(shown.contains("the session's state is kept"), "{shown}");
    assert_eq!(env.value("x"), "2");

    let stubborn = "while True:\n  try:\n    print('up', flush=True)\n    while True: pass\n  \
                    except KeyboardInterrupt: print('no', flush=True)";
    let mut terminal = Terminal::run(env.command(["eval", "-n", "py", "--stream", stubborn]));
    terminal.wait_for("up");
    terminal.type_keys("\x03");
    terminal.wait_for("interrupting");
    terminal.wait_for("no");
    terminal.type_keys("\x03");
    let (exit, shown) = terminal.finish();
    assert_eq!(exit, Some(130), "{shown}");
    assert!(shown.contains("is running; read on: `stead output py:4 --follow`"), "{shown}");
    assert_eq!(env.status()["state"], "running");
}

#[test]
fn c9_a_quiet_wait_shows_a_spinner_that_leaves_no_trace() {
    let env = TestEnv::new(STEAD);
    let gate = Gate::new(&env, "gate");
    env.value("1");
    let code = format!("{}\nprint('end')", gate.code());
    let mut terminal = Terminal::run(env.command(["eval", "-n", "py", &code]));
    terminal.wait_for("⠙ ");
    gate.open();
    let (exit, shown) = terminal.finish();
    assert_eq!(exit, Some(0));
    assert!(shown.ends_with("\r\x1b[Kend\r\n"), "{shown:?}");
}

#[test]
fn c9_a_spinner_is_cut_by_columns() {
    let env = TestEnv::new(STEAD);
    let gate = Gate::new(&env, "gate");
    env.value("1");
    let code = format!("print('\u{5b57}' * 70, flush=True)\n{}", gate.code());
    let mut terminal = Terminal::run(env.command(["eval", "-n", "py", &code]));
    terminal.wait_for("s \u{5b57}");
    gate.open();
    let (_, shown) = terminal.finish();
    let spun = shown.split('\r').find(|line| line.contains("s \u{5b57}")).unwrap();
    let line = spun.split("\x1b[K").next().unwrap();
    assert!((70..80).contains(&stead_screen::columns(line)), "{line:?}");
}

#[test]
fn c9_ctrl_c_works_in_a_session_that_this_command_started() {
    let env = TestEnv::new(STEAD);
    let code = "print('up', flush=True)\nwhile True: pass";
    let mut terminal = Terminal::run(env.command(["eval", "-n", "py", code]));
    terminal.wait_for("up");
    terminal.type_keys("\x03");
    let (exit, shown) = terminal.finish();
    assert_eq!(exit, Some(1), "{shown}");
    assert_eq!(env.value("1 + 1"), "2");
}
