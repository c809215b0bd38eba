//! The mapper of objects of any kind (`--unstructured-resource`): annotated names, at annotated targets.
//!
//! What must hold: the resource label begins with the object's own kind, since the flag names the plural only.

use std::sync::Arc;

use zonewright_core::endpoint::{Mapped, Sharing};

use super::{MapScope, SourceRole};
use crate::annotations::HOSTNAME;
use crate::kind::Kind;
use crate::map::Mapping;
use crate::options::{SourceKind, SourceOptions};
use crate::store::Object;

/// The work of the source: on each kind that the user named.
pub(super) fn roles(options: &SourceOptions) -> Vec<SourceRole> {
    options.unstructured.iter().map(|kind| role(*kind, options)).collect()
}

fn role(kind: Kind, options: &SourceOptions) -> SourceRole {
    let labels = labels(kind.spec().name, kind.spec().plural).into_iter().map(Arc::from).collect();
    SourceRole { labels, ..SourceRole::new(SourceKind::Unstructured, kind, "", options, map) }
}

/// The first parts that labels may have: the kind's name in lower case, or all that the plural may come from.
fn labels(name: &str, plural: &str) -> Vec<String> {
    if !name.is_empty() {
        return vec![name.to_lowercase()];
    }
    let mut labels = Vec::new();
    let mut add = |label: Option<String>| labels.extend(label.filter(|label| !label.is_empty()));
    add(plural.strip_suffix("ies").map(|stem| format!("{stem}y")));
    let doubled =
        plural.strip_suffix("es").filter(|stem| ["s", "x", "z", "ch", "sh"].iter().any(|end| stem.ends_with(end)));
    add(doubled.map(str::to_owned));
    add(plural.strip_suffix('s').map(str::to_owned));
    // Some kinds are plurals themselves: Endpoints.
    add(Some(plural.to_owned()));
    labels
}

/// Maps one object. It reads no other; `--ignore-hostname-annotation` does not count.
fn map(object: &Object, scope: &MapScope<'_>) -> Mapped {
    let mut mapping = Mapping::new(object.meta(), scope);
    if scope.options.accepts(object.meta()).is_ok() {
        mapping.read_ttl_and_policy();
        annotated(&mut mapping);
        mapping.apply_templates(true);
    }
    mapping.finish()
}

/// Asks for the annotated names if there is a target annotation: the object itself states no address.
fn annotated(mapping: &mut Mapping<'_>) {
    let names = mapping.names(HOSTNAME);
    if names.is_empty() {
        return;
    }
    let Some((field, mut targets)) = mapping.stated_targets() else { return };
    targets.sort_by_cached_key(ToString::to_string);
    for name in &names {
        mapping.want_or_wait(name, &targets, Sharing::Holder, &format!("{field} holds no valid target"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_follow_the_kind() {
        for (name, plural, expected) in [
            ("", "configmaps", &["configmap", "configmaps"][..]),
            ("", "policies", &["policy", "policie", "policies"]),
            ("", "classes", &["class", "classe", "classes"]),
            ("", "nodes", &["node", "nodes"]),
            ("", "endpoints", &["endpoint", "endpoints"]),
            ("", "odd", &["odd"]),
            ("", "s", &["s"]),
            ("Even", "odd", &["even"]),
        ] {
            assert_eq!(labels(name, plural), expected, "{name:?} {plural:?}");
        }
    }
}
