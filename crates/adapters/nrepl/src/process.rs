//! A server's own process: how it is started and ended, and where it says that it listens.

use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::SystemTime;

use rustix::io::ioctl_fionbio;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with, sockopt,
};
use rustix::process::{Pid, PidfdFlags, Signal};
use stead_launch::cores;
use stead_launch::sys::{self, OnSignal};
use stead_protocol::bridge::Stream;

/// Where servers write the port that they listen on.
const PORT_FILE: &str = ".nrepl-port";

/// A server that runs as our child.
pub(crate) struct ServerProcess {
    child: Child,
    ended: OwnedFd,
}

impl ServerProcess {
    pub(crate) fn start(words: &[String]) -> io::Result<ServerProcess> {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        let parent = std::process::id();
        command.env_remove("STEAD_BRIDGE_FD");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        sys::before_exec(&mut command, move || {
            // A group of its own, so that a wrapper and all that it starts can be ended together.
            rustix::process::setsid()?;
            sys::die_with(parent)?;
            sys::on_signal(Signal::PIPE, OnSignal::Default);
            sys::on_signal(Signal::INT, OnSignal::Default);
            cores::restore();
            Ok(())
        });
        let mut child = command.spawn()?;
        let pid = Pid::from_raw(child.id() as i32).ok_or(io::ErrorKind::NotFound)?;
        let ended = rustix::process::pidfd_open(pid, PidfdFlags::empty())
            .inspect_err(|_| drop(child.kill()))?;
        for fd in [child.stdout.as_ref().map(AsFd::as_fd), child.stderr.as_ref().map(AsFd::as_fd)] {
            ioctl_fionbio(fd.ok_or(io::ErrorKind::NotFound)?, true)?;
        }
        Ok(ServerProcess { child, ended })
    }

    /// Readable when the server has ended.
    pub(crate) fn ended_fd(&self) -> BorrowedFd<'_> {
        self.ended.as_fd()
    }

    /// Where what the process itself writes can be read; none once it was closed.
    pub(crate) fn stream_fd(&self, stream: Stream) -> Option<BorrowedFd<'_>> {
        match stream {
            Stream::Out => self.child.stdout.as_ref().map(AsFd::as_fd),
            Stream::Err => self.child.stderr.as_ref().map(AsFd::as_fd),
        }
    }

    /// All that the process itself has written to a stream.
    pub(crate) fn read(&mut self, stream: Stream) -> Vec<u8> {
        let (stdout, stderr) = (&mut self.child.stdout, &mut self.child.stderr);
        let mut bytes = Vec::new();
        let read = match stream {
            Stream::Out => stdout.as_mut().map(|file| file.read_to_end(&mut bytes)),
            Stream::Err => stderr.as_mut().map(|file| file.read_to_end(&mut bytes)),
        };
        // An error means that there is no more at the moment; else it was closed.
        if matches!(read, Some(Ok(_))) {
            match stream {
                Stream::Out => *stdout = None,
                Stream::Err => *stderr = None,
            }
        }
        bytes
    }

    /// How it ended; none while it runs.
    pub(crate) fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Sends a signal to the server and its group.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process_group(pid, signal);
        }
    }

    /// Kills the server and its group.
    pub(crate) fn kill(&mut self) {
        // A group outlives the process that it is named after, and its number is not used again until all of it is gone.
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}

/// A port of this machine that nobody else is given until the server has taken it: a socket that does not listen has it, and
/// leaves it to one that allows that as well (`SO_REUSEADDR`), as servers do.
pub(crate) struct HeldPort {
    pub(crate) port: u16,
    _held: Option<OwnedFd>,
}

impl HeldPort {
    pub(crate) fn hold() -> io::Result<HeldPort> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
        let address = SocketAddr::try_from(getsockname(&socket)?).map_err(io::Error::from)?;
        Ok(HeldPort { port: address.port(), _held: Some(socket) })
    }

    /// A port that is free now, for a server that takes none which anybody else has.
    pub(crate) fn found() -> io::Result<HeldPort> {
        let HeldPort { port, .. } = HeldPort::hold()?;
        Ok(HeldPort { port, _held: None })
    }
}

/// The file in which a server may say where it listens, as it was before.
pub(crate) struct PortFile {
    path: PathBuf,
    before: Option<SystemTime>,
}

impl PortFile {
    /// The file in the directory that the server starts in.
    pub(crate) fn here() -> PortFile {
        let path = PathBuf::from(PORT_FILE);
        let before = changed(&path);
        PortFile { path, before }
    }

    /// The port, if the file is newer than the server. An older one is of another server.
    pub(crate) fn port(&self) -> Option<u16> {
        let now = changed(&self.path)?;
        if self.before.is_some_and(|before| before == now) {
            return None;
        }
        std::fs::read_to_string(&self.path).ok()?.trim().parse().ok().filter(|port| *port != 0)
    }
}

fn changed(path: &std::path::Path) -> Option<SystemTime> {
    std::fs::metadata(path).ok()?.modified().ok()
}

/// The port that a line of a server names: `nREPL server started on port 7888 on host …`,
/// `Started nREPL server at 127.0.0.1:1667`.
pub(crate) fn announced(line: &str) -> Option<u16> {
    let line = line.to_ascii_lowercase();
    if !line.contains("nrepl") || !line.contains("start") {
        return None;
    }
    let number = |text: &str| {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u16>().ok().filter(|port| *port != 0)
    };
    let after = line.split("port ").skip(1).find_map(|rest| number(rest.trim_start()));
    after.or_else(|| line.rsplit(':').find_map(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k3_servers_say_where_they_listen() {
        for (line, port) in [
            (
                "nREPL server started on port 7888 on host localhost - nrepl://localhost:7888",
                Some(7888),
            ),
            ("Started nREPL server at 127.0.0.1:1667", Some(1667)),
            ("Started nREPL server at 0:0:0:0:0:0:0:1:1667", Some(1667)),
            ("nREPL server started on port 35435 on host 127.0.0.1", Some(35435)),
            ("For more info visit: https://book.babashka.org/#_nrepl", None),
            ("starting up on port 8080", None),
            ("nREPL server started on port 99999", None),
        ] {
            assert_eq!(announced(line), port, "{line}");
        }
    }

    #[test]
    fn k3_a_held_port_is_given_to_nobody_and_can_be_listened_on() {
        let held = HeldPort::hold().unwrap();
        // The standard library's listeners allow it, as the servers' do.
        let listener = std::net::TcpListener::bind(("127.0.0.1", held.port)).unwrap();
        assert_eq!(listener.local_addr().unwrap().port(), held.port);
        std::net::TcpStream::connect(("127.0.0.1", held.port)).unwrap();
    }
}
