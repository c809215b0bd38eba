//! Which of everything that was found is *the* cause.
//!
//! The order is that in which one would mend things: what keeps a record from being as it is asked for; then that it is published;
//! then what keeps it from reaching a zone; then what keeps an object from asking; then that nobody asks.

use std::collections::VecDeque;

use zonewright_core::endpoint::Endpoint;
use zonewright_core::explain::{Cause, Consideration, Finding, Subject};
use zonewright_core::name::DnsName;
use zonewright_core::quota::QuotaLimits;

use super::aside;
use super::zone::Findings;
use crate::context::EngineContext;
use crate::quotas;

/// All verdicts on a name, the cause first.
pub(super) fn choose(
    context: &EngineContext,
    subject: &Subject,
    name: &DnsName,
    considered: &[Consideration],
    found: &[Findings],
) -> VecDeque<Finding> {
    let mut out = VecDeque::new();
    out.extend(aside::not_ready(context, name.as_str()));
    let concerns = |said: &&(Option<String>, Finding)| match subject {
        Subject::Name(_) => false,
        Subject::Object(asked) => said.0.as_deref().is_some_and(|object| {
            let (kind, rest) = object.split_once(' ').unwrap_or((object, ""));
            let (namespace, name) = rest.split_once('/').unwrap_or(("", rest));
            asked.is_kind(kind) && asked.namespace == namespace && asked.name == name
        }),
    };
    let notes = || found.iter().flat_map(|one| &one.said);
    out.extend(notes().filter(concerns).map(|(_, verdict)| verdict.clone()));
    out.extend(found.iter().flat_map(|one| one.undone.iter().cloned()));
    out.extend(waiting(context, name));
    let published: Vec<Finding> = found.iter().flat_map(|one| one.published.iter().cloned()).collect();
    if published.is_empty() {
        out.extend(notes().map(|(_, verdict)| verdict.clone()));
        out.extend(on_the_way(context, name, found));
        out.extend(considered.iter().filter_map(|one| aside::invalid_targets(name, one)));
        out.extend(aside::pending(context, name));
        out.extend(other_prefix(context, name));
        out.extend(considered.iter().flat_map(|one| aside::by_objects(Some(name), one)));
        out.extend(found.iter().flat_map(|one| one.foreign.iter().cloned()));
        if out.is_empty() {
            out.extend(found.iter().filter_map(|one| one.unread.clone()));
        }
        out.extend(aside::unread_kinds(context, name.as_str()));
        if out.is_empty() {
            let about = [("name", name.to_string()), ("detail", aside::read_sources(context))];
            out.push_back(Finding::new(Cause::NotAsked, about));
            out.extend(aside::unknown(context));
        }
    } else {
        out.extend(published);
        out.extend(notes().map(|(_, verdict)| verdict.clone()));
    }
    out
}

/// Records that wait for room.
fn waiting(context: &EngineContext, name: &DnsName) -> Vec<Finding> {
    let QuotaLimits { per_object, per_namespace } = context.config.quotas;
    let desired_state = context.desired_state();
    let asked = desired_state.table.at(name);
    let waits = |endpoint: &&&Endpoint| quotas::waits(context, &desired_state, endpoint, &asked.endpoints);
    let verdict = |endpoint: &&Endpoint| {
        let flag = format!("--max-records-per-object={per_object} --max-records-per-namespace={per_namespace}");
        let about = [
            ("name", name.to_string()),
            ("record", endpoint.key().to_string()),
            ("object", endpoint.origin.object.to_string()),
            ("flag", flag),
        ];
        Finding::new(Cause::QuotaExceeded, about)
    };
    asked.endpoints.iter().filter(waits).map(verdict).collect()
}

/// Objects ask for the name, and it reaches no zone.
fn on_the_way(context: &EngineContext, name: &DnsName, found: &[Findings]) -> Vec<Finding> {
    let config = &context.config;
    let desired_state = context.desired_state();
    let asked = desired_state.table.at(name);
    let Some(first) = asked.endpoints.first() else { return Vec::new() };
    let object = first.origin.object.to_string();
    let of_instance = || context.instances.iter().find_map(|instance| instance.filter.excluding(name));
    let served = found.iter().any(|one| one.counts);
    if let Some(flag) = config.filter.excluding(name).or_else(|| of_instance().filter(|_| !served)) {
        let about = [("name", name.to_string()), ("object", object), ("flag", flag)];
        return vec![Finding::new(Cause::NameFiltered, about)];
    }
    if !found.iter().any(|one| one.zone.chosen) {
        let errors = context.instances.iter().filter_map(|instance| {
            let listing = instance.listing();
            let error = listing.error.as_ref().map(|(error, _)| error.chain());
            error.or_else(|| (!listing.tried).then(|| format!("{} has not answered yet", instance.id)))
        });
        let errors: Vec<String> = errors.collect();
        let (cause, detail) = if errors.is_empty() {
            let titles: Vec<String> = context.zone_handles().iter().map(|handle| handle.title.clone()).collect();
            let titles = if titles.is_empty() { "there is no zone at all".to_owned() } else { titles.join(", ") };
            (Cause::NoMatchingZone, titles)
        } else {
            (Cause::ZonesUnknown, errors.join("; "))
        };
        return vec![Finding::new(cause, [("name", name.to_string()), ("object", object), ("detail", detail)])];
    }
    let unmanaged = asked.endpoints.iter().filter(|endpoint| !config.managed.contains(&endpoint.rtype));
    let managed: Vec<String> = config.managed.iter().map(ToString::to_string).collect();
    let verdict = |endpoint: &&Endpoint| {
        let about = [
            ("name", name.to_string()),
            ("record", endpoint.key().to_string()),
            ("object", endpoint.origin.object.to_string()),
            ("flag", format!("--managed-record-types={}", managed.join(","))),
        ];
        Finding::new(Cause::TypeFiltered, about)
    };
    unmanaged.map(verdict).collect()
}

/// Objects ask for the name under a prefix that is not in force.
fn other_prefix(context: &EngineContext, name: &DnsName) -> Vec<Finding> {
    let desired_state = context.desired_state();
    let asked = desired_state.table.at(name);
    let verdict = |request: &zonewright_core::plan::OtherPrefixRequest| {
        let about = [
            ("name", name.to_string()),
            ("object", request.object().to_string()),
            ("value", request.prefix().to_owned()),
            ("expected", "the prefix in force".to_owned()),
        ];
        Finding::new(Cause::OtherPrefix, about)
    };
    asked.other_prefix.iter().map(verdict).collect()
}
