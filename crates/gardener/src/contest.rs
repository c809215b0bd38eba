//! Several DNSRecords for one name of one zone: which of them has it. Pure.
//!
//! In: every DNSRecord that is known, by the name that it asks for. Out: those that stand before an object, if there are any.
//! What must hold: of two objects exactly one has the name, whichever is looked at first and however often: the older one, then
//! the one with the lesser UID; in a zone that one of them leaves the other one has it. An object that was migrated, or has found no
//! zone yet, stands before nobody, nor does one whose zone of the same id is in another project or subscription. CNAMEs contend with
//! addresses too: at one name only one of them can be. A record stays in a zone for an object alone whose mark names that zone, and that
//! is not being deleted: no other one is sure to take it away one day.

use std::collections::{BTreeSet, HashMap};

use zonewright_core::{DnsName, RecordType};

use crate::convert;
use crate::secret::subscription_of;
use crate::sent::SentChanges;
use crate::types::{DnsRecord, RecordName};

/// What of an object decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimant {
    /// The name that is asked for.
    pub name: DnsName,
    /// The type of its records.
    pub rtype: RecordType,
    /// The type of provider.
    pub provider: String,
    /// The zone, as specs and statuses write it; `None` before it is found.
    pub zone: Option<String>,
    /// The project or subscription of that zone; `None` where there is none, or before it is known.
    pub home: Option<String>,
    /// Creation time, then UID: who is less has the name.
    pub age: (String, String),
    /// Whether it was left to another seed.
    pub migrated: bool,
}

impl Claimant {
    /// What an object asks for; `None` if that cannot be determined.
    pub fn of(record: &DnsRecord) -> Option<Self> {
        let (name, rtype) = convert::key(record).ok()?;
        Some(Self {
            name,
            rtype,
            provider: record.spec.provider.clone(),
            zone: record.stated_zone().or(record.known_zone()).map(str::to_owned),
            home: None,
            age: (record.metadata.creation_timestamp.clone().unwrap_or_default(), record.metadata.uid.clone()),
            migrated: record.is_migrated(),
        })
    }

    /// Whether it asks for its name in a zone that is there; where the zone is need not be known.
    fn is_in(&self, zone: &str, home: Option<&str>) -> bool {
        self.zone.as_deref().is_some_and(|own| same_zone(own, zone))
            && home.zip(self.home.as_deref()).is_none_or(|(home, own)| home == own)
    }

    /// Whether both may ask for one record, if it is in one zone.
    fn contends_with(&self, other: &Self) -> bool {
        self.name == other.name
            && self.provider == other.provider
            && contend(self.rtype, other.rtype)
            && !other.migrated
    }
}

/// Whether records of these types cannot both be what two objects ask for.
fn contend(one: RecordType, other: RecordType) -> bool {
    let family = |rtype: RecordType| rtype.is_address() || rtype == RecordType::Cname;
    one == other || family(one) && family(other) && (one == RecordType::Cname || other == RecordType::Cname)
}

/// Whether two texts name the same zone: with or without the path, project or subscription before the id, and the dot after a name.
fn same_zone(one: &str, other: &str) -> bool {
    let bare = |text: &str| {
        let text = text.trim().trim_end_matches('.').to_ascii_lowercase();
        match text.trim_start_matches('/').split('/').collect::<Vec<&str>>().as_slice() {
            ["subscriptions", _, _, group, _, _, _, zone] => format!("{group}/{zone}"),
            _ => text.strip_prefix("/hostedzone/").unwrap_or(&text).to_owned(),
        }
    };
    let (one, other) = (bare(one), bare(other));
    let last = |text: &str| text.rsplit('/').next().map(str::to_owned);
    one == other || one.contains('/') != other.contains('/') && last(&one) == last(&other)
}

/// Whether a zone of a mark is this one, as another mark or a spec writes it.
fn is_marked(marked: &str, zone: &str) -> bool {
    let subscriptions = subscription_of(marked).zip(subscription_of(zone));
    same_zone(marked, zone) && subscriptions.is_none_or(|(one, other)| one.eq_ignore_ascii_case(other))
}

/// All objects by the names that they ask for.
#[derive(Debug, Clone, Default)]
pub struct Contest {
    claimants: HashMap<RecordName, Claimant>,
    by_name: HashMap<DnsName, BTreeSet<RecordName>>,
}

impl Contest {
    /// Takes note of an object as it is now; `None` is one that asks for nothing any more.
    pub fn note(&mut self, object: &RecordName, claimant: Option<Claimant>) {
        let known = self.claimants.get(object).map(|known| &known.name);
        if let Some(name) = known.filter(|known| claimant.as_ref().is_none_or(|new| new.name != **known)).cloned()
            && let Some(objects) = self.by_name.get_mut(&name)
        {
            objects.remove(object);
            if objects.is_empty() {
                self.by_name.remove(&name);
            }
        }
        match claimant {
            None => drop(self.claimants.remove(object)),
            Some(mut claimant) => {
                // What the API server reports may be older than what was found.
                let before = self
                    .claimants
                    .get(object)
                    .filter(|known| (&known.name, &known.age) == (&claimant.name, &claimant.age));
                claimant.zone = claimant.zone.or_else(|| before.and_then(|known| known.zone.clone()));
                let same = before.filter(|known| known.zone == claimant.zone);
                claimant.home = claimant.home.or_else(|| same.and_then(|known| known.home.clone()));
                self.by_name.entry(claimant.name.clone()).or_default().insert(object.clone());
                self.claimants.insert(object.clone(), claimant);
            }
        }
    }

    /// The zone that was found for an object, before the API server reports it.
    pub fn found(&mut self, object: &RecordName, zone: &str, home: Option<String>) {
        if let Some(claimant) = self.claimants.get_mut(object) {
            claimant.zone = Some(zone.to_owned());
            claimant.home = home;
        }
    }

    /// Where the zone of an object is, as its Secret says.
    pub fn lives(&mut self, object: &RecordName, home: String) {
        if let Some(claimant) = self.claimants.get_mut(object) {
            claimant.home = Some(home);
        }
    }

    /// Whether it is known where the zone of an object is.
    pub fn has_home(&self, object: &RecordName) -> bool {
        self.claimants.get(object).is_some_and(|claimant| claimant.home.is_some())
    }

    /// The objects that contend with `object` for its name in a zone that is there.
    fn rivals<'c>(
        &'c self,
        object: &'c RecordName,
        (zone, home): (&'c str, Option<&'c str>),
    ) -> impl Iterator<Item = (&'c RecordName, &'c Claimant)> {
        let me = self.claimants.get(object);
        let objects = me.and_then(|me| self.by_name.get(&me.name)).into_iter().flatten();
        let others = objects.filter(move |other| *other != object);
        others
            .filter_map(|other| Some((other, self.claimants.get(other)?)))
            .filter(move |(_, other)| me.is_some_and(|me| me.contends_with(other)) && other.is_in(zone, home))
    }

    /// The objects that stand before `object` for its name in this zone, the oldest first; where it asks for the name in another zone by
    /// now, everybody who asks for it in this one.
    pub fn before(&self, object: &RecordName, zone: &str, home: Option<&str>) -> Vec<RecordName> {
        let Some(me) = self.claimants.get(object) else { return Vec::new() };
        let leaves = !me.is_in(zone, home);
        let rivals = self.rivals(object, (zone, home));
        let mut before: Vec<_> = rivals.filter(|(_, other)| leaves || other.age < me.age).collect();
        before.sort_by(|(_, one), (_, other)| one.age.cmp(&other.age));
        before.into_iter().map(|(name, _)| name.clone()).collect()
    }

    /// The object that has the name which `object` asks for in this zone, if that is another one.
    pub fn winner(&self, object: &RecordName, zone: &str, home: Option<&str>) -> Option<RecordName> {
        self.before(object, zone, home).into_iter().next()
    }

    /// Whether another object, as the API server has it now, asks for the name of `object` in this zone and may have published there.
    /// Its mark says so before anything is sent; an object that only asks for the name may go without its provider being asked, and one
    /// that is being deleted may have left the record to this one by now.
    pub fn has_published(&self, object: &RecordName, other: &DnsRecord, zone: &str) -> bool {
        let (Some(me), Some(asked)) = (self.claimants.get(object), Claimant::of(other)) else { return false };
        let marks = SentChanges::of_any(other);
        let is_there = asked.is_in(zone, None) && !other.is_deleting();
        me.contends_with(&asked) && is_there && marks.zones().iter().any(|one| is_marked(one, zone))
    }

    /// The objects that have to look again once `object` has found its zone, or is gone.
    pub fn losers(&self, object: &RecordName, zone: &str) -> Vec<RecordName> {
        let home = self.claimants.get(object).and_then(|me| me.home.as_deref());
        self.rivals(object, (zone, home)).map(|(name, _)| name.clone()).collect()
    }

    /// Whether `resource`, as claims write it, is an object other than `object` that asks for the same name.
    pub fn is_rival(&self, object: &RecordName, resource: &str) -> bool {
        let me = self.claimants.get(object);
        let objects = me.and_then(|me| self.by_name.get(&me.name)).into_iter().flatten();
        let mut others = objects.filter(|other| *other != object);
        others.any(|other| {
            self.claimants.get(other).is_some_and(|claimant| !claimant.migrated)
                && *convert::resource(&other.namespace, &other.name) == *resource
        })
    }

    /// Objects that are known.
    pub fn len(&self) -> usize {
        self.claimants.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.claimants.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str) -> RecordName {
        RecordName { namespace: "ns".to_owned(), name: name.to_owned() }
    }

    /// `dns-name TYPE zone age`, the zone maybe `-`.
    fn claimant(line: &str) -> Claimant {
        let words: Vec<&str> = line.split(' ').collect();
        Claimant {
            name: DnsName::parse(words[0]).unwrap(),
            rtype: words[1].parse().unwrap(),
            provider: "aws-route53".to_owned(),
            zone: Some(words[2]).filter(|zone| *zone != "-").map(str::to_owned),
            home: None,
            age: (words[3].to_owned(), words[3].to_owned()),
            migrated: false,
        }
    }

    fn contest(lines: &[(&str, &str)]) -> Contest {
        let mut contest = Contest::default();
        for (name, line) in lines {
            contest.note(&object(name), Some(claimant(line)));
        }
        contest
    }

    fn winner(contest: &Contest, name: &str) -> Option<String> {
        contest.winner(&object(name), "Z", None).map(|winner| winner.name.clone())
    }

    #[test]
    fn the_oldest_has_the_name() {
        let mut three = contest(&[("b", "x.y A Z 2"), ("a", "x.y A Z 3"), ("c", "x.y A Z 1")]);
        assert_eq!(["a", "b", "c"].map(|name| winner(&three, name)), [Some("c".into()), Some("c".into()), None]);
        assert_eq!(three.before(&object("a"), "Z", None), [object("c"), object("b")]);
        three.note(&object("c"), None);
        assert_eq!(["a", "b"].map(|name| winner(&three, name)), [Some("b".into()), None]);
    }

    #[test]
    fn who_does_not_contend() {
        let check = |other: &str, expected: bool| {
            let contest = contest(&[("old", other), ("new", "x.y A Z 2")]);
            assert_eq!(winner(&contest, "new").is_some(), expected, "{other}");
        };
        check("x.y A Z 1", true);
        check("x.y CNAME Z 1", true);
        check("x.y AAAA Z 1", false);
        check("x.y TXT Z 1", false);
        check("z.y A Z 1", false);
        check("x.y A other 1", false);
        check("x.y A - 1", false);
        check("x.y A Z 3", false);
        let mut migrated = contest(&[("old", "x.y A Z 1"), ("new", "x.y A Z 2")]);
        migrated.note(&object("old"), Some(Claimant { migrated: true, ..claimant("x.y A Z 1") }));
        assert_eq!(winner(&migrated, "new"), None);
    }

    #[test]
    fn who_finds_its_zone_later_and_is_older_has_the_name_then() {
        let mut two = contest(&[("old", "x.y A - 1"), ("new", "x.y A Z 2")]);
        assert_eq!(winner(&two, "new"), None);
        two.found(&object("old"), "Z", None);
        assert_eq!(winner(&two, "new").as_deref(), Some("old"));
        assert_eq!(two.losers(&object("old"), "Z"), [object("new")]);
        // The watch reports it as it was before its zone was written down.
        two.note(&object("old"), Some(claimant("x.y A - 1")));
        assert_eq!(winner(&two, "new").as_deref(), Some("old"));
    }

    #[test]
    fn who_leaves_a_zone_has_no_name_there() {
        let winner_in = |contest: &Contest, name: &str, zone: &str, home: Option<&str>| {
            contest.winner(&object(name), zone, home).map(|winner| winner.name)
        };
        let mut two = contest(&[("old", "x.y A Y 1"), ("new", "x.y A Z 2")]);
        assert_eq!(winner_in(&two, "old", "Z", None).as_deref(), Some("new"));
        assert_eq!(["old", "new"].map(|name| winner_in(&two, name, "Y", None)), [None, Some("old".to_owned())]);
        two.note(&object("new"), Some(claimant("x.y A Y 2")));
        assert_eq!(winner_in(&two, "old", "Z", None), None, "nobody asks for it there");
        // Nor has one that has found none yet, or whose zone of the same id is elsewhere.
        let two = contest(&[("old", "x.y A - 1"), ("new", "x.y A Z 2")]);
        assert_eq!(winner_in(&two, "old", "Z", None).as_deref(), Some("new"));
        let mut two = contest(&[("old", "x.y A g/z 1"), ("new", "x.y A g/z 2")]);
        two.lives(&object("old"), "two".to_owned());
        two.lives(&object("new"), "one".to_owned());
        assert_eq!(winner_in(&two, "old", "g/z", Some("one")).as_deref(), Some("new"));
        assert_eq!(winner_in(&two, "old", "g/z", Some("two")), None);
    }

    #[test]
    fn who_has_published_says_so_in_its_mark() {
        let mut contest = Contest::default();
        let me = crate::testing::record("x.example.com A 192.0.2.1");
        contest.note(&object("old"), Claimant::of(&me));
        let check = |line: &str, (spec, status): (&str, &str), mark: Option<&[&str]>, zone: &str, expected: bool| {
            let mut other = crate::testing::record(line);
            (other.spec.zone, other.status.zone) = (Some(spec.to_owned()), Some(status.to_owned()));
            let mark = mark.map(|zones| SentChanges::to(zones.iter().map(|zone| (*zone).to_owned())).to_value());
            other.status.provider_status = mark;
            assert_eq!(contest.has_published(&object("old"), &other, zone), expected, "{line} {spec} {status} {zone}");
        };
        let line = "x.example.com A 192.0.2.2";
        check(line, ("", "Z"), Some(&["Z"]), "Z", true);
        check(line, ("Z", ""), Some(&["Y", "/hostedzone/Z"]), "Z", true);
        // Of an object of another controller its status says so.
        check(line, ("", "Z"), None, "Z", true);
        // It only asks for the name there.
        check(line, ("Z", ""), None, "Z", false);
        check(line, ("Z", ""), Some(&[]), "Z", false);
        check(line, ("Z", "Y"), Some(&["Y"]), "Z", false);
        // It leaves the zone, too.
        check(line, ("Y", "Z"), Some(&["Z"]), "Z", false);
        check("y.example.com A 192.0.2.2", ("", "Z"), Some(&["Z"]), "Z", false);
        check("x.example.com TXT t", ("", "Z"), Some(&["Z"]), "Z", false);
        let id = |subscription: &str| format!("/subscriptions/{subscription}/resourcegroups/g/providers/x/dnszones/z");
        check(line, ("", "g/z"), Some(&[&id("one")]), &id("ONE"), true);
        check(line, ("", "g/z"), Some(&[&id("one")]), "g/z", true);
        check(line, ("", "g/z"), Some(&[&id("one")]), &id("two"), false);
        let mut going = crate::testing::record(line);
        going.status.zone = Some("Z".to_owned());
        going.metadata.deletion_timestamp = Some("2026-01-31T13:00:00Z".to_owned());
        assert!(!contest.has_published(&object("old"), &going, "Z"), "it goes, too");
    }

    #[test]
    fn zones_in_other_words() {
        for (one, other, expected) in [
            ("Z1", "/hostedzone/Z1", true),
            ("example.com.", "Example.com", true),
            ("project/zone", "zone", true),
            ("project/zone", "other/zone", false),
            ("Z1", "Z2", false),
        ] {
            assert_eq!(same_zone(one, other), expected, "{one} {other}");
        }
    }

    #[test]
    fn zones_of_one_id_in_two_homes_are_no_rivals() {
        let mut two = contest(&[("old", "x.y A g/z 1"), ("new", "x.y A g/z 2")]);
        let has_winner = |two: &Contest, home| two.winner(&object("new"), "g/z", home).is_some();
        assert!(has_winner(&two, Some("one")), "nobody knows where the older one's is");
        two.lives(&object("old"), "two".to_owned());
        assert!(!has_winner(&two, Some("one")) && has_winner(&two, Some("two")));
        two.note(&object("old"), Some(claimant("x.y A g/z 1")));
        assert!(two.has_home(&object("old")) && !has_winner(&two, Some("one")));
        two.note(&object("old"), Some(claimant("x.y A h/z 1")));
        assert!(!two.has_home(&object("old")), "its zone is another one");
    }

    #[test]
    fn a_zone_of_azure_is_the_same_by_its_whole_id() {
        let whole = "/subscriptions/S/resourceGroups/G/providers/Microsoft.Network/dnsZones/X.y";
        assert!(same_zone(whole, "g/x.y") && same_zone("G/x.y", whole) && same_zone(whole, "x.y"));
        assert!(!same_zone(whole, "h/x.y") && !same_zone(whole, "g/z.y"));
    }

    #[test]
    fn claims_name_rivals() {
        let two = contest(&[("a", "x.y A Z 1"), ("b", "x.y A Z 2")]);
        assert!(two.is_rival(&object("b"), "dnsrecord/ns/a"));
        assert!(!two.is_rival(&object("b"), "dnsrecord/ns/b") && !two.is_rival(&object("b"), "dnsrecord/ns/gone"));
    }

    #[test]
    fn objects_come_and_go() {
        let mut contest = contest(&[("a", "x.y A Z 1")]);
        contest.note(&object("a"), Some(claimant("z.y A Z 1")));
        assert_eq!(contest.by_name.len(), 1, "it asks for another name");
        contest.note(&object("a"), None);
        assert!(contest.is_empty() && contest.by_name.is_empty());
    }
}
