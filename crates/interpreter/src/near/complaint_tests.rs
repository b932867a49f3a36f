use super::*;

fn boots() -> Vec<&'static str> {
    let fed = LANGUAGES.iter().filter_map(|language| match &language.start {
        Start::Fed(fed) => Some(fed.boot.trim()),
        _ => None,
    });
    fed.collect()
}

#[test]
fn c10_boot_code_is_left_out_however_it_is_quoted() {
    assert!(boots().len() >= 3);
    for boot in boots() {
        let shell = boot.replace('\'', r"'\''").replace('\n', "'$'\\n''");
        for quoted in [boot.to_owned(), format!("{boot:?}"), shell, boot.replace('\n', "?")] {
            let said = format!("ls: cannot access '{quoted}': File name too long\nlast words");
            let told = told(said.as_bytes());
            assert!(told.starts_with("ls: cannot access '"), "{told}");
            assert!(told.ends_with(": File name too long\nlast words"), "{told}");
            assert!(told.chars().count() < 80, "{told}");
        }
    }
}

#[test]
fn c10_a_message_of_the_boot_code_itself_is_told() {
    for message in [
        "the variable STEAD_BRIDGE_FD is missing: a command that starts a session's interpreter must pass its environment on",
        "stead needs Node 18 or newer; /usr/bin/node is v12.22.9",
    ] {
        assert_eq!(told(format!("{message}\n").as_bytes()), message);
    }
}

#[test]
fn c10_what_a_program_says_itself_is_whole_if_it_is_short() {
    let said = "  File \"/usr/lib/python3/site.py\", line 3\n    x = (\n\nSyntaxError: '(' was never closed\n";
    let whole =
        "File \"/usr/lib/python3/site.py\", line 3\n    x = (\nSyntaxError: '(' was never closed";
    assert_eq!(told(said.as_bytes()), whole);
    assert_eq!(told(b""), "");
    assert_eq!(told(b"\xff\n"), "\u{fffd}");
}

#[test]
fn o5_of_much_the_last_lines_are_told() {
    let many: String = (0..500).map(|n| format!("line {n}\n")).collect();
    let told_lines = told(many.as_bytes());
    assert!(told_lines.starts_with("line 488\n") && told_lines.ends_with("line 499"));
    let long = "é".repeat(5_000);
    assert_eq!(told(long.as_bytes()).chars().count(), TOLD_CHARS + 1);
}
