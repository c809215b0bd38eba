//! Transaction signatures (RFC 8945).
//!
//! In: whole messages as octets. Out: the same message with a TSIG record, and a [`Signing`] that checks what is answered
//! to it, one message or a sequence of them. Nothing here looks at anything but signatures.
//!
//! Written here rather than taken from the `domain` crate, whose TSIG knows neither SHA-224 nor MD5: keys that work with
//! external-dns have to work here.

mod key;
mod record;

use std::sync::Arc;

use domain::base::Rtype;

use self::record::locate;

pub(crate) use self::key::{Algorithm, Key};

/// How many seconds the clocks of both sides may differ; what RFC 8945 10 recommends.
const FUDGE: u16 = 300;
/// How many messages of a sequence may be unsigned between two signed ones (RFC 8945 5.3.1).
const UNSIGNED: u8 = 99;
/// Octets of a message header, and where the count of additional records stands in it.
const HEADER: usize = 12;
const ARCOUNT: usize = 10;

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
    use secrecy::SecretSlice;
    use zonewright_core::DnsName;

    use super::*;
    use crate::wire;

    const NOW: u64 = 1_800_000_000;

    fn bare() -> Key {
        let secret = SecretSlice::from(b"no secret at all".to_vec());
        Key { name: DnsName::parse("Key.Example").unwrap(), algorithm: Algorithm::Sha256, secret }
    }

    pub(super) fn key(algorithm: Algorithm) -> Arc<Key> {
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
