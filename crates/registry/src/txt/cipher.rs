//! Claims that only the holder of a key can read, in the form of external-dns.
//!
//! In: the text of a claim and where it stands; out: standard base64 of a nonce (12 bytes), the AES-256-GCM ciphertext of the
//! gzipped text, and its tag (16 bytes), without additional data; and back. What is read may come from any writer of that form,
//! so it is never trusted: whatever does not open under the key is no claim.
//!
//! The nonce is drawn from the key, the place and the bytes that are sealed, not by chance. So a claim is always written as the
//! same text, what is decided stays a pure function, and no nonce ever serves two plain texts.

use std::fmt;
use std::io::{Read, Write};

use aes_gcm::aead::Aead;
use aes_gcm::{Aes256Gcm, KeyInit};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, PAD};
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use hmac::{Hmac, Mac};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

/// As the Go programs that write such texts decode them: bits past the last byte do not matter.
const BASE64: GeneralPurpose = GeneralPurpose::new(&STANDARD, PAD.with_decode_allow_trailing_bits(true));

const KEY_LENGTH: usize = 32;
const NONCE_LENGTH: usize = 12;

/// Bytes of the shortest claim that can be sealed: nonce, tag, frame of gzip, and `heritage=external-dns` in fixed codes.
const SHORTEST: usize = NONCE_LENGTH + 16 + 18 + 23;

/// Bytes of the longest text that is unpacked: no TXT record holds more, and a small one can unpack to very much.
const LONGEST: u64 = 65_535;

/// A key of `--txt-encrypt-aes-key`, ready for use. It is never printed.
pub(super) struct Cipher {
    aead: Aes256Gcm,
    nonces: Hmac<Sha256>,
}

/// The key is neither 32 bytes nor the base64 of 32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BadKey;

impl Cipher {
    /// # Errors
    /// [`BadKey`] if `key` is neither 32 bytes long nor the standard base64 of 32 bytes.
    pub(super) fn new(key: &SecretString) -> Result<Self, BadKey> {
        let text = key.expose_secret();
        let bytes = Zeroizing::new(match text.len() {
            KEY_LENGTH => text.as_bytes().to_vec(),
            _ => BASE64.decode(text).map_err(|_| BadKey)?,
        });
        let bytes: &[u8; KEY_LENGTH] = bytes.as_slice().try_into().map_err(|_| BadKey)?;
        let nonces = <Hmac<Sha256> as Mac>::new_from_slice(bytes).map_err(|_| BadKey)?;
        Ok(Self { aead: Aes256Gcm::new(bytes.into()), nonces })
    }

    /// The sealed form of a claim's text for the record at `place`.
    pub(super) fn seal(&self, place: &str, text: &str) -> String {
        let packed = pack(text);
        let nonce = self.nonce(place, &packed);
        let sealed =
            self.aead.encrypt((&nonce).into(), packed.as_slice()).expect("a claim is far below the limit of GCM");
        BASE64.encode([nonce.as_slice(), &sealed].concat())
    }

    /// The text of a claim in sealed form; `None` if it does not open under this key.
    pub(super) fn open(&self, text: &str) -> Option<String> {
        let bytes = decode(text)?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_LENGTH>()?;
        unpack(&self.aead.decrypt(nonce.into(), sealed).ok()?)
    }

    fn nonce(&self, place: &str, packed: &[u8]) -> [u8; NONCE_LENGTH] {
        let mut mac = self.nonces.clone();
        for part in ["zonewright claim".as_bytes(), place.as_bytes(), packed] {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        let bytes: [u8; KEY_LENGTH] = mac.finalize().into_bytes().into();
        *bytes.first_chunk().expect("a digest is longer than a nonce")
    }
}

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cipher(..)")
    }
}

/// Whether a text may be the sealed form of a claim, under whatever key.
pub(super) fn looks_sealed(text: &str) -> bool {
    decode(text).is_some_and(|bytes| bytes.len() >= SHORTEST)
}

fn decode(text: &str) -> Option<Vec<u8>> {
    // Most texts are no base64 at all: found out without an allocation.
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=\r\n".contains(&byte);
    let folded = || text.replace(['\r', '\n'], "");
    text.bytes().all(is_base64).then(|| BASE64.decode(folded()).ok()).flatten()
}

/// With the flush before the end that external-dns makes, for the same blocks.
fn pack(text: &str) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    let packed = gzip.write_all(text.as_bytes()).and_then(|()| gzip.flush()).and_then(|()| gzip.finish());
    packed.expect("memory takes every write")
}

fn unpack(packed: &[u8]) -> Option<String> {
    let mut text = String::new();
    let length = MultiGzDecoder::new(packed).take(LONGEST + 1).read_to_string(&mut text).ok()?;
    (length as u64 <= LONGEST).then_some(text)
}

#[cfg(test)]
#[path = "cipher_tests.rs"]
mod tests;
