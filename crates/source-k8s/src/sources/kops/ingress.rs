//! Ingresses: the hosts of their rules at the load balancer. TLS hosts and annotations are not read.

use zonewright_core::DnsName;
use zonewright_core::endpoint::Mapped;

use crate::objects::Ingress;
use crate::sources::MapScope;
use crate::store::Object;

/// Maps one Ingress.
pub(super) fn map(object: &Object, scope: &MapScope<'_>) -> Mapped {
    let Some(ingress) = object.body::<Ingress>() else { return Mapped::default() };
    super::map(&ingress.metadata, scope, |mapper| {
        let hosts = ingress.spec.rules.iter().enumerate().filter(|(_, rule)| !rule.host.is_empty());
        let names: Vec<DnsName> = hosts
            .filter_map(|(at, rule)| mapper.mapping.owner(&format!("spec.rules[{at}].host"), &rule.host))
            .collect();
        mapper.at_load_balancer(&names, &ingress.status.load_balancer);
    })
}
