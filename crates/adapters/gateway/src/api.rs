//! The server's own interface: kernels are created, looked at, interrupted and deleted by HTTP, and spoken to by WebSocket.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::ClientConfig;
use serde_json::Value;
use stead_protocol::{GatewayKernel, GatewayUrl};
use tungstenite::client::IntoClientRequest;
use tungstenite::protocol::WebSocketConfig;

use crate::frames::{V1, WireForm};
use crate::http::{HttpAnswer, HttpRequest, exchange};
use crate::socket::KernelWebSocket;
use crate::stream::GatewayStream;
use crate::tls;
use crate::token::{GatewayToken, read_token};
use crate::trouble::ServerTrouble;

/// How long a request may take that the server answers at once.
pub(crate) const QUICK: Duration = Duration::from_secs(8);
/// How long a connection may take until it is there, TLS included.
const CONNECTED_WITHIN: Duration = Duration::from_secs(5);
/// How long a new kernel may take: on a cluster its machine has to be found first.
pub(crate) const CREATED_WITHIN: Duration = Duration::from_secs(220);
/// The largest message of a kernel.
const MOST_MESSAGE: usize = 160 << 20;
const MOST_SAID: usize = 300;

/// A server, and what it takes to be let in.
pub(crate) struct KernelApi {
    pub(crate) url: GatewayUrl,
    token: Option<GatewayToken>,
    tls: Option<Arc<ClientConfig>>,
}

/// What became of a kernel that was to be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KernelRemoval {
    /// It is gone.
    Gone,
    /// The server has none of this id.
    NotThere,
    /// The server was asked to and has not answered yet.
    Asked,
}

impl KernelApi {
    pub(crate) fn new(kernel: &GatewayKernel) -> Result<KernelApi, ServerTrouble> {
        let url = GatewayUrl::parse(&kernel.url)?;
        let token = read_token(kernel.token.as_ref())?;
        let tls = match url.secure {
            true => Some(tls::client_config(kernel.ca_file.as_deref())?),
            false => None,
        };
        Ok(KernelApi { url, token, tls })
    }

    /// Finds out whether a server is there that lets us in.
    pub(crate) fn greet(&self) -> Result<(), ServerTrouble> {
        let answer = self.ask("GET", "api/kernelspecs", None, Instant::now() + QUICK)?;
        match self.checked(&answer) {
            Ok(()) => self.object(&answer).map(drop),
            // Some servers make kernels and do not list their kernelspecs.
            Err(ServerTrouble::Status { .. }) => Ok(()),
            Err(trouble) => Err(trouble),
        }
    }

    /// Looks whether there is a kernel of this id, and what it does.
    pub(crate) fn look(&self, id: &str) -> Result<Value, ServerTrouble> {
        let by = Instant::now() + QUICK;
        let answer = self.ask("GET", &format!("api/kernels/{id}"), None, by)?;
        if answer.status == 404 {
            return Err(ServerTrouble::NoSuchId { url: self.url.to_string(), id: id.to_owned() });
        }
        self.checked(&answer)?;
        self.object(&answer)
    }

    /// Interrupts what runs there.
    pub(crate) fn interrupt(&self, id: &str) -> Result<(), ServerTrouble> {
        let by = Instant::now() + QUICK;
        let path = format!("api/kernels/{id}/interrupt");
        self.checked(&self.ask("POST", &path, None, by)?)
    }

    /// Deletes a kernel. Servers answer when its process has ended, which is not always waited for.
    pub(crate) fn delete(
        &self,
        id: &str,
        within: Duration,
    ) -> Result<KernelRemoval, ServerTrouble> {
        let by = Instant::now() + within;
        let answer = match self.ask("DELETE", &format!("api/kernels/{id}"), None, by) {
            Err(ServerTrouble::Cut { source, .. }) if source.kind() == io::ErrorKind::TimedOut => {
                return Ok(KernelRemoval::Asked);
            }
            answer => answer?,
        };
        match answer.status {
            404 => Ok(KernelRemoval::NotThere),
            _ => self.checked(&answer).map(|()| KernelRemoval::Gone),
        }
    }

    /// Opens the WebSocket of a kernel. `session` is the same each time, so that the server hands over what it kept.
    pub(crate) fn open(&self, id: &str, session: &str) -> Result<KernelWebSocket, ServerTrouble> {
        let by = Instant::now() + QUICK;
        let url = self.url.to_string();
        let scheme = if self.url.secure { "wss" } else { "ws" };
        let (authority, base) = (self.url.authority(), &self.url.base);
        let address =
            format!("{scheme}://{authority}{base}api/kernels/{id}/channels?session_id={session}");
        let odd = |why: String| ServerTrouble::NoJupyter { url: url.clone(), why };
        let mut request = address.into_client_request().map_err(|error| odd(error.to_string()))?;
        let headers = request.headers_mut();
        if let Some(token) = &self.token {
            let value = format!("token {}", token.secret);
            let value = value.parse().map_err(|_| odd("the token fits no header".to_owned()))?;
            headers.insert("Authorization", value);
        }
        // A server that knows only the older form answers without the name of a form.
        headers.insert("Sec-WebSocket-Protocol", tungstenite::http::HeaderValue::from_static(V1));
        let soon = Instant::now() + CONNECTED_WITHIN;
        let mut stream = GatewayStream::connect(&self.url, self.tls.as_ref(), soon)?;
        stream.end_by(by);
        let config = WebSocketConfig::default()
            .max_message_size(Some(MOST_MESSAGE))
            .max_frame_size(Some(MOST_MESSAGE));
        let opened = tungstenite::client::client_with_config(request, stream, Some(config));
        let (mut socket, answer) = opened.map_err(|error| match error {
            tungstenite::HandshakeError::Failure(error) => self.not_opened(error, id),
            tungstenite::HandshakeError::Interrupted(_) => odd("it hung up".to_owned()),
        })?;
        let chosen = answer.headers().get("Sec-WebSocket-Protocol");
        let form = match chosen.and_then(|chosen| chosen.to_str().ok()) {
            Some(V1) => WireForm::V1,
            _ => WireForm::Json,
        };
        let free = socket.get_mut().set_free();
        free.map_err(|source| ServerTrouble::Cut { url: url.clone(), source })?;
        Ok(KernelWebSocket::new(socket, form))
    }

    fn not_opened(&self, error: tungstenite::Error, id: &str) -> ServerTrouble {
        use tungstenite::Error as Ws;
        let url = self.url.to_string();
        match error {
            Ws::Http(answer) => {
                let location = answer.headers().get("Location").and_then(|to| to.to_str().ok());
                let location = location.map(str::to_owned);
                let (status, body) = (answer.status().as_u16(), answer.body().clone());
                if status == 404 {
                    return ServerTrouble::NoSuchId { url, id: id.to_owned() };
                }
                let answer = HttpAnswer { status, location, body: body.unwrap_or_default() };
                self.checked(&answer).err().unwrap_or(ServerTrouble::NoJupyter {
                    url,
                    why: "it takes no WebSocket".to_owned(),
                })
            }
            Ws::Io(source) => ServerTrouble::Cut { url, source },
            other => self.no_jupyter(&other.to_string()),
        }
    }

    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        body: Option<&str>,
        by: Instant,
    ) -> Result<HttpAnswer, ServerTrouble> {
        let soon = by.min(Instant::now() + CONNECTED_WITHIN);
        let mut stream = GatewayStream::connect(&self.url, self.tls.as_ref(), soon)?;
        stream.end_by(by);
        let request = HttpRequest {
            method,
            path: &format!("{}{path}", self.url.base),
            host: &self.url.authority(),
            token: self.token.as_ref().map(|token| token.secret.as_str()),
            body,
        };
        exchange(&mut stream, &request).map_err(|source| {
            let url = self.url.to_string();
            match source.kind() {
                io::ErrorKind::InvalidData => {
                    ServerTrouble::NoJupyter { url, why: source.to_string() }
                }
                _ => ServerTrouble::Cut { url, source },
            }
        })
    }

    /// Whether an answer says that the request was carried out.
    pub(crate) fn checked(&self, answer: &HttpAnswer) -> Result<(), ServerTrouble> {
        let url = self.url.to_string();
        let said = said(answer);
        match answer.status {
            200..=299 => Ok(()),
            300..=399 => {
                let to = answer.location.as_deref().map_or("no address".to_owned(), without_query);
                // A server that wants a password sends browsers to its form.
                match to.contains("/login") {
                    true => Err(self.refused(answer.status, "it asks to log in".to_owned())),
                    false => Err(ServerTrouble::Elsewhere { url, to }),
                }
            }
            status @ (401 | 403) => Err(self.refused(status, said)),
            status => Err(ServerTrouble::Status { url, status, said }),
        }
    }

    fn refused(&self, status: u16, said: String) -> ServerTrouble {
        let token = self.token.as_ref().map(|token| token.origin.clone());
        ServerTrouble::Refused { url: self.url.to_string(), status, token, said }
    }

    pub(crate) fn object(&self, answer: &HttpAnswer) -> Result<Value, ServerTrouble> {
        serde_json::from_slice::<Value>(&answer.body)
            .ok()
            .filter(Value::is_object)
            .ok_or_else(|| self.no_jupyter("its answer is not what the interface says"))
    }

    pub(crate) fn no_jupyter(&self, why: &str) -> ServerTrouble {
        ServerTrouble::NoJupyter { url: self.url.to_string(), why: why.to_owned() }
    }

    /// Servers say in many ways that they do not know a kernel, so the server is asked which kernels it knows.
    pub(crate) fn perhaps_unknown(&self, name: Option<&str>) -> Option<ServerTrouble> {
        let name = name?;
        let answer = self.ask("GET", "api/kernelspecs", None, Instant::now() + QUICK).ok()?;
        self.checked(&answer).ok()?;
        let specs = self.object(&answer).ok()?;
        let known: Vec<String> = specs["kernelspecs"].as_object()?.keys().cloned().collect();
        let url = self.url.to_string();
        (!known.iter().any(|one| one == name)).then(|| ServerTrouble::NoSuchKernel {
            url,
            kernel: name.to_owned(),
            known,
        })
    }
}

/// Whether a text can stand in a path as it is.
pub(crate) fn is_id(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !text.is_empty() && text.len() <= 200 && text.bytes().all(fits) && !text.contains("..")
}

/// What the server says of an error, in one line.
fn said(answer: &HttpAnswer) -> String {
    let value: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let words = [&value["message"], &value["reason"]].into_iter().filter_map(Value::as_str);
    let words = words.map(str::trim).find(|text| !text.is_empty()).unwrap_or_default();
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(MOST_SAID).collect()
}

/// An address without what may be a secret in it.
fn without_query(address: &str) -> String {
    address.split(['?', '#']).next().unwrap_or_default().chars().take(MOST_SAID).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api() -> KernelApi {
        let url = GatewayUrl::parse("http://gw:8888/").unwrap();
        KernelApi { url, token: None, tls: None }
    }

    fn answer(status: u16, location: Option<&str>, body: &str) -> HttpAnswer {
        HttpAnswer { status, location: location.map(str::to_owned), body: body.into() }
    }

    #[test]
    fn k2_what_servers_answer_becomes_an_error_that_says_what_to_do() {
        let check = |answer: &HttpAnswer| api().checked(answer).unwrap_err().to_string();
        let none = check(&answer(403, None, r#"{"message": "Forbidden"}"#));
        assert!(none.contains("without a token") && none.contains("Forbidden"), "{none}");
        let away = check(&answer(302, Some("http://evil/?token=hunter2"), ""));
        assert!(away.contains("http://evil/") && !away.contains("hunter2"), "{away}");
        let login = check(&answer(302, Some("/login?next=%2Fapi"), ""));
        assert!(login.contains("log in"), "{login}");
        let broken = check(&answer(500, None, "<html>no</html>"));
        assert_eq!(broken, "http://gw:8888/ answers with status 500");
    }

    #[test]
    fn k2_only_plain_ids_stand_in_paths() {
        assert!(is_id("0b9cf6b4-6b6d-4d51-b02f-8c2ad4c6d2f1"));
        for bad in ["", "a/b", "..", "a?b", "a b", "x\r\ny"] {
            assert!(!is_id(bad), "{bad}");
        }
    }
}
