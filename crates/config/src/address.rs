//! Addresses of servers that run already.

/// The address `HOST:PORT` that a text means: a port alone is one of this machine, and `nrepl://` may stand before it.
pub fn server_address(text: &str) -> Option<String> {
    let text = text.strip_prefix("nrepl://").unwrap_or(text).trim_end_matches('/');
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, port),
        None => ("localhost", text),
    };
    let is_digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.parse::<u16>().ok().filter(|port| *port != 0 && is_digits)?;
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = match inner {
        Some(six) => six.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            let fits = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
            !host.is_empty() && host.len() < 256 && host.chars().all(fits)
        }
    };
    is_host.then(|| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k3_an_address_is_a_host_and_a_port_or_a_port_alone() {
        for (text, address) in [
            ("localhost:7888", Some("localhost:7888")),
            ("7888", Some("localhost:7888")),
            ("127.0.0.1:1667", Some("127.0.0.1:1667")),
            ("[::1]:1667", Some("[::1]:1667")),
            ("nrepl://box.lan:7888", Some("box.lan:7888")),
            ("::1:1667", None),
            ("localhost", None),
            ("localhost:", None),
            ("localhost:0", None),
            ("localhost:+80", None),
            ("localhost:70000", None),
            (":7888", None),
            ("a b:7888", None),
            ("", None),
        ] {
            assert_eq!(server_address(text).as_deref(), address, "{text}");
        }
    }
}
