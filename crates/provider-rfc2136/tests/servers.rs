//! Reading and writing, against real BIND, Knot and PowerDNS.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod common;

use common::*;
use zonewright_core::change::{Change, Outcome, Precondition};
use zonewright_core::provider::{Listing, Provider, Read};
use zonewright_core::{ErrorKind, RecordType};
use zonewright_testkit::DnsSoftware;

battery!(
    every_type_comes_changes_and_goes,
    a_and_cname_change_places,
    a_failed_precondition_changes_nothing,
    a_foreign_record_is_not_joined,
    a_cname_is_never_swallowed,
    a_thousand_names_in_one_call,
    ten_thousand_records_are_transferred,
    changes_arrive_as_they_happen,
    single_names_are_read_as_they_stand,
    what_stands_below_a_delegation_changes_under_its_claim,
    the_case_of_names_does_not_matter,
    the_case_of_texts_does,
    name_servers_of_the_apex,
    what_is_not_understood_is_kept,
    many_calls_at_once,
);

/// A first and a second content for each type that is written.
fn contents(rtype: RecordType) -> [&'static str; 2] {
    match rtype {
        RecordType::A => ["192.0.2.1 ; 192.0.2.2", "192.0.2.2 ; 192.0.2.3"],
        RecordType::Aaaa => ["2001:db8::1", "2001:db8::2 ; 2001:db8::3"],
        RecordType::Cname => ["target.example.org", "other.example.org"],
        RecordType::Txt => {
            [r#""heritage=external-dns,external-dns/owner=a""#, r#""two  blanks; \"quoted\"" "second string""#]
        }
        RecordType::Ns => ["ns.example.org", "ns.example.org ; ns2.example.org"],
        RecordType::Srv => ["10 20 443 host.example.org", "0 0 53 host.example.org ; 10 20 443 host.example.org"],
        RecordType::Mx => ["10 mail.example.org", "0 ."],
        RecordType::Ptr => ["host.example.org", "host.example.org ; other.example.org"],
        RecordType::Caa => [r#"0 issue "ca.example.org""#, r#"128 issuewild ";""#],
        RecordType::Naptr => {
            [r#"10 20 "u" "E2U+sip" "!^.*$!sip:a@example.org!" ."#, r#"1 2 "s" "SIP+D2U" "" _sip._udp.example.org"#]
        }
        RecordType::Https => ["0 pool.example.org", "1 . alpn=h2,h3 port=8443"],
        RecordType::Svcb => ["0 pool.example.org", "1 pool.example.org port=53"],
        RecordType::Dname => ["there.example.org", "elsewhere.example.org"],
        other => panic!("{other} has no case"),
    }
}

async fn every_type_comes_changes_and_goes(software: DnsSoftware) {
    let site = Site::start(software, "").await;
    for rtype in RecordType::WRITABLE {
        let [first, second] = contents(rtype);
        let owner = format!("host.{}", rtype.lower());
        let states = [
            format!("{owner} 60 {rtype} {first}"),
            format!("{owner} 60 {rtype} {second}"),
            format!("{owner} 120 {rtype} {second}"),
        ];
        let outcome = site.apply(&[create(&states[0])]).await;
        assert_eq!(shown(&outcome), ["applied"], "{outcome:?}, {}", site.server.log());
        assert_eq!(site.lines().await, [set(&states[0]).to_string()]);
        assert_eq!(site.names(&[&owner]).await, [set(&states[0]).to_string()], "read by name");
        for (from, to) in [(0, 1), (1, 2)] {
            all_applied(&site.apply(&[update(&states[from], &states[to])]).await);
            assert_eq!(site.lines().await, [set(&states[to]).to_string()]);
        }
        all_applied(&site.apply(&[delete(&states[2])]).await);
        assert!(site.lines().await.is_empty(), "{rtype} is gone");
    }
}

async fn a_and_cname_change_places(software: DnsSoftware) {
    let site = Site::start(software, "").await;
    let (a, cname) = ("www 60 A 192.0.2.1", "www 60 CNAME lb.example.org");
    all_applied(&site.apply(&[create(a)]).await);
    let before = site.provider.messages();
    for (from, to) in [(a, cname), (cname, a)] {
        let swap = group([Change::Create { to: set(to) }, Change::Delete { from: set(from) }]);
        all_applied(&site.apply(&[swap]).await);
        assert_eq!(site.lines().await, [set(to).to_string()]);
    }
    assert_eq!(site.provider.messages() - before, 2 + 2 + 1, "two updates, two listings, the new CNAME is read back");
}

async fn a_failed_precondition_changes_nothing(software: DnsSoftware) {
    let site = Site::start(software, "www 60 A 192.0.2.1\ntxt 60 TXT \"ours\"").await;
    let before = site.server.axfr(ZONE);
    let claim = |text: &str| {
        let mut group = update("www 60 A 192.0.2.1", "www 60 A 192.0.2.9");
        group.requires = vec![Precondition::Exact(set(text))];
        group
    };
    let free = |text: &str| {
        let mut group = create("new 60 A 192.0.2.9");
        group.requires = vec![Precondition::NameNotInUse(name(text))];
        group
    };
    for bad in [
        create("www 60 A 192.0.2.9"),
        update("www 60 A 192.0.2.2", "www 60 A 192.0.2.9"),
        update("www 60 A 192.0.2.1 ; 192.0.2.2", "www 60 A 192.0.2.9"),
        delete("gone 60 A 192.0.2.1"),
        delete("txt 60 TXT \"theirs\""),
        claim("txt 60 TXT \"theirs\""),
        free("txt"),
        create("www 60 CNAME a.example.org"),
    ] {
        assert_eq!(
            shown(&site.apply(std::slice::from_ref(&bad)).await),
            ["refused conflict Group"],
            "{}",
            bad.headline()
        );
        let both = site.apply(&[create("good 60 A 192.0.2.4"), bad]).await;
        assert_eq!(shown(&both), ["refused conflict Batch"; 2]);
    }
    assert_eq!(site.server.axfr(ZONE), before, "not one byte");
    all_applied(&site.apply(&[claim("txt 60 TXT \"ours\""), free("free")]).await);
}

async fn a_foreign_record_is_not_joined(software: DnsSoftware) {
    let site = Site::start(software, "www 60 A 192.0.2.1").await;
    let outcomes = site.apply(&[create("www 60 A 192.0.2.2")]).await;
    assert_eq!(shown(&outcomes), ["refused conflict Group"]);
    let text = outcomes[0].error().unwrap().to_string();
    assert!(text.contains("YXRRSET") && text.contains("127.0.0.1:") && text.contains(ZONE), "{text}");
    assert_eq!(site.server.query("www.example.test", "A"), ["192.0.2.1"]);
}

async fn a_cname_is_never_swallowed(software: DnsSoftware) {
    let site =
        Site::start(software, "alias 60 CNAME a.example.org\nmixed 60 A 192.0.2.1\nmixed 60 TXT \"foreign\"").await;
    let before = site.server.axfr(ZONE);
    let swap = group([
        Change::Delete { from: set("mixed 60 A 192.0.2.1") },
        Change::Create { to: set("mixed 60 CNAME b.example.org") },
    ]);
    for bad in [create("alias 60 A 192.0.2.2"), create("mixed 60 CNAME b.example.org"), swap] {
        assert_eq!(
            shown(&site.apply(std::slice::from_ref(&bad)).await),
            ["refused conflict Group"],
            "{}",
            bad.headline()
        );
    }
    assert_eq!(site.server.axfr(ZONE), before);
    // A type that nobody writes is in the way: the server takes the deletion and not the CNAME.
    site.server.nsupdate("update add odd.example.test 60 A 192.0.2.1\nupdate add odd.example.test 60 SSHFP 1 1 00112233445566778899aabbccddeeff00112233");
    let swap = group([
        Change::Delete { from: set("odd 60 A 192.0.2.1") },
        Change::Create { to: set("odd 60 CNAME b.example.org") },
    ]);
    let outcome = site.apply(&[swap, create("fine 60 A 192.0.2.7")]).await;
    match software {
        DnsSoftware::PowerDns => assert!(shown(&outcome)[0].starts_with("refused"), "{outcome:?}"),
        _ => assert_eq!(shown(&outcome), ["unknown conflict", "applied"]),
    }
}

async fn a_thousand_names_in_one_call(software: DnsSoftware) {
    let site = Site::start(software, "").await;
    let groups: Vec<_> = (0..1000)
        .map(|i| {
            let record = set(&format!("host{i} 300 A 192.0.2.{}", i % 250));
            let claim = set(&format!("a-host{i} 300 TXT \"heritage=external-dns,external-dns/owner=default\""));
            group([Change::Create { to: record }, Change::Create { to: claim }])
        })
        .collect();
    let before = site.provider.messages();
    all_applied(&site.apply(&groups).await);
    let sent = site.provider.messages() - before;
    assert!((2..=16).contains(&sent), "{sent} messages for 2,000 records");
    assert_eq!(site.lines().await.len(), 2000);
}

async fn ten_thousand_records_are_transferred(software: DnsSoftware) {
    let records = repeated(10_000, |i| format!("h{i} 60 TXT \"number {i} of ten thousand\""));
    let site = Site::start(software, &records).await;
    let before = site.provider.messages();
    let lines = site.lines().await;
    assert_eq!(lines.len(), 10_000);
    assert_eq!(lines[0], "h0.example.test 60 TXT \"number 0 of ten thousand\"");
    assert_eq!(site.provider.messages() - before, 1);
}

async fn changes_arrive_as_they_happen(software: DnsSoftware) {
    let filler = repeated(200, |i| format!("filler{i} 60 A 192.0.2.1"));
    let site = Site::start(software, &format!("{filler}\nwww 60 A 192.0.2.1\nold 60 TXT \"x\"")).await;
    let Listing::Full { token: Some(start), .. } = site.provider.records(&site.zone, Read::All).await.unwrap() else {
        panic!()
    };
    let before = site.provider.messages();
    assert_eq!(site.provider.records(&site.zone, Read::Since(&start)).await.unwrap(), Listing::Unchanged);
    assert_eq!(site.provider.messages() - before, 1);

    site.server.nsupdate("update delete www.example.test A\nupdate add www.example.test 90 A 192.0.2.9\nsend\nupdate delete old.example.test TXT");
    let listing = site.provider.records(&site.zone, Read::Since(&start)).await.unwrap();
    let token = match (software, listing) {
        (DnsSoftware::PowerDns, Listing::Full { sets, token: Some(token) }) => {
            assert_eq!(sets.len(), 203);
            token
        }
        (DnsSoftware::Bind | DnsSoftware::Knot, Listing::Delta { steps, token }) => {
            let show = |records: Vec<zonewright_core::provider::Record>| {
                records.iter().map(|r| format!("{} {} {}", r.name, r.ttl, r.data)).collect::<Vec<_>>()
            };
            let shown: Vec<_> = steps.into_iter().map(|step| (show(step.removed), show(step.added))).collect();
            let expected = [
                (vec!["www.example.test 60 192.0.2.1".to_owned()], vec!["www.example.test 90 192.0.2.9".to_owned()]),
                (vec!["old.example.test 60 \"x\"".to_owned()], vec![]),
            ];
            assert_eq!(shown, expected);
            token
        }
        (_, other) => panic!("{other:?}"),
    };
    let (server, serial) = (site.server.addr(), site.server.serial(ZONE));
    assert!(token.0.starts_with(&format!("{server} {serial} ")), "{token:?}");
    assert_eq!(site.provider.records(&site.zone, Read::Since(&token)).await.unwrap(), Listing::Unchanged);
}

async fn single_names_are_read_as_they_stand(software: DnsSoftware) {
    let zone = "*.wild 60 A 192.0.2.1\nreal.wild 60 A 192.0.2.1\n*.both 60 A 192.0.2.1\nx.both 60 A 192.0.2.1\n*.x.both 60 A 192.0.2.1\n\
        a.b.c 60 A 192.0.2.3\nalias 60 CNAME www\nwww 60 A 192.0.2.4\nwww 60 TXT \"t\"\ndangling 60 CNAME nothing\n\
        sub 60 NS ns.sub\nns.sub 60 A 192.0.2.53\n*.cname 60 CNAME www\ntree 60 DNAME other.example.org.";
    let site = Site::start(software, zone).await;
    for (names, expected) in [
        (vec!["none"], vec![]),
        (vec!["www", "none"], vec!["www 60 A 192.0.2.4", "www 60 TXT \"t\""]),
        (vec!["alias"], vec!["alias 60 CNAME www.example.test"]),
        (vec!["dangling"], vec!["dangling 60 CNAME nothing.example.test"]),
        // Made up by a wildcard, really there, and both at once.
        (vec!["made-up.wild"], vec![]),
        (vec!["deep.made-up.wild"], vec![]),
        (vec!["made-up.cname"], vec![]),
        (vec!["real.wild"], vec!["real.wild 60 A 192.0.2.1"]),
        (vec!["x.both"], vec!["x.both 60 A 192.0.2.1"]),
        (vec!["*.wild"], vec!["*.wild 60 A 192.0.2.1"]),
        // Only something below exists.
        (vec!["c", "b.c"], vec![]),
        // A delegation, and what stands below it.
        (vec!["sub", "ns.sub"], vec!["ns.sub 60 A 192.0.2.53", "sub 60 NS ns.sub.example.test"]),
        (vec!["tree"], vec!["tree 60 DNAME other.example.org"]),
        (vec!["below.tree"], vec![]),
        (vec!["elsewhere.example.org."], vec![]),
    ] {
        let mut expected: Vec<_> = expected.into_iter().map(set).collect();
        expected.sort_by(|a, b| a.key.cmp(&b.key));
        assert_eq!(site.names(&names).await, lines(&expected), "{names:?}");
    }
    assert!(site.provider.messages() < 220, "{} messages", site.provider.messages());
    let before = site.provider.messages();
    site.names(&["none"]).await;
    assert_eq!(site.provider.messages() - before, 1, "a name that is not there");
}

/// Glue is data of the zone, and so is its claim, though a server answers a question for either by a referral.
async fn what_stands_below_a_delegation_changes_under_its_claim(software: DnsSoftware) {
    let site = Site::start(
        software,
        "sub 60 NS ns.sub\nns.sub 60 A 192.0.2.53\na-ns.sub 60 TXT \"owner=a\"\nother.sub 60 A 192.0.2.53",
    )
    .await;
    let require = |mut group: zonewright_core::change::Group, text: &str| {
        group.requires = vec![Precondition::Exact(set(text))];
        group
    };
    let change = update("ns.sub 60 A 192.0.2.53", "ns.sub 60 A 192.0.2.54");
    let outcome = site.apply(&[require(change, "a-ns.sub 60 TXT \"owner=a\"")]).await;
    assert_eq!(shown(&outcome), ["applied"], "{outcome:?}, {}", site.server.log());
    let change = update("ns.sub 60 A 192.0.2.54", "ns.sub 60 A 192.0.2.55");
    let outcome = site.apply(&[require(change, "a-ns.sub 60 TXT \"Owner=a\"")]).await;
    assert_eq!(shown(&outcome), ["refused conflict Group"], "{outcome:?}");
    // A CNAME that is read back.
    let swap = group([
        Change::Create { to: set("other.sub 60 CNAME lb.example.org") },
        Change::Delete { from: set("other.sub 60 A 192.0.2.53") },
    ]);
    let outcome = site.apply(&[swap]).await;
    assert_eq!(shown(&outcome), ["applied"], "{outcome:?}, {}", site.server.log());
    all_applied(
        &site
            .apply(&[group([
                Change::Delete { from: set("ns.sub 60 A 192.0.2.54") },
                Change::Delete { from: set("a-ns.sub 60 TXT \"owner=a\"") },
            ])])
            .await,
    );
    assert_eq!(
        site.lines().await,
        ["other.sub 60 CNAME lb.example.org", "sub 60 NS ns.sub.example.test"].map(|text| set(text).to_string())
    );
}

async fn the_case_of_names_does_not_matter(software: DnsSoftware) {
    let site = Site::start(
        software,
        "Mixed 60 CNAME LB.Example.ORG.\nUpper 60 SRV 1 2 3 HOST.Example.ORG.\nMX 60 MX 1 MAIL.Example.ORG.",
    )
    .await;
    let listed =
        ["mixed 60 CNAME lb.example.org", "mx 60 MX 1 mail.example.org", "upper 60 SRV 1 2 3 host.example.org"];
    assert_eq!(site.lines().await, listed.map(|text| set(text).to_string()));
    let changes = [update(listed[0], "mixed 60 CNAME b.example.org"), delete(listed[1]), delete(listed[2])];
    for change in changes {
        all_applied(&site.apply(&[change]).await);
    }
    assert_eq!(site.lines().await, [set("mixed 60 CNAME b.example.org").to_string()]);
}

async fn the_case_of_texts_does(software: DnsSoftware) {
    let site = Site::start(software, "a 60 TXT \"owner=a\"\nb 60 TXT \"owner=b\"\nc 60 TXT \"owner=c\"").await;
    let bad = update("a 60 TXT \"Owner=a\"", "a 60 TXT \"owner=x\"");
    let good = update("b 60 TXT \"owner=b\"", "b 60 TXT \"owner=x\"");
    let before = site.server.axfr(ZONE);
    let together = site.apply(&[bad.clone(), good.clone()]).await;
    assert!(together.iter().all(|o| o.error().is_some_and(|e| e.kind == ErrorKind::Conflict)), "{together:?}");
    assert_eq!(shown(&site.apply(&[bad]).await), ["refused conflict Group"]);
    assert_eq!(site.server.axfr(ZONE), before);
    all_applied(&site.apply(&[good]).await);
    let sent = site.provider.messages();
    all_applied(&site.apply(&[update("c 60 TXT \"owner=c\"", "c 60 TXT \"owner=x\"")]).await);
    let cost = if software == DnsSoftware::PowerDns { 2 } else { 1 };
    assert_eq!(site.provider.messages() - sent, cost, "once it is known how the server compares");
}

async fn name_servers_of_the_apex(software: DnsSoftware) {
    let site = Site::start(software, "").await;
    let (first, second) = ("@ 300 NS ns1.example.test", "@ 300 NS ns.example.org ; ns2.example.org");
    all_applied(&site.apply(&[update(first, second)]).await);
    assert_eq!(site.server.query(ZONE, "NS"), ["ns.example.org.", "ns2.example.org."]);
    assert_eq!(shown(&site.apply(&[delete(second)]).await), ["refused invalid Group"]);
    assert_eq!(site.server.query(ZONE, "NS").len(), 2);
}

async fn what_is_not_understood_is_kept(software: DnsSoftware) {
    let site = Site::start(
        software,
        "odd 60 TYPE65280 \\# 4 DEADBEEF\nkey 60 SSHFP 1 1 00112233445566778899aabbccddeeff00112233",
    )
    .await;
    let lines = site.lines().await;
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[1].starts_with("odd.example.test 60 TYPE65280 "), "{lines:?}");
}

async fn many_calls_at_once(software: DnsSoftware) {
    let site = Site::start(software, "").await;
    let groups: Vec<_> = (0..20).map(|i| create(&format!("c{i} 60 A 192.0.2.1"))).collect();
    let calls = groups.iter().map(|group| site.apply(std::slice::from_ref(group)));
    let reads = (0..5).map(|_| site.names(&["none", "ns1"]));
    let (outcomes, listings) = futures::join!(futures::future::join_all(calls), futures::future::join_all(reads));
    all_applied(&outcomes.concat());
    assert!(listings.iter().all(Vec::is_empty), "{listings:?}");
    assert_eq!(site.lines().await.len(), 20);
    let clash = (0..2).map(|_| site.apply(std::slice::from_ref(&groups[0])));
    let again = futures::future::join_all(clash).await.concat();
    assert!(
        again
            .iter()
            .all(|outcome| matches!(outcome, Outcome::Refused { error, .. } if error.kind == ErrorKind::Conflict))
    );
}
