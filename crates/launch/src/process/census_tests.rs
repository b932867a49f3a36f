use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;

use super::*;

/// A program that ends with its standard input.
fn cat() -> Child {
    Command::new("cat").stdin(Stdio::piped()).spawn().unwrap()
}

fn end(mut child: Child) {
    drop(child.stdin.take());
    child.wait().unwrap();
}

/// Other tests start and end processes below us meanwhile, so only our own are looked for.
#[test]
fn e6_threads_and_children_are_seen_when_they_come_and_when_they_go() {
    let (ours, child) = (Family::below_us(None), cat());
    let mut census = Census::default();
    for _ in 0..3 {
        let alone = census.take(&Family::below(child.id(), None), child.id());
        assert_eq!(alone, HashSet::from([child.id()]));
    }
    assert!(census.take(&ours, child.id()).contains(&child.id()));
    let (stop, stopped) = channel::<()>();
    let (tell, told) = channel();
    let thread = std::thread::spawn(move || {
        let child = cat();
        tell.send((rustix::thread::gettid().as_raw_nonzero().get() as u32, child.id())).unwrap();
        stopped.recv().unwrap_err();
        end(child);
    });
    let (id, of_thread) = told.recv().unwrap();
    for _ in 0..2 {
        assert!(census.take(&ours, child.id()).contains(&of_thread));
    }
    assert!(census.take(&ours, std::process::id()).contains(&id));
    drop(stop);
    thread.join().unwrap();
    // A thread is joined a moment before the kernel lists it no longer.
    while census.take(&ours, std::process::id()).contains(&id) {
        std::thread::yield_now();
    }
    assert!(!census.take(&ours, child.id()).contains(&of_thread));
    let gone = child.id();
    end(child);
    assert!(!census.take(&ours, gone).contains(&gone));
    assert!(!census.processes.contains_key(&of_thread) && !census.processes.contains_key(&gone));
}

#[test]
fn e6_of_more_processes_than_files_may_stay_open_all_are_seen() {
    let mut shell = Command::new("sh")
        .args(["-c", "exec 3<&0; for i in $(seq 120); do cat <&3 & done; echo up; wait"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = std::io::BufReader::new(shell.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    let (family, mut census) = (Family::below(shell.id(), None), Census::default());
    for _ in 0..3 {
        assert_eq!(census.take(&family, shell.id()).len(), 121);
        let open: usize = census.processes.values().map(Threads::open).sum();
        assert!(open <= MOST_OPEN);
    }
    end(shell);
}
