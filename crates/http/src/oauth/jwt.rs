//! Signed statements about oneself (RFC 7519, RFC 7523).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

/// A token of these claims, signed with RS256; `head` states the algorithm.
///
/// # Errors
/// The key cannot sign; a sentence.
pub fn sign(head: &Value, claims: &Value, key: &RsaKeyPair) -> Result<SecretString, String> {
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let mut text = format!("{}.{}", encode(head), encode(claims));
    let mut signature = vec![0; key.public().modulus_len()];
    let signed = key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature);
    signed.map_err(|_| "the private key cannot sign".to_owned())?;
    text.push('.');
    text.push_str(&URL_SAFE_NO_PAD.encode(signature));
    Ok(text.into())
}

/// The RSA key of a text in PEM form; `what` says what the text is called where it was found.
///
/// # Errors
/// It holds none; a sentence without anything of the text.
pub fn signing_key(pem: &SecretString, what: &str) -> Result<RsaKeyPair, String> {
    let wrong = || format!("its {what} is not understood; expected an RSA key in PEM form");
    let der = PrivateKeyDer::from_pem_slice(pem.expose_secret().as_bytes()).map_err(|_| wrong())?;
    match der {
        PrivateKeyDer::Pkcs8(der) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()),
        PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()),
        _ => return Err(wrong()),
    }
    .map_err(|_| wrong())
}
