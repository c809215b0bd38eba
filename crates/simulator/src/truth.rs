//! What the zones really hold, who may change what, and the first rule that was broken.
//!
//! In: every change that anybody makes, with its author. Out: the content, its history, and a [`Violation`]. Daemons are
//! judged by each of their writes, on what stood at that very moment, by rules that know nothing of how the engine came
//! to it.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;
use zonewright_core::capability::{Atomicity, CreateMode, Preconditions};
use zonewright_core::guard::Brake;
use zonewright_core::{DnsName, RData, RecordData, RecordKey, RecordSet, Zone, intent};

use crate::names::{Affix, MANAGED, Saying, Sets, saying, speaks};
use crate::profile::Profile;

mod brake;
mod judge;

use self::brake::Ledger;

/// Who changed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Author {
    /// Somebody at a keyboard.
    Human,
    /// The model of external-dns.
    Peer,
    /// One of our daemons.
    Daemon(usize),
}

/// A rule that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule, in a few words that are the same every time it is broken.
    pub rule: &'static str,
    /// What happened.
    pub text: String,
}

/// One zone.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) zone: Zone,
    /// The apex that names of claims are made for; that of the real zone where there is a pseudo-zone.
    pub(crate) sets: Sets,
    pub(crate) serial: u64,
    /// What went and came with each serial.
    pub(crate) log: VecDeque<(u64, Vec<RecordSet>, Vec<RecordSet>)>,
    /// What stood until when, with its serial.
    pub(crate) past: VecDeque<(Instant, u64, Sets)>,
    /// What is not a daemon's, as its authors left it.
    shadow: Sets,
}

/// By what right a record stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Right {
    Nobody,
    One { owner: String, resource: Option<String>, policy: Option<String> },
    Several,
}

/// What a daemon is, as far as its writes are judged.
#[derive(Debug, Clone)]
pub(crate) struct Party {
    /// `None` under the registry noop.
    pub(crate) owner: Option<String>,
    pub(crate) may_delete: bool,
    pub(crate) may_update: bool,
    pub(crate) dry_run: bool,
    pub(crate) brake: Brake,
    pub(crate) grace: Duration,
}

/// Everything.
#[derive(Debug)]
pub(crate) struct Truth {
    pub(crate) profile: Profile,
    pub(crate) zones: Vec<Content>,
    affix: Affix,
    pub(crate) parties: Vec<Party>,
    ledgers: BTreeMap<(usize, usize), Ledger>,
    /// The newest serial that a daemon has seen of a name, and of a whole zone.
    read_names: HashMap<(usize, usize, DnsName), u64>,
    read_zones: HashMap<(usize, usize), u64>,
    /// The newest serial by which each changed a name.
    touched: HashMap<(usize, DnsName), BTreeMap<Author, u64>>,
    places: HashMap<(usize, RecordKey), Vec<(RecordKey, bool)>>,
    speaks_for: HashMap<RecordKey, BTreeSet<(usize, RecordKey)>>,
    pub(crate) violation: Option<Violation>,
    /// When a call last failed: plans made before it may still be carried out for a while.
    pub(crate) last_fault: Option<Instant>,
    /// Whether every daemon was at rest before the last thing that happened: no older plan is on its way.
    pub(crate) calm: bool,
    /// When each daemon last wrote, by name.
    pub(crate) written: BTreeMap<(usize, DnsName), VecDeque<Instant>>,
    /// What each daemon added to a record set within the last two minutes, and what it took away.
    added: HashMap<(usize, RecordKey), Vec<(RData, Instant)>>,
    removed: HashMap<(usize, RecordKey), Vec<(RData, Instant)>>,
    /// Who changed something, and when.
    changes: VecDeque<(Author, Instant)>,
    pub(crate) writes: u64,
    pub(crate) calls: u64,
    /// Sentences of the story, if it is told.
    pub(crate) story: Option<Vec<String>>,
    begun: Instant,
}

impl Truth {
    pub(crate) fn new(profile: Profile, zones: Vec<Zone>, affix: Affix, parties: Vec<Party>, tell: bool) -> Self {
        let zones = zones.into_iter().map(|zone| Content {
            zone,
            sets: Sets::new(),
            serial: 1,
            log: VecDeque::new(),
            past: VecDeque::new(),
            shadow: Sets::new(),
        });
        Self {
            profile,
            zones: zones.collect(),
            affix,
            parties,
            ledgers: BTreeMap::new(),
            read_names: HashMap::new(),
            read_zones: HashMap::new(),
            touched: HashMap::new(),
            places: HashMap::new(),
            speaks_for: HashMap::new(),
            violation: None,
            last_fault: None,
            calm: true,
            written: BTreeMap::new(),
            added: HashMap::new(),
            removed: HashMap::new(),
            changes: VecDeque::new(),
            writes: 0,
            calls: 0,
            story: tell.then(Vec::new),
            begun: Instant::now(),
        }
    }

    /// Notes that a rule was broken; the first one counts.
    pub(crate) fn broken(&mut self, rule: &'static str, text: impl Into<String>) {
        let text = text.into();
        self.tell(|| format!("BROKEN: {rule}: {text}"));
        self.violation.get_or_insert(Violation { rule, text });
    }

    /// Adds a sentence to the story.
    pub(crate) fn tell(&mut self, sentence: impl FnOnce() -> String) {
        if let Some(story) = &mut self.story {
            let at = self.begun.elapsed();
            story.push(format!("    {:>9.3} s  {}", at.as_secs_f64(), plain(&sentence())));
        }
    }

    /// Tells the state before a step, and the step.
    pub(crate) fn tell_step(&mut self, number: usize, step: &crate::step::Step) {
        if self.story.is_none() {
            return;
        }
        let lines = self.lines();
        if let Some(story) = &mut self.story {
            story.extend(lines.into_iter().map(|line| format!("    | {}", line.trim_start())));
            story.push(format!("{number}. {step}"));
        }
    }

    /// The zone that a name belongs to.
    pub(crate) fn zone_of(&self, name: &DnsName) -> usize {
        let fitting = self.zones.iter().enumerate().filter(|(_, content)| name.is_within(&content.zone.name));
        fitting.max_by_key(|(_, content)| content.zone.name.label_count()).map_or(0, |(at, _)| at)
    }

    /// The places of the claims on a key, remembered.
    pub(crate) fn places(&mut self, zone: usize, key: &RecordKey) -> Vec<(RecordKey, bool)> {
        if let Some(places) = self.places.get(&(zone, key.clone())) {
            return places.clone();
        }
        let places = self.affix.places(key, &self.zones[zone].zone.name);
        for (place, _) in &places {
            self.speaks_for.entry(place.clone()).or_default().insert((zone, key.clone()));
        }
        self.places.insert((zone, key.clone()), places.clone());
        places
    }

    fn text_at(&self, zone: usize, place: &RecordKey) -> Option<&RecordSet> {
        if let Some(set) = self.zones[zone].sets.get(place) {
            return Some(set);
        }
        if place.name.is_within(&self.zones[zone].zone.name) {
            return None;
        }
        let mut others: Vec<&Content> =
            self.zones.iter().filter(|other| place.name.is_within(&other.zone.name)).collect();
        others.sort_by_key(|other| std::cmp::Reverse(other.zone.name.label_count()));
        others.into_iter().find_map(|other| other.sets.get(place))
    }

    /// Who may change `key`, by what stands now.
    pub(crate) fn right(&mut self, zone: usize, key: &RecordKey) -> Right {
        let places = self.places(zone, key);
        let announced = |set: &RecordSet| format!("{}/{}/{}", intent::digest(set), key.rtype, key.name);
        let standing = self.zones[zone].sets.get(key).map(announced);
        for wanted in [true, false] {
            let mut found: Vec<Right> = Vec::new();
            for (place, _) in places.iter().filter(|(_, typed)| *typed == wanted) {
                let Some(set) = self.text_at(zone, place) else { continue };
                for data in set.data.as_records() {
                    match saying(data) {
                        Saying::Claim { owner, resource, policy } => found.push(Right::One { owner, resource, policy }),
                        Saying::Intent { owner, resource, policy, records }
                            if standing.as_ref().is_some_and(|r| records.contains(r)) =>
                        {
                            found.push(Right::One { owner, resource, policy });
                        }
                        _ => {}
                    }
                }
            }
            let owners: BTreeSet<&String> = found
                .iter()
                .filter_map(|right| match right {
                    Right::One { owner, .. } => Some(owner),
                    _ => None,
                })
                .collect();
            match (owners.len(), found.first()) {
                (0, _) => {}
                (1, Some(first)) => return first.clone(),
                _ => return Right::Several,
            }
        }
        Right::Nobody
    }

    /// Whether `key` is the daemon's by what stands now.
    pub(crate) fn is_of(&mut self, daemon: usize, zone: usize, key: &RecordKey) -> bool {
        match self.parties[daemon].owner.clone() {
            None => MANAGED.contains(&key.rtype),
            Some(ours) => matches!(self.right(zone, key), Right::One { owner, .. } if owner == ours),
        }
    }

    /// Whether `key` is any daemon's.
    pub(crate) fn is_managed(&mut self, zone: usize, key: &RecordKey) -> bool {
        (0..self.parties.len()).any(|daemon| self.is_of(daemon, zone, key))
    }

    /// Notes what a daemon has read.
    pub(crate) fn read(&mut self, daemon: usize, zone: usize, names: Option<&BTreeSet<DnsName>>, serial: u64) {
        match names {
            None => {
                self.read_zones.insert((daemon, zone), serial);
            }
            Some(names) => {
                for name in names {
                    self.read_names.insert((daemon, zone, name.clone()), serial);
                }
            }
        }
    }

    /// Whether somebody else changed the name since the daemon last read it.
    fn changed_unseen(&self, daemon: usize, zone: usize, name: &DnsName) -> bool {
        let seen = self.read_zones.get(&(daemon, zone)).copied().unwrap_or(0);
        let seen = seen.max(self.read_names.get(&(daemon, zone, name.clone())).copied().unwrap_or(0));
        let touched = self.touched.get(&(zone, name.clone()));
        touched.is_some_and(|by| by.iter().any(|(author, at)| *author != Author::Daemon(daemon) && *at > seen))
    }

    /// Whether a write may rest on what is no longer so: the zone cannot be told what to expect, and somebody changed the
    /// record or its claim after it was read.
    fn excused(&mut self, daemon: usize, zone: usize, key: &RecordKey) -> bool {
        let capability = &self.profile.capability;
        if capability.preconditions == Preconditions::Any && capability.batch.atomic == Atomicity::Batch {
            return false;
        }
        let places = self.places(zone, key);
        self.changed_unseen(daemon, zone, &key.name)
            || places.iter().any(|(place, _)| self.changed_unseen(daemon, zone, &place.name))
    }

    fn touch(&mut self, author: Author, zone: usize, changes: &[(RecordKey, Option<RecordSet>)]) {
        self.changes.push_back((author, Instant::now()));
        let profile_lags = !self.profile.lag.is_zero();
        let lag = self.profile.lag;
        let content = &mut self.zones[zone];
        let now = Instant::now();
        if profile_lags {
            content.past.push_back((now, content.serial, content.sets.clone()));
            while content.past.front().is_some_and(|(until, ..)| *until + lag < now) {
                content.past.pop_front();
            }
        }
        content.serial += 1;
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for (key, to) in changes {
            self.touched.entry((zone, key.name.clone())).or_default().insert(author, content.serial);
            removed.extend(content.sets.remove(key));
            if let Some(set) = to {
                content.sets.insert(key.clone(), set.clone());
                added.push(set.clone());
            }
        }
        if self.profile.delta {
            content.log.push_back((content.serial, removed, added));
            if content.log.len() > 16 {
                content.log.pop_front();
            }
        }
    }

    /// A change by somebody who is not judged.
    pub(crate) fn foreign(&mut self, author: Author, zone: usize, changes: &[(RecordKey, Option<RecordSet>)]) {
        self.touch(author, zone, changes);
        self.cast_shadows();
    }

    /// A change of what is foreign and stays so: the shadows need not be cast anew.
    pub(crate) fn edit(&mut self, author: Author, zone: usize, changes: &[(RecordKey, Option<RecordSet>)]) {
        self.touch(author, zone, changes);
        for (key, to) in changes {
            match to {
                Some(set) => self.zones[zone].shadow.insert(key.clone(), set.clone()),
                None => self.zones[zone].shadow.remove(key),
            };
        }
    }

    /// Takes what stands and is no daemon's as what must stay.
    pub(crate) fn cast_shadows(&mut self) {
        for zone in 0..self.zones.len() {
            let sets: Vec<RecordSet> = self.zones[zone].sets.values().cloned().collect();
            let shadow = sets.into_iter().filter(|set| self.is_foreign(zone, set));
            let shadow: Sets = shadow.map(|set| (set.key.clone(), set)).collect();
            self.zones[zone].shadow = shadow;
        }
    }

    fn is_foreign(&mut self, zone: usize, set: &RecordSet) -> bool {
        if speaks(set) && self.parties.iter().any(|party| party.owner.is_some()) {
            return !set.data.as_records().iter().any(|data| self.is_text_of_any(data));
        }
        !self.is_managed(zone, &set.key)
    }

    fn is_text_of_any(&self, data: &RData) -> bool {
        self.parties.iter().any(|party| is_text_of(party.owner.as_ref(), data))
    }

    /// What is foreign must stand as its authors left it. `calm`: nobody is in the middle of anything.
    pub(crate) fn check_shadows(&mut self, calm: bool) {
        let additive = self.profile.capability.create == CreateMode::Additive;
        for zone in 0..self.zones.len() {
            let content = &self.zones[zone];
            let lost = content.shadow.values().find(|was| match content.sets.get(&was.key) {
                Some(is) if additive && !calm => !is.data.contains(&was.data),
                Some(is) => is != *was,
                None => true,
            });
            if let Some(lost) = lost.cloned() {
                let now = content.sets.get(&lost.key).map_or("nothing".to_owned(), ToString::to_string);
                self.broken("a foreign record changed", format!("{lost} stood there, now there is {now}"));
            }
        }
    }

    /// A daemon lost its memory of what it did after `since`.
    pub(crate) fn forget(&mut self, daemon: usize, since: Instant) {
        for (_, ledger) in self.ledgers.range_mut((daemon, 0)..=(daemon, usize::MAX)) {
            ledger.forget(since);
        }
        self.read_names.retain(|(who, ..), _| *who != daemon);
        self.read_zones.retain(|(who, _), _| *who != daemon);
    }

    /// The whole content, as lines.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        for zone in 0..self.zones.len() {
            let sets: Vec<RecordSet> = self.zones[zone].sets.values().cloned().collect();
            for set in sets {
                let whose = if speaks(&set) {
                    String::new()
                } else {
                    match self.right(zone, &set.key) {
                        Right::Nobody => "   [nobody's]".to_owned(),
                        Right::One { owner, .. } => format!("   [{owner}'s]"),
                        Right::Several => "   [disputed]".to_owned(),
                    }
                };
                lines.push(format!("    {}{whose}", plain(&set.to_string())));
            }
        }
        lines
    }
}

/// Whether a text is a claim or an intent of `owner`.
fn is_text_of(owner: Option<&String>, data: &RData) -> bool {
    match (owner, saying(data)) {
        (Some(owner), Saying::Claim { owner: by, .. } | Saying::Intent { owner: by, .. }) => *owner == by,
        _ => false,
    }
}

/// A text in which claims are short.
fn plain(text: &str) -> String {
    let text = text.replace("\"heritage=zonewright-intent,zonewright/record=", "\"intent ");
    let text = text.replace("heritage=external-dns,external-dns/owner=", "claim of ");
    text.replace(",external-dns/resource=", " for ")
        .replace(",zonewright/claim=", " to ")
        .replace("external-dns/zonewright-", "")
}

/// A set with members added. Those that stand keep their TTL.
pub(crate) fn with(set: Option<&RecordSet>, more: &RecordSet) -> RecordSet {
    let members = set.map_or(&[][..], |set| set.data.as_records());
    let data = RecordData::records(members.iter().chain(more.data.as_records()).cloned());
    RecordSet { data, ttl: set.map_or(more.ttl, |set| set.ttl), ..more.clone() }
}

/// A set without some members; `None` if nothing is left.
pub(crate) fn without(set: &RecordSet, less: &RecordSet) -> Option<RecordSet> {
    let left: Vec<RData> =
        set.data.as_records().iter().filter(|data| !less.data.as_records().contains(data)).cloned().collect();
    (!left.is_empty()).then(|| RecordSet { data: RecordData::records(left), ..set.clone() })
}
