//! Keeps record and claim together where the provider cannot.
//!
//! In: groups. What changes nothing only assigns a record to an owner in a registry, and is not sent. Out: the same outcomes as if
//! each group had been carried out in one step. Where nothing is atomic ([`Atomicity::None`]) a group becomes a row of single
//! writes with intents (`course`); the n-th writes of all groups go together. Where a create merely adds
//! ([`CreateMode::Additive`]) the name is read back before the intent becomes a claim, and what was added beside something
//! foreign is withdrawn; a provider that reads what a write requires ([`Preconditions::Read`]) does that with the write that follows. Where
//! the calls before a write took long, what it rests on is read again first (`late`). A group is [`Outcome::Refused`] only if nothing of it stands; where that is not
//! sure it is [`Outcome::Unknown`], and its names are read before anything else is done.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;
use zonewright_core::capability::{Atomicity, Capability, CreateMode, Preconditions};
use zonewright_core::change::{Change, Group, Outcome, Precondition, Step};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::interpret::Interpretation;
use zonewright_core::name::DnsName;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::record::{RecordKey, RecordSet};
use zonewright_core::rtype::RecordType;
use zonewright_core::zone::{Zone, ZoneId};

use super::batch::Batcher;
use super::beside::{conflict, created, deleted, edited, leave_others};
use super::late::Grounds;
use super::retry::READ_HOLDS;
use super::under_way::{Course, WayBack};

/// One call of `apply` on this layer may become several on the provider.
pub struct Staged {
    inner: Batcher,
}

impl Staged {
    /// The layer around a provider, with the one that cuts calls in between.
    pub fn new(inner: Arc<dyn Provider>) -> Self {
        Self { inner: Batcher::new(inner) }
    }
}

impl std::fmt::Debug for Staged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Staged")
    }
}

impl Staged {
    /// Sends the next write of every group that has one. Returns the positions of those that took effect. `since`: when what they rest
    /// on was read or written.
    async fn step(&self, zone: &Zone, courses: &mut [Course<'_>], since: Instant) -> Vec<usize> {
        let (mut positions, mut groups) = (Vec::new(), Vec::new());
        for (position, course) in courses.iter().enumerate() {
            if let Some(write) = course.next() {
                let mut group = course.as_group(write);
                if self.reads_itself(zone) {
                    group.requires.extend(course.fresh().flat_map(|set| self.alone(zone, set)));
                }
                positions.push(position);
                groups.push(group);
            }
        }
        if groups.is_empty() {
            return Vec::new();
        }
        let mut outcomes = self.send(zone, courses, &positions, &groups, since).await.into_iter();
        let mut went = Vec::new();
        for position in positions {
            let Some(course) = courses.get_mut(position) else { continue };
            match outcomes.next() {
                Some(Outcome::Applied) => {
                    course.done += 1;
                    went.push(position);
                }
                Some(other) => course.outcome = Some(self.give_up(zone, course, other).await),
                None => course.outcome = Some(Outcome::Unknown(silent())),
            }
        }
        went
    }

    /// Sends the next writes of the groups at these positions. Those that go out late rest on nothing old.
    async fn send(
        &self,
        zone: &Zone,
        courses: &[Course<'_>],
        positions: &[usize],
        groups: &[Group],
        since: Instant,
    ) -> Vec<Outcome> {
        let course = |at: usize| courses.get(*positions.get(at)?);
        let written = |at| course(at).map(Course::rests_on_written).unwrap_or_default();
        let grounds = Grounds { since, written: &written };
        self.inner.send(zone, groups, Some(&grounds)).await
    }

    /// Whether creates merely add, and the provider reads what each write requires.
    fn reads_itself(&self, zone: &Zone) -> bool {
        let capability = self.capability(Some(zone));
        capability.create == CreateMode::Additive && capability.preconditions == Preconditions::Read
    }

    /// What holds if a set that was created stands there without anybody else's.
    fn alone(&self, zone: &Zone, set: &RecordSet) -> Vec<Precondition> {
        let (rules, apex) = (self.capability(Some(zone)).cname, set.key.name == zone.name);
        let beside = RecordType::WRITABLE.into_iter().filter(|rtype| rules.excludes(set.key.rtype, *rtype, apex));
        let absent = beside.map(|rtype| Precondition::Absent(RecordKey { rtype, ..set.key.clone() }));
        [Precondition::Exact(set.clone())].into_iter().chain(absent).collect()
    }

    /// A write did not take effect: those before it are taken back, the last one first, so that the name is not left without
    /// a record. Where that fails it is not known what stands.
    async fn give_up(&self, zone: &Zone, course: &Course<'_>, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Unknown(error) => Outcome::Unknown(error),
            Outcome::Applied => Outcome::Applied,
            other if self.go_back(zone, course, is_conflict(&other)).await => other,
            Outcome::Refused { error, .. } | Outcome::NotSent(error) => Outcome::Unknown(error),
        }
    }

    /// Undoes what is in force of a group. Returns whether everything stands as before.
    async fn go_back(&self, zone: &Zone, course: &Course<'_>, somebody: bool) -> bool {
        let WayBack { groups, whole } = course.way_back(somebody);
        for group in groups {
            // What was deleted is not put back beside what another writer put there since: it is not known whose that is.
            if somebody && self.is_taken(zone, &group).await {
                return false;
            }
            if !self.take_back(zone, group.clone()).await || !self.is_alone(zone, &group).await {
                return false;
            }
        }
        whole
    }

    /// Carries out what takes a write back. Where the provider holds a delete against what stands, what came beside ours is left.
    async fn take_back(&self, zone: &Zone, mut group: Group) -> bool {
        let gone = group.changes().filter_map(deleted).map(|set| set.key.name.clone());
        let names: BTreeSet<DnsName> = gone.filter(|_| self.reads_itself(zone)).collect();
        if !names.is_empty() {
            let listing = self.inner.records(zone, Read::Names(&names)).await;
            let Ok(Listing::Names(found) | Listing::Full { sets: found, .. }) = listing else { return false };
            for step in &mut group.steps {
                if let Some(left) = deleted(&step.change).and_then(|from| leave_others(from, &found)) {
                    step.change = left;
                }
            }
        }
        matches!(self.inner.apply(zone, std::slice::from_ref(&group)).await.as_slice(), [Outcome::Applied])
    }

    /// Whether what a group put back stands there without anybody else's; where a create merely adds, that is read, and what was
    /// put back beside something foreign is withdrawn. Its claim stays an intent then, which speaks for nothing there.
    async fn is_alone(&self, zone: &Zone, group: &Group) -> bool {
        let sets: Vec<&RecordSet> = group.records().filter_map(|step| created(&step.change)).collect();
        if sets.is_empty() || self.capability(Some(zone)).create != CreateMode::Additive {
            return true;
        }
        let names = sets.iter().map(|set| set.key.name.clone()).collect();
        let listing = self.inner.records(zone, Read::Names(&names)).await;
        let Ok(Listing::Names(found) | Listing::Full { sets: found, .. }) = listing else { return false };
        if sets.iter().all(|set| conflict(set, &found, &self.excludes(zone)).is_none()) {
            return true;
        }
        let withdrawn = group.steps.iter().filter_map(|step| {
            let from = created(&step.change)?.clone();
            Some(Step { change: Change::Delete { from }, ..step.clone() })
        });
        let withdrawal = Group { steps: withdrawn.collect(), ..group.clone() };
        // What becomes of it is found out by a reading, as of the whole group.
        self.take_back(zone, withdrawal).await;
        false
    }

    /// Which sets cannot stand together at one name of the zone.
    fn excludes(&self, zone: &Zone) -> impl Fn(&RecordSet, &RecordSet) -> bool + use<> {
        let (rules, apex) = (self.capability(Some(zone)).cname, zone.name.clone());
        move |set, other| {
            let excludes = rules.excludes(set.key.rtype, other.key.rtype, set.key.name == apex);
            excludes && other.key.set_id == set.key.set_id
        }
    }

    /// Whether something stands where the group would put a record; also if that is not known.
    async fn is_taken(&self, zone: &Zone, group: &Group) -> bool {
        let keys: Vec<_> = group.records().filter_map(|step| created(&step.change)).map(|set| &set.key).collect();
        if keys.is_empty() {
            return false;
        }
        let names: BTreeSet<DnsName> = keys.iter().map(|key| key.name.clone()).collect();
        match self.inner.records(zone, Read::Names(&names)).await {
            Ok(Listing::Names(found) | Listing::Full { sets: found, .. }) => {
                found.iter().any(|set| keys.contains(&&set.key))
            }
            Ok(_) | Err(_) => true,
        }
    }

    /// Reads the names where something was added just now, and withdraws what stands beside something foreign. A claim there that was
    /// changed in the same step, or a record that was added before, and is not as it was left any more, gives no right to go on either.
    async fn read_back(&self, zone: &Zone, courses: &mut [Course<'_>], went: &[usize]) {
        // The reading before the next write shows it too, where the provider does that itself.
        let shown_next = |course: &&Course<'_>| self.reads_itself(zone) && course.next().is_some();
        let fresh = |at: &usize| {
            let course = courses.get(*at).filter(|course| !shown_next(course))?;
            Some((*at, course.fresh().cloned().collect::<Vec<_>>())).filter(|(_, sets)| !sets.is_empty())
        };
        let mut added: BTreeMap<usize, Vec<RecordSet>> = went.iter().filter_map(fresh).collect();
        let names: BTreeSet<DnsName> = added.values().flatten().map(|set| set.key.name.clone()).collect();
        if names.is_empty() {
            return;
        }
        let listing = self.inner.records(zone, Read::Names(&names)).await;
        let beside = self.excludes(zone);
        for position in went.iter().copied() {
            let Some(course) = courses.get_mut(position) else { continue };
            let sets = added.remove(&position).unwrap_or_default();
            let claims = course.changed_claims().filter(|claim| names.contains(&claim.key.name));
            let claims: Vec<RecordSet> = claims.filter(|_| course.next().is_some()).cloned().collect();
            let announced = course.announced().filter(|set| names.contains(&set.key.name));
            let announced: Vec<RecordSet> = announced.cloned().collect();
            if sets.is_empty() && claims.is_empty() && announced.is_empty() {
                continue;
            }
            let problem = match &listing {
                Ok(Listing::Names(found) | Listing::Full { sets: found, .. }) => {
                    let taken = sets.iter().chain(&announced).find_map(|set| conflict(set, found, &beside));
                    let taken = taken.or_else(|| claims.iter().find_map(|claim| edited(claim, found)));
                    taken.map(|text| (true, refusal(text)))
                }
                // The reading was for others.
                _ if sets.is_empty() => None,
                Ok(_) => Some((false, silent())),
                Err(error) => Some((false, error.clone())),
            };
            if let Some((known, error)) = problem {
                let withdrawn = known && self.go_back(zone, course, true).await;
                course.outcome = Some(if withdrawn { Outcome::refused(error) } else { Outcome::Unknown(error) });
            }
        }
    }
}

/// Whether something else stands there than was to be expected.
fn is_conflict(outcome: &Outcome) -> bool {
    outcome.error().is_some_and(|error| error.kind == ErrorKind::Conflict)
}

fn refusal(text: String) -> Error {
    Error::new(ErrorKind::Conflict, "read back", text)
}

fn silent() -> Error {
    Error::new(ErrorKind::Protocol, "apply changes", "the provider gave no outcome")
}

#[async_trait]
impl Provider for Staged {
    fn capability(&self, zone: Option<&Zone>) -> Capability {
        self.inner.capability(zone)
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        self.inner.zones().await
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        self.inner.zone(id).await
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        self.inner.records(zone, read).await
    }

    fn interpret(&self, zone: &Zone, endpoint: &Endpoint) -> Interpretation {
        self.inner.interpret(zone, endpoint)
    }

    async fn adjust(&self, zone: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        self.inner.adjust(zone, sets).await
    }

    async fn served(&self, zone: &Zone) -> Result<Option<bool>> {
        self.inner.served(zone).await
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        let capability = self.capability(Some(zone));
        let additive = capability.create == CreateMode::Additive;
        let idle = groups.iter().any(Group::changes_nothing);
        if capability.batch.atomic == Atomicity::Batch && !additive && !idle {
            return self.inner.apply(zone, groups).await;
        }
        let mut courses: Vec<Course<'_>> =
            groups.iter().map(|group| Course::new(group, capability.batch.atomic, capability.create)).collect();
        let mut since = Instant::now();
        loop {
            let (began, late) = (Instant::now(), since.elapsed() > READ_HOLDS);
            let went = self.step(zone, &mut courses, since).await;
            if late {
                since = began;
            }
            if went.is_empty() && courses.iter().all(|course| course.next().is_none()) {
                return courses.into_iter().map(|course| course.outcome.unwrap_or(Outcome::Applied)).collect();
            }
            if additive {
                self.read_back(zone, &mut courses, &went).await;
            }
        }
    }
}
