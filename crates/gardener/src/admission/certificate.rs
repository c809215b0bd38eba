//! The server's certificate and key, as files that another program renews.
//!
//! In: a folder with `tls.crt` and `tls.key` (PEM), as a mounted Secret of type kubernetes.io/tls has them. Out: what a TLS server
//! is configured with. The files are read again every few seconds. A pair that cannot be used, such as a new certificate whose key is
//! not there yet, is logged, and the one before stays in use.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_util::sync::CancellationToken;
use zonewright_core::{Error, ErrorKind};

/// Between two readings of the files.
const EVERY: Duration = Duration::from_secs(5);

/// A certificate with its key, which may be renewed at any time.
#[derive(Debug)]
pub struct Certificate {
    folder: PathBuf,
    current: RwLock<Arc<ServerConfig>>,
}

/// The two files as they are.
#[derive(Clone, PartialEq, Eq)]
struct Files {
    chain: Vec<u8>,
    key: Vec<u8>,
}

impl Certificate {
    /// Reads `tls.crt` and `tls.key` in a folder.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`]: a file cannot be read, or the two cannot be used together.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let usable = files(folder).and_then(|files| usable(&files));
        let config = usable.map_err(|problem| Error::new(ErrorKind::Configuration, "read the certificate", problem))?;
        Ok(Self { folder: folder.to_owned(), current: RwLock::new(Arc::new(config)) })
    }

    /// What the next connection is made with.
    pub(super) fn current(&self) -> Arc<ServerConfig> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the files again and again until the order to stop.
    pub(super) async fn follow(&self, stop: CancellationToken) {
        let mut seen = files(&self.folder);
        while stop.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_some() {
            let now = files(&self.folder);
            if now != seen {
                self.renew(now.clone());
                seen = now;
            }
        }
    }

    fn renew(&self, files: Result<Files, String>) {
        match files.and_then(|files| usable(&files)) {
            Ok(config) => {
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
                tracing::info!(folder = %self.folder.display(), "the certificate was renewed");
            }
            Err(problem) => {
                tracing::error!(problem, "the new certificate cannot be used; the one before stays in use");
            }
        }
    }
}

fn files(folder: &Path) -> Result<Files, String> {
    let read = |name: &str| {
        let path = folder.join(name);
        std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    Ok(Files { chain: read("tls.crt")?, key: read("tls.key")? })
}

fn usable(files: &Files) -> Result<ServerConfig, String> {
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&files.chain)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("tls.crt: {error}; expected certificates as PEM"))?;
    if chain.is_empty() {
        return Err("tls.crt holds no certificate; expected PEM".to_owned());
    }
    // What is wrong with a key says nothing of what is in it.
    let key = PrivateKeyDer::from_pem_slice(&files.key)
        .map_err(|_| "tls.key holds no private key; expected PEM".to_owned())?;
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| format!("tls.crt and tls.key cannot be used together: {error}"))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(folder.join("tls.crt"), made.cert.pem()).unwrap();
        std::fs::write(folder.join("tls.key"), made.signing_key.serialize_pem()).unwrap();
    }

    #[test]
    fn what_cannot_be_used_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let said = || Certificate::read(folder.path()).unwrap_err().to_string();
        assert!(said().contains("tls.crt: No such file"), "{}", said());
        write(folder.path());
        assert!(Certificate::read(folder.path()).is_ok());
        let key = std::fs::read(folder.path().join("tls.key")).unwrap();
        std::fs::write(folder.path().join("tls.key"), "s3cret").unwrap();
        assert!(said().contains("tls.key holds no private key") && !said().contains("s3cret"), "{}", said());
        write(folder.path());
        std::fs::write(folder.path().join("tls.key"), key).unwrap();
        assert!(said().contains("cannot be used together"), "{}", said());
        std::fs::write(folder.path().join("tls.crt"), "nothing").unwrap();
        assert!(said().contains("holds no certificate"), "{}", said());
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_pair_is_used_and_a_broken_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path());
        let certificate = Arc::new(Certificate::read(folder.path()).unwrap());
        let stop = CancellationToken::new();
        let following = tokio::spawn({
            let (certificate, stop) = (certificate.clone(), stop.clone());
            async move { certificate.follow(stop).await }
        });
        let later = || tokio::time::sleep(EVERY * 2);
        let first = certificate.current();
        later().await;
        assert!(Arc::ptr_eq(&first, &certificate.current()), "nothing is exchanged while nothing changes");
        std::fs::write(folder.path().join("tls.key"), "broken").unwrap();
        later().await;
        assert!(Arc::ptr_eq(&first, &certificate.current()), "a broken pair is not used");
        write(folder.path());
        later().await;
        assert!(!Arc::ptr_eq(&first, &certificate.current()), "a new pair is used");
        stop.cancel();
        following.await.unwrap();
    }
}
