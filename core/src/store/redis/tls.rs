//! TLS with the certificates that the operating system trusts (or those in `SSL_CERT_FILE`).

use std::io;
use std::sync::Arc;

use once_cell::race::OnceBox;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};

/// Returns the client side of a new TLS connection to `host`.
pub(super) fn client(host: &str) -> io::Result<ClientConnection> {
    ClientConnection::new(config()?, name(host)?).map_err(io::Error::other)
}

/// Returns the name that the server's certificate must carry.
pub(super) fn name(host: &str) -> io::Result<ServerName<'static>> {
    ServerName::try_from(host.to_owned()).map_err(io::Error::other)
}

/// Returns the TLS configuration. Reads the trusted certificates once per process.
pub(super) fn config() -> io::Result<Arc<ClientConfig>> {
    static CONFIG: OnceBox<Arc<ClientConfig>> = OnceBox::new();
    if let Some(config) = CONFIG.get() {
        return Ok(config.clone());
    }
    let made = Arc::new(read_config()?);
    Ok(CONFIG.get_or_init(|| Box::new(made)).clone())
}

fn read_config() -> io::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}
