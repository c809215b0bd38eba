//! TSIG keys: in, a name; out, a key with a random secret, as servers and their client programs are told of it.

use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};

/// A TSIG key.
#[derive(Debug, Clone)]
pub struct Key {
    /// Name of the key, without trailing dot.
    pub name: String,
    /// How messages are signed.
    pub algorithm: Algorithm,
    /// The shared secret, base64.
    pub secret: String,
}

/// The HMAC of a TSIG key (RFC 8945, section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// `hmac-md5.sig-alg.reg.int`.
    HmacMd5,
    /// `hmac-sha1`.
    HmacSha1,
    /// `hmac-sha224`.
    HmacSha224,
    /// `hmac-sha256`.
    HmacSha256,
    /// `hmac-sha384`.
    HmacSha384,
    /// `hmac-sha512`.
    HmacSha512,
}

impl Key {
    /// An HMAC-SHA256 key with a random secret.
    pub fn new(name: &str) -> Self {
        Self::with_algorithm(name, Algorithm::HmacSha256)
    }

    /// A key with a random secret of 256 bits.
    pub fn with_algorithm(name: &str, algorithm: Algorithm) -> Self {
        Self { name: name.trim_end_matches('.').to_owned(), algorithm, secret: random_base64() }
    }

    /// As BIND's configuration and its client programs write a key.
    pub(super) fn as_bind_clause(&self) -> String {
        format!("key \"{}\" {{ algorithm {}; secret \"{}\"; }};\n", self.name, self.algorithm.name(), self.secret)
    }
}

impl Algorithm {
    /// As configuration files write it, such as `hmac-sha256`.
    pub fn name(self) -> &'static str {
        match self {
            Self::HmacMd5 => "hmac-md5",
            Self::HmacSha1 => "hmac-sha1",
            Self::HmacSha224 => "hmac-sha224",
            Self::HmacSha256 => "hmac-sha256",
            Self::HmacSha384 => "hmac-sha384",
            Self::HmacSha512 => "hmac-sha512",
        }
    }
}

/// 32 octets in base64 (44 characters). Random enough for a key that lives for one test: each hasher of the standard
/// library is seeded by the system.
fn random_base64() -> String {
    let octets: Vec<u8> = (0..4u8).flat_map(|word| RandomState::new().hash_one(word).to_be_bytes()).collect();
    // Hexadecimal digits are base64 characters, and 44 of them decode to 33 octets.
    octets.iter().chain(&octets[..]).take(22).fold(String::new(), |mut text, octet| {
        let _ = write!(text, "{octet:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_base64_and_differ() {
        let secrets = [random_base64(), random_base64()];
        assert_ne!(secrets[0], secrets[1]);
        assert!(secrets.iter().all(|secret| secret.len() == 44));
    }
}
