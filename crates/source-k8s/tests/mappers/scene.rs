//! A small language for cases: objects by builder ([`crate::things`]), options by closure, and the outcome as one line for each record.
//!
//! `foo.example.org A 1.2.3.4 ttl=60 | foo.example.org pending | ! InvalidTTL` is two lines and a note; `names pending` stands for
//! what is kept for the grace by the object's label: names, or targets beside others, that are not known.

use std::fmt::Write as _;

use zonewright_core::RData;
use zonewright_core::endpoint::{Endpoint, Mapped, Targets};
use zonewright_source_k8s::lookup::Lookup;
use zonewright_source_k8s::options::SourceOptions;
use zonewright_source_k8s::sources::{MapScope, roles};
use zonewright_source_k8s::store::Store;

pub(crate) use crate::things::{PREFIX, Thing, options};

/// Maps `thing` in a cluster that holds `others`, by the first chosen source that maps its kind.
pub(crate) fn map(thing: &Thing, others: &[Thing], options: &SourceOptions) -> Mapped {
    let keep = options.keep();
    let store: Store = others.iter().filter_map(|thing| thing.object(&keep)).collect();
    let roles = roles(options);
    let role = roles.iter().find(|role| role.kind == thing.kind).expect("a source in use maps this kind");
    let object = thing.object(&keep).expect("an object that can be read");
    (role.map)(&object, &MapScope { role, options, lookup: &Lookup::new(&store, &role.reads) })
}

/// Maps `thing` alone and compares.
pub(crate) fn check(id: &str, thing: &Thing, change: impl FnOnce(&mut SourceOptions), expected: &str) {
    check_in(id, thing, &[], change, expected);
}

/// Maps `thing` among `others` and compares.
pub(crate) fn check_in(
    id: &str,
    thing: &Thing,
    others: &[Thing],
    change: impl FnOnce(&mut SourceOptions),
    expected: &str,
) {
    let mapped = map(thing, others, &options(change));
    assert_eq!(shown(&mapped), lines(expected), "{id}: {:?}", mapped.notes);
}

fn lines(expected: &str) -> Vec<String> {
    let mut lines: Vec<String> = expected
        .split('|')
        .map(|l| l.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|l| !l.is_empty())
        .collect();
    lines.sort();
    lines
}

/// The outcome in lines, sorted.
pub(crate) fn shown(mapped: &Mapped) -> Vec<String> {
    let mut lines: Vec<String> = mapped.endpoints.iter().map(endpoint).collect();
    lines.extend(mapped.pending.iter().map(|pending| format!("{} pending", pending.name)));
    lines.extend(mapped.unknown.iter().filter(|unknown| unknown.passing).map(|_| "names pending".to_owned()));
    lines.extend(mapped.notes.iter().map(|note| format!("! {}", note.reason)));
    lines.sort();
    lines
}

fn endpoint(endpoint: &Endpoint) -> String {
    let mut line = format!("{} {}", endpoint.name, endpoint.rtype);
    if let Targets::Alias(alias) = &endpoint.targets {
        let _ = write!(line, " alias of {}", alias.target);
    }
    for data in endpoint.targets.as_records() {
        let _ = match data {
            RData::Cname(host) => write!(line, " {host}"),
            data => write!(line, " {data}"),
        };
    }
    if let Some(ttl) = endpoint.ttl {
        let _ = write!(line, " ttl={ttl}");
    }
    if let Some(id) = &endpoint.extras.set_id {
        let _ = write!(line, " set={}", id.as_str());
    }
    for (key, value) in &endpoint.extras.properties {
        let _ = write!(line, " {key}={value}");
    }
    line
}
