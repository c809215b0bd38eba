//! The cases of the registry suite. Each takes a fresh harness and panics where the registry breaks the contract.

#![allow(clippy::missing_panics_doc, reason = "a case fails by panicking, as every test does")]

mod changes;
mod dangers;
mod ownership;
mod reading;

pub use changes::*;
pub use dangers::*;
pub use ownership::*;
pub use reading::*;

use zonewright_core::RecordType;
use zonewright_core::registry::Registry;

use super::Harness;

const A: RecordType = RecordType::A;

/// Names and types that claims are kept for: plain, apex, wildcard, service, deep, look-alikes of claim names.
const CLAIMED: &[(&str, RecordType)] = &[
    ("www.example.test", A),
    ("www.example.test", RecordType::Aaaa),
    ("alias.example.test", RecordType::Cname),
    ("text.example.test", RecordType::Txt),
    ("example.test", A),
    ("example.test", RecordType::Aaaa),
    ("sub.example.test", A),
    ("www.sub.example.test", A),
    ("*.example.test", A),
    ("*.deep.example.test", RecordType::Cname),
    ("_sip._tcp.example.test", RecordType::Srv),
    ("mail.example.test", RecordType::Mx),
    ("del.example.test", RecordType::Ns),
    ("a.b.c.d.e.f.example.test", A),
    ("a-look.example.test", RecordType::Cname),
    ("cname-a-look.example.test", A),
    ("xn--bcher-kva.example.test", A),
];

/// Both registries; `None`, with a note, where no claims are kept.
fn both(harness: &dyn Harness) -> Option<(&dyn Registry, &dyn Registry)> {
    let pair = harness.theirs().filter(|_| harness.ours().owner().is_some()).map(|theirs| (harness.ours(), theirs));
    if pair.is_none() {
        crate::run::note("the registry keeps no claims");
    }
    pair
}
