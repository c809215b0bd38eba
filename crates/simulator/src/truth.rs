//! What the zones really hold, who may change what, and the first rule that was broken.
//!
//! In: every change that anybody makes, with its author. Out: the content, its history, and a [`Violation`]. Daemons are
//! judged by each of their writes, on what stood at that very moment, by rules that know nothing of how the engine came
//! to it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::time::Duration;

use tokio::time::Instant;
use zonewright_core::filter::DomainFilter;
use zonewright_core::guard::Brake;
use zonewright_core::{DnsName, RData, RecordData, RecordKey, RecordSet, Zone};

use crate::names::{Affix, Rows, Saying, Sets, saying};
use crate::profile::Profile;
use crate::rules::{Rule, Verdicts};
use crate::setup::INSTANCES;

mod brake;
mod command;
mod counted;
mod evidence;
mod instance;
mod judge;
mod known;
mod lately;
mod ledger;
mod objects;
mod rights;
mod rows;
mod shadow;
mod story;
mod words;

use self::ledger::Ledger;
pub(crate) use self::objects::Objects;
pub(crate) use self::rows::row_document;

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
    /// The rule.
    pub rule: Rule,
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

impl Content {
    /// The place of its instance in [`INSTANCES`].
    pub(crate) fn instance(&self) -> usize {
        INSTANCES.iter().position(|name| *name == self.zone.key.instance.as_str()).unwrap_or(0)
    }
}

/// By what right a record stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Right {
    Nobody,
    One { owner: String, resource: Option<String>, policy: Option<String> },
    Several,
}

impl Right {
    /// The object that it was claimed for.
    pub(crate) fn resource(&self) -> Option<&str> {
        match self {
            Self::One { resource, .. } => resource.as_deref(),
            _ => None,
        }
    }
}

/// What a daemon is, as far as its writes are judged.
#[derive(Debug, Clone)]
pub(crate) struct Party {
    /// `None` under the registry noop.
    pub(crate) owner: Option<String>,
    /// The cluster whose objects it reads.
    pub(crate) cluster: usize,
    pub(crate) may_delete: bool,
    pub(crate) may_update: bool,
    pub(crate) dry_run: bool,
    pub(crate) brake: Brake,
    pub(crate) grace: Duration,
    /// The names that it may touch, where these are not all.
    pub(crate) filter: Option<DomainFilter>,
}

impl Party {
    /// Whether it may touch a name at all.
    pub(crate) fn may_touch(&self, name: &DnsName) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.matches(name))
    }
}

/// Everything.
#[derive(Debug)]
pub(crate) struct Truth {
    pub(crate) profile: Profile,
    pub(crate) zones: Vec<Content>,
    /// How names of claims are made; where claims move, by which of both ways does not matter for a right.
    pub(crate) affixes: Vec<Affix>,
    /// Whether people have left a record with a claim of the format of before 2022, or a claim without a record.
    pub(crate) unpaired: bool,
    /// Where claims are, if not in the zones: objects, or the rows of a table.
    pub(crate) objects: Option<Objects>,
    pub(crate) parties: Vec<Party>,
    ledgers: BTreeMap<(usize, usize), Ledger>,
    /// The newest serial that a daemon has seen of a name, and of a whole zone, and when.
    read_names: HashMap<(usize, usize, DnsName), (u64, Instant)>,
    /// When what a daemon wrote at a name was refused last.
    refused: HashMap<(usize, usize, DnsName), Instant>,
    /// The newest serial that was looked at for a daemon by its provider, right before a write: nothing else becomes known of it.
    checked_names: HashMap<(usize, usize, DnsName), (u64, Instant)>,
    /// The last listings of each zone that a daemon has seen, newest first: the serial, and when.
    listings: HashMap<(usize, usize), VecDeque<(u64, Instant)>>,
    /// What the last listing of a zone left out without saying so, where claims are beside the zones.
    left_out: HashSet<(usize, usize, DnsName)>,
    /// The zones of which a daemon's last listing lacked its end.
    cut_short: HashSet<(usize, usize)>,
    /// The newest serial by which each changed a name.
    touched: HashMap<(usize, DnsName), BTreeMap<Author, u64>>,
    places: HashMap<(usize, RecordKey), Vec<(RecordKey, bool)>>,
    speaks_for: HashMap<RecordKey, BTreeSet<(usize, RecordKey)>>,
    pub(crate) violation: Option<Violation>,
    /// How often each rule was judged.
    pub(crate) verdicts: Verdicts,
    /// When a daemon last deleted something in a zone that does not count.
    freed: BTreeMap<(usize, usize), Instant>,
    /// When a call last failed.
    pub(crate) last_fault: Option<Instant>,
    /// When every daemon was last at rest: no plan that is older is on its way.
    pub(crate) rested: Instant,
    /// Whether a process ever died.
    pub(crate) died: bool,
    /// Since when a daemon works without the state that its former processes left, or can keep none.
    pub(crate) stateless: BTreeMap<usize, Instant>,
    /// The daemons whose process has read or kept its state since it began.
    pub(crate) has_kept: BTreeSet<usize>,
    /// What the daemons and commands of each owner last left at a key, the latest at the end.
    left: HashMap<(usize, RecordKey), Vec<command::Left>>,
    /// What commands took away, and when.
    taken: HashMap<(usize, RecordKey), (RecordSet, Instant)>,
    /// Daemons that are setting back what they did, by a person's order.
    pub(crate) undoing: BTreeSet<usize>,
    /// The objects that such a daemon has tried to write and that did not take it yet: it tries again later.
    undo_owes: BTreeSet<(usize, String)>,
    /// The zones that the list of zones left out at some time.
    pub(crate) missing: BTreeSet<usize>,
    /// The zones that the present process of a daemon has tried to read.
    pub(crate) tried: BTreeSet<(usize, usize)>,
    /// The daemons that have written something since the present step began, or since they last listed a zone: their owners' numbers
    /// of records are those of a round that is not over.
    pub(crate) writing: BTreeSet<usize>,
    /// Whether every daemon was at rest before the last thing that happened: no older plan is on its way.
    pub(crate) calm: bool,
    /// When each daemon last wrote, by zone and name.
    pub(crate) written: BTreeMap<(usize, usize, DnsName), VecDeque<Instant>>,
    /// What each daemon added to a record set within the last two minutes, and what it took away.
    added: HashMap<(usize, RecordKey), Vec<(RData, Instant)>>,
    removed: HashMap<(usize, RecordKey), Vec<(RData, Instant)>>,
    /// When each daemon last changed something at a name.
    wrote: HashMap<(usize, usize, DnsName), Instant>,
    /// And when the time before that.
    wrote_before: HashMap<(usize, usize, DnsName), Instant>,
    /// Who changed a record last, and the serial of that.
    last: HashMap<(usize, RecordKey), (Author, u64)>,
    /// The serial of the last write of each record that a process was told the outcome of.
    acked: HashMap<(usize, (usize, RecordKey)), u64>,
    /// What a process wrote without being told what became of it, and whether it has read that since.
    unanswered: HashMap<(usize, (usize, RecordKey)), bool>,
    /// Records with a claim beside the zones of which a process was shown that they stand no more: what comes there later is
    /// another one.
    shown_gone: HashSet<(usize, (usize, RecordKey))>,
    /// Who changed something, and when.
    changes: VecDeque<(Author, Instant)>,
    pub(crate) writes: u64,
    pub(crate) calls: u64,
    /// Sentences of the story, if it is told.
    pub(crate) story: Option<Vec<String>>,
    begun: Instant,
}

impl Truth {
    pub(crate) fn new(
        profile: Profile,
        zones: Vec<Zone>,
        affixes: impl IntoIterator<Item = Affix>,
        parties: Vec<Party>,
        tell: bool,
    ) -> Self {
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
            affixes: affixes.into_iter().collect(),
            unpaired: false,
            objects: None,
            parties,
            ledgers: BTreeMap::new(),
            read_names: HashMap::new(),
            refused: HashMap::new(),
            checked_names: HashMap::new(),
            listings: HashMap::new(),
            left_out: HashSet::new(),
            cut_short: HashSet::new(),
            touched: HashMap::new(),
            places: HashMap::new(),
            speaks_for: HashMap::new(),
            violation: None,
            verdicts: Verdicts::default(),
            freed: BTreeMap::new(),
            last_fault: None,
            rested: Instant::now(),
            died: false,
            stateless: BTreeMap::new(),
            has_kept: BTreeSet::new(),
            left: HashMap::new(),
            taken: HashMap::new(),
            undoing: BTreeSet::new(),
            undo_owes: BTreeSet::new(),
            missing: BTreeSet::new(),
            tried: BTreeSet::new(),
            writing: BTreeSet::new(),
            calm: true,
            written: BTreeMap::new(),
            added: HashMap::new(),
            removed: HashMap::new(),
            wrote: HashMap::new(),
            wrote_before: HashMap::new(),
            last: HashMap::new(),
            acked: HashMap::new(),
            unanswered: HashMap::new(),
            shown_gone: HashSet::new(),
            changes: VecDeque::new(),
            writes: 0,
            calls: 0,
            story: tell.then(Vec::new),
            begun: Instant::now(),
        }
    }

    /// What set identifiers are to the provider.
    pub(crate) fn rows(&self) -> Rows {
        Rows::of(&self.profile.capability)
    }

    /// Notes that a rule was broken; the first one counts.
    pub(crate) fn broken(&mut self, rule: Rule, text: impl Into<String>) {
        let text = text.into();
        self.tell(|| format!("BROKEN: {rule}: {text}"));
        self.violation.get_or_insert(Violation { rule, text });
    }

    /// The zone of an instance that a name belongs to: that of the first one where the other has none.
    pub(crate) fn zone_of(&self, instance: usize, name: &DnsName) -> usize {
        let within = |content: &Content| name.is_within(&content.zone.name);
        let fitting = self.zones.iter().enumerate().filter(|(_, content)| within(content));
        let key = |(_, content): &(usize, &Content)| (content.instance() == instance, content.zone.name.label_count());
        let own_or_first = fitting.filter(|(_, content)| [instance, 0].contains(&content.instance()));
        own_or_first.max_by_key(key).map_or(0, |(at, _)| at)
    }

    /// Whether two zones are of one instance: what stands in others says nothing of a record.
    fn are_of_one_instance(&self, one: usize, other: usize) -> bool {
        self.zones[one].zone.key.instance == self.zones[other].zone.key.instance
    }

    /// The places of the claims on a key, remembered; none where claims are in objects.
    pub(crate) fn places(&mut self, zone: usize, key: &RecordKey) -> Vec<(RecordKey, bool)> {
        if self.objects.as_ref().is_some_and(|objects| !objects.are_rows()) {
            return Vec::new();
        }
        if let Some(places) = self.places.get(&(zone, key.clone())) {
            return places.clone();
        }
        let places = self.all_places(key, &self.zones[zone].zone.name);
        for (place, _) in &places {
            self.speaks_for.entry(place.clone()).or_default().insert((zone, key.clone()));
        }
        self.places.insert((zone, key.clone()), places.clone());
        places
    }

    /// Where claims on `key` count, by all affixes, each place once.
    pub(crate) fn all_places(&self, key: &RecordKey, apex: &DnsName) -> Vec<(RecordKey, bool)> {
        let mut places: Vec<(RecordKey, bool)> = Vec::new();
        for (place, typed) in self.affixes.iter().flat_map(|affix| affix.places(key, apex)) {
            if places.iter().all(|(known, _)| *known != place) {
                places.push((place, typed));
            }
        }
        places
    }

    /// Where the claim of the old format on `key` stands for whom the one with a type stands at `typed`.
    pub(crate) fn old_place(&self, key: &RecordKey, typed: &RecordKey, apex: &DnsName) -> Option<RecordKey> {
        let all = self.affixes.iter().map(|affix| affix.places(key, apex));
        let mut same = all.filter(|places| places.iter().any(|(place, is_typed)| *is_typed && place == typed));
        let old = same.next()?.into_iter().find(|(_, is_typed)| !is_typed)?.0;
        old.name.is_within(apex).then_some(old)
    }

    fn touch(&mut self, author: Author, zone: usize, changes: &[(RecordKey, Option<RecordSet>)]) {
        self.changes.extend(changes.iter().map(|_| (author, Instant::now())));
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
            self.last.insert((zone, key.clone()), (author, content.serial));
            if let Author::Daemon(daemon) = author {
                let at = (daemon, zone, key.name.clone());
                if let Some(former) = self.wrote.insert(at.clone(), now).filter(|former| *former < now) {
                    self.wrote_before.insert(at, former);
                }
            }
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
}

/// Whether a text is a claim or an intent of `owner`.
fn is_text_of(owner: Option<&String>, data: &RData) -> bool {
    match (owner, saying(data)) {
        (Some(owner), Saying::Claim { owner: by, .. } | Saying::Intent { owner: by, .. }) => *owner == by,
        _ => false,
    }
}

/// A set with members added. Those that stand keep their TTL and routing.
pub(crate) fn with(set: Option<&RecordSet>, more: &RecordSet) -> RecordSet {
    let members = set.map_or(&[][..], |set| set.data.as_records());
    let data = RecordData::records(members.iter().chain(more.data.as_records()).cloned());
    let routing = set.map_or(&more.routing, |set| &set.routing).clone();
    RecordSet { data, ttl: set.map_or(more.ttl, |set| set.ttl), routing, ..more.clone() }
}

/// A set without some members; `None` if nothing is left.
pub(crate) fn without(set: &RecordSet, less: &RecordSet) -> Option<RecordSet> {
    let left: Vec<RData> =
        set.data.as_records().iter().filter(|data| !less.data.as_records().contains(data)).cloned().collect();
    (!left.is_empty()).then(|| RecordSet { data: RecordData::records(left), ..set.clone() })
}
