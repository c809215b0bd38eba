//! A hosted zone: its sets in the order of listings, and what a batch of changes does to them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::change::{Action, Change};
use super::name;
use super::policy;
use super::set::{Alias, RecordSet};

/// Where a set stands: name in the order of listings, type, identifier.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Key {
    order: String,
    kind: String,
    identifier: String,
}

impl Key {
    pub(super) fn new(canonical: &str, kind: &str, identifier: &str) -> Self {
        Self { order: name::order(canonical), kind: kind.to_owned(), identifier: identifier.to_owned() }
    }

    fn of(set: &RecordSet) -> Self {
        Self::new(&set.name, &set.kind, set.identifier.as_deref().unwrap_or_default())
    }
}

pub(super) type Sets = BTreeMap<Key, RecordSet>;

/// A hosted zone.
#[derive(Debug)]
pub(super) struct Zone {
    pub(super) id: String,
    pub(super) account: String,
    /// Canonical.
    pub(super) name: String,
    pub(super) private: bool,
    /// Whether lists of zones leave it out.
    pub(super) unlisted: bool,
    /// Whether no policy allows to read or change its sets.
    pub(super) forbidden: bool,
    pub(super) caller_reference: String,
    pub(super) comment: Option<String>,
    /// Region and id of the networks of a private zone.
    pub(super) networks: Vec<(String, String)>,
    pub(super) tags: BTreeMap<String, String>,
    pub(super) sets: Sets,
    /// The sets as they were before the last writes, the latest at the end.
    history: VecDeque<Sets>,
    /// How often a batch took a set away and put none in its place.
    pub(super) vanished: BTreeMap<Key, usize>,
    /// How many writes a listing is behind.
    lag: usize,
    /// Most sets of the zone.
    pub(super) limit: usize,
    /// For how many calls more a change of the zone is being worked on.
    pub(super) busy: usize,
}

/// The servers of every zone here.
pub(super) const NAME_SERVERS: [&str; 4] =
    ["ns-1.awsdns-01.org", "ns-513.awsdns-02.net", "ns-1025.awsdns-03.com", "ns-1537.awsdns-04.co.uk"];

impl Zone {
    /// An empty zone: it has its SOA and NS sets.
    pub(super) fn new(id: String, account: &str, name: String, private: bool) -> Self {
        let servers = NAME_SERVERS.map(|server| format!("{server}."));
        let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
        let soa = "ns-1.awsdns-01.org. awsdns-hostmaster.amazon.com. 1 7200 900 1209600 86400";
        let sets = [RecordSet::new(&name, "NS", 172_800, &servers), RecordSet::new(&name, "SOA", 900, &[soa])];
        let sets = sets.into_iter().map(|set| (Key::of(&set), set)).collect();
        let (caller_reference, account) = (format!("made-{id}"), account.to_owned());
        let (comment, networks, tags, history) = (None, Vec::new(), BTreeMap::new(), VecDeque::new());
        let vanished = BTreeMap::new();
        #[rustfmt::skip]
        let zone = Self {
            id, account, name, private, caller_reference, comment, networks, tags, sets, history, vanished,
            unlisted: false, forbidden: false, lag: 0, limit: 10_000, busy: 0,
        };
        zone
    }

    /// Whether only the sets stand that the zone was made with.
    pub(super) fn empty(&self) -> bool {
        self.sets.values().all(|set| set.name == self.name && matches!(set.kind.as_str(), "NS" | "SOA"))
    }

    pub(super) fn put(&mut self, set: RecordSet) {
        self.remember();
        self.sets.insert(Key::of(&set), set);
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<RecordSet> {
        self.remember();
        self.sets.remove(key)
    }

    /// Listings answer the state before the last `writes` writes from now on.
    pub(super) fn set_lag(&mut self, writes: usize) {
        self.lag = writes;
        self.history.clear();
    }

    /// What a listing sees.
    pub(super) fn listed(&self) -> &Sets {
        self.history.front().unwrap_or(&self.sets)
    }

    /// Keeps the present state for listings that lag.
    fn remember(&mut self) {
        if self.lag > 0 {
            self.history.push_back(self.sets.clone());
            while self.history.len() > self.lag {
                self.history.pop_front();
            }
        }
    }

    /// Carries all changes out in their order, or none. `zone_name` knows the other zones.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub(super) fn apply(
        &mut self,
        changes: &[Change],
        zone_name: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), Vec<String>> {
        let mut problems = repeated(changes);
        if !problems.is_empty() {
            return Err(problems);
        }
        let history = self.history.clone();
        self.remember();
        let count = self.sets.len();
        let mut undo = Vec::new();
        for change in changes {
            match self.carry_out(change, zone_name) {
                Ok(undone) => undo.push(undone),
                Err(found) => problems.extend(found),
            }
        }
        problems.extend(self.as_a_whole(count));
        if problems.is_empty() {
            let gone = undo.into_iter().filter(|(key, old)| old.is_some() && !self.sets.contains_key(key));
            let gone: BTreeSet<Key> = gone.map(|(key, _)| key).collect();
            for key in gone {
                *self.vanished.entry(key).or_default() += 1;
            }
            return Ok(());
        }
        self.history = history;
        for (key, old) in undo.into_iter().rev() {
            match old {
                Some(old) => self.sets.insert(key, old),
                None => self.sets.remove(&key),
            };
        }
        Err(problems)
    }

    /// What stood at the key before.
    fn carry_out(
        &mut self,
        Change { action, set }: &Change,
        zone_name: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(Key, Option<RecordSet>), Vec<String>> {
        if !name::within(&set.name, &self.name) {
            return Err(vec![format!("RRSet with DNS name {} is not permitted in zone {}", set.name, self.name)]);
        }
        let key = Key::of(set);
        let problems = match (action, self.sets.get(&key)) {
            (Action::Delete, None) => {
                vec![format!("Tried to delete resource record set {} but it was not found", place(set))]
            }
            (Action::Delete, Some(standing)) if set.same(standing) => Vec::new(),
            (Action::Delete, Some(_)) => vec![format!(
                "Tried to delete resource record set {} but the values provided do not match the current values",
                place(set)
            )],
            (Action::Create, Some(_)) => {
                vec![format!("Tried to create resource record set {} but it already exists", place(set))]
            }
            (Action::Create | Action::Upsert, _) => self.misfits(&key, set, zone_name),
        };
        if !problems.is_empty() {
            return Err(problems);
        }
        let old = match action {
            Action::Delete => self.sets.remove(&key),
            Action::Create | Action::Upsert => self.sets.insert(key.clone(), set.clone()),
        };
        Ok((key, old))
    }

    /// Why a set cannot stand beside the others.
    fn misfits(&self, key: &Key, set: &RecordSet, zone_name: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
        let RecordSet { name, kind, .. } = set;
        let from = Key { kind: String::new(), identifier: String::new(), ..key.clone() };
        let of_name = self.sets.range(from..).take_while(|(other, _)| other.order == key.order);
        let of_name: Vec<(&Key, &RecordSet)> = of_name.filter(|(other, _)| *other != key).collect();
        let zone = &self.name;
        let mut problems = Vec::new();
        if kind == "CNAME" && name == zone {
            problems.push(format!("RRSet of type CNAME with DNS name {name} is not permitted at apex in zone {zone}"));
        } else if kind == "CNAME" && of_name.iter().any(|(_, other)| other.kind != "CNAME") {
            problems.push(format!(
                "RRSet of type CNAME with DNS name {name} is not permitted as it conflicts with other records with the \
                 same DNS name in zone {zone}"
            ));
        } else if kind != "CNAME" && of_name.iter().any(|(_, other)| other.kind == "CNAME") {
            problems.push(format!(
                "RRSet of type {kind} with DNS name {name} is not permitted because a conflicting RRSet of type CNAME \
                 with the same DNS name already exists in zone {zone}"
            ));
        }
        let group: Vec<&RecordSet> =
            of_name.iter().filter(|(_, other)| other.kind == *kind).map(|(_, other)| *other).collect();
        problems.extend(policy::conflict(set, &group));
        if kind == "SOA" && name != zone {
            problems.push("A HostedZone must contain exactly one SOA record.".to_owned());
        }
        problems.extend(set.alias.iter().flat_map(|alias| self.alias_problems(set, alias, zone_name)));
        problems
    }

    /// An alias into a zone that is known here needs a set of its type there; targets in other zones are taken as they are.
    fn alias_problems(
        &self,
        set: &RecordSet,
        alias: &Alias,
        zone_name: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<String> {
        let Some(zone) = zone_name(&alias.zone) else { return Vec::new() };
        let tried =
            format!("Tried to create an alias that targets {}, type {} in zone {}", alias.name, set.kind, alias.zone);
        let mut problems = Vec::new();
        if !name::within(&alias.name, &zone) {
            problems.push(format!("{tried}, but the alias target name does not lie within the target zone"));
        }
        // Only a set of the same zone can be a target, and none is its own.
        let mut targets = self.sets.range(Key::new(&alias.name, &set.kind, "")..);
        let stands = targets.next().is_some_and(|(_, other)| other.name == alias.name && other.kind == set.kind);
        if alias.zone != self.id || alias.name == set.name || !stands {
            problems.push(format!("{tried}, but that target was not found"));
        }
        problems
    }

    /// What must hold when all changes are done; `count` sets stood before.
    fn as_a_whole(&self, count: usize) -> Vec<String> {
        let at_apex = |kind: &str| self.sets.contains_key(&Key::new(&self.name, kind, ""));
        let mut problems = Vec::new();
        if !at_apex("SOA") {
            problems.push("A HostedZone must contain exactly one SOA record.".to_owned());
        }
        if !at_apex("NS") {
            problems.push("A HostedZone must contain at least one NS record for the zone itself.".to_owned());
        }
        if self.sets.len() > self.limit.max(count) {
            problems.push(format!("Exceeded limit MAX_RRSETS_BY_ZONE for zone: {}", self.id));
        }
        problems
    }
}

/// A set is changed once; it may be deleted and then made again.
fn repeated(changes: &[Change]) -> Vec<String> {
    let mut last = BTreeMap::new();
    let mut problems = BTreeSet::new();
    for Change { action, set } in changes {
        let before = last.insert(Key::of(set), *action);
        let sound = match before {
            None => true,
            Some(before) => before == Action::Delete && *action != Action::Delete,
        };
        if !sound {
            problems.insert(format!(
                "The request contains an invalid set of changes for a resource record set '{} {}'",
                set.kind, set.name
            ));
        }
    }
    problems.into_iter().collect()
}

/// How messages name a set.
fn place(RecordSet { name, kind, identifier, .. }: &RecordSet) -> String {
    let identifier = identifier.as_ref().map(|identifier| format!(", set-identifier='{identifier}'"));
    format!("[name='{name}', type='{kind}'{}]", identifier.unwrap_or_default())
}

#[cfg(test)]
mod tests;
