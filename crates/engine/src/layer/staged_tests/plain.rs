//! A provider that takes one record set a call, or a batch, with a fault at a call of choice.

use std::time::Duration;

use super::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Refused,
    Down,
    LostWrite,
    LostAnswer,
}

/// Takes one record set a call, or a batch.
pub(super) struct Plain {
    pub(super) sets: Mutex<Sets>,
    pub(super) atomic: Atomicity,
    /// Most changes in a call.
    pub(super) most: usize,
    pub(super) create: CreateMode,
    pub(super) preconditions: Preconditions,
    /// How often names were read for the caller.
    pub(super) readings: Mutex<usize>,
    /// How long a reading for the caller takes, which fails then.
    pub(super) unread: Option<Duration>,
    /// The call that goes wrong.
    pub(super) fault: Option<(usize, Fault)>,
    /// From which call on nothing answers any more.
    pub(super) gone: Option<usize>,
    pub(super) calls: Mutex<usize>,
    /// What another writer puts there right before the first record that is no text is created.
    pub(super) foreign: Mutex<Option<RecordSet>>,
    /// What another writer makes of a record set right before it is changed or deleted.
    pub(super) edit: Mutex<Option<RecordSet>>,
    /// What another writer puts there while the answer of the slow call is on its way.
    pub(super) meanwhile: Mutex<Option<RecordSet>>,
    /// The record set that another writer takes away right before names are read.
    pub(super) taken: Mutex<Option<RecordKey>>,
    /// The slow call, if there is something to put there meanwhile.
    pub(super) slow: usize,
    /// How long its answer takes.
    pub(super) answer: Duration,
}

impl Plain {
    pub(super) fn new(sets: &[RecordSet]) -> Self {
        Self {
            sets: Mutex::new(sets.iter().map(|set| (set.key.clone(), set.clone())).collect()),
            atomic: Atomicity::None,
            most: capability().batch.changes,
            create: CreateMode::Guarded,
            preconditions: Preconditions::None,
            readings: Mutex::new(0),
            unread: None,
            fault: None,
            gone: None,
            calls: Mutex::new(0),
            foreign: Mutex::new(None),
            edit: Mutex::new(None),
            meanwhile: Mutex::new(None),
            taken: Mutex::new(None),
            slow: 0,
            answer: Duration::from_secs(4),
        }
    }

    pub(super) fn sets(&self) -> Sets {
        self.sets.lock().unwrap().clone()
    }

    /// One write. Where a create merely adds and a delete takes members away, it works on members.
    fn write(&self, sets: &mut Sets, change: &Change) -> bool {
        let members = |set: Option<&RecordSet>| set.map(|s| s.data.as_records().to_vec()).unwrap_or_default();
        let additive = self.create == CreateMode::Additive;
        let standing = sets.get(change.key()).cloned();
        let fits = match change {
            Change::Create { .. } => additive || standing.is_none(),
            Change::Update { from, .. } | Change::Delete { from } => {
                let (has, wants) = (members(standing.as_ref()), members(Some(from)));
                wants.iter().all(|member| has.contains(member)) && (additive || has.len() == wants.len())
            }
        };
        if !fits {
            return false;
        }
        let mut all = members(standing.as_ref());
        all.retain(|member| !members(change.from()).contains(member));
        all.extend(members(change.to()));
        let shape = change.to().or(standing.as_ref()).or(change.from()).cloned();
        match shape.filter(|_| !all.is_empty()) {
            Some(shape) => sets.insert(change.key().clone(), RecordSet { data: RecordData::records(all), ..shape }),
            None => sets.remove(change.key()),
        };
        true
    }

    fn carry_out(&self, group: &Group) -> Outcome {
        let conflict = || Outcome::refused(Error::new(ErrorKind::Conflict, "apply changes", "it is not as expected"));
        let reads = self.preconditions == Preconditions::Read;
        // What comes after this reading is not seen.
        if reads && !group.preconditions().iter().all(|condition| holds(&self.sets(), condition)) {
            return conflict();
        }
        let is_record = |change: &Change| matches!(change, Change::Create { to } if to.key.rtype != RecordType::Txt);
        if group.changes().any(is_record)
            && let Some(foreign) = self.foreign.lock().unwrap().take()
        {
            self.sets.lock().unwrap().insert(foreign.key.clone(), foreign);
        }
        let touched = |set: &mut RecordSet| group.changes().any(|c| c.from().is_some_and(|from| from.key == set.key));
        if let Some(edit) = self.edit.lock().unwrap().take_if(touched) {
            self.sets.lock().unwrap().insert(edit.key.clone(), edit);
        }
        let mut sets = self.sets();
        let required = || group.requires.iter().all(|condition| holds(&sets, condition));
        if !(reads || required()) || !group.changes().all(|change| self.write(&mut sets, change)) {
            return conflict();
        }
        *self.sets.lock().unwrap() = sets;
        Outcome::Applied
    }
}

fn holds(sets: &Sets, condition: &Precondition) -> bool {
    match condition {
        Precondition::Exact(set) => sets.get(&set.key).is_some_and(|found| found.data == set.data),
        Precondition::Absent(key) => !sets.contains_key(key),
        Precondition::NameNotInUse(name) => sets.keys().all(|key| key.name != *name),
    }
}

#[async_trait]
impl Provider for Plain {
    fn capability(&self, _: Option<&Zone>) -> Capability {
        let base = capability();
        let batch = Batch { atomic: self.atomic, changes: self.most, ..base.batch };
        Capability { batch, create: self.create, preconditions: self.preconditions, ..base }
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        Ok(vec![])
    }

    async fn zone(&self, _: &ZoneId) -> Result<Option<Zone>> {
        Ok(None)
    }

    async fn records(&self, _: &Zone, read: Read<'_>) -> Result<Listing> {
        let Read::Names(names) = read else { unreachable!("only names are read back") };
        *self.readings.lock().unwrap() += 1;
        if let Some(key) = self.taken.lock().unwrap().take() {
            self.sets.lock().unwrap().remove(&key);
        }
        if let Some(time) = self.unread {
            tokio::time::sleep(time).await;
            return Err(Error::new(ErrorKind::Timeout, "read records", "no answer"));
        }
        let sets = self.sets().into_values().filter(|set| names.contains(&set.key.name));
        Ok(Listing::Names(sets.collect()))
    }

    fn interpret(&self, _: &Zone, _: &Endpoint) -> Interpretation {
        Interpretation::as_stated()
    }

    async fn adjust(&self, _: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        Adjustment::none(sets)
    }

    async fn apply(&self, _: &Zone, groups: &[Group]) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        for group in groups {
            assert!(self.atomic == Atomicity::Batch || group.steps.len() == 1, "one write at a time: {group:?}");
            let call = {
                let mut calls = self.calls.lock().unwrap();
                *calls += 1;
                *calls - 1
            };
            let fault = self.fault.filter(|(at, _)| *at == call).map(|(_, fault)| fault);
            let fault = fault.or(self.gone.filter(|at| call >= *at).map(|_| Fault::Down));
            let lost = || Outcome::Unknown(Error::new(ErrorKind::Timeout, "apply changes", "no answer"));
            outcomes.push(match fault {
                None => self.carry_out(group),
                Some(Fault::Refused) => Outcome::refused(Error::new(ErrorKind::Invalid, "apply changes", "no")),
                Some(Fault::Down) => Outcome::NotSent(Error::new(ErrorKind::Unavailable, "apply changes", "down")),
                Some(Fault::LostWrite) => lost(),
                Some(Fault::LostAnswer) => {
                    let _ = self.carry_out(group);
                    lost()
                }
            });
        }
        let is_slow = *self.calls.lock().unwrap() == self.slow + 1;
        let meanwhile = self.meanwhile.lock().unwrap().take_if(|_| is_slow);
        if let Some(foreign) = meanwhile {
            tokio::time::sleep(self.answer).await;
            self.sets.lock().unwrap().insert(foreign.key.clone(), foreign);
        }
        outcomes
    }

    async fn served(&self, _: &Zone) -> Result<Option<bool>> {
        Ok(None)
    }
}
