//! `acceptor`: TLS with the certificates of files.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::failure::Failure;

/// Reads the certificates and the private key, for a server that speaks these protocols; none are for HTTP/1. A fault names the file, and nothing that is in it.
pub(crate) fn acceptor(certificates: &Path, key: &Path, protocols: &[&str]) -> Result<TlsAcceptor, Failure> {
    let fault = |path: &Path, message: &str| Failure::Input(format!("{}: {message}", path.display()));
    let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(certificates).and_then(Iterator::collect);
    let chain = chain.map_err(|_| fault(certificates, "is no readable PEM file with certificates"))?;
    if chain.is_empty() {
        return Err(fault(certificates, "has no certificate"));
    }
    let private =
        PrivateKeyDer::from_pem_file(key).map_err(|_| fault(key, "is no readable PEM file with a private key"))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::Other(format!("cannot set up TLS: {error}")))?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|_| fault(key, "is not the private key of the certificate"))?;
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    Ok(TlsAcceptor::from(Arc::new(config)))
}
