//! Transaction signatures (RFC 8945).
//!
//! In: whole messages as octets. Out: the same message with a TSIG record, and a [`Signing`] that checks what is answered
//! to it, one message or a sequence of them. Nothing here looks at anything but signatures.
//!
//! Written here rather than taken from the `domain` crate, whose TSIG knows neither SHA-224 nor MD5: keys that work with
//! external-dns have to work here.

mod key;
mod record;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use domain::base::Rtype;
use zonewright_core::DnsName;

use self::record::locate;

pub(crate) use self::key::{Algorithm, TsigKey};

/// How many seconds the clocks of both sides may differ; what RFC 8945 10 recommends.
const FUDGE: u16 = 300;
/// How many messages of a sequence may be unsigned between two signed ones (RFC 8945 5.3.1).
const UNSIGNED: u8 = 99;
/// Octets of a message header, and where the count of additional records stands in it.
const HEADER: usize = 12;
const ARCOUNT: usize = 10;

/// What makes and checks the codes of TSIG records: a shared key, or what a server and this host negotiated.
pub(crate) trait Signer: Debug + Send + Sync {
    /// The name by which the server knows it.
    fn name(&self) -> &DnsName;

    /// The algorithm's name on the wire.
    fn algorithm(&self) -> DnsName;

    /// The code over these octets, one part after the other.
    ///
    /// # Errors
    /// [`Invalid::Unable`] where there can be no code any more.
    fn code(&self, parts: &[&[u8]]) -> Result<Vec<u8>, Invalid>;

    /// Whether `code` is one that the server made over these octets.
    fn matches(&self, parts: &[&[u8]], code: &[u8]) -> bool;

    /// Whether what it signs may go by UDP.
    fn allows_datagrams(&self) -> bool;
}

/// What a request is signed with, if with anything.
pub(crate) type MaybeSigner<'a> = Option<&'a Arc<dyn Signer>>;

/// The fields of the TSIG record that are signed with the message (RFC 8945 4.3.3).
fn variables(signer: &dyn Signer, timers: &[u8], error: u16, other: &[u8]) -> Vec<u8> {
    let mut out = signer.name().to_wire();
    // Class ANY and TTL 0.
    out.extend([0, 255, 0, 0, 0, 0]);
    out.extend(signer.algorithm().to_wire());
    out.extend(timers);
    out.extend(error.to_be_bytes());
    out.extend(length(other));
    out.extend(other);
    out
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
    #[cfg_attr(not(feature = "gss-tsig"), allow(dead_code, reason = "a key can always sign"))]
    #[error("the request cannot be signed: {said}")]
    Unable { said: String },
    #[error("{}", objection(*error, *server_time))]
    Objection { error: u16, server_time: Option<u64> },
}

/// The TSIG error code of a server that does not know the key (RFC 8945 3).
pub(crate) const BADKEY: u16 = 17;

/// What a server's TSIG error code means (RFC 8945 3), as a sentence for people.
fn objection(error: u16, server_time: Option<u64>) -> String {
    match (error, server_time) {
        (16, _) => "BADSIG: the server knows the key, but the secret is another one".to_owned(),
        (BADKEY, _) => "BADKEY: the server does not know this key name with this algorithm".to_owned(),
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
    signer: Arc<dyn Signer>,
    /// What comes before the next answer in its digest: the last code with its length, then the unsigned messages since.
    before: Vec<u8>,
    first: bool,
    unsigned: u8,
}

impl Signing {
    /// Signs `message`, which must not be signed yet, at `now` in seconds since 1970.
    ///
    /// # Errors
    /// [`Invalid::Unable`]; the message is as it was.
    pub(crate) fn sign(signer: Arc<dyn Signer>, message: &mut Vec<u8>, now: u64) -> Result<Self, Invalid> {
        let timers = timers(now);
        let code = signer.code(&[message, &variables(&*signer, &timers, 0, &[])])?;
        let mut rdata = signer.algorithm().to_wire();
        rdata.extend(timers);
        rdata.extend(length(&code));
        rdata.extend(&code);
        rdata.extend(message.iter().take(2));
        rdata.extend([0, 0, 0, 0]);
        message.extend(signer.name().to_wire());
        message.extend(Rtype::TSIG.to_int().to_be_bytes());
        message.extend([0, 255, 0, 0, 0, 0]);
        message.extend(length(&rdata));
        message.extend(rdata);
        add_to_arcount(message, 1);
        Ok(Self { before: prefixed(&code), ..Self::unasked(signer) })
    }

    /// For an answer to a request that was not signed, by a signer that came of the exchange: there is no code of a request
    /// before it, not even an empty one ([MS-GSSA] 3.1.5.1).
    pub(crate) fn unasked(signer: Arc<dyn Signer>) -> Self {
        Self { signer, before: Vec::new(), first: true, unsigned: 0 }
    }

    /// Takes the next answer in. `Ok(false)` is an unsigned message in the middle of a sequence; [`Signing::finish`] then
    /// has the last word.
    pub(crate) fn check(&mut self, answer: &[u8], now: u64) -> Result<bool, Invalid> {
        let Some((start, tsig)) = locate(answer)? else { return self.pass_unsigned(answer) };
        if tsig.error != 0 {
            return Err(Invalid::Objection { error: tsig.error, server_time: tsig.other_time() });
        }
        if tsig.owner != *self.signer.name() || tsig.algorithm != self.signer.algorithm() {
            return Err(Invalid::OtherKey);
        }
        let mut head = answer.get(..HEADER).ok_or(Invalid::Malformed)?.to_vec();
        head.splice(..2, tsig.original_id.to_be_bytes());
        add_to_arcount(&mut head, u16::MAX);
        let body = answer.get(HEADER..start).ok_or(Invalid::Malformed)?;
        let tail = if self.first {
            variables(&*self.signer, &tsig.timers, tsig.error, &tsig.other)
        } else {
            tsig.timers.clone()
        };
        if !self.signer.matches(&[&self.before, &head, body, &tail], &tsig.code) {
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

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use secrecy::SecretSlice;

    use super::*;
    use crate::wire;

    const NOW: u64 = 1_800_000_000;

    fn bare() -> TsigKey {
        let secret = SecretSlice::from(b"no secret at all".to_vec());
        TsigKey { name: DnsName::parse("Key.Example").unwrap(), algorithm: Algorithm::Sha256, secret }
    }

    pub(super) fn key(algorithm: Algorithm) -> Arc<TsigKey> {
        Arc::new(TsigKey { algorithm, ..bare() })
    }

    fn request() -> Vec<u8> {
        wire::axfr(&DnsName::parse("example.test").unwrap())
    }

    /// What a server does: signs an answer after the code `before`, in full or with the timers only.
    fn signed(key: &Arc<TsigKey>, answer: &[u8], before: &[u8], first: bool, time: u64) -> Vec<u8> {
        let timers = timers(time);
        let tail = if first { variables(&**key, &timers, 0, &[]) } else { timers.clone() };
        let code = key.code(&[before, answer, &tail]).unwrap();
        // A record that is signed for itself, with the code replaced.
        let mut message = answer.to_vec();
        Signing::sign(key.clone(), &mut message, time).unwrap();
        let at = message.len() - 6 - code.len();
        message.splice(at..at + code.len(), code);
        message
    }

    /// The length-prefixed code in the last record of a message.
    fn code_of(key: &TsigKey, message: &[u8]) -> Vec<u8> {
        let length = key.code(&[]).unwrap().len();
        prefixed(&message[message.len() - 6 - length..message.len() - 6])
    }

    fn exchange(algorithm: Algorithm) -> (Arc<TsigKey>, Signing, Vec<u8>, Vec<u8>) {
        let key = key(algorithm);
        let mut message = request();
        let signing = Signing::sign(key.clone(), &mut message, NOW).unwrap();
        let before = code_of(&key, &message);
        let mut answer = request();
        answer[2] |= 0x80;
        (key, signing, before, answer)
    }

    /// Computed by another implementation of HMAC over the octets that RFC 8945 4.3 lists.
    #[test]
    fn a_known_request() {
        let mut message = request();
        Signing::sign(key(Algorithm::Sha256), &mut message, NOW).unwrap();
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
        let other = Arc::new(TsigKey { name: DnsName::parse("other").unwrap(), ..bare() });
        let foreign = signed(&other, &answer, &before, true, NOW);
        let mut twice = good.clone();
        Signing::sign(key.clone(), &mut twice, NOW).unwrap();
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
            let mut signing = Signing { signer: key.clone(), before: signing.before.clone(), ..signing };
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

    /// The digest then begins with the answer itself: not with the length of a code that there is not.
    #[test]
    fn an_answer_to_an_unsigned_request() {
        let key = key(Algorithm::Sha256);
        let answer = request();
        for (before, expected) in [(&[][..], Ok(true)), (&[0, 0][..], Err(Invalid::Signature))] {
            let message = signed(&key, &answer, before, true, NOW);
            assert_eq!(Signing::unasked(key.clone()).check(&message, NOW), expected);
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
