//! Reading from one server: the state that its SOA states, the whole zone, what changed, and single names.
//!
//! Queries answer as resolvers want it, with wildcards expanded, aliases followed and everything below a delegation left
//! out; here it is asked what stands *in the zone*. So a name counts as read by queries only where an answer cannot have
//! been made up; where it can, the zone is transferred instead. So it is where queries are denied: who may transfer
//! a zone need not be allowed to ask for its records.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use domain::base::iana::Rcode;
use zonewright_core::provider::Record;
use zonewright_core::{DnsName, RData, RecordSet, RecordType};

use crate::error::ExchangeError;
use crate::server::Server;
use crate::soa::{self, checked};
use crate::state::{Doubts, State};
use crate::transfer::{self, Transferred};
use crate::wire::{self, Answer, Soa};

/// A label that nobody uses, to ask below a name whether the name exists.
const PROBE: &str = "_zonewright-probe";

/// A whole zone, without its SOA record.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) soa: Soa,
    pub(crate) records: Vec<Record>,
}

/// Asks for what the SOA record says of the zone's state. One message.
pub(crate) async fn state(server: &Server, zone: &DnsName) -> Result<Soa, ExchangeError> {
    let answer = server.exchange(&soa::query(zone)).await.map_err(|failure| failure.fault)?;
    soa::part(&answer, zone, wire::soa)
}

/// Transfers the zone. One request.
pub(crate) async fn all(server: &Server, zone: &DnsName) -> Result<Contents, ExchangeError> {
    match server.transfer(zone, None).await? {
        Transferred::Full { soa, records } => Ok(Contents { soa, records }),
        Transferred::Steps { .. } | Transferred::Current(_) => Err(ExchangeError::Mismatch),
    }
}

/// Transfers what came after the state `known`, which was read of this very server; the whole zone where the server answers for
/// another zone, goes back, or does not explain what is in doubt. One message; two if something changed, or if the state is not told.
pub(crate) async fn news(
    server: &Server,
    zone: &DnsName,
    known: &State,
    doubts: &Doubts,
) -> Result<Transferred, ExchangeError> {
    if doubts.is_whole() || server.label() != known.server {
        return server.transfer(zone, None).await;
    }
    let news = match state(server, zone).await {
        Ok(soa) => match transfer::compare(soa.serial, known.soa.serial) {
            _ if soa.rest != known.soa.rest => None,
            Some(Ordering::Equal) => Some(Transferred::Current(soa)),
            Some(Ordering::Greater) => Some(changes(server, zone, known.soa.serial).await?),
            // The zone was made anew: its history does not lead here.
            Some(Ordering::Less) | None => None,
        },
        // The difference begins with the SOA record too.
        Err(fault) if fault.is_denied_query() => Some(changes(server, zone, known.soa.serial).await?),
        Err(fault) => return Err(fault),
    };
    // One address may lead to several servers: what came is looked at once more.
    match news.filter(|news| doubts.are_explained_by(news, known.soa)) {
        Some(news) => Ok(news),
        None => server.transfer(zone, None).await,
    }
}

/// Transfers what came after the serial number `since`; the whole zone where the server does not give the difference, whatever
/// keeps it from that: something on the way may close, stall or change what it does not know, and the whole zone gets through. One
/// request, two where the difference does not come.
async fn changes(server: &Server, zone: &DnsName, since: u32) -> Result<Transferred, ExchangeError> {
    if !server.gives_changes() {
        return server.transfer(zone, None).await;
    }
    let fault = match server.transfer(zone, Some(since)).await {
        Err(fault) if fault.was_sent() => fault,
        done => return done,
    };
    tracing::debug!(server = %server.label(), %zone, %fault, "no difference came; the whole zone is transferred");
    let whole = server.transfer(zone, None).await?;
    // A refusal costs one message; what is waited for is not waited for each time.
    if !fault.is_refusal() {
        server.gave_no_changes();
    }
    Ok(whole)
}

/// What one answer says about a name.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    /// Nothing of any type stands there.
    Absent,
    /// The name exists, with these records of the type that was asked for, or with this alias.
    There(Vec<Record>),
    /// The answer does not show it: a delegation, a DNAME above, a server without authority, or one that denies the query.
    Unclear,
}

fn seen(name: &DnsName, answer: &Answer) -> Result<Seen, ExchangeError> {
    let records = match checked(answer) {
        Err(fault) if fault.is_denied_query() => return Ok(Seen::Unclear),
        records => records?,
    };
    let redirected = records.iter().any(|record| matches!(record.data, RData::Dname(_)) && record.name != *name);
    if !answer.is_authoritative() || redirected {
        return Ok(Seen::Unclear);
    }
    let own: Vec<Record> = records.into_iter().filter(|record| record.name == *name).collect();
    // NXDOMAIN after an alias is about the name that it leads to.
    let absent = answer.rcode() == Rcode::NXDOMAIN && own.is_empty();
    Ok(if absent { Seen::Absent } else { Seen::There(own) })
}

/// The record sets of the types that are ever written at `names`. A name that is not there costs one query, an alias one,
/// any other twelve, and each parent of names one more; all of a kind are asked at once.
pub(crate) async fn names(
    server: &Server,
    zone: &DnsName,
    names: &BTreeSet<DnsName>,
) -> Result<Vec<RecordSet>, ExchangeError> {
    let wanted: Vec<&DnsName> = names.iter().filter(|name| name.is_within(zone)).collect();
    let first = look(server, &wanted).await?;
    let present: Vec<(&DnsName, &Vec<Record>)> = wanted
        .iter()
        .zip(&first)
        .filter_map(|(name, seen)| if let Seen::There(own) = seen { Some((*name, own)) } else { None })
        .collect();
    let standing: Vec<&DnsName> = present.iter().map(|(name, _)| *name).collect();
    if first.contains(&Seen::Unclear) || !are_real(server, zone, &standing).await? {
        let contents = all(server, zone).await?;
        return Ok(wire::group(contents.records.into_iter().filter(|record| names.contains(&record.name))));
    }
    let mut records: Vec<Record> = present.iter().flat_map(|(_, own)| (*own).clone()).collect();
    let is_alias = |own: &[Record]| own.iter().any(|record| matches!(record.data, RData::Cname(_)));
    let further: Vec<&DnsName> = present.iter().filter(|(_, own)| !is_alias(own)).map(|(name, _)| *name).collect();
    records.extend(other_types(server, zone, &further).await?);
    Ok(wire::group(records))
}

/// Asks for addresses at each name.
async fn look(server: &Server, names: &[&DnsName]) -> Result<Vec<Seen>, ExchangeError> {
    let queries: Vec<Vec<u8>> = names.iter().map(|name| wire::query(name, RecordType::A)).collect();
    let answers = server.exchange_all(&queries).await?;
    names.iter().zip(&answers).map(|(name, answer)| seen(name, answer)).collect()
}

/// Whether all of these names exist themselves, rather than being answered by a wildcard. Where no wildcard covers the
/// siblings of a name, none covers the name; where one does, it would cover a name below it too if it did not exist.
async fn are_real(server: &Server, zone: &DnsName, names: &[&DnsName]) -> Result<bool, ExchangeError> {
    let proper: Vec<&&DnsName> = names.iter().filter(|name| **name != zone).collect();
    let parents: BTreeSet<DnsName> = proper.iter().filter_map(|name| name.parent()).collect();
    let siblings: Vec<DnsName> = parents.iter().filter_map(|parent| parent.prepend("*").ok()).collect();
    let covered = look(server, &siblings.iter().collect::<Vec<_>>()).await?;
    let covered: BTreeSet<Option<DnsName>> = siblings
        .iter()
        .zip(&covered)
        .filter(|(_, seen)| **seen != Seen::Absent)
        .map(|(sibling, _)| sibling.parent())
        .collect();
    let doubtful = proper.iter().filter(|name| covered.contains(&name.parent()));
    let Ok(probes) = doubtful.map(|name| name.prepend(PROBE)).collect::<Result<Vec<_>, _>>() else { return Ok(false) };
    let below = look(server, &probes.iter().collect::<Vec<_>>()).await?;
    Ok(below.iter().all(|seen| *seen == Seen::Absent))
}

/// Asks for all types but those that the first look has answered.
async fn other_types(server: &Server, zone: &DnsName, names: &[&DnsName]) -> Result<Vec<Record>, ExchangeError> {
    let types = RecordType::WRITABLE.into_iter().filter(|t| !matches!(t, RecordType::A | RecordType::Cname));
    let keys: Vec<(&DnsName, RecordType)> =
        types.flat_map(|rtype| names.iter().map(move |name| (*name, rtype))).collect();
    sets(server, zone, &keys).await
}

/// The records of these names and types as they stand in the zone, but for what a wildcard makes up. One query each, all at once; the
/// zone is transferred where an answer does not show it: a server may refer to what stands below a delegation, though the zone holds it.
pub(crate) async fn sets(
    server: &Server,
    zone: &DnsName,
    keys: &[(&DnsName, RecordType)],
) -> Result<Vec<Record>, ExchangeError> {
    let queries: Vec<Vec<u8>> = keys.iter().map(|(name, rtype)| wire::query(name, *rtype)).collect();
    let answers = server.exchange_all(&queries).await?;
    let mut records = Vec::new();
    for ((name, rtype), answer) in keys.iter().zip(&answers) {
        match seen(name, answer)? {
            Seen::Absent => {}
            Seen::There(own) => records.extend(own.into_iter().filter(|record| record.data.rtype() == *rtype)),
            Seen::Unclear => {
                let asked = |record: &Record| keys.contains(&(&record.name, record.data.rtype()));
                return Ok(all(server, zone).await?.records.into_iter().filter(asked).collect());
            }
        }
    }
    Ok(records)
}
