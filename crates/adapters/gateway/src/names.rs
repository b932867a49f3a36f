//! From a host's name to its addresses, without the C library: linked statically, its resolver needs files of exactly the
//! version it was built with, which another machine does not have.
//!
//! Tried in turn: an address that is written out, `localhost`, the hosts file, `getent` (which asks whatever this machine
//! is set up to ask), and the name servers of `/etc/resolv.conf`.

use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use thiserror::Error;

/// How long one name server may take.
const SERVER_TIME: Duration = Duration::from_secs(2);
/// More name servers are not asked.
const MOST_SERVERS: usize = 3;

/// Why a name has no address.
#[derive(Debug, Error)]
pub(crate) enum NameTrouble {
    #[error("no address is known for the name `{name}`")]
    Unknown { name: String },
    #[error("the name `{name}` could not be looked up: {why}")]
    NotAsked { name: String, why: String },
}

/// The addresses of a host, the best first.
pub(crate) fn addresses(
    host: &str,
    port: u16,
    by: Instant,
) -> Result<Vec<SocketAddr>, NameTrouble> {
    let at = |found: Vec<IpAddr>| {
        let mut all: Vec<SocketAddr> = Vec::new();
        for ip in found {
            let address = SocketAddr::new(ip, port);
            if !all.contains(&address) {
                all.push(address);
            }
        }
        all
    };
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(at(vec![ip]));
    }
    let hosts = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
    let listed = in_hosts_file(&hosts, host);
    if !listed.is_empty() {
        return Ok(at(listed));
    }
    if host == "localhost" || host.ends_with(".localhost") {
        return Ok(at(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]));
    }
    let found = match by_getent(host, by) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let settings = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
            by_name_servers(host, &settings, by)
                .map_err(|why| NameTrouble::NotAsked { name: host.to_owned(), why })?
        }
        Err(error) => {
            let why = format!("`getent`: {error}");
            return Err(NameTrouble::NotAsked { name: host.to_owned(), why });
        }
    };
    match found.is_empty() {
        true => Err(NameTrouble::Unknown { name: host.to_owned() }),
        false => Ok(at(found)),
    }
}

fn in_hosts_file(text: &str, host: &str) -> Vec<IpAddr> {
    let line = |line: &str| {
        let mut words = line.split('#').next()?.split_whitespace();
        let ip: IpAddr = words.next()?.parse().ok()?;
        words.any(|name| name.eq_ignore_ascii_case(host)).then_some(ip)
    };
    text.lines().filter_map(line).collect()
}

/// Asks the machine's own resolver, which knows more ways than name servers.
fn by_getent(host: &str, by: Instant) -> io::Result<Vec<IpAddr>> {
    // A name that looked like an option would be taken for one.
    if host.starts_with('-') {
        return Ok(Vec::new());
    }
    let mut child = Command::new("getent")
        .args(["ahosts", host])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut output = Vec::new();
    let read = match child.stdout.take() {
        Some(mut stdout) => read_by(&mut stdout, &mut output, by),
        None => Ok(()),
    };
    if read.is_err() {
        let _ = child.kill();
    }
    child.wait()?;
    read?;
    let text = String::from_utf8_lossy(&output);
    let first = |line: &str| line.split_whitespace().next()?.parse().ok();
    Ok(text.lines().filter_map(first).collect())
}

/// Reads to the end of the stream; an error if the end has not come by `by`.
fn read_by(
    from: &mut (impl Read + std::os::fd::AsFd),
    into: &mut Vec<u8>,
    by: Instant,
) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    loop {
        let left = by.saturating_duration_since(Instant::now());
        let mut fds = [PollFd::new(from, PollFlags::IN)];
        let timeout = Timespec::try_from(left).ok();
        match poll(&mut fds, timeout.as_ref()) {
            Ok(0) => return Err(io::Error::new(io::ErrorKind::TimedOut, "it took too long")),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let mut bytes = [0; 4096];
        match from.read(&mut bytes)? {
            0 => return Ok(()),
            count => into.extend_from_slice(&bytes[..count]),
        }
    }
}

/// Asks the name servers of this text for the name, and for the name with each ending of the search list.
fn by_name_servers(host: &str, settings: &str, by: Instant) -> Result<Vec<IpAddr>, String> {
    let mut servers = Vec::new();
    let mut endings: Vec<&str> = Vec::new();
    for line in settings.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("nameserver") => {
                servers.extend(words.next().and_then(|ip| ip.parse::<IpAddr>().ok()))
            }
            Some("search" | "domain") => endings = words.collect(),
            _ => {}
        }
    }
    let servers: Vec<IpAddr> = servers.into_iter().take(MOST_SERVERS).collect();
    if servers.is_empty() {
        return Err("there is neither `getent` nor a name server in `/etc/resolv.conf`".to_owned());
    }
    let plain = host.trim_end_matches('.').to_owned();
    let ended = endings.iter().map(|ending| format!("{plain}.{ending}"));
    let mut names: Vec<String> = vec![plain.clone()];
    match plain.contains('.') {
        true => names.extend(ended),
        false => names = ended.chain(names).collect(),
    }
    let mut last = String::new();
    for name in names {
        for server in &servers {
            let asked = [QUESTION_A, QUESTION_AAAA].map(|kind| ask(*server, &name, kind, by));
            let mut found = Vec::new();
            for answer in asked {
                match answer {
                    Ok(addresses) => found.extend(addresses),
                    Err(error) => last = format!("the name server {server}: {error}"),
                }
            }
            if !found.is_empty() {
                return Ok(found);
            }
        }
    }
    if last.is_empty() { Ok(Vec::new()) } else { Err(last) }
}

const QUESTION_A: u16 = 1;
const QUESTION_AAAA: u16 = 28;

fn ask(server: IpAddr, name: &str, kind: u16, by: Instant) -> io::Result<Vec<IpAddr>> {
    let left = by.saturating_duration_since(Instant::now()).min(SERVER_TIME);
    if left.is_zero() {
        return Err(io::Error::new(io::ErrorKind::TimedOut, "no time is left"));
    }
    let any: SocketAddr = match server {
        IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        IpAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    // A connected socket takes answers of this server only.
    socket.connect((server, 53))?;
    socket.set_read_timeout(Some(left))?;
    let id = stead_launch::sys::random()? as u16;
    socket.send(&question(id, name, kind))?;
    let mut bytes = [0; 4096];
    let until = Instant::now() + left;
    while Instant::now() < until {
        let count = socket.recv(&mut bytes)?;
        if let Some(found) = answer(&bytes[..count], id, kind) {
            return Ok(found);
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "it does not answer"))
}

/// A question of the domain name system (RFC 1035).
fn question(id: u16, name: &str, kind: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    // The header: one question, and the server is to ask other servers.
    for word in [id, 0x0100, 1, 0, 0, 0] {
        bytes.extend(word.to_be_bytes());
    }
    for label in name.split('.') {
        bytes.push(label.len().min(63) as u8);
        bytes.extend(label.bytes().take(63));
    }
    bytes.push(0);
    for word in [kind, 1] {
        bytes.extend(word.to_be_bytes());
    }
    bytes
}

/// The addresses in an answer; `None` if it is none to this question.
fn answer(bytes: &[u8], id: u16, kind: u16) -> Option<Vec<IpAddr>> {
    let word = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    if word(0)? != id || bytes.get(2)? & 0x80 == 0 {
        return None;
    }
    let (questions, answers) = (word(4)?, word(6)?);
    let mut at = 12;
    for _ in 0..questions {
        at = after_name(bytes, at)? + 4;
    }
    let mut found = Vec::new();
    for _ in 0..answers {
        at = after_name(bytes, at)?;
        let (its_kind, length) = (word(at)?, usize::from(word(at + 8)?));
        let data = bytes.get(at + 10..at + 10 + length)?;
        at += 10 + length;
        if its_kind != kind {
            continue;
        }
        if let Ok(four) = <[u8; 4]>::try_from(data) {
            found.push(IpAddr::from(four));
        } else if let Ok(sixteen) = <[u8; 16]>::try_from(data) {
            found.push(IpAddr::from(sixteen));
        }
    }
    Some(found)
}

/// Where a name ends that begins here: at its last label, or at a reference to another place.
fn after_name(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *bytes.get(at)? {
            0 => return Some(at + 1),
            length if length >= 0xc0 => return Some(at + 2),
            length => at += 1 + usize::from(length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k2_names_are_found_in_the_hosts_file_and_written_addresses_are_taken() {
        let text = "127.0.0.1 localhost # here\n10.1.2.3  Gate.Way gw\n# 9.9.9.9 gw\nfe80::1 six\n";
        assert_eq!(in_hosts_file(text, "gw"), ["10.1.2.3".parse::<IpAddr>().unwrap()]);
        assert_eq!(in_hosts_file(text, "gate.way").len(), 1);
        assert!(in_hosts_file(text, "nothing").is_empty());
        let soon = Instant::now() + Duration::from_secs(5);
        assert_eq!(addresses("::1", 80, soon).unwrap(), ["[::1]:80".parse().unwrap()]);
        assert!(!addresses("localhost", 80, soon).unwrap().is_empty());
    }

    #[test]
    fn k2_a_question_to_a_name_server_and_its_answer_are_understood() {
        let asked = question(0x1234, "a.bc", QUESTION_A);
        assert_eq!(&asked[12..], b"\x01a\x02bc\x00\x00\x01\x00\x01");
        let mut said = asked.clone();
        (said[2], said[7]) = (0x81, 2);
        // A name that refers back, another name with its alias, then the address.
        said.extend(b"\xc0\x0c\x00\x05\x00\x01\x00\x00\x00\x05\x00\x02\xc0\x0e");
        said.extend(b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x05\x00\x04\x0a\x00\x00\x07");
        let found = answer(&said, 0x1234, QUESTION_A).unwrap();
        assert_eq!(found, ["10.0.0.7".parse::<IpAddr>().unwrap()]);
        assert_eq!(answer(&said, 0x1235, QUESTION_A), None);
        for cut in 0..said.len() {
            let _ = answer(&said[..cut], 0x1234, QUESTION_A);
        }
    }
}
