//! Whatever stands in an object, no mapper panics, and every endpoint is one that a zone can hold.

use proptest::prelude::*;
use serde_json::{Value, json};
use zonewright_core::endpoint::{Mapped, Targets};
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::options::{Compatibility, SourceOptions};

use crate::scene::{PREFIX, Thing, map, options};
use crate::{any_families, any_members};

/// Any JSON, with texts that are close to what fields expect.
fn any_json() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[a-z0-9.*,: _/-]{0,12}",
        ".{0,8}",
        prop::sample::select(vec![
            "None",
            "Local",
            "NodePort",
            "ClusterIP",
            "ExternalName",
            "1.2.3.4",
            "::1",
            "a.example.org",
            "*.b",
            "Pod",
            "IPv4",
            "public",
            "NodeExternalIP",
            "HostIP",
            "annotation-only",
            "2024-01-01T00:00:00Z",
            "9223372036854775807h",
            "true",
            "a/b/c",
            "Host(`a.example.org`)",
            "MX",
            "TXT",
            "*",
        ])
        .prop_map(str::to_owned),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-zA-Z./]{0,10}", inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

/// A full object of each kind that is mapped, so that every path below exists.
fn subjects() -> Vec<Thing> {
    let annotate = |thing: Thing| {
        ["hostname", "internal-hostname"].iter().fold(thing, |thing, key| thing.ann(key, "a.example.org"))
    };
    let service = annotate(Thing::new(Kind::Service, "ns", "web"))
        .with("spec", json!({"type": "NodePort", "clusterIP": "None", "ports": [{"nodePort": 30000}], "externalTrafficPolicy": "Local"}))
        .status("1.2.3.4");
    let headless = service.with("spec.type", "ClusterIP");
    let ingress =
        annotate(Thing::new(Kind::Ingress, "ns", "web")).with("spec.rules", json!([{"host": "b.example.org"}]));
    let mut all = vec![service, headless, ingress.status("lb.example.com")];
    all.extend(any_families::subjects(&all_switches(true)));
    all.extend(any_members::subjects(&all_switches(true)));
    all
}

fn surroundings() -> Vec<Thing> {
    let endpoint = json!({"addresses": ["1.1.1.1"], "targetRef": {"kind": "Pod", "name": "pod"}});
    let mut all = any_families::surroundings();
    all.extend(any_members::surroundings());
    all.extend([
        Thing::new(Kind::Pod, "ns", "pod")
            .with("spec", json!({"nodeName": "node", "hostname": "pod"}))
            .with(
                "status",
                json!({"phase": "Running", "hostIP": "1.1.1.1", "conditions": [{"type": "Ready", "status": "True"}]}),
            )
            .ann("target", "2.2.2.2"),
        Thing::new(Kind::Node, "", "node")
            .with("status.addresses", json!([{"type": "ExternalIP", "address": "3.3.3.3"}])),
        Thing::new(Kind::EndpointSlice, "ns", "web-1")
            .label("kubernetes.io/service-name", "web")
            .with("addressType", "IPv4")
            .with("endpoints", json!([endpoint])),
    ]);
    all
}

/// Puts `value` at the place in `tree` that `steps` lead to, whatever stands there.
fn plant(tree: &mut Value, steps: &[prop::sample::Index], value: Value) {
    let Some((step, rest)) = steps.split_first() else { return *tree = value };
    let inner = match tree {
        Value::Object(map) if !map.is_empty() => {
            let at = step.index(map.len());
            map.values_mut().nth(at)
        }
        Value::Array(list) if !list.is_empty() => {
            let at = step.index(list.len());
            list.get_mut(at)
        }
        _ => None,
    };
    match inner {
        Some(inner) => plant(inner, rest, value),
        None => *tree = value,
    }
}

fn hold(mapped: &Mapped) {
    for endpoint in &mapped.endpoints {
        endpoint.name.check_owner().expect("names are checked");
        let records = endpoint.targets.as_records();
        assert!(records.iter().all(|data| data.rtype() == endpoint.rtype), "{endpoint}");
        // A DNSEndpoint may leave its targets to the default ones, and may ask for an alias.
        let bare = records.is_empty() && !matches!(endpoint.targets, Targets::Alias(_));
        assert!(!bare || &*endpoint.origin.source == "crd", "{endpoint}");
        let key = (&endpoint.name, endpoint.rtype, &endpoint.set_id);
        let keys = mapped.endpoints.iter().filter(|e| (&e.name, e.rtype, &e.set_id) == key);
        assert_eq!(keys.count(), 1, "{endpoint} is there twice");
    }
    for pending in &mapped.pending {
        pending.name.check_owner().expect("names are checked");
        assert!(mapped.endpoints.iter().all(|endpoint| endpoint.name != pending.name), "{}", pending.name);
    }
}

fn all_switches(on: bool) -> SourceOptions {
    options(|o| {
        o.publish_internal_services = on;
        o.publish_host_ip = on;
        o.always_publish_not_ready_addresses = on;
        o.expose_internal_ipv6 = on;
        o.exclude_unschedulable = on;
        o.traefik_legacy = true;
        o.gateway_listener_sets = on;
        o.compatibility = if on { Compatibility::KopsDnsController } else { Compatibility::Mate };
        o.unstructured = vec![any_families::custom()];
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_json_anywhere(
        which in any::<prop::sample::Index>(),
        planted in prop::collection::vec((any::<prop::sample::Index>(), prop::collection::vec(any::<prop::sample::Index>(), 1..10), any_json()), 0..4),
        on in any::<bool>(),
    ) {
        let mut things = surroundings();
        things.insert(0, which.get(&subjects()).clone());
        for (thing, steps, value) in planted {
            let at = thing.index(things.len());
            plant(&mut things[at].body, &steps, value);
        }
        let subject = things.remove(0);
        if subject.object(&all_switches(on)).is_some() {
            hold(&map(&subject, &things, &all_switches(on)));
        }
    }

    #[test]
    fn any_text_in_any_annotation(
        which in any::<prop::sample::Index>(),
        annotations in prop::collection::vec((
            prop::sample::select(vec![
                "hostname", "internal-hostname", "target", "ttl", "access", "endpoints-type", "ingress-hostname-source", "gateway-hostname-source",
                "set-identifier", "ingress", "alias", "record-type", "aws-", "cloudflare-", "azure-tags", "",
            ]),
            prop_oneof!["[a-z0-9.*,: _-]{0,30}", ".{0,30}", "[a-z]{60,70}(\\.[a-z]{60,63}){0,4}"],
        ), 0..5),
        on in any::<bool>(),
    ) {
        let mut subject = which.get(&subjects()).clone();
        for (key, value) in annotations {
            subject.body["metadata"]["annotations"][format!("{PREFIX}{key}")] = value.into();
        }
        hold(&map(&subject, &surroundings(), &all_switches(on)));
    }
}
