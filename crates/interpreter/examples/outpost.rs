//! The lower half without a host: orders come in on standard input, tellings go out on standard output, one JSON object a line.
//!
//! This is all that the far side of a connection has to be. The tests drive it through a socketpair.
//! `outpost DIRECTORY` keeps its lock there.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;
use stead_interpreter::guard::Duty;
use stead_interpreter::{Near, NearReady, Told};
use stead_protocol::Lines;

fn main() -> ExitCode {
    let Some(dir) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("outpost DIRECTORY");
        return ExitCode::FAILURE;
    };
    match run(dir) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(dir: PathBuf) -> std::io::Result<()> {
    stead_interpreter::reserve_descriptors()?;
    let mut options = File::options();
    let lock =
        options.create(true).truncate(false).read(true).write(true).open(dir.join("lock"))?;
    let duty = Duty::take(&dir, &dir.join("socket"), lock);
    let guard = duty.split()?;
    duty.enter()?;
    let mut near = Near::new(duty, guard, Mode::from_raw_mode(0o022), dir)?;
    let mut lines = Lines::default();
    let mut told = VecDeque::new();
    loop {
        flush(&mut told)?;
        let (orders, ready) = wait(&near);
        near.turn(ready, &mut |telling| tell(&mut told, &telling));
        if orders && read(&mut lines)? == 0 {
            near.abandon();
            return Ok(());
        }
        while let Some(line) = lines.next_line() {
            match serde_json::from_slice(line) {
                Ok(order) => near.order(order, &mut |telling| tell(&mut told, &telling)),
                Err(error) => eprintln!("not an order: {error}"),
            }
        }
        near.look_around();
    }
}

/// Waits for an order or for something that the lower half waits for; says whether there is an order, and what was ready.
fn wait(near: &Near) -> (bool, NearReady) {
    let stdin = std::io::stdin();
    let interests: Vec<_> = near.interests().collect();
    let mut fds = vec![PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
    fds.extend(interests.iter().map(|(_, fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)));
    let left = near.next().map(|at| at.saturating_duration_since(Instant::now()));
    let left = left
        .map(|left| Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos() as _ });
    let mut ready = NearReady::default();
    if poll(&mut fds, left.as_ref()).unwrap_or(0) == 0 {
        return (false, ready);
    }
    for (fd, (source, _, _)) in fds[1..].iter().zip(&interests) {
        if !fd.revents().is_empty() {
            ready.note(*source);
        }
    }
    (!fds[0].revents().is_empty(), ready)
}

fn read(lines: &mut Lines) -> std::io::Result<usize> {
    let room = lines.room(4096);
    let mut buffer = [0; 4096];
    let read = std::io::stdin().lock().read(&mut buffer)?;
    room.extend_from_slice(&buffer[..read]);
    Ok(read)
}

fn tell(told: &mut VecDeque<Vec<u8>>, telling: &Told<'_>) {
    if let Ok(line) = serde_json::to_vec(telling) {
        told.push_back(line);
    }
}

fn flush(told: &mut VecDeque<Vec<u8>>) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in told.drain(..) {
        out.write_all(&line)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}
