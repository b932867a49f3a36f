//! The file by which kernels and clients find each other: addresses of five sockets, and the key.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;
use thiserror::Error;

use crate::message::SigningKey;

/// More bytes than any such file has.
const MOST_FILE: u64 = 1 << 20;

/// Where one socket of a kernel is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KernelAddress {
    Path(PathBuf),
    Tcp(String, u16),
}

impl fmt::Display for KernelAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelAddress::Path(path) => write!(f, "{}", path.display()),
            KernelAddress::Tcp(host, port) => write!(f, "{host}:{port}"),
        }
    }
}

/// How a kernel is reached.
pub(crate) struct KernelConnection {
    pub(crate) key: SigningKey,
    pub(crate) shell: KernelAddress,
    pub(crate) control: KernelAddress,
    pub(crate) published: KernelAddress,
    pub(crate) stdin: KernelAddress,
    pub(crate) heartbeat: KernelAddress,
}

/// What the sockets of a kernel of ours are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KernelTransport {
    /// Files in a directory that only this user may enter.
    Ipc,
    /// Ports of this machine, for kernels that know nothing else.
    Tcp,
}

/// Why a kernel cannot be reached by its file.
#[derive(Debug, Error)]
pub(crate) enum ConnectionFileError {
    #[error("could not read the connection file `{}`: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("`{}` is not a connection file of a Jupyter kernel: {why}", path.display())]
    Broken { path: PathBuf, why: String },
}

#[derive(Deserialize)]
struct WrittenConnection {
    #[serde(default = "tcp")]
    transport: String,
    ip: String,
    shell_port: u16,
    control_port: u16,
    iopub_port: u16,
    stdin_port: u16,
    hb_port: u16,
    #[serde(default)]
    key: String,
    #[serde(default = "sha256")]
    signature_scheme: String,
}

fn tcp() -> String {
    "tcp".to_owned()
}

fn sha256() -> String {
    "hmac-sha256".to_owned()
}

impl KernelConnection {
    /// What the file says.
    pub(crate) fn read(path: &Path) -> Result<KernelConnection, ConnectionFileError> {
        let read = |source| ConnectionFileError::Read { path: path.to_owned(), source };
        let broken = |why: String| ConnectionFileError::Broken { path: path.to_owned(), why };
        let size = std::fs::metadata(path).map_err(read)?.len();
        if size > MOST_FILE {
            return Err(broken(format!("it has {size} bytes")));
        }
        let text = std::fs::read_to_string(path).map_err(read)?;
        let written: WrittenConnection =
            serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
        let WrittenConnection { transport, ip, key, signature_scheme, .. } = &written;
        let is_local = !matches!(ip.as_str(), "" | "*");
        let ip = if is_local || transport == "ipc" { ip.as_str() } else { "127.0.0.1" };
        if signature_scheme != "hmac-sha256" && !key.is_empty() {
            return Err(broken(format!("its signature scheme `{signature_scheme}` is not known")));
        }
        let address = |port: u16| match transport.as_str() {
            "ipc" => Ok(KernelAddress::Path(PathBuf::from(format!("{ip}-{port}")))),
            "tcp" => Ok(KernelAddress::Tcp(ip.to_owned(), port)),
            other => Err(broken(format!("its transport `{other}` is not known"))),
        };
        Ok(KernelConnection {
            key: SigningKey::new(key),
            shell: address(written.shell_port)?,
            control: address(written.control_port)?,
            published: address(written.iopub_port)?,
            stdin: address(written.stdin_port)?,
            heartbeat: address(written.hb_port)?,
        })
    }

    /// Writes the file for a kernel that is about to be started, in a directory of ours.
    pub(crate) fn write(dir: &Path, transport: KernelTransport, key: &str) -> io::Result<PathBuf> {
        let (ip, ports, transport) = match transport {
            KernelTransport::Ipc => {
                // Files of an earlier kernel would keep this one from making its own.
                for number in 1..=5 {
                    let _ = std::fs::remove_file(dir.join(format!("k-{number}")));
                }
                (dir.join("k").to_string_lossy().into_owned(), [1, 2, 3, 4, 5], "ipc")
            }
            KernelTransport::Tcp => ("127.0.0.1".to_owned(), free_ports()?, "tcp"),
        };
        let [shell, control, published, stdin, heartbeat] = ports;
        let content = json!({
            "transport": transport,
            "ip": ip,
            "shell_port": shell,
            "control_port": control,
            "iopub_port": published,
            "stdin_port": stdin,
            "hb_port": heartbeat,
            "key": key,
            "signature_scheme": "hmac-sha256",
            "kernel_name": "",
        });
        let path = dir.join("connection.json");
        let _ = std::fs::remove_file(&path);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(content.to_string().as_bytes())?;
        Ok(path)
    }
}

/// Ports that nobody has at the moment. Another program may take one before the kernel does; then the kernel ends, and is
/// started with others.
fn free_ports() -> io::Result<[u16; 5]> {
    let bind = |_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let held = (0..5).map(bind).collect::<io::Result<Vec<_>>>()?;
    let mut ports = [0; 5];
    for (port, listener) in ports.iter_mut().zip(&held) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn k1_what_is_written_for_a_kernel_is_read_as_what_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = KernelConnection::write(dir.path(), KernelTransport::Ipc, "k").unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let read = KernelConnection::read(&path).unwrap();
        assert_eq!(read.published, KernelAddress::Path(dir.path().join("k-3")));
        let path = KernelConnection::write(dir.path(), KernelTransport::Tcp, "k").unwrap();
        let read = KernelConnection::read(&path).unwrap();
        assert!(
            matches!(read.shell, KernelAddress::Tcp(ip, port) if ip == "127.0.0.1" && port > 0)
        );
    }

    #[test]
    fn k1_a_file_that_is_none_says_why() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kernel.json");
        let error = |text: &str| {
            std::fs::write(&path, text).unwrap();
            KernelConnection::read(&path).err().unwrap().to_string()
        };
        assert!(error("").contains("not a connection file"));
        assert!(error("{}").contains("missing field"));
        let ports = r#""shell_port":1,"control_port":2,"iopub_port":3,"stdin_port":4,"hb_port":5"#;
        assert!(
            error(&format!(r#"{{"ip":"x",{ports},"transport":"carrier"}}"#)).contains("carrier")
        );
        let md5 = format!(r#"{{"ip":"x",{ports},"key":"k","signature_scheme":"hmac-md5"}}"#);
        assert!(error(&md5).contains("hmac-md5"));
        let gone = KernelConnection::read(&dir.path().join("none.json")).err().unwrap();
        assert!(gone.to_string().contains("could not read"), "{gone}");
    }
}
