//! What must stand at the end, and what must have stood at every moment.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use zonewright_testkit::poll;

use super::World;
use crate::LATER;
use crate::daemon::command;
use crate::site::OWNER;

/// How long the daemons may take after everything works again: they back off up to a minute, and count a watch as lost after
/// half of one.
const SETTLES: Duration = Duration::from_mins(3);

/// How many audits without an update count as silence.
const AUDITS: u64 = 5;

impl World {
    /// What people wrote stands, to the letter.
    #[track_caller]
    pub(super) fn people_have_theirs(&self) {
        let zone = self.site.since_start();
        let lost: Vec<&String> = self.people.lines().iter().filter(|line| !zone.contains(line)).collect();
        assert!(lost.is_empty(), "records of people are gone or changed:\n{lost:#?}\nthe zone:\n{zone:#?}");
    }

    /// Waits until the zone is as it should be, and then for silence.
    #[track_caller]
    pub(super) fn settles(&mut self) {
        let settled = poll(SETTLES, || {
            self.approve_what_is_held();
            self.differences().is_empty().then_some(())
        });
        let zone = self.site.since_start().join("\n");
        assert!(settled.is_some(), "after {SETTLES:?}:\n{}\nthe zone:\n{zone}", self.differences().join("\n"));
        self.story.note("the zone is as it should be");
        for runner in &self.runners {
            runner.daemon.ready_within(LATER);
        }
        let silent = poll(SETTLES, || self.is_silent().then_some(()));
        assert!(silent.is_some(), "updates go on and on");
        self.story.note("there is silence");
        assert_eq!(self.differences(), Vec::<String>::new(), "what was settled stays so");
        self.people_have_theirs();
        for runner in &self.runners {
            assert!(!runner.log().contains("panicked"), "a daemon panicked");
        }
    }

    /// Deletes that nobody saw happen may be held by the brake. That is right, and the test approves them.
    fn approve_what_is_held(&mut self) {
        for runner in &self.runners {
            let state = format!("--state-dir={}", runner.state.1);
            let plans = String::from_utf8_lossy(&command(&["plans", &state]).stdout).into_owned();
            let words = plans.lines().filter_map(|line| line.split(' ').next());
            for hash in words.filter(|word| word.len() == 12 && word.bytes().all(|b| b.is_ascii_hexdigit())) {
                let approved = command(&["approve", hash, &state]).status.success();
                self.story.note(format!("the held plan {hash} is approved: {approved}"));
            }
        }
    }

    /// Whether a few audits of each daemon pass without an update, sent or taken.
    fn is_silent(&self) -> bool {
        let before = (self.site.serial(), self.updates());
        for runner in &self.runners {
            runner.daemon.audits_more(AUDITS);
        }
        (self.site.serial(), self.updates()) == before
    }

    /// How many calls that change something were made by the daemons.
    fn updates(&self) -> u64 {
        let calls = |runner: &super::faults::Runner| -> u64 { runner.daemon.calls("apply").iter().sum() };
        self.runners.iter().map(calls).sum()
    }

    /// How the zone differs from what it should be; empty at the end.
    fn differences(&self) -> Vec<String> {
        let lines = self.people.lines();
        let (ours, claims): (Vec<String>, Vec<String>) =
            self.site.since_start().into_iter().filter(|line| !lines.contains(line)).partition(|line| !is_claim(line));
        let mut found = self.wrong_records(&ours);
        found.extend(wrong_claims(&ours, &claims));
        found
    }

    fn wrong_records(&self, ours: &[String]) -> Vec<String> {
        let mut standing: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
        for line in ours {
            standing.entry(word(line, 0)).or_default().push(line);
        }
        let mut found = Vec::new();
        for (name, alternatives) in self.objects.asked() {
            let stands = standing.remove(name.as_str()).unwrap_or_default();
            let right = if self.people.hold(&name) {
                stands.is_empty() || self.stands_beside(&name, &alternatives, &stands)
            } else {
                alternatives.iter().any(|records| records.iter().collect::<Vec<_>>() == stands)
            };
            if !right {
                let held = if self.people.hold(&name) { " and another writer has it" } else { "" };
                found.push(format!("{name}: asked for is one of {alternatives:?}{held}, what stands is {stands:?}"));
            }
        }
        found.extend(standing.into_iter().map(|(name, lines)| format!("{name}: nobody asks for {lines:?}")));
        found
    }

    /// Whether what stands beside a person's record is of other types than his, and asked for. A name that was ours and was
    /// taken over in the very moment in which an object asked for a further type may end so: a create expects nothing of its
    /// own type, and no alias.
    fn stands_beside(&self, name: &str, alternatives: &[Vec<String>], stands: &[&String]) -> bool {
        let his: BTreeSet<&str> =
            self.people.lines().iter().filter(|line| word(line, 0) == name).map(|line| word(line, 2)).collect();
        let asked = |line: &&&String| alternatives.iter().any(|records| records.contains(line));
        self.people.took(name)
            && stands.iter().filter(asked).count() == stands.len()
            && stands.iter().all(|line| !his.contains(word(line, 2)))
    }
}

/// Each record set has one claim of ours, and no claim stands alone.
fn wrong_claims(ours: &[String], claims: &[String]) -> Vec<String> {
    let place = |line: &String| format!("{}-{}", word(line, 2).to_lowercase(), word(line, 0));
    let expected: BTreeSet<String> = ours.iter().map(place).collect();
    let owner = format!("external-dns/owner={OWNER},");
    let mut found = Vec::new();
    let mut standing = BTreeSet::new();
    for claim in claims {
        if !claim.contains(&owner) || !standing.insert(word(claim, 0).to_owned()) {
            found.push(format!("a strange claim, or a second one: {claim}"));
        }
    }
    found.extend(expected.difference(&standing).map(|place| format!("{place}: the claim is missing")));
    found.extend(standing.difference(&expected).map(|place| format!("{place}: the claim has no record")));
    found
}

fn is_claim(line: &str) -> bool {
    line.contains(" TXT \"heritage=")
}

fn word(line: &str, n: usize) -> &str {
    line.split(' ').nth(n).unwrap_or_default()
}
