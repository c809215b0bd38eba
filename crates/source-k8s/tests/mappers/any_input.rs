//! Whatever stands in an object, no mapper panics, and every endpoint is one that a zone can hold.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use zonewright_core::endpoint::{Mapped, Targets};
use zonewright_core::{DnsName, RData};
use zonewright_source_k8s::kind::{KINDS, Kind};
use zonewright_source_k8s::lookup::Lookup;
use zonewright_source_k8s::options::{Compatibility, KopsOptions, SourceKind, SourceOptions};
use zonewright_source_k8s::sources::{MapScope, reads, roles};
use zonewright_source_k8s::store::Store;

use crate::any_options::any_options;
use crate::scene::{PREFIX, Thing, map};
use crate::things::{everything, subjects, surroundings};

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

static SUBJECTS: LazyLock<Vec<Thing>> = LazyLock::new(|| subjects(&everything(|_| ())));
static SURROUNDINGS: LazyLock<Vec<Thing>> = LazyLock::new(surroundings);

/// Puts `value` at the place in `tree` that `steps` lead to, whatever stands there.
fn plant(tree: &mut Value, steps: &[Index], value: Value) {
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

/// What a zone can hold: sound names, records of the endpoint's type that can be written down and read again, and each
/// record set once.
fn hold(mapped: &Mapped) {
    for endpoint in &mapped.endpoints {
        sound(&endpoint.name);
        let records = endpoint.targets.as_records();
        for data in records {
            assert_eq!(data.rtype(), endpoint.rtype, "{endpoint}");
            let text = data.to_string();
            assert_eq!(RData::parse(endpoint.rtype, &text).as_ref(), Ok(data), "{endpoint}: {text:?}");
        }
        // A DNSEndpoint may leave its targets to the default ones, and may ask for an alias.
        let bare = records.is_empty() && !matches!(endpoint.targets, Targets::Alias(_));
        assert!(!bare || matches!(&*endpoint.origin.source, "crd" | "connector" | "fake"), "{endpoint}");
        let key = (&endpoint.name, endpoint.rtype, &endpoint.extras.set_id);
        let keys = mapped.endpoints.iter().filter(|e| (&e.name, e.rtype, &e.extras.set_id) == key);
        assert_eq!(keys.count(), 1, "{endpoint} is there twice");
    }
    for pending in &mapped.pending {
        sound(&pending.name);
        assert!(mapped.endpoints.iter().all(|endpoint| endpoint.name != pending.name), "{}", pending.name);
    }
}

fn sound(name: &DnsName) {
    name.check_owner().expect("names are checked");
    assert_eq!(DnsName::parse(name.as_str()).as_ref(), Ok(name));
}

/// Maps `subject` by every source that maps its kind; nothing if it cannot be read.
fn map_all(subject: &Thing, store: &Store, options: &SourceOptions) {
    let Some(object) = subject.object(&options.keep()) else { return };
    for role in roles(options).iter().filter(|role| role.kind == subject.kind) {
        hold(&(role.map)(&object, &MapScope { role, options, lookup: &Lookup::new(store, &role.reads) }));
    }
}

/// What the mappers of a subject may read at all: nothing else can make a difference.
fn read_by(subject: &Thing, options: &SourceOptions) -> impl Iterator<Item = &'static Thing> {
    let of_subject = roles(options).into_iter().filter(|role| role.kind == subject.kind);
    let kinds: BTreeSet<Kind> = of_subject.flat_map(|role| role.reads.into_keys()).collect();
    SURROUNDINGS.iter().filter(move |thing| kinds.contains(&thing.kind))
}

fn store<'t>(things: impl IntoIterator<Item = &'t Thing>, options: &SourceOptions) -> Store {
    let keep = options.keep();
    things.into_iter().filter_map(|thing| thing.object(&keep)).collect()
}

fn is_soak() -> bool {
    std::env::var_os("ZONEWRIGHT_SOAK").is_some()
}

/// So many cases in the test command, and so many in the soak: 1,000,000 objects in the two tests together.
fn cases(sample: u32, soak: u32) -> ProptestConfig {
    let cases = if is_soak() { soak } else { sample };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(1_000, 700_000))]

    #[test]
    fn soak_any_json_anywhere(
        which in any::<Index>(),
        planted in prop::collection::vec((any::<Index>(), prop::collection::vec(any::<Index>(), 1..10), any_json()), 0..4),
        options in any_options(),
    ) {
        let subject = which.get(&SUBJECTS);
        let mut things = vec![subject.clone()];
        things.extend(read_by(subject, &options).cloned());
        for (thing, steps, value) in planted {
            // Every second one hits the object that is mapped.
            let at = thing.index(2 * things.len()).saturating_sub(things.len());
            plant(&mut things[at].body, &steps, value);
        }
        let subject = things.remove(0);
        map_all(&subject, &store(&things, &options), &options);
    }
}

proptest! {
    #![proptest_config(cases(1_000, 300_000))]

    #[test]
    fn soak_any_text_in_any_annotation(
        which in any::<Index>(),
        annotations in prop::collection::vec((
            prop::sample::select(vec![
                "hostname", "internal-hostname", "target", "ttl", "access", "endpoints-type", "ingress-hostname-source", "gateway-hostname-source",
                "set-identifier", "ingress", "alias", "record-type", "aws-", "cloudflare-", "azure-tags", "",
            ]),
            prop_oneof!["[a-z0-9.*,: _-]{0,30}", ".{0,30}", "[a-z]{60,70}(\\.[a-z]{60,63}){0,4}"],
        ), 0..5),
        options in any_options(),
    ) {
        let mut subject = which.get(&SUBJECTS).clone();
        for (key, value) in annotations {
            subject.body["metadata"]["annotations"][format!("{PREFIX}{key}")] = value.into();
        }
        map_all(&subject, &store(read_by(&subject, &options), &options), &options);
    }
}

/// The places in a tree.
fn places(tree: &Value) -> Vec<Vec<String>> {
    let children: Vec<(String, &Value)> = match tree {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(list) => list.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    let below = children
        .iter()
        .flat_map(|(key, child)| places(child).into_iter().map(move |place| [vec![key.clone()], place].concat()));
    [Vec::new()].into_iter().chain(below).collect()
}

/// Every version of `thing` with one place changed to one odd value.
fn spoiled(thing: &Thing) -> impl Iterator<Item = Thing> {
    let odd = json!([
        null, true, -1, 0, 1.5, i64::MAX, u64::MAX, 1e300, "", " ", ".", "*", "a.example.org", "256.1.1.1", "::", "a/b/c",
        "\u{0}", "ß.example.org", "x".repeat(300), [], [null], ["a", 1], [[]], {}, {"": ""}, {"a": {}}
    ]);
    let values = odd.as_array().cloned().unwrap_or_default();
    places(&thing.body).into_iter().flat_map(move |place| {
        let thing = thing.clone();
        values.clone().into_iter().map(move |value| {
            let mut thing = thing.clone();
            let pointer: String =
                place.iter().flat_map(|step| ["/".to_owned(), step.replace('~', "~0").replace('/', "~1")]).collect();
            *thing.body.pointer_mut(&pointer).expect("a place of this very tree") = value;
            thing
        })
    })
}

/// Two sets of options that have nothing in common.
fn both_options() -> [SourceOptions; 2] {
    [true, false].map(|on| {
        everything(|o| {
            o.publish_internal_services = on;
            o.publish_host_ip = on;
            o.always_publish_not_ready_addresses = on;
            o.expose_internal_ipv6 = on;
            o.exclude_unschedulable = on;
            o.compatibility = if on { Compatibility::KopsDnsController } else { Compatibility::Mate };
        })
    })
}

#[test]
fn every_field_of_an_object_takes_every_shape() {
    let kops = everything(|o| o.kops = Some(KopsOptions { internal_ipv4: true, ..KopsOptions::default() }));
    for options in both_options().into_iter().chain([kops]) {
        let store = store(SURROUNDINGS.iter(), &options);
        for thing in SUBJECTS.iter().flat_map(spoiled) {
            map_all(&thing, &store, &options);
        }
    }
}

#[test]
fn soak_every_field_of_what_it_refers_to_takes_every_shape() {
    let [options, _] = both_options();
    let keep = options.keep();
    let roles = roles(&options);
    let readers = |kind| {
        let reading = roles.iter().filter(move |role| role.kind != kind && role.reads.contains_key(&kind));
        reading.flat_map(|role| SUBJECTS.iter().filter(|thing| thing.kind == role.kind)).collect::<Vec<_>>()
    };
    let mut store = store(SURROUNDINGS.iter(), &options);
    // Every place takes several values in the test command, all of them in the soak.
    let step = if is_soak() { 1 } else { 5 };
    for thing in SURROUNDINGS.iter() {
        let readers = readers(thing.kind);
        for object in spoiled(thing).step_by(step).filter_map(|spoiled| spoiled.object(&keep)) {
            let key = object.key();
            let before = store.insert(object);
            for subject in &readers {
                map_all(subject, &store, &options);
            }
            store.remove(&key);
            before.map(|before| store.insert(before));
        }
        store.insert(thing.object(&keep).expect("an object that can be read"));
    }
}

/// Else the tests above would pass over it.
#[test]
fn every_kind_is_among_them() {
    let roles = roles(&everything(|_| ()));
    if SourceKind::ALL.iter().all(|(source, _)| source.is_built()) {
        let reads = reads(&roles);
        assert!(KINDS.iter().all(|kind| reads.contains_key(kind)), "some kind is read by no source: {reads:?}");
    }
    for role in &roles {
        assert!(SUBJECTS.iter().any(|thing| thing.kind == role.kind), "{role:?} has no subject");
        for kind in role.reads.keys() {
            let mut all = SUBJECTS.iter().chain(SURROUNDINGS.iter());
            assert!(all.any(|thing| thing.kind == *kind), "{kind:?}, which {role:?} reads, is not there");
        }
    }
}

/// Else the tests above would show nothing.
#[test]
fn every_subject_asks_for_something() {
    let options = everything(|o| o.compatibility = Compatibility::KopsDnsController);
    for subject in SUBJECTS.iter() {
        let mapped = map(subject, &SURROUNDINGS, &options);
        assert!(!mapped.endpoints.is_empty(), "{:?} {}: {:?}", subject.kind, subject.body, mapped.notes);
    }
}
