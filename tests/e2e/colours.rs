//! C-3, O-7: colours for people at a terminal, and none for anybody else.

use stead_testkit::{Ran, Terminal, TestEnv};

use crate::STEAD;
use crate::talk::without_spinner;

#[test]
fn a_traceback_a_list_and_an_error_have_colours_on_a_terminal() {
    let env = TestEnv::new(STEAD);
    let (code, shown) = Terminal::run(env.command(["eval", "-n", "py", "1/0"])).finish();
    assert_eq!(code, Some(1));
    let screen = without_spinner(&shown);
    // As a terminal got it: dim, cyan for the place, red for the marks, bold red for the error.
    let mut lines = screen.lines();
    assert_eq!(lines.next(), Some("\x1b[2mTraceback (most recent call last):\x1b[0m"));
    assert_eq!(lines.next(), Some("\x1b[36m  File \"<py:1>\", line 1, in <module>\x1b[0m"));
    assert_eq!(lines.next(), Some("    1/0"));
    let last = "\x1b[1m\x1b[31mZeroDivisionError: division by zero\x1b[0m";
    assert!(screen.trim_end().ends_with(last), "{screen:?}");

    let (_, shown) = Terminal::run(env.command(["ls"])).finish();
    assert!(shown.starts_with("\x1b[1mNAME\x1b[0m"), "{shown:?}");
    assert!(
        shown.contains("\x1b[1mpy\x1b[0m") && shown.contains("\x1b[2midle\x1b[0m"),
        "{shown:?}"
    );
    let (_, shown) = Terminal::run(env.command(["status", "nope"])).finish();
    assert!(shown.starts_with("\x1b[1m\x1b[31merror:\x1b[0m no session named"), "{shown:?}");

    // What changed is told to a person, as MCP tells it to a model.
    let (_, shown) = Terminal::run(env.command(["eval", "-n", "py", "x = [1, 2]; y = 1"])).finish();
    let wanted = "\x1b[32m+x\x1b[0m\x1b[2m list(2)\x1b[0m \x1b[32m+y\x1b[0m\x1b[2m int\x1b[0m";
    assert!(shown.contains(wanted), "{shown:?}");
    let (_, shown) = Terminal::run(env.command(["eval", "-n", "py", "del x; y = 2"])).finish();
    assert!(
        shown.contains("\x1b[33m~y\x1b[0m") && shown.contains("\x1b[31m-x\x1b[0m"),
        "{shown:?}"
    );
}

#[test]
fn nobody_who_does_not_want_colours_gets_any() {
    let env = TestEnv::new(STEAD);
    let commands: [&[&str]; 5] = [
        &["eval", "-n", "py", "print('\\x1b[31mred\\x1b[0m'); x = 1; 1/0"],
        &["ls"],
        &["status", "py"],
        &["status", "nope"],
        &["nonsense"],
    ];
    let plain = |shown: &str, what: &str| {
        let shown = without_spinner(shown);
        assert!(!shown.contains('\x1b'), "{what}: {shown:?}");
    };
    for arguments in commands {
        for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb"), ("CLICOLOR", "0")] {
            let mut command = env.command(arguments);
            let term = if name == "TERM" { value } else { "xterm" };
            command.env(name, value);
            let (_, shown) = Terminal::run_as(command, term).finish();
            plain(&shown, &format!("{name}={value} {arguments:?}"));
        }
        let never: Vec<&str> = [&["--color", "never"], arguments].concat();
        plain(&Terminal::run(env.command(never)).finish().1, "--color never");
        for mode in ["--text", "--json"] {
            let ran = env.run([&[mode], arguments].concat());
            assert!(!ran.stdout.contains('\x1b') && !ran.stderr.contains('\x1b'), "{ran:?}");
        }
        let json: Vec<&str> = [&["--json"], arguments].concat();
        plain(&Terminal::run(env.command(json)).finish().1, "JSON on a terminal");
    }
}

#[test]
fn colours_can_be_asked_for_where_there_is_no_terminal() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    let bold = "\x1b[1mNAME\x1b[0m";
    assert!(env.run(["ls", "--text", "--color", "always"]).stdout.starts_with(bold));
    let forced = |arguments: &[&str]| -> Ran {
        env.command(arguments).env("CLICOLOR_FORCE", "1").output().unwrap().into()
    };
    assert!(forced(&["ls", "--text"]).stdout.starts_with(bold));
    // JSON is for programs, and what user code writes is shown clean.
    assert!(!forced(&["ls", "--json"]).stdout.contains('\x1b'));
    let ran = forced(&["eval", "-n", "py", "--text", "print('\\x1b[31mred')"]);
    assert_eq!(ran.stdout, "red\n");
}
