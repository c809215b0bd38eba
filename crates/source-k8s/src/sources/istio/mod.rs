//! The mappers of Istio's Gateways and VirtualServices: hosts and annotated names, at what gateways answer at.
//!
//! What must hold: a VirtualService gets the targets of those gateways only that let its host through, to it and from it. Of
//! several gateways, or Services of one, those that are not known now take nothing away.

mod binding;

use std::collections::BTreeSet;
use std::sync::Arc;

use zonewright_core::DnsName;
use zonewright_core::endpoint::{Mapped, Sharing};

use super::hosted::{self, Answer, LOAD_BALANCER};
use super::{MapScope, SourceRole};
use crate::annotations::{Annotations, TARGET};
use crate::kind::Kind;
use crate::lookup::ReadScope;
use crate::map::Mapping;
use crate::objects::{IstioGateway, IstioVirtualService, Service, ServiceType};
use crate::options::{SourceKind, SourceOptions};
use crate::store::Object;

/// The work of the source istio-gateway.
pub(super) fn gateway_role(options: &SourceOptions) -> SourceRole {
    SourceRole::new(SourceKind::IstioGateway, Kind::IstioGateway, "gateway", options, map_gateway)
        .reading([Kind::Service, Kind::Ingress], &ReadScope::of(&options.namespace))
}

/// The work of the source istio-virtualservice.
pub(super) fn virtual_service_role(options: &SourceOptions) -> SourceRole {
    let kind = Kind::IstioVirtualService;
    SourceRole::new(SourceKind::IstioVirtualService, kind, "virtualservice", options, map_virtual_service)
        .reading([Kind::IstioGateway, Kind::Service, Kind::Ingress], &ReadScope::of(&options.namespace))
}

/// Maps one Gateway.
fn map_gateway(object: &Object, scope: &MapScope<'_>) -> Mapped {
    let Some(gateway) = object.body::<IstioGateway>() else { return Mapped::default() };
    let mut mapping = Mapping::new(&gateway.metadata, scope);
    if scope.options.accepts(&gateway.metadata).is_ok() {
        mapping.read_settings();
        let servers = gateway.spec.servers.iter().enumerate();
        let hosts = servers.flat_map(|(i, server)| {
            server.hosts.iter().enumerate().map(move |(j, host)| (format!("spec.servers[{i}].hosts[{j}]"), bare(host)))
        });
        let mut names = hosted::hosts(&mut mapping, hosts.filter(|(_, host)| *host != "*"));
        names.extend(hosted::annotated(&mut mapping));
        hosted::publish(&mut mapping, &names, |mapping| addresses(mapping, gateway));
    }
    mapping.finish()
}

/// The host of `host` or `namespace/host`; anything else as it stands.
fn bare(text: &str) -> &str {
    match text.split_once('/') {
        Some((_, host)) if !host.contains('/') => host,
        _ => text,
    }
}

/// What a Gateway answers at: the Ingress that it stands behind, else the Services that select by its labels.
fn addresses(mapping: &mut Mapping<'_>, gateway: &IstioGateway) -> Answer {
    let lookup = mapping.scope.lookup;
    if let Some(answer) = Answer::behind_ingress(mapping, lookup, &gateway.metadata) {
        return answer;
    }
    let services: Vec<Arc<Service>> = lookup.selected(Kind::Service, None, &gateway.spec.selector);
    let mut texts = BTreeSet::new();
    let mut blank = None;
    for service in &services {
        let ips = &service.spec.external_ips;
        texts.extend(ips.iter().map(|ip| &**ip));
        let mut entries = service.status.load_balancer.first_targets().filter(|_| ips.is_empty()).peekable();
        if ips.is_empty() && entries.peek().is_none() && service.spec.service_type == ServiceType::LoadBalancer {
            blank = Some(service);
        }
        texts.extend(entries);
    }
    if let Some(blank) = blank.filter(|_| !texts.is_empty()) {
        let whose = hosted::whose(Kind::Service, &blank.metadata);
        mapping.wait_by_label(&format!("{LOAD_BALANCER} of {whose} has no address yet"));
    }
    let whose = hosted::whose(Kind::IstioGateway, &gateway.metadata);
    let field = format!("the Services that spec.selector of {whose} matches");
    Answer { targets: mapping.targets(&field, texts), reason: format!("{field} have no address yet") }
}

/// What a Gateway answers at as a VirtualService sees it: its `target` annotation counts too.
fn answer_of(mapping: &mut Mapping<'_>, gateway: &IstioGateway) -> Answer {
    let options = mapping.scope.options;
    let annotations = Annotations::new(&options.annotation_prefixes, &gateway.metadata.annotations);
    let Some(annotation) = annotations.find(TARGET).filter(|annotation| !annotation.value.is_empty()) else {
        return addresses(mapping, gateway);
    };
    let whose = hosted::whose(Kind::IstioGateway, &gateway.metadata);
    let field = format!("annotation {} of {whose}", annotation.key);
    let targets = mapping.listed_targets(&field, annotation.value);
    Answer { targets, reason: format!("{field} holds no valid target") }
}

/// Maps one VirtualService.
fn map_virtual_service(object: &Object, scope: &MapScope<'_>) -> Mapped {
    let Some(service) = object.body::<IstioVirtualService>() else { return Mapped::default() };
    let mut mapping = Mapping::new(&service.metadata, scope);
    if scope.options.accepts(&service.metadata).is_ok() {
        mapping.read_settings();
        let names = names(&mut mapping, service);
        match mapping.stated_targets().filter(|_| !names.is_empty()) {
            Some((field, targets)) => {
                let reason = format!("{field} holds no valid target");
                Answer { targets, reason }.publish(&mut mapping, &names);
            }
            None => at_gateways(&mut mapping, service, &names),
        }
        // The `target` annotation does not count for the names of templates.
        let templated = mapping.template_names();
        at_gateways(&mut mapping, service, &templated);
    }
    mapping.finish()
}

fn names(mapping: &mut Mapping<'_>, service: &IstioVirtualService) -> Vec<DnsName> {
    let hosts = service.spec.hosts.iter().enumerate().filter(|(_, host)| &***host != "*");
    let hosts = hosts.map(|(at, host)| (format!("spec.hosts[{at}]"), bare(host)));
    let mut names = hosted::hosts(mapping, hosts);
    names.extend(hosted::annotated(mapping));
    names
}

/// Asks for each name at the gateways that it is bound to, all of them together.
fn at_gateways(mapping: &mut Mapping<'_>, service: &IstioVirtualService, names: &[DnsName]) {
    if names.is_empty() {
        return;
    }
    for (at, text) in service.spec.gateways.iter().enumerate() {
        if !text.is_empty() && &**text != "mesh" {
            at_gateway(mapping, service, names, at, text);
        }
    }
}

fn at_gateway(mapping: &mut Mapping<'_>, service: &IstioVirtualService, names: &[DnsName], at: usize, text: &str) {
    let Some((namespace, name)) = hosted::namespaced(text, &service.metadata.namespace) else {
        let message =
            format!("spec.gateways[{at}], {text:?}: expected `name` or `namespace/name` of a Gateway, or `mesh`");
        mapping.warn("InvalidGateway", message);
        return;
    };
    let gateway = mapping.scope.lookup.object::<IstioGateway>(Kind::IstioGateway, namespace, name);
    let Some(gateway) = gateway else {
        let reason = format!("Gateway {namespace}/{name}, which spec.gateways[{at}] names, is not there");
        for name in names {
            mapping.wait_for_part(name, &reason);
        }
        return;
    };
    let bound: Vec<&DnsName> = names.iter().filter(|name| binding::binds(service, &gateway, name)).collect();
    if bound.is_empty() {
        return;
    }
    let answer = answer_of(mapping, &gateway);
    for name in bound {
        mapping.want_part(name, &answer.targets, Sharing::Holder, &answer.reason);
    }
}
