//! The way from the values of the sources' flags to [`SourceOptions`].

use std::fmt::Display;

use zonewright_core::catalog::Settings;
use zonewright_core::{Error, ErrorKind};

use super::{Compatibility, SourceKind, SourceOptions, service_types};
use crate::annotations::Prefixes;
use crate::kind::Kind;
use crate::selector::Selector;
use crate::templates::Templates;

impl SourceOptions {
    /// Reads the values of the flags.
    ///
    /// # Errors
    /// A configuration error that names the flag and what was expected.
    pub fn from_settings(settings: &Settings) -> Result<Self, Error> {
        let text = |flag: &str| settings.text(flag).to_owned();
        let options = Self {
            sources: settings.list("source").iter().map(|word| source(word)).collect::<Result<_, _>>()?,
            namespace: text("namespace"),
            annotation_filter: read(settings, "annotation-filter", Selector::annotations)?,
            label_filter: read(settings, "label-filter", Selector::labels)?,
            annotation_prefixes: Prefixes::parse(settings.list("annotation-prefix"))
                .map_err(|e| bad("annotation-prefix", &e))?,
            ingress_class: settings.nonempty("ingress-class"),
            service_type_filter: service_types(settings.list("service-type-filter"))
                .map_err(|e| bad("service-type-filter", &e))?,
            publish_internal_services: settings.bool("publish-internal-services"),
            resolve_load_balancer_hostname: settings.bool("resolve-service-load-balancer-hostname"),
            publish_host_ip: settings.bool("publish-host-ip"),
            always_publish_not_ready_addresses: settings.bool("always-publish-not-ready-addresses"),
            expose_internal_ipv6: settings.bool("expose-internal-ipv6"),
            exclude_unschedulable: settings.bool("exclude-unschedulable"),
            ignore_hostname_annotation: settings.bool("ignore-hostname-annotation"),
            ignore_ingress_tls_spec: settings.bool("ignore-ingress-tls-spec"),
            ignore_ingress_rules_spec: settings.bool("ignore-ingress-rules-spec"),
            combine_fqdn_annotation: settings.bool("combine-fqdn-annotation"),
            templates: Templates::from_settings(settings)?,
            compatibility: read(settings, "compatibility", compatibility)?,
            pod_source_domain: text("pod-source-domain"),
            ignore_non_host_network_pods: settings.bool("ignore-non-host-network-pods"),
            gateway_name: text("gateway-name"),
            gateway_namespace: text("gateway-namespace"),
            gateway_label_filter: read(settings, "gateway-label-filter", Selector::annotations)?,
            gateway_listener_sets: settings.bool("gateway-listener-sets"),
            gloo_namespaces: settings.nonempty("gloo-namespace"),
            openshift_router_name: text("openshift-router-name"),
            routegroup: read(settings, "skipper-routegroup-groupversion", routegroup)?,
            traefik_legacy: settings.bool("traefik-enable-legacy"),
            traefik_new: !settings.bool("traefik-disable-new"),
            connector_server: text("connector-source-server"),
            poll_interval: settings.duration("interval"),
            unstructured: resources(&settings.nonempty("unstructured-resource"))?,
        };
        options.check().map_err(|problem| Error::new(ErrorKind::Configuration, "read the source flags", problem))?;
        Ok(options)
    }
}

fn bad(flag: &str, problem: &dyn Display) -> Error {
    Error::new(ErrorKind::Configuration, "read the source flags", format!("--{flag}: {problem}"))
}

/// The value of a flag that holds one text.
fn read<T, E: Display>(settings: &Settings, flag: &str, parse: impl Fn(&str) -> Result<T, E>) -> Result<T, Error> {
    parse(settings.text(flag)).map_err(|problem| bad(flag, &problem))
}

fn source(word: &str) -> Result<SourceKind, Error> {
    let known = || {
        let built = SourceKind::ALL.iter().filter(|(source, _)| source.is_built());
        built.map(|(_, word)| *word).collect::<Vec<_>>().join(", ")
    };
    match SourceKind::parse(word) {
        Some(source) if source.is_built() => Ok(source),
        Some(source) => {
            let feature = source.feature().unwrap_or_default();
            bad_source(&format!("{word:?} is not part of this build (Cargo feature {feature}); known are {}", known()))
        }
        None => bad_source(&format!("{word:?} is unknown; known are {}", known())),
    }
}

fn bad_source(problem: &str) -> Result<SourceKind, Error> {
    Err(bad("source", &problem))
}

fn compatibility(word: &str) -> Result<Compatibility, String> {
    let known = "mate, molecule, kops-dns-controller";
    Compatibility::parse(word).ok_or_else(|| format!("{word:?} is unknown; known are {known}"))
}

/// `group/version` of Skipper's RouteGroup; empty for the usual one.
fn routegroup(text: &str) -> Result<Kind, String> {
    let usual = Kind::RouteGroup.spec();
    if text.is_empty() || text == usual.api_version() {
        return Ok(Kind::RouteGroup);
    }
    match text.split_once('/').filter(|(group, version)| !group.is_empty() && !version.is_empty()) {
        Some((group, version)) => Ok(Kind::custom(group, version, usual.plural, usual.name, true)),
        None => Err(format!("{text:?} is no API version; expected group/version, such as {}", usual.api_version())),
    }
}

/// `plural.version.group`, or `plural.version` of the core group, each once.
fn resources(values: &[String]) -> Result<Vec<Kind>, Error> {
    let mut kinds = Vec::new();
    for value in values {
        let kind = resource(value).map_err(|problem| bad("unstructured-resource", &problem))?;
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    Ok(kinds)
}

fn resource(value: &str) -> Result<Kind, String> {
    let mut parts = value.trim().splitn(3, '.');
    let parts = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let (plural, version, group) = parts;
    if plural.is_empty() || version.is_empty() || value.trim().ends_with('.') {
        return Err(format!(
            "invalid resource identifier {value:?}: expected format resource.version.group (e.g., \
             certificates.v1.cert-manager.io)"
        ));
    }
    Ok(Kind::custom(group, version, plural, "", true))
}

#[cfg(test)]
mod tests {
    use zonewright_core::catalog::FlagValue;

    use super::*;

    fn settings(values: &[(&'static str, FlagValue)]) -> Settings {
        let mut settings = Settings::default();
        for (name, value) in values {
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
    fn kinds_by_flag() {
        let text = |text: &str| FlagValue::Text(text.to_owned());
        let options = SourceOptions::from_settings(&settings(&[
            ("annotation-prefix", list(&["a/"])),
            ("unstructured-resource", list(&["configmaps.v1", "things.v1.x.example.org", "configmaps.v1"])),
            ("skipper-routegroup-groupversion", text("x.io/v2")),
        ]))
        .unwrap();
        let ids: Vec<_> = options.unstructured.iter().map(|kind| kind.id().to_string()).collect();
        assert_eq!(ids, ["configmaps.v1", "things.v1.x.example.org"]);
        assert!(options.routegroup.is("x.io/v2", "RouteGroup"));
        let usual = [("annotation-prefix", list(&["a/"])), ("skipper-routegroup-groupversion", text("zalando.org/v1"))];
        assert_eq!(SourceOptions::from_settings(&settings(&usual)).unwrap().routegroup, Kind::RouteGroup);
    }

    /// Every source is known or told to be compiled out, and has mappers if it is built (all but three have any).
    #[test]
    fn sources_that_are_built() {
        let unstructured = list(&["configmaps.v1"]);
        for (source, word) in SourceKind::ALL {
            let values = [
                ("annotation-prefix", list(&["a/"])),
                ("source", list(&[word])),
                ("unstructured-resource", unstructured.clone()),
            ];
            match SourceOptions::from_settings(&settings(&values)) {
                Ok(options) => {
                    let bare = matches!(source, SourceKind::Connector | SourceKind::Fake | SourceKind::Empty);
                    assert!(source.is_built() && (bare || !options.reads().is_empty()), "{word}");
                }
                Err(error) => {
                    let feature = source.feature().expect("a source that every build has");
                    let expected = format!("--source: \"{word}\" is not part of this build (Cargo feature {feature});");
                    assert!(!source.is_built() && error.context.starts_with(&expected), "{error}");
                }
            }
        }
    }

    #[test]
    fn bad_values_name_their_flag() {
        for (flag, value, expected) in [
            ("source", list(&["servcie"]), "--source: \"servcie\" is unknown; known are service, ingress, node"),
            ("annotation-filter", FlagValue::Text("a!=b".to_owned()), "--annotation-filter: \"!=\" is not a valid"),
            ("label-filter", FlagValue::Text("=b".to_owned()), "--label-filter: selector \"=b\": found \"=\""),
            ("annotation-prefix", list(&["a"]), "--annotation-prefix: annotation prefix \"a\" must not be empty"),
            ("service-type-filter", list(&["X"]), "--service-type-filter: unsupported service type filter: \"X\""),
            ("ingress-class", list(&["-"]), "--ingress-class \"-\" is no class name"),
            ("compatibility", FlagValue::Text("x".to_owned()), "--compatibility: \"x\" is unknown; known are mate"),
            ("unstructured-resource", list(&["pods"]), "--unstructured-resource: invalid resource identifier \"pods\""),
            ("unstructured-resource", list(&["pods.v1."]), "--unstructured-resource: invalid resource identifier"),
            (
                "skipper-routegroup-groupversion",
                FlagValue::Text("v1".to_owned()),
                "--skipper-routegroup-groupversion: \"v1\" is no API version; expected group/version",
            ),
        ] {
            let error = SourceOptions::from_settings(&settings(&[(flag, value)])).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Configuration);
            assert!(error.context.starts_with(expected), "{error}");
        }
    }
}
