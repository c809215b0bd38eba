//! Templates of services, ingresses and unstructured objects (sections ST, IT and UT, and the vectors of S, C, N and I that
//! have one), and what is reported and kept where a template fails or gives less than it should.

mod ingresses;
mod problems;
mod services;
mod unstructured;

use serde_json::Value;
use zonewright_core::catalog::{FlagValue, Settings};
use zonewright_core::endpoint::Mapped;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::options::SourceOptions;
use zonewright_source_k8s::templates::Templates;

use crate::scene::{Thing, check_in, map, options, shown};

const FQDN: &str = "fqdn-template";
const TARGET: &str = "target-template";
const PAIRS: &str = "fqdn-target-template";

/// A change of the options.
type Change = fn(&mut SourceOptions);

fn set(options: &mut SourceOptions, flags: &[(&'static str, &str)]) {
    let mut settings = Settings::default();
    for (flag, text) in flags {
        settings.set(flag, FlagValue::List(vec![(*text).to_owned()]), true);
    }
    options.templates = Templates::from_settings(&settings).expect("a template");
}

/// Maps `thing` with one template.
fn check(id: &str, thing: &Thing, flag: (&'static str, &str), change: Change, expected: &str) {
    check_among(id, thing, &[], flag, change, expected);
}

fn check_among(id: &str, thing: &Thing, others: &[Thing], flag: (&'static str, &str), change: Change, expected: &str) {
    let all = |o: &mut SourceOptions| {
        set(o, &[flag]);
        change(o);
    };
    check_in(id, thing, others, all, expected);
}

fn combine(o: &mut SourceOptions) {
    o.combine_fqdn_annotation = true;
}

fn service(service_type: &str) -> Thing {
    Thing::new(Kind::Service, "testing", "foo").with("spec.type", service_type)
}

fn my_svc() -> Thing {
    Thing::new(Kind::Service, "default", "my-svc").with("spec.type", "ClusterIP").with("spec.clusterIP", "10.0.0.1")
}

fn st(o: &mut SourceOptions) {
    o.publish_internal_services = true;
    o.always_publish_not_ready_addresses = true;
    o.expose_internal_ipv6 = true;
    o.exclude_unschedulable = true;
}

fn ingress() -> Thing {
    Thing::new(Kind::Ingress, "testing", "fake1")
}

/// An object of a kind that the user names.
fn thing(group: &str, plural: &str, kind: &str, name: &str) -> Thing {
    let api_version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
    let bare = Thing::new(Kind::custom(group, "v1", plural, "", true), "default", name);
    bare.with("kind", kind).with("apiVersion", api_version)
}

/// Maps an object of the source `unstructured`.
fn mapped(thing: &Thing, flags: &[(&'static str, &str)], combine: bool) -> Mapped {
    let change = |o: &mut SourceOptions| {
        o.unstructured = vec![thing.kind];
        o.combine_fqdn_annotation = combine;
        set(o, flags);
    };
    map(thing, &[], &options(change))
}

/// Compares with the outcome in lines.
fn check_unstructured(id: &str, thing: &Thing, flags: &[(&'static str, &str)], combine: bool, expected: &[&str]) {
    let mapped = mapped(thing, flags, combine);
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(shown(&mapped), expected, "{id}: {:?}", mapped.notes);
}

fn config_map(name: &str, data: Value) -> Thing {
    thing("", "configmaps", "ConfigMap", name).with("data", data)
}
