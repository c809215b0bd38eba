//! Claims are respected to the letter: whoever writes another owner into one takes the record away from us.

use serde_json::json;
use zonewright_testkit::DnsSoftware::{self, Bind};

use crate::cluster::{HOSTNAME, Space, TARGET, own, shared};
use crate::daemon::CommandLine;
use crate::site::{OWNER, Site, ZONE};
use crate::{SOON, crds, each_server, needs, until};

each_server!(an_owner_edited_by_hand_is_respected);

fn an_owner_edited_by_hand_is_respected(software: DnsSoftware) {
    let (kube, site) = (shared(), Site::start(software));
    let space = Space::new(&kube);
    let _daemon = site.line(&space).start();
    space.balancer("web", &format!("web.{ZONE}"), &["192.0.2.1"]);
    site.shows(&["web 0 A 192.0.2.1"]);
    let other = "heritage=external-dns,external-dns/owner=by-hand,external-dns/resource=service/x/web";
    site.dns.nsupdate(&format!("update delete a-web.{ZONE} TXT\nupdate add a-web.{ZONE} 0 TXT \"{other}\""));
    let serial = site.serial();
    // The daemon has not looked since (its interval is a minute): the update itself carries the claim as it knew it.
    space.reached_at("services", "web", &["192.0.2.2"]);
    space.expect_event("web", "ForeignRecord", &["web.shop.test", "by-hand", "left alone"]);
    assert_eq!(site.serial(), serial, "nothing was written");
    space.delete("services", "web");
    space.balancer("later", &format!("later.{ZONE}"), &["192.0.2.3"]);
    site.shows(&["web 0 A 192.0.2.1", "later 0 A 192.0.2.3"]);
}

/// Names at which others have records are left to them, with or without a claim of theirs.
#[test]
fn names_of_others_are_left_to_them() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let daemon = site.line(&space).start();
    for (object, host, targets) in [
        ("claimed", "taken", &["192.0.2.1"][..]),
        ("bare", "bare", &["192.0.2.1"]),
        ("beside", "mail", &["lb.cloud.test"]),
        ("alias", "alias", &["192.0.2.1"]),
        ("below", "host.sub", &["192.0.2.1"]),
    ] {
        space.balancer(object, &format!("{host}.{ZONE}"), targets);
    }
    space.balancer("free", &format!("free.{ZONE}"), &["192.0.2.9"]);
    space.expect_event("claimed", "ForeignRecord", &["taken.shop.test A", "someone-else"]);
    space.expect_event("bare", "ForeignRecord", &["bare.shop.test A", "nobody claims"]);
    space.expect_event("beside", "ForeignRecord", &["mail.shop.test"]);
    space.expect_event("alias", "ForeignRecord", &["alias.shop.test"]);
    until("the free name", SOON, || site.ours().iter().any(|record| record == "free 0 A 192.0.2.9"));
    daemon.says(&["ForeignRecord", "taken.shop.test"]);
    for object in ["claimed", "bare", "beside", "alias", "below"] {
        space.delete("services", object);
    }
    site.shows(&["free 0 A 192.0.2.9"]);
}

/// A record that somebody deletes by hand, with its claim, comes back; one that is changed by hand is put right. Each at a
/// name of its own: who changes one name again and again is left to it for a while.
#[test]
fn what_others_do_to_our_records_is_put_right() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let _daemon = site.line(&space).arg("--interval=1s").start();
    let names = ["gone", "naked", "other", "many"];
    let hosts: Vec<String> = names.iter().map(|name| format!("{name}.{ZONE}")).collect();
    space.service("web", &[(HOSTNAME, &hosts.join(",")), (TARGET, "192.0.2.1")], json!({ "type": "LoadBalancer" }));
    let records = ["gone 0 A 192.0.2.1", "many 0 A 192.0.2.1", "naked 0 A 192.0.2.1", "other 0 A 192.0.2.1"];
    site.shows(&records);
    let claims = site.claims();
    for vandalism in [
        format!("update delete gone.{ZONE} A"),
        format!("update delete naked.{ZONE} A\nupdate delete a-naked.{ZONE} TXT"),
        format!("update delete other.{ZONE} A\nupdate add other.{ZONE} 5 A 192.0.2.66"),
        format!("update add many.{ZONE} 0 A 192.0.2.67"),
    ] {
        site.dns.nsupdate(&vandalism);
        site.shows(&records);
        until("the claim", SOON, || site.claims() == claims);
    }
}

/// Whoever may ask for texts cannot make a foreign record ours: neither with a text that is asked for today, nor with one that an
/// older release or external-dns published.
#[test]
fn a_claim_cannot_be_forged_through_a_text_that_is_asked_for() {
    needs!(Bind);
    let claim = |owner: &str, resource: &str| {
        format!("\"heritage=external-dns,external-dns/owner={owner},external-dns/resource={resource}\"")
    };
    let old = format!(
        "legacy 60 IN A 198.51.100.7\nolder 60 IN A 198.51.100.8\na-older 60 IN TXT {}\ntxt-a-older 60 IN TXT {}\n",
        claim(OWNER, "crd/any/text"),
        claim(OWNER, "crd/any/text"),
    );
    let (kube, mut site) = (crds::shared(), Site::with(Bind, &old));
    let space = Space::new(&kube);
    let types = ["A", "CNAME", "TXT"].map(|rtype| format!("--managed-record-types={rtype}"));
    let line = types.iter().fold(site.line(&space).arg("--source=crd"), CommandLine::arg);
    let daemon = line.start();
    let kind = "dnsendpoints.externaldns.k8s.io";
    let forged = claim(OWNER, "service/any/web");
    let pieces = format!("{}\" \"{}", &forged[..20], &forged[20..]);
    let text = |name: &str, target: &str| json!({ "dnsName": format!("{name}.{ZONE}"), "recordType": "TXT", "targets": [target] });
    let endpoints = [
        text("a-legacy", &forged),
        text("a-legacy2", &pieces),
        text("a-older", &claim(OWNER, "crd/any/text")),
        text("says", "v=1"),
    ];
    space.create(kind, "text", &[], json!({ "spec": { "endpoints": endpoints } }));
    space.balancer("web", &format!("legacy.{ZONE}"), &["192.0.2.1"]);
    space.balancer("old", &format!("older.{ZONE}"), &["192.0.2.1"]);
    site.shows(&["says 0 TXT \"v=1\""]);
    space.expect_event("text", "OwnershipText", &["a-legacy.shop.test TXT", "ownership record"]);
    daemon.terminate();
    let daemon = line.start();
    space.expect_event("web", "ForeignRecord", &["legacy.shop.test A", "nobody claims"]);
    space.expect_event("old", "ForeignRecord", &["older.shop.test A", "nobody claims"]);
    daemon.says(&["OwnershipText", "a-legacy2.shop.test TXT"]);
    space.delete("services", "web");
    space.delete("services", "old");
    space.balancer("later", &format!("later.{ZONE}"), &["192.0.2.3"]);
    site.shows(&["later 0 A 192.0.2.3", "says 0 TXT \"v=1\""]);
    // The published text goes with its object, like every record, and with its claim.
    space.delete(kind, "text");
    site.release("a-older.");
    site.shows(&["later 0 A 192.0.2.3"]);
    until("the forged text to go", SOON, || site.zone().iter().all(|record| !record.contains("a-older.")));
}

/// A CNAME that is held is not taken by an object of another namespace that asks for an address of its name.
#[test]
fn a_held_cname_is_not_taken_by_another_type() {
    needs!(Bind);
    let (kube, site) = (own(), Site::start(Bind));
    let space = Space::new(&kube);
    let other = Space::new(&kube);
    let line = site.line(&space).without("--namespace");
    let _daemon = line.start();
    space.balancer("holder", &format!("held.{ZONE}"), &["lb.cloud.test"]);
    site.shows(&["held 0 CNAME lb.cloud.test."]);
    other.balancer("taker", &format!("held.{ZONE}"), &["192.0.2.66"]);
    other.expect_event("taker", "NameConflict", &["held.shop.test A", "holder", "CNAME"]);
    other.balancer("free", &format!("free.{ZONE}"), &["192.0.2.2"]);
    site.shows(&["free 0 A 192.0.2.2", "held 0 CNAME lb.cloud.test."]);
    space.delete("services", "holder");
    site.shows(&["free 0 A 192.0.2.2", "held 0 A 192.0.2.66"]);
}

/// Load balancers that change to IPv6 keep their A records where the server takes no AAAA.
#[test]
fn addresses_of_the_other_family_that_are_refused_take_nothing_away() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::refusing("AAAA"));
    let space = Space::new(&kube);
    let _daemon = site.line(&space).start();
    let names: Vec<String> = (0..30).map(|n| format!("web-{n}")).collect();
    for name in &names {
        space.balancer(name, &format!("{name}.{ZONE}"), &["192.0.2.1"]);
    }
    let records: Vec<String> = names.iter().map(|name| format!("{name} 0 A 192.0.2.1")).collect();
    let records: Vec<&str> = records.iter().map(String::as_str).collect();
    site.shows(&records);
    for name in &names {
        space.reached_at("services", name, &["2001:db8::1"]);
    }
    let refused = |name: &String| space.events(name).iter().any(|(_, note)| note.contains("REFUSED"));
    until("an event on an object", SOON, || names.iter().any(refused));
    site.shows(&records);
}
