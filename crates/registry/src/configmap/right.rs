//! What an entry says about the owner of its record, and when it counts.
//!
//! In: what was written, and the digest of what is published. Out: whether the entry speaks for the record now, and what
//! becomes of it when the zone was read. What must hold: an entry with an open intent speaks for its record only while that
//! stands exactly as announced; a right never passes to a record that another writer put there.

use std::fmt;
use std::sync::Arc;

use zonewright_core::claim::OwnerId;
use zonewright_core::intent;
use zonewright_core::{RecordKey, RecordSet};

/// After so many readings without the record, the claim on it ends. A reading may lag behind our own write.
const READINGS: u8 = 3;

/// Digest of a record: key and data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Seal(u64);

impl Seal {
    pub(super) fn of(set: &RecordSet) -> Self {
        Self::of_texts(&set.key, intent::texts(set))
    }

    pub(super) fn of_texts(key: &RecordKey, texts: Vec<String>) -> Self {
        Self::parse(&intent::digest_of(key, texts)).expect("a digest has 16 hexadecimal digits")
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let hex = text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
        u64::from_str_radix(text, 16).ok().filter(|_| hex).map(Self)
    }
}

impl fmt::Display for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// On whose word an entry rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// The object is its owner's.
    Own,
    /// The object's owner handed the record to another one.
    Given,
    /// Another owner, noted by hand or in passing: it keeps us away, and gives nobody a right.
    Noted,
}

/// What an entry becomes once its record stands as announced.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Next {
    pub(super) seal: Seal,
    pub(super) resource: Option<Arc<str>>,
    pub(super) labels: Vec<(Arc<str>, Arc<str>)>,
}

/// Whose a record is, by one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Right {
    pub(super) owner: OwnerId,
    pub(super) kind: Kind,
    pub(super) resource: Option<Arc<str>>,
    pub(super) labels: Vec<(Arc<str>, Arc<str>)>,
    /// It counts only while the record stands so.
    pub(super) only: Option<Seal>,
    pub(super) next: Option<Box<Next>>,
    /// The record as it was last known.
    pub(super) seen: Seal,
    /// How many readings in a row did not show the record.
    pub(super) absent: u8,
    /// Whether the record stood for certain before a reading missed it: no write of ours explains that it is gone.
    pub(super) lost: bool,
}

/// What a right says while it counts.
pub(super) type RightTerms<'a> = (&'a Option<Arc<str>>, &'a Vec<(Arc<str>, Arc<str>)>);

impl Right {
    /// A right of `owner` without conditions, resource and labels.
    pub(super) fn own(owner: &OwnerId, set: &RecordSet) -> Self {
        Self {
            owner: owner.clone(),
            kind: Kind::Own,
            resource: None,
            labels: Vec::new(),
            only: None,
            next: None,
            seen: Seal::of(set),
            absent: 0,
            lost: false,
        }
    }

    /// What it says of a record that stands as `standing`, or does not stand; `None` where it does not speak for it.
    pub(super) fn speaks(&self, standing: Option<Seal>) -> Option<RightTerms<'_>> {
        if let Some(next) = self.next.as_ref().filter(|next| Some(next.seal) == standing) {
            return Some((&next.resource, &next.labels));
        }
        let counts = match self.kind {
            Kind::Noted => true,
            Kind::Own => self.only.is_none() || self.only == standing,
            Kind::Given => self.only.is_some() && self.only == standing,
        };
        counts.then_some((&self.resource, &self.labels))
    }

    /// Whether it announces a record that stands as `standing`, not confirmed, for another owner than `me`.
    pub(super) fn rivals(&self, me: &OwnerId, standing: Option<Seal>) -> bool {
        self.kind != Kind::Noted && self.owner != *me && self.only.is_some() && self.speaks(standing).is_some()
    }

    /// Whether it gives the record to the same owner, for the same resource.
    pub(super) fn says_as(&self, other: &Self) -> bool {
        self.kind == other.kind && self.owner == other.owner && self.resource == other.resource
    }

    /// Whether it is an owner's own word, and confirmed.
    pub(super) fn is_firm(&self) -> bool {
        self.kind == Kind::Own && self.only.is_none()
    }

    /// Whether anything about it waits for the next reading.
    pub(super) fn is_open(&self) -> bool {
        self.only.is_some() || self.next.is_some()
    }

    /// What is left of it after its zone was read; `None` where nothing is. `heard`: the objects of its owner are at hand, and
    /// `taken`: they speak of this record; of our own right: another owner's confirmed claim on it is. `rivalled`: another owner has
    /// announced the very same record, and has not confirmed it either.
    pub(super) fn settled(mut self, standing: Option<Seal>, heard: bool, taken: bool, rivalled: bool) -> Option<Self> {
        match self.kind {
            Kind::Noted => return (standing.is_some() && !heard).then_some(self),
            Kind::Given if taken => return None,
            Kind::Own if taken && self.only.is_some() => return None,
            Kind::Given | Kind::Own => {}
        }
        let Some(seal) = standing else { return self.missed() };
        if self.kind == Kind::Given {
            (self.absent, self.lost) = (0, false);
            return (self.only == Some(seal)).then_some(self);
        }
        let (resource, labels) = self.speaks(standing)?;
        if rivalled && self.only.is_some() {
            // Either of them may have made it: who did knows, and confirms it.
            return Some(Self { absent: 0, ..self });
        }
        let (resource, labels) = (resource.clone(), labels.clone());
        Some(Self { resource, labels, only: None, next: None, seen: seal, absent: 0, lost: false, ..self })
    }

    /// The record does not stand: it may come to light as it was, and for nothing else.
    fn missed(mut self) -> Option<Self> {
        self.absent = self.absent.saturating_add(1);
        self.lost |= !self.is_open();
        self.only = Some(self.only.unwrap_or(self.seen));
        (self.absent < READINGS).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use zonewright_core::{DnsName, RData, RecordType};

    use super::*;

    fn set(data: &str) -> RecordSet {
        let data = RData::parse(RecordType::A, data).unwrap();
        RecordSet::simple(DnsName::parse("a.example").unwrap(), RecordType::A, None, [data])
    }

    fn seal(data: &str) -> Seal {
        Seal::of(&set(data))
    }

    fn own() -> Right {
        Right { resource: Some(Arc::from("old")), ..Right::own(&OwnerId::new("me").unwrap(), &set("192.0.2.1")) }
    }

    fn word(right: &Right, standing: Option<Seal>) -> Option<&str> {
        right.speaks(standing).map(|(resource, _)| resource.as_deref().unwrap_or(""))
    }

    #[test]
    fn an_open_intent_speaks_for_what_it_announced() {
        let open = Right { only: Some(seal("192.0.2.1")), ..own() };
        assert_eq!(word(&open, Some(seal("192.0.2.1"))), Some("old"));
        assert_eq!(word(&open, Some(seal("192.0.2.2"))), None);
        assert_eq!(word(&open, None), None);
        assert_eq!(word(&own(), Some(seal("192.0.2.2"))), Some("old"));
        let next = Next { seal: seal("192.0.2.2"), resource: Some(Arc::from("new")), labels: vec![] };
        let changing = Right { next: Some(Box::new(next)), ..open };
        assert_eq!(word(&changing, Some(seal("192.0.2.1"))), Some("old"));
        assert_eq!(word(&changing, Some(seal("192.0.2.2"))), Some("new"));
        assert_eq!(word(&changing, Some(seal("192.0.2.3"))), None);
    }

    #[test]
    fn a_reading_confirms_or_withdraws() {
        let open = Right { only: Some(seal("192.0.2.1")), ..own() };
        let confirmed = open.clone().settled(Some(seal("192.0.2.1")), false, false, false).unwrap();
        assert_eq!((confirmed.only, confirmed.is_open()), (None, false));
        let rivalled = open.clone().settled(Some(seal("192.0.2.1")), false, false, true);
        assert_eq!(rivalled, Some(open.clone()), "another owner has announced it too");
        assert_eq!(open.settled(Some(seal("192.0.2.2")), false, false, false), None, "a foreign record");
        let next = Next { seal: seal("192.0.2.2"), resource: Some(Arc::from("new")), labels: vec![] };
        let changing = Right { next: Some(Box::new(next)), ..own() };
        let settled = |data| changing.clone().settled(Some(seal(data)), false, false, false).unwrap().resource;
        assert_eq!(settled("192.0.2.2").as_deref(), Some("new"));
        assert_eq!(settled("192.0.2.1").as_deref(), Some("old"));
    }

    #[test]
    fn a_lost_record_is_ours_only_as_it_was_and_not_for_ever() {
        let lost = own().settled(None, false, false, false).unwrap();
        assert_eq!(word(&lost, Some(seal("192.0.2.1"))), Some("old"));
        assert_eq!(word(&lost, Some(seal("192.0.2.2"))), None);
        assert!(lost.lost && !lost.clone().settled(Some(seal("192.0.2.1")), false, false, false).unwrap().lost);
        let going = Right { only: Some(seal("192.0.2.1")), ..own() };
        assert!(!going.settled(None, false, false, false).unwrap().lost, "our own write took it away");
        let back = lost.clone().settled(Some(seal("192.0.2.1")), false, false, false).unwrap();
        assert_eq!((back.only, back.absent), (None, 0));
        let twice = lost.settled(None, false, false, false).unwrap();
        assert_eq!(twice.settled(None, false, false, false), None);
    }

    #[test]
    fn what_was_given_counts_as_it_was_until_it_is_taken() {
        let given = Right { kind: Kind::Given, only: Some(seal("192.0.2.1")), ..own() };
        assert!(given.speaks(Some(seal("192.0.2.1"))).is_some() && given.speaks(None).is_none());
        assert_eq!(given.clone().settled(Some(seal("192.0.2.1")), true, false, false), Some(given.clone()));
        assert_eq!(given.clone().settled(Some(seal("192.0.2.1")), true, true, false), None);
        assert_eq!(given.settled(Some(seal("192.0.2.2")), true, false, false), None);
    }

    #[test]
    fn a_noted_owner_stays_where_nobody_knows_better() {
        let noted = Right { kind: Kind::Noted, ..own() };
        assert_eq!(noted.clone().settled(Some(seal("192.0.2.7")), false, false, false), Some(noted.clone()));
        assert_eq!(noted.clone().settled(Some(seal("192.0.2.7")), true, false, false), None);
        assert_eq!(noted.settled(None, false, false, false), None);
    }
}
