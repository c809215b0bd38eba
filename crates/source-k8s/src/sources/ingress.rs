//! The Ingress mapper: rule hosts, TLS hosts, annotated names and those of templates, at the addresses of the load
//! balancer.

use zonewright_core::DnsName;
use zonewright_core::endpoint::{Mapped, Sharing};

use super::{MapScope, SourceRole};
use crate::annotations::{HOSTNAME, INGRESS_HOSTNAME_SOURCE};
use crate::kind::Kind;
use crate::map::Mapping;
use crate::objects::Ingress;
use crate::options::{SourceKind, SourceOptions};
use crate::store::Object;

/// The work of the source.
pub(super) fn role(options: &SourceOptions) -> SourceRole {
    SourceRole::new(SourceKind::Ingress, Kind::Ingress, "ingress", options, map)
}

/// Maps one Ingress. It reads no other object.
fn map(object: &Object, scope: &MapScope<'_>) -> Mapped {
    let Some(object) = object.body::<Ingress>() else { return Mapped::default() };
    let options = scope.options;
    let mut mapping = Mapping::new(&object.metadata, scope);
    if options.accepts_ingress(object).is_ok() {
        mapping.read_settings();
        let names = names(&mut mapping, object, options);
        publish(&mut mapping, object, &names);
        let names = mapping.template_names();
        publish(&mut mapping, object, &names);
    }
    mapping.finish()
}

/// Asks for each name at the object's targets.
fn publish(mapping: &mut Mapping<'_>, object: &Ingress, names: &[DnsName]) {
    if names.is_empty() {
        return;
    }
    let (targets, reason) = if let Some((field, targets)) = mapping.stated_targets() {
        (targets, format!("{field} holds no valid target"))
    } else {
        let field = "status.loadBalancer.ingress";
        (mapping.targets(field, object.status.load_balancer.targets()), format!("{field} has no address yet"))
    };
    for name in names {
        mapping.want_or_wait(name, &targets, Sharing::Holder, &reason);
    }
}

/// Which of the two places names are taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Places {
    defined: bool,
    annotated: bool,
}

fn names(mapping: &mut Mapping<'_>, object: &Ingress, options: &SourceOptions) -> Vec<DnsName> {
    let places = places(mapping);
    let mut names = Vec::new();
    if places.defined {
        names.extend(defined(mapping, object, options));
    }
    if places.annotated && !options.ignore_hostname_annotation {
        names.extend(mapping.names(HOSTNAME));
    }
    names
}

fn places(mapping: &mut Mapping<'_>) -> Places {
    let Some(annotation) = mapping.annotations.find(INGRESS_HOSTNAME_SOURCE) else {
        return Places { defined: true, annotated: true };
    };
    match annotation.value.to_lowercase().as_str() {
        "defined-hosts-only" => Places { defined: true, annotated: false },
        "annotation-only" => Places { defined: false, annotated: true },
        _ => {
            mapping.bad_annotation(annotation, "defined-hosts-only or annotation-only; no names are taken from it");
            Places { defined: false, annotated: false }
        }
    }
}

/// The hosts of rules and TLS blocks, as the flags allow.
fn defined(mapping: &mut Mapping<'_>, object: &Ingress, options: &SourceOptions) -> Vec<DnsName> {
    let rules = object.spec.rules.iter().enumerate().map(|(i, rule)| (format!("spec.rules[{i}].host"), &*rule.host));
    let tls = object.spec.tls.iter().enumerate().flat_map(|(i, block)| {
        block.hosts.iter().enumerate().map(move |(j, host)| (format!("spec.tls[{i}].hosts[{j}]"), &**host))
    });
    let rules = rules.filter(|_| !options.ignore_ingress_rules_spec);
    let tls = tls.filter(|_| !options.ignore_ingress_tls_spec);
    rules
        .chain(tls)
        .filter(|(_, host)| !host.is_empty())
        .filter_map(|(field, host)| mapping.owner(&field, host))
        .collect()
}
