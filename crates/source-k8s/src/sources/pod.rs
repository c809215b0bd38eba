//! The Pod mapper: annotated names at the addresses of the pod or of its node.
//!
//! In come a Pod and, where a name stands for its node, that Node; out go endpoints that are joined with those of other
//! pods. What must hold: a node is read only where a name needs it, so that most pods rest on themselves alone.

use zonewright_core::endpoint::{Mapped, Sharing};
use zonewright_core::{DnsName, RData};

use super::{MapScope, SourceRole};
use crate::annotations::{HOSTNAME, INTERNAL_HOSTNAME, KOPS_EXTERNAL, KOPS_INTERNAL};
use crate::kind::Kind;
use crate::lookup::ReadScope;
use crate::map::Mapping;
use crate::objects::Pod;
use crate::options::{Compatibility, SourceKind, SourceOptions};
use crate::store::Object;

/// The work of the source. Its endpoints carry no label, since a name has many pods.
pub(super) fn role(options: &SourceOptions) -> SourceRole {
    let role = SourceRole::new(SourceKind::Pod, Kind::Pod, "pod", options, map).reading([Kind::Node], &ReadScope::All);
    SourceRole { labels: Vec::new(), ..role }
}

/// Maps one Pod.
fn map(object: &Object, scope: &MapScope<'_>) -> Mapped {
    let Some(pod) = object.body::<Pod>() else { return Mapped::default() };
    let options = scope.options;
    let mut mapping = Mapping::new(&pod.metadata, scope);
    if options.accepts(&pod.metadata).is_ok() {
        mapping.read_ttl_and_policy();
        let mut mapper = Mapper { pod, mapping: &mut mapping };
        if pod.spec.host_network || !options.ignore_non_host_network_pods {
            mapper.annotated();
            mapper.by_domain();
        }
        mapper.templated();
    }
    mapping.finish()
}

/// Targets, and why there may be none.
type Answer = (Vec<RData>, String);

struct Mapper<'m, 'a> {
    pod: &'a Pod,
    mapping: &'m mut Mapping<'a>,
}

impl Mapper<'_, '_> {
    fn annotated(&mut self) {
        let names = self.mapping.names(INTERNAL_HOSTNAME);
        self.publish(&names, |mapper| mapper.stated_or(Self::address));
        let names = self.mapping.names(HOSTNAME);
        self.publish(&names, |mapper| mapper.stated_or(Self::node_addresses));
        if self.mapping.scope.options.compatibility == Compatibility::KopsDnsController {
            let names = self.mapping.plain_names(KOPS_INTERNAL);
            self.publish(&names, Self::address);
            let names = self.mapping.plain_names(KOPS_EXTERNAL);
            self.publish(&names, Self::node_addresses);
        }
    }

    /// The pod's own name below `--pod-source-domain`.
    fn by_domain(&mut self) {
        let domain = &self.mapping.scope.options.pod_source_domain;
        if domain.is_empty() {
            return;
        }
        let text = format!("{}.{domain}", self.pod.metadata.name);
        let name = self.mapping.owner("metadata.name with --pod-source-domain", &text);
        self.publish(name.as_slice(), |mapper| mapper.stated_or(Self::address));
    }

    /// Names of templates stand for every address of the pod, whatever its annotations state.
    fn templated(&mut self) {
        self.mapping.publish_template_pairs();
        let names = self.mapping.template_names();
        self.publish(&names, |mapper| {
            let field = "status.podIPs";
            let ips = mapper.pod.status.pod_ips.iter().map(|ip| &*ip.ip).filter(|ip| !ip.is_empty());
            (mapper.mapping.targets(field, ips), format!("{field} has no address yet"))
        });
    }

    fn publish(&mut self, names: &[DnsName], answer: impl FnOnce(&mut Self) -> Answer) {
        if names.is_empty() {
            return;
        }
        let (targets, reason) = answer(self);
        for name in names {
            self.mapping.want_or_wait(name, &targets, Sharing::Union, &reason);
        }
    }

    fn stated_or(&mut self, otherwise: impl FnOnce(&mut Self) -> Answer) -> Answer {
        match self.mapping.stated_targets() {
            Some((field, targets)) => (targets, format!("{field} holds no valid target")),
            None => otherwise(self),
        }
    }

    fn address(&mut self) -> Answer {
        let field = "status.podIP";
        let ip = Some(&*self.pod.status.pod_ip).filter(|ip| !ip.is_empty());
        (self.mapping.targets(field, ip), format!("{field} is not set yet"))
    }

    /// The addresses of the pod's node that can be reached from outside: IPv6 ones are taken for that wherever they stand.
    fn node_addresses(&mut self) -> Answer {
        let name = &*self.pod.spec.node_name;
        if name.is_empty() {
            return (Vec::new(), "spec.nodeName is not set yet".to_owned());
        }
        let Some(node) = self.mapping.scope.lookup.node(name) else {
            return (Vec::new(), format!("node {name} is not known"));
        };
        let field = format!("addresses of node {name}");
        let targets = self.mapping.targets(&field, node.addresses("ExternalIP").chain(node.internal_ipv6()));
        (targets, format!("node {name} has no ExternalIP and no IPv6 address"))
    }
}
