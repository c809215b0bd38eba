//! Headless services: the pods behind the endpoints of their slices, under the service's name and under their own.

use std::collections::BTreeMap;
use std::sync::Arc;

use zonewright_core::endpoint::{Severity, Sharing};
use zonewright_core::{DnsName, RData};

use super::Mapper;
use crate::annotations::{Annotations, ENDPOINTS_TYPE, TARGET};
use crate::kind::Kind;
use crate::map::{INVALID_HOSTNAME, Mapping};
use crate::objects::{EndpointSlice, Pod, SliceEndpoint};

/// The pods of a headless service.
#[derive(Debug, Default)]
pub(super) struct Members {
    pods: Vec<Member>,
    /// Why a name may have no targets.
    reason: String,
}

/// One endpoint whose pod is known.
#[derive(Debug)]
struct Member {
    hostname: Box<str>,
    targets: Vec<RData>,
}

impl Members {
    /// Asks for `name` at all members, and for the name of each member that has one.
    pub(super) fn publish(&self, mapping: &mut Mapping<'_>, name: &DnsName) {
        mapping.want(name, self.pods.iter().flat_map(|pod| &pod.targets), Sharing::Union);
        mapping.wait(name, &self.reason);
        let named = || self.pods.iter().filter(|pod| !pod.hostname.is_empty());
        if name.is_wildcard() && named().next().is_some() {
            let message = format!("pods have no names of their own below the wildcard {name}");
            return mapping.warn(INVALID_HOSTNAME, message);
        }
        for pod in named() {
            let field = "spec.hostname of a pod, with the service's name";
            if let Some(own) = mapping.owner(field, &format!("{}.{name}", pod.hostname)) {
                mapping.want(&own, &pod.targets, Sharing::Union);
                mapping.wait(&own, &self.reason);
            }
        }
    }
}

/// Which addresses a headless service publishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Published {
    Pod,
    Host,
    NodeExternal,
}

/// Endpoints that give no targets, by what they lack.
#[derive(Debug, Default)]
struct Missing {
    unready: usize,
    pods: Vec<String>,
    addresses: usize,
}

impl Missing {
    fn reason(&self) -> String {
        let counts = [
            (self.unready, "not ready"),
            (self.pods.len(), "without a known pod"),
            (self.addresses, "without an address to publish"),
        ];
        let counts: Vec<String> =
            counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        if counts.is_empty() { "no endpoints".to_owned() } else { format!("endpoints: {}", counts.join(", ")) }
    }
}

impl Mapper<'_, '_> {
    /// The members of a headless service.
    pub(super) fn members(&mut self) -> Members {
        let published = self.published();
        let (namespace, name) = (&self.object.metadata.namespace, &self.object.metadata.name);
        let slices = self.lookup.endpoint_slices(namespace, name);
        let pods = self.lookup.pods(namespace, &(&self.object.spec.selector).into());
        self.mapping.rests_on(Kind::EndpointSlice, self.lookup);
        self.mapping.rests_on(Kind::Pod, self.lookup);
        let pods: BTreeMap<&str, &Arc<Pod>> = pods.iter().map(|pod| (&*pod.metadata.name, pod)).collect();

        let mut members = Members::default();
        let mut missing = Missing::default();
        for slice in &slices {
            for endpoint in &slice.endpoints {
                members.pods.extend(self.member(published, slice, endpoint, &pods, &mut missing));
            }
        }
        self.note_unknown_pods(&missing.pods);
        members.reason = missing.reason();
        members
    }

    fn published(&mut self) -> Published {
        if let Some(annotation) = self.mapping.annotations.find(ENDPOINTS_TYPE) {
            match annotation.value {
                "NodeExternalIP" => return Published::NodeExternal,
                "HostIP" => return Published::Host,
                _ => self.mapping.bad_annotation(annotation, "NodeExternalIP or HostIP"),
            }
        }
        if self.options.publish_host_ip { Published::Host } else { Published::Pod }
    }

    fn member(
        &mut self,
        published: Published,
        slice: &EndpointSlice,
        endpoint: &SliceEndpoint,
        pods: &BTreeMap<&str, &Arc<Pod>>,
        missing: &mut Missing,
    ) -> Option<Member> {
        let spec = &self.object.spec;
        let any = spec.publish_not_ready_addresses || self.options.always_publish_not_ready_addresses;
        if endpoint.conditions.ready == Some(false) && !any {
            missing.unready += 1;
            return None;
        }
        if published == Published::Pod && !slice.has_addresses() {
            missing.addresses += 1;
            return None;
        }
        let Some(pod) = pod_of(endpoint, pods) else {
            missing.pods.push(described(endpoint));
            return None;
        };
        let targets = self.member_targets(published, endpoint, pod);
        missing.addresses += usize::from(targets.is_empty());
        Some(Member { hostname: pod.spec.hostname.clone(), targets })
    }

    fn member_targets(&mut self, published: Published, endpoint: &SliceEndpoint, pod: &Pod) -> Vec<RData> {
        let own = Annotations::new(&self.options.annotation_prefixes, &pod.metadata.annotations);
        if let Some(target) = own.find(TARGET).filter(|a| !a.value.is_empty()) {
            let field = format!("annotation {} of pod {}", target.key, pod.metadata.name);
            return self.mapping.listed_targets(&field, target.value);
        }
        match published {
            Published::NodeExternal => self.node_addresses(pod),
            Published::Host => {
                let ip = Some(&*pod.status.host_ip).filter(|ip| !ip.is_empty());
                self.mapping.targets(&format!("status.hostIP of pod {}", pod.metadata.name), ip)
            }
            Published::Pod => {
                let first = endpoint.addresses.first().map(|address| &**address);
                self.mapping.targets(&format!("endpoint address of pod {}", pod.metadata.name), first)
            }
        }
    }

    /// The external addresses of a pod's node.
    fn node_addresses(&mut self, pod: &Pod) -> Vec<RData> {
        if !self.lookup.reads(Kind::Node) {
            self.mapping.warn(
                "NodesNotRead",
                "endpoints-type NodeExternalIP needs nodes, which are not read; --service-type-filter must have NodePort"
                    .to_owned(),
            );
            return Vec::new();
        }
        self.mapping.rests_on(Kind::Node, self.lookup);
        let Some(node) = self.lookup.node(&pod.spec.node_name) else { return Vec::new() };
        let external = node.addresses("ExternalIP");
        let internal = node.internal_ipv6().filter(|_| self.options.expose_internal_ipv6);
        self.mapping.targets(&format!("addresses of node {}", node.metadata.name), external.chain(internal))
    }

    /// One note however many there are, and no warning: during a rollout slices run ahead of pods for a moment.
    fn note_unknown_pods(&mut self, unknown: &[String]) {
        if let Some(first) = unknown.first() {
            let message = format!("{} endpoints name no known pod of this service, the first: {first}", unknown.len());
            self.mapping.note(Severity::Normal, "PodNotFound", message);
        }
    }
}

/// The pod that an endpoint names, if the service selects it.
fn pod_of<'p>(endpoint: &SliceEndpoint, pods: &BTreeMap<&str, &'p Arc<Pod>>) -> Option<&'p Arc<Pod>> {
    let reference = endpoint.target_ref.as_ref()?;
    let is_pod = &*reference.kind == "Pod" && reference.api_version.is_empty();
    is_pod.then(|| pods.get(&*reference.name).copied()).flatten()
}

fn described(endpoint: &SliceEndpoint) -> String {
    let address = endpoint.addresses.first().map_or("no address", |address| address);
    match &endpoint.target_ref {
        Some(reference) => format!("{} {} ({address})", reference.kind, reference.name),
        None => format!("{address}, without a targetRef"),
    }
}
