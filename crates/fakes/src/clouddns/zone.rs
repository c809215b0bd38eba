//! A managed zone: its sets in the order of listings, and what a change does to them.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value, json};

use super::quota::Quota;
use super::refusal::Refusal;
use super::set::RecordSet;

/// Owner and type.
pub(super) type Key = (String, String);
type Sets = BTreeMap<Key, RecordSet>;

/// What a zone is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// For everybody.
    Public,
    /// For some networks.
    Private,
    /// Private; questions go to another network.
    Peering,
    /// Private; questions go to other servers.
    Forwarding,
}

/// A managed zone.
#[derive(Debug)]
pub(super) struct Zone {
    pub(super) id: u64,
    pub(super) project: String,
    /// The name that its user gave it.
    pub(super) name: String,
    /// The apex, with a final dot.
    pub(super) apex: String,
    pub(super) kind: Kind,
    pub(super) sets: Sets,
    /// The sets as they were before the last changes, the latest at the end.
    history: VecDeque<Sets>,
    lag: usize,
    /// How often a change took a set away and put none in its place.
    pub(super) vanished: BTreeMap<Key, usize>,
    /// Most sets of the zone.
    pub(super) limit: usize,
    /// What else the zone is for, by the API's field for it.
    pub(super) configured: Map<String, Value>,
    /// Every change that was made, with how many questions it is pending for.
    pub(super) changes: Vec<Made>,
}

/// A change that was made.
#[derive(Debug, Clone)]
pub(super) struct Made {
    pub(super) additions: Vec<Value>,
    pub(super) deletions: Vec<Value>,
    pub(super) pending: usize,
}

impl Zone {
    /// A zone with its SOA and NS records, where it has any.
    pub(super) fn new(id: u64, project: &str, name: &str, apex: &str, kind: Kind) -> Self {
        let soa = "ns-cloud-a1.googledomains.com. cloud-dns-hostmaster.google.com. 1 21600 3600 259200 300";
        let servers = ["a1", "a2", "a3", "a4"].map(|server| format!("ns-cloud-{server}.googledomains.com."));
        let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
        let servers: &[&str] = if kind == Kind::Public { &servers } else { &["ns-gcp-private.googledomains.com."] };
        let of = |set: RecordSet| ((set.name.clone(), set.kind.clone()), set);
        let sets = match kind {
            Kind::Public | Kind::Private => {
                [RecordSet::new(apex, "NS", 21_600, servers), RecordSet::new(apex, "SOA", 21_600, &[soa])]
                    .map(of)
                    .into()
            }
            Kind::Peering | Kind::Forwarding => Sets::new(),
        };
        let (project, name, apex) = (project.to_owned(), name.to_owned(), apex.to_owned());
        let (history, vanished, changes) = (VecDeque::new(), BTreeMap::new(), Vec::new());
        let (configured, lag, limit) = (Map::new(), 0, 10_000);
        Self { id, project, name, apex, kind, sets, history, lag, vanished, limit, configured, changes }
    }

    pub(super) fn set_lag(&mut self, changes: usize) {
        self.lag = changes;
        self.history.clear();
    }

    /// What a listing sees.
    pub(super) fn listed(&self) -> &Sets {
        self.history.front().unwrap_or(&self.sets)
    }

    /// As the API writes it.
    pub(super) fn json(&self) -> Value {
        let mut zone = json!({
            "kind": "dns#managedZone", "id": self.id.to_string(), "name": self.name, "dnsName": self.apex, "description": "",
            "creationTime": "2026-01-01T00:00:00.000Z",
            "visibility": if self.kind == Kind::Public { "public" } else { "private" },
            "nameServers": self.sets.get(&(self.apex.clone(), "NS".to_owned())).map(|set| set.rrdatas.clone()).unwrap_or_default(),
        });
        let network = json!({ "networkUrl": "https://www.googleapis.com/compute/v1/projects/p/global/networks/n" });
        if self.kind != Kind::Public {
            zone["privateVisibilityConfig"] = json!({ "networks": [network] });
        }
        match self.kind {
            Kind::Peering => zone["peeringConfig"] = json!({ "targetNetwork": network }),
            Kind::Forwarding => {
                zone["forwardingConfig"] = json!({ "targetNameServers": [{ "ipv4Address": "192.0.2.53" }] });
            }
            Kind::Public | Kind::Private => {}
        }
        for (field, value) in &self.configured {
            zone[field] = value.clone();
        }
        zone
    }

    /// Carries a change out as a whole, or not at all; the number of it.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub(super) fn apply(
        &mut self,
        change: &Map<String, Value>,
        quota: Quota,
        pending: usize,
    ) -> Result<usize, Refusal> {
        if matches!(self.kind, Kind::Peering | Kind::Forwarding) || !self.configured.is_empty() {
            return Err(Refusal::unsupported(&self.name));
        }
        let deletions = self.read(change, "deletions", ("rrsetDeletionsPerChange", quota.deletions), quota)?;
        let additions = self.read(change, "additions", ("rrsetAdditionsPerChange", quota.additions), quota)?;
        if additions.is_empty() && deletions.is_empty() {
            return Err(Refusal::required("entity.change"));
        }
        if additions.iter().chain(&deletions).map(RecordSet::size).sum::<usize>() > quota.bytes {
            return Err(Refusal::quota("entity.change", "totalRrdataSizePerChange", quota.bytes));
        }
        let mut sets = self.sets.clone();
        for (at, set) in deletions.iter().enumerate() {
            let place = format!("entity.change.deletions[{at}]");
            let key = (set.name.clone(), set.kind.clone());
            let Some(found) = sets.get(&key) else { return Err(Refusal::missing(&place, &set.shown())) };
            // What was put in place past the rules is named in its own words.
            let sent = change.get("deletions").and_then(|sent| sent.get(at)).map(|sent| set.as_sent(sent));
            if !found.is_named_by(set) && !sent.is_some_and(|sent| found.is_named_by(&sent)) {
                return Err(Refusal::precondition(&place));
            }
            sets.remove(&key);
        }
        for (at, set) in additions.iter().enumerate() {
            let place = format!("entity.change.additions[{at}]");
            if sets.insert((set.name.clone(), set.kind.clone()), set.clone()).is_some() {
                return Err(Refusal::exists(&place, &set.shown()));
            }
        }
        self.check(&sets, &additions)?;
        for key in deletions.iter().map(|set| (set.name.clone(), set.kind.clone())) {
            *self.vanished.entry(key.clone()).or_default() += usize::from(!sets.contains_key(&key));
        }
        if self.lag > 0 {
            self.history.push_back(std::mem::replace(&mut self.sets, sets));
            while self.history.len() > self.lag {
                self.history.pop_front();
            }
        } else {
            self.sets = sets;
        }
        let json = |sets: &[RecordSet]| sets.iter().map(RecordSet::json).collect();
        self.changes.push(Made { additions: json(&additions), deletions: json(&deletions), pending });
        Ok(self.changes.len())
    }

    fn read(
        &self,
        change: &Map<String, Value>,
        list: &str,
        (name, most): (&str, usize),
        quota: Quota,
    ) -> Result<Vec<RecordSet>, Refusal> {
        let given = match change.get(list) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Array(given)) => given,
            Some(other) => return Err(Refusal::invalid(&format!("entity.change.{list}"), &other.to_string())),
        };
        if given.len() > most {
            return Err(Refusal::quota(&format!("entity.change.{list}"), name, most));
        }
        let mut sets = Vec::new();
        for (at, one) in given.iter().enumerate() {
            let place = format!("entity.change.{list}[{at}]");
            let set = RecordSet::read(one, &place, quota)?;
            if set.name != self.apex && !set.name.ends_with(&format!(".{}", self.apex)) {
                return Err(Refusal::invalid(&format!("{place}.name"), &set.name));
            }
            sets.push(set);
        }
        Ok(sets)
    }

    /// Whether these sets may stand together.
    fn check(&self, sets: &Sets, additions: &[RecordSet]) -> Result<(), Refusal> {
        for kind in ["SOA", "NS"] {
            if !sets.contains_key(&(self.apex.clone(), kind.to_owned())) {
                return Err(Refusal::apex(kind));
            }
        }
        for set in additions {
            let kinds = sets.range((set.name.clone(), String::new())..).take_while(|((name, _), _)| *name == set.name);
            let kinds: Vec<&str> = kinds.map(|((_, kind), _)| kind.as_str()).collect();
            if kinds.contains(&"CNAME") && kinds.len() > 1 {
                return Err(Refusal::cname(&format!("entity.change.additions[{}][{}]", set.name, set.kind), &set.name));
            }
        }
        if sets.len() > self.limit {
            return Err(Refusal::quota("entity.change.additions", "rrsetsPerManagedZone", self.limit));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone() -> Zone {
        Zone::new(1, "p", "z", "example.org.", Kind::Public)
    }

    fn a(name: &str, value: &str) -> Value {
        json!({ "name": name, "type": "A", "ttl": 300, "rrdatas": [value] })
    }

    #[track_caller]
    fn change(zone: &mut Zone, additions: &[Value], deletions: &[Value]) -> String {
        let change = json!({ "additions": additions, "deletions": deletions });
        match zone.apply(change.as_object().unwrap(), Quota::default(), 0) {
            Ok(number) => number.to_string(),
            Err(refusal) => {
                let error = &refusal.body()["error"];
                format!("{} {}", error["code"], error["errors"][0]["reason"].as_str().unwrap())
            }
        }
    }

    #[test]
    fn a_change_is_made_as_a_whole_or_not_at_all() {
        let mut zone = zone();
        let (one, two) = (a("www.example.org.", "192.0.2.1"), a("www.example.org.", "192.0.2.2"));
        assert_eq!(change(&mut zone, std::slice::from_ref(&one), &[]), "1");
        assert_eq!(change(&mut zone, &[a("other.example.org.", "192.0.2.1"), one.clone()], &[]), "409 alreadyExists");
        assert_eq!(zone.sets.len(), 3, "nothing of a refused change");
        assert_eq!(change(&mut zone, std::slice::from_ref(&two), std::slice::from_ref(&two)), "412 conditionNotMet");
        assert_eq!(change(&mut zone, &[two], std::slice::from_ref(&one)), "2");
        assert_eq!(change(&mut zone, &[], &[a("none.example.org.", "192.0.2.1")]), "404 notFound");
        assert_eq!(change(&mut zone, &[], &[]), "400 required");
        assert_eq!(change(&mut zone, &[a("www.example.net.", "192.0.2.1")], &[]), "400 invalid");
    }

    #[test]
    fn sets_fit_together() {
        let mut zone = zone();
        let alias = |name: &str| json!({ "name": name, "type": "CNAME", "ttl": 300, "rrdatas": ["b.org."] });
        assert_eq!(change(&mut zone, &[alias("example.org.")], &[]), "400 cnameResourceRecordSetConflict");
        assert_eq!(change(&mut zone, &[a("x.example.org.", "192.0.2.1")], &[]), "1");
        assert_eq!(change(&mut zone, &[alias("x.example.org.")], &[]), "400 cnameResourceRecordSetConflict");
        assert_eq!(change(&mut zone, &[alias("x.example.org.")], &[a("x.example.org.", "192.0.2.1")]), "2");
        let apex = zone.sets.values().next().unwrap().json();
        assert_eq!(change(&mut zone, &[], &[apex]), "400 invalidZoneApex");
    }

    #[test]
    fn a_change_has_its_limits() {
        let mut zone = zone();
        let many = |count: usize| (0..count).map(|n| a(&format!("n{n}.example.org."), "192.0.2.1")).collect::<Vec<_>>();
        assert_eq!(change(&mut zone, &many(1_001), &[]), "403 quotaExceeded");
        zone.limit = 1_001;
        assert_eq!(change(&mut zone, &many(1_000), &[]), "403 quotaExceeded");
        assert_eq!(change(&mut zone, &many(999), &[]), "1");
        let text = |n: usize| json!({ "name": format!("t{n}.example.org."), "type": "TXT", "ttl": 1, "rrdatas": [format!("\"{}\"", "a".repeat(255))] });
        zone.limit = 10_000;
        assert_eq!(change(&mut zone, &(0..390).map(text).collect::<Vec<_>>(), &[]), "403 quotaExceeded");
        assert_eq!(change(&mut zone, &(0..380).map(text).collect::<Vec<_>>(), &[]), "2");
    }

    #[test]
    fn a_set_that_one_change_replaces_was_never_away() {
        let mut zone = zone();
        let (one, two) = (a("www.example.org.", "192.0.2.1"), a("www.example.org.", "192.0.2.2"));
        let gone = |zone: &Zone| zone.vanished.values().sum::<usize>();
        change(&mut zone, std::slice::from_ref(&one), &[]);
        change(&mut zone, std::slice::from_ref(&two), std::slice::from_ref(&one));
        change(&mut zone, &[], std::slice::from_ref(&one));
        assert_eq!(gone(&zone), 0);
        change(&mut zone, &[], std::slice::from_ref(&two));
        change(&mut zone, std::slice::from_ref(&one), &[]);
        assert_eq!((gone(&zone), zone.sets.len()), (1, 3));
    }

    #[test]
    fn a_listing_lags_by_so_many_changes() {
        let mut zone = zone();
        zone.set_lag(1);
        change(&mut zone, &[a("a.example.org.", "192.0.2.1")], &[]);
        assert_eq!(zone.listed().len(), 2);
        change(&mut zone, &[a("b.example.org.", "192.0.2.1")], &[]);
        assert_eq!((zone.listed().len(), zone.sets.len()), (3, 4));
    }

    #[test]
    fn other_kinds_take_nothing() {
        for kind in [Kind::Peering, Kind::Forwarding] {
            let mut zone = Zone::new(1, "p", "z", "example.org.", kind);
            assert_eq!(change(&mut zone, &[a("www.example.org.", "192.0.2.1")], &[]), "400 operationNotSupported");
            assert_eq!(zone.json()["visibility"], "private");
        }
    }
}
