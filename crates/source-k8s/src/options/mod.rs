//! What the user chose: which sources run, which objects they look at, and which of an object's addresses count.
//!
//! In come flags, out go the answers that mappers and feeds ask for: does this object count, which kinds are to be read.
//! What must hold: a filter that does not parse is an error at start, never an open filter.

mod accept;
mod flags;
mod kops;
mod source_kind;

use std::time::Duration;

pub use accept::Rejection;
pub use kops::{KOPS, KopsOptions};
pub use source_kind::SourceKind;

use crate::annotations::{AnnotationFilterKeys, INGRESS_CLASS, Prefixes};
use crate::kind::Kind;
use crate::objects::ServiceType;
use crate::selector::{MetadataSelector, is_label_value};
use crate::templates::Templates;

/// The options of all sources.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own, free to combine with the others")]
pub struct SourceOptions {
    /// `--source`, in order: of equal claims the one of the first source counts.
    pub sources: Vec<SourceKind>,
    /// `--namespace`; empty for all.
    pub namespace: String,
    /// `--annotation-filter`.
    pub annotation_filter: MetadataSelector,
    /// `--label-filter`.
    pub label_filter: MetadataSelector,
    /// `--annotation-prefix`.
    pub annotation_prefixes: Prefixes,
    /// `--ingress-class`; empty for all.
    pub ingress_class: Vec<String>,
    /// `--service-type-filter`; empty for all.
    pub service_type_filter: Vec<ServiceType>,
    /// `--publish-internal-services`: cluster addresses count for ordinary names too.
    pub publish_internal_services: bool,
    /// `--resolve-service-load-balancer-hostname`: the host names of load balancers are published as addresses.
    pub resolve_load_balancer_hostname: bool,
    /// `--publish-host-ip`: headless services publish the addresses of their pods' hosts.
    pub publish_host_ip: bool,
    /// `--always-publish-not-ready-addresses`: headless services publish endpoints that are not ready.
    pub always_publish_not_ready_addresses: bool,
    /// `--expose-internal-ipv6`: internal IPv6 addresses of nodes count as external.
    pub expose_internal_ipv6: bool,
    /// `--exclude-unschedulable`: cordoned nodes do not count. On by default.
    pub exclude_unschedulable: bool,
    /// `--ignore-hostname-annotation`.
    pub ignore_hostname_annotation: bool,
    /// `--max-names-per-annotation`: most names that one annotation gives; 0 is no limit.
    pub max_names_per_annotation: usize,
    /// `--ignore-ingress-tls-spec`.
    pub ignore_ingress_tls_spec: bool,
    /// `--ignore-ingress-rules-spec`.
    pub ignore_ingress_rules_spec: bool,
    /// `--combine-fqdn-annotation`: templates add to what the objects themselves ask for.
    pub combine_fqdn_annotation: bool,
    /// `--fqdn-template`, `--target-template` and `--fqdn-target-template`.
    pub templates: Templates,
    /// `--compatibility`.
    pub compatibility: Compatibility,
    /// `--pod-source-domain`; empty for none.
    pub pod_source_domain: String,
    /// `--ignore-non-host-network-pods`.
    pub ignore_non_host_network_pods: bool,
    /// `--gateway-name`; empty for all.
    pub gateway_name: String,
    /// `--gateway-namespace`; empty for all.
    pub gateway_namespace: String,
    /// `--gateway-label-filter`.
    pub gateway_label_filter: MetadataSelector,
    /// `--gateway-listener-sets`.
    pub gateway_listener_sets: bool,
    /// `--gloo-namespace`.
    pub gloo_namespaces: Vec<String>,
    /// `--openshift-router-name`; empty for any.
    pub openshift_router_name: String,
    /// `--skipper-routegroup-groupversion`: the kind that the source reads.
    pub routegroup: Kind,
    /// `--traefik-enable-legacy`: the group traefik.containo.us too.
    pub traefik_legacy: bool,
    /// Whether the group traefik.io is read: not with `--traefik-disable-new`.
    pub traefik_new: bool,
    /// `--connector-source-server`: host and port.
    pub connector_server: String,
    /// How often sources are read that do not report by themselves that something changed (`--interval`).
    pub poll_interval: Duration,
    /// How long a kind that cannot be listed is tried again before it counts as settled; nothing for a process that stays, since
    /// it learns of what comes later.
    pub patience: Duration,
    /// `--unstructured-resource`, in order.
    pub unstructured: Vec<Kind>,
    /// Whether objects count whose controller annotation names another one: for whoever looks for a name. No flag says it.
    pub any_controller: bool,
    /// `zonewright kops`: the objects are read as dns-controller reads them, and in no other way.
    pub kops: Option<KopsOptions>,
}

/// `--compatibility`: whose old annotations are read too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Compatibility {
    /// Nobody's.
    #[default]
    None,
    /// Those of mate.
    Mate,
    /// Those of molecule.
    Molecule,
    /// Those of kops' dns-controller.
    KopsDnsController,
}

impl Compatibility {
    /// The mode of a flag's value; `None` if there is no such mode.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "" => Some(Self::None),
            "mate" => Some(Self::Mate),
            "molecule" => Some(Self::Molecule),
            "kops-dns-controller" => Some(Self::KopsDnsController),
            _ => None,
        }
    }
}

impl Default for SourceOptions {
    fn default() -> Self {
        Self {
            sources: Vec::new(),
            namespace: String::new(),
            annotation_filter: MetadataSelector::default(),
            label_filter: MetadataSelector::default(),
            annotation_prefixes: Prefixes::default(),
            ingress_class: Vec::new(),
            service_type_filter: Vec::new(),
            publish_internal_services: false,
            resolve_load_balancer_hostname: false,
            publish_host_ip: false,
            always_publish_not_ready_addresses: false,
            expose_internal_ipv6: false,
            exclude_unschedulable: true,
            ignore_hostname_annotation: false,
            max_names_per_annotation: 1_000,
            ignore_ingress_tls_spec: false,
            ignore_ingress_rules_spec: false,
            combine_fqdn_annotation: false,
            templates: Templates::default(),
            compatibility: Compatibility::None,
            pod_source_domain: String::new(),
            ignore_non_host_network_pods: false,
            gateway_name: String::new(),
            gateway_namespace: String::new(),
            gateway_label_filter: MetadataSelector::default(),
            gateway_listener_sets: false,
            gloo_namespaces: vec!["gloo-system".to_owned()],
            openshift_router_name: String::new(),
            routegroup: Kind::RouteGroup,
            traefik_legacy: false,
            traefik_new: true,
            connector_server: "localhost:8080".to_owned(),
            poll_interval: Duration::from_mins(1),
            patience: Duration::ZERO,
            unstructured: Vec::new(),
            any_controller: false,
            kops: None,
        }
    }
}

impl SourceOptions {
    /// The position of a source among the `--source` flags.
    pub fn rank(&self, source: SourceKind) -> usize {
        self.sources.iter().position(|s| *s == source).unwrap_or(self.sources.len())
    }

    /// Whether the type filter lets services of this type through.
    pub fn takes_type(&self, service_type: ServiceType) -> bool {
        self.service_type_filter.is_empty() || self.service_type_filter.contains(&service_type)
    }

    /// The annotations that have to be kept in memory.
    pub fn annotation_keys(&self) -> AnnotationFilterKeys {
        AnnotationFilterKeys::new(self.annotation_prefixes.iter(), self.annotation_filter.keys())
    }

    /// Refuses options that exclude each other.
    ///
    /// # Errors
    /// A sentence for the user, naming the flags.
    pub fn check(&self) -> Result<(), String> {
        if self.ingress_class.is_empty() {
            return Ok(());
        }
        if self.annotation_filter.keys().any(|key| key == INGRESS_CLASS) {
            return Err("--ingress-class is mutually exclusive with the kubernetes.io/ingress.class annotation filter"
                .to_owned());
        }
        match self.ingress_class.iter().find(|class| !is_label_value(class)) {
            Some(class) => Err(format!(
                "--ingress-class {class:?} is no class name; expected up to 63 letters, digits, '-', '_' and '.'"
            )),
            None => Ok(()),
        }
    }
}

/// Reads the values of `--service-type-filter`; none, or an empty one among them, lets every type through.
///
/// # Errors
/// A value is no type; the sentence lists the types.
pub fn service_types(values: &[impl AsRef<str>]) -> Result<Vec<ServiceType>, String> {
    let parse = |value: &str| {
        ServiceType::parse(value).ok_or_else(|| {
            let known = ServiceType::ALL.map(|(_, name)| name).join(" ");
            format!("unsupported service type filter: {value:?}. Supported types are: [{known}]")
        })
    };
    if values.iter().any(|value| value.as_ref().is_empty()) {
        return Ok(Vec::new());
    }
    values.iter().map(|value| parse(value.as_ref())).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn options(sources: &[SourceKind], types: &[&str]) -> SourceOptions {
        let service_type_filter = service_types(types).unwrap();
        SourceOptions { sources: sources.to_vec(), service_type_filter, ..SourceOptions::default() }
    }

    /// ST21 of the service source, and what each source reads at all.
    #[test]
    fn kinds_follow_the_type_filter() {
        use Kind::{EndpointSlice, Ingress, Node, Pod, Service};
        for (sources, types, expected) in [
            (&[SourceKind::Service][..], &[][..], &[Service, EndpointSlice, Pod, Node][..]),
            (&[SourceKind::Service], &["ClusterIP"], &[Service, EndpointSlice, Pod]),
            (&[SourceKind::Service], &["NodePort", "ExternalName"], &[Service, EndpointSlice, Pod, Node]),
            (&[SourceKind::Service], &["ExternalName"], &[Service]),
            (&[SourceKind::Service], &["LoadBalancer"], &[Service]),
            (&[SourceKind::Ingress], &[], &[Ingress]),
            (&[SourceKind::Ingress, SourceKind::Service], &["LoadBalancer"], &[Ingress, Service]),
            (&[], &[], &[]),
        ] {
            let expected: BTreeSet<Kind> = expected.iter().copied().collect();
            let reads: BTreeSet<Kind> = options(sources, types).reads().into_keys().collect();
            assert_eq!(reads, expected, "{sources:?} {types:?}");
        }
    }

    /// ST22.
    #[test]
    fn service_type_filters() {
        assert_eq!(service_types(&[""; 0]), Ok(vec![]));
        assert_eq!(service_types(&["NodePort", ""]), Ok(vec![]));
        assert_eq!(service_types(&["ClusterIP", "NodePort"]), Ok(vec![ServiceType::ClusterIp, ServiceType::NodePort]));
        for bad in ["ServiceTypeNotExist", "clusterip"] {
            let error = service_types(&["ClusterIP", bad]).unwrap_err();
            assert!(error.contains(&format!("{bad:?}. Supported types are: [ClusterIP ")), "{error}");
        }
    }

    /// I58.
    #[test]
    fn class_list_and_class_filter_exclude_each_other() {
        let filter = MetadataSelector::annotations("kubernetes.io/ingress.class=nginx").unwrap();
        let classes = vec!["public".to_owned()];
        let check = |annotation_filter: &MetadataSelector, ingress_class: &[String]| {
            let annotation_filter = annotation_filter.clone();
            SourceOptions { annotation_filter, ingress_class: ingress_class.to_vec(), ..SourceOptions::default() }
                .check()
        };
        assert_eq!(check(&filter, &[]), Ok(()));
        assert_eq!(check(&MetadataSelector::default(), &classes), Ok(()));
        assert!(check(&filter, &classes).unwrap_err().contains("mutually exclusive"));
        assert!(check(&MetadataSelector::default(), &["a b".to_owned()]).unwrap_err().contains("\"a b\""));
    }

    #[test]
    fn rank_is_the_position_of_the_flag() {
        let options = options(&[SourceKind::Ingress, SourceKind::Service], &[]);
        assert_eq!((options.rank(SourceKind::Ingress), options.rank(SourceKind::Service)), (0, 1));
        for (source, word) in SourceKind::ALL {
            assert_eq!((SourceKind::parse(word), source.as_str()), (Some(*source), *word));
        }
    }

    #[test]
    fn filters_keep_the_annotations_that_they_read() {
        let annotation_filter = MetadataSelector::annotations("tier=front,!x.example/y").unwrap();
        let keys = SourceOptions { annotation_filter, ..SourceOptions::default() }.annotation_keys();
        assert!(keys.keeps("tier") && keys.keeps("x.example/y") && !keys.keeps("other"));
    }
}
