//! What the suite of all providers does not know: zones and plans, the proxy, what stands beside records, faults and costs.

use crate::common::{
    COMMENT, HOSTNAMES, PROXIED, TAGS, adjusted, config, create, group, id, list, listed, named, on, provider, reach,
    since, www, zone,
};
use zonewright_core::DnsName;
use zonewright_core::capability::Capability;
use zonewright_core::catalog::FlagValue;
use zonewright_core::change::{Blame, Change, Group, Outcome};
use zonewright_core::error::{ErrorKind, Retry};
use zonewright_core::provider::{Listing, Provider, Read};
use zonewright_core::zone::ZoneId;
use zonewright_fakes::cloudflare::{Cloudflare as Service, Fault, Permission, Plan, Record, TOKEN};
use zonewright_provider_cloudflare::Cloudflare;

#[tokio::test]
async fn a_zone_has_the_limits_of_its_plan() {
    let service = Service::start();
    for (name, plan) in [("free.test", Plan::Free), ("pro.test", Plan::Pro), ("big.test", Plan::Enterprise)] {
        service.add_zone(name, plan);
    }
    let provider = provider(&service, &[("batch-change-size", FlagValue::Int(1_000))]);
    let mut found: Vec<(String, usize, u32)> = Vec::new();
    for zone in provider.zones().await.unwrap() {
        let Capability { batch, ttl, .. } = provider.capability(Some(&zone));
        found.push((zone.name.to_string(), batch.changes, ttl.min.secs()));
    }
    found.sort();
    let expected = [("big.test", 1_000, 30), ("free.test", 200, 60), ("pro.test", 1_000, 60)];
    assert_eq!(found, expected.map(|(name, batch, ttl)| (name.to_owned(), batch, ttl)));
}

#[tokio::test]
async fn a_proxied_record_has_the_ttl_of_the_service() {
    let (service, provider, zone) = zone(Plan::Free, &[on("cloudflare-proxied")]).await;
    reach(&provider, &zone, &www(&["192.0.2.1"], &[])).await;
    let before = service.calls();
    assert!(reach(&provider, &zone, &www(&["192.0.2.1"], &[])).await.is_empty());
    assert_eq!(since(&service, &before).get("BatchRecords"), None, "the TTL that the object states is no difference");
    let record = service.records(id(&zone)).pop().unwrap();
    assert!(record.proxied && record.ttl == 1, "{record}");
    reach(&provider, &zone, &www(&["192.0.2.1"], &[(PROXIED, "false")])).await;
    let after = service.records(id(&zone)).pop().unwrap();
    assert!(!after.proxied && after.ttl == 300 && after.id == record.id, "{after}");
    let notes = reach(&provider, &zone, &www(&["10.0.0.1"], &[])).await;
    assert!(notes.len() == 1 && notes[0].contains("10.0.0.1"), "{notes:?}");
}

/// As every plan allows it: <https://blog.cloudflare.com/wildcard-proxy-for-everyone/>.
#[tokio::test]
async fn a_wildcard_is_proxied_on_every_plan() {
    for plan in [Plan::Free, Plan::Pro, Plan::Enterprise] {
        let (service, provider, zone) = zone(plan, &[on("cloudflare-proxied")]).await;
        let (to, notes) = adjusted(&provider, &zone, &named("*.example.test", "192.0.2.1")).await;
        let outcome = provider.apply(&zone, &[create(&to)]).await.pop().unwrap();
        assert!(matches!(outcome, Outcome::Applied) && notes.is_empty(), "{outcome:?} {notes:?}");
        let record = service.records(id(&zone)).pop().unwrap();
        assert!(record.proxied && record.name == "*.example.test", "{record}");
    }
}

#[tokio::test]
async fn comments_and_tags_come_change_and_go() {
    let comment = ("cloudflare-record-comment", FlagValue::Text("by default".to_owned()));
    let (service, provider, zone) = zone(Plan::Pro, &[comment]).await;
    let record = || service.records(id(&zone)).pop().unwrap();
    reach(&provider, &zone, &www(&["192.0.2.1"], &[])).await;
    assert_eq!(record().comment.as_deref(), Some("by default"));
    reach(&provider, &zone, &www(&["192.0.2.1"], &[(COMMENT, "mine"), (TAGS, "team:web, env:prod")])).await;
    assert_eq!(
        (record().comment.as_deref(), record().tags),
        (Some("mine"), vec!["env:prod".to_owned(), "team:web".to_owned()])
    );
    reach(&provider, &zone, &www(&["192.0.2.1"], &[(COMMENT, " "), (TAGS, "env:prod")])).await;
    assert_eq!((record().comment, record().tags), (None, vec!["env:prod".to_owned()]));
    reach(&provider, &zone, &www(&["192.0.2.1"], &[(COMMENT, " ")])).await;
    assert!(record().tags.is_empty());
}

#[tokio::test]
async fn what_the_free_plan_has_not_costs_no_record() {
    let (service, provider, zone) = zone(Plan::Free, &[]).await;
    let long = "x".repeat(150);
    let notes = reach(&provider, &zone, &www(&["192.0.2.1"], &[(COMMENT, &long), (TAGS, "a:b")])).await;
    assert_eq!(notes.len(), 2, "{notes:?}");
    let record = service.records(id(&zone)).pop().unwrap();
    assert_eq!((record.comment.map(|text| text.len()), record.tags.len()), (Some(100), 0));
}

/// Another writer changed one of several records of a set in the dashboard.
#[tokio::test]
async fn a_set_that_was_changed_in_part_is_put_right() {
    let (service, provider, zone) = zone(Plan::Pro, &[]).await;
    let wanted = www(&["192.0.2.1", "192.0.2.2", "192.0.2.3"], &[]);
    reach(&provider, &zone, &wanted).await;
    let changed = service.records(id(&zone)).remove(2);
    service.put(id(&zone), Record { ttl: 60, comment: Some("by hand".to_owned()), ..changed });
    let before = service.calls();
    reach(&provider, &zone, &wanted).await;
    let calls = since(&service, &before);
    assert_eq!((calls["BatchRecords"], calls["patches"], calls.get("posts")), (1, 1, None), "{calls:?}");
    assert!(service.records(id(&zone)).iter().all(|record| record.ttl == 300 && record.comment.is_none()));
}

/// What the service keeps of a record and nobody asks for here.
#[tokio::test]
async fn foreign_properties_survive_a_change() {
    let (service, provider, zone) = zone(Plan::Pro, &[]).await;
    let record = Record::new("www.example.test", "CNAME", "old.example.net").with_ttl(300);
    let settings = [("flatten_cname".to_owned(), true)].into();
    service.put(id(&zone), Record { settings, ..record });
    reach(&provider, &zone, &www(&["new.example.net"], &[])).await;
    let record = service.records(id(&zone)).pop().unwrap();
    assert_eq!((record.content.as_str(), record.settings.get("flatten_cname")), ("new.example.net", Some(&true)));
}

#[tokio::test]
async fn a_set_to_which_somebody_added_a_record_is_not_deleted() {
    let (service, provider, zone) = zone(Plan::Free, &[]).await;
    let ours = www(&["192.0.2.1"], &[]);
    reach(&provider, &zone, &ours).await;
    service.put(id(&zone), Record::new("www.example.test", "A", "192.0.2.9").with_ttl(300));
    let (from, _) = adjusted(&provider, &zone, &ours).await;
    let outcome = provider.apply(&zone, &[group(Change::Delete { from })]).await.pop().unwrap();
    assert!(matches!(&outcome, Outcome::Refused { error, .. } if error.kind == ErrorKind::Conflict), "{outcome:?}");
    let left: Vec<String> = service.records(id(&zone)).into_iter().map(|record| record.content).collect();
    assert_eq!(left, ["192.0.2.1", "192.0.2.9"]);
}

/// A listing that lags behind shows records that are gone: the batch is refused as a whole.
#[tokio::test]
async fn what_is_gone_is_no_success() {
    let (service, provider, zone) = zone(Plan::Free, &[]).await;
    let ours = www(&["192.0.2.1"], &[]);
    reach(&provider, &zone, &ours).await;
    service.set_lag(id(&zone), 1);
    let (from, _) = adjusted(&provider, &zone, &ours).await;
    let delete = group(Change::Delete { from });
    assert!(matches!(provider.apply(&zone, std::slice::from_ref(&delete)).await[..], [Outcome::Applied]));
    let outcomes = provider.apply(&zone, &[delete, create(&named("b.example.test", "192.0.2.2"))]).await;
    for outcome in &outcomes {
        let Outcome::Refused { error, blame: Blame::Batch } = outcome else { panic!("{outcome:?}") };
        assert_eq!(error.kind, ErrorKind::Conflict, "{error}");
    }
    assert!(service.records(id(&zone)).is_empty());
}

#[tokio::test]
async fn a_token_in_a_file_is_rotated() {
    let service = Service::start();
    service.add_zone("example.test", Plan::Free);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let next = "n".repeat(40);
    service.allow_token(&next, &[], &[Permission::ZoneRead, Permission::DnsWrite]);
    std::fs::write(&path, format!("{TOKEN}\n")).unwrap();
    let place = format!("file:{}", path.display());
    let provider = Cloudflare::new(&config(&service.url(), &place, &[])).unwrap();
    let zone = provider.zones().await.unwrap().pop().unwrap();
    service.expire_token(TOKEN);
    let error = provider.records(&zone, Read::All).await.unwrap_err();
    assert!(error.kind == ErrorKind::Unauthorized && error.context.contains("token in"), "{error}");
    assert!(!error.chain().contains(TOKEN), "{error}");
    std::fs::write(&path, &next).unwrap();
    reach(&provider, &zone, &www(&["192.0.2.1"], &[])).await;
}

#[tokio::test]
async fn a_refused_token_is_reported_with_its_place() {
    let (service, provider, zone) = zone(Plan::Free, &[]).await;
    service.revoke_token(TOKEN);
    for error in [provider.zones().await.unwrap_err(), provider.records(&zone, Read::All).await.unwrap_err()] {
        assert!(error.kind == ErrorKind::Unauthorized && error.context.contains("the Secret's apiToken"), "{error}");
    }
    let outcome = provider.apply(&zone, &[create(&www(&["192.0.2.1"], &[]))]).await.pop().unwrap();
    assert!(matches!(&outcome, Outcome::NotSent(error) if error.kind == ErrorKind::Unauthorized), "{outcome:?}");
}

#[tokio::test]
async fn faults_of_writes_are_reported_truthfully() {
    for (fault, kind, outcome, done) in [
        (Fault::Denied, ErrorKind::Unauthorized, "refused", false),
        (Fault::Expired, ErrorKind::Unauthorized, "refused", false),
        (Fault::Throttled, ErrorKind::Throttled, "not_sent", false),
        (Fault::Broken, ErrorKind::Unavailable, "unknown", false),
        (Fault::Unavailable, ErrorKind::Unavailable, "unknown", false),
        (Fault::WrongType, ErrorKind::Unavailable, "unknown", false),
        (Fault::Garbage, ErrorKind::Protocol, "unknown", false),
        (Fault::AnswerLost, ErrorKind::Unavailable, "unknown", true),
        (Fault::ConnectionLost, ErrorKind::Unavailable, "unknown", true),
        (Fault::Cut, ErrorKind::Unavailable, "unknown", true),
    ] {
        let (service, provider, zone) = zone(Plan::Free, &[]).await;
        service.set_retry_after(120);
        service.fail("BatchRecords", fault, 1);
        let made = provider.apply(&zone, &[create(&www(&["192.0.2.1"], &[]))]).await.pop().unwrap();
        let error = made.error().cloned().unwrap();
        assert_eq!((made.label(), error.kind), (outcome, kind), "{fault:?}: {error}");
        assert_eq!(service.records(id(&zone)).len(), usize::from(done), "{fault:?}");
        assert_eq!(
            service.calls()["BatchRecords"],
            1,
            "{fault:?}: nothing is sent twice that may have been carried out"
        );
    }
}

#[tokio::test]
async fn faults_of_reads_pass_and_a_page_is_asked_for_again() {
    let (service, provider, zone) = zone(Plan::Free, &[]).await;
    service.set_page(2);
    for i in 0..7 {
        service.put(id(&zone), Record::new(&format!("n{i}.example.test"), "A", "192.0.2.1"));
    }
    for fault in [Fault::Broken, Fault::Unavailable, Fault::ConnectionLost, Fault::Cut] {
        service.fail_after("ListRecords", 1, fault, 1);
        assert_eq!(listed(&provider, &zone).await.unwrap().len(), 7, "{fault:?}");
    }
    for (fault, kind) in [(Fault::Garbage, ErrorKind::Protocol), (Fault::RepeatedPage, ErrorKind::Conflict)] {
        let Listing::Page { sets, next } = provider.records(&zone, Read::All).await.unwrap() else {
            panic!("one page")
        };
        service.fail("ListRecords", fault, 1);
        let error = provider.records(&zone, Read::From(&next)).await.unwrap_err();
        assert_eq!(error.kind, kind, "{fault:?}: {error}");
        let Listing::Page { sets: more, .. } = provider.records(&zone, Read::From(&next)).await.unwrap() else {
            panic!("{fault:?}: the page is not good afterwards")
        };
        assert!(sets.iter().all(|set| !more.contains(set)), "{fault:?}");
    }
}

/// Records that come and go between two pages move the others: the listing goes on behind the last one that was read. Whatever
/// stands from beginning to end is in it once.
#[tokio::test]
async fn a_zone_that_changes_while_it_is_listed_is_listed_on() {
    let put = |name: &'static str| (name, true);
    let gone = |name: &'static str| (name, false);
    for (changes, expected) in [
        (vec![], "b c d e f g"),
        (vec![gone("b")], "b c d e f g"),
        (vec![put("a")], "b c d e f g"),
        (vec![put("a"), gone("g")], "b c d e f"),
        // As many as before, and each page is full.
        (vec![gone("b"), put("h")], "b c d e f g h"),
        (vec![put("bb"), put("cc"), gone("d")], "b c cc e f g"),
        (vec![gone("d"), gone("e"), gone("f"), gone("g")], "b c"),
        // Where the last one that was read has gone, it begins anew.
        (vec![gone("c")], "conflict"),
        (vec![put("a"), gone("c")], "conflict"),
        (vec![put("a"), put("aa"), gone("c")], "conflict"),
    ] {
        let (service, provider, zone) = zone(Plan::Free, &[]).await;
        service.set_page(2);
        let name = |name: &str| format!("{name}.example.test");
        let write = |one: &str| service.put(id(&zone), Record::new(&name(one), "A", "192.0.2.1"));
        for one in ["b", "c", "d", "e", "f", "g"] {
            write(one);
        }
        let Listing::Page { sets, mut next } = provider.records(&zone, Read::All).await.unwrap() else {
            panic!("one page")
        };
        let mut read: Vec<String> = sets.iter().map(|set| set.key.name.to_string()).collect();
        for (changed, put) in &changes {
            if *put {
                write(changed);
            } else {
                let all = service.records(id(&zone)).into_iter();
                let found = all.filter(|record| record.name == name(changed)).map(|record| record.id);
                found.for_each(|found| drop(service.remove(id(&zone), &found)));
            }
        }
        let ended = loop {
            match provider.records(&zone, Read::From(&next)).await {
                Ok(Listing::Page { sets, next: further }) => {
                    read.extend(sets.iter().map(|set| set.key.name.to_string()));
                    next = further;
                }
                Ok(Listing::Full { sets, .. }) => {
                    read.extend(sets.iter().map(|set| set.key.name.to_string()));
                    break Ok(read.join(" ").replace(".example.test", ""));
                }
                other => break Err(other.unwrap_err().kind),
            }
        };
        let ended = ended.unwrap_or_else(|kind| {
            assert_eq!(kind, ErrorKind::Conflict, "{changes:?}");
            "conflict".to_owned()
        });
        assert_eq!(ended, expected, "{changes:?}");
    }
}

/// Whoever set up the token learns which permission it lacks, for what, and where the token was found.
#[tokio::test]
async fn a_missing_permission_is_reported() {
    use Permission::{CertificatesRead, DnsRead, DnsWrite, ZoneRead};
    let service = Service::start();
    let zone_id = service.add_zone("example.test", Plan::Enterprise);
    let token = "d".repeat(40);
    let limited = |permissions: &[Permission]| {
        service.allow_token(&token, &[], permissions);
        let given = [on("cloudflare-custom-hostnames"), on("cloudflare-regional-services")];
        Cloudflare::new(&config(&service.url(), &token, &given)).unwrap()
    };
    let check = |text: &str, permission: &str| {
        let expected = ["the Secret's apiToken", &format!("expected the permission Zone / {permission} there")];
        assert!(expected.iter().all(|part| text.contains(part)) && !text.contains(&token), "{permission}: {text}");
    };
    let zone = limited(&[ZoneRead]).zones().await.unwrap().pop().unwrap();

    let none = limited(&[DnsWrite]);
    assert!(none.zones().await.unwrap().is_empty(), "the service shows such a token no zone");
    let by_id = [("zone-id-filter", list(&[&zone_id]))];
    let by_id = Cloudflare::new(&config(&service.url(), &token, &by_id)).unwrap();
    check(&by_id.zones().await.unwrap_err().context, "Zone / Read");

    let unread = limited(&[ZoneRead, CertificatesRead]).records(&zone, Read::All).await.unwrap_err();
    check(&unread.context, "DNS / Read");

    let provider = limited(&[ZoneRead, DnsRead, CertificatesRead]);
    let refused = provider.apply(&zone, &[create(&www(&["192.0.2.1"], &[]))]).await.pop().unwrap();
    check(&refused.error().unwrap().context, "DNS / Edit");

    let provider = limited(&[ZoneRead, DnsWrite]);
    provider.records(&zone, Read::All).await.unwrap();
    let (_, notes) = adjusted(&provider, &zone, &www(&["192.0.2.1"], &[(HOSTNAMES, "a.customer.test")])).await;
    check(&notes.join("; "), "SSL and Certificates / Read");

    let provider = limited(&[ZoneRead, DnsWrite, CertificatesRead]);
    let (to, _) = adjusted(&provider, &zone, &www(&["192.0.2.1"], &[(HOSTNAMES, "a.customer.test")])).await;
    let made = provider.apply(&zone, &[create(&to)]).await.pop().unwrap();
    check(&made.error().unwrap().context, "SSL and Certificates / Edit");
    assert_eq!(service.records(id(&zone)).len(), 1, "the record stands");
}

#[tokio::test]
async fn throttling_holds_up_the_whole_account() {
    let (service, provider, zone) = zone(Plan::Free, &[]).await;
    service.set_retry_after(240);
    service.fail("ListRecords", Fault::Throttled, 1);
    let error = provider.records(&zone, Read::All).await.unwrap_err();
    assert!(error.kind == ErrorKind::Throttled && matches!(error.retry, Retry::After(_)), "{error:?}");
    let requests = service.requests();
    let error = provider.zones().await.unwrap_err();
    assert!(error.kind == ErrorKind::Throttled && service.requests() == requests, "nothing is sent before its time");
}

#[tokio::test]
async fn a_zone_that_is_gone_is_reported() {
    let (service, provider, zone) = zone(Plan::Free, &[]).await;
    let key = ZoneId::from(id(&zone));
    assert!(provider.zone(&key).await.unwrap().is_some());
    service.drop_zone(id(&zone));
    assert!(provider.zone(&key).await.unwrap().is_none());
    assert_eq!(provider.records(&zone, Read::All).await.unwrap_err().kind, ErrorKind::NotFound);
    let outcome = provider.apply(&zone, &[create(&www(&["192.0.2.1"], &[]))]).await.pop().unwrap();
    assert!(matches!(&outcome, Outcome::Refused { error, .. } if error.kind == ErrorKind::NotFound), "{outcome:?}");
    assert!(provider.zones().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_change_costs_a_look_and_a_batch() {
    let (service, provider, zone) = zone(Plan::Free, &[("cloudflare-dns-records-per-page", FlagValue::Int(10))]).await;
    for i in 0..35 {
        service.put(id(&zone), Record::new(&format!("old{i}.example.test"), "A", "192.0.2.1"));
    }
    listed(&provider, &zone).await.unwrap();
    let spent = async |count: usize, start: usize| {
        let groups: Vec<Group> =
            (start..start + count).map(|i| create(&named(&format!("n{i}.example.test"), "192.0.2.2"))).collect();
        let before = service.calls();
        assert!(provider.apply(&zone, &groups).await.iter().all(|outcome| matches!(outcome, Outcome::Applied)));
        let calls = since(&service, &before);
        (calls["ListRecords"], calls["BatchRecords"])
    };
    assert_eq!(spent(1, 0).await, (1, 1));
    assert_eq!(spent(3, 10).await, (3, 1), "each name by itself");
    let ask = async |names: &[&str]| {
        let names = names.iter().map(|name| DnsName::parse(&format!("{name}.example.test")).unwrap()).collect();
        let before = service.calls();
        let Listing::Names(sets) = provider.records(&zone, Read::Names(&names)).await.unwrap() else { panic!("names") };
        (since(&service, &before)["ListRecords"], sets.len())
    };
    assert_eq!(ask(&["old7", "claims.a-old7"]).await, (1, 1), "a name and that of its claim");
    assert_eq!(ask(&["old7", "old17", "old27"]).await, (3, 3));
    for i in 0..10 {
        service.put(id(&zone), Record::new(&format!("{i}.old7.example.test"), "A", "192.0.2.1"));
    }
    assert_eq!(ask(&["old7", "claims.a-old7"]).await, (3, 1), "too many names end so");
    assert_eq!(ask(&["old7", "1.old7", "claims.a-1.old7"]).await, (3, 2), "too many end as the first one alone");
    assert_eq!(spent(20, 20).await, (9, 1), "five pages, and where four of them go on, in place of twenty names");
    let before = service.requests();
    let none = provider.apply(&zone, &[]).await;
    assert!(none.is_empty() && service.requests() == before);
}
