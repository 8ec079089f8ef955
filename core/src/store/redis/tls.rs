//! TLS with the certificates that the operating system trusts (or in `SSL_CERT_FILE`), or that the URL names.

use std::io;
use std::sync::Arc;

use once_cell::race::OnceBox;
use rustls::client::WantsClientCert;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, ConfigBuilder, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use super::config::Certificates;

/// Returns the client side of a new TLS connection to `host`.
pub(super) fn client(certificates: &Certificates, host: &str) -> io::Result<ClientConnection> {
    ClientConnection::new(config(certificates)?, name(host)?).map_err(io::Error::other)
}

/// Returns the name that the server's certificate must carry.
pub(super) fn name(host: &str) -> io::Result<ServerName<'static>> {
    ServerName::try_from(host.to_owned()).map_err(io::Error::other)
}

/// Returns the TLS configuration. Reads the certificates of the system once per process, and the files of a URL for each
/// connection, because they may be renewed.
pub(super) fn config(certificates: &Certificates) -> io::Result<Arc<ClientConfig>> {
    static OF_SYSTEM: OnceBox<Arc<ClientConfig>> = OnceBox::new();
    if *certificates != Certificates::default() {
        return Ok(Arc::new(read_config(certificates)?));
    }
    if let Some(config) = OF_SYSTEM.get() {
        return Ok(config.clone());
    }
    let made = Arc::new(read_config(certificates)?);
    Ok(OF_SYSTEM.get_or_init(|| Box::new(made)).clone())
}

fn read_config(certificates: &Certificates) -> io::Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let builder: ConfigBuilder<ClientConfig, WantsClientCert> = if certificates.accepts_any {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
    } else {
        builder.with_root_certificates(trusted(certificates)?)
    };
    match (&certificates.own_file, &certificates.key_file) {
        (Some(own), Some(key)) => {
            let key_der = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable("ssl_keyfile", key, &error))?;
            builder.with_client_auth_cert(read(own, "ssl_certfile")?, key_der).map_err(io::Error::other)
        }
        _ => Ok(builder.with_no_client_auth()),
    }
}

fn trusted(certificates: &Certificates) -> io::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(match &certificates.trusted_file {
        Some(file) => read(file, "ssl_ca_certs")?,
        None => rustls_native_certs::load_native_certs().certs,
    });
    Ok(roots)
}

fn read(file: &str, option: &str) -> io::Result<Vec<CertificateDer<'static>>> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    read.map_err(|error| unreadable(option, file, &error))
}

fn unreadable(option: &str, file: &str, error: &dyn std::fmt::Display) -> io::Error {
    io::Error::other(format!("cannot read the file: {option}={file} error={error}"))
}

/// Accepts the certificate of any server, which still has to have its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
