//! How large the engine's tables are, and what keeps those small that nobody else empties.
//!
//! Every table that is keyed by names, objects or zones of others has a bound or an owner that empties it: the list is in
//! `ARCHITECTURE.md`. In: the board. Out: the sizes, for a metric and for the test that finds a table which only grows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use zonewright_core::desired::Desired;
use zonewright_core::name::DnsName;

use super::board::{Board, Desk, Office};
use super::facts::{is_claim, ownership};
use super::worker::Worker;
use crate::metrics::ByTable;

/// Sizes by the name of the table.
pub(super) type Sizes = BTreeMap<&'static str, usize>;

/// Every table of the engine; those of zones are added up.
pub(super) fn sizes(board: &Board) -> Sizes {
    let mut sizes: Sizes = board.asks().desired.sizes().into();
    sizes.extend(["state_zones", "brake_zones"].into_iter().zip(board.state.sizes()));
    for desk in board.desks() {
        let (written, unread) = desk.view().unsettled();
        for (table, size) in [("inbox", desk.inbox.len()), ("view_written", written), ("view_unread", unread)] {
            *sizes.entry(table).or_default() += size;
        }
        let status = desk.status();
        *sizes.entry("adoptable").or_default() += status.adoptable.len();
        for (table, size) in &status.tables {
            *sizes.entry(*table).or_default() += size;
        }
    }
    sizes
}

/// Those of one worker, between two of its turns.
pub(super) fn of_worker(worker: &Worker) -> Sizes {
    Sizes::from([
        ("parked", worker.parked.len()),
        ("attempts", worker.attempts.len()),
        ("unsure", worker.unsure.len()),
        ("doubtful", worker.doubtful.len()),
        ("foreign_changes", worker.flaps.len()),
        ("waiting", worker.waiting.len()),
        ("stale_intents", worker.litter.len()),
        ("claims_to_move", worker.moves.len()),
        ("inherited", worker.inherited.len()),
        ("owner_mismatches", worker.mismatched.len()),
        ("reported_names", worker.told.len()),
    ])
}

/// Shows the sizes.
pub(super) fn publish(board: &Board) {
    for (table, size) in sizes(board) {
        let label = ByTable { table: table.to_owned() };
        board.metrics.tables.get_or_create(&label).set(i64::try_from(size).unwrap_or(i64::MAX));
    }
}

/// Forgets the proofs of deletion that no record rests on any more, and zones that are gone for good.
pub(super) fn sweep(board: &Board) {
    let offices: Vec<(Arc<Office>, Vec<Arc<Desk>>)> = board.offices.iter().map(|o| (o.clone(), o.desks())).collect();
    let unknown = board.offices.iter().any(|office| !office.listing().tried || office.listing().error.is_some());
    let now = board.clock.now();
    if !unknown {
        let served = offices.iter().flat_map(|(_, desks)| desks).map(|desk| desk.label()).collect();
        board.state.prune(&served, board.config.brake.window, now);
    }
    board.asks().desired.collect_stale_claims(now, |name, labels| unknown || is_needed(&offices, name, labels));
}

/// Whether a record that one of these objects held may still stand in some zone.
fn is_needed(offices: &[(Arc<Office>, Vec<Arc<Desk>>)], name: &DnsName, labels: &BTreeSet<Option<Arc<str>>>) -> bool {
    let in_zone = |office: &Arc<Office>, desk: &Arc<Desk>| {
        let sets = {
            let view = desk.view();
            if !view.is_complete() {
                return true;
            }
            view.at(name)
        };
        sets.iter().any(|set| {
            let ownership = ownership(office, desk, &set.key);
            ownership.is_ours() && labels.contains(&ownership.claim().and_then(|claim| claim.resource.clone()))
        })
    };
    let may_stand = |office: &Arc<Office>, desk: &Arc<Desk>| desk.status().failing.is_some() || in_zone(office, desk);
    offices.iter().any(|(office, desks)| desks.iter().any(|desk| desk.zone.covers(name) && may_stand(office, desk)))
}

/// Forgets the proof about a name, once nothing of ours stands there in any zone.
pub(super) fn clear_tombstone(board: &Board, desired: &mut Desired, name: &DnsName) {
    let stands = |office: &Arc<Office>| {
        let in_zone = |desk: &Arc<Desk>| {
            let sets = desk.view().at(name);
            sets.iter().any(|set| !is_claim(office, desk, set))
        };
        office.desks().iter().any(|desk| desk.zone.covers(name) && in_zone(desk))
    };
    if !board.offices.iter().any(stands) {
        desired.bury(name);
    }
}
