//! Claims are respected to the letter: whoever writes another owner into one takes the record away from us.

use serde_json::json;
use zonewright_testkit::DnsSoftware::{self, Bind};

use crate::cluster::{HOSTNAME, Space, TARGET, shared};
use crate::site::{Site, ZONE};
use crate::{SOON, each_server, needs, until};

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
    space.is_told("web", "ForeignRecord", &["web.shop.test", "by-hand", "left alone"]);
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
    space.is_told("claimed", "ForeignRecord", &["taken.shop.test A", "someone-else"]);
    space.is_told("bare", "ForeignRecord", &["bare.shop.test A", "nobody claims"]);
    space.is_told("beside", "ForeignRecord", &["mail.shop.test"]);
    space.is_told("alias", "ForeignRecord", &["alias.shop.test"]);
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
