//! A certificate authority made for one server: it signs one certificate for 127.0.0.1 and `localhost`.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};

/// The files of a TLS server.
#[derive(Debug)]
pub struct Certificate {
    /// The server's certificate chain, PEM: the certificate alone, for the authority signed it itself.
    pub chain: PathBuf,
    /// Its private key, PEM (PKCS 8).
    pub key: PathBuf,
    /// The authority's certificate, PEM: what a client must trust.
    pub ca_pem: String,
}

impl Certificate {
    /// Writes `tls.crt` and `tls.key` into `folder`.
    ///
    /// # Panics
    /// When they cannot be made or written.
    pub fn write(folder: &Path) -> Self {
        Self::write_for(folder, &["127.0.0.1", "localhost"])
    }

    /// The same for other names.
    ///
    /// # Panics
    /// As [`Certificate::write`].
    pub(crate) fn write_for(folder: &Path, names: &[&str]) -> Self {
        let authority = authority();
        let key_pair = KeyPair::generate().expect("a key pair");
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names for the certificate");
        params.distinguished_name.push(DnType::CommonName, "a server of the tests");
        let signed = params.signed_by(&key_pair, &authority).expect("a signed certificate");
        let chain = folder.join("tls.crt");
        let key = folder.join("tls.key");
        fs::write(&chain, signed.pem()).expect("write the certificate");
        fs::write(&key, key_pair.serialize_pem()).expect("write the private key");
        Self { chain, key, ca_pem: authority.pem() }
    }
}

/// Writes a fresh key pair: the private key to `private`, the public one to `public`, both PEM.
///
/// # Panics
/// When they cannot be made or written.
pub(crate) fn write_key_pair(private: &Path, public: &Path) {
    let pair = KeyPair::generate().expect("a key pair");
    fs::write(private, pair.serialize_pem()).expect("write the private key");
    fs::write(public, pair.public_key_pem()).expect("write the public key");
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params.distinguished_name.push(DnType::CommonName, "Zonewright test authority");
    let key = KeyPair::generate().expect("a key pair");
    CertifiedIssuer::self_signed(params, key).expect("a certificate authority")
}
