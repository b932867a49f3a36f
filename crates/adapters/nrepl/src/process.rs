//! A server's own process: how it is started, and where it says that it listens.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Command;
use std::time::SystemTime;

use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with, sockopt,
};
use stead_host_side::AdapterChild;

/// Where servers write the port that they listen on.
const PORT_FILE: &str = ".nrepl-port";

/// Starts a server as our child.
pub(crate) fn start_server(words: &[String]) -> io::Result<AdapterChild> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    AdapterChild::start(command)
}

/// A port of this machine that nobody else is given until the server has taken it: a socket that does not
/// listen holds the port, and leaves it to a server that sets `SO_REUSEADDR` as well, as servers do.
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

    /// A port that is free now, for a server that does not take a port which anybody else holds.
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
