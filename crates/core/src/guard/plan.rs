//! Held plans and their approvals.
//!
//! A held plan names every delete that waits by its key and by a digest of what would go, so that an approval covers exactly
//! what was shown: each of these deletes once, and no other content under the same key.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::Brake;
use crate::claim::Claim;
use crate::clock::Timestamp;
use crate::endpoint::KindId;
use crate::record::{RecordKey, RecordSet};

/// So many of the deletes of a held plan are kept with their content, for people.
pub const SAMPLES: usize = 200;

/// What a delete takes away: the first 8 bytes of a SHA-256 over the record set and our claim on it, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(Arc<str>);

impl Digest {
    /// The digest of a record set and of our claim on it. Where the claim is kept does not count: it may be moved meanwhile.
    pub fn of(set: &RecordSet, claim: Option<&Claim>) -> Self {
        let claim = claim.map(|claim| (claim.owner.to_string(), &claim.resource, &claim.labels));
        let whole = serde_json::json!([set.to_string(), set.routing, set.options, claim]);
        Self(Arc::from(hex(&Sha256::digest(whole.to_string()), 8)))
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which records a hold was judged over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BrakeScope {
    /// Those of one zone.
    #[default]
    Zone,
    /// Those of all zones of one provider instance.
    Instance,
    /// Those of all zones of the process.
    Process,
}

/// The doubt about kinds that looks accepted: each with the number of that doubt ([`crate::source::KindState::doubted`]).
pub type AcceptedKinds = BTreeMap<KindId, u64>;

/// An approval of a held plan. It covers each of its deletes once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredApproval")]
pub struct Approval {
    /// The hash of the plan; empty in a state that an older version saved.
    pub plan: String,
    /// The deletes that it still covers, with what they take away. `None`: whatever stands there (an older version's state).
    #[serde(with = "super::pairs")]
    pub open: BTreeMap<RecordKey, Option<Digest>>,
    /// Those of them that were sent, and of which it is not known whether they were done.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub sent: BTreeSet<RecordKey>,
    /// The deletes that it covered and that were done.
    pub spent: BTreeSet<RecordKey>,
    /// The doubt that was shown with the plan, and that the open deletes may pass.
    pub kinds: AcceptedKinds,
    /// When it ends.
    pub until: Timestamp,
}

/// An approval as it is saved by this version and by older ones, which bound it to keys alone.
#[derive(Deserialize)]
struct StoredApproval {
    #[serde(default)]
    plan: String,
    #[serde(default, with = "super::pairs")]
    open: BTreeMap<RecordKey, Option<Digest>>,
    #[serde(default)]
    sent: BTreeSet<RecordKey>,
    #[serde(default)]
    spent: BTreeSet<RecordKey>,
    #[serde(default)]
    kinds: AcceptedKinds,
    #[serde(default)]
    keys: BTreeSet<RecordKey>,
    until: Timestamp,
}

impl From<StoredApproval> for Approval {
    fn from(stored: StoredApproval) -> Self {
        let StoredApproval { plan, mut open, sent, spent, kinds, keys, until } = stored;
        for key in keys {
            open.entry(key).or_insert(None);
        }
        Self { plan, open, sent, spent, kinds, until }
    }
}

impl Approval {
    /// Whether the delete of `key`, which takes `digest` away, is covered at `now`.
    pub fn covers(&self, key: &RecordKey, digest: &Digest, now: Timestamp) -> bool {
        self.until > now && self.open.get(key).is_some_and(|shown| shown.as_ref().is_none_or(|shown| shown == digest))
    }

    /// A covered delete was done, or its record was found to be gone. Returns whether it was covered.
    pub fn spend(&mut self, key: &RecordKey) -> bool {
        self.sent.remove(key);
        let covered = self.open.remove(key).is_some();
        if covered {
            self.spent.insert(key.clone());
        }
        covered
    }

    /// A covered delete is about to be sent. Returns whether that is new.
    pub fn send(&mut self, key: &RecordKey) -> bool {
        self.open.contains_key(key) && self.sent.insert(key.clone())
    }

    /// A delete that was about to be sent was not, or was refused: it is covered as before. Returns whether it was sent.
    pub fn not_done(&mut self, key: &RecordKey) -> bool {
        self.sent.remove(key)
    }

    /// Another process goes on with it. What was sent may have been done, and what stands there now may have been made since:
    /// that is covered no more.
    pub fn taken_over(&mut self) {
        for key in std::mem::take(&mut self.sent) {
            self.spend(&key);
        }
    }

    /// Whatever it covers is covered no more.
    pub fn end(&mut self) {
        self.sent.clear();
        self.spent.extend(std::mem::take(&mut self.open).into_keys());
    }

    /// Whether it is over: its time, or everything that it covered.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.until <= now || self.open.is_empty() && self.spent.is_empty()
    }
}

/// Deletes of one zone that wait for an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredPlan")]
pub struct HeldPlan {
    /// Names the plan in commands: the first 12 digits of a SHA-256 over zone, keys and contents.
    pub hash: String,
    /// Every record that would go, with a digest of what it holds. `None`: an older version saved it without.
    #[serde(with = "super::pairs")]
    pub held: BTreeMap<RecordKey, Option<Digest>>,
    /// What the first [`SAMPLES`] of them hold, for people.
    #[serde(rename = "samples", with = "super::pairs")]
    pub samples: BTreeMap<RecordKey, String>,
    /// Why they are held.
    pub reason: String,
    /// Since when there are deletes held in this zone.
    pub since: Timestamp,
    /// Whether they would leave the owner nothing ([`super::leaves_nothing`]).
    pub floor: bool,
    /// What the hold was judged over.
    pub scope: BrakeScope,
    /// The doubt about kinds that some of the deletes wait for, and that an approval accepts for them.
    pub kinds: AcceptedKinds,
}

/// A held plan as it is saved by this version and by older ones, which had a text for each delete and no digest.
#[derive(Deserialize)]
struct StoredPlan {
    hash: String,
    #[serde(default, with = "super::pairs")]
    held: BTreeMap<RecordKey, Option<Digest>>,
    #[serde(default, with = "super::pairs")]
    samples: BTreeMap<RecordKey, String>,
    #[serde(default, with = "super::pairs")]
    deletes: BTreeMap<RecordKey, String>,
    reason: String,
    since: Timestamp,
    #[serde(default)]
    floor: bool,
    #[serde(default)]
    scope: BrakeScope,
    #[serde(default)]
    kinds: AcceptedKinds,
}

impl From<StoredPlan> for HeldPlan {
    fn from(stored: StoredPlan) -> Self {
        let StoredPlan { hash, mut held, mut samples, deletes, reason, since, floor, scope, kinds } = stored;
        for (key, text) in deletes {
            held.entry(key.clone()).or_insert(None);
            samples.entry(key).or_insert(text);
        }
        Self { hash, held, samples, reason, since, floor, scope, kinds }
    }
}

impl HeldPlan {
    /// Why it is still held, though it would no longer leave the owner nothing: what was made since must not let pass what was
    /// held. Not so where something of it is asked for again. One that is gone or somebody else's by now, or stays for another
    /// reason, says nothing of the others. `counted` are the deletes that are wanted, `withheld` those that wait for evidence,
    /// `is_asked` says what objects ask for.
    pub fn stays(
        &self,
        brake: &Brake,
        counted: &BTreeSet<RecordKey>,
        withheld: &BTreeSet<RecordKey>,
        is_asked: impl Fn(&RecordKey) -> bool,
    ) -> Option<String> {
        let in_force = brake.enabled && brake.owner_floor > 0 && self.floor && !counted.is_empty();
        let is_back = |key: &RecordKey| !counted.contains(key) && !withheld.contains(key) && is_asked(key);
        (in_force && !self.held.keys().any(is_back)).then(|| self.reason.clone())
    }

    /// The approval of everything in it, until the given time.
    pub fn approval(&self, until: Timestamp) -> Approval {
        let (plan, open, kinds) = (self.hash.clone(), self.held.clone(), self.kinds.clone());
        Approval { plan, open, sent: BTreeSet::new(), spent: BTreeSet::new(), kinds, until }
    }
}

/// Several held plans under one hash: the brake held them together, and one approval may cover them all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JointPlan {
    /// Names it in commands: over the hashes of the zones' plans.
    pub hash: String,
    /// What they were judged over.
    pub scope: BrakeScope,
    /// The zones, each with the number of deletes that are held there.
    pub zones: BTreeMap<String, usize>,
    /// Why they are held.
    pub reason: String,
}

impl JointPlan {
    /// Number of held deletes in all zones.
    pub fn deletes(&self) -> usize {
        self.zones.values().sum()
    }
}

/// The hash that names a set of held deletes.
pub fn hash(zone: &str, keys: impl IntoIterator<Item = impl ToString>) -> String {
    let mut digest = Sha256::new();
    digest.update(zone.as_bytes());
    for key in keys {
        digest.update([0]);
        digest.update(key.to_string().as_bytes());
    }
    hex(&digest.finalize(), 6)
}

/// The first bytes in hexadecimal.
fn hex(bytes: &[u8], count: usize) -> String {
    bytes.iter().take(count).fold(String::with_capacity(2 * count), |mut out, byte| {
        write!(out, "{byte:02x}").expect("writing to a string cannot fail");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::set;

    #[test]
    fn a_hash_names_zone_and_deletes() {
        assert_eq!(hash("z", ["a"]), hash("z", ["a"]));
        assert_eq!(hash("z", ["a"]).len(), 12);
        assert_ne!(hash("z", ["a"]), hash("y", ["a"]));
        assert_ne!(hash("z", ["a", "b"]), hash("z", ["ab"]));
    }

    #[test]
    fn an_approval_covers_each_delete_once_with_its_content_and_expires() {
        let record = set("a.example A 192.0.2.1");
        let (shown, other) = (Digest::of(&record, None), Digest::of(&set("a.example A 192.0.2.2"), None));
        let open = BTreeMap::from([(record.key.clone(), Some(shown.clone()))]);
        let mut approval = Approval {
            plan: "p".to_owned(),
            open,
            sent: BTreeSet::new(),
            spent: BTreeSet::new(),
            kinds: AcceptedKinds::new(),
            until: Timestamp(10),
        };
        assert!(approval.covers(&record.key, &shown, Timestamp(9)));
        assert!(!approval.covers(&record.key, &shown, Timestamp(10)), "its time is over");
        assert!(!approval.covers(&record.key, &other, Timestamp(9)), "another content");
        assert!(!approval.covers(&set("b.example A 192.0.2.1").key, &shown, Timestamp(9)));
        assert!(approval.spend(&record.key) && !approval.spend(&record.key));
        assert!(!approval.covers(&record.key, &shown, Timestamp(9)), "spent");
        assert!(!approval.is_over(Timestamp(9)), "what it approved is remembered, so that an undo finds it");
        assert!(approval.is_over(Timestamp(10)));
    }

    #[test]
    fn what_was_sent_is_covered_until_another_process_goes_on() {
        let keys: Vec<RecordKey> = ["a", "b", "c"].map(|name| set(&format!("{name}.example A 192.0.2.1")).key).to_vec();
        let mut approval = Approval {
            plan: "p".to_owned(),
            open: keys.iter().map(|key| (key.clone(), None)).collect(),
            sent: BTreeSet::new(),
            spent: BTreeSet::new(),
            kinds: AcceptedKinds::new(),
            until: Timestamp(10),
        };
        let digest = Digest::of(&set("a.example A 192.0.2.1"), None);
        let covered = |approval: &Approval| {
            keys.iter().map(|key| approval.covers(key, &digest, Timestamp(1))).collect::<Vec<_>>()
        };
        assert!(approval.send(&keys[0]) && approval.send(&keys[1]) && !approval.send(&keys[1]));
        assert!(approval.not_done(&keys[1]) && !approval.not_done(&keys[1]));
        assert_eq!(covered(&approval), [true, true, true], "the process that sent it tries again");
        let mut approval: Approval = serde_json::from_str(&serde_json::to_string(&approval).unwrap()).unwrap();
        approval.taken_over();
        assert_eq!(covered(&approval), [false, true, true]);
        assert!(!approval.send(&keys[0]), "it is spent");
        assert_eq!(approval.spent, BTreeSet::from([keys[0].clone()]), "so that an undo finds it");
        approval.end();
        assert_eq!(covered(&approval), [false, false, false]);
        assert_eq!(approval.spent.len(), 3);
    }

    #[test]
    fn a_digest_is_of_the_record_and_of_our_claim_on_it() {
        use crate::claim::{ClaimRank, OwnerId};
        let record = set("a.example A 192.0.2.1");
        let claim = Claim {
            owner: OwnerId::new("me").unwrap(),
            resource: Some(Arc::from("service/ns/a")),
            labels: Vec::new(),
            rank: ClaimRank::Typed,
            current: true,
            site: None,
        };
        let shown = Digest::of(&record, Some(&claim));
        let others = [
            Claim { owner: OwnerId::new("other").unwrap(), ..claim.clone() },
            Claim { resource: Some(Arc::from("service/ns/b")), ..claim.clone() },
            Claim { labels: vec![(Arc::from("zonewright-policy"), Arc::from("retain"))], ..claim.clone() },
        ];
        for other in &others {
            assert_ne!(Digest::of(&record, Some(other)), shown, "{other:?}");
        }
        assert_ne!(Digest::of(&record, None), shown);
        assert_ne!(Digest::of(&set("a.example A 192.0.2.2"), Some(&claim)), shown);
        // A claim that moves to its place of today is the same claim.
        assert_eq!(Digest::of(&record, Some(&Claim { current: false, rank: ClaimRank::Old, ..claim.clone() })), shown);
    }

    #[test]
    fn what_older_versions_saved_is_read() {
        let key = serde_json::to_value(&set("a.example A 192.0.2.1").key).unwrap();
        let plan: HeldPlan = serde_json::from_value(serde_json::json!({
            "hash": "abc", "deletes": [[key, "192.0.2.1"]], "reason": "many", "since": 5, "floor": true
        }))
        .unwrap();
        assert_eq!((plan.held.len(), plan.samples.len(), plan.floor, plan.scope), (1, 1, true, BrakeScope::Zone));
        let approval: Approval = serde_json::from_value(serde_json::json!({ "keys": [key], "until": 9 })).unwrap();
        let record = set("a.example A 192.0.2.7");
        assert!(approval.covers(&record.key, &Digest::of(&record, None), Timestamp(8)));
        let again: HeldPlan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
        assert_eq!(again, plan);
        let again: Approval = serde_json::from_str(&serde_json::to_string(&approval).unwrap()).unwrap();
        assert_eq!(again, approval);
    }
}
