//! Which certificates are trusted: those of a file that the user names, else those of this machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::trouble::ServerTrouble;

/// Variables that name a file of certificates, where the settings name none.
const VARIABLES: [&str; 3] = ["STEAD_GATEWAY_CA", "JUPYTER_GATEWAY_CA_CERTS", "SSL_CERT_FILE"];
/// Where systems keep the certificates that they trust.
const BUNDLES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/etc/ca-certificates/extracted/tls-ca-bundle.pem",
];

/// How TLS is spoken with a server.
pub(crate) fn client_config(given: Option<&str>) -> Result<Arc<ClientConfig>, ServerTrouble> {
    let variable = || {
        let set = VARIABLES.iter().find_map(std::env::var_os);
        set.filter(|value| !value.is_empty()).map(PathBuf::from)
    };
    let named = given.map(PathBuf::from).or_else(variable);
    let path = match named {
        Some(path) => path,
        None => {
            let found = BUNDLES.iter().map(PathBuf::from).find(|path| path.exists());
            found.ok_or(ServerTrouble::NoCertificates)?
        }
    };
    let config =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| ServerTrouble::Certificates {
                path: path.clone(),
                why: error.to_string(),
            })?
            .with_root_certificates(roots(&path)?)
            .with_no_client_auth();
    Ok(Arc::new(config))
}

fn roots(path: &Path) -> Result<RootCertStore, ServerTrouble> {
    let bad = |why: String| ServerTrouble::Certificates { path: path.to_owned(), why };
    let mut roots = RootCertStore::empty();
    let found = CertificateDer::pem_file_iter(path).map_err(|error| bad(error.to_string()))?;
    for certificate in found {
        // Some of a system's many certificates may be of kinds that are no longer supported, so they are passed over.
        let _ = roots.add(certificate.map_err(|error| bad(error.to_string()))?);
    }
    match roots.is_empty() {
        true => Err(bad("there is no certificate in it".to_owned())),
        false => Ok(roots),
    }
}
