//! One daemon with every filter, one cluster, one server: as many causes as go together.

use serde_json::json;
use zonewright_core::explain::Cause;
use zonewright_testkit::DnsSoftware::Bind;

use super::{Case, case};
use crate::cluster::{HOSTNAME, Space, TARGET, shared};
use crate::needs;
use crate::site::{Site, ZONE};

fn at(host: &str) -> String {
    format!("{host}.{ZONE}")
}

/// The claims of others that make a dispute, and one without a record.
const CLAIMS: &str = "update add twice.shop.test 60 A 198.51.100.7\n\
                      update add a-twice.shop.test 60 TXT \"heritage=external-dns,external-dns/owner=one\"\n\
                      update add a-twice.shop.test 60 TXT \"heritage=external-dns,external-dns/owner=two\"\n\
                      update add a-ghost.shop.test 60 TXT \"heritage=external-dns,external-dns/owner=three\"";

/// Services and Ingresses, each for one cause.
#[track_caller]
fn objects(space: &Space<'_>) {
    let balancer = |name: &str, host: &str| space.balancer(name, &at(host), &["192.0.2.1"]);
    for (name, host) in [("web", "web"), ("bare", "bare"), ("taken", "taken"), ("twice", "twice"), ("ghost", "ghost")] {
        balancer(name, host);
    }
    balancer("alias", "alias");
    balancer("denied", "denied");
    balancer("long", &"l".repeat(63));
    let load_balancer = || json!({ "type": "LoadBalancer" });
    space.service("waits", &[(HOSTNAME, &at("waits"))], load_balancer());
    space.balancer("outside", "outside.other.test", &["192.0.2.1"]);
    space.balancer("nozone", "x.elsewhere.test", &["192.0.2.1"]);
    let stated = |name: &str, annotations: &[(&str, &str)]| {
        let all: Vec<(&str, &str)> = annotations.iter().copied().chain([(TARGET, "192.0.2.1")]).collect();
        space.service(name, &all, load_balancer());
    };
    stated("misspelt", &[("external-dns.kubernetes.io/hostnames", &at("misspelt"))]);
    stated("controlled", &[(HOSTNAME, &at("controlled")), ("external-dns.kubernetes.io/controller", "another")]);
    stated("invalid", &[(HOSTNAME, "bad..shop.test")]);
    stated("chosen", &[(HOSTNAME, &at("chosen")), ("zonewright.dev/provider", "nobody")]);
    stated("skipped", &[(HOSTNAME, &at("skipped")), ("external-dns.kubernetes.io/skip", "yes")]);
    stated("many", &[(HOSTNAME, "m1.shop.test,m2.shop.test,m3.shop.test,m4.shop.test")]);
    stated("full", &[(HOSTNAME, "f1.shop.test,f2.shop.test,f3.shop.test")]);
    let alpha = "external-dns.alpha.kubernetes.io";
    let (alpha_host, alpha_target) = (format!("{alpha}/hostname"), format!("{alpha}/target"));
    space.service("alpha", &[(&alpha_host, &at("alpha")), (&alpha_target, "192.0.2.1")], load_balancer());
    space.service("badtarget", &[(HOSTNAME, &at("badtarget")), (TARGET, "bad..target")], load_balancer());
    space.service("nets", &[(HOSTNAME, &at("nets")), (TARGET, "203.0.113.9")], load_balancer());
    space.service("six", &[(HOSTNAME, &at("six")), (TARGET, "2001:db8::1")], load_balancer());
    space.service("apex", &[(HOSTNAME, ZONE), (TARGET, "lb.cloud.test")], load_balancer());
    space.service("texts", &[(HOSTNAME, &at("mixed")), (TARGET, "lb.cloud.test")], load_balancer());
    space.service("first", &[(HOSTNAME, &at("both")), (TARGET, "192.0.2.1")], load_balancer());
    space.service("node", &[(HOSTNAME, &at("node"))], json!({ "type": "NodePort" }));
    space.service("inside", &[(HOSTNAME, &at("inside"))], json!({ "type": "ClusterIP" }));
    space.service("plain", &[], json!({ "type": "ClusterIP" }));
    space.create(
        "services",
        "labelled",
        &[(HOSTNAME, &at("labelled")), (TARGET, "192.0.2.1")],
        json!({ "metadata": { "labels": { "tier": "hidden" } }, "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] } }),
    );
    let ingress = |name: &str, class: &str, spec: serde_json::Value| {
        let mut spec = spec;
        spec["ingressClassName"] = json!(class);
        space.create("ingresses", name, &[(TARGET, "192.0.2.1")], json!({ "spec": spec }));
    };
    let backend = json!({ "service": { "name": "plain", "port": { "number": 80 } } });
    ingress("classy", "inner", json!({ "rules": [{ "host": at("classy") }] }));
    ingress("tls", "public", json!({ "defaultBackend": backend, "tls": [{ "hosts": [at("tls")] }] }));
}

/// What comes second: who is there first must not depend on chance.
#[track_caller]
fn latecomers(space: &Space<'_>) {
    let load_balancer = || json!({ "type": "LoadBalancer" });
    space.service("second", &[(HOSTNAME, &at("both")), (TARGET, "192.0.2.2")], load_balancer());
    space.service("cname", &[(HOSTNAME, &at("web")), (TARGET, "lb.cloud.test")], load_balancer());
}

fn cases(space: &Space<'_>) -> Vec<Case> {
    let object = |name: &str| format!("service/{}/{name}", space.name);
    let ingress = |name: &str| format!("ingress/{}/{name}", space.name);
    let shown = |name: &str| format!("Service {}/{name}", space.name);
    vec![
        case(at("web"), Cause::Published, &["since 2", &shown("web"), "Nothing has to be done"]),
        case(object("web"), Cause::Published, &["web.shop.test A"]),
        case(at("waits"), Cause::PendingTargets, &[&shown("waits"), "is kept until 2"])
            .event("waits", &["waits.shop.test has no targets yet", "is kept until 2"]),
        case(at("bare"), Cause::Unclaimed, &["198.51.100.4", "a-bare.shop.test", "zonewright adopt bare.shop.test"])
            .event("bare", &["198.51.100.4 stands there", "a-bare.shop.test", "zonewright adopt bare.shop.test"]),
        case(
            at("taken"),
            Cause::ForeignOwner,
            &["198.51.100.3", "belongs to owner someone-else", "zonewright transfer --from=someone-else --to=e2e"],
        )
        .event("taken", &["someone-else", "198.51.100.3"]),
        case(at("twice"), Cause::DisputedClaim, &["one, two"]).event("twice", &["one, two"]),
        case(at("ghost"), Cause::ForeignClaim, &["owner three claims it"]).event("ghost", &["three"]),
        case(at("alias"), Cause::ForeignBeside, &["mail.shop.test"])
            .event("alias", &["zonewright adopt alias.shop.test"]),
        case(at("denied"), Cause::RecordRefused, &["REFUSED", "it is tried again at 2"]).event("denied", &["REFUSED"]),
        case(at(&"l".repeat(63)), Cause::ClaimRefused, &["Shorten the name"]).event("long", &[]),
        case("outside.other.test", Cause::NameFiltered, &["--domain-filter=shop.test --domain-filter=elsewhere.test"]),
        case("x.elsewhere.test", Cause::NoMatchingZone, &["shop.test"]).event("nozone", &["x.elsewhere.test"]),
        case(
            at("misspelt"),
            Cause::MisspeltAnnotation,
            &["hostnames=misspelt.shop.test", "to external-dns.kubernetes.io/hostname"],
        ),
        case(object("misspelt"), Cause::MisspeltAnnotation, &[&shown("misspelt")]),
        case(at("alpha"), Cause::OtherPrefix, &["--annotation-prefix=external-dns.alpha.kubernetes.io/"])
            .event("alpha", &["--annotation-prefix=external-dns.alpha.kubernetes.io/"]),
        case(at("controlled"), Cause::OtherController, &["controller=another"]),
        case(object("invalid"), Cause::InvalidHostname, &["bad..shop.test"]).event("invalid", &["bad..shop.test"]),
        case(at("chosen"), Cause::UnknownProvider, &["nobody"]).event("chosen", &["nobody"]),
        case(
            at("skipped"),
            Cause::AnnotationFilter,
            &["--annotation-filter=external-dns.kubernetes.io/skip notin (yes)"],
        ),
        case(at("labelled"), Cause::LabelFilter, &["--label-filter=tier!=hidden"]),
        case(at("m4"), Cause::TooManyNames, &["at most 3"]).event("many", &["m4.shop.test"]),
        case(object("full"), Cause::QuotaExceeded, &["--max-records-per-object=2"])
            .event("full", &["--max-records-per-object"]),
        case(at("badtarget"), Cause::InvalidTarget, &["bad..target"]).event("badtarget", &["bad..target"]),
        case(at("nets"), Cause::TargetFiltered, &["--exclude-target-net=203.0.113.0/24"]),
        case(at("six"), Cause::TypeFiltered, &["six.shop.test AAAA", "A,CNAME"]),
        case(ZONE, Cause::RecordUnsupported, &["apex"]),
        case(at("mixed"), Cause::CnameConflict, &["TXT"]).event("texts", &["TXT"]),
        case(object("second"), Cause::NameConflict, &[&shown("first")]).event("second", &["both.shop.test"]),
        case(object("cname"), Cause::CnameConflict, &["web.shop.test"]).event("cname", &["web.shop.test"]),
        case(at("node"), Cause::ServiceType, &["--service-type-filter=LoadBalancer,ClusterIP"]),
        case(at("inside"), Cause::InternalService, &["--publish-internal-services"]),
        case(object("plain"), Cause::NoNames, &["hostname"]),
        case(ingress("classy"), Cause::IngressClass, &["--ingress-class=public"]),
        case(at("tls"), Cause::IgnoredField, &["--ignore-ingress-tls-spec"]),
        case(object("none"), Cause::NoSuchObject, &["services"]),
        case(at("nobody"), Cause::NotAsked, &["nobody.shop.test", "services"]),
        case(at("mail"), Cause::NotOurs, &["198.51.100.1", "nobody"]),
    ]
}

#[test]
fn every_cause_is_named_and_reported() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::with_rules("deny ddns name denied.shop.test;"));
    site.dns.nsupdate(CLAIMS);
    let space = Space::new(&kube);
    objects(&space);
    let line = site.line(&space).args(&[
        "--interval=1s",
        "--domain-filter=shop.test",
        "--domain-filter=elsewhere.test",
        "--annotation-filter=external-dns.kubernetes.io/skip notin (yes)",
        "--label-filter=tier!=hidden",
        "--ingress-class=public",
        "--service-type-filter=LoadBalancer",
        "--service-type-filter=ClusterIP",
        "--ignore-ingress-tls-spec",
        "--exclude-target-net=203.0.113.0/24",
        "--managed-record-types=A",
        "--managed-record-types=CNAME",
        "--max-names-per-annotation=3",
        "--max-records-per-object=2",
    ]);
    let daemon = line.start();
    crate::until("both", crate::SOON, || site.ours().iter().any(|record| record.starts_with("both ")));
    latecomers(&space);
    for case in cases(&space) {
        case.check(space.state_dir(), Some(&space));
    }
    // Daemons that share a cluster by domain filter do not report each other's names.
    for object in ["outside", "nets", "six"] {
        let mut events = space.events(object);
        // The API server's own, where it sees a Service before its address.
        events.retain(|(reason, _)| reason != "ClusterIPNotAllocated");
        assert_eq!(events, [], "{object}");
    }
    daemon.measures("zonewright_filtered_names", 1.0);
    for reason in ["NameFiltered", "TypeFiltered", "TargetFiltered", "PendingTargets", "ForeignRecord"] {
        let counted = daemon.metric(&format!("zonewright_notes_total{{reason=\"{reason}\"}}"));
        assert!(counted.is_some_and(|count| count > 0.0), "{reason}: {counted:?}");
    }
    site.dns
        .nsupdate("update delete twice.shop.test\nupdate delete a-twice.shop.test\nupdate delete a-ghost.shop.test");
}
