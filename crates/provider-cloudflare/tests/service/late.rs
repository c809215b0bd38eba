//! Batches that rest on a reading: they go soon after it began, or not at all.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::{HOSTNAMES, adjusted, create, group, id, listed, named, on, reach, www, zone};
use tokio::task::JoinSet;
use zonewright_core::catalog::FlagValue;
use zonewright_core::change::{Change, Group, Outcome, Precondition};
use zonewright_core::provider::Provider;
use zonewright_core::{DnsName, RData, RecordData, RecordSet, RecordType, Zone};
use zonewright_fakes::cloudflare::{Cloudflare as Service, Plan, Record};
use zonewright_provider_cloudflare::Cloudflare;

/// How old a reading may be when its batch comes.
const HOLDS: Duration = Duration::from_secs(3);
/// Changes of other zones that wait for the same pace.
const OTHERS: usize = 24;

/// Requests a second; a twelfth of those of five minutes go at once.
pub(crate) fn pace(qps: i64) -> [(&'static str, FlagValue); 2] {
    let none = FlagValue::Duration { length: Duration::ZERO, negative: false };
    [("cloudflare-api-qps", FlagValue::Int(qps)), ("batch-change-interval", none)]
}

pub(crate) fn calls(service: &Service, operation: &str) -> usize {
    service.calls().get(operation).copied().unwrap_or_default()
}

/// Uses up what may go at once, with requests that have nothing to do with records.
pub(crate) async fn use_up(provider: &Cloudflare, qps: usize) {
    for _ in 0..qps * 25 {
        provider.zones().await.unwrap();
    }
}

/// While the work goes on: `step` is called whenever something was asked. Ends with the work.
async fn watched<T>(service: &Service, work: impl Future<Output = T>, mut step: impl FnMut()) -> T {
    let watch = async {
        let mut requests = service.requests();
        loop {
            while service.requests() == requests {
                tokio::task::yield_now().await;
            }
            requests = service.requests();
            step();
        }
    };
    tokio::select! {
        done = work => done,
        () = watch => unreachable!("it watches for ever"),
    }
}

/// The longest time from the first reading of records to the batch after it, while the work goes on.
async fn oldest<T>(service: &Service, work: impl Future<Output = T>) -> (T, Duration) {
    let (mut longest, mut since) = (Duration::ZERO, None);
    let (mut lists, mut batches) = (calls(service, "ListRecords"), calls(service, "BatchRecords"));
    let done = watched(service, work, || {
        if calls(service, "BatchRecords") > batches {
            batches = calls(service, "BatchRecords");
            longest = longest.max(since.take().map_or(Duration::ZERO, |since: Instant| since.elapsed()));
            lists = calls(service, "ListRecords");
        } else if calls(service, "ListRecords") > lists {
            lists = calls(service, "ListRecords");
            since.get_or_insert_with(Instant::now);
        }
    })
    .await;
    (done, longest)
}

/// Other work of the same user, until it is dropped: there are always as many requests that wait.
fn others(provider: &Arc<Cloudflare>) -> JoinSet<()> {
    let mut others = JoinSet::new();
    for _ in 0..OTHERS {
        let provider = provider.clone();
        others.spawn(async move { while provider.zones().await.is_ok() {} });
    }
    others
}

pub(crate) fn claim_of(name: &str, text: &str) -> RecordSet {
    let mut set = named(name, "192.0.2.1");
    set.key.rtype = RecordType::Txt;
    set.data = RecordData::records([RData::parse(RecordType::Txt, &format!("\"{text}\"")).unwrap()]);
    set
}

pub(crate) fn applied(outcomes: &[Outcome]) {
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Applied)), "{outcomes:?}");
}

/// A name a second: the reading of them all takes longer than that of the first one is good.
#[tokio::test]
async fn many_names_go_in_parts_and_none_after_its_claim_was_taken_over() {
    let (service, provider, zone) = zone(Plan::Free, &pace(1)).await;
    let name = |at: usize| format!("n{at}.example.test");
    let claim = |at: usize| format!("claim{at}.example.test");
    let mut groups: Vec<Group> = Vec::new();
    for at in 0..3 {
        service.put(id(&zone), Record::new(&name(at), "A", "192.0.2.1").with_ttl(300));
        service.put(id(&zone), Record::new(&claim(at), "TXT", "\"ours\"").with_ttl(300));
        let change = Change::Update { from: named(&name(at), "192.0.2.1"), to: named(&name(at), "192.0.2.2") };
        let requires = vec![Precondition::Exact(claim_of(&claim(at), "ours"))];
        groups.push(Group { requires, ..group(change) });
    }
    use_up(&provider, 1).await;
    let before = calls(&service, "ListRecords");
    let address = || {
        let all = service.records(id(&zone)).into_iter();
        all.filter(|record| record.name == name(0)).map(|record| record.content).collect::<Vec<_>>()
    };
    // When the third name is read, the claim of the first one becomes another owner's.
    let mut then = None;
    let work = provider.apply(&zone, &groups);
    let outcomes = watched(&service, work, || {
        if then.is_none() && calls(&service, "ListRecords") >= before + 5 {
            let all = service.records(id(&zone)).into_iter();
            for record in all.filter(|record| record.name == claim(0)) {
                service.remove(id(&zone), &record.id);
            }
            service.put(id(&zone), Record::new(&claim(0), "TXT", "\"theirs\"").with_ttl(300));
            then = Some(address());
        }
    })
    .await;
    applied(&outcomes);
    assert_eq!(then, Some(address()), "what another owner has by now is left alone");
}

/// A large change goes out whatever it takes.
#[tokio::test]
async fn no_batch_is_older_than_its_reading_is_good() {
    let (service, provider, zone) = zone(Plan::Free, &pace(4)).await;
    use_up(&provider, 4).await;
    let groups: Vec<Group> = (0..20).map(|at| create(&named(&format!("n{at}.example.test"), "192.0.2.1"))).collect();
    let (outcomes, longest) = oldest(&service, provider.apply(&zone, &groups)).await;
    applied(&outcomes);
    let batches = calls(&service, "BatchRecords");
    assert!(longest < HOLDS && (2..=5).contains(&batches), "{longest:?}, {batches} batches");
}

/// The pages of a zone that is read whole, on an account that is never idle.
#[tokio::test]
async fn pages_do_not_wait_while_the_first_of_them_gets_old() {
    let [qps, interval] = pace(4);
    let (service, provider, zone) =
        zone(Plan::Free, &[qps, interval, ("cloudflare-dns-records-per-page", FlagValue::Int(10))]).await;
    for at in 0..25 {
        service.put(id(&zone), Record::new(&format!("old{at}.example.test"), "A", "192.0.2.1"));
    }
    listed(&provider, &zone).await.unwrap();
    use_up(&provider, 4).await;
    let groups: Vec<Group> = (0..9).map(|at| create(&named(&format!("n{at}.example.test"), "192.0.2.1"))).collect();
    let before = calls(&service, "ListRecords");
    let provider = Arc::new(provider);
    let _others = others(&provider);
    let (outcomes, longest) = oldest(&service, provider.apply(&zone, &groups)).await;
    applied(&outcomes);
    assert!(longest < HOLDS, "{longest:?}");
    assert_eq!(calls(&service, "ListRecords") - before, 5, "three pages, and where two of them go on");
}

fn with_hostnames(names: &str) -> RecordSet {
    www(&["192.0.2.1"], &[(HOSTNAMES, names)])
}

async fn busy() -> (Service, Arc<Cloudflare>, Zone) {
    let [qps, interval] = pace(4);
    let (service, provider, zone) = zone(Plan::Pro, &[qps, interval, on("cloudflare-custom-hostnames")]).await;
    (service, Arc::new(provider), zone)
}

/// What is listed of custom host names waits for its turn before the records are read, and not after.
#[tokio::test]
async fn host_names_are_listed_before_the_records_are_read() {
    let (service, provider, zone) = busy().await;
    let (to, _) = adjusted(&provider, &zone, &with_hostnames("a.customer.test")).await;
    use_up(&provider, 4).await;
    let _others = others(&provider);
    let groups = [create(&to)];
    let (outcomes, longest) = oldest(&service, provider.apply(&zone, &groups)).await;
    applied(&outcomes);
    assert!(longest < HOLDS, "{longest:?}");
    assert_eq!(service.hostnames(id(&zone)).len(), 1);
}

/// What a name has beside it goes first; the record follows it at once.
#[tokio::test]
async fn a_record_goes_with_its_host_names_on_a_busy_account() {
    let (service, provider, zone) = busy().await;
    let hostnames: Vec<String> = (0..12).map(|at| format!("h{at}.customer.test")).collect();
    reach(&provider, &zone, &with_hostnames(&hostnames.join(","))).await;
    let www = DnsName::parse("www.example.test").unwrap();
    let from = listed(&provider, &zone).await.unwrap().into_iter().find(|set| set.key.name == www).unwrap();
    use_up(&provider, 4).await;
    let _others = others(&provider);
    let outcomes = provider.apply(&zone, &[group(Change::Delete { from })]).await;
    applied(&outcomes);
    assert!(service.hostnames(id(&zone)).is_empty() && service.records(id(&zone)).is_empty());
}
