use super::*;

#[test]
fn j1_codes_are_those_of_a_shell() {
    assert_eq!(run("/bin/sh", "exit 3", None), Ok(Ended::Code(3)));
    assert_eq!(run("/bin/sh", "kill -9 $$", None).map(Ended::code), Ok(137));
    assert!(run("/no/such/shell", "true", None).is_err());
    assert!(run("/bin/sh", "a\0b", None).is_err());
}

#[test]
fn j1_a_command_of_any_length_runs() {
    let long = format!("{}\nexit 5", "#".repeat(1 << 20));
    for shell in ["/bin/sh", "/bin/bash"] {
        assert_eq!(run(shell, &long, None), Ok(Ended::Code(5)), "{shell}");
    }
}

#[test]
fn x5_what_a_command_starts_inherits_nothing_of_how_it_was_given() {
    let codes = [
        "! ls -l /proc/self/fd | grep -q memfd",
        "read a </dev/null; ! ls -l /proc/self/fd | grep -q memfd",
        "exec 3>&1 4>&1 5>&1 6>&1; true >&3 && true >&6",
    ];
    for code in codes {
        assert_eq!(run("/bin/bash", code, None), Ok(Ended::Code(0)), "{code}");
    }
}

#[test]
fn x5_a_command_is_as_it_was_and_in_no_command_line() {
    for shell in ["/bin/sh", "/bin/bash"] {
        let checks = [
            "test $# = 0",
            "set -- a b\ntest $2 = b",
            "case $0 in /bin/*) ;; *) false;; esac",
            "! tr '\\0' ' ' < /proc/$$/cmdline | grep -q secret",
            "test \"$(echo a\\\n)\" = a",
            "cat <<X | grep -q two\none\ntwo\nX\n\n",
            "trap 'exit 0' EXIT; false",
            "false; true",
            "# nothing",
            "",
        ];
        for check in checks {
            let code = format!("{check} # secret");
            let code = if check.contains('\n') { check } else { &code };
            assert_eq!(run(shell, code, None), Ok(Ended::Code(0)), "{shell}: {code}");
        }
        assert_eq!(run(shell, "true\nfalse\n\n", None), Ok(Ended::Code(1)));
        assert_eq!(run(shell, "exit 7\nif", None), Ok(Ended::Code(7)));
        assert_eq!(run(shell, "test x = x\\\n", None), Ok(Ended::Code(0)));
    }
}
