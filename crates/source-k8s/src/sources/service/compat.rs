//! `--compatibility`: the annotations of the programs that came before, on services whose usual ones gave nothing.
//!
//! In comes a Service, out go endpoints without label, TTL, set identifier and properties: those programs knew none. What
//! must hold: the load balancer's status and, for kops' NodePort services, nodes are all that is read.

use std::rc::Rc;
use std::sync::Arc;

use zonewright_core::endpoint::Sharing;
use zonewright_core::{DnsName, RData};

use super::Mapper;
use crate::annotations::{KOPS_EXTERNAL, KOPS_INTERNAL, MATE_NAME, MOLECULE_NAMES};
use crate::kind::Kind;
use crate::map::{EndpointSettings, INVALID_ANNOTATION};
use crate::objects::{Node, ServiceType};
use crate::options::Compatibility;

/// Label and value that a service needs for molecule.
const MOLECULE_LABEL: (&str, &str) = ("dns", "route53");

/// Label key of the nodes that answer for NodePort services, as kops labels its workers.
const WORKER: &str = "node-role.kubernetes.io/node";

/// Which addresses of nodes count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    External,
    Internal,
}

impl Mapper<'_, '_> {
    /// Asks for the names that the annotations of another program state, if one is chosen.
    pub(super) fn compatible(&mut self) {
        let bare = EndpointSettings { policy: self.mapping.settings().policy, ..EndpointSettings::default() };
        let settings = self.mapping.put_settings(Rc::new(bare));
        match self.options.compatibility {
            Compatibility::None => {}
            Compatibility::Mate => self.mate(),
            Compatibility::Molecule => self.molecule(),
            Compatibility::KopsDnsController => self.kops(),
        }
        self.mapping.put_settings(settings);
    }

    /// The whole value is one name.
    fn mate(&mut self) {
        let Some(text) = self.mapping.annotations.plain(MATE_NAME) else { return };
        let name = self.mapping.owner(&format!("annotation {MATE_NAME}"), text);
        self.at_load_balancer(name.as_slice(), Sharing::Holder);
    }

    fn molecule(&mut self) {
        let (key, value) = MOLECULE_LABEL;
        if self.object.metadata.labels.get(key) == Some(value) {
            let names = self.mapping.plain_names(MOLECULE_NAMES);
            self.at_load_balancer(&names, Sharing::Holder);
        }
    }

    fn kops(&mut self) {
        let has = |key: &str| self.mapping.annotations.plain(key).is_some();
        match (self.object.spec.service_type, has(KOPS_EXTERNAL), has(KOPS_INTERNAL)) {
            (_, false, false) => {}
            (ServiceType::LoadBalancer, ..) => {
                let names = [KOPS_EXTERNAL, KOPS_INTERNAL].map(|key| self.mapping.plain_names(key)).concat();
                self.at_load_balancer(&names, Sharing::Union);
            }
            (ServiceType::NodePort, true, true) => {
                let expected = "expected one of them on a Service of type NodePort; neither is read";
                self.mapping
                    .warn(INVALID_ANNOTATION, format!("annotations {KOPS_EXTERNAL}, {KOPS_INTERNAL}: {expected}"));
            }
            (ServiceType::NodePort, true, false) => self.at_workers(KOPS_EXTERNAL, Side::External),
            (ServiceType::NodePort, false, true) => self.at_workers(KOPS_INTERNAL, Side::Internal),
            (other, external, _) => {
                let key = if external { KOPS_EXTERNAL } else { KOPS_INTERNAL };
                let message =
                    format!("annotation {key}: read on Services of type LoadBalancer and NodePort, not {other}");
                self.mapping.warn(INVALID_ANNOTATION, message);
            }
        }
    }

    fn at_load_balancer(&mut self, names: &[DnsName], sharing: Sharing) {
        if names.is_empty() {
            return;
        }
        let (targets, reason) = self.balancer_targets();
        for name in names {
            self.mapping.want_or_wait(name, &targets, sharing, &reason);
        }
    }

    /// Names at the addresses of all worker nodes, cordoned or not.
    fn at_workers(&mut self, key: &str, side: Side) {
        let names = self.mapping.plain_names(key);
        if names.is_empty() {
            return;
        }
        self.mapping.rests_on(Kind::Node, self.lookup);
        let workers: Vec<Arc<Node>> =
            self.lookup.nodes().into_iter().filter(|node| node.metadata.labels.get(WORKER).is_some()).collect();
        let targets = self.worker_addresses(&workers, side);
        let reason = format!("none of {} nodes with the label {WORKER} has an address to publish", workers.len());
        for name in &names {
            self.mapping.want_or_wait(name, &targets, Sharing::Union, &reason);
        }
    }

    fn worker_addresses(&mut self, workers: &[Arc<Node>], side: Side) -> Vec<RData> {
        let exposed = self.options.expose_internal_ipv6;
        let texts = workers.iter().flat_map(|node| -> Vec<&str> {
            match side {
                Side::Internal => node.addresses("InternalIP").collect(),
                Side::External => {
                    node.addresses("ExternalIP").chain(node.internal_ipv6().filter(|_| exposed)).collect()
                }
            }
        });
        self.mapping.targets("addresses of nodes", texts)
    }
}
