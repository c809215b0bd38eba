//! Kinds that a server does not have, and rights that are missing: what is a clear answer, and what only a loss.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::{WatchEvent, WatchSpec};
use super::{LIST, STREAM, Service, added, events_of, listed_to, page, reported, spec, word};
use crate::fake::{Fake, Piece, Step};

#[tokio::test(start_paused = true)]
async fn a_missing_right_to_watch_is_named_after_a_complete_list() {
    let text = "services is forbidden: User \"zonewright\" cannot watch resource \"services\"";
    let forbidden = || Step::refused(LIST, 403, "Forbidden", text);
    let list = || Step::json(LIST, &page(&["a"], 5, "")).with("limit=2");
    let steps = vec![
        forbidden().with(STREAM),
        list(),
        forbidden().with("resourceVersion=5"),
        list(),
        forbidden().with("resourceVersion=5"),
    ];
    let fake = Fake::new(steps);
    let reported = events_of(&fake, spec(), Duration::from_secs(31)).await;
    let words: Vec<_> = reported.iter().map(|(_, event)| word(event)).collect();
    let round = ["begin", "listed a", "done", "forbidden watch"];
    assert_eq!(words, [round, round].concat());
    assert!(matches!(&reported[3].1, WatchEvent::Forbidden { text: said, .. } if said == text));
}

#[tokio::test(start_paused = true)]
async fn a_missing_right_to_list_is_named() {
    let forbidden = || Step::refused(LIST, 403, "Forbidden", "cannot list");
    assert_eq!(reported(vec![forbidden().with(STREAM), forbidden()]).await, ["forbidden list"]);
}

const ROUTES: &str = "GET /apis/gateway.networking.k8s.io/v1/httproutes?";
const ROUTES_GROUP: &str = "GET /apis/gateway.networking.k8s.io/v1";

/// What is reported in five seconds of a kind whose list answers 404, when discovery answers so.
async fn reported_of_routes(discovery: Vec<Step>) -> Vec<WatchEvent<Service>> {
    let missing = Step::text(ROUTES, 404, "404 page not found");
    let fake = Fake::new([missing].into_iter().chain(discovery).collect());
    let spec = WatchSpec::new("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute", true);
    let reported = events_of(&fake, spec, Duration::from_millis(50)).await;
    reported.into_iter().map(|(_, event)| event).collect()
}

fn no_group() -> Step {
    Step::text(ROUTES_GROUP, 404, "404 page not found")
}

fn groups(groups: &Value) -> Step {
    Step::json("GET /apis", &json!({ "kind": "APIGroupList", "groups": groups }))
}

/// The group with these versions.
fn versions(versions: &[&str]) -> Step {
    let versions: Vec<_> = versions.iter().map(|version| json!({ "version": version })).collect();
    groups(&json!([{ "name": "gateway.networking.k8s.io", "versions": versions }]))
}

/// What a version of the group holds.
fn resources(version: &str, names: &[&str]) -> Step {
    let names: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
    Step::json(&format!("GET /apis/gateway.networking.k8s.io/{version}"), &json!({ "resources": names }))
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_discovery_does_not_know_is_denied() {
    for (discovery, expected) in [
        (vec![resources("v1", &["gateways"]), versions(&["v1"])], "no resource \"httproutes\""),
        (
            vec![resources("v1", &["gateways"]), versions(&["v1", "v1beta1"]), resources("v1beta1", &["gateways"])],
            "no resource \"httproutes\"",
        ),
        (vec![no_group(), groups(&json!([{ "name": "apps", "versions": [] }]))], "no group gateway.networking.k8s.io"),
        (
            vec![no_group(), versions(&["v1beta1"]), resources("v1beta1", &["gateways"])],
            "no version v1 of gateway.networking.k8s.io; it has v1beta1",
        ),
    ] {
        let reported = reported_of_routes(discovery).await;
        assert!(
            matches!(reported.as_slice(), [WatchEvent::Denied { text }] if text.contains(expected)),
            "{reported:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_served_in_another_version_is_not_denied() {
    for discovery in [
        vec![no_group(), versions(&["v1beta1"]), resources("v1beta1", &["gateways", "httproutes"])],
        vec![resources("v1", &["gateways"]), versions(&["v1", "v1beta1"]), resources("v1beta1", &["httproutes"])],
    ] {
        let reported = reported_of_routes(discovery).await;
        let [WatchEvent::OtherVersion { text }] = reported.as_slice() else { panic!("{reported:?}") };
        let expected = "the API server serves httproutes of gateway.networking.k8s.io as v1beta1, and not as v1, which is what is read";
        assert_eq!(text, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_404_without_a_clear_denial_is_a_loss() {
    let listed = json!([{ "name": "gateway.networking.k8s.io", "versions": [{ "version": "v1" }] }]);
    for discovery in [
        vec![Step::json(ROUTES_GROUP, &json!({ "resources": [{ "name": "httproutes" }] }))],
        vec![no_group(), groups(&listed)],
        vec![no_group(), Step::text("GET /apis", 404, "404 page not found")],
        vec![resources("v1", &["gateways"]), Step::refused("GET /apis", 503, "ServiceUnavailable", "starting")],
        vec![
            no_group(),
            versions(&["v1beta1"]),
            Step::text(&format!("{ROUTES_GROUP}beta1"), 404, "404 page not found"),
        ],
        vec![no_group(), Step::text("GET /apis", 200, "<html>welcome</html>")],
        vec![Step::refused(ROUTES_GROUP, 503, "ServiceUnavailable", "starting")],
        vec![Step::unreachable(ROUTES_GROUP)],
    ] {
        let reported = reported_of_routes(discovery).await;
        assert!(matches!(reported.as_slice(), [WatchEvent::Lost { .. }]), "{reported:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_denied_kind_is_found_once_it_exists() {
    let missing = Step::text(ROUTES, 404, "404 page not found");
    let steps = vec![
        missing,
        no_group(),
        groups(&json!([])),
        Step::stream(ROUTES, vec![listed_to(5), Piece::Hang]).with(STREAM),
    ];
    let spec = WatchSpec::new("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute", true);
    let fake = Fake::new(steps);
    let reported = events_of(&fake, spec, Duration::from_secs(31)).await;
    assert_eq!(reported.iter().map(|(_, event)| word(event)).collect::<Vec<_>>(), ["denied", "begin", "done", "open"]);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_scoped_kind_is_in_no_namespace() {
    const IN_NAMESPACE: &str = "GET /apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes?";
    let missing = || Step::text(IN_NAMESPACE, 404, "404 page not found");
    let says =
        |namespaced: bool| json!({ "resources": [{ "name": "httproutes", "kind": "", "namespaced": namespaced }] });
    let mut spec = WatchSpec::new("gateway.networking.k8s.io", "v1", "httproutes", "", true);
    spec.namespace = Some("shop".to_owned());
    let steps = vec![
        missing(),
        Step::json(ROUTES_GROUP, &says(false)),
        Step::stream(ROUTES, vec![added("a", 3), listed_to(5), Piece::Hang]).with(STREAM),
    ];
    let reported = events_of(&Fake::new(steps), spec.clone(), Duration::from_millis(50)).await;
    assert_eq!(
        reported.iter().map(|(_, event)| word(event)).collect::<Vec<_>>(),
        ["begin", "listed a", "done", "open"]
    );

    let steps = vec![missing(), Step::json(ROUTES_GROUP, &says(true))];
    let reported = events_of(&Fake::new(steps), spec, Duration::from_millis(50)).await;
    assert_eq!(
        reported.iter().map(|(_, event)| word(event)).collect::<Vec<_>>(),
        ["lost"],
        "a namespaced one is there"
    );
}
