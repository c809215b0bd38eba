//! The mapper of Gateway API routes: their hosts, as far as a listener that takes the route serves them, at the addresses
//! of the listener's Gateway.
//!
//! In come a route of any kind and the Gateways, ListenerSets and Namespaces that it leads to; out go endpoints. What must
//! hold: a route publishes nothing through a Gateway that has not accepted it, and a name whose fate is not known now (a
//! Gateway that is missing, or has not answered) is pending. Where that Gateway would name it, all of the route's names wait; where
//! another Gateway serves it, what this one gave stays for the grace.

mod admit;
mod attach;
mod host;
mod mapper;
mod parent;

use zonewright_core::DnsName;
use zonewright_core::endpoint::Mapped;

use self::attach::Attached;
use self::mapper::{Hosts, Mapper};
use super::{MapScope, SourceRole};
use crate::annotations::{GATEWAY_HOSTNAME_SOURCE, HOSTNAME, TARGET};
use crate::kind::Kind;
use crate::lookup::ReadScope;
use crate::map::{INVALID_ANNOTATION, INVALID_HOSTNAME, Mapping};
use crate::objects::Route;
use crate::options::{SourceKind, SourceOptions};
use crate::store::Object;

/// The sources of the family, with the kind of each and the first part of its label.
const FAMILY: [(SourceKind, Kind, &str); 5] = [
    (SourceKind::GatewayHttpRoute, Kind::HttpRoute, "httproute"),
    (SourceKind::GatewayGrpcRoute, Kind::GrpcRoute, "grpcroute"),
    (SourceKind::GatewayTlsRoute, Kind::TlsRoute, "tlsroute"),
    (SourceKind::GatewayTcpRoute, Kind::TcpRoute, "tcproute"),
    (SourceKind::GatewayUdpRoute, Kind::UdpRoute, "udproute"),
];

/// The work of one source of the family. `--namespace` is for routes alone: Gateways have a flag of their own, and
/// ListenerSets and Namespaces are seen everywhere.
pub(super) fn roles(source: SourceKind, options: &SourceOptions) -> Vec<SourceRole> {
    let sets = [Kind::ListenerSet].into_iter().filter(|_| options.gateway_listener_sets);
    let role = |kind, label| {
        SourceRole::new(source, kind, label, options, map)
            .reading([Kind::Gateway], &ReadScope::of(&options.gateway_namespace))
            .reading(sets.clone().chain([Kind::Namespace]), &ReadScope::All)
    };
    FAMILY.iter().filter(|(own, ..)| *own == source).map(|(_, kind, label)| role(*kind, label)).collect()
}

/// Maps one route.
fn map(object: &Object, scope: &MapScope<'_>) -> Mapped {
    let Some(route) = object.body::<Route>() else { return Mapped::default() };
    let mut mapping = Mapping::new(&route.metadata, scope);
    if scope.options.accepts(&route.metadata).is_ok() {
        Mapper { kind: object.kind(), route, scope, mapping: &mut mapping }.publish();
    }
    mapping.finish()
}

/// Which of the two places names are taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Places {
    Both,
    Defined,
    Annotation,
}

impl<'a> Mapper<'_, 'a> {
    fn publish(&mut self) {
        let parents = self.parents();
        if parents.is_empty() {
            return;
        }
        self.mapping.read_settings();
        self.warn_of_unread_target();
        let hosts = self.hosts();
        let mut attached = Attached::default();
        for parent in &parents {
            self.attach(parent, &hosts, &mut attached);
        }
        self.report_rest(&hosts, &attached);
    }

    /// The names that no listener served, and what a missing parent would give: names of its listeners, and targets beside those of
    /// other parents.
    fn report_rest(&mut self, hosts: &Hosts, attached: &Attached) {
        let hides = attached.hidden && (hosts.rest_on_listeners() || !attached.served.is_empty());
        if let Some(reason) = attached.doubts.first().filter(|_| hides) {
            self.mapping.wait_by_label(reason);
        }
        for name in hosts.named.iter().filter(|name| !attached.served.contains(name)) {
            if let Some(reason) = attached.doubts.first() {
                self.mapping.wait(name, reason);
            } else if attached.accepted {
                let message = format!("{name}: no listener of its parents serves this name for this route");
                self.mapping.warn("NoMatchingListener", message);
            }
        }
    }

    /// People look for it here, since it is so with every other kind.
    fn warn_of_unread_target(&mut self) {
        if let Some(annotation) = self.mapping.annotations.find(TARGET) {
            let message = format!("annotation {}: not read on a route; expected on its Gateway", annotation.key);
            self.mapping.warn(INVALID_ANNOTATION, message);
        }
    }

    fn hosts(&mut self) -> Hosts {
        let places = self.places();
        let mut hosts = Hosts::default();
        if places != Places::Annotation {
            self.defined(&mut hosts);
            hosts.of_listeners = places == Places::Both && self.stated().is_empty();
        }
        if places != Places::Defined && !self.scope.options.ignore_hostname_annotation {
            let key = self.mapping.annotations.find(HOSTNAME).map_or(HOSTNAME, |annotation| annotation.key);
            let names = self.mapping.names(HOSTNAME);
            for name in names {
                self.add(&mut hosts, &format!("annotation {key}"), name);
            }
        }
        hosts
    }

    fn places(&mut self) -> Places {
        let Some(annotation) = self.mapping.annotations.find(GATEWAY_HOSTNAME_SOURCE) else { return Places::Both };
        match annotation.value.to_lowercase().as_str() {
            "annotation-only" => Places::Annotation,
            "defined-hosts-only" => Places::Defined,
            _ => {
                let expected = "defined-hosts-only or annotation-only; names are taken from both places";
                self.mapping.bad_annotation(annotation, expected);
                Places::Both
            }
        }
    }

    /// The hosts in the route itself: TCP and UDP know none.
    fn stated(&self) -> &'a [Box<str>] {
        match self.kind {
            Kind::TcpRoute | Kind::UdpRoute => &[],
            _ => &self.route.spec.hostnames,
        }
    }

    /// The hosts of the route, and those of templates where it has none or they add to it.
    fn defined(&mut self, hosts: &mut Hosts) {
        let stated = self.stated();
        for (i, text) in stated.iter().enumerate() {
            let field = format!("spec.hostnames[{i}]");
            if let Some(name) = self.mapping.owner(&field, text) {
                self.add(hosts, &field, name);
            }
        }
        if stated.is_empty() || self.scope.options.combine_fqdn_annotation {
            for name in self.mapping.template_names() {
                self.add(hosts, "--fqdn-template", name);
            }
        }
    }

    fn add(&mut self, hosts: &mut Hosts, field: &str, name: DnsName) {
        if let Err(problem) = host::check(&name) {
            let message = format!("{field}, {:?}: {problem}; expected a host that a listener can serve", name.as_str());
            self.mapping.warn(INVALID_HOSTNAME, message);
        } else if hosts.known.insert(name.clone()) {
            hosts.named.push(name);
        }
    }
}
