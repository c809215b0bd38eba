//! The sources' flags, and the way from their values to [`SourceOptions`].

use zonewright_core::catalog::{FlagKind, FlagSpec, Settings};
use zonewright_core::{Error, ErrorKind};

use super::{SourceKind, SourceOptions, service_types};
use crate::annotations::{DEFAULT_PREFIX, Prefixes};
use crate::selector::Selector;

/// The flags that choose sources and objects.
pub const FLAGS: &[FlagSpec] = &[
    FlagSpec::new(
        "source",
        FlagKind::ChoiceList(&[SourceKind::ALL[0].1, SourceKind::ALL[1].1]),
        "Where names come from; repeat it for several sources",
    ),
    FlagSpec::new("namespace", FlagKind::Text, "The only namespace to look at; empty for all"),
    FlagSpec::new("annotation-filter", FlagKind::Text, "Only objects whose annotations match this selector"),
    FlagSpec::new("label-filter", FlagKind::Text, "Only objects whose labels match this selector"),
    FlagSpec::new(
        "annotation-prefix",
        FlagKind::List,
        "Prefix of the annotations that are read, with its final slash; of several the first that has a key counts",
    )
    .or(DEFAULT_PREFIX),
    FlagSpec::new("ingress-class", FlagKind::List, "Only Ingresses of this class; repeat it for several classes"),
    FlagSpec::new(
        "service-type-filter",
        FlagKind::List,
        "Only Services of this type (ClusterIP, NodePort, LoadBalancer, ExternalName); repeat it for several types",
    ),
    FlagSpec::new("publish-internal-services", FlagKind::Bool, "Publish the cluster addresses of ClusterIP Services"),
    FlagSpec::new("publish-host-ip", FlagKind::Bool, "Publish the host addresses of the pods of headless Services"),
    FlagSpec::new(
        "always-publish-not-ready-addresses",
        FlagKind::Bool,
        "Publish endpoints of headless Services that are not ready",
    ),
    FlagSpec::new("expose-internal-ipv6", FlagKind::Bool, "Count internal IPv6 addresses of nodes as external"),
    FlagSpec::new("exclude-unschedulable", FlagKind::Bool, "Leave out nodes that are cordoned off").or("true"),
    FlagSpec::new("ignore-hostname-annotation", FlagKind::Bool, "Do not take names from annotations"),
    FlagSpec::new("ignore-ingress-tls-spec", FlagKind::Bool, "Do not take names from the TLS blocks of Ingresses"),
    FlagSpec::new("ignore-ingress-rules-spec", FlagKind::Bool, "Do not take names from the rules of Ingresses"),
];

impl SourceOptions {
    /// Reads the values of [`FLAGS`].
    ///
    /// # Errors
    /// A configuration error that names the flag and what was expected.
    pub fn from_settings(settings: &Settings) -> Result<Self, Error> {
        let bad = |flag: &str, problem: &dyn std::fmt::Display| {
            Error::new(ErrorKind::Configuration, "read the source flags", format!("--{flag}: {problem}"))
        };
        let source = |word: &String| {
            let known = SourceKind::ALL.map(|(_, word)| word).join(", ");
            SourceKind::parse(word).ok_or_else(|| bad("source", &format!("{word:?} is unknown; known are {known}")))
        };
        let options = Self {
            sources: settings.list("source").iter().map(source).collect::<Result<_, _>>()?,
            namespace: settings.text("namespace").to_owned(),
            annotation_filter: Selector::annotations(settings.text("annotation-filter"))
                .map_err(|e| bad("annotation-filter", &e))?,
            label_filter: Selector::labels(settings.text("label-filter")).map_err(|e| bad("label-filter", &e))?,
            annotation_prefixes: Prefixes::parse(settings.list("annotation-prefix"))
                .map_err(|e| bad("annotation-prefix", &e))?,
            ingress_class: settings.nonempty("ingress-class"),
            service_type_filter: service_types(settings.list("service-type-filter"))
                .map_err(|e| bad("service-type-filter", &e))?,
            publish_internal_services: settings.bool("publish-internal-services"),
            publish_host_ip: settings.bool("publish-host-ip"),
            always_publish_not_ready_addresses: settings.bool("always-publish-not-ready-addresses"),
            expose_internal_ipv6: settings.bool("expose-internal-ipv6"),
            exclude_unschedulable: settings.bool("exclude-unschedulable"),
            ignore_hostname_annotation: settings.bool("ignore-hostname-annotation"),
            ignore_ingress_tls_spec: settings.bool("ignore-ingress-tls-spec"),
            ignore_ingress_rules_spec: settings.bool("ignore-ingress-rules-spec"),
        };
        options.check().map_err(|problem| Error::new(ErrorKind::Configuration, "read the source flags", problem))?;
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use zonewright_core::catalog::FlagValue;

    use super::*;

    fn settings(values: &[(&'static str, FlagValue)]) -> Settings {
        let mut settings = Settings::default();
        for (name, value) in values {
            assert!(FLAGS.iter().any(|flag| flag.name == *name), "{name} is declared");
            settings.set(name, value.clone(), true);
        }
        settings
    }

    fn list(values: &[&str]) -> FlagValue {
        FlagValue::List(values.iter().map(|v| (*v).to_owned()).collect())
    }

    #[test]
    fn values_arrive() {
        let options = SourceOptions::from_settings(&settings(&[
            ("source", list(&["ingress", "service"])),
            ("namespace", FlagValue::Text("web".to_owned())),
            ("label-filter", FlagValue::Text("app!=x".to_owned())),
            ("annotation-prefix", list(&["a/", "b/"])),
            ("service-type-filter", list(&["NodePort"])),
            ("publish-host-ip", FlagValue::Bool(true)),
        ]))
        .unwrap();
        assert_eq!(options.sources, [SourceKind::Ingress, SourceKind::Service]);
        assert_eq!(options.namespace, "web");
        assert_eq!(options.annotation_prefixes.first(), "a/");
        assert!(options.publish_host_ip && !options.exclude_unschedulable && !options.label_filter.is_empty());
    }

    #[test]
    fn bad_values_name_their_flag() {
        for (flag, value, expected) in [
            ("source", list(&["servcie"]), "--source: \"servcie\" is unknown; known are service, ingress"),
            ("annotation-filter", FlagValue::Text("a!=b".to_owned()), "--annotation-filter: \"!=\" is not a valid"),
            ("label-filter", FlagValue::Text("=b".to_owned()), "--label-filter: selector \"=b\": found \"=\""),
            ("annotation-prefix", list(&["a"]), "--annotation-prefix: annotation prefix \"a\" must not be empty"),
            ("service-type-filter", list(&["X"]), "--service-type-filter: unsupported service type filter: \"X\""),
            ("ingress-class", list(&["-"]), "--ingress-class \"-\" is no class name"),
        ] {
            let error = SourceOptions::from_settings(&settings(&[(flag, value)])).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Configuration);
            assert!(error.context.starts_with(expected), "{error}");
        }
    }
}
