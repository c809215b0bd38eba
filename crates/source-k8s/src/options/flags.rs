//! The way from the values of the sources' flags to [`SourceOptions`].
//!
//! In come the values of all flags, out come options. What must hold: a flag that no chosen source reads is as if it were
//! not given, whatever its value.

use std::fmt::Display;
use std::time::Duration;

use zonewright_core::catalog::Settings;
use zonewright_core::{Error, ErrorKind};

use super::{Compatibility, KopsOptions, SourceKind, SourceOptions, service_types};
use crate::annotations::{ALPHA_PREFIX, Prefixes};
use crate::kind::Kind;
use crate::objects::ServiceType;
use crate::selector::MetadataSelector;
use crate::templates::Templates;

impl SourceOptions {
    /// Reads the values of the flags.
    ///
    /// # Errors
    /// A configuration error that names the flag and what was expected.
    pub fn from_settings(settings: &Settings) -> Result<Self, Error> {
        let text = |flag: &str| settings.text(flag).to_owned();
        let sources =
            settings.list("source").iter().map(|word| source(word)).collect::<Result<Vec<SourceKind>, Error>>()?;
        let own = OwnFlags::of(&sources, settings)?;
        let options = Self {
            sources,
            namespace: text("namespace"),
            annotation_filter: read(settings, "annotation-filter", MetadataSelector::annotations)?,
            label_filter: read(settings, "label-filter", MetadataSelector::labels)?,
            annotation_prefixes: annotation_prefixes(settings)?,
            ingress_class: own.ingress_class,
            service_type_filter: own.service_type_filter,
            publish_internal_services: settings.bool("publish-internal-services"),
            resolve_load_balancer_hostname: settings.bool("resolve-service-load-balancer-hostname"),
            publish_host_ip: settings.bool("publish-host-ip"),
            always_publish_not_ready_addresses: settings.bool("always-publish-not-ready-addresses"),
            expose_internal_ipv6: settings.bool("expose-internal-ipv6"),
            exclude_unschedulable: settings.bool("exclude-unschedulable"),
            ignore_hostname_annotation: settings.bool("ignore-hostname-annotation"),
            max_names_per_annotation: usize::try_from(settings.int("max-names-per-annotation"))
                .map_err(|_| bad("max-names-per-annotation", &"must not be negative"))?,
            ignore_ingress_tls_spec: settings.bool("ignore-ingress-tls-spec"),
            ignore_ingress_rules_spec: settings.bool("ignore-ingress-rules-spec"),
            combine_fqdn_annotation: settings.bool("combine-fqdn-annotation"),
            templates: Templates::from_settings(settings)?,
            compatibility: own.compatibility,
            pod_source_domain: text("pod-source-domain"),
            ignore_non_host_network_pods: settings.bool("ignore-non-host-network-pods"),
            gateway_name: text("gateway-name"),
            gateway_namespace: text("gateway-namespace"),
            gateway_label_filter: own.gateway_label_filter,
            gateway_listener_sets: settings.bool("gateway-listener-sets"),
            gloo_namespaces: settings.nonempty("gloo-namespace"),
            openshift_router_name: text("openshift-router-name"),
            routegroup: own.routegroup,
            traefik_legacy: settings.bool("traefik-enable-legacy"),
            traefik_new: !settings.bool("traefik-disable-new"),
            connector_server: text("connector-source-server"),
            poll_interval: settings.duration("interval"),
            patience: Duration::ZERO,
            unstructured: own.unstructured,
            any_controller: false,
            kops: KopsOptions::from_settings(settings),
        };
        options.check().map_err(|problem| Error::new(ErrorKind::Configuration, "read the source flags", problem))?;
        Ok(options)
    }
}

/// The sources that read `--gateway-label-filter`.
const GATEWAY: &[SourceKind] = &[
    SourceKind::GatewayHttpRoute,
    SourceKind::GatewayGrpcRoute,
    SourceKind::GatewayTlsRoute,
    SourceKind::GatewayTcpRoute,
    SourceKind::GatewayUdpRoute,
];

/// What the flags of single sources say that can be wrong, and what they say where no such source is chosen: nothing.
struct OwnFlags {
    ingress_class: Vec<String>,
    service_type_filter: Vec<ServiceType>,
    compatibility: Compatibility,
    gateway_label_filter: MetadataSelector,
    routegroup: Kind,
    unstructured: Vec<Kind>,
}

impl OwnFlags {
    fn of(chosen: &[SourceKind], settings: &Settings) -> Result<Self, Error> {
        use SourceKind::{Ingress, Pod, Service, SkipperRouteGroup, Unstructured};
        // The settings as far as one of these sources is chosen.
        let none = Settings::default();
        let of = |readers: &[SourceKind]| if readers.iter().any(|one| chosen.contains(one)) { settings } else { &none };
        Ok(Self {
            ingress_class: of(&[Ingress]).nonempty("ingress-class"),
            service_type_filter: service_types(of(&[Service]).list("service-type-filter"))
                .map_err(|e| bad("service-type-filter", &e))?,
            compatibility: read(of(&[Service, Pod]), "compatibility", compatibility)?,
            gateway_label_filter: read(of(GATEWAY), "gateway-label-filter", MetadataSelector::annotations)?,
            routegroup: read(of(&[SkipperRouteGroup]), "skipper-routegroup-groupversion", routegroup)?,
            unstructured: resources(&of(&[Unstructured]).nonempty("unstructured-resource"))?,
        })
    }
}

fn annotation_prefixes(settings: &Settings) -> Result<Prefixes, Error> {
    let given = Prefixes::parse(settings.list("annotation-prefix")).map_err(|e| bad("annotation-prefix", &e))?;
    let legacy = settings.bool("enable-legacy-annotation-prefix").then_some(ALPHA_PREFIX);
    let all: Vec<&str> = given.iter().chain(legacy).collect();
    Prefixes::parse(&all).map_err(|e| bad("annotation-prefix", &e))
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
    fn the_legacy_prefix_stands_in_for_the_others() {
        for (given, expected) in
            [(list(&["a/"]), &["a/", ALPHA_PREFIX][..]), (list(&[ALPHA_PREFIX, "a/"]), &[ALPHA_PREFIX, "a/"])]
        {
            let legacy = ("enable-legacy-annotation-prefix", FlagValue::Bool(true));
            let options = SourceOptions::from_settings(&settings(&[("annotation-prefix", given), legacy])).unwrap();
            assert_eq!(options.annotation_prefixes.iter().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn kinds_by_flag() {
        let options = SourceOptions::from_settings(&settings(&[
            ("source", list(&["unstructured"])),
            ("annotation-prefix", list(&["a/"])),
            ("unstructured-resource", list(&["configmaps.v1", "things.v1.x.example.org", "configmaps.v1"])),
        ]))
        .unwrap();
        let ids: Vec<_> = options.unstructured.iter().map(|kind| kind.id().to_string()).collect();
        assert_eq!(ids, ["configmaps.v1", "things.v1.x.example.org"]);
        for (version, expected) in [
            ("", Ok("zalando.org/v1")),
            ("zalando.org/v1", Ok("zalando.org/v1")),
            ("x.io/v2", Ok("x.io/v2")),
            ("v1", Err("\"v1\" is no API version; expected group/version")),
            ("/v1", Err("\"/v1\" is no API version; expected group/version")),
        ] {
            match (routegroup(version), expected) {
                (Ok(kind), Ok(expected)) => assert!(kind.is(expected, "RouteGroup"), "{version}"),
                (Err(problem), Err(expected)) => assert!(problem.starts_with(expected), "{problem}"),
                (found, _) => panic!("{version}: {found:?}"),
            }
        }
    }

    /// Every source is known or reported as compiled out, and has mappers if it is built (all but three have any).
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

    /// With the source that reads the flag, a bad value is an error; with another one it is not even looked at.
    #[test]
    fn bad_values_name_their_flag() {
        let text = |text: &str| FlagValue::Text(text.to_owned());
        let filter = ("annotation-filter", text("kubernetes.io/ingress.class=a"));
        for (sources, given, expected) in [
            (
                &["service"][..],
                vec![("source", list(&["servcie"]))],
                "--source: \"servcie\" is unknown; known are service, ingress, node",
            ),
            (&["service"], vec![("annotation-filter", text("a!=b"))], "--annotation-filter: \"!=\" is not a valid"),
            (&["service"], vec![("label-filter", text("=b"))], "--label-filter: selector \"=b\": found \"=\""),
            (
                &["service"],
                vec![("annotation-prefix", list(&["a"]))],
                "--annotation-prefix: annotation prefix \"a\" must not be empty",
            ),
            (
                &["service"],
                vec![("service-type-filter", list(&["X"]))],
                "--service-type-filter: unsupported service type filter: \"X\"",
            ),
            (&["ingress"], vec![("service-type-filter", list(&["X"]))], ""),
            (&["ingress"], vec![("ingress-class", list(&["-"]))], "--ingress-class \"-\" is no class name"),
            (&["service"], vec![("ingress-class", list(&["-"]))], ""),
            (
                &["service", "ingress"],
                vec![("ingress-class", list(&["a"])), filter.clone()],
                "--ingress-class is mutually exclusive",
            ),
            (&["service"], vec![("ingress-class", list(&["a"])), filter], ""),
            (&["service"], vec![("compatibility", text("x"))], "--compatibility: \"x\" is unknown; known are mate"),
            (&["pod"], vec![("compatibility", text("x"))], "--compatibility: \"x\" is unknown; known are mate"),
            (&["ingress"], vec![("compatibility", text("x"))], ""),
            (
                &["unstructured"],
                vec![("unstructured-resource", list(&["pods"]))],
                "--unstructured-resource: invalid resource identifier \"pods\"",
            ),
            (
                &["unstructured"],
                vec![("unstructured-resource", list(&["pods.v1."]))],
                "--unstructured-resource: invalid resource identifier",
            ),
            (&["service"], vec![("unstructured-resource", list(&["foo"]))], ""),
            (&["service"], vec![("skipper-routegroup-groupversion", text("foo"))], ""),
            (&["service"], vec![("gateway-label-filter", text(",,="))], ""),
        ] {
            let mut values = vec![("source", list(sources)), ("annotation-prefix", list(&["a/"]))];
            values.extend(given.clone());
            let shown = format!("{sources:?} {given:?}");
            match SourceOptions::from_settings(&settings(&values)) {
                Ok(_) => assert!(expected.is_empty(), "{shown}"),
                Err(error) => {
                    assert_eq!(error.kind, ErrorKind::Configuration);
                    assert!(!expected.is_empty() && error.context.starts_with(expected), "{shown}: {error}");
                }
            }
        }
    }

    /// Sources that not every build has.
    #[test]
    fn bad_values_of_further_sources() {
        let text = |text: &str| FlagValue::Text(text.to_owned());
        for (source, flag, value, expected) in [
            ("gateway-udproute", "gateway-label-filter", ",,=", "--gateway-label-filter: "),
            ("gateway-httproute", "gateway-label-filter", "a!=b", "--gateway-label-filter: \"!=\" is not a valid"),
            (
                "skipper-routegroup",
                "skipper-routegroup-groupversion",
                "v1",
                "--skipper-routegroup-groupversion: \"v1\"",
            ),
        ] {
            let built = SourceKind::parse(source).is_some_and(SourceKind::is_built);
            let values = [("source", list(&[source])), ("annotation-prefix", list(&["a/"])), (flag, text(value))];
            let error = SourceOptions::from_settings(&settings(&values)).unwrap_err();
            let expected = if built { expected } else { "--source: " };
            assert!(error.context.starts_with(expected), "{error}");
        }
    }
}
