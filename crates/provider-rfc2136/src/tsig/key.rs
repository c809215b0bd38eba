//! Keys: in, the name of an algorithm and a secret; out, codes over bytes, and whether a code is the right one.

use hmac::{Hmac, Mac};
use secrecy::{ExposeSecret, SecretSlice};
use zonewright_core::DnsName;

use super::{Invalid, Signer};

/// The HMAC of a key (RFC 8945 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Md5,
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

impl Algorithm {
    /// Each algorithm with its name on the wire.
    pub(super) const ALL: [(Self, &'static str); 6] = [
        (Self::Md5, "hmac-md5.sig-alg.reg.int"),
        (Self::Sha1, "hmac-sha1"),
        (Self::Sha224, "hmac-sha224"),
        (Self::Sha256, "hmac-sha256"),
        (Self::Sha384, "hmac-sha384"),
        (Self::Sha512, "hmac-sha512"),
    ];

    /// Reads a name as people write it: in any case, with or without `hmac-` and a final dot.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let lower = text.trim_end_matches('.').to_ascii_lowercase();
        let short = lower.strip_prefix("hmac-").unwrap_or(&lower);
        let fits =
            |name: &str| name.strip_prefix("hmac-").is_some_and(|n| n == short || n.split('.').next() == Some(short));
        Self::ALL.iter().find(|(_, name)| fits(name)).map(|(algorithm, _)| *algorithm)
    }

    /// The names of all, for messages.
    pub(crate) fn names() -> String {
        Self::ALL.map(|(_, name)| name.split('.').next().unwrap_or(name)).join(", ")
    }

    /// The name on the wire.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(a, _)| *a == self).map_or("", |(_, name)| name)
    }
}

/// A shared key. Its `Debug` form leaves the secret out.
#[derive(Debug)]
pub(crate) struct TsigKey {
    pub(crate) name: DnsName,
    pub(crate) algorithm: Algorithm,
    pub(crate) secret: SecretSlice<u8>,
}

/// Runs `$then` on the key's HMAC after it has taken in all parts.
macro_rules! fed {
    ($key:expr, $parts:expr, $mac:ident => $then:expr) => {{
        macro_rules! by {
            ($hash:ty) => {{
                let mut $mac =
                    Hmac::<$hash>::new_from_slice($key.secret.expose_secret()).expect("HMAC takes keys of any length");
                for part in $parts {
                    $mac.update(part);
                }
                $then
            }};
        }
        match $key.algorithm {
            Algorithm::Md5 => by!(md5::Md5),
            Algorithm::Sha1 => by!(sha1::Sha1),
            Algorithm::Sha224 => by!(sha2::Sha224),
            Algorithm::Sha256 => by!(sha2::Sha256),
            Algorithm::Sha384 => by!(sha2::Sha384),
            Algorithm::Sha512 => by!(sha2::Sha512),
        }
    }};
}

impl TsigKey {
    /// The most bytes that signing adds to a message: the record's fixed fields and the longest code.
    pub(crate) fn overhead(&self) -> usize {
        self.name.to_wire().len() + self.algorithm().to_wire().len() + 26 + 64
    }
}

impl Signer for TsigKey {
    fn name(&self) -> &DnsName {
        &self.name
    }

    fn algorithm(&self) -> DnsName {
        DnsName::parse(self.algorithm.name()).expect("the names of algorithms are names")
    }

    fn code(&self, parts: &[&[u8]]) -> Result<Vec<u8>, Invalid> {
        fed!(self, parts, mac => Ok(mac.finalize().into_bytes().to_vec()))
    }

    /// Compares in constant time, and in full length: a shortened code is not accepted.
    fn matches(&self, parts: &[&[u8]], code: &[u8]) -> bool {
        fed!(self, parts, mac => mac.verify_slice(code).is_ok())
    }

    fn allows_datagrams(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::key;
    use super::*;

    #[test]
    fn algorithms_by_name() {
        for (text, expected) in [
            ("hmac-sha256", Some(Algorithm::Sha256)),
            ("HMAC-SHA512.", Some(Algorithm::Sha512)),
            ("sha1", Some(Algorithm::Sha1)),
            ("hmac-sha224", Some(Algorithm::Sha224)),
            ("hmac-sha384", Some(Algorithm::Sha384)),
            ("hmac-md5", Some(Algorithm::Md5)),
            ("hmac-md5.sig-alg.reg.int.", Some(Algorithm::Md5)),
            ("hmac-sha3", None),
            ("", None),
            ("hmac-", None),
        ] {
            assert_eq!(Algorithm::parse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn secrets_do_not_print() {
        let text = format!("{:?}", key(Algorithm::Sha256));
        assert!(text.contains("key.example") && !text.contains("secret at all") && !text.contains("110"), "{text}");
    }
}
