//! What people write wrong into objects: each mistake is an Event on its object that names field and expectation, a metric
//! and a log line, and costs nobody else anything.

use serde_json::json;
use zonewright_testkit::DnsSoftware::Bind;

use crate::cluster::{HOSTNAME, Space, TARGET, TTL, shared};
use crate::site::{Site, ZONE};
use crate::{SOON, needs, until};

/// One object with a mistake.
struct Mistake {
    object: &'static str,
    /// `@` stands for the zone.
    annotations: &'static [(&'static str, &'static str)],
    reason: &'static str,
    texts: &'static [&'static str],
}

const POLICY: &str = "zonewright.dev/policy";
const OLD: &str = "external-dns.alpha.kubernetes.io/hostname";
const LONG: &str = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.@";

const fn mistake(
    object: &'static str,
    annotations: &'static [(&'static str, &'static str)],
    reason: &'static str,
    texts: &'static [&'static str],
) -> Mistake {
    Mistake { object, annotations, reason, texts }
}

/// Each with the annotation that is at fault and what was expected.
const MISTAKES: &[Mistake] = &[
    mistake("empty-label", &[(HOSTNAME, "a..b.@")], "InvalidHostname", &["hostname", "a..b.shop.test", "empty"]),
    mistake("long-label", &[(HOSTNAME, LONG)], "InvalidHostname", &["hostname", "63"]),
    mistake("odd-letters", &[(HOSTNAME, "wh!at.@")], "InvalidHostname", &["hostname", "wh!at"]),
    mistake("wildcard", &[(HOSTNAME, "a.*.@")], "InvalidHostname", &["hostname", "a.*.shop.test"]),
    mistake(
        "elsewhere",
        &[(HOSTNAME, "www.elsewhere.test")],
        "NoMatchingZone",
        &["www.elsewhere.test", "expected", "shop.test"],
    ),
    mistake("empty-element", &[(HOSTNAME, "good-1.@,,")], "InvalidHostname", &["2 of 3 elements empty"]),
    mistake("ttl", &[(HOSTNAME, "good-2.@"), (TTL, "soon")], "InvalidTTL", &["external-dns.kubernetes.io/ttl", "soon"]),
    mistake(
        "network",
        &[(HOSTNAME, "good-0.@"), (TARGET, "192.0.2.1000/24")],
        "SuspectTarget",
        &["target", "192.0.2.1000/24", "looks like an IP address"],
    ),
    mistake(
        "target",
        &[(HOSTNAME, "no-target.@"), (TARGET, "a..b")],
        "InvalidTarget",
        &["target", "a..b", "expected an IP address or a host name"],
    ),
    mistake(
        "half-target",
        &[(HOSTNAME, "good-3.@"), (TARGET, "192.0.2.1,a..b")],
        "InvalidTarget",
        &["a..b", "expected an IP address or a host name"],
    ),
    mistake("looks-like-ip", &[(HOSTNAME, "good-4.@"), (TARGET, "192.0.2.1.5")], "SuspectTarget", &["192.0.2.1.5"]),
    mistake("apex", &[(HOSTNAME, "@"), (TARGET, "lb.cloud.test")], "CnameAtApex", &["apex of zone shop.test"]),
    mistake(
        "beside",
        &[(HOSTNAME, "mixed.@"), (TARGET, "lb.cloud.test")],
        "CnameConflict",
        &["mixed.shop.test", "TXT"],
    ),
    mistake("itself", &[(HOSTNAME, "itself.@"), (TARGET, "itself.@")], "InvalidTarget", &["alias of itself"]),
    mistake(
        "two-aliases",
        &[(HOSTNAME, "good-5.@"), (TARGET, "a.cloud.test,b.cloud.test")],
        "FirstTargetOnly",
        &["good-5.shop.test"],
    ),
    mistake(
        "policy",
        &[(HOSTNAME, "good-6.@"), (POLICY, "sometimes")],
        "InvalidAnnotation",
        &["zonewright.dev/policy", "sometimes", "expected one of sync"],
    ),
    mistake(
        "old-prefix",
        &[(OLD, "old.@")],
        "OtherAnnotationPrefix",
        &["external-dns.alpha.kubernetes.io/", "--annotation-prefix="],
    ),
];

#[test]
fn every_mistake_is_reported_and_costs_nobody_else() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let daemon = site.line(&space).start();
    for mistake in MISTAKES {
        let filled: Vec<(&str, String)> =
            mistake.annotations.iter().map(|(key, value)| (*key, value.replace('@', ZONE))).collect();
        let annotations: Vec<(&str, &str)> = filled.iter().map(|(key, value)| (*key, value.as_str())).collect();
        space.service(mistake.object, &annotations, json!({ "type": "LoadBalancer" }));
        space.reached_at("services", mistake.object, &["192.0.2.50"]);
    }
    space.balancer("fine", &format!("fine.{ZONE}"), &["192.0.2.51"]);
    site.shows(&[
        "fine 0 A 192.0.2.51",
        "good-0 0 CNAME 192.0.2.1000/24.",
        "good-1 0 A 192.0.2.50",
        "good-2 0 A 192.0.2.50",
        "good-3 0 A 192.0.2.1",
        "good-4 0 CNAME 192.0.2.1.5.",
        "good-5 0 CNAME a.cloud.test.",
        "good-6 0 A 192.0.2.50",
    ]);
    for Mistake { object, reason, texts, .. } in MISTAKES {
        space.expect_event(object, reason, texts);
        let counted = daemon.metric(&format!("zonewright_notes_total{{reason=\"{reason}\"}}"));
        assert!(counted.is_some_and(|count| count >= 1.0), "{object}: {reason} is {counted:?}");
        daemon.says(&["level=warning", object, reason]);
    }
    // Several problems of an object come in one event, though they are found one after the other.
    let hosts = format!("a..b.{ZONE},www.elsewhere.test");
    space.service("several", &[(HOSTNAME, &hosts), (TTL, "soon")], json!({ "type": "LoadBalancer" }));
    space.reached_at("services", "several", &["192.0.2.50"]);
    space.expect_event("several", "SeveralProblems", &["a..b.shop.test", "soon", "www.elsewhere.test", "(3)"]);
    daemon.ready();
    // Put right, it works.
    space.annotate("services", "empty-label", &[(HOSTNAME, &format!("right.{ZONE}"))]);
    until("the corrected name", SOON, || site.ours().contains(&"right 0 A 192.0.2.50".to_owned()));
}
