//! The Node mapper: a node's own name, or those that templates give it, at its addresses.
//!
//! In comes a Node, out go endpoints that are joined with those of other nodes. What must hold: no other object is read.

use zonewright_core::endpoint::{Mapped, Sharing};
use zonewright_core::{DnsName, RData};

use super::{MapScope, SourceRole};
use crate::kind::Kind;
use crate::lookup::ReadScope;
use crate::map::Mapping;
use crate::objects::Node;
use crate::options::{SourceKind, SourceOptions};
use crate::store::Object;

/// The work of the source. Nodes live in no namespace, so `--namespace` does not narrow it.
pub(super) fn role(options: &SourceOptions) -> SourceRole {
    SourceRole::new(SourceKind::Node, Kind::Node, "node", options, map).reading([Kind::Node], &ReadScope::All)
}

/// Maps one Node.
fn map(object: &Object, scope: &MapScope<'_>) -> Mapped {
    let Some(node) = object.body::<Node>() else { return Mapped::default() };
    let options = scope.options;
    let mut mapping = Mapping::new(&node.metadata, scope);
    let cordoned = node.spec.unschedulable && options.exclude_unschedulable;
    if options.accepts(&node.metadata).is_ok() && !cordoned {
        mapping.read_ttl_and_policy();
        publish_all(&mut mapping, node);
    }
    mapping.finish()
}

fn publish_all(mapping: &mut Mapping<'_>, node: &Node) {
    let options = mapping.scope.options;
    if options.combine_fqdn_annotation || !options.templates.gives_names() {
        let own = mapping.owner("metadata.name", &node.metadata.name);
        publish(mapping, node, own.as_slice());
    }
    mapping.publish_template_pairs();
    let names = mapping.template_names();
    publish(mapping, node, &names);
}

/// Asks for each name at the node's addresses.
fn publish(mapping: &mut Mapping<'_>, node: &Node, names: &[DnsName]) {
    if names.is_empty() {
        return;
    }
    let (targets, reason) = match mapping.stated_targets() {
        Some((field, targets)) => (targets, format!("{field} holds no valid target")),
        None => (addresses(mapping, node), "status.addresses has no ExternalIP and no InternalIP yet".to_owned()),
    };
    for name in names {
        mapping.want_or_wait(name, &targets, Sharing::Union, &reason);
    }
}

/// The external addresses, or the internal ones of a node that has none.
fn addresses(mapping: &mut Mapping<'_>, node: &Node) -> Vec<RData> {
    let mut texts: Vec<&str> = node.addresses("ExternalIP").collect();
    if texts.is_empty() {
        texts.extend(node.addresses("InternalIP"));
    } else if mapping.scope.options.expose_internal_ipv6 {
        texts.extend(node.internal_ipv6());
    }
    mapping.targets("status.addresses", texts)
}
