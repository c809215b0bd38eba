//! NodePort services: the addresses of nodes, and SRV records for their ports.

use std::collections::BTreeMap;
use std::sync::Arc;

use zonewright_core::endpoint::Sharing;
use zonewright_core::{DnsName, RData};

use super::{Answer, Mapper};
use crate::annotations::ACCESS;
use crate::kind::Kind;
use crate::objects::{Node, Pod};

/// SRV priority and weight, as external-dns writes them.
const PRIORITY: u16 = 0;
const WEIGHT: u16 = 50;

/// Which addresses of nodes count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Public,
    Private,
    /// External ones if there are any, else internal ones.
    Either,
}

/// How good a pod is for its node to answer for the service, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    NotReady,
    Leaving,
    Ready,
}

impl Mapper<'_, '_> {
    /// The addresses of the nodes that answer for the service.
    pub(super) fn node_port(&mut self) -> Answer {
        let access = self.access();
        self.mapping.rests_on(Kind::Node, self.lookup);
        let local = &*self.object.spec.external_traffic_policy == "Local";
        let nodes = if local { self.nodes_with_pods() } else { self.lookup.nodes() };
        if nodes.is_empty() {
            let of = if local { " runs a pod of this service" } else { "s are known" };
            return Answer::Waiting(format!("no node{of}"));
        }
        let usable: Vec<_> =
            nodes.iter().filter(|node| !(node.spec.unschedulable && self.options.exclude_unschedulable)).collect();
        let targets = self.addresses(access, &usable);
        Answer::of(targets, || format!("none of {} nodes is usable and has an address to publish", nodes.len()))
    }

    fn access(&mut self) -> Access {
        let Some(annotation) = self.mapping.annotations.find(ACCESS) else { return Access::Either };
        match annotation.value {
            "public" => Access::Public,
            "private" => Access::Private,
            _ => {
                self.mapping.bad_annotation(annotation, "public or private");
                Access::Either
            }
        }
    }

    fn addresses(&mut self, access: Access, nodes: &[&Arc<Node>]) -> Vec<RData> {
        let external: Vec<&str> = nodes.iter().flat_map(|node| node.addresses("ExternalIP")).collect();
        let internal = nodes.iter().flat_map(|node| node.addresses("InternalIP"));
        let internal_ipv6 = nodes.iter().flat_map(|node| node.internal_ipv6());
        let exposed = internal_ipv6.filter(|_| self.options.expose_internal_ipv6);
        let public = access == Access::Public || access == Access::Either && !external.is_empty();
        let texts: Vec<&str> = if public { external.into_iter().chain(exposed).collect() } else { internal.collect() };
        self.mapping.targets("addresses of nodes", texts)
    }

    /// The known nodes on which the best pods of the service run, by name.
    fn nodes_with_pods(&mut self) -> Vec<Arc<Node>> {
        self.mapping.rests_on(Kind::Pod, self.lookup);
        let pods = self.lookup.pods(&self.object.metadata.namespace, &(&self.object.spec.selector).into());
        let mut ranks: BTreeMap<&str, Rank> = BTreeMap::new();
        for pod in pods.iter().filter(|pod| pod.status.running) {
            let rank = ranks.entry(&pod.spec.node_name).or_insert(Rank::NotReady);
            *rank = (*rank).max(Rank::of(pod));
        }
        let known: Vec<(Rank, Arc<Node>)> =
            ranks.into_iter().filter_map(|(name, rank)| Some((rank, self.lookup.node(name)?))).collect();
        let best = known.iter().map(|(rank, _)| *rank).max();
        known.into_iter().filter(|(rank, _)| Some(*rank) == best).map(|(_, node)| node).collect()
    }

    /// One SRV record for each port that nodes answer on (RFC 2782).
    pub(super) fn srv(&mut self, names: &[DnsName]) {
        for port in &self.object.spec.ports {
            let Some(number) = u16::try_from(port.node_port).ok().filter(|number| *number > 0) else { continue };
            let protocol = if port.protocol.is_empty() { "tcp" } else { &port.protocol };
            for name in names {
                let text = format!("_{}._{}.{name}", self.object.metadata.name, protocol.to_lowercase());
                let Some(owner) = self.mapping.owner("SRV name of a node port", &text) else { continue };
                let data = RData::Srv { priority: PRIORITY, weight: WEIGHT, port: number, target: name.clone() };
                self.mapping.want(&owner, [&data], Sharing::Holder);
            }
        }
    }
}

impl Rank {
    fn of(pod: &Pod) -> Self {
        match (pod.status.ready, pod.metadata.deleting) {
            (true, false) => Self::Ready,
            (true, true) => Self::Leaving,
            (false, _) => Self::NotReady,
        }
    }
}
