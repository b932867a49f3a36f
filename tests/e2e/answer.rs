//! E-8: a person at a terminal answers what an eval asks, right where it asks.

use rustix::process::Signal;
use stead_screen::plain;
use stead_testkit::{Ran, Terminal, TestEnv, state_of, wait_for};

use crate::STEAD;
use crate::cli::refused;
use crate::processes::{signal, stopped};
use crate::tmux::Tmux;

/// A command on a terminal without colours, so that a screen can be compared.
fn at_terminal(env: &TestEnv, arguments: &[&str]) -> Terminal {
    let mut command = env.command(arguments);
    command.env("NO_COLOR", "1");
    Terminal::run(command)
}

/// What is on the screen at the end, without blanks at the ends of lines.
fn screen(terminal: Terminal) -> (Option<i32>, String) {
    let (code, shown) = terminal.finish();
    let lines: Vec<String> = plain(shown).lines().map(|line| line.trim_end().to_owned()).collect();
    (code, lines.join("\n"))
}

#[test]
fn e8_pdb_is_answered_in_place() {
    let env = TestEnv::new(STEAD);
    env.value("def f(n):\n    total = n * 2\n    breakpoint()\n    return total");
    let mut terminal = at_terminal(&env, &["eval", "-n", "py", "f(21)"]);
    terminal.wait_for("(Pdb) ");
    terminal.type_keys("p total\n");
    terminal.wait_for("42\r\n(Pdb) ");
    terminal.type_keys("total = 7\n");
    terminal.wait_for("total = 7\r\n(Pdb) ");
    terminal.type_keys("c\n");
    let (code, screen) = screen(terminal);
    assert_eq!(code, Some(0), "{screen}");
    let (first, rest) =
        screen.split_once("\n(Pdb) p total\n").unwrap_or_else(|| panic!("{screen}"));
    assert!(first.starts_with("> <py:1>(") && first.contains(")f()"), "{screen}");
    // The screen as the person left it.
    assert_eq!(rest, "42\n(Pdb) total = 7\n(Pdb) c\n7", "{screen}");
}

#[test]
fn e8_as_a_person_sees_it_a_debugger_and_a_coloured_traceback() {
    let env = TestEnv::new(STEAD);
    env.value("def f(n):\n    breakpoint()\n    return 1 / n");
    let tmux = Tmux::new(&env, "pdb");
    tmux.type_line("stead eval -n py 'f(0)'");
    tmux.wait("the debugger", |screen| screen.ends_with("(Pdb)"));
    tmux.keys(&["-l", "p n"]);
    tmux.keys(&["Enter"]);
    tmux.wait("the value", |screen| screen.ends_with("(Pdb) p n\n0\n(Pdb)"));
    tmux.keys(&["-l", "c"]);
    tmux.keys(&["Enter"]);
    let screen = tmux.wait("the end", |screen| screen.ends_with("division by zero\n$"));
    let after = screen.split_once("(Pdb) p n").map(|(_, rest)| rest.to_owned());
    let wanted = "
0
(Pdb) c
Traceback (most recent call last):
  File \"<py:2>\", line 1, in <module>
    f(0)
";
    assert!(after.as_deref().is_some_and(|rest| rest.starts_with(wanted)), "{screen}");
    let coloured = tmux.coloured();
    // tmux writes a colour where it changes: cyan for the place, red for the marks, bold for the error.
    let line = |part: &str| coloured.lines().find(|line| line.contains(part)).unwrap_or_default();
    assert!(line("<py:2>").contains("\x1b[36m"), "{coloured:?}");
    assert!(line("f(0)").starts_with("\x1b[39m    f(0)"), "{coloured:?}");
    assert!(line("division by zero").contains("\x1b[1m"), "{coloured:?}");
    let before_error = coloured.split("ZeroDivisionError").next().unwrap_or_default();
    assert!(
        before_error.rsplit("\x1b[3").next().is_some_and(|it| it.starts_with('1')),
        "{coloured:?}"
    );
}

#[test]
fn e8_several_questions_in_a_row_with_line_editing_and_an_end_of_input() {
    let env = TestEnv::new(STEAD);
    let code = "a = input('first? ')\nb = input('second? ')\nimport sys\nrest = sys.stdin.read()\n(a, b, rest)";
    let mut terminal = at_terminal(&env, &["eval", "-n", "py", code]);
    terminal.wait_for("first? ");
    // Backspace takes the last letter back.
    terminal.type_keys("onex\x7f\n");
    terminal.wait_for("second? ");
    terminal.type_keys("\n");
    wait_for("the third wait", || env.status()["state"] == "waiting_input");
    terminal.type_keys("more\n");
    wait_for("the answer to be read", || {
        env.status()["state"] == "waiting_input" && env.status()["running"]["prompt"] == ""
    });
    terminal.type_keys("\x04");
    let (code, screen) = screen(terminal);
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("('one', '', 'more\\n')"), "{screen}");
}

#[test]
fn e8_a_terminal_shows_what_is_typed_again_however_a_question_in_silence_ends() {
    let env = TestEnv::new(STEAD);
    for (deadly, asks) in [
        (Signal::TERM, &["eval", "-n", "py", "input('Password: ')"][..]),
        (Signal::HUP, &["output", "py", "--wait", "60s"][..]),
        (Signal::QUIT, &["input", "-n", "py", "--hidden"][..]),
        (Signal::TERM, &["input", "-n", "py", "--hidden"][..]),
    ] {
        let mut terminal = at_terminal(&env, asks);
        terminal.wait_for("Password: ");
        wait_for("silence", || !terminal.shows_typing());
        signal(terminal.pid(), deadly);
        assert_eq!(terminal.end(), None, "{asks:?}");
        assert!(terminal.shows_typing(), "{deadly:?} {asks:?}");
    }
}

#[test]
fn e8_a_question_in_silence_can_be_put_aside_and_taken_up_again() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    let tmux = Tmux::new(&env, "aside");
    tmux.type_line("stead eval -n py \"len(input('Password: '))\"");
    tmux.wait("the question", |screen| screen.ends_with("Password:"));
    tmux.keys(&["C-z"]);
    tmux.wait("the shell", |screen| screen.contains("Stopped") && screen.ends_with('$'));
    let pid = stopped(&env);
    tmux.keys(&["-l", "bg"]);
    tmux.keys(&["Enter"]);
    tmux.wait("typing to be shown", |screen| screen.contains("$ bg"));
    tmux.keys(&["-l", "echo shown"]);
    tmux.keys(&["Enter"]);
    tmux.wait("typing to be shown", |screen| screen.contains("$ echo shown\nshown"));
    tmux.keys(&["-l", "fg"]);
    tmux.keys(&["Enter"]);
    wait_for("it to go on", || state_of(pid) == Some('S'));
    tmux.keys(&["-l", "hunter2"]);
    tmux.keys(&["Enter"]);
    let screen = tmux.wait("the value", |screen| screen.ends_with("7\n$"));
    assert!(!screen.contains("hunter2"), "{screen}");
    tmux.keys(&["-l", "echo typed"]);
    tmux.wait("typing to be shown", |screen| screen.ends_with("$ echo typed"));
}

#[test]
fn e8_a_secret_is_not_shown_while_it_is_typed() {
    let env = TestEnv::new(STEAD);
    let code = "len(input('Password: '))";
    let mut terminal = at_terminal(&env, &["eval", "-n", "py", code]);
    terminal.wait_for("Password: ");
    terminal.type_keys("hunter2\n");
    let (exit, shown) = screen(terminal);
    assert_eq!((exit, shown.as_str()), (Some(0), "Password:\n7"));

    env.json(["eval", "-n", "py", "input('pin? ')"]);
    let mut terminal = at_terminal(&env, &["input", "-n", "py", "--hidden"]);
    terminal.wait_for("pin? ");
    terminal.type_keys("1234\n");
    let (exit, shown) = screen(terminal);
    assert_eq!((exit, shown.as_str()), (Some(0), "pin?\n'1234'"));

    // Without a terminal nobody can be asked.
    env.json(["eval", "-n", "py", "input('pin? ')"]);
    let mut alone = env.other("setsid");
    alone.arg("-w").arg(env.program()).args(["input", "-n", "py", "--hidden"]);
    let ran: Ran = alone.output().unwrap().into();
    let told = refused(&ran, "input", "bad_request");
    assert!(told["error"]["hint"].as_str().unwrap().contains("stead input -"), "{told:#}");
    assert_eq!(env.run(["input", "-n", "py", "x"]).code, Some(0));
}

#[test]
fn e8_ctrl_c_at_a_question_interrupts_the_eval() {
    let env = TestEnv::new(STEAD);
    env.value("x = 1");
    let mut terminal = at_terminal(&env, &["eval", "-n", "py", "input('name? ')"]);
    terminal.wait_for("name? ");
    terminal.type_keys("half\x03");
    let (exit, shown) = screen(terminal);
    assert_eq!(exit, Some(1), "{shown}");
    assert!(shown.contains("the session's state is kept"), "{shown}");
    assert_eq!(env.value("x"), "1");
}

#[test]
fn e8_input_and_output_ask_too_and_see_an_answer_from_elsewhere() {
    let env = TestEnv::new(STEAD);
    env.json(["eval", "-n", "py", "input('name? ')"]);
    let mut terminal = at_terminal(&env, &["input", "-n", "py"]);
    terminal.wait_for("name? ");
    terminal.type_keys("Ada\n");
    assert_eq!(screen(terminal), (Some(0), "name? Ada\n'Ada'".to_owned()));

    env.json(["eval", "-n", "py", "input('name? ')"]);
    let mut terminal = at_terminal(&env, &["output", "py:2", "--wait", "60s"]);
    terminal.wait_for("name? ");
    // Somebody else answers first.
    assert_eq!(env.json(["input", "py:2", "Bob"])["data"]["value"], "'Bob'");
    let (exit, shown) = screen(terminal);
    assert_eq!(exit, Some(0), "{shown}");
    assert!(shown.ends_with("'Bob'"), "{shown}");
}

#[test]
fn e8_without_a_person_the_call_returns_as_ever() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    // A terminal that shows JSON is read by a program.
    let (exit, shown) = at_terminal(&env, &["eval", "-n", "py", "--json", "input('? ')"]).finish();
    assert_eq!(exit, Some(0));
    assert!(shown.contains("waiting_input"), "{shown}");
    let from_pipe = env.run_with(["input", "-n", "py", "-"], b"two words");
    assert_eq!(from_pipe.json()["data"]["value"], "'two words'", "{from_pipe:?}");
    env.json(["eval", "-n", "py", "input('? ')"]);
    let ended = env.run_with(["input", "py:3", "-"], b"a line\n");
    assert_eq!(ended.json()["data"]["value"], "'a line'", "{ended:?}");
    let (exit, shown) =
        at_terminal(&env, &["eval", "-n", "py", "--timeout", "0", "input('? ')"]).finish();
    assert_eq!(exit, Some(0), "{shown}");
    env.run(["interrupt", "py"]);
}
