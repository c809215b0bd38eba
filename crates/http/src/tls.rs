//! Whom to trust, and who we are, over TLS.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// Settings of TLS. `Default` trusts the system's certificate authorities, as they were at most ten minutes before the client was made.
#[derive(Debug, Clone, Default)]
pub struct Tls {
    /// File with the certificate authorities to trust in place of the system's, PEM.
    pub authorities: Option<PathBuf>,
    /// Files with our certificate (and those that lead to its authority) and its private key, PEM.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Trusts any certificate: anyone on the way can read and change what is sent.
    pub skip_verify: bool,
}

/// Settings of TLS that cannot work. The message begins with the file where one is to blame.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The system has no certificate authorities.
    #[error("this system has no certificate authorities")]
    NoAuthorities,
    /// A file cannot be read, or is no PEM.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file that was read.
        path: PathBuf,
        /// Why.
        #[source]
        source: pem::Error,
    },
    /// A file does not hold what it should.
    #[error("{} holds no {expected} in PEM form", path.display())]
    Missing {
        /// The file that was read.
        path: PathBuf,
        /// What was expected.
        expected: &'static str,
    },
    /// A certificate or key is not usable.
    #[error("{}: {source}", path.display())]
    Unusable {
        /// The file that was read.
        path: PathBuf,
        /// Why.
        #[source]
        source: rustls::Error,
    },
    /// The library cannot do what is asked.
    #[error("TLS is not available: {0}")]
    Unavailable(#[source] rustls::Error),
}

impl Tls {
    /// The configuration of a client, with ring, whatever else the process links.
    ///
    /// # Errors
    /// A file cannot be read, holds no certificate or key, or they do not fit.
    pub(crate) fn client(&self) -> Result<ClientConfig, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone());
        let builder = builder.with_safe_default_protocol_versions().map_err(TlsError::Unavailable)?;
        let builder = if self.skip_verify {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Anyone(provider)))
        } else {
            builder.with_root_certificates(self.roots()?)
        };
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let unusable = |source| TlsError::Unusable { path: certificate.clone(), source };
                builder.with_client_auth_cert(certificates(certificate)?, private_key(key)?).map_err(unusable)?
            }
        };
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    /// A configuration for clients that never use TLS: it trusts nobody.
    ///
    /// # Errors
    /// The library cannot do what is asked.
    pub(crate) fn unused() -> Result<ClientConfig, TlsError> {
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().map_err(TlsError::Unavailable)?;
        Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
    }

    fn roots(&self) -> Result<Arc<RootCertStore>, TlsError> {
        let Some(path) = &self.authorities else { return system_authorities() };
        let mut store = RootCertStore::empty();
        for certificate in certificates(path)? {
            let unusable = |source| TlsError::Unusable { path: path.clone(), source };
            store.add(certificate).map_err(unusable)?;
        }
        Ok(Arc::new(store))
    }
}

/// For so long clients that are made share what was read of the system's authorities.
const FRESH: Duration = Duration::from_mins(10);

/// The system's authorities, about 150. All clients of a process share them: there is one for each account, and to read them takes
/// milliseconds.
fn system_authorities() -> Result<Arc<RootCertStore>, TlsError> {
    static READ: Mutex<Option<(Instant, Arc<RootCertStore>)>> = Mutex::new(None);
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((at, store)) = &*read
        && at.elapsed() < FRESH
    {
        return Ok(store.clone());
    }
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if store.is_empty() {
        return Err(TlsError::NoAuthorities);
    }
    let store = Arc::new(store);
    *read = Some((Instant::now(), store.clone()));
    Ok(store)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let all = all.map_err(|source| TlsError::Unreadable { path: path.to_owned(), source })?;
    if all.is_empty() { Err(TlsError::Missing { path: path.to_owned(), expected: "certificate" }) } else { Ok(all) }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_file(path).map_err(|source| match source {
        pem::Error::NoItemsFound => TlsError::Missing { path: path.to_owned(), expected: "private key" },
        source => TlsError::Unreadable { path: path.to_owned(), source },
    })
}

/// Trusts any certificate; the other side must still have its private key.
struct Anyone(Arc<CryptoProvider>);

impl fmt::Debug for Anyone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Anyone")
    }
}

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(tls: &Tls) -> String {
        tls.client().unwrap_err().to_string()
    }

    #[test]
    fn all_clients_share_what_was_read_of_the_systems_authorities() {
        // A machine without any has none to share.
        if let (Ok(first), Ok(second)) = (Tls::default().roots(), Tls::default().roots()) {
            assert!(Arc::ptr_eq(&first, &second));
        }
    }

    #[test]
    fn errors_name_the_file_and_what_was_expected() {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, broken) = (folder.path().join("certificate"), folder.path().join("broken"));
        let certified = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap();
        std::fs::write(&certificate, certified.cert.pem()).unwrap();
        std::fs::write(&broken, "-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n").unwrap();
        let trusts = |path: &Path| Tls { authorities: Some(path.to_owned()), ..Tls::default() };
        assert!(error(&trusts(Path::new("/nowhere"))).starts_with("/nowhere: "));
        assert_eq!(error(&trusts(Path::new("/dev/null"))), "/dev/null holds no certificate in PEM form");
        assert!(error(&trusts(&broken)).starts_with(&broken.display().to_string()));
        trusts(&certificate).client().unwrap();
        let with = |key: &Path| Tls { identity: Some((certificate.clone(), key.to_owned())), ..trusts(&certificate) };
        let expected = format!("{} holds no private key in PEM form", certificate.display());
        assert_eq!(error(&with(&certificate)), expected);
        let other = folder.path().join("key");
        std::fs::write(&other, certified.signing_key.serialize_pem()).unwrap();
        with(&other).client().unwrap();
        let strange = rcgen::KeyPair::generate().unwrap();
        std::fs::write(&other, strange.serialize_pem()).unwrap();
        assert!(error(&with(&other)).starts_with(&certificate.display().to_string()), "a key of another certificate");
    }
}
