//! The rights of `deploy/kops/rbac.yaml`: what the daemon uses, no more and no less.

use std::collections::BTreeSet;

use serde_json::Value;

use super::plane::{Plane, manifest};

/// `verb group/resource` of every rule of the manifest.
fn granted() -> BTreeSet<String> {
    let list = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
    };
    let roles = manifest();
    let mut rights = BTreeSet::new();
    for rule in roles.iter().flat_map(|role| role["rules"].as_array().into_iter().flatten()) {
        for group in list(&rule["apiGroups"]) {
            for resource in list(&rule["resources"]) {
                rights.extend(list(&rule["verbs"]).iter().map(|verb| format!("{verb} {group}/{resource}")));
            }
        }
    }
    rights
}

/// The same of every request of the daemon; those that were refused apart.
fn used(plane: &Plane) -> (BTreeSet<String>, BTreeSet<String>) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (mut used, mut refused) = (BTreeSet::new(), BTreeSet::new());
    let of_daemon = |event: &Value| text(&event["userAgent"]).starts_with("zonewright/");
    for event in plane.requests().into_iter().filter(of_daemon) {
        let [group, resource] = ["apiGroup", "resource"].map(|field| text(&event["objectRef"][field]));
        if !resource.is_empty() && resource != "selfsubjectaccessreviews" {
            let set = if event["responseStatus"]["code"] == 403 { &mut refused } else { &mut used };
            set.insert(format!("{} {group}/{resource}", text(&event["verb"])));
        }
    }
    (used, refused)
}

/// Compares both, after a life with everything in it.
#[track_caller]
pub(super) fn are_exact(plane: &Plane) {
    let (granted, (used, refused)) = (granted(), used(plane));
    // An API server that has just started refuses what it has not read the roles of yet.
    let missing: Vec<&String> = refused.difference(&used).collect();
    assert!(missing.is_empty(), "refused: {missing:?}");
    // What is watched is listed where an API server cannot stream its lists.
    let listed =
        |right: &&String| right.strip_prefix("list ").is_some_and(|kind| used.contains(&format!("watch {kind}")));
    let unused: Vec<&String> = granted.difference(&used).filter(|right| !listed(right)).collect();
    assert!(unused.is_empty(), "granted and never used: {unused:?}; used: {used:#?}");
}
