//! Asking for the SOA record of a zone, and what an answer to a query may be taken for.

use domain::base::iana::Rcode;
use zonewright_core::provider::Record;
use zonewright_core::{DnsName, RData, RecordType};

use crate::error::ExchangeError;
use crate::wire::{self, Answer};

/// The query for the SOA record of a zone.
pub(crate) fn query(zone: &DnsName) -> Vec<u8> {
    wire::query(zone, RecordType::Soa)
}

/// A part of the SOA record in the answer.
///
/// # Errors
/// The answer is a refusal, or does not come from a server with authority for the zone.
pub(crate) fn part<T>(answer: &Answer, zone: &DnsName, part: fn(&RData) -> Option<T>) -> Result<T, ExchangeError> {
    let records = checked(answer)?;
    let soa = records.iter().find(|record| record.name == *zone).and_then(|record| part(&record.data));
    soa.filter(|_| answer.is_authoritative()).ok_or(ExchangeError::NoAuthority)
}

/// The records of an answer, unless its response code says that something is wrong.
pub(crate) fn checked(answer: &Answer) -> Result<Vec<Record>, ExchangeError> {
    match answer.rcode() {
        Rcode::NOERROR | Rcode::NXDOMAIN if answer.trusted => Ok(answer.records()?),
        rcode => Err(ExchangeError::Rcode { rcode, trusted: answer.trusted }),
    }
}
