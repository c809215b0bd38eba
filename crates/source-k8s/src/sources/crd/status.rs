//! What the status of a DNSEndpoint should say.

use zonewright_core::endpoint::{Mapped, Severity};

use crate::objects::DnsEndpoint;

/// The status that a DNSEndpoint should get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The `metadata.generation` that was read: `status.observedGeneration`.
    pub observed_generation: i64,
    /// Whether the object says otherwise now, so that its status has to be written.
    pub is_due: bool,
    /// How many record sets it asks for.
    pub endpoints: usize,
    /// What is wrong with it, one sentence each.
    pub problems: Vec<String>,
}

/// The status of `object`, which was mapped to `mapped`; `None` for one that no API server has stored.
pub fn status(object: &DnsEndpoint, mapped: &Mapped) -> Option<Status> {
    let observed_generation = object.metadata.generation;
    let problems = mapped.notes.iter().filter(|note| note.severity == Severity::Warning);
    (observed_generation != 0).then(|| Status {
        observed_generation,
        is_due: object.status.observed_generation != observed_generation,
        endpoints: mapped.endpoints.len(),
        problems: problems.map(|note| note.message.clone()).collect(),
    })
}
