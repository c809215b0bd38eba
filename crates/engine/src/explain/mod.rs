//! Why a name is there, or is not, as a running engine knows it.
//!
//! In comes a name or an object; out goes an [`Explanation`]. What must hold: nothing is changed, and nothing is derived a second time.
//! The name is planned once more by the same functions as in a round ([`crate::drafting`], [`core::plan`](zonewright_core::plan)), and
//! what those say of it is the answer.

mod aside;
mod choose;
mod journal;
mod name_servers;
mod standing;
mod zone;

use std::collections::BTreeSet;
use std::sync::Arc;

use zonewright_core::explain::{Cause, Consideration, Considered, Explanation, Finding, NameExplanation, Subject};
use zonewright_core::name::DnsName;

use self::choose::choose;
pub use self::name_servers::{NameServers, ServerAnswer};
use self::zone::{Findings, look};
use crate::context::EngineContext;

/// So many names of one object are explained.
const MOST: usize = 20;

/// Explains a subject; `place` is where the answer comes from, for people, and `servers` asks name servers.
pub(crate) async fn explain(
    context: &Arc<EngineContext>,
    subject: &Subject,
    place: &str,
    servers: Option<&dyn NameServers>,
) -> Explanation {
    let considered = consider(context, subject).await;
    let mut names: BTreeSet<DnsName> = match subject {
        Subject::Name(name) => BTreeSet::from([name.clone()]),
        Subject::Object(_) => considered.iter().flat_map(|one| &one.considered.names).cloned().collect(),
    };
    let more_names = names.len().saturating_sub(MOST);
    if let Some(last) = names.iter().nth(MOST).cloned() {
        names.split_off(&last);
    }
    let mut explained = Vec::new();
    for name in names {
        explained.push(of_name(context, subject, &name, &considered, servers).await);
    }
    let flags = &context.config.command_flags;
    let verdict = match explained.iter().find(|one| !one.verdict.cause.is_good()).or(explained.first()) {
        Some(first) => first.verdict.clone(),
        None => aside::of_object(context, subject, &considered).with_flags(flags),
    };
    let objects: Vec<Considered> = considered.into_iter().map(|one| one.considered).collect();
    Explanation {
        subject: subject.to_string(),
        verdict,
        place: place.to_owned(),
        objects,
        names: explained,
        more_names,
    }
}

/// Asks the sources, where it holds up nothing.
async fn consider(context: &Arc<EngineContext>, subject: &Subject) -> Vec<Consideration> {
    let (sources, subject) = (context.sources.clone(), subject.clone());
    let ask = move || sources.iter().flat_map(|source| source.consider(&subject)).collect();
    tokio::task::spawn_blocking(ask).await.unwrap_or_default()
}

async fn of_name(
    context: &Arc<EngineContext>,
    subject: &Subject,
    name: &DnsName,
    considered: &[Consideration],
    servers: Option<&dyn NameServers>,
) -> NameExplanation {
    let mut found: Vec<Findings> = Vec::new();
    for instance in &context.instances {
        for handle in instance.zone_handles() {
            if name.is_within(&handle.zone.name) {
                found.push(look(context, instance, &handle, name, servers).await);
            }
        }
    }
    let mut verdicts = choose(context, subject, name, considered, &found);
    let verdict = verdicts.pop_front().unwrap_or_else(|| Finding::new(Cause::NotAsked, [("name", name)]));
    let verdict = verdict.with_flags(&context.config.command_flags);
    let further = verdicts.into_iter().filter(|other| *other != verdict).collect();
    NameExplanation { name: name.clone(), verdict, further, zones: found.into_iter().map(|one| one.zone).collect() }
}
