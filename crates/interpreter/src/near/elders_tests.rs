use std::process::{Child, Command, Stdio};

use super::*;

/// A program that waits for its input, which ends with this process.
fn waiting(command: &mut Command) -> (Child, ProcessImage) {
    let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    // A program that has just been started shows its arguments a moment later.
    let known = loop {
        match image(child.id()) {
            Some(known) => break known,
            None => std::thread::yield_now(),
        }
    };
    (child, known)
}

#[test]
fn s6_a_process_that_ends_is_no_other_program_at_any_moment() {
    let long = "x".repeat(5000);
    for _ in 0..300 {
        let (mut child, known) = waiting(Command::new("sh").args(["-c", "read word", "sh", &long]));
        assert_eq!(known.words.len(), "sh -c read word sh ".len() + long.len() + 1);
        child.kill().unwrap();
        while let Some(seen) = image(child.id()) {
            assert_eq!(seen, known);
        }
        child.wait().unwrap();
    }
}

#[test]
fn s6_a_program_whose_file_was_replaced_is_no_other_program() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("program");
    std::fs::copy("/bin/cat", &file).unwrap();
    let (mut child, known) = waiting(&mut Command::new(&file));
    std::fs::remove_file(&file).unwrap();
    std::fs::copy("/bin/true", &file).unwrap();
    assert_eq!(image(child.id()), Some(known));
    child.kill().unwrap();
    child.wait().unwrap();
}
