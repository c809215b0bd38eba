//! The Service mapper: annotated names and those of templates, at what the service's type answers at.
//!
//! In come a Service and, for headless and NodePort ones, the slices, pods and nodes behind it; out go endpoints. What
//! must hold: nothing but the `target` annotation and the service itself is read where those are enough, so that a delete
//! rests on as few kinds as possible.

mod compat;
mod headless;
mod node_port;

use zonewright_core::endpoint::{Mapped, Sharing};
use zonewright_core::{DnsName, RData};

use self::headless::Members;
use super::{MapScope, SourceRole};
use crate::annotations::{HOSTNAME, INTERNAL_HOSTNAME};
use crate::kind::Kind;
use crate::lookup::{Lookup, ReadScope};
use crate::map::Mapping;
use crate::objects::{Host, Service, ServiceType};
use crate::options::{SourceKind, SourceOptions};
use crate::store::Object;

/// The work of the source: pods, slices and nodes are read only where the type filter lets a service through that needs
/// them.
pub(super) fn role(options: &SourceOptions) -> SourceRole {
    let role = SourceRole::new(SourceKind::Service, Kind::Service, "service", options, map);
    let reach = ReadScope::of(&options.namespace);
    let node_port = options.takes_type(ServiceType::NodePort);
    let members = node_port || options.takes_type(ServiceType::ClusterIp);
    role.reading([Kind::EndpointSlice, Kind::Pod].into_iter().filter(|_| members), &reach)
        .reading([Kind::Host].into_iter().filter(|_| options.resolve_load_balancer_hostname), &ReadScope::All)
        .reading([Kind::Node].into_iter().filter(|_| node_port), &ReadScope::All)
}

/// Maps one Service.
fn map(object: &Object, scope: &MapScope<'_>) -> Mapped {
    let Some(object) = object.body::<Service>() else { return Mapped::default() };
    let mut mapping = Mapping::new(&object.metadata, scope);
    if scope.options.accepts_service(object).is_ok() {
        mapping.read_settings();
        Mapper { object, options: scope.options, lookup: scope.lookup, mapping: &mut mapping }.publish_all();
    }
    mapping.finish()
}

/// Which of a service's addresses a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    External,
    Internal,
}

/// What a service answers at.
#[derive(Debug)]
enum Answer {
    /// The same targets for every name.
    Same(Vec<RData>),
    /// Targets by pod, with names of their own.
    Members(Members),
    /// It should answer, but the targets are not known now.
    Waiting(String),
    /// The service asks for no name.
    Nothing,
}

struct Mapper<'m, 'a> {
    object: &'a Service,
    options: &'a SourceOptions,
    lookup: &'a Lookup<'a>,
    mapping: &'m mut Mapping<'a>,
}

impl Mapper<'_, '_> {
    /// The three places that names come from; each knows when it is its turn.
    fn publish_all(&mut self) {
        self.annotated();
        if self.mapping.is_empty() {
            self.compatible();
        }
        self.mapping.publish_template_pairs();
        let names = self.mapping.template_names();
        self.publish(&names, Side::External);
    }

    fn annotated(&mut self) {
        if self.options.ignore_hostname_annotation {
            return;
        }
        let external = self.mapping.names(HOSTNAME);
        let internal = self.mapping.names(INTERNAL_HOSTNAME);
        self.publish(&external, Side::External);
        self.publish(&internal, Side::Internal);
    }

    /// Asks for each name, wherever it came from, at what the service answers at.
    fn publish(&mut self, names: &[DnsName], side: Side) {
        if names.is_empty() {
            return;
        }
        if let Some((field, targets)) = self.mapping.stated_targets() {
            let answer = Answer::of(targets, || format!("{field} holds no valid target"));
            return self.answer(names, &answer);
        }
        let answer = match self.object.spec.service_type {
            ServiceType::LoadBalancer => self.load_balancer(side),
            ServiceType::ClusterIp => self.cluster_ip(side),
            ServiceType::NodePort => {
                self.srv(names);
                self.node_port()
            }
            ServiceType::ExternalName => self.external_name(),
            ServiceType::Unknown => Answer::Nothing,
        };
        self.answer(names, &answer);
    }

    fn answer(&mut self, names: &[DnsName], answer: &Answer) {
        for name in names {
            match answer {
                Answer::Same(targets) => self.mapping.want(name, targets, Sharing::Holder),
                Answer::Members(members) => members.publish(self.mapping, name),
                Answer::Waiting(reason) => self.mapping.wait(name, reason),
                Answer::Nothing => {}
            }
        }
    }

    fn load_balancer(&mut self, side: Side) -> Answer {
        if side == Side::Internal {
            return if self.is_headless() { Answer::Nothing } else { self.cluster_address() };
        }
        self.external_ips().unwrap_or_else(|| {
            let (targets, reason) = self.balancer_targets();
            Answer::of(self.resolved(targets), || reason)
        })
    }

    /// What the load balancer answers at, and why that may be nothing.
    fn balancer_targets(&mut self) -> (Vec<RData>, String) {
        let field = "status.loadBalancer.ingress";
        (self.mapping.targets(field, self.object.status.load_balancer.targets()), format!("{field} has no address yet"))
    }

    /// The same targets, or those with the addresses of the hosts in their place.
    fn resolved(&mut self, targets: Vec<RData>) -> Vec<RData> {
        if !self.options.resolve_load_balancer_hostname {
            return targets;
        }
        let field = "the addresses of a load balancer's host";
        let mut resolved = Vec::new();
        for target in targets {
            let RData::Cname(host) = target else {
                resolved.push(target);
                continue;
            };
            if let Some(host) = self.lookup.object::<Host>(Kind::Host, "", host.as_str()) {
                resolved.extend(self.mapping.targets(field, host.addresses.iter().map(|address| &**address)));
            } else {
                // The others are published; what stands for this one is not taken away.
                let label = self.mapping.settings().resource.clone();
                self.mapping.cannot_determine([label], &format!("{host} is not resolved"));
            }
        }
        resolved
    }

    fn cluster_ip(&mut self, side: Side) -> Answer {
        if self.is_headless() {
            return Answer::Members(self.members());
        }
        if side == Side::External && !self.options.publish_internal_services {
            return Answer::Nothing;
        }
        self.cluster_address()
    }

    fn external_name(&mut self) -> Answer {
        self.external_ips().unwrap_or_else(|| self.single("spec.externalName", &self.object.spec.external_name))
    }

    fn cluster_address(&mut self) -> Answer {
        self.single("spec.clusterIP", &self.object.spec.cluster_ip)
    }

    fn single(&mut self, field: &str, text: &str) -> Answer {
        let targets = self.mapping.targets(field, Some(text).filter(|text| !text.is_empty()));
        Answer::of(targets, || format!("{field} is not set yet"))
    }

    /// `spec.externalIPs`, if there are any.
    fn external_ips(&mut self) -> Option<Answer> {
        let field = "spec.externalIPs";
        let ips = &self.object.spec.external_ips;
        let targets = || self.mapping.targets(field, ips.iter().map(|ip| &**ip));
        (!ips.is_empty()).then(targets).map(|targets| Answer::of(targets, || format!("{field} holds no valid address")))
    }

    fn is_headless(&self) -> bool {
        &*self.object.spec.cluster_ip == "None"
    }
}

impl Answer {
    fn of(targets: Vec<RData>, reason: impl FnOnce() -> String) -> Self {
        if targets.is_empty() { Self::Waiting(reason()) } else { Self::Same(targets) }
    }
}
