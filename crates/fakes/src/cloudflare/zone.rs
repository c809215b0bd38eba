//! A zone: its records, and what requests do to them. A request is carried out as a whole or not at all.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::hostnames::CustomHostname;
use super::ids;
use super::plan::Plan;
use super::record::Record;
use super::refusal::Refusal;
use super::regions::RegionalHostname;
use super::rules;

/// A record with its times.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) record: Record,
    created: String,
    modified: String,
}

impl Stored {
    /// A record that is written now; one that stood before was made then.
    fn new(record: Record, created: Option<String>) -> Self {
        let modified = ids::now();
        Self { record, created: created.unwrap_or_else(|| modified.clone()), modified }
    }

    pub(super) fn element(&self) -> Value {
        self.record.element(&self.created, &self.modified)
    }
}

/// Records by id and by name. A copy shares the records themselves.
#[derive(Debug, Clone, Default)]
pub(super) struct Records {
    by_id: BTreeMap<String, Arc<Stored>>,
    by_name: BTreeMap<String, BTreeSet<String>>,
    /// What stood under each id before it was written, the latest at the end.
    undo: Vec<(String, Option<Arc<Stored>>)>,
}

impl Records {
    pub(super) fn get(&self, id: &str) -> Option<&Stored> {
        self.by_id.get(id).map(Arc::as_ref)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Stored> {
        self.by_id.values().map(Arc::as_ref)
    }

    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// The records of a name but one.
    fn beside(&self, name: &str, id: &str) -> Vec<&Record> {
        let ids = self.by_name.get(name).into_iter().flatten().filter(|other| *other != id);
        ids.filter_map(|id| self.get(id)).map(|stored| &stored.record).collect()
    }

    fn insert(&mut self, stored: Stored) {
        let id = stored.record.id.clone();
        let before = self.take(&id);
        self.undo.push((id, before));
        self.give(Arc::new(stored));
    }

    fn remove(&mut self, id: &str) -> Option<Arc<Stored>> {
        let stored = self.take(id)?;
        self.undo.push((id.to_owned(), Some(stored.clone())));
        Some(stored)
    }

    /// Takes back what was written since the last call of [`Records::keep`].
    fn roll_back(&mut self) {
        while let Some((id, before)) = self.undo.pop() {
            self.take(&id);
            if let Some(before) = before {
                self.give(before);
            }
        }
    }

    /// What was written cannot be taken back any more.
    fn keep(&mut self) {
        self.undo.clear();
    }

    fn give(&mut self, stored: Arc<Stored>) {
        let Record { id, name, .. } = &stored.record;
        self.by_name.entry(name.clone()).or_default().insert(id.clone());
        self.by_id.insert(id.clone(), stored);
    }

    fn take(&mut self, id: &str) -> Option<Arc<Stored>> {
        let stored = self.by_id.remove(id)?;
        let name = &stored.record.name;
        if let Some(ids) = self.by_name.get_mut(name) {
            ids.remove(id);
            if ids.is_empty() {
                self.by_name.remove(name);
            }
        }
        Some(stored)
    }
}

/// A zone.
#[derive(Debug)]
pub(super) struct Zone {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) plan: Plan,
    /// Whether its registrar delegates to the service's servers; else it is `pending`.
    pub(super) active: bool,
    created: String,
    pub(super) records: Records,
    /// The records as they were before the last writes, the latest at the end.
    history: VecDeque<Records>,
    /// How many writes a listing is behind.
    lag: usize,
    /// Most records; what the plan allows if there is none.
    pub(super) record_limit: Option<usize>,
    /// Most operations of a batch; what the plan allows if there is none.
    pub(super) batch_limit: Option<usize>,
    pub(super) hostnames: BTreeMap<String, CustomHostname>,
    pub(super) hostname_quota: usize,
    /// By hostname.
    pub(super) regions: BTreeMap<String, RegionalHostname>,
    /// Whether regional hostnames are part of what the account pays for.
    pub(super) regional: bool,
    made: usize,
}

impl Zone {
    pub(super) fn new(id: String, name: &str, plan: Plan) -> Self {
        Self {
            id,
            name: name.to_owned(),
            plan,
            active: true,
            created: ids::now(),
            records: Records::default(),
            history: VecDeque::new(),
            lag: 0,
            record_limit: None,
            batch_limit: None,
            hostnames: BTreeMap::new(),
            hostname_quota: 100,
            regions: BTreeMap::new(),
            regional: plan == Plan::Enterprise,
            made: 0,
        }
    }

    /// An id that nothing of the zone has.
    pub(super) fn next_id(&mut self) -> String {
        self.made += 1;
        ids::id(&format!("{} {}", self.id, self.made))
    }

    /// What listings show.
    pub(super) fn listed(&self) -> &Records {
        if self.lag == 0 { &self.records } else { self.history.front().unwrap_or(&self.records) }
    }

    pub(super) fn set_lag(&mut self, writes: usize) {
        self.lag = writes;
        self.history.clear();
    }

    /// Carries out what a request asks for, or nothing of it.
    pub(super) fn write<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Refusal>) -> Result<T, Refusal> {
        self.records.keep();
        let before = (self.lag > 0).then(|| self.records.clone());
        let outcome = work(self);
        if outcome.is_err() {
            self.records.roll_back();
        } else if let Some(before) = before {
            self.history.push_back(before);
            let over = self.history.len().saturating_sub(self.lag);
            self.history.drain(..over);
        }
        outcome
    }

    pub(super) fn create(&mut self, fields: &Map<String, Value>) -> Result<Value, Refusal> {
        let id = self.next_id();
        let record = Record { id, ..Record::empty().changed(fields)? };
        if self.records.len() >= self.record_limit.unwrap_or(self.plan.records()) {
            return Err(Refusal::new(400, 81045, "Record quota exceeded."));
        }
        self.store(record, None)
    }

    /// Replaces a record: what the fields leave out takes its default.
    pub(super) fn replace(&mut self, id: &str, fields: &Map<String, Value>) -> Result<Value, Refusal> {
        let created = self.standing(id)?.created.clone();
        let record = Record { id: id.to_owned(), ..Record::empty().changed(fields)? };
        self.store(record, Some(created))
    }

    /// Changes a record: what the fields leave out stays.
    pub(super) fn patch(&mut self, id: &str, fields: &Map<String, Value>) -> Result<Value, Refusal> {
        let standing = self.standing(id)?;
        let created = standing.created.clone();
        let record = standing.record.clone().changed(fields)?;
        self.store(record, Some(created))
    }

    /// The record that is gone.
    pub(super) fn delete(&mut self, id: &str) -> Result<Value, Refusal> {
        self.records.remove(id).map(|stored| stored.element()).ok_or_else(Refusal::no_record)
    }

    fn standing(&self, id: &str) -> Result<&Stored, Refusal> {
        self.records.get(id).ok_or_else(Refusal::no_record)
    }

    fn store(&mut self, mut record: Record, created: Option<String>) -> Result<Value, Refusal> {
        record.settle(&self.name, self.plan)?;
        let beside = self.records.beside(&record.name, &record.id);
        rules::check(&record, &beside, record.name == self.name)?;
        let stored = Stored::new(record, created);
        let element = stored.element();
        self.records.insert(stored);
        Ok(element)
    }

    /// Puts a record in place, past every rule, and gives it an id if it has none.
    pub(super) fn put(&mut self, mut record: Record) -> String {
        if record.id.is_empty() {
            record.id = self.next_id();
        }
        let id = record.id.clone();
        let stored = Stored::new(record, None);
        self.records.insert(stored);
        id
    }

    /// Takes a record out, past every rule.
    pub(super) fn remove(&mut self, id: &str) -> Option<Record> {
        self.records.remove(id).map(|stored| stored.record.clone())
    }

    /// As an answer shows it.
    pub(super) fn element(&self, permissions: &[&str]) -> Value {
        let Self { id, name, plan, created, .. } = self;
        json!({
            "id": id, "name": name, "status": if self.active { "active" } else { "pending" }, "paused": false,
            "type": "full", "development_mode": 0, "plan": plan.element(), "permissions": permissions,
            "name_servers": ["ada.ns.cloudflare.com", "bob.ns.cloudflare.com"], "original_name_servers": [],
            "original_registrar": null, "original_dnshost": null, "created_on": created, "modified_on": created,
            "activated_on": self.active.then_some(created),
            "account": { "id": ids::ACCOUNT, "name": "fake" },
            "owner": { "id": null, "type": "user", "email": null },
            "meta": {
                "step": 2, "custom_certificate_quota": 0, "page_rule_quota": 3, "phishing_detected": false,
                "cdn_only": false, "dns_only": false, "foundation_dns": false,
            },
        })
    }
}

#[cfg(test)]
mod tests;
