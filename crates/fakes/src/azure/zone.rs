//! A zone: its sets in the order of listings, and what a request does to one of them.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Value, json};

use super::refusal::Refusal;
use super::set::RecordSet;
use super::value::{RecordType, is_name};

/// Relative name and type.
pub(super) type Key = (String, String);
type Sets = BTreeMap<Key, RecordSet>;

/// Who may ask a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Everybody.
    Public,
    /// The virtual networks that are linked to it.
    Private,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::Public, Self::Private];

    /// The type of such zones as answers write it; clients write it in several ways.
    pub(super) fn resource_type(self) -> &'static str {
        match self {
            Self::Public => "dnszones",
            Self::Private => "privateDnsZones",
        }
    }

    /// The versions of its API.
    pub(super) fn versions(self) -> &'static [&'static str] {
        match self {
            Self::Public => &["2018-05-01"],
            Self::Private => &["2020-06-01", "2024-06-01"],
        }
    }

    /// Most sets of such a zone.
    fn limit(self) -> usize {
        match self {
            Self::Public => 10_000,
            Self::Private => 25_000,
        }
    }
}

/// The conditions of a request, as its headers say them.
#[derive(Debug, Default)]
pub(super) struct Condition<'a> {
    pub(super) matches: Option<&'a str>,
    pub(super) none_matches: Option<&'a str>,
}

/// A zone.
#[derive(Debug)]
pub(super) struct Zone {
    /// The id as answers write it.
    pub(super) id: String,
    pub(super) subscription: String,
    pub(super) group: String,
    /// Without a final dot.
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) sets: Sets,
    /// The sets as they were before the last writes, the latest at the end.
    history: VecDeque<Sets>,
    lag: usize,
    /// Most sets of the zone.
    pub(super) limit: usize,
    number: usize,
    /// How many etags were given out.
    etags: usize,
}

impl Zone {
    /// A zone with its SOA record, and with NS records if it is public. `number` distinguishes zones.
    pub(super) fn new(kind: Kind, subscription: &str, group: &str, name: &str, number: usize) -> Self {
        let id = format!(
            "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/{}/{name}",
            kind.resource_type()
        );
        let (subscription, group, name) = (subscription.to_owned(), group.to_owned(), name.to_owned());
        let (sets, history, limit) = (Sets::new(), VecDeque::new(), kind.limit());
        let mut zone = Self { id, subscription, group, name, kind, sets, history, lag: 0, limit, number, etags: 0 };
        let servers = zone.servers();
        let host = servers.first().map_or("azureprivatedns.net", String::as_str);
        let email = if kind == Kind::Public {
            "azuredns-hostmaster.microsoft.com"
        } else {
            "azureprivatedns-host.microsoft.com"
        };
        let soa = json!({
            "host": host, "email": email, "serialNumber": 1, "refreshTime": 3_600, "retryTime": 300,
            "expireTime": 2_419_200, "minimumTTL": if kind == Kind::Public { 300 } else { 10 },
        });
        zone.put(RecordSet::new("@", "SOA", 3_600, vec![soa]));
        if kind == Kind::Public {
            let servers = servers.iter().map(|server| json!({ "nsdname": server })).collect();
            zone.put(RecordSet::new("@", "NS", 172_800, servers));
        }
        zone
    }

    /// The servers that Azure gives to a public zone.
    fn servers(&self) -> Vec<String> {
        let server = |(at, top)| format!("ns{}-{:02}.azure-dns.{top}.", at + 1, self.number % 100);
        let tops: &[&str] = if self.kind == Kind::Public { &["com", "net", "org", "info"] } else { &[] };
        tops.iter().enumerate().map(server).collect()
    }

    fn etag(&mut self) -> String {
        self.etags += 1;
        format!("{:08x}-0000-4000-8000-{:012x}", self.number, self.etags)
    }

    /// Puts a set in place, past every rule.
    pub(super) fn put(&mut self, mut set: RecordSet) {
        if set.etag.is_empty() {
            set.etag = self.etag();
        }
        self.sets.insert((set.name.clone(), set.kind.clone()), set);
    }

    pub(super) fn set_lag(&mut self, writes: usize) {
        self.lag = writes;
        self.history.clear();
    }

    /// What a listing sees.
    pub(super) fn listed(&self) -> &Sets {
        self.history.front().unwrap_or(&self.sets)
    }

    /// The whole name of a set, with a final dot.
    pub(super) fn fqdn(&self, name: &str) -> String {
        if name == "@" { format!("{}.", self.name) } else { format!("{name}.{}.", self.name) }
    }

    /// As the API writes it.
    pub(super) fn json(&self) -> Value {
        let mut properties = json!({ "maxNumberOfRecordSets": self.limit, "numberOfRecordSets": self.sets.len() });
        if self.kind == Kind::Public {
            properties["nameServers"] = json!(self.servers());
            properties["zoneType"] = json!("Public");
            properties["maxNumberOfRecordsPerRecordSet"] = Value::Null;
        } else {
            properties["provisioningState"] = json!("Succeeded");
            properties["maxNumberOfVirtualNetworkLinks"] = json!(1_000);
            properties["numberOfVirtualNetworkLinks"] = json!(0);
        }
        json!({
            "id": self.id, "name": self.name, "type": format!("Microsoft.Network/{}", self.kind.resource_type()),
            "etag": format!("{:08x}-0000-4000-9000-000000000000", self.number), "location": "global", "tags": {},
            "properties": properties,
        })
    }

    /// Writes a set as a client sends it, if the conditions are met and what it says is allowed. `merge` keeps what the client
    /// does not say. The key of the set, and whether it is new.
    ///
    /// # Errors
    /// The first thing that is wrong; then nothing is changed.
    pub(super) fn write(
        &mut self,
        (name, of): (&str, &RecordType),
        body: &Value,
        condition: &Condition<'_>,
        merge: bool,
    ) -> Result<(Key, bool), Refusal> {
        let key = (name.to_owned(), of.name.to_owned());
        let standing = self.sets.get(&key);
        if merge && standing.is_none() {
            return Err(Refusal::no_set(name, &self.group, &self.subscription));
        }
        self.check_name(name, of.name)?;
        let mut set = RecordSet::read(body, name, of, self.kind, standing.filter(|_| merge))?;
        condition.check(name, standing)?;
        self.check(&mut set, standing)?;
        set.etag = self.etag();
        self.change(|sets| sets.insert(key.clone(), set)).map_or(Ok((key.clone(), true)), |_| Ok((key, false)))
    }

    /// Takes a set out, if the conditions are met. Whether there was one.
    ///
    /// # Errors
    /// When another set stands there, or one that cannot be taken out.
    pub(super) fn delete(&mut self, name: &str, of: &str, condition: &Condition<'_>) -> Result<bool, Refusal> {
        let key = (name.to_owned(), of.to_owned());
        if name == "@" && matches!(of, "SOA" | "NS") {
            return Err(Refusal::bad(format!("The {of} record set at the zone apex cannot be deleted.")));
        }
        let standing = self.sets.get(&key);
        condition.check(name, standing)?;
        if standing.is_none() {
            return Ok(false);
        }
        Ok(self.change(|sets| sets.remove(&key)).is_some())
    }

    /// Makes a change, and remembers what was before it for listings that lag.
    fn change<T>(&mut self, change: impl FnOnce(&mut Sets) -> T) -> T {
        if self.lag > 0 {
            self.history.push_back(self.sets.clone());
            while self.history.len() > self.lag {
                self.history.pop_front();
            }
        }
        change(&mut self.sets)
    }

    fn check_name(&self, name: &str, of: &str) -> Result<(), Refusal> {
        let whole = self.fqdn(name);
        if !is_name(whole.trim_end_matches('.')) || whole.ends_with("..") {
            return Err(Refusal::name(name));
        }
        let apex = name == "@";
        if of == "CNAME" && apex {
            return Err(Refusal::bad("A CNAME record set cannot be created at the zone apex."));
        }
        if of == "SOA" && !apex {
            return Err(Refusal::bad("A SOA record set stands at the zone apex only."));
        }
        if of == "NS" && name.starts_with('*') {
            return Err(Refusal::bad("An NS record set cannot have a wildcard name."));
        }
        Ok(())
    }

    /// Whether a set may stand in this zone; what clients cannot change is put right.
    fn check(&self, set: &mut RecordSet, standing: Option<&RecordSet>) -> Result<(), Refusal> {
        let beside = self.sets.range((set.name.clone(), String::new())..);
        let mut beside = beside.take_while(|((name, _), _)| *name == set.name).map(|((_, kind), _)| kind.as_str());
        let conflict = |kind: &str| kind != set.kind && (kind == "CNAME" || set.kind == "CNAME");
        if beside.any(conflict) {
            return Err(Refusal::cname(&set.kind));
        }
        if standing.is_none() && self.sets.len() >= self.limit {
            return Err(Refusal::bad(format!("The zone may not have more than {} record sets.", self.limit)));
        }
        let servers = self.servers();
        if set.name == "@" && set.kind == "NS" {
            let named = |server: &String| set.records.iter().any(|record| record["nsdname"] == json!(server));
            if !servers.iter().all(named) {
                return Err(Refusal::bad("The Azure DNS name servers at the zone apex cannot be removed or modified."));
            }
        }
        if set.kind == "SOA"
            && let (Some(new), Some(old)) = (set.records.first_mut(), standing)
        {
            new["host"] = old.records.first().map(|old| old["host"].clone()).unwrap_or_default();
        }
        Ok(())
    }
}

impl Condition<'_> {
    /// Whether what stands is what the request expects.
    fn check(&self, name: &str, standing: Option<&RecordSet>) -> Result<(), Refusal> {
        let current = standing.map(|set| set.etag.as_str());
        let is = |condition: &str| current.is_some_and(|etag| condition == "*" || condition.trim_matches('"') == etag);
        match (self.matches, self.none_matches) {
            (Some(condition), _) if !is(condition) => Err(Refusal::precondition(condition, current)),
            (_, Some(condition)) if is(condition) => Err(Refusal::exists(name)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(kind: Kind) -> Zone {
        Zone::new(kind, "s", "g", "example.org", 1)
    }

    fn a(value: &str) -> Value {
        json!({ "properties": { "TTL": 300, "ARecords": [{ "ipv4Address": value }] } })
    }

    fn alias() -> Value {
        json!({ "properties": { "TTL": 300, "CNAMERecord": { "cname": "b.org" } } })
    }

    #[track_caller]
    fn write(zone: &mut Zone, name: &str, of: &str, sent: &Value, condition: &Condition<'_>) -> String {
        let of = RecordType::find(zone.kind, of).unwrap();
        match zone.write((name, of), sent, condition, false) {
            Ok((_, true)) => "created".to_owned(),
            Ok((_, false)) => "updated".to_owned(),
            Err(refusal) => format!("{} {}", refusal.status, refusal.code),
        }
    }

    fn etag(zone: &Zone, name: &str) -> String {
        zone.sets[&(name.to_owned(), "A".to_owned())].etag.clone()
    }

    #[test]
    fn conditions_are_held() {
        let mut zone = zone(Kind::Public);
        let none = Condition::default();
        let new = Condition { none_matches: Some("*"), ..Condition::default() };
        let any = Condition { matches: Some("*"), ..Condition::default() };
        assert_eq!(write(&mut zone, "www", "A", &a("192.0.2.1"), &any), "412 PreconditionFailed");
        assert_eq!(write(&mut zone, "www", "A", &a("192.0.2.1"), &new), "created");
        assert_eq!(write(&mut zone, "www", "A", &a("192.0.2.2"), &new), "412 PreconditionFailed");
        let first = etag(&zone, "www");
        let this = Condition { matches: Some(&first), ..Condition::default() };
        assert_eq!(write(&mut zone, "www", "A", &a("192.0.2.2"), &this), "updated");
        assert_ne!(etag(&zone, "www"), first);
        assert_eq!(write(&mut zone, "www", "A", &a("192.0.2.3"), &this), "412 PreconditionFailed");
        assert_eq!(zone.delete("www", "A", &this).unwrap_err().status, 412);
        assert_eq!(zone.delete("www", "A", &none), Ok(true));
        assert_eq!(zone.delete("www", "A", &none), Ok(false));
        assert_eq!(zone.delete("www", "A", &this).unwrap_err().status, 412);
    }

    #[test]
    fn sets_fit_together() {
        let mut zone = zone(Kind::Public);
        let none = Condition::default();
        assert_eq!(write(&mut zone, "@", "CNAME", &alias(), &none), "400 BadRequest");
        assert_eq!(write(&mut zone, "www", "A", &a("192.0.2.1"), &none), "created");
        assert_eq!(write(&mut zone, "www", "CNAME", &alias(), &none), "409 Conflict");
        assert_eq!(write(&mut zone, "web", "CNAME", &alias(), &none), "created");
        assert_eq!(write(&mut zone, "web", "A", &a("192.0.2.1"), &none), "409 Conflict");
        assert_eq!(write(&mut zone, "web", "CNAME", &alias(), &none), "updated");
        zone.limit = zone.sets.len();
        assert_eq!(write(&mut zone, "more", "A", &a("192.0.2.1"), &none), "400 BadRequest");
        assert_eq!(write(&mut zone, "www", "A", &a("192.0.2.2"), &none), "updated");
        for name in ["a..b", "", "a b", "x.*", "a.", &"a".repeat(64)] {
            assert_eq!(write(&mut zone, name, "A", &a("192.0.2.1"), &none), "400 BadRequest", "{name}");
        }
    }

    #[test]
    fn the_apex_keeps_its_sets() {
        let mut zone = zone(Kind::Public);
        let none = Condition::default();
        assert!(["SOA", "NS"].iter().all(|of| zone.delete("@", of, &none).is_err()));
        let servers = |names: &[String]| {
            let records: Vec<Value> = names.iter().map(|name| json!({ "nsdname": name })).collect();
            json!({ "properties": { "TTL": 60, "NSRecords": records } })
        };
        let ours = zone.servers();
        assert_eq!(write(&mut zone, "@", "NS", &servers(&ours[1..]), &none), "400 BadRequest");
        let more = [ours, vec!["ns.other.org".to_owned()]].concat();
        assert_eq!(write(&mut zone, "@", "NS", &servers(&more), &none), "updated");
        assert_eq!(write(&mut zone, "*.x", "NS", &servers(&more), &none), "400 BadRequest");
        let soa = json!({ "host": "other", "email": "me.example.org", "serialNumber": 2, "refreshTime": 1, "retryTime": 1, "expireTime": 1, "minimumTTL": 1 });
        let soa = json!({ "properties": { "TTL": 60, "SOARecord": soa } });
        assert_eq!(write(&mut zone, "@", "SOA", &soa, &none), "updated");
        let kept = &zone.sets[&("@".to_owned(), "SOA".to_owned())].records[0];
        assert_eq!((&kept["host"], &kept["serialNumber"]), (&json!("ns1-01.azure-dns.com."), &json!(2)));
        assert_eq!(write(&mut zone, "www", "SOA", &soa, &none), "400 BadRequest");
    }

    #[test]
    fn a_listing_lags_by_so_many_writes() {
        let mut zone = zone(Kind::Private);
        zone.set_lag(1);
        write(&mut zone, "a", "A", &a("192.0.2.1"), &Condition::default());
        assert_eq!(zone.listed().len(), 1);
        write(&mut zone, "b", "A", &a("192.0.2.1"), &Condition::default());
        assert_eq!((zone.listed().len(), zone.sets.len()), (2, 3));
    }
}
