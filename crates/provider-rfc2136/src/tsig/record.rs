//! The TSIG record of an answer: in, a whole message; out, the record and where it begins, or that there is none.

use domain::base::iana::Class;
use domain::base::{Message, Rtype};
use domain::rdata::tsig::Tsig;
use zonewright_core::DnsName;

use super::{Invalid, timers_of};

/// The TSIG record of an answer.
pub(super) struct Received {
    pub(super) owner: DnsName,
    pub(super) algorithm: DnsName,
    pub(super) signed: u64,
    pub(super) fudge: u16,
    pub(super) timers: Vec<u8>,
    pub(super) code: Vec<u8>,
    pub(super) original_id: u16,
    pub(super) error: u16,
    pub(super) other: Vec<u8>,
}

impl Received {
    /// The server's time, which BADTIME carries as 48 bits.
    pub(super) fn other_time(&self) -> Option<u64> {
        (self.other.len() == 6).then(|| self.other.iter().fold(0, |time, octet| time << 8 | u64::from(*octet)))
    }
}

/// The TSIG record and where it begins; it must be the last record, and the only one.
pub(super) fn locate(answer: &[u8]) -> Result<Option<(usize, Received)>, Invalid> {
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
