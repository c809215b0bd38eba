//! What a row says, and how that changes while a record is written.
//!
//! In: the attributes of a row. Out: who owns the record for which resource, and in which zones that counts. External-dns
//! reads the same rows: owner and labels are where it expects them. Two further labels, which it passes over, keep what it
//! does not know:
//!
//! - `zonewright-zones`: the zones (by the provider's id, apart by blanks) in which the right stands. Without the label it
//!   stands in all, as in external-dns. So with two zones of one name a claim in one gives no right in the other.
//! - `zonewright-open`: writes that were begun, as `DIGEST@ZONE`. While one is open in a zone, the row speaks there only for a
//!   record that is exactly what was announced. So a refused write leaves no right, and a crash strands no record.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use zonewright_core::RecordSet;
use zonewright_core::claim::{Claim, ClaimRank, OwnerId};
use zonewright_core::intent::digest;

/// The zones in which the right stands.
const ZONES: &str = "zonewright-zones";
/// The writes that were begun.
const OPEN: &str = "zonewright-open";
const OWNER: &str = "owner";
const RESOURCE: &str = "resource";

/// Labels in the order of their keys.
pub(crate) type Labels = Vec<(Arc<str>, Arc<str>)>;

/// A row that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) owner: OwnerId,
    pub(crate) resource: Option<Arc<str>>,
    /// What else the claim says; without the marks.
    pub(crate) labels: Labels,
    /// `None`: everywhere.
    zones: Option<BTreeSet<String>>,
    /// Digests of the records that are to come or to go, by zone.
    open: BTreeMap<String, BTreeSet<String>>,
}

impl Row {
    /// Reads the labels of a row.
    ///
    /// # Errors
    /// Which mark does not parse.
    pub(crate) fn read(owner: OwnerId, mut labels: BTreeMap<String, String>) -> Result<Self, String> {
        labels.remove(OWNER);
        let zones = labels.remove(ZONES).map(|text| words(&text).map(decoded).collect());
        let mut open: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for word in words(&labels.remove(OPEN).unwrap_or_default()) {
            let (digest, zone) = word
                .split_once('@')
                .ok_or_else(|| format!("the label {OPEN} holds {word:?}; expected DIGEST@ZONE, apart by blanks"))?;
            open.entry(decoded(zone)).or_default().insert(digest.to_owned());
        }
        let resource = labels.remove(RESOURCE).map(Arc::from);
        let labels = labels.into_iter().map(|(key, value)| (Arc::from(key), Arc::from(value))).collect();
        Ok(Self { owner, resource, labels, zones, open })
    }

    /// Whether it gives the record to the same owner, for the same resource.
    pub(crate) fn says_as(&self, other: &Self) -> bool {
        self.owner == other.owner && self.resource == other.resource
    }

    /// The labels as they stand in the table.
    pub(crate) fn written(&self) -> BTreeMap<String, String> {
        let further = self.labels.iter().filter(|(key, _)| ![OWNER, RESOURCE, ZONES, OPEN].contains(&&**key));
        let mut all: BTreeMap<String, String> =
            further.map(|(key, value)| (key.to_string(), value.to_string())).collect();
        all.extend(self.resource.iter().map(|resource| (RESOURCE.to_owned(), resource.to_string())));
        all.extend(self.zones.iter().map(|zones| (ZONES.to_owned(), joined(zones.iter().map(|zone| encoded(zone))))));
        if !self.open.is_empty() {
            let marks = self.open.iter().flat_map(|(zone, digests)| {
                let zone = encoded(zone);
                digests.iter().map(move |digest| format!("{digest}@{zone}"))
            });
            all.insert(OPEN.to_owned(), joined(marks));
        }
        all
    }

    /// A row to be: a write was begun in `zone`, and no right stands yet.
    pub(crate) fn begun(
        owner: OwnerId,
        resource: Option<&Arc<str>>,
        labels: &Labels,
        zone: &str,
        digests: BTreeSet<String>,
    ) -> Self {
        let open = BTreeMap::from([(zone.to_owned(), digests)]);
        Self { owner, resource: resource.cloned(), labels: labels.clone(), zones: Some(BTreeSet::new()), open }
    }

    /// The same with a write begun in `zone`; its former marks there go.
    pub(crate) fn opened(&self, zone: &str, digests: BTreeSet<String>) -> Self {
        let mut next = self.clone();
        next.open.insert(zone.to_owned(), digests);
        next
    }

    /// The write in `zone` was carried out, and the record stands: the right stands too, with these labels.
    pub(crate) fn settled(&self, zone: &str, resource: Option<&Arc<str>>, labels: &Labels) -> Self {
        let mut next = Self { resource: resource.cloned(), labels: labels.clone(), ..self.clone() };
        next.open.remove(zone);
        if let Some(zones) = &mut next.zones {
            zones.insert(zone.to_owned());
        }
        next
    }

    /// The write in `zone` was not carried out: what `before` said of the zone counts again. `None` if no right is left.
    pub(crate) fn undone(&self, zone: &str, before: Option<&Self>) -> Option<Self> {
        let mut next = self.clone();
        match before.and_then(|before| before.open.get(zone)) {
            Some(digests) => next.open.insert(zone.to_owned(), digests.clone()),
            None => next.open.remove(zone),
        };
        next.has_rights().then_some(next)
    }

    /// The record in `zone` is gone, or is ours no longer. `None` if no right is left. A row that speaks for all zones speaks from now
    /// on for those of `elsewhere` alone, in which the record stands too.
    pub(crate) fn without_zone(&self, zone: &str, elsewhere: &BTreeSet<String>) -> Option<Self> {
        let mut next = self.clone();
        next.open.remove(zone);
        next.zones.get_or_insert_with(|| elsewhere.clone()).remove(zone);
        next.has_rights().then_some(next)
    }

    /// The same right for another owner.
    pub(crate) fn given(&self, owner: &OwnerId) -> Self {
        Self { owner: owner.clone(), ..self.clone() }
    }

    fn has_rights(&self) -> bool {
        !self.open.is_empty() || self.zones.as_ref().is_none_or(|zones| !zones.is_empty())
    }

    /// Whether the right stands in `zone`, whatever stands there.
    pub(crate) fn is_confirmed(&self, zone: &str) -> bool {
        !self.open.contains_key(zone) && self.zones.as_ref().is_none_or(|zones| zones.contains(zone))
    }

    /// Whether it counts in every zone, as external-dns has it.
    pub(crate) fn is_everywhere(&self) -> bool {
        self.zones.is_none()
    }

    /// Whether it names `zone` as one in which it has a say.
    pub(crate) fn names(&self, zone: &str) -> bool {
        self.zones.as_ref().is_some_and(|zones| zones.contains(zone) || self.open.contains_key(zone))
    }

    /// Whether the row speaks in `zone`, which holds `standing`.
    pub(crate) fn speaks(&self, zone: &str, standing: Option<&RecordSet>) -> bool {
        match self.open.get(zone) {
            Some(digests) => standing.is_some_and(|set| digests.contains(&digest(set))),
            None => self.is_confirmed(zone),
        }
    }

    /// The other zones in which it has a say.
    pub(crate) fn other_zones(&self, zone: &str) -> Vec<&str> {
        let all = self.zones.iter().flatten().chain(self.open.keys());
        all.filter(|other| *other != zone).map(String::as_str).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The claim that it is. `current`: nothing is left to be done about it.
    pub(crate) fn claim(&self, current: bool) -> Claim {
        Claim {
            owner: self.owner.clone(),
            resource: self.resource.clone(),
            labels: self.labels.clone(),
            rank: ClaimRank::Typed,
            current,
            site: None,
        }
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(' ').filter(|word| !word.is_empty())
}

fn joined(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(" ")
}

/// A zone's id as one word.
fn encoded(zone: &str) -> String {
    zone.replace('%', "%25").replace(' ', "%20")
}

fn decoded(word: &str) -> String {
    word.replace("%20", " ").replace("%25", "%")
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonewright_core::{DnsName, RData, RecordType};

    fn me() -> OwnerId {
        OwnerId::new("me").unwrap()
    }

    fn set(data: &str) -> RecordSet {
        let name = DnsName::parse("a.example").unwrap();
        RecordSet::simple(name, RecordType::A, None, [RData::parse(RecordType::A, data).unwrap()])
    }

    fn digests(sets: &[&RecordSet]) -> BTreeSet<String> {
        sets.iter().map(|set| digest(set)).collect()
    }

    fn read(labels: &[(&str, &str)]) -> Row {
        Row::read(me(), labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()).unwrap()
    }

    #[test]
    fn a_row_of_external_dns_is_read_and_written_as_it_is() {
        let labels = [("resource", "service/default/web"), ("zz", "1"), ("aa", "")];
        let row = read(&labels);
        assert_eq!(row.resource.as_deref(), Some("service/default/web"));
        assert_eq!(row.written(), labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect());
        assert!(row.speaks("any", None) && row.is_confirmed("any"), "it speaks in every zone");
        assert_eq!(row.without_zone("any", &BTreeSet::new()), None);
        let elsewhere = BTreeSet::from(["other".to_owned()]);
        let rest = row.without_zone("any", &elsewhere).unwrap();
        assert!(rest.is_confirmed("other") && !rest.speaks("any", None), "it is narrowed to where the record stands");
    }

    #[test]
    fn a_write_that_was_begun_speaks_for_what_it_announced_in_its_zone() {
        let (one, two) = (set("192.0.2.1"), set("192.0.2.2"));
        let row = Row::begun(me(), None, &vec![], "z 1%", digests(&[&one]));
        let again = Row::read(me(), row.written()).unwrap();
        assert_eq!(again, row);
        for (zone, standing, expected) in
            [("z 1%", Some(&one), true), ("z 1%", Some(&two), false), ("z 1%", None, false), ("z2", Some(&one), false)]
        {
            assert_eq!(row.speaks(zone, standing), expected, "{zone} {standing:?}");
        }
        assert_eq!(row.undone("z 1%", None), None, "a refused write leaves nothing");
        let settled = row.settled("z 1%", Some(&"r".into()), &vec![]);
        assert!(
            settled.speaks("z 1%", Some(&two)) && settled.speaks("z 1%", None) && !settled.speaks("z2", Some(&one))
        );
        assert_eq!(settled.resource.as_deref(), Some("r"));
        assert_eq!(settled.without_zone("z 1%", &BTreeSet::new()), None, "with its last zone it goes");
    }

    #[test]
    fn zones_come_and_go_without_each_other() {
        let one = set("192.0.2.1");
        let first = Row::begun(me(), None, &vec![], "z1", digests(&[&one])).settled("z1", None, &vec![]);
        let both = first.opened("z2", digests(&[&one])).settled("z2", None, &vec![]);
        assert!(both.is_confirmed("z1") && both.is_confirmed("z2"));
        assert_eq!(both.other_zones("z1"), ["z2"]);
        assert_eq!(both.without_zone("z2", &BTreeSet::new()), Some(first.clone()));
        assert_eq!(first.opened("z2", digests(&[&one])).undone("z2", Some(&first)), Some(first.clone()));
        let going = first.opened("z1", digests(&[&one]));
        assert!(!going.speaks("z1", None), "the record of a delete that was begun is gone: no right is left");
        assert_eq!(going.undone("z1", Some(&first)), Some(first));
    }

    #[test]
    fn a_mark_that_does_not_parse_is_reported() {
        let row = Row::read(me(), BTreeMap::from([(OPEN.to_owned(), "abc".to_owned())]));
        assert!(row.unwrap_err().contains("expected DIGEST@ZONE"));
    }

    #[test]
    fn labels_cannot_displace_owner_and_marks() {
        let label = |key: &str| (Arc::from(key), Arc::from("x"));
        let labels = vec![label(OWNER), label(RESOURCE), label(ZONES), label(OPEN), label("free")];
        let row = Row::begun(me(), None, &labels, "z", BTreeSet::new()).settled("z", None, &labels);
        assert_eq!(
            row.written(),
            BTreeMap::from([("free".to_owned(), "x".to_owned()), (ZONES.to_owned(), "z".to_owned())])
        );
    }
}
