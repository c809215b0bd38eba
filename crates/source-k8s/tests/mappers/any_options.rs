//! Options at random: every source, and any combination of what can be said to them.

use std::str::FromStr;
use std::sync::LazyLock;

use proptest::prelude::*;
use zonewright_core::catalog::{FlagValue, Settings};
use zonewright_source_k8s::annotations::Prefixes;
use zonewright_source_k8s::options::{Compatibility, SourceOptions, service_types};
use zonewright_source_k8s::selector::MetadataSelector;
use zonewright_source_k8s::templates::Templates;

use crate::things::everything;

/// The three template flags: names, targets, pairs of both.
const TEMPLATES: [[&str; 3]; 7] = [
    ["", "", ""],
    ["", "", ""],
    ["{{.Name}}.t.example.org,{{.Namespace}}.t.example.org", "", ""],
    ["{{.Name}}.t.example.org", "{{.Labels.app}},9.9.9.9", ""],
    ["", "9.9.9.9", "{{.Name}}.t.example.org:{{.Namespace}},x"],
    ["{{.Spec.ClusterIP}}.t.example.org", "", "{{range .Status.Addresses}}a.t.example.org:{{.Address}},{{end}}"],
    ["{{range $k, $v := .Annotations}}{{$v}},{{end}}", "{{.Spec.Host}}", "{{index .Spec.Hosts 0}}:{{.Name}}"],
];

static ALL_TEMPLATES: LazyLock<Vec<Templates>> = LazyLock::new(|| TEMPLATES.iter().map(templates).collect());

fn templates(texts: &[&str; 3]) -> Templates {
    let mut settings = Settings::default();
    for (flag, text) in ["fqdn-template", "target-template", "fqdn-target-template"].into_iter().zip(texts) {
        let texts = Some((*text).to_owned()).filter(|text| !text.is_empty());
        settings.set(flag, FlagValue::List(texts.into_iter().collect()), true);
    }
    Templates::from_settings(&settings).expect("templates that parse")
}

fn words<const N: usize>(words: [&'static str; N]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(words.to_vec())
}

fn switches() -> impl Strategy<Value = Vec<bool>> {
    prop::collection::vec(any::<bool>(), 13)
}

/// The values of the options that are no switches.
#[derive(Debug, Clone)]
struct Texts {
    namespace: &'static str,
    annotations: &'static str,
    labels: &'static str,
    prefixes: &'static str,
    class: &'static str,
    service_type: &'static str,
    domain: &'static str,
    gateway: &'static str,
    router: &'static str,
    compatibility: Compatibility,
    templates: usize,
}

fn texts() -> impl Strategy<Value = Texts> {
    let filters = (
        words(["", "", "", "ns", "x"]),
        words(["", "", "", "external-dns.kubernetes.io/hostname", "!tier"]),
        words(["", "", "", "app=web", "!app"]),
        words(["external-dns.kubernetes.io/", "b/ external-dns.kubernetes.io/"]),
        words(["", "", "public"]),
        words(["", "", "NodePort", "ClusterIP"]),
    );
    let compatibility =
        [Compatibility::None, Compatibility::Mate, Compatibility::Molecule, Compatibility::KopsDnsController];
    let more = (
        words(["", "pods.example.org", "..", "*"]),
        words(["", "", "gw", "ns"]),
        words(["", "", "r"]),
        prop::sample::select(compatibility.to_vec()),
        0..TEMPLATES.len(),
    );
    (filters, more).prop_map(
        |(
            (namespace, annotations, labels, prefixes, class, service_type),
            (domain, gateway, router, compatibility, templates),
        )| Texts {
            namespace,
            annotations,
            labels,
            prefixes,
            class,
            service_type,
            domain,
            gateway,
            router,
            compatibility,
            templates,
        },
    )
}

/// Any combination of options, with every source.
pub(crate) fn any_options() -> impl Strategy<Value = SourceOptions> {
    (switches(), texts()).prop_map(|(switches, texts)| everything(|options| apply(options, &switches, &texts)))
}

fn apply(options: &mut SourceOptions, switches: &[bool], texts: &Texts) {
    let owned = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    switch(options, switches);
    texts.namespace.clone_into(&mut options.namespace);
    options.annotation_filter = MetadataSelector::annotations(texts.annotations).expect("a filter");
    options.label_filter = MetadataSelector::from_str(texts.labels).expect("a filter");
    options.annotation_prefixes = Prefixes::parse(&owned(texts.prefixes)).expect("prefixes");
    options.ingress_class = owned(texts.class);
    options.service_type_filter = service_types(&owned(texts.service_type)).expect("types");
    options.compatibility = texts.compatibility;
    texts.domain.clone_into(&mut options.pod_source_domain);
    // One word serves as the name or as the namespace of a Gateway.
    match texts.gateway {
        "ns" => "ns".clone_into(&mut options.gateway_namespace),
        name => name.clone_into(&mut options.gateway_name),
    }
    options.gateway_label_filter = MetadataSelector::from_str(texts.labels).expect("a filter");
    texts.router.clone_into(&mut options.openshift_router_name);
    options.templates = ALL_TEMPLATES.get(texts.templates).cloned().unwrap_or_default();
}

fn switch(options: &mut SourceOptions, switches: &[bool]) {
    let all: [&mut bool; 13] = [
        &mut options.publish_internal_services,
        &mut options.publish_host_ip,
        &mut options.resolve_load_balancer_hostname,
        &mut options.always_publish_not_ready_addresses,
        &mut options.expose_internal_ipv6,
        &mut options.exclude_unschedulable,
        &mut options.ignore_hostname_annotation,
        &mut options.ignore_ingress_tls_spec,
        &mut options.ignore_ingress_rules_spec,
        &mut options.combine_fqdn_annotation,
        &mut options.ignore_non_host_network_pods,
        &mut options.traefik_new,
        &mut options.gateway_listener_sets,
    ];
    for (option, on) in all.into_iter().zip(switches) {
        *option = *on;
    }
}
