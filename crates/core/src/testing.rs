//! Short forms for tests, of this crate and of those that build on it (feature `testing`). A line that is none is a panic.

#![allow(clippy::unwrap_used, reason = "a test states its own input")]

pub mod documents;

use std::sync::Arc;

use crate::endpoint::{Endpoint, Extras, KindId, Mapped, ObjectRef, Origin, Sharing, Targets, TypeMeta, Uid};
use crate::name::DnsName;
use crate::rdata::RData;
use crate::record::{RecordSet, Ttl};
use crate::rtype::RecordType;

/// A name of its text.
pub fn name(text: &str) -> DnsName {
    DnsName::parse(text).unwrap()
}

/// `name TYPE [ttl=N] target target ...`; a target with blanks has them written as `_`.
pub fn set(line: &str) -> RecordSet {
    let (name, rtype, ttl, records) = parts(line);
    RecordSet::simple(name, rtype, ttl, records)
}

fn parts(line: &str) -> (DnsName, RecordType, Option<Ttl>, Vec<RData>) {
    let mut words = line.split(' ');
    let owner = name(words.next().unwrap());
    let rtype: RecordType = words.next().unwrap().parse().unwrap();
    let (mut ttl, mut records) = (None, Vec::new());
    for word in words {
        match word.strip_prefix("ttl=") {
            Some(seconds) => ttl = Ttl::from_secs(seconds.parse().unwrap()),
            None => records.push(RData::parse(rtype, &word.replace('_', " ")).unwrap()),
        }
    }
    (owner, rtype, ttl, records)
}

/// The object `Kind ns/who`, with the UID `uid-who`.
pub fn object(kind: &str, who: &str) -> ObjectRef {
    ObjectRef {
        types: TypeMeta::new("v1", kind),
        namespace: Arc::from("ns"),
        name: Arc::from(who),
        uid: Uid::from(&*format!("uid-{who}")),
    }
}

/// An endpoint of `Kind ns/who`, as [`set`] writes it.
pub fn endpoint(kind: &str, who: &str, line: &str) -> Endpoint {
    let (name, rtype, ttl, records) = parts(line);
    let source = kind.to_lowercase();
    Endpoint {
        name,
        rtype,
        targets: Targets::Records(records),
        ttl,
        resource: Some(Arc::from(format!("{source}/ns/{who}"))),
        origin: Arc::new(Origin {
            source: Arc::from(source),
            rank: 0,
            object: object(kind, who),
            created: None,
            choice: None,
        }),
        sharing: Sharing::Holder,
        policy: None,
        extras: Extras::default(),
    }
}

/// The same endpoint, of an object created at that time, in seconds since 1970.
pub fn aged(age: i64, endpoint: Endpoint) -> Endpoint {
    let origin = Origin { created: Some(age), ..(*endpoint.origin).clone() };
    Endpoint { origin: Arc::new(origin), ..endpoint }
}

/// The id of a kind: lower case, plural.
pub fn kind_of(kind: &str) -> KindId {
    Arc::from(format!("{}s", kind.to_lowercase()))
}

/// What the object `Kind ns/who` asks for, an endpoint for each line as [`set`] writes it.
pub fn mapped(kind: &str, who: &str, lines: &[&str]) -> Mapped {
    Mapped {
        endpoints: lines.iter().map(|line| endpoint(kind, who, line)).collect(),
        kinds: [kind_of(kind)].into(),
        ..Mapped::default()
    }
}

/// A provider that can do everything that plain DNS servers can.
pub fn capability() -> crate::capability::Capability {
    use crate::capability::{Capability, TtlRange};
    Capability::authoritative(100, TtlRange::any(Ttl::ZERO))
}
