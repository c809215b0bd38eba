//! TKEY messages (RFC 2930) as far as a negotiation needs them.
//!
//! In: the name of the key to come and a token. Out: a request; and from the answer to it the server's token, or what the
//! server had against it.

use std::time::Duration;

use domain::base::iana::{Class, Opcode, Rcode, Rtype};
use domain::base::rdata::UnknownRecordData;
use zonewright_core::{DnsName, ErrorKind};

use crate::wire::{self, Answer, MAX_MESSAGE, Malformed};

/// The algorithm's name on the wire (RFC 3645 2).
pub(super) const ALGORITHM: &str = "gss-tsig";
/// TKEY's number (RFC 2930 2).
const TKEY: Rtype = Rtype::from_int(249);
/// Mode 3: negotiation by GSS-API tokens (RFC 2930 2.5).
const GSS_API: u16 = 3;
/// Mode 5: the end of a key (RFC 2930 4.2).
const DELETION: u16 = 5;
/// How long the key is asked for, in seconds; servers give what the ticket allows.
const WANTED: u64 = 24 * 60 * 60;

/// What a server answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reply {
    /// Its token; empty if it has no more to say.
    pub(super) token: Vec<u8>,
    /// How long it keeps the key, by its own clock; zero if it does not say.
    pub(super) lifetime: Duration,
}

/// An answer that brings nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum TkeyError {
    #[error("the answer is malformed")]
    Malformed,
    #[error("the answer belongs to another question")]
    Foreign,
    #[error(
        "the server answered {0}; expected one that takes GSS-TSIG (BIND: tkey-gssapi-keytab; Windows: secure updates)"
    )]
    Rcode(Rcode),
    #[error("{}", objection(*.0))]
    Objection(u16),
}

impl TkeyError {
    pub(super) fn kind(self) -> ErrorKind {
        match self {
            Self::Malformed | Self::Foreign => ErrorKind::Protocol,
            Self::Rcode(Rcode::SERVFAIL) => ErrorKind::Unavailable,
            Self::Rcode(_) | Self::Objection(_) => ErrorKind::Unauthorized,
        }
    }
}

impl From<Malformed> for TkeyError {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

/// What an error code in a TKEY record means (RFC 2930 2.6), as a sentence for people.
fn objection(error: u16) -> String {
    match error {
        16 => "BADSIG: the server does not take the token".to_owned(),
        17 => "BADKEY: the server cannot read the ticket; check that its keytab holds the current key of this service, and \
               the clocks of both sides"
            .to_owned(),
        18 => "BADTIME: the clocks of the server and of this host are too far apart".to_owned(),
        19 => "BADMODE: the server does not negotiate by Kerberos".to_owned(),
        20 => "BADNAME: the server has another key of this name".to_owned(),
        21 => "BADALG: the server does not know gss-tsig".to_owned(),
        code => format!("TKEY error {code}"),
    }
}

/// Asks for a key named `name`, with this token, at `now` in seconds since 1970 (RFC 3645 3.1.2).
pub(super) fn negotiation(name: &DnsName, now: u64, token: &[u8]) -> Vec<u8> {
    request(name, now, GSS_API, token)
}

/// Asks the server to forget the key named `name`; to be signed with that key.
pub(super) fn deletion(name: &DnsName, now: u64) -> Vec<u8> {
    request(name, now, DELETION, &[])
}

fn request(name: &DnsName, now: u64, mode: u16, token: &[u8]) -> Vec<u8> {
    let mut question = wire::builder(Opcode::QUERY, MAX_MESSAGE).question();
    question.header_mut().set_id(rand::random());
    let owner = wire::wire_name(name);
    question.push((owner.clone(), TKEY, Class::ANY)).expect("one question fits");
    let data = UnknownRecordData::from_octets(TKEY, rdata(now, mode, token)).expect("a token is cut to 32 KiB");
    let mut additional = question.additional();
    additional.push((owner, Class::ANY, 0, data)).expect("one record of 32 KiB fits");
    additional.finish().into_target()
}

fn rdata(now: u64, mode: u16, token: &[u8]) -> Vec<u8> {
    // A ticket has a few KiB; what is longer cannot be sent anyway, and the server will say that it cannot read it.
    let token = token.get(..0x8000).unwrap_or(token);
    let mut out = DnsName::parse(ALGORITHM).expect("the algorithm's name is a name").to_wire();
    // Times are modulo 2^32 (RFC 2930 2.2).
    #[expect(clippy::cast_possible_truncation, reason = "the upper half is left out on the wire")]
    for time in [now as u32, (now + WANTED) as u32] {
        out.extend(time.to_be_bytes());
    }
    out.extend(mode.to_be_bytes());
    out.extend([0, 0]);
    out.extend(u16::try_from(token.len()).unwrap_or(u16::MAX).to_be_bytes());
    out.extend(token);
    out.extend([0, 0]);
    out
}

impl Reply {
    /// Reads the answer to `request` for a key named `name`.
    pub(super) fn read(octets: &[u8], request: &[u8], name: &DnsName) -> Result<Self, TkeyError> {
        let answer = Answer::new(octets.to_vec(), false)?;
        if !answer.answers(request) {
            return Err(TkeyError::Foreign);
        }
        if answer.rcode() != Rcode::NOERROR {
            // The record may say more than the response code.
            let said = answer.raw(TKEY).ok().flatten().and_then(|(_, data)| Fields::parse(&data)).map(|f| f.error);
            return Err(said
                .filter(|error| *error != 0)
                .map_or(TkeyError::Rcode(answer.rcode()), TkeyError::Objection));
        }
        let (owner, data) = answer.raw(TKEY)?.ok_or(TkeyError::Malformed)?;
        let fields = Fields::parse(&data).ok_or(TkeyError::Malformed)?;
        match fields {
            _ if owner != *name || fields.algorithm.as_str() != ALGORITHM || fields.mode != GSS_API => {
                Err(TkeyError::Foreign)
            }
            Fields { error: 0, .. } => Ok(fields.into()),
            Fields { error, .. } => Err(TkeyError::Objection(error)),
        }
    }
}

/// The data of a TKEY record (RFC 2930 2).
struct Fields {
    algorithm: DnsName,
    inception: u32,
    expiration: u32,
    mode: u16,
    error: u16,
    token: Vec<u8>,
}

impl Fields {
    fn parse(data: &[u8]) -> Option<Self> {
        let (algorithm, rest) = DnsName::from_wire(data).ok()?;
        let (inception, rest) = rest.split_first_chunk()?;
        let (expiration, rest) = rest.split_first_chunk()?;
        let (mode, rest) = rest.split_first_chunk()?;
        let (error, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (token, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
        let (length, rest) = rest.split_first_chunk()?;
        (rest.len() == usize::from(u16::from_be_bytes(*length))).then(|| Self {
            algorithm,
            inception: u32::from_be_bytes(*inception),
            expiration: u32::from_be_bytes(*expiration),
            mode: u16::from_be_bytes(*mode),
            error: u16::from_be_bytes(*error),
            token: token.to_vec(),
        })
    }
}

impl From<Fields> for Reply {
    fn from(fields: Fields) -> Self {
        let lifetime = fields.expiration.wrapping_sub(fields.inception);
        Self { token: fields.token, lifetime: Duration::from_secs(lifetime.into()) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: u64 = 0x6b49_d200;
    /// `gss-tsig` on the wire.
    const GSS_TSIG: &[u8] = b"\x08gss-tsig\x00";

    fn name() -> DnsName {
        DnsName::parse("k1.zonewright").unwrap()
    }

    /// The data of a record: algorithm, times, mode, error, token, other data.
    fn data(algorithm: &[u8], mode: u16, error: u16, token: &[u8], other: &[u8]) -> Vec<u8> {
        let length = |field: &[u8]| u16::try_from(field.len()).unwrap().to_be_bytes();
        let times = [0x6b, 0x49, 0xd2, 0x00, 0x6b, 0x49, 0xe0, 0x10];
        let numbers = [mode.to_be_bytes(), error.to_be_bytes()].concat();
        [algorithm, &times, &numbers, &length(token), token, &length(other), other].concat()
    }

    /// An answer to `request` with this response code and, in the answer section, one record of this data.
    fn answer(request: &[u8], rcode: u8, owner: &[u8], data: &[u8]) -> Vec<u8> {
        let question = &request[12..12 + 15 + 4];
        let head = [request[0], request[1], 0x80, rcode, 0, 1, 0, 1, 0, 0, 0, 0];
        let length = u16::try_from(data.len()).unwrap().to_be_bytes();
        [&head, question, owner, &[0, 249, 0, 255, 0, 0, 0, 0], &length, data].concat()
    }

    /// A pointer to the name in the question.
    const SAME: &[u8] = &[0xc0, 12];

    /// RFC 2930 2, and RFC 3645 3.1.2: the record stands in the additional section.
    #[test]
    fn requests_octet_by_octet() {
        for (message, mode, token) in [
            (negotiation(&name(), NOW, b"token"), 3, &b"\x00\x05token"[..]),
            (deletion(&name(), NOW), 5, &b"\x00\x00"[..]),
        ] {
            let expected = [
                // One question, one additional record: the name, type 249, class ANY.
                &[0, 0, 0, 1, 0, 0, 0, 0, 0, 1][..],
                b"\x02k1\x0azonewright\x00",
                &[0, 249, 0, 255],
                SAME,
                &[0, 249, 0, 255, 0, 0, 0, 0, 0, 24 + u8::try_from(token.len()).unwrap()],
                GSS_TSIG,
                // From now to a day later, the mode, no error.
                &[0x6b, 0x49, 0xd2, 0x00, 0x6b, 0x4b, 0x23, 0x80, 0, mode, 0, 0],
                token,
                &[0, 0],
            ]
            .concat();
            assert_eq!(message[2..], expected, "mode {mode}");
        }
    }

    #[test]
    fn times_go_round() {
        let message = negotiation(&name(), (1 << 32) - 1, b"");
        let at = message.len() - 16;
        assert_eq!(message[at..at + 8], [0xff, 0xff, 0xff, 0xff, 0, 1, 0x51, 0x7f]);
    }

    #[test]
    fn answers_are_read() {
        let request = negotiation(&name(), NOW, b"token");
        let other = b"\x02k2\x0azonewright\x00";
        let ok = data(GSS_TSIG, 3, 0, b"reply", b"");
        let is = |token: &[u8]| Ok(Reply { token: token.to_vec(), lifetime: Duration::from_hours(1) });
        let check = |octets: Vec<u8>, expected: Result<Reply, TkeyError>, case: &str| {
            assert_eq!(Reply::read(&octets, &request, &name()), expected, "{case}");
        };
        check(answer(&request, 0, SAME, &ok), is(b"reply"), "a token");
        check(answer(&request, 0, SAME, &data(GSS_TSIG, 3, 0, b"", b"other")), is(b""), "nothing more to say");
        check(answer(&request, 0, SAME, &data(b"\x08GSS-tsig\x00", 3, 0, b"", b"")), is(b""), "letters");
        check(answer(&request, 0, other, &ok), Err(TkeyError::Foreign), "another key");
        check(answer(&request, 0, SAME, &data(b"\x01x\x00", 3, 0, b"", b"")), Err(TkeyError::Foreign), "algorithm");
        check(answer(&request, 0, SAME, &data(GSS_TSIG, 2, 0, b"", b"")), Err(TkeyError::Foreign), "another mode");
        check(answer(&request, 0, SAME, &data(GSS_TSIG, 3, 17, b"", b"")), Err(TkeyError::Objection(17)), "BADKEY");
        check(
            answer(&request, 9, SAME, &data(GSS_TSIG, 3, 17, b"", b"")),
            Err(TkeyError::Objection(17)),
            "and NOTAUTH",
        );
        check(answer(&request, 5, SAME, &ok), Err(TkeyError::Rcode(Rcode::REFUSED)), "refused");
        let mut foreign = answer(&request, 0, SAME, &ok);
        foreign[0] ^= 1;
        check(foreign, Err(TkeyError::Foreign), "another id");
        check(request.clone(), Err(TkeyError::Foreign), "a question");
        let mut empty = answer(&request, 0, SAME, &ok);
        empty[7] = 0;
        check(empty, Err(TkeyError::Malformed), "no record");
    }

    #[test]
    fn every_cut_is_seen() {
        let request = negotiation(&name(), NOW, b"token");
        let whole = data(GSS_TSIG, 3, 0, b"reply", b"other");
        for end in 0..whole.len() {
            let octets = answer(&request, 0, SAME, &whole[..end]);
            assert_eq!(Reply::read(&octets, &request, &name()), Err(TkeyError::Malformed), "data of {end} octets");
        }
        let message = answer(&request, 0, SAME, &whole);
        for end in 0..message.len() {
            assert!(Reply::read(&message[..end], &request, &name()).is_err(), "a message of {end} octets");
        }
        let longer = answer(&request, 0, SAME, &[&whole[..], &[0]].concat());
        assert_eq!(Reply::read(&longer, &request, &name()), Err(TkeyError::Malformed), "octets left over");
    }

    #[test]
    fn refusals_say_what_to_look_at() {
        for (refusal, kind, expected) in [
            (TkeyError::Objection(17), ErrorKind::Unauthorized, "keytab"),
            (TkeyError::Objection(18), ErrorKind::Unauthorized, "clocks"),
            (TkeyError::Objection(99), ErrorKind::Unauthorized, "TKEY error 99"),
            (TkeyError::Rcode(Rcode::REFUSED), ErrorKind::Unauthorized, "tkey-gssapi-keytab"),
            (TkeyError::Rcode(Rcode::SERVFAIL), ErrorKind::Unavailable, "SERVFAIL"),
            (TkeyError::Foreign, ErrorKind::Protocol, "another question"),
        ] {
            assert_eq!(refusal.kind(), kind);
            assert!(refusal.to_string().contains(expected), "{refusal}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_octets_never_panic(octets in prop::collection::vec(any::<u8>(), 0..200)) {
            let request = negotiation(&name(), NOW, b"token");
            prop_assert!(Reply::read(&octets, &request, &name()).is_err());
            let _ = Fields::parse(&octets);
        }
    }
}
