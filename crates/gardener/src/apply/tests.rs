//! Names brought in step at a provider that follows a script: what is sent, and what of faults.

use std::sync::atomic::{AtomicUsize, Ordering};

use zonewright_core::testing::{name, set};
use zonewright_core::zone::InstanceId;
use zonewright_registry::noop::NoopRegistry;
use zonewright_registry::txt::{TxtConfig, TxtRegistry};

use super::*;
use crate::testing::{Fault, Script, account, record};

/// Counts; fails where a test asks for it.
#[derive(Debug, Default)]
struct Marks {
    written: AtomicUsize,
    fail: bool,
    /// What stands is to be left there.
    stays: bool,
}

#[async_trait]
impl Mark for Marks {
    async fn sending(&self) -> Result<bool, OperationFailure> {
        if self.fail {
            return Err(OperationFailure::Cluster(Error::new(ErrorKind::Unavailable, "change object", "no answer")));
        }
        self.written.fetch_add(1, Ordering::Relaxed);
        Ok(!self.stays)
    }
}

struct Case {
    script: Arc<Script>,
    account: ProviderAccount,
    zone: Zone,
    registry: Box<dyn Registry>,
    marks: Marks,
}

impl Case {
    fn new() -> Self {
        let script = Arc::new(Script::with_zones(&["example.com"]));
        let zone = Zone::new(&InstanceId::from("script"), "example.com", name("example.com"));
        let (account, registry) = (account(&script), Box::new(NoopRegistry));
        Self { script, account, zone, registry, marks: Marks::default() }
    }

    fn owned(owner: &str) -> Self {
        let registry = TxtRegistry::new(TxtConfig::new(owner).unwrap()).unwrap();
        Self { registry: Box::new(registry), ..Self::new() }
    }

    fn place(&self) -> ChangeTarget<'_> {
        ChangeTarget {
            account: &self.account,
            zone: &self.zone,
            registry: &*self.registry,
            resource: "dnsrecord/ns/a".into(),
            is_rival: &|_| false,
        }
    }

    async fn bring(&self, line: &str, stack: IpStack) -> Result<(), OperationFailure> {
        let endpoint = crate::convert::endpoint(&record(line)).unwrap();
        self.place().bring(&endpoint, stack, &self.marks).await
    }

    async fn brings(&self, line: &str, stack: IpStack, expected: &[&str]) {
        self.bring(line, stack).await.unwrap();
        assert_eq!(self.script.shown(), expected, "{line}");
        let writes = self.script.writes();
        self.bring(line, stack).await.unwrap();
        assert_eq!(self.script.writes(), writes, "{line}: the second time there is nothing to do");
    }

    fn marked(&self) -> usize {
        self.marks.written.load(Ordering::Relaxed)
    }
}

const ADDRESS: &str = "x.example.com A 192.0.2.1";

#[tokio::test(start_paused = true)]
async fn a_name_through_all_its_shapes() {
    use IpStack::{Dual, Ipv4, Ipv6};
    let case = Case::new();
    case.script.put(set("x.example.com TXT ttl=60 v=spf1"));
    let txt = "x.example.com 60 TXT \"v=spf1\"";
    let (alias4, alias6) = ("x.example.com A alias of h.aliases.test", "x.example.com AAAA alias of h.aliases.test");
    case.brings(ADDRESS, Ipv4, &["x.example.com 120 A 192.0.2.1", txt]).await;
    case.brings("x.example.com A ttl=60 192.0.2.1 192.0.2.2", Ipv4, &["x.example.com 60 A 192.0.2.1 ; 192.0.2.2", txt])
        .await;
    let alias = "x.example.com CNAME h.aliases.test";
    case.brings(alias, Ipv4, &[alias4, txt]).await;
    case.brings(alias, Dual, &[alias4, alias6, txt]).await;
    case.brings(alias, Ipv6, &[alias6, txt]).await;
    case.brings(alias, Dual, &[alias4, alias6, txt]).await;
    case.brings(alias, Ipv4, &[alias4, txt]).await;
    case.brings(ADDRESS, Ipv4, &["x.example.com 120 A 192.0.2.1", txt]).await;
    let place = case.place();
    place.withdraw(&name("x.example.com"), RecordType::A, &case.marks).await.unwrap();
    assert_eq!(case.script.shown(), [txt]);
}

#[tokio::test(start_paused = true)]
async fn a_cname_and_an_alias_take_each_others_place() {
    let case = Case::new();
    case.brings("x.example.com CNAME web.other.org", IpStack::Dual, &["x.example.com 120 CNAME web.other.org."]).await;
    let both = ["x.example.com A alias of h.aliases.test", "x.example.com AAAA alias of h.aliases.test"];
    case.brings("x.example.com CNAME h.aliases.test", IpStack::Dual, &both).await;
    case.brings("x.example.com CNAME web.other.org", IpStack::Dual, &["x.example.com 120 CNAME web.other.org."]).await;
    assert_eq!(case.script.writes(), 3, "one group for each change of shape");
}

#[tokio::test(start_paused = true)]
async fn what_stood_before_is_taken_over_without_a_registry() {
    let case = Case::new();
    case.script.put(set("x.example.com A ttl=300 198.51.100.1"));
    case.brings(ADDRESS, IpStack::Ipv4, &["x.example.com 120 A 192.0.2.1"]).await;
    // Changed behind our back, then taken away.
    case.script.put(set("x.example.com A ttl=120 203.0.113.7"));
    case.brings(ADDRESS, IpStack::Ipv4, &["x.example.com 120 A 192.0.2.1"]).await;
    case.script.put(set("x.example.com A ttl=120 203.0.113.7"));
    case.place().withdraw(&name("x.example.com"), RecordType::A, &case.marks).await.unwrap();
    assert!(case.script.shown().is_empty());
    let writes = case.script.writes();
    case.place().withdraw(&name("x.example.com"), RecordType::A, &case.marks).await.unwrap();
    assert_eq!(case.script.writes(), writes, "nothing stands");
}

#[tokio::test(start_paused = true)]
async fn what_is_to_be_left_there_stays() {
    let case = Case { marks: Marks { stays: true, ..Marks::default() }, ..Case::new() };
    case.script.put(set("x.example.com A ttl=120 192.0.2.1"));
    case.place().withdraw(&name("x.example.com"), RecordType::A, &case.marks).await.unwrap();
    assert_eq!((case.script.shown().len(), case.script.writes()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_that_is_not_written_down_before() {
    let case = Case { marks: Marks { fail: true, ..Marks::default() }, ..Case::new() };
    assert!(matches!(case.bring(ADDRESS, IpStack::Ipv4).await, Err(OperationFailure::Cluster(_))));
    assert_eq!((case.script.writes(), case.script.shown().len()), (0, 0));
    let equal = Case::new();
    equal.script.put(set("x.example.com A ttl=120 192.0.2.1"));
    equal.bring(ADDRESS, IpStack::Ipv4).await.unwrap();
    assert_eq!(
        (equal.marked(), equal.script.writes(), equal.script.reads()),
        (1, 0, 1),
        "taken over, and written down"
    );
}

#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_is_read_back() {
    let case = Case::new();
    case.script.fault(Fault::Lost(true));
    case.bring(ADDRESS, IpStack::Ipv4).await.unwrap();
    assert_eq!((case.script.writes(), case.script.reads()), (1, 2), "it is in force, and not sent again");
    let case = Case::new();
    case.script.fault(Fault::Lost(false));
    let failure = case.bring(ADDRESS, IpStack::Ipv4).await.unwrap_err();
    assert!(matches!(&failure, OperationFailure::Provider(error) if error.kind == ErrorKind::Timeout), "{failure:?}");
    assert!(failure.codes().is_empty());
    assert_eq!(case.script.writes(), 1, "the next attempt waits");
}

#[tokio::test(start_paused = true)]
async fn who_is_outrun_reads_again() {
    let case = Case::new();
    case.script.fault(Fault::Meanwhile(set("x.example.com A ttl=60 198.51.100.1")));
    case.bring(ADDRESS, IpStack::Ipv4).await.unwrap();
    assert_eq!(case.script.shown(), ["x.example.com 120 A 192.0.2.1"]);
    assert_eq!(case.script.writes(), 2);
    for n in 2..9 {
        case.script.fault(Fault::Meanwhile(set(&format!("x.example.com A ttl=60 198.51.100.{n}"))));
    }
    let failure = case.bring("x.example.com A 192.0.2.2", IpStack::Ipv4).await.unwrap_err();
    assert!(matches!(&failure, OperationFailure::Provider(error) if error.kind == ErrorKind::Conflict), "{failure:?}");
}

#[tokio::test(start_paused = true)]
async fn refusals_go_to_the_status_by_their_kind() {
    for (kind, codes) in
        [(ErrorKind::Throttled, 0), (ErrorKind::Unavailable, 0), (ErrorKind::Unauthorized, 1), (ErrorKind::Invalid, 1)]
    {
        let case = Case::new();
        case.script.fault(Fault::Fails(kind));
        let failure = case.bring(ADDRESS, IpStack::Ipv4).await.unwrap_err();
        assert_eq!(failure.codes().len(), codes, "{failure:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_zone_cannot_hold_is_said() {
    let case = Case::new();
    let failure = case.bring("example.com CNAME web.other.org", IpStack::Ipv4).await.unwrap_err();
    assert!(matches!(&failure, OperationFailure::Configuration(text) if text.contains("apex")), "{failure:?}");
    assert_eq!(case.script.writes(), 0);
}

const CLAIM: &str =
    "a-x.example.com TXT \"heritage=external-dns,external-dns/owner=us,external-dns/resource=dnsrecord/ns/a\"";

/// Without the TTLs of claims, which are the registry's affair.
fn bare(shown: Vec<String>) -> Vec<String> {
    shown.into_iter().map(|line| line.replacen(" 0 TXT", " TXT", 1)).collect()
}

#[tokio::test(start_paused = true)]
async fn with_a_registry_record_and_claim_come_and_go_together() {
    let case = Case::owned("us");
    case.bring(ADDRESS, IpStack::Ipv4).await.unwrap();
    assert_eq!(bare(case.script.shown()), [CLAIM, "x.example.com 120 A 192.0.2.1"]);
    case.bring("x.example.com A 192.0.2.2", IpStack::Ipv4).await.unwrap();
    assert_eq!(bare(case.script.shown()), [CLAIM, "x.example.com 120 A 192.0.2.2"]);
    let writes = case.script.writes();
    case.bring("x.example.com A 192.0.2.2", IpStack::Ipv4).await.unwrap();
    assert_eq!(case.script.writes(), writes);
    case.place().withdraw(&name("x.example.com"), RecordType::A, &case.marks).await.unwrap();
    assert!(case.script.shown().is_empty());
}

#[tokio::test(start_paused = true)]
async fn with_a_registry_equal_values_are_adopted_and_others_are_not() {
    let case = Case::owned("us");
    case.script.put(set("x.example.com A ttl=60 192.0.2.1"));
    case.bring(ADDRESS, IpStack::Ipv4).await.unwrap();
    assert_eq!(bare(case.script.shown()), [CLAIM, "x.example.com 120 A 192.0.2.1"], "the TTL follows the claim");
    let case = Case::owned("us");
    case.script.put(set("x.example.com A ttl=60 198.51.100.1"));
    let failure = case.bring(ADDRESS, IpStack::Ipv4).await.unwrap_err();
    assert!(matches!(&failure, OperationFailure::Held(text) if text.contains("nobody claims it")), "{failure:?}");
    case.place().withdraw(&name("x.example.com"), RecordType::A, &case.marks).await.unwrap();
    assert_eq!(case.script.shown(), ["x.example.com 60 A 198.51.100.1"]);
}

#[tokio::test(start_paused = true)]
async fn with_a_registry_another_owner_is_named() {
    let theirs = Case::owned("them");
    theirs.bring(ADDRESS, IpStack::Ipv4).await.unwrap();
    let ours = Case { account: account(&theirs.script), ..Case::owned("us") };
    for line in [ADDRESS, "x.example.com A 192.0.2.2", "x.example.com CNAME h.other.org"] {
        let failure = ours.bring(line, IpStack::Ipv4).await.unwrap_err();
        assert!(matches!(&failure, OperationFailure::Held(text) if text.contains("them")), "{failure:?}");
    }
    assert_eq!(theirs.script.writes(), 1);
}
