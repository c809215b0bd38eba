//! Services: annotated names at a load balancer, or at the addresses of all nodes with the role `node`.

use std::sync::Arc;

use zonewright_core::RData;
use zonewright_core::endpoint::Mapped;

use super::{Mapper, Side, node};
use crate::annotations::{KOPS_EXTERNAL, KOPS_INTERNAL};
use crate::map::INVALID_ANNOTATION;
use crate::objects::{Node, Service, ServiceType};
use crate::sources::MapScope;
use crate::store::Object;

/// Maps one Service.
pub(super) fn map(object: &Object, scope: &MapScope<'_>) -> Mapped {
    let Some(service) = object.body::<Service>() else { return Mapped::default() };
    super::map(&service.metadata, scope, |mapper| {
        let sides: Vec<Side> = Side::ALL.into_iter().filter(|side| mapper.asks(*side)).collect();
        match (service.spec.service_type, &*sides) {
            (_, []) => {}
            (ServiceType::LoadBalancer, sides) => {
                let names: Vec<_> = sides.iter().flat_map(|side| mapper.names(*side)).collect();
                mapper.at_load_balancer(&names, &service.status.load_balancer);
            }
            (ServiceType::NodePort, [side]) => mapper.at_workers(*side),
            (ServiceType::NodePort, _) => mapper.mapping.warn(
                INVALID_ANNOTATION,
                format!(
                    "annotations {KOPS_EXTERNAL}, {KOPS_INTERNAL}: expected one of them on a Service of type NodePort; neither \
                     is read"
                ),
            ),
            (other, [side, ..]) => mapper.mapping.warn(
                INVALID_ANNOTATION,
                format!("annotation {}: read on Services of type LoadBalancer and NodePort, not {other}", side.key()),
            ),
        }
    })
}

impl Mapper<'_> {
    /// Asks for the names of one side at the addresses of all worker nodes.
    fn at_workers(&mut self, side: Side) {
        let names = self.names(side);
        if names.is_empty() {
            return;
        }
        let nodes: Vec<Arc<Node>> = self.scope.lookup.nodes();
        let workers: Vec<&Arc<Node>> = nodes.iter().filter(|node| node::is_worker(node)).collect();
        let targets: Vec<RData> = workers.iter().flat_map(|node| self.role_addresses(node, side)).collect();
        self.publish(
            &names,
            &targets,
            &format!("none of {} nodes with the role node has an address to publish", workers.len()),
        );
    }
}
