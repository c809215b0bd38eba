//! The examples by which Gateway API shows what a route and a listener have in common: a host that both serve, and nothing
//! else. What would answer "not found" must not get a record.

use super::{check, gateway, http, listener};
use crate::scene::Thing;

fn shared() -> Thing {
    gateway("gw").listeners(&[
        listener("listener-1", "very.specific.com"),
        listener("listener-2", "*.wildcard.io"),
        listener("listener-3", "*.anotherwildcard.io"),
    ])
}

#[test]
fn routes_and_listeners_that_intersect() {
    for (id, hosts, published) in [
        (
            "a host and the same host",
            &["non.matching.com", "*.nonmatchingwildcard.io", "very.specific.com"][..],
            &["very.specific.com"][..],
        ),
        (
            "hosts below a listener's wildcard",
            &["non.matching.com", "wildcard.io", "foo.wildcard.io", "bar.wildcard.io", "foo.bar.wildcard.io"],
            &["foo.wildcard.io", "bar.wildcard.io", "foo.bar.wildcard.io"],
        ),
        ("a wildcard over a listener's host", &["non.matching.com", "*.specific.com"], &["very.specific.com"]),
        ("a wildcard and the same wildcard", &["*.anotherwildcard.io"], &["*.anotherwildcard.io"]),
        ("hosts that no listener has", &["specific.but.wrong.com", "wildcard.io"], &[]),
    ] {
        let records = published.iter().map(|name| format!("{name} A 1.2.3.4"));
        let refused = hosts.len() - published.len();
        let notes = std::iter::repeat_n("! NoMatchingListener".to_owned(), refused);
        let expected: Vec<String> = records.chain(notes).collect();
        check(id, &http(hosts), &[shared()], |_| {}, &expected.join(" | "));
    }
}

#[test]
fn a_listener_without_host_serves_whatever_routes_ask_for() {
    let expected = "first.com A 1.2.3.4 | *.first.com A 1.2.3.4 | second.com A 1.2.3.4";
    check("all", &http(&["first.com", "*.first.com", "second.com"]), &[gateway("gw")], |_| {}, expected);
}

/// What the API's reference says of a route's `hostnames`.
#[test]
fn the_reference() {
    for (served, hosts, expected) in [
        (
            "test.example.com",
            &["test.example.com", "test.example.net"][..],
            "test.example.com A 1.2.3.4 | ! NoMatchingListener",
        ),
        ("test.example.com", &["*.example.com"], "test.example.com A 1.2.3.4"),
        (
            "*.example.com",
            &["test.example.com", "foo.test.example.com"],
            "test.example.com A 1.2.3.4 | foo.test.example.com A 1.2.3.4",
        ),
        ("*.example.com", &["*.example.com"], "*.example.com A 1.2.3.4"),
        ("*.example.com", &["*.test.example.com"], "*.test.example.com A 1.2.3.4"),
        ("*.example.com", &["example.com", "test.example.net"], "! NoMatchingListener | ! NoMatchingListener"),
    ] {
        check(served, &http(hosts), &[gateway("gw").listeners(&[listener("l", served)])], |_| {}, expected);
    }
}
