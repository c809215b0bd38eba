//! The mapper of Gloo's Proxies: the domains of virtual hosts, at the Ingress or Service in front of the proxy.
//!
//! What must hold: the settings of a virtual host are those of the VirtualServices that it was made of; while one of these
//! is missing nobody knows them, so its names wait.

use std::collections::BTreeMap;
use std::rc::Rc;

use zonewright_core::DnsName;
use zonewright_core::endpoint::{EndpointExtras, Mapped};

use super::hosted::{self, Answer};
use super::{MapScope, SourceRole};
use crate::annotations::Annotations;
use crate::kind::Kind;
use crate::lookup::ReadScope;
use crate::map::{EndpointSettings, Mapping};
use crate::objects::{
    GlooListener, GlooMetadataStatic, GlooProxy, GlooVirtualHost, Plain, Service, ServiceType, TextMap,
};
use crate::options::{SourceKind, SourceOptions};
use crate::store::Object;

const GATEWAY: &str = "*v1.Gateway";
const VIRTUAL_SERVICE: &str = "*v1.VirtualService";

/// The work of the source. It has no label, and `--namespace` does not limit it.
pub(super) fn role(options: &SourceOptions) -> SourceRole {
    let kinds = [Kind::GlooProxy, Kind::GlooVirtualService, Kind::GlooGateway, Kind::Service, Kind::Ingress];
    let role =
        SourceRole::new(SourceKind::GlooProxy, Kind::GlooProxy, "", options, map).reading(kinds, &ReadScope::All);
    SourceRole { labels: Vec::new(), ..role }
}

/// Maps one Proxy.
fn map(object: &Object, scope: &MapScope<'_>) -> Mapped {
    let Some(proxy) = object.body::<GlooProxy>() else { return Mapped::default() };
    let mut mapping = Mapping::new(&proxy.metadata, scope);
    let options = scope.options;
    let here = options.gloo_namespaces.iter().any(|namespace| **namespace == *proxy.metadata.namespace);
    if here && options.passes_filters(&proxy.metadata).is_ok() && options.accepts_controller(&proxy.metadata).is_ok() {
        // What templates give has no virtual host whose annotations could say otherwise.
        let own = mapping.annotations;
        let policy = mapping.read_policy(&own);
        let settings = mapping.settings();
        mapping.put_settings(EndpointSettings { policy, ..EndpointSettings::clone(&settings) }.into());
        virtual_hosts(&mut mapping, proxy);
        mapping.apply_templates(false);
    }
    mapping.finish()
}

fn virtual_hosts(mapping: &mut Mapping<'_>, proxy: &GlooProxy) {
    let mut answer = None;
    for (at, listener) in proxy.spec.listeners.iter().enumerate() {
        for (path, host) in hosts_of(listener) {
            let names = hosted::listed(mapping, &format!("spec.listeners[{at}].{path}.domains"), &host.domains);
            if !names.is_empty() {
                let answer = answer.get_or_insert_with(|| answer_of(mapping, proxy));
                publish(mapping, host, &names, answer.as_ref());
            }
        }
    }
}

/// The virtual hosts of a listener with the paths to them; a key that names none is left out.
fn hosts_of(listener: &GlooListener) -> Vec<(String, &GlooVirtualHost)> {
    let own = listener.http_listener.virtual_hosts.iter().enumerate();
    let own = own.map(|(at, host)| (format!("httpListener.virtualHosts[{at}]"), host));
    let aggregate = &listener.aggregate_listener;
    let refs = aggregate.http_filter_chains.iter().flat_map(|chain| &chain.virtual_host_refs);
    let shared = refs.filter_map(|key| {
        let host = aggregate.http_resources.virtual_hosts.get(key)?;
        Some((format!("aggregateListener.httpResources.virtualHosts[{key:?}]"), host))
    });
    own.chain(shared).collect()
}

/// Asks for the names of one virtual host with its settings; without an answer it asks for nothing.
fn publish(mapping: &mut Mapping<'_>, host: &GlooVirtualHost, names: &[DnsName], answer: Option<&Answer>) {
    let Some(answer) = answer else { return };
    match settings(mapping, host) {
        Ok(settings) => {
            let before = mapping.put_settings(Rc::new(settings));
            answer.publish(mapping, names);
            mapping.put_settings(before);
        }
        Err(reason) => Answer::waiting(reason).publish(mapping, names),
    }
}

/// What the annotations of the VirtualServices say together, of equal keys the later one; else which one is missing.
fn settings(mapping: &mut Mapping<'_>, host: &GlooVirtualHost) -> Result<EndpointSettings, String> {
    let mut merged = BTreeMap::new();
    for (namespace, name) in virtual_services(host) {
        let service = mapping.scope.lookup.object::<Plain>(Kind::GlooVirtualService, namespace, name);
        let service =
            service.ok_or_else(|| format!("VirtualService {namespace}/{name}, which made it, is not there"))?;
        merged.extend(service.metadata.annotations.iter().map(|(key, value)| (key.to_owned(), value.to_owned())));
    }
    let merged: TextMap = merged.into_iter().collect();
    let prefixes = &mapping.scope.options.annotation_prefixes;
    let annotations = Annotations::new(prefixes, &merged);
    let ttl = mapping.read_ttl(&annotations);
    let (set_id, properties) = mapping.read_properties(&annotations);
    let policy = mapping.read_policy(&annotations).or(mapping.settings().policy);
    let extras = EndpointExtras { set_id, properties, ..EndpointExtras::default() }.into();
    Ok(EndpointSettings { ttl, policy, extras, ..EndpointSettings::default() })
}

/// Namespace and name of the VirtualServices that a virtual host was made of.
fn virtual_services(host: &GlooVirtualHost) -> impl Iterator<Item = (&str, &str)> {
    let old = host.metadata.sources.iter().filter(|source| &*source.kind == VIRTUAL_SERVICE);
    let old = old.map(|source| (&*source.namespace, &*source.name));
    old.chain(made_of(&host.metadata_static, VIRTUAL_SERVICE))
}

/// Namespace and name of the objects of one Go type that something was made of.
fn made_of<'t>(metadata: &'t GlooMetadataStatic, kind: &'static str) -> impl Iterator<Item = (&'t str, &'t str)> {
    let sources = metadata.sources.iter().filter(move |source| &*source.resource_kind == kind);
    sources.map(|source| (&*source.resource_ref.namespace, &*source.resource_ref.name))
}

/// What the proxy answers at: its annotation, the Ingresses that its gateways stand behind, or its own Service. `None`
/// where that Service is no load balancer.
fn answer_of(mapping: &mut Mapping<'_>, proxy: &GlooProxy) -> Option<Answer> {
    if let Some((field, targets)) = mapping.stated_targets() {
        return Some(Answer { targets, reason: format!("{field} holds no valid target") });
    }
    behind_gateways(mapping, proxy).or_else(|| service(mapping, proxy))
}

/// What the gateways' Ingresses answer at; a gateway that is missing may stand behind one.
fn behind_gateways(mapping: &mut Mapping<'_>, proxy: &GlooProxy) -> Option<Answer> {
    let lookup = mapping.scope.lookup;
    let mut all: Option<Answer> = None;
    for (namespace, name) in proxy.spec.listeners.iter().flat_map(|l| made_of(&l.metadata_static, GATEWAY)) {
        let Some(gateway) = lookup.object::<Plain>(Kind::GlooGateway, namespace, name) else {
            return Some(Answer::waiting(format!("Gateway {namespace}/{name}, which made a listener, is not there")));
        };
        let Some(answer) = Answer::behind_ingress(mapping, lookup, &gateway.metadata) else { continue };
        match &mut all {
            Some(all) => all.targets.extend(answer.targets),
            None => all = Some(answer),
        }
    }
    all
}

/// The load balancer of the Service that has the proxy's name.
fn service(mapping: &mut Mapping<'_>, proxy: &GlooProxy) -> Option<Answer> {
    let (namespace, name) = (&*proxy.metadata.namespace, &*proxy.metadata.name);
    let Some(service) = mapping.scope.lookup.object::<Service>(Kind::Service, namespace, name) else {
        return Some(Answer::waiting(format!("Service {namespace}/{name} of the proxy is not there")));
    };
    let service_type = service.spec.service_type;
    if service_type != ServiceType::LoadBalancer {
        let message =
            format!("Service {namespace}/{name} of the proxy has the type {service_type}; expected LoadBalancer");
        mapping.warn("UnsupportedService", message);
        return None;
    }
    let field = format!("status.loadBalancer.ingress of {}", hosted::whose(Kind::Service, &service.metadata));
    Some(Answer::stated(mapping, &field, service.status.load_balancer.targets()))
}
