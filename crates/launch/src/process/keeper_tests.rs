use std::process::{Child, Command, Stdio};

use super::*;
use crate::sys::before_exec;

const PATIENCE: Duration = Duration::from_millis(300);

/// A shell that is marked as that.
fn marked(mark: Mark, role: Role, code: &str) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", code]).stdin(Stdio::null());
    before_exec(&mut command, move || mark.take(role));
    command.spawn().unwrap()
}

fn wait_until_stopped(pid: u32) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while tree::look(pid).unwrap().state != b'T' {
        assert!(Instant::now() < deadline, "it never stopped");
        std::thread::yield_now();
    }
}

fn see_gone(mark: Mark) -> KeptBy {
    Keeper::see_guards_gone(Some(mark), Path::new("/no such file"), PATIENCE)
}

fn end(mut child: Child) {
    let _ = child.kill();
    child.wait().unwrap();
}

#[test]
fn s9_a_stopped_guard_goes_on_and_one_that_stops_again_is_killed() {
    for (code, signal) in [("kill -STOP $$", None), ("while :; do kill -STOP $$; done", Some(9))] {
        let mark = Mark::draw().unwrap();
        let mut guard = marked(mark, Role::Guard, code);
        wait_until_stopped(guard.id());
        assert!(matches!(see_gone(mark), KeptBy::Nobody), "{code}");
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(guard.wait().unwrap().signal(), signal, "{code}");
    }
}

#[test]
fn s9_a_guard_at_work_is_named_and_lives() {
    let mark = Mark::draw().unwrap();
    let guard = marked(mark, Role::Guard, "exec sleep 1000");
    while Keeper::at(guard.id()).is_none() {
        std::thread::yield_now();
    }
    assert_eq!(see_gone(mark).guard(), Some(guard.id()));
    assert!(Keeper::at(guard.id()).is_some());
    end(guard);
}

#[test]
fn s9_what_is_no_guard_of_a_dead_host_is_not_touched() {
    let (mark, other) = (Mark::draw().unwrap(), Mark::draw().unwrap());
    let stops = "kill -STOP $$";
    // Of a session whose host lives, of another session, and no guard at all.
    let stopped = [(mark, Role::Guard), (other, Role::Guard), (mark, Role::Family)];
    let stopped = stopped.map(|(mark, role)| marked(mark, role, stops));
    stopped.iter().for_each(|child| wait_until_stopped(child.id()));
    let host = marked(mark, Role::Host, "exec sleep 1000");
    while Keeper::at(host.id()).is_none() {
        std::thread::yield_now();
    }
    assert!(matches!(see_gone(mark), KeptBy::Host(_)));
    for child in stopped {
        assert_eq!(tree::look(child.id()).unwrap().state, b'T');
        end(child);
    }
    assert!(Keeper::at(host.id()).is_some_and(|host| host.role == Role::Host));
    end(host);
}
