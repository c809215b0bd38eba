use std::collections::BTreeMap;

use proptest::prelude::*;
use zonewright_core::clock::Timestamp;
use zonewright_core::intent::Intent;
use zonewright_core::record::{RecordData, RecordKey, RecordSet};
use zonewright_core::testing::{name, object, set};

use super::*;

/// `FROM -> TO` at a name, each `-` or `TYPE data`; beside it a claim that says the same.
fn steps(at: &str, line: &str) -> [EntryStep; 2] {
    let (from, to) = line.split_once(" -> ").unwrap();
    let side = |text: &str| (text != "-").then(|| set(&format!("{at} {text}")));
    let (from, to) = (side(from), side(to));
    let claim = |record: &Option<RecordSet>| record.as_ref().map(claim_of);
    let (had, has) = (terms(from.as_ref()), terms(to.as_ref()));
    [
        EntryStep {
            claim: true,
            from: claim(&from),
            to: claim(&to),
            had: ClaimTerms::default(),
            has: ClaimTerms::default(),
        },
        EntryStep { claim: false, from, to, had, has },
    ]
}

fn terms(record: Option<&RecordSet>) -> ClaimTerms {
    let owner = record.and_then(|_| zonewright_core::claim::OwnerId::new("me"));
    ClaimTerms { resource: owner.is_some().then(|| "service/ns/a".into()), owner, labels: Vec::new() }
}

/// The claim of a record: where it stands, and for it to change with each update, what the record says.
fn claim_of(record: &RecordSet) -> RecordSet {
    let rtype = record.key.rtype.to_string().to_lowercase();
    let says = record.data.to_string().replace(' ', "_");
    set(&format!("{rtype}-{} TXT \"for_{says}\"", record.key.name))
}

pub(crate) fn entry(id: u64, at: &str, lines: &[&str]) -> Entry {
    Entry {
        id,
        writer: None,
        at: Timestamp(i64::try_from(id).unwrap()),
        zone: "i/example".to_owned(),
        apex: name("example"),
        name: name(at),
        plan: format!("p{id}"),
        cause: Cause::Round,
        handed: Vec::new(),
        steps: lines.iter().flat_map(|line| steps(at, line)).collect(),
        objects: vec![object("Service", "a")],
    }
}

pub(crate) fn closing(id: u64, verdict: EntryResult) -> Closing {
    Closing::new(EntryKey { id, writer: None }, Timestamp(i64::try_from(id).unwrap()), verdict)
}

#[test]
fn lines_come_back_as_they_were_written() {
    let mut whole = entry(7, "x.example", &["A 192.0.2.1 -> A 192.0.2.2 192.0.2.3", "- -> AAAA 2001:db8::1"]);
    whole.cause = Cause::Undo;
    if let Some(to) = &mut whole.steps[1].to {
        to.key.set_id = zonewright_core::record::SetId::new("blue");
        to.routing = zonewright_core::record::Routing::Weighted { weight: 3 };
        to.options.set("k", zonewright_core::options::OptionValue::Bool(true));
        to.ttl = zonewright_core::record::Ttl::from_secs(60);
    }
    let failed = Closing { found: true, error: Some("no \"answer\"\n".to_owned()), ..closing(7, EntryResult::Unknown) };
    for line in [Line::Change(whole), Line::Change(entry(8, "x.example", &["A 192.0.2.1 -> -"])), Line::Outcome(failed)]
    {
        let text = line.text();
        assert!(!text.contains('\n'));
        assert_eq!(Line::parse(text.as_bytes()), Some(line.clone()), "{text}");
        for end in 0..text.len() {
            assert_eq!(Line::parse(&text.as_bytes()[..end]), None, "torn");
        }
        assert_eq!(Line::parse(text.replacen("\"v\":1", "\"v\":9", 1).as_bytes()), None, "of a later version");
    }
}

/// Folds entries, given oldest first, and shows what an undo does to a zone that holds `stands`.
fn undo(entries: &[(&str, &[&str], EntryResult)], stands: &[&str]) -> Vec<String> {
    let mut fold = Fold::default();
    for (id, (at, lines, verdict)) in entries.iter().enumerate().rev() {
        fold.take(&entry(u64::try_from(id).unwrap(), at, lines), Some(*verdict));
    }
    let stands: Vec<RecordSet> = stands.iter().map(|line| set(line)).flat_map(|set| [claim_of(&set), set]).collect();
    let find = |key: &RecordKey| stands.iter().find(|set| set.key == *key).cloned();
    let shown = |group: zonewright_core::change::Group| {
        let changes = group.records().map(|step| step.change.to_string()).collect::<Vec<_>>().join(", ");
        format!("{changes} with {} claims, {} kept", group.steps.len() - group.records().count(), group.requires.len())
    };
    fold.finish()
        .iter()
        .map(|folded| {
            folded.inverse(find).map_or_else(|refusal| format!("{}: {refusal}", folded.name().unwrap()), shown)
        })
        .collect()
}

#[test]
fn what_was_done_is_undone_and_nothing_else() {
    use EntryResult::{Applied, NotApplied, Refused, SomethingElse, Unknown};
    let check = |entries: &[(&str, &[&str], EntryResult)], stands: &[&str], expected: &[&str]| {
        assert_eq!(undo(entries, stands), expected, "{entries:?} on {stands:?}");
    };
    let (x, one, two, three) = ("x.example", "A 192.0.2.1", "A 192.0.2.2", "A 192.0.2.3");
    let at = |data: &str| format!("{x} {data}");
    let (x1, x2, x3) = (at(one), at(two), at(three));
    let came: &[&str] = &["- -> A 192.0.2.1"];
    let moved: &[&str] = &["A 192.0.2.1 -> A 192.0.2.2"];
    let again: &[&str] = &["A 192.0.2.2 -> A 192.0.2.3"];
    let back: &[&str] = &["A 192.0.2.2 -> A 192.0.2.1"];
    let went: &[&str] = &["A 192.0.2.1 -> -"];
    check(&[(x, came, Applied)], &[&x1], &["- x.example A 192.0.2.1 with 1 claims, 0 kept"]);
    check(&[(x, went, Applied)], &[], &["+ x.example A 192.0.2.1 with 1 claims, 0 kept"]);
    check(&[(x, moved, Applied)], &[&x2], &["~ x.example A 192.0.2.1 (was 192.0.2.2) with 1 claims, 0 kept"]);
    check(
        &[(x, moved, Applied), (x, again, Applied)],
        &[&x3],
        &["~ x.example A 192.0.2.1 (was 192.0.2.3) with 1 claims, 0 kept"],
    );
    check(&[(x, came, Applied), (x, moved, Applied)], &[&x2], &["- x.example A 192.0.2.2 with 1 claims, 0 kept"]);
    check(&[(x, moved, Applied), (x, back, Applied)], &[&x1], &[]);
    check(&[(x, came, Applied), (x, went, Applied)], &[], &[]);
    // What was not carried out is not undone.
    for verdict in [Refused, NotApplied, SomethingElse, EntryResult::NotSent] {
        check(&[(x, moved, verdict)], &[&x1], &[]);
    }
    check(
        &[(x, moved, Applied), (x, again, Refused)],
        &[&x2],
        &["~ x.example A 192.0.2.1 (was 192.0.2.2) with 1 claims, 0 kept"],
    );
    check(
        &[(x, moved, Unknown)],
        &[&x2],
        &["x.example: it is not known yet what became of the last change; try again in a minute"],
    );
    // Another writer changed it since.
    let changed = "x.example: changed since by another writer:";
    check(&[(x, moved, Applied)], &[&x3], &[&format!("{changed} x.example A 192.0.2.3 stands there")]);
    check(&[(x, moved, Applied)], &[], &[&format!("{changed} x.example A is gone")]);
    check(&[(x, went, Applied)], &[&x2], &[&format!("{changed} x.example A 192.0.2.2 stands there")]);
    check(&[(x, moved, Applied)], &[&x1], &["x.example: it is as it was before already"]);
    // Another writer changed it in between: what it was then comes back.
    check(
        &[(x, came, Applied), (x, again, Applied)],
        &[&x3],
        &["~ x.example A 192.0.2.2 (was 192.0.2.3) with 1 claims, 0 kept"],
    );
    // A change of type goes back as one group, and other names are groups of their own.
    check(
        &[(x, &["A 192.0.2.1 -> -", "- -> CNAME lb.test"], Applied), ("y.example", came, Applied)],
        &["x.example CNAME lb.test", "y.example A 192.0.2.1"],
        &[
            "- x.example CNAME lb.test., + x.example A 192.0.2.1 with 2 claims, 0 kept",
            "- y.example A 192.0.2.1 with 1 claims, 0 kept",
        ],
    );
    // Joined by a later change: a record that came back unchanged is still required to stand.
    check(
        &[(x, moved, Applied), (x, &["A 192.0.2.2 -> A 192.0.2.1", "- -> AAAA 2001:db8::1"], Applied)],
        &[&x1, "x.example AAAA 2001:db8::1"],
        &["- x.example AAAA 2001:db8::1 with 1 claims, 2 kept"],
    );
}

#[test]
fn the_claim_of_a_record_goes_back_with_it() {
    let mut step = entry(1, "x.example", &["A 192.0.2.1 -> A 192.0.2.2"]);
    step.steps.remove(0);
    step.steps[0].had.resource = Some("service/ns/former".into());
    let mut fold = Fold::default();
    fold.take(&step, Some(EntryResult::Applied));
    let group = fold.finish()[0].inverse(|_| Some(set("x.example A ttl=5 192.0.2.2"))).unwrap();
    let [only] = group.steps.as_slice() else { panic!("{group:?}") };
    assert_eq!(
        only.change.from().and_then(|set| set.ttl).map(zonewright_core::record::Ttl::secs),
        Some(5),
        "as it stands"
    );
    assert_eq!(only.resource.as_deref(), Some("service/ns/former"));
    assert_eq!(only.held.as_ref().and_then(|claim| claim.resource.as_deref()), Some("service/ns/a"));
    assert_eq!(only.owner.as_ref().map(zonewright_core::claim::OwnerId::as_str), Some("me"));
}

/// What an undo makes of one change of a claim, where `stands` is there; `FROM -> TO` are texts, or `-`.
fn undone_claim(change: &str, record: Option<&str>, stands: &[&str]) -> Vec<String> {
    let claim = |text: &str| (text != "-").then(|| set(&format!("a-x.example TXT \"{text}\"")));
    let (from, to) = change.split_once(" -> ").unwrap();
    let mut only = entry(1, "x.example", record.as_slice());
    only.steps.retain(|step| !step.claim);
    let (had, has) = (ClaimTerms::default(), ClaimTerms::default());
    only.steps.push(EntryStep { claim: true, from: claim(from), to: claim(to), had, has });
    let mut fold = Fold::default();
    fold.take(&only, Some(EntryResult::Applied));
    let stands: Vec<RecordSet> = stands.iter().map(|line| set(line)).chain(claim(to)).collect();
    let find = |key: &RecordKey| stands.iter().find(|set| set.key == *key).cloned();
    match fold.finish()[0].inverse(find) {
        Ok(group) => group.changes().map(ToString::to_string).collect(),
        Err(refusal) => vec![refusal.to_string()],
    }
}

#[test]
fn an_undo_brings_back_no_write_half_done() {
    let (stood, other) = ("x.example A 192.0.2.1", "x.example A 192.0.2.2");
    let intent = Intent::new([&set(stood)], "claim").to_string();
    let back = || vec!["it is as it was before already".to_owned()];
    let raised = format!("{intent} -> claim");
    // The intent spoke for what stands: so does the claim that it has become.
    assert_eq!(undone_claim(&raised, None, &[stood]), back());
    // It spoke for nothing: there was no right, and none stays.
    assert_eq!(undone_claim(&raised, None, &[other]), ["- a-x.example TXT \"claim\""]);
    assert_eq!(undone_claim(&raised, None, &[]), ["- a-x.example TXT \"claim\""]);
    assert_eq!(undone_claim(&format!("{intent} -> -"), None, &[]), back());
    // With its record it comes back as the claim that it was to be.
    let gone = undone_claim(&format!("{intent} -> -"), Some("A 192.0.2.1 -> -"), &[]);
    assert_eq!(gone, ["+ x.example A 192.0.2.1", "+ a-x.example TXT \"claim\""]);
    // And so it does once its record has been changed under the claim.
    let changed = undone_claim(&raised, Some("A 192.0.2.1 -> A 192.0.2.2"), &[other]);
    assert_eq!(changed, ["~ x.example A 192.0.2.1 (was 192.0.2.2)"]);
}

/// One thing that happens to a zone of four names.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// We bring a name to hold this: nothing, an address, or a CNAME.
    Ours(u8, u8, EntryResult),
    /// Another writer writes the record of a name, or takes it away.
    Foreign(u8, u8),
    /// Another writer writes the claim of a name, or takes it away.
    ForeignClaim(u8, u8),
}

fn event() -> impl Strategy<Value = Event> {
    let verdict = prop_oneof![8 => Just(EntryResult::Applied), 1 => Just(EntryResult::Refused), 1 => Just(EntryResult::NotApplied)];
    prop_oneof![
        6 => (0..4_u8, 0..5_u8, verdict).prop_map(|(n, to, verdict)| Event::Ours(n, to, verdict)),
        1 => (0..4_u8, 0..4_u8).prop_map(|(n, to)| Event::Foreign(n, to)),
        1 => (0..4_u8, 0..2_u8).prop_map(|(n, to)| Event::ForeignClaim(n, to)),
    ]
}

type Zone = BTreeMap<RecordKey, RecordSet>;

fn wanted(n: u8, to: u8) -> Option<RecordSet> {
    match to {
        0 => None,
        4 => Some(set(&format!("n{n}.example CNAME t.test"))),
        to => Some(set(&format!("n{n}.example A 192.0.2.{to}"))),
    }
}

/// The steps from what stands at a name to what shall stand: the old goes, the new comes, each with its claim.
fn ours(zone: &Zone, n: u8, to: u8) -> Vec<EntryStep> {
    let wanted = wanted(n, to);
    let at = name(&format!("n{n}.example"));
    let mut steps = Vec::new();
    let mut step = |claim: bool, from: Option<&RecordSet>, to: Option<RecordSet>| {
        if from != to.as_ref() {
            steps.push(EntryStep { claim, from: from.cloned(), to, had: terms(from), has: ClaimTerms::default() });
        }
    };
    for standing in zone.values().filter(|set| set.key.name == at) {
        let stays = wanted.as_ref().filter(|wanted| wanted.key == standing.key);
        step(false, Some(standing), stays.cloned());
        let claim = claim_of(standing);
        step(true, zone.get(&claim.key), stays.map(claim_of));
    }
    if let Some(wanted) = wanted.filter(|wanted| !zone.contains_key(&wanted.key)) {
        let claim = claim_of(&wanted);
        step(true, zone.get(&claim.key), Some(claim));
        step(false, None, Some(wanted));
    }
    steps
}

fn put(zone: &mut Zone, key: &RecordKey, to: Option<RecordSet>) {
    match to {
        Some(set) => zone.insert(key.clone(), set),
        None => zone.remove(key),
    };
}

/// The zone with the moment's entries of ours, and the keys that others changed.
#[derive(Debug, Default)]
struct History {
    zone: Zone,
    entries: Vec<(Entry, EntryResult)>,
    foreign: Vec<RecordKey>,
    /// What each key held since another writer last changed it.
    since: BTreeMap<RecordKey, Vec<Option<RecordSet>>>,
    /// The same as it was before they did; it counts again if they put back what they found.
    former: BTreeMap<RecordKey, Vec<Option<RecordSet>>>,
}

impl History {
    fn happen(&mut self, event: Event) {
        match event {
            Event::Ours(n, to, verdict) => {
                let steps = ours(&self.zone, n, to);
                if steps.is_empty() {
                    return;
                }
                if verdict == EntryResult::Applied {
                    for step in &steps {
                        put(&mut self.zone, step.key().unwrap(), step.to.clone());
                        let key = step.key().unwrap();
                        self.former.remove(key);
                        self.since.entry(key.clone()).or_insert_with(|| vec![step.from.clone()]).push(step.to.clone());
                    }
                }
                let id = u64::try_from(self.entries.len()).unwrap();
                let entry = Entry { steps, ..entry(id, &format!("n{n}.example"), &[]) };
                self.entries.push((entry, verdict));
            }
            Event::Foreign(n, to) => {
                let to = (to > 0).then(|| set(&format!("n{n}.example A 203.0.113.{to}")));
                self.others(&set(&format!("n{n}.example A 192.0.2.1")).key, to);
            }
            Event::ForeignClaim(n, to) => {
                let text = set(&format!("a-n{n}.example TXT \"theirs\""));
                self.others(&text.key.clone(), (to > 0).then_some(text));
            }
        }
    }

    fn others(&mut self, key: &RecordKey, to: Option<RecordSet>) {
        if self.zone.get(key) != to.as_ref() {
            let known = self.since.remove(key).unwrap_or_else(|| vec![self.zone.get(key).cloned()]);
            let former = self.former.entry(key.clone()).or_insert(known).clone();
            let since = if former.last() == Some(&to) { former } else { vec![to.clone()] };
            self.since.insert(key.clone(), since);
            put(&mut self.zone, key, to);
            self.foreign.push(key.clone());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn everything_since_a_moment_goes_back_and_foreign_changes_stay(
        before in prop::collection::vec(event(), 0..12),
        after in prop::collection::vec(event(), 0..25),
    ) {
        let mut history = History::default();
        for event in before {
            history.happen(event);
        }
        let then = history.zone.clone();
        history.entries.clear();
        history.foreign.clear();
        history.since.clear();
        history.former.clear();
        for event in after {
            history.happen(event);
        }
        let now = history.zone.clone();

        let mut fold = Fold::default();
        history.entries.iter().rev().for_each(|(entry, verdict)| fold.take(entry, Some(*verdict)));
        let mut zone = now.clone();
        for folded in fold.finish() {
            let Ok(group) = folded.inverse(|key| zone.get(key).cloned()) else { continue };
            for change in group.changes() {
                prop_assert_eq!(change.from(), zone.get(change.key()), "the old side is what stands");
                put(&mut zone, change.key(), change.to().cloned());
            }
        }
        let name_of = |key: &RecordKey| key.name.as_str().trim_start_matches("a-").trim_start_matches("cname-").to_owned();
        let disturbed: std::collections::BTreeSet<String> = history.foreign.iter().map(name_of).collect();
        let touched: std::collections::BTreeSet<&RecordKey> = history
            .entries
            .iter()
            .filter(|(_, verdict)| *verdict == EntryResult::Applied)
            .flat_map(|(entry, _)| entry.steps.iter().filter_map(EntryStep::key))
            .collect();
        for key in then.keys().chain(now.keys()).chain(zone.keys()) {
            if !touched.contains(key) {
                prop_assert_eq!(zone.get(key), now.get(key), "{} was never changed by us", key);
            } else if !disturbed.contains(&name_of(key)) {
                prop_assert_eq!(zone.get(key), then.get(key), "{} is as it was", key);
            }
        }
        // What another writer wrote last stands, or what we made of it: nothing older comes back.
        for key in &history.foreign {
            prop_assert!(history.since[key].contains(&zone.get(key).cloned()), "{} is older than what others made of it", key);
            let last = history.entries.iter().rev().find(|(entry, verdict)| {
                *verdict == EntryResult::Applied && entry.steps.iter().any(|step| step.key() == Some(key))
            });
            let left = last.and_then(|(entry, _)| entry.steps.iter().find(|s| s.key() == Some(key))?.to.clone());
            if last.is_none() || left.as_ref() != now.get(key) {
                prop_assert_eq!(zone.get(key), now.get(key), "{} is what they made of it", key);
            }
        }
    }
}

#[test]
fn an_alias_is_compared_as_a_whole() {
    let alias = |target: &str| {
        let target = zonewright_core::record::AliasTarget { target: target.into(), zone: None, evaluate_health: false };
        Some(RecordSet { data: RecordData::Alias(target), ttl: None, ..set("x.example A 192.0.2.1") })
    };
    let mut moved = entry(1, "x.example", &[]);
    moved.steps = vec![EntryStep {
        claim: false,
        from: alias("one.test"),
        to: alias("two.test"),
        had: ClaimTerms::default(),
        has: ClaimTerms::default(),
    }];
    let mut fold = Fold::default();
    fold.take(&moved, Some(EntryResult::Applied));
    let folded = fold.finish();
    assert!(folded[0].inverse(|_| alias("three.test")).is_err());
    assert_eq!(folded[0].inverse(|_| alias("two.test")).unwrap().steps[0].change.to(), alias("one.test").as_ref());
}
