//! Pods on the host's network: annotated names at their own addresses, or at the external ones of their nodes.

use std::sync::Arc;

use zonewright_core::RData;
use zonewright_core::endpoint::Mapped;

use super::{Mapper, Side, node};
use crate::map::INVALID_ANNOTATION;
use crate::objects::{Node, Pod};
use crate::sources::MapScope;
use crate::store::Object;

/// Maps one Pod.
pub(super) fn map(object: &Object, scope: &MapScope<'_>) -> Mapped {
    let Some(pod) = object.body::<Pod>() else { return Mapped::default() };
    super::map(&pod.metadata, scope, |mapper| {
        for side in Side::ALL.into_iter().filter(|side| mapper.asks(*side)).collect::<Vec<_>>() {
            mapper.pod(pod, side);
        }
    })
}

impl Mapper<'_> {
    fn pod(&mut self, pod: &Pod, side: Side) {
        if !pod.spec.host_network {
            let text = format!("annotation {}: read on pods with spec.hostNetwork: true only", side.key());
            return self.mapping.warn(INVALID_ANNOTATION, text);
        }
        let names = self.names(side);
        let (targets, reason) = self.pod_addresses(pod, side);
        self.publish(&names, &targets, &reason);
    }

    /// What names of one side stand for, and why that may be nothing.
    fn pod_addresses(&mut self, pod: &Pod, side: Side) -> (Vec<RData>, String) {
        let node = &*pod.spec.node_name;
        if node.is_empty() {
            return (Vec::new(), "spec.nodeName is not set yet".to_owned());
        }
        let ips = ips(pod);
        if let (Side::Internal, &[ip]) = (side, &*ips) {
            // The only address of a pod on the host's network is its node's.
            return (self.addresses("status.podIP", [ip]), String::new());
        }
        if side == Side::Internal && ips.is_empty() {
            return (Vec::new(), "status.podIP is not set yet".to_owned());
        }
        let Some(found): Option<Arc<Node>> = self.scope.lookup.node(node) else {
            return (Vec::new(), format!("node {node} is not known"));
        };
        match side {
            Side::Internal => {
                let of_node = ips.into_iter().filter(|ip| node::has_internal(&found, ip));
                (
                    self.addresses("status.podIPs", of_node),
                    format!("no address of the pod is an InternalIP of node {node}"),
                )
            }
            Side::External => {
                let targets = self.node_addresses(&found, side);
                (targets, format!("node {node} has no external address: neither ExternalIP nor an IPv6 InternalIP"))
            }
        }
    }
}

/// The addresses of a pod.
fn ips(pod: &Pod) -> Vec<&str> {
    let all: Vec<&str> = pod.status.pod_ips.iter().map(|ip| &*ip.ip).filter(|ip| !ip.is_empty()).collect();
    if all.is_empty() { Some(&*pod.status.pod_ip).filter(|ip| !ip.is_empty()).into_iter().collect() } else { all }
}
