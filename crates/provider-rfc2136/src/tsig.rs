//! Transaction signatures (RFC 8945).
//!
//! In: whole messages as octets. Out: the same message with a TSIG record, and a [`Signing`] that checks what is answered
//! to it, one message or a sequence of them. Nothing here looks at anything but signatures.
//!
//! Written here rather than taken from the `domain` crate, whose TSIG knows neither SHA-224 nor MD5: keys that work with
//! external-dns have to work here.

use std::sync::Arc;

use domain::base::iana::Class;
use domain::base::{Message, Rtype};
use domain::rdata::tsig::Tsig;
use hmac::{Hmac, Mac};
use secrecy::{ExposeSecret, SecretSlice};
use zonewright_core::DnsName;

/// How many seconds the clocks of both sides may differ; what RFC 8945 10 recommends.
const FUDGE: u16 = 300;
/// How many messages of a sequence may be unsigned between two signed ones (RFC 8945 5.3.1).
const UNSIGNED: u8 = 99;
/// Octets of a message header, and where the count of additional records stands in it.
const HEADER: usize = 12;
const ARCOUNT: usize = 10;

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
    const ALL: [(Self, &'static str); 6] = [
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

    fn wire(self) -> Vec<u8> {
        DnsName::parse(self.name()).expect("the names of algorithms are names").to_wire()
    }
}

/// A shared key. Its `Debug` form leaves the secret out.
#[derive(Debug)]
pub(crate) struct Key {
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

impl Key {
    /// The most octets that signing adds to a message: the record's fixed fields and the longest code.
    pub(crate) fn overhead(&self) -> usize {
        self.name.to_wire().len() + self.algorithm.wire().len() + 26 + 64
    }

    fn mac(&self, parts: &[&[u8]]) -> Vec<u8> {
        fed!(self, parts, mac => mac.finalize().into_bytes().to_vec())
    }

    /// Compares in constant time, and in full length: a shortened code is not accepted.
    fn matches(&self, parts: &[&[u8]], code: &[u8]) -> bool {
        fed!(self, parts, mac => mac.verify_slice(code).is_ok())
    }

    /// The fields of the TSIG record that are signed with the message (RFC 8945 4.3.3).
    fn variables(&self, timers: &[u8], error: u16, other: &[u8]) -> Vec<u8> {
        let mut out = self.name.to_wire();
        // Class ANY and TTL 0.
        out.extend([0, 255, 0, 0, 0, 0]);
        out.extend(self.algorithm.wire());
        out.extend(timers);
        out.extend(error.to_be_bytes());
        out.extend(length(other));
        out.extend(other);
        out
    }
}

/// Why an answer cannot be trusted, or what the server had against the signature of the request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Invalid {
    #[error("the answer to a signed request is not signed")]
    Unsigned,
    #[error("the answer is signed with another key or algorithm")]
    OtherKey,
    #[error("the signature of the answer does not match")]
    Signature,
    #[error("the answer was signed at {signed}, {FUDGE} s or more from the time of this host")]
    Time { signed: u64 },
    #[error("more than {UNSIGNED} messages in a row are not signed, or the last one is not")]
    Gap,
    #[error("the TSIG record of the answer is malformed or not the last record")]
    Malformed,
    #[error("{}", objection(*error, *server_time))]
    Objection { error: u16, server_time: Option<u64> },
}

/// What a server's TSIG error code means (RFC 8945 3), as a sentence for people.
fn objection(error: u16, server_time: Option<u64>) -> String {
    match (error, server_time) {
        (16, _) => "BADSIG: the server knows the key, but the secret is another one".to_owned(),
        (17, _) => "BADKEY: the server does not know this key name with this algorithm".to_owned(),
        (18, Some(time)) => {
            format!("BADTIME: the server's clock says {time}, which is too far from the time of this host")
        }
        (18, None) => "BADTIME: the clocks of the server and of this host are too far apart".to_owned(),
        (22, _) => "BADTRUNC: the server wants a longer signature".to_owned(),
        (code, _) => format!("TSIG error {code}"),
    }
}

/// The signature state of one exchange.
#[derive(Debug)]
pub(crate) struct Signing {
    key: Arc<Key>,
    /// What comes before the next answer in its digest: the last code with its length, then the unsigned messages since.
    before: Vec<u8>,
    first: bool,
    unsigned: u8,
}

impl Signing {
    /// Signs `message`, which must not be signed yet, at `now` in seconds since 1970.
    pub(crate) fn sign(key: &Arc<Key>, message: &mut Vec<u8>, now: u64) -> Self {
        let timers = timers(now);
        let code = key.mac(&[message, &key.variables(&timers, 0, &[])]);
        let mut rdata = key.algorithm.wire();
        rdata.extend(timers);
        rdata.extend(length(&code));
        rdata.extend(&code);
        rdata.extend(message.iter().take(2));
        rdata.extend([0, 0, 0, 0]);
        message.extend(key.name.to_wire());
        message.extend(Rtype::TSIG.to_int().to_be_bytes());
        message.extend([0, 255, 0, 0, 0, 0]);
        message.extend(length(&rdata));
        message.extend(rdata);
        add_to_arcount(message, 1);
        Self { key: Arc::clone(key), before: prefixed(&code), first: true, unsigned: 0 }
    }

    /// Takes the next answer in. `Ok(false)` is an unsigned message in the middle of a sequence; [`Signing::finish`] then
    /// has the last word.
    pub(crate) fn check(&mut self, answer: &[u8], now: u64) -> Result<bool, Invalid> {
        let Some((start, tsig)) = locate(answer)? else { return self.pass_unsigned(answer) };
        if tsig.error != 0 {
            return Err(Invalid::Objection { error: tsig.error, server_time: tsig.other_time() });
        }
        if tsig.owner != self.key.name || tsig.algorithm.as_str() != self.key.algorithm.name() {
            return Err(Invalid::OtherKey);
        }
        let mut head = answer.get(..HEADER).ok_or(Invalid::Malformed)?.to_vec();
        head.splice(..2, tsig.original_id.to_be_bytes());
        add_to_arcount(&mut head, u16::MAX);
        let body = answer.get(HEADER..start).ok_or(Invalid::Malformed)?;
        let tail =
            if self.first { self.key.variables(&tsig.timers, tsig.error, &tsig.other) } else { tsig.timers.clone() };
        if !self.key.matches(&[&self.before, &head, body, &tail], &tsig.code) {
            return Err(Invalid::Signature);
        }
        if tsig.signed.abs_diff(now) > u64::from(tsig.fudge) {
            return Err(Invalid::Time { signed: tsig.signed });
        }
        (self.before, self.first, self.unsigned) = (prefixed(&tsig.code), false, 0);
        Ok(true)
    }

    /// The end of the sequence: its last message must have been signed.
    pub(crate) fn finish(&self) -> Result<(), Invalid> {
        if self.first || self.unsigned > 0 { Err(Invalid::Gap) } else { Ok(()) }
    }

    fn pass_unsigned(&mut self, answer: &[u8]) -> Result<bool, Invalid> {
        if self.first {
            return Err(Invalid::Unsigned);
        }
        if self.unsigned == UNSIGNED {
            return Err(Invalid::Gap);
        }
        self.unsigned += 1;
        self.before.extend(answer);
        Ok(false)
    }
}

/// The TSIG record of an answer.
struct Received {
    owner: DnsName,
    algorithm: DnsName,
    signed: u64,
    fudge: u16,
    timers: Vec<u8>,
    code: Vec<u8>,
    original_id: u16,
    error: u16,
    other: Vec<u8>,
}

impl Received {
    /// The server's time, which BADTIME carries as 48 bits.
    fn other_time(&self) -> Option<u64> {
        (self.other.len() == 6).then(|| self.other.iter().fold(0, |time, octet| time << 8 | u64::from(*octet)))
    }
}

/// The TSIG record and where it begins; it must be the last record, and the only one.
fn locate(answer: &[u8]) -> Result<Option<(usize, Received)>, Invalid> {
    let malformed = |_| Invalid::Malformed;
    let message = Message::from_slice(answer).map_err(|_| Invalid::Malformed)?;
    let mut section = message.additional().map_err(malformed)?;
    loop {
        let start = section.pos();
        let Some(record) = section.next() else { return Ok(None) };
        let record = record.map_err(malformed)?;
        if record.rtype() != Rtype::TSIG {
            continue;
        }
        let is_proper = record.class() == Class::ANY && record.ttl().is_zero();
        if section.next().is_some() || !is_proper {
            return Err(Invalid::Malformed);
        }
        let owner = crate::wire::dns_name(&record.owner()).ok_or(Invalid::Malformed)?;
        let record = record.into_record::<Tsig<_, _>>().map_err(malformed)?.ok_or(Invalid::Malformed)?;
        let tsig = record.data();
        let signed = u64::from(tsig.time_signed());
        return Ok(Some((
            start,
            Received {
                owner,
                algorithm: crate::wire::dns_name(tsig.algorithm()).ok_or(Invalid::Malformed)?,
                signed,
                fudge: tsig.fudge(),
                timers: timers_of(signed, tsig.fudge()),
                code: tsig.mac().to_vec(),
                original_id: tsig.original_id(),
                error: tsig.error().to_int(),
                other: tsig.other().to_vec(),
            },
        )));
    }
}

fn timers(now: u64) -> Vec<u8> {
    timers_of(now, FUDGE)
}

/// 48 bits of time, 16 bits of fudge.
fn timers_of(time: u64, fudge: u16) -> Vec<u8> {
    time.to_be_bytes().into_iter().skip(2).chain(fudge.to_be_bytes()).collect()
}

/// The length of a field that is far below 64 KiB.
fn length(field: &[u8]) -> [u8; 2] {
    u16::try_from(field.len()).unwrap_or(u16::MAX).to_be_bytes()
}

fn prefixed(code: &[u8]) -> Vec<u8> {
    length(code).into_iter().chain(code.iter().copied()).collect()
}

/// Adds to the count of additional records, modulo 2^16.
fn add_to_arcount(message: &mut [u8], n: u16) {
    if let Some(field) = message.get_mut(ARCOUNT..HEADER) {
        let count = field.iter().fold(0u16, |count, octet| count << 8 | u16::from(*octet));
        field.copy_from_slice(&count.wrapping_add(n).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire;

    const NOW: u64 = 1_800_000_000;

    fn bare() -> Key {
        let secret = SecretSlice::from(b"no secret at all".to_vec());
        Key { name: DnsName::parse("Key.Example").unwrap(), algorithm: Algorithm::Sha256, secret }
    }

    fn key(algorithm: Algorithm) -> Arc<Key> {
        Arc::new(Key { algorithm, ..bare() })
    }

    fn request() -> Vec<u8> {
        wire::axfr(&DnsName::parse("example.test").unwrap())
    }

    /// What a server does: signs an answer after the code `before`, in full or with the timers only.
    fn signed(key: &Arc<Key>, answer: &[u8], before: &[u8], first: bool, time: u64) -> Vec<u8> {
        let timers = timers(time);
        let tail = if first { key.variables(&timers, 0, &[]) } else { timers.clone() };
        let code = key.mac(&[before, answer, &tail]);
        // A record that is signed for itself, with the code replaced.
        let mut message = answer.to_vec();
        Signing::sign(key, &mut message, time);
        let at = message.len() - 6 - code.len();
        message.splice(at..at + code.len(), code);
        message
    }

    /// The length-prefixed code in the last record of a message.
    fn code_of(key: &Key, message: &[u8]) -> Vec<u8> {
        let length = key.mac(&[]).len();
        prefixed(&message[message.len() - 6 - length..message.len() - 6])
    }

    fn exchange(algorithm: Algorithm) -> (Arc<Key>, Signing, Vec<u8>, Vec<u8>) {
        let key = key(algorithm);
        let mut message = request();
        let signing = Signing::sign(&key, &mut message, NOW);
        let before = code_of(&key, &message);
        let mut answer = request();
        answer[2] |= 0x80;
        (key, signing, before, answer)
    }

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

    /// Computed by another implementation of HMAC over the octets that RFC 8945 4.3 lists.
    #[test]
    fn a_known_request() {
        let mut message = request();
        Signing::sign(&key(Algorithm::Sha256), &mut message, NOW);
        let code = &message[message.len() - 6 - 32..message.len() - 6];
        let hex = code.iter().map(|octet| format!("{octet:02x}")).collect::<Vec<_>>().concat();
        assert_eq!(hex, "cfe565edb8564b17e76a6a0079ae832d906ac275a92e16b0086fd05785ff0b33");
        assert_eq!(message[ARCOUNT..HEADER], [0, 1]);
    }

    #[test]
    fn a_signed_answer_is_believed() {
        for (algorithm, _) in Algorithm::ALL {
            let (key, mut signing, before, answer) = exchange(algorithm);
            let message = signed(&key, &answer, &before, true, NOW);
            assert_eq!(signing.check(&message, NOW + 300), Ok(true), "{algorithm:?}");
            assert_eq!(signing.finish(), Ok(()));
        }
    }

    #[test]
    fn anything_else_is_not() {
        let (key, signing, before, answer) = exchange(Algorithm::Sha256);
        let good = signed(&key, &answer, &before, true, NOW);
        let other = Arc::new(Key { name: DnsName::parse("other").unwrap(), ..bare() });
        let foreign = signed(&other, &answer, &before, true, NOW);
        let mut twice = good.clone();
        Signing::sign(&key, &mut twice, NOW);
        for (message, now, expected) in [
            (answer.clone(), NOW, Invalid::Unsigned),
            (good.clone(), NOW + 301, Invalid::Time { signed: NOW }),
            (good.clone(), NOW - 301, Invalid::Time { signed: NOW }),
            (foreign, NOW, Invalid::OtherKey),
            (signed(&key, &answer, &[], true, NOW), NOW, Invalid::Signature),
            (signed(&key, &answer, &before, false, NOW), NOW, Invalid::Signature),
            (twice, NOW, Invalid::Malformed),
            (good[..good.len() - 1].to_vec(), NOW, Invalid::Malformed),
            (vec![], NOW, Invalid::Malformed),
        ] {
            let mut signing = Signing { key: Arc::clone(&key), before: signing.before.clone(), ..signing };
            assert_eq!(signing.check(&message, now), Err(expected));
        }
    }

    #[test]
    fn a_server_says_what_is_wrong() {
        for (error, expected) in
            [(16, "BADSIG"), (17, "BADKEY"), (18, "BADTIME"), (22, "BADTRUNC"), (99, "TSIG error 99")]
        {
            let (key, mut signing, before, answer) = exchange(Algorithm::Sha256);
            let mut message = signed(&key, &answer, &before, true, NOW);
            let at = message.len() - 3;
            message[at] = error;
            let text = signing.check(&message, NOW).unwrap_err().to_string();
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn sequences_may_be_signed_here_and_there() {
        for (unsigned, expected) in [(0, Ok(true)), (1, Ok(true)), (99, Ok(true)), (100, Err(Invalid::Gap))] {
            let (key, mut signing, before, answer) = exchange(Algorithm::Sha384);
            let first = signed(&key, &answer, &before, true, NOW);
            assert_eq!(signing.check(&first, NOW), Ok(true));
            let mut digested = code_of(&key, &first);
            let gap = (0..unsigned).map(|_| {
                digested.extend(&answer);
                signing.check(&answer, NOW)
            });
            let all_pass = gap.collect::<Result<Vec<bool>, _>>().map(|_| true);
            if unsigned > 0 && expected.is_ok() {
                assert_eq!(signing.finish(), Err(Invalid::Gap), "the last message must be signed");
            }
            let last = signed(&key, &answer, &digested, false, NOW);
            assert_eq!(all_pass.and_then(|_| signing.check(&last, NOW)), expected, "{unsigned} unsigned");
        }
    }

    #[test]
    fn secrets_do_not_print() {
        let text = format!("{:?}", key(Algorithm::Sha256));
        assert!(text.contains("key.example") && !text.contains("secret at all") && !text.contains("110"), "{text}");
    }

    proptest! {
        #[test]
        fn no_octet_of_an_answer_can_be_changed(at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let (key, mut signing, before, answer) = exchange(Algorithm::Sha256);
            let mut message = signed(&key, &answer, &before, true, NOW);
            let at = at.index(message.len());
            message[at] ^= 1 << bit;
            // The id is not signed, and the case of names does not count.
            prop_assume!(at > 1 && (bit != 5 || !message[at].is_ascii_alphabetic()));
            prop_assert!(signing.check(&message, NOW).is_err());
        }

        #[test]
        fn arbitrary_octets_never_panic(octets in prop::collection::vec(any::<u8>(), 0..100)) {
            let (_, mut signing, _, _) = exchange(Algorithm::Sha1);
            prop_assert!(signing.check(&octets, NOW).is_err());
        }
    }
}
