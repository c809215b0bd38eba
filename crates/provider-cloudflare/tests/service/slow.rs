//! Changes whose own names take long to read: more records end as they do than fit on a page, the user has few requests a second, the
//! service is slow to answer. None of them is put off for ever, and none holds up the others.

use std::io::{Read as _, Write as _, copy};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{sleep, spawn};
use std::time::Duration;

use crate::common::{config, create, group, id, listed, named, zone};
use crate::late::{applied, calls, claim_of, pace, use_up};
use zonewright_core::catalog::{FlagValue, ProviderConfig};
use zonewright_core::change::{Change, Group, Outcome, Precondition};
use zonewright_core::error::ErrorKind;
use zonewright_core::provider::Provider;
use zonewright_core::{DnsName, Zone};
use zonewright_fakes::cloudflare::{Cloudflare as Service, Plan, Record, TOKEN};
use zonewright_http::{AccountLimits, Accounts, Patience};
use zonewright_provider_cloudflare::Cloudflare;

fn page(records: i64) -> (&'static str, FlagValue) {
    ("cloudflare-dns-records-per-page", FlagValue::Int(records))
}

/// `dev`, with so many records below it.
fn fill(service: &Service, zone: &Zone, below: usize) {
    service.put(id(zone), Record::new("dev.example.test", "A", "192.0.2.1").with_ttl(300));
    for at in 0..below {
        service.put(id(zone), Record::new(&format!("old{at}.dev.example.test"), "A", "192.0.2.1").with_ttl(300));
    }
}

/// `dev` changes, and so many names below it come, which are free, as are those of their claims.
fn with_those_below(new: usize) -> Vec<Group> {
    let dev = |address| named("dev.example.test", address);
    let first = group(Change::Update { from: dev("192.0.2.1"), to: dev("192.0.2.2") });
    let below = (0..new).map(|at| {
        let claim = DnsName::parse(&format!("a-n{at}.dev.example.test")).unwrap();
        let one = create(&named(&format!("n{at}.dev.example.test"), "192.0.2.1"));
        Group { requires: vec![Precondition::NameNotInUse(claim)], ..one }
    });
    [first].into_iter().chain(below).collect()
}

/// A change of `www` that needs claims whose names end otherwise, each read by a request of its own.
fn with_claims(service: &Service, zone: &Zone, claims: usize) -> Group {
    service.put(id(zone), Record::new("www.example.test", "A", "192.0.2.1").with_ttl(300));
    let www = |address| named("www.example.test", address);
    let requires = (0..claims).map(|at| {
        let name = format!("claim{at}.example.test");
        service.put(id(zone), Record::new(&name, "TXT", "\"ours\"").with_ttl(300));
        Precondition::Exact(claim_of(&name, "ours"))
    });
    Group { requires: requires.collect(), ..group(Change::Update { from: www("192.0.2.1"), to: www("192.0.2.2") }) }
}

/// All names of the call end as its first one, and so do more records than fit on a page: each group is read by itself.
#[tokio::test]
async fn a_name_with_many_records_below_it_holds_up_none_of_them() {
    let [qps, interval] = pace(4);
    let (service, provider, zone) = zone(Plan::Free, &[qps, interval, page(5)]).await;
    fill(&service, &zone, 60);
    use_up(&provider, 4).await;
    applied(&provider.apply(&zone, &with_those_below(15)).await);
    let (lists, batches) = (calls(&service, "ListRecords"), calls(&service, "BatchRecords"));
    assert_eq!(lists, 17, "one page of too many, and each name with that of its claim");
    assert!((2..=5).contains(&batches), "{batches} batches");
}

/// Where that would take more requests than the pages of the zone, these are read.
#[tokio::test]
async fn a_zone_is_read_whole_where_its_names_do_not_fit_on_a_page() {
    let (service, provider, zone) = zone(Plan::Free, &[page(10)]).await;
    fill(&service, &zone, 14);
    listed(&provider, &zone).await.unwrap();
    let before = calls(&service, "ListRecords");
    applied(&provider.apply(&zone, &with_those_below(8)).await);
    assert_eq!(
        calls(&service, "ListRecords") - before,
        4,
        "one page of too many, two pages, and where the second goes on"
    );
    assert_eq!(calls(&service, "BatchRecords"), 1);
}

/// Three requests, one a second, before the batch.
#[tokio::test]
async fn a_change_goes_out_however_few_requests_the_user_has() {
    let (service, provider, zone) = zone(Plan::Free, &pace(1)).await;
    let groups = [with_claims(&service, &zone, 2), create(&named("n.example.test", "192.0.2.1"))];
    use_up(&provider, 1).await;
    applied(&provider.apply(&zone, &groups).await);
    assert_eq!((calls(&service, "ListRecords"), calls(&service, "BatchRecords")), (4, 2), "nothing is read twice");
}

/// Where the service is found by way of `on`, which sees each request before it goes on.
fn watched(service: &Service, on: impl Fn(&str) + Send + Sync + 'static) -> String {
    let (listener, on) = (TcpListener::bind("127.0.0.1:0").unwrap(), Arc::new(on));
    let url = service.url();
    let place = url.trim_start_matches("http://").split('/').next().unwrap().to_owned();
    let found = url.replace(&place, &listener.local_addr().unwrap().to_string());
    spawn(move || {
        for client in listener.incoming() {
            let (Ok(mut client), Ok(mut server)) = (client, TcpStream::connect(&place)) else { break };
            let (mut answers, mut back) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            spawn(move || copy(&mut answers, &mut back));
            let on = on.clone();
            spawn(move || {
                let mut buffer = vec![0; 65_536];
                while let Ok(length @ 1..) = client.read(&mut buffer) {
                    on(&String::from_utf8_lossy(&buffer[..length]));
                    let Ok(()) = server.write_all(&buffer[..length]) else { break };
                }
                server.shutdown(Shutdown::Both)
            });
        }
    });
    found
}

/// A provider that is patient with the service, found there, and its zone.
async fn patient(config: &ProviderConfig) -> (Cloudflare, Zone) {
    config.shared.get::<Patience>().set(Duration::from_secs(9), Duration::from_millis(5));
    let provider = Cloudflare::new(config).unwrap();
    let zone = provider.zones().await.unwrap().pop().unwrap();
    (provider, zone)
}

/// Two answers, each of which takes more than half of the time for which a reading is good.
#[tokio::test]
async fn a_change_goes_out_however_slowly_its_names_are_answered_for() {
    let service = Service::start();
    service.add_zone("example.test", Plan::Free);
    let url = watched(&service, |request| {
        if request.contains("name.exact=") {
            sleep(Duration::from_millis(1_600));
        }
    });
    let [_, interval] = pace(0);
    let (provider, zone) = patient(&config(&url, TOKEN, &[interval])).await;
    let groups = [with_claims(&service, &zone, 1)];
    applied(&provider.apply(&zone, &groups).await);
    assert_eq!((calls(&service, "ListRecords"), calls(&service, "BatchRecords")), (2, 1), "nothing is read twice");
}

/// Whenever its name was read the account has to pause for longer than that is good: what it waits for is not its own.
#[tokio::test]
async fn a_change_that_is_never_in_time_holds_up_no_other_one() {
    let service = Service::start();
    service.add_zone("example.test", Plan::Free);
    let shared = config(&service.url(), TOKEN, &[]).shared;
    let account = shared.get::<Accounts>().of("cloudflare", &TOKEN.into(), AccountLimits::default());
    let url = watched(&service, move |request| {
        if request.contains("name.exact=never.") {
            account.pause(Duration::from_millis(3_300));
        }
    });
    let [_, interval] = pace(0);
    let (provider, zone) = patient(&ProviderConfig { shared, ..config(&url, TOKEN, &[interval]) }).await;
    let groups = ["never", "a", "b"].map(|name| create(&named(&format!("{name}.example.test"), "192.0.2.1")));
    let outcomes = provider.apply(&zone, &groups).await;
    let [Outcome::NotSent(error), others @ ..] = &outcomes[..] else { panic!("{outcomes:?}") };
    assert_eq!(error.kind, ErrorKind::Throttled, "{error}");
    applied(others);
}
