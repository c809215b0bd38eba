//! The labels that external-dns puts on endpoints beside their content.
//!
//! In: a group with its claims. Out: for each side of each change what a peer that looks at labels expects: `owner` and
//! `resource` on records, `ownedRecord` on claims. Where a step does not say them, they are read off the claims of the
//! group itself, which say the same unless they are encrypted.

use std::collections::BTreeMap;

use zonewright_core::change::{Change, Group, Precondition, Role, Step};
use zonewright_core::{RData, RecordSet};

/// Labels of one endpoint.
pub(crate) type Labels = BTreeMap<String, String>;

/// Labels for the old and the new side of a step; empty where there is no such side.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sides {
    pub(crate) old: Labels,
    pub(crate) new: Labels,
}

/// The labels of one step of a group.
pub(crate) fn of(group: &Group, step: &Step) -> Sides {
    if step.role == Role::Claim {
        let owned = || Labels::from([("ownedRecord".to_owned(), group.name.to_string())]);
        return Sides {
            old: step.change.from().map(|_| owned()).unwrap_or_default(),
            new: step.change.to().map(|_| owned()).unwrap_or_default(),
        };
    }
    Sides {
        old: step.change.from().map(|_| former(group, step)).unwrap_or_default(),
        new: step.change.to().map(|_| wanted(group, step)).unwrap_or_default(),
    }
}

fn wanted(group: &Group, step: &Step) -> Labels {
    let mut labels: Labels = step.labels.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    if let Some(resource) = &step.resource {
        labels.insert("resource".to_owned(), resource.to_string());
    }
    if let Some(owner) = &step.owner {
        labels.insert("owner".to_owned(), owner.to_string());
        return labels;
    }
    let new = claims(group).filter_map(|change| change.to()).flat_map(heritages);
    if let Some(owner) = new.chain(standing(group)).find_map(|mut labels| labels.remove("owner")) {
        labels.insert("owner".to_owned(), owner);
    }
    labels
}

/// What the claim said that stands now. A delete knows its resource, so that of several claims the right one is taken.
fn former(group: &Group, step: &Step) -> Labels {
    if let Some(claim) = &step.held {
        let further = claim.labels.iter().map(|(key, value)| (key.to_string(), value.to_string()));
        let resource = claim.resource.iter().map(|resource| ("resource".to_owned(), resource.to_string()));
        return further.chain(resource).chain([("owner".to_owned(), claim.owner.to_string())]).collect();
    }
    let all: Vec<Labels> =
        claims(group).filter_map(|change| change.from()).flat_map(heritages).chain(standing(group)).collect();
    let is_delete = matches!(step.change, Change::Delete { .. });
    let fits = |labels: &&Labels| is_delete && labels.get("resource").map(String::as_str) == step.resource.as_deref();
    all.iter().find(fits).or(all.first()).cloned().unwrap_or_default()
}

fn claims(group: &Group) -> impl Iterator<Item = &Change> {
    group.steps.iter().filter(|step| step.role == Role::Claim).map(|step| &step.change)
}

/// The claims that the group leaves as they are.
fn standing(group: &Group) -> impl Iterator<Item = Labels> {
    let exact = |condition: &Precondition| match condition {
        Precondition::Exact(set) => heritages(set),
        _ => Vec::new(),
    };
    group.requires.iter().flat_map(exact)
}

/// The labels of every claim in a set, in the text form of external-dns.
fn heritages(set: &RecordSet) -> Vec<Labels> {
    let text = |data: &RData| match data {
        RData::Txt(txt) => txt.text(),
        _ => None,
    };
    set.data.as_records().iter().filter_map(text).filter_map(|text| heritage(&text)).collect()
}

fn heritage(text: &str) -> Option<Labels> {
    let rest = text.strip_prefix("heritage=external-dns,")?;
    let label = |token: &str| {
        let (key, value) = token.strip_prefix("external-dns/")?.split_once('=')?;
        Some((key.to_owned(), value.to_owned()))
    };
    Some(rest.split(',').filter_map(label).collect())
}
