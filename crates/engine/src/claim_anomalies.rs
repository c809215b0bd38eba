//! Claims that say nothing useful, reported once for each zone.
//!
//! In: a zone that was read completely, and what is wanted. Out: log lines with counts: claims that no key at hand opens, and
//! claims of ours without a record that nobody asks for. Nothing is done about either.

use tracing::warn;
use zonewright_core::record::{RecordKey, RecordSet};
use zonewright_core::registry::ClaimAnomaly;
use zonewright_core::rtype::RecordType;

use crate::worker::Worker;

/// What is odd about the claims of a zone.
#[derive(Debug, Default)]
struct Found {
    closed: usize,
    /// A record whose claim does not open.
    under: Option<RecordKey>,
    orphans: usize,
    /// Where one of them stands.
    orphan: Option<RecordKey>,
}

pub(crate) async fn announce(worker: &Worker) {
    let Found { closed, under, orphans, orphan } = find(worker).await;
    let zone = &worker.handle.zone.name;
    if let Some(key) = under {
        warn!(%zone, claims = closed,
            "{closed} ownership records are encrypted and do not open with the key given here (--txt-encrypt-aes-key), that of \
             {key} for example: their records count as another owner's and are left alone");
    }
    if let Some(key) = orphan {
        warn!(%zone, claims = orphans,
            "{orphans} ownership records of ours stand without a record, and nobody asks for one, {key} for example: they \
             are left where they are");
    }
}

async fn find(worker: &Worker) -> Found {
    let registry = &worker.instance.registry;
    let mut found = Found::default();
    let look = |set: RecordSet| {
        if set.key.rtype != RecordType::Txt {
            return;
        }
        match registry.anomaly(&worker.handle.zone, &set, &*worker.instance) {
            Some(ClaimAnomaly::Closed(key)) => {
                found.closed += 1;
                found.under.get_or_insert(key);
            }
            Some(ClaimAnomaly::Orphan(keys)) if !is_wanted(worker, &keys) => {
                found.orphans += 1;
                found.orphan.get_or_insert(set.key);
            }
            Some(ClaimAnomaly::Orphan(_)) | None => {}
        }
    };
    worker.each_set(look).await;
    found
}

fn is_wanted(worker: &Worker, keys: &[RecordKey]) -> bool {
    let desired_state = worker.context.desired_state();
    keys.iter().any(|key| {
        let asked = desired_state.table.at(&key.name);
        !asked.pending.is_empty() || asked.endpoints.iter().any(|endpoint| endpoint.rtype == key.rtype)
    })
}
