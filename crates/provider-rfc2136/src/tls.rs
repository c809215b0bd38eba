//! DNS over TLS (RFC 7858): TLS 1.3, ALPN `dot`.
//!
//! In: the `--tls-*` flags. Out: a client configuration that streams share. Files are read once, when the provider is
//! built, so that a missing file is an error at the start.

use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// Which files and checks TLS uses; empty paths are unset.
#[derive(Debug, Clone, Default)]
pub(crate) struct TlsFiles<'a> {
    pub(crate) ca: &'a str,
    pub(crate) certificate: &'a str,
    pub(crate) key: &'a str,
    pub(crate) skip_verify: bool,
}

/// Reads the files. The error is a sentence that names the flag.
pub(crate) fn connector(files: &TlsFiles<'_>) -> Result<TlsConnector, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| format!("TLS 1.3 is not available: {error}"))?;
    let builder = if files.skip_verify {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(Unverified(provider)))
    } else {
        builder.with_root_certificates(roots(files.ca)?)
    };
    let mut config = match (files.certificate, files.key) {
        ("", "") => builder.with_no_client_auth(),
        (certificate, key) if !certificate.is_empty() && !key.is_empty() => builder
            .with_client_auth_cert(certificates("--tls-client-cert", certificate)?, private_key(key)?)
            .map_err(|error| format!("--tls-client-cert and --tls-client-cert-key do not fit: {error}"))?,
        _ => return Err("--tls-client-cert and --tls-client-cert-key go together; only one is given".to_owned()),
    };
    config.alpn_protocols = vec![b"dot".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// The name that the server's certificate must carry: the host without its port, a name or an address.
pub(crate) fn server_name(host: &str) -> Result<ServerName<'static>, String> {
    ServerName::try_from(host.to_owned())
        .map_err(|_| format!("--rfc2136-host {host:?} is no host name or address that a certificate can carry"))
}

fn roots(path: &str) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    if path.is_empty() {
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if store.is_empty() {
            return Err("this system has no certificate authorities; give --tls-ca".to_owned());
        }
        return Ok(store);
    }
    for certificate in certificates("--tls-ca", path)? {
        store.add(certificate).map_err(|error| format!("--tls-ca {path}: {error}"))?;
    }
    Ok(store)
}

fn certificates(flag: &str, path: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let all = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let all = all.map_err(|error| format!("{flag} {path}: {error}"))?;
    if all.is_empty() { Err(format!("{flag} {path} holds no certificate in PEM form")) } else { Ok(all) }
}

fn private_key(path: &str) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| format!("--tls-client-cert-key {path}: {error}"))
}

/// `--rfc2136-skip-tls-verify`: whoever answers is believed, though its handshake must still be signed with its key.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, tokio_rustls::rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, tokio_rustls::rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        tokio_rustls::rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, tokio_rustls::rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        tokio_rustls::rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
