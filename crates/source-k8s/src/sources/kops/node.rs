//! Nodes: they ask for no name, and give the addresses that the others refer to.

use std::net::IpAddr;

use super::{Mapper, Side};
use crate::annotations::KOPS_EXTERNAL_IP;
use crate::objects::Node;
use crate::options::KopsOptions;
use zonewright_core::RData;

/// Begins the labels that say what a node is for.
const ROLE: &str = "node-role.kubernetes.io/";
/// The label that said so before.
const FORMER_ROLE: &str = "kubernetes.io/role";
/// The role of a node that runs what users deploy.
const WORKER: &str = "node";

/// Whether a node has the role `node`: by one of its role labels, else by the former label. One without any has it too.
pub(super) fn is_worker(node: &Node) -> bool {
    let labels = &node.metadata.labels;
    let mut roles =
        labels.iter().filter_map(|(key, _)| key.strip_prefix(ROLE)).filter(|role| !role.is_empty()).peekable();
    if roles.peek().is_some() {
        return roles.any(|role| role == WORKER);
    }
    labels.get(FORMER_ROLE).is_none_or(|role| role.is_empty() || role == WORKER)
}

/// The addresses of a node that count on one side for the pods on it, as texts.
fn texts(node: &Node, side: Side, kops: KopsOptions) -> Vec<&str> {
    let is_internal = |text: &&str| text.parse::<IpAddr>().is_ok_and(|address| kops.has_internal(address));
    match side {
        Side::Internal => node.addresses("InternalIP").filter(is_internal).collect(),
        Side::External => {
            let mut external = external(node);
            external.extend(node.internal_ipv6().filter(|_| kops.external_ipv6));
            external
        }
    }
}

/// The ExternalIPs of a node; where there is none, those that its annotation states.
fn external(node: &Node) -> Vec<&str> {
    let external: Vec<&str> = node.addresses("ExternalIP").collect();
    if !external.is_empty() {
        return external;
    }
    let stated = node.metadata.annotations.get(KOPS_EXTERNAL_IP).into_iter();
    stated.flat_map(|list| list.split(',')).map(str::trim).filter(|text| !text.is_empty()).collect()
}

/// The addresses of a node that count on one side for all nodes of its role: those of the type, whatever their family.
fn texts_of_role(node: &Node, side: Side) -> Vec<&str> {
    match side {
        Side::Internal => node.addresses("InternalIP").collect(),
        Side::External => external(node),
    }
}

/// Whether an address is an InternalIP of a node, in whatever form either is written.
pub(super) fn has_internal(node: &Node, address: &str) -> bool {
    let Ok(address) = address.parse::<IpAddr>() else { return false };
    node.addresses("InternalIP").any(|text| text.parse() == Ok(address))
}

impl Mapper<'_> {
    /// The addresses of a node that count on one side for the pods on it.
    pub(super) fn node_addresses(&mut self, node: &Node, side: Side) -> Vec<RData> {
        self.addresses(&field(node), texts(node, side, self.kops))
    }

    /// The addresses of a node that count on one side for all nodes of its role.
    pub(super) fn role_addresses(&mut self, node: &Node, side: Side) -> Vec<RData> {
        self.addresses(&field(node), texts_of_role(node, side))
    }
}

fn field(node: &Node) -> String {
    format!("addresses of node {}", node.metadata.name)
}
