//! A plan for programs.

use serde::Serialize;
use zonewright_api::ShownSet;
use zonewright_core::endpoint::{Note, ObjectRef};
use zonewright_engine::{HeldDeletes, LeftAlone, PassProblem, PlannedChange, ZonePreview};

use super::Preview;

/// The whole plan.
#[derive(Debug, Serialize)]
pub(super) struct Document {
    zones: Vec<ZoneDocument>,
    /// Other notes that objects would get.
    notes: Vec<NoteDocument>,
    not_read: Vec<ProblemDocument>,
    not_written: Vec<ProblemDocument>,
    summary: Summary,
    /// The same as the last line of the table.
    text: String,
}

#[derive(Debug, Serialize)]
struct ZoneDocument {
    zone: String,
    name: String,
    changes: Vec<ChangeDocument>,
    claims: Vec<String>,
    left_alone: Vec<LeftDocument>,
    held: Option<HeldDocument>,
}

#[derive(Debug, Serialize)]
struct ChangeDocument {
    verb: &'static str,
    record: String,
    from: Option<ShownSet>,
    to: Option<ShownSet>,
    objects: Vec<String>,
    resource: Option<String>,
    reason: String,
}

#[derive(Debug, Serialize)]
struct LeftDocument {
    record: String,
    reason: String,
    why: String,
    objects: Vec<String>,
}

#[derive(Debug, Serialize)]
struct HeldDocument {
    plan: String,
    reason: String,
    count: usize,
    deletes: Vec<ShownSet>,
}

#[derive(Debug, Serialize)]
struct NoteDocument {
    object: String,
    reason: &'static str,
    message: String,
}

#[derive(Debug, Serialize)]
struct ProblemDocument {
    what: String,
    why: String,
}

#[derive(Debug, Serialize)]
struct Summary {
    create: usize,
    update: usize,
    delete: usize,
    claims: usize,
    left_alone: usize,
    held: usize,
    refused: usize,
    up_to_date: bool,
}

/// A plan as a document.
pub(super) fn of(preview: &Preview) -> Document {
    let outcome = &preview.outcome;
    Document {
        zones: preview.zones.iter().map(zone).collect(),
        notes: preview.notes.iter().map(note).collect(),
        not_read: outcome.unread.iter().map(problem).collect(),
        not_written: outcome.unwritten.iter().map(problem).collect(),
        summary: Summary {
            create: outcome.changes.created,
            update: outcome.changes.updated,
            delete: outcome.changes.deleted,
            claims: outcome.changes.claims,
            left_alone: outcome.left_alone,
            held: outcome.held,
            refused: outcome.refused,
            up_to_date: outcome.is_up_to_date(),
        },
        text: super::table::last_line(outcome),
    }
}

fn texts(objects: &[ObjectRef]) -> Vec<String> {
    objects.iter().map(ToString::to_string).collect()
}

fn zone(zone: &ZonePreview) -> ZoneDocument {
    ZoneDocument {
        zone: zone.zone.key.to_string(),
        name: zone.zone.name.to_string(),
        changes: zone.changes.iter().map(change).collect(),
        claims: zone.claims.clone(),
        left_alone: zone.left_alone.iter().map(left).collect(),
        held: zone.held.as_ref().map(held),
    }
}

fn change(planned: &PlannedChange) -> ChangeDocument {
    ChangeDocument {
        verb: planned.change.verb(),
        record: planned.change.key().to_string(),
        from: planned.change.from().map(ShownSet::from),
        to: planned.change.to().map(ShownSet::from),
        objects: texts(&planned.objects),
        resource: planned.resource.clone(),
        reason: planned.reason.clone(),
    }
}

fn left(left: &LeftAlone) -> LeftDocument {
    LeftDocument {
        record: left.key.to_string(),
        reason: left.reason.clone(),
        why: left.why.clone(),
        objects: texts(&left.objects),
    }
}

fn held(held: &HeldDeletes) -> HeldDocument {
    HeldDocument {
        plan: held.hash.clone(),
        reason: held.reason.clone(),
        count: held.count,
        deletes: held.sets.iter().map(ShownSet::from).collect(),
    }
}

fn note(note: &Note) -> NoteDocument {
    NoteDocument { object: note.object.to_string(), reason: note.reason, message: note.message.clone() }
}

fn problem(problem: &PassProblem) -> ProblemDocument {
    ProblemDocument { what: problem.what.clone(), why: problem.why.clone() }
}
