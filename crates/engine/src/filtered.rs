//! What is reported of names that wait for targets, and of those that a filter leaves out.
//!
//! In: what an update of a source brought. Out: notes. What must hold: daemons that share a cluster by their filters do not report each
//! other's names. What a filter leaves out is counted and logged, and an event says it only where a record of this owner stands, or with
//! `--events-filtered`.

use std::collections::BTreeSet;

use tracing::debug;
use zonewright_core::clock::utc;
use zonewright_core::desired::{Edit, Waiting};
use zonewright_core::endpoint::{Note, Severity};
use zonewright_core::explain::Cause;
use zonewright_core::name::DnsName;
use zonewright_core::notes::Notes;

use crate::context::EngineContext;

/// Reports names that began to wait for their targets, with the moment at which what stands is given up.
pub(crate) fn report_waiting(context: &EngineContext, waiting: &[Waiting]) {
    if waiting.is_empty() {
        return;
    }
    let until = utc(context.clock.now().plus(context.config.status_grace));
    let mut notes = Notes::default();
    for Waiting { object, name, reason, had_targets } in waiting {
        debug!(%object, "{name} waits for its targets: {reason}");
        let (severity, text) = if *had_targets {
            let text = format!("{name} has no targets now ({reason}); what is published for it is kept until {until}");
            (Severity::Warning, text)
        } else {
            let kept = format!("a record of it that stands is kept until {until}");
            (
                Severity::Normal,
                format!("{name} has no targets yet ({reason}); it is published once it has some, and {kept}"),
            )
        };
        notes.add_with(object, severity, Cause::PendingTargets.reason(), || text);
    }
    context.pass_on(notes.into_vec());
}

/// Reports names outside of the filter.
pub(crate) fn report_outside(context: &EngineContext, names: &BTreeSet<DnsName>) {
    let filter = &context.config.filter;
    let outside: Vec<(&DnsName, String)> =
        names.iter().filter_map(|name| Some((name, filter.excluding(name)?))).collect();
    if outside.is_empty() {
        return;
    }
    let mut notes = Notes::default();
    {
        let desired_state = context.desired_state();
        for (name, flags) in outside {
            let published = publishes(context, name);
            for endpoint in desired_state.table.at(name).endpoints {
                let object = &endpoint.origin.object;
                debug!(%object, "{name} is outside of {flags}");
                let stands = if published { "; a record of ours stands there, which stays as it is" } else { "" };
                let severity = if published { Severity::Warning } else { Severity::Normal };
                let text = || format!("{name} is outside of {flags}, so it is not published{stands}");
                notes.add_with(object, severity, Cause::NameFiltered.reason(), text);
            }
        }
    }
    context.pass_on(notes.into_vec());
}

/// Reports objects that ask for a name outside of the filter in the place of one that is published: both names.
pub(crate) fn report_edits(context: &EngineContext, edits: &[Edit]) {
    let filter = &context.config.filter;
    let mut notes = Notes::default();
    for Edit { object, left, came } in edits {
        let gone: Vec<String> = left
            .iter()
            .filter(|name| filter.matches(name) && publishes(context, name))
            .map(ToString::to_string)
            .collect();
        let outside = came.iter().filter_map(|name| Some((name, filter.excluding(name)?)));
        for (name, flags) in outside.filter(|_| !gone.is_empty()) {
            let text = format!(
                "{name} is outside of {flags}, so it is not published; {}, which this object asked for before, goes",
                gone.join(", ")
            );
            notes.add(Note::warning(object, Cause::NameFiltered.reason(), text));
        }
    }
    context.pass_on(notes.into_vec());
}

/// Whether a record of ours stands at a name in some zone.
fn publishes(context: &EngineContext, name: &DnsName) -> bool {
    context.instances.iter().any(|instance| {
        instance.zone_handles().iter().filter(|handle| name.is_within(&handle.zone.name)).any(|handle| {
            let keys: Vec<_> = handle.view().at(name).into_iter().map(|set| set.key).collect();
            keys.iter().any(|key| instance.ownership(&handle.zone, key).is_ours())
        })
    })
}
