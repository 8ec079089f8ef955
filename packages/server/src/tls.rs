//! `Certificate` and `acceptor`: TLS with the certificates of files, which may be read again.

use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;

use crate::failure::Failure;

/// The certificates and the private key that connections begin with from now on.
#[derive(Debug)]
pub(crate) struct Certificate(ArcSwap<CertifiedKey>);

impl Certificate {
    pub(crate) fn read(certificates: &Path, key: &Path) -> Result<Arc<Self>, Failure> {
        Ok(Arc::new(Self(ArcSwap::from_pointee(read(certificates, key)?))))
    }

    /// Takes what was read again.
    pub(crate) fn store(&self, key: CertifiedKey) {
        self.0.store(Arc::new(key));
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

/// Returns TLS for a server that speaks these protocols; none are for HTTP/1.
pub(crate) fn acceptor(certificate: Arc<Certificate>, protocols: &[&str]) -> Result<TlsAcceptor, Failure> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::Other(format!("cannot set up TLS: {error}")))?
        .with_no_client_auth()
        .with_cert_resolver(certificate);
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Reads the certificates and the private key. A fault names the file, and nothing that is in it.
pub(crate) fn read(certificates: &Path, key: &Path) -> Result<CertifiedKey, Failure> {
    let fault = |path: &Path, message: &str| Failure::Input(format!("{}: {message}", path.display()));
    let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(certificates).and_then(Iterator::collect);
    let chain = chain.map_err(|_| fault(certificates, "is no readable PEM file with certificates"))?;
    if chain.is_empty() {
        return Err(fault(certificates, "has no certificate"));
    }
    let private =
        PrivateKeyDer::from_pem_file(key).map_err(|_| fault(key, "is no readable PEM file with a private key"))?;
    CertifiedKey::from_der(chain, private, &ring::default_provider())
        .map_err(|_| fault(key, "is not the private key of the certificate"))
}
