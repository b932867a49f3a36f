//! What can be wrong with a server, in words that say what failed and on what.

use std::io;
use std::path::PathBuf;

use rustls::CertificateError;
use stead_host_side::plainly;
use stead_protocol::{GatewayUrl, GatewayUrlError, Obstacle};
use thiserror::Error;

use crate::names::NameTrouble;
use crate::token::TokenError;

/// Why the server cannot be spoken to, or does not do what it is asked.
#[derive(Debug, Error)]
pub(crate) enum ServerTrouble {
    #[error(transparent)]
    Name(#[from] NameTrouble),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(transparent)]
    Url(#[from] GatewayUrlError),
    #[error("no server answers at {url}: {}", plainly(source))]
    NoServer { url: String, source: io::Error },
    #[error("{url} is not trusted: {why}")]
    Untrusted { url: String, why: String },
    #[error("no TLS with {url}: {}", plainly(source))]
    NoTls { url: String, source: io::Error },
    #[error(
        "this machine has no file of trusted certificates; name one with the variable `STEAD_GATEWAY_CA`"
    )]
    NoCertificates,
    #[error("could not use the certificates of `{}`: {why}", path.display())]
    Certificates { path: PathBuf, why: String },
    #[error("the connection to {url} failed: {}", plainly(source))]
    Cut { url: String, source: io::Error },
    #[error("what answers at {url} is no Jupyter server: {why}")]
    NoJupyter { url: String, why: String },
    #[error("{url} refuses {} (status {status}){}", token_words(token.as_deref()), said_words(said))]
    Refused { url: String, status: u16, token: Option<String>, said: String },
    #[error("{url} leads elsewhere, to {to}, which is not followed: the token would go there")]
    Elsewhere { url: String, to: String },
    #[error("{url} has no kernel `{kernel}`; it has: {}", known.join(", "))]
    NoSuchKernel { url: String, kernel: String, known: Vec<String> },
    #[error("{url} has no kernel with the id `{id}`")]
    NoSuchId { url: String, id: String },
    #[error("{url} answers with status {status}{}", said_words(said))]
    Status { url: String, status: u16, said: String },
}

/// How far a request has come that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReachedServer {
    /// It was not sent.
    No,
    /// The connection was cut, a proxy gave up waiting, or the answer cannot be read: the server may do it all the same.
    Perhaps,
    /// The server itself has answered, so it has nothing under way.
    Answered,
}

impl ServerTrouble {
    /// What went wrong while TLS was begun.
    pub(crate) fn tls(url: &GatewayUrl, source: io::Error) -> ServerTrouble {
        let url = url.to_string();
        let inner = source.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match inner {
            Some(rustls::Error::InvalidCertificate(error)) => {
                ServerTrouble::Untrusted { url, why: certificate_words(error) }
            }
            Some(rustls::Error::InvalidMessage(_)) => {
                let why = "it does not speak TLS; an address without it begins with `http://`";
                ServerTrouble::NoTls { url, source: io::Error::other(why) }
            }
            _ => ServerTrouble::NoTls { url, source },
        }
    }

    /// How far a request has come that had this trouble.
    pub(crate) fn reached(&self) -> ReachedServer {
        match self {
            ServerTrouble::Cut { .. } | ServerTrouble::NoJupyter { .. } => ReachedServer::Perhaps,
            // Proxies use 499 and the numbers from 520 on, which are no part of the standard.
            ServerTrouble::Status { status: 408 | 499 | 502..=504 | 520..=527, .. } => {
                ReachedServer::Perhaps
            }
            ServerTrouble::Status { .. }
            | ServerTrouble::Refused { .. }
            | ServerTrouble::Elsewhere { .. }
            | ServerTrouble::NoSuchKernel { .. }
            | ServerTrouble::NoSuchId { .. } => ReachedServer::Answered,
            ServerTrouble::Name(_)
            | ServerTrouble::Token(_)
            | ServerTrouble::Url(_)
            | ServerTrouble::NoServer { .. }
            | ServerTrouble::Untrusted { .. }
            | ServerTrouble::NoTls { .. }
            | ServerTrouble::NoCertificates
            | ServerTrouble::Certificates { .. } => ReachedServer::No,
        }
    }

    /// Whether the server does not do this for anybody, or not for us.
    pub(crate) fn is_not_offered(&self) -> bool {
        matches!(
            self,
            ServerTrouble::Refused { .. } | ServerTrouble::Status { status: 404 | 405, .. }
        )
    }

    /// The kind of trouble, for front ends that give advice.
    pub(crate) fn obstacle(&self) -> Obstacle {
        match self {
            ServerTrouble::Name(_) | ServerTrouble::NoServer { .. } | ServerTrouble::Cut { .. } => {
                Obstacle::NotReached
            }
            ServerTrouble::Token(_) | ServerTrouble::Refused { .. } => Obstacle::Token,
            ServerTrouble::Untrusted { .. }
            | ServerTrouble::NoTls { .. }
            | ServerTrouble::NoCertificates
            | ServerTrouble::Certificates { .. } => Obstacle::Untrusted,
            ServerTrouble::NoJupyter { .. } => Obstacle::OtherKind,
            ServerTrouble::Elsewhere { .. } => Obstacle::LeadsElsewhere,
            ServerTrouble::NoSuchKernel { .. } => Obstacle::NoSuchKernel,
            ServerTrouble::NoSuchId { .. } => Obstacle::NoSuchId,
            ServerTrouble::Url(_) | ServerTrouble::Status { .. } => Obstacle::Other,
        }
    }

    /// Whether trying again is of no use.
    pub(crate) fn is_final(&self) -> bool {
        match self {
            ServerTrouble::Refused { .. }
            | ServerTrouble::NoSuchId { .. }
            | ServerTrouble::NoSuchKernel { .. }
            | ServerTrouble::Elsewhere { .. }
            | ServerTrouble::Url(_) => true,
            ServerTrouble::Name(_)
            | ServerTrouble::Token(_)
            | ServerTrouble::NoServer { .. }
            | ServerTrouble::Untrusted { .. }
            | ServerTrouble::NoTls { .. }
            | ServerTrouble::NoCertificates
            | ServerTrouble::Certificates { .. }
            | ServerTrouble::Cut { .. }
            | ServerTrouble::NoJupyter { .. }
            | ServerTrouble::Status { .. } => false,
        }
    }
}

fn certificate_words(error: &CertificateError) -> String {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is for another name".to_owned()
        }
        CertificateError::UnknownIssuer => {
            "its certificate was made by somebody who is not trusted; \
             a file of certificates to trust goes into the variable `STEAD_GATEWAY_CA`"
                .to_owned()
        }
        CertificateError::Revoked => "its certificate was revoked".to_owned(),
        other => format!("its certificate is not good: {other}"),
    }
}

fn token_words(origin: Option<&str>) -> String {
    match origin {
        Some(origin) => format!("the token of {origin}"),
        None => "to speak without a token; one is taken from the variable `STEAD_GATEWAY_TOKEN`"
            .to_owned(),
    }
}

fn said_words(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(": {said}") }
}
