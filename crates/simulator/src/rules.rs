//! The rules that histories are judged by, and how often each was judged.
//!
//! In: each case that a rule looked at, and each that it let pass unseen because of an excuse. Out: a table for people, and
//! the rules that looked at too little: a rule that is never applied cannot fail.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::setup::Claims;

macro_rules! rules {
    ($($name:ident $least:literal $text:literal,)*) => {
        /// One rule.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "each has its text")]
        pub enum Rule { $($name,)* }

        impl Rule {
            /// Every rule.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// What is said when it is broken.
            pub fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// How many cases it has to judge in 100,000 rounds of all kinds of providers, at least.
            pub fn least(self) -> u64 {
                match self { $(Self::$name => $least,)* }
            }
        }
    };
}

rules! {
    ForeignRecord 60_000 "a record without our claim was changed",
    ForeignShadow 25_000 "a foreign record changed",
    ForeignText 120_000 "a foreign text changed",
    ClaimSeized 40_000 "a claim came over a foreign record",
    Unclaimed 100_000 "a record of ours is left unclaimed",
    PolicyDelete 30_000 "the policy allows no delete",
    PolicyUpdate 16_000 "the policy allows no update",
    Doubt 80_000 "nothing is removed in doubt",
    AskedFor 30_000 "what is asked for is not deleted",
    Pending 30_000 "a pending name is kept",
    Retained 30_000 "what is retained stays",
    Brake 24_000 "the brake holds",
    BrakePercent 250 "the brake's percentage holds",
    BrakeProcess 400 "the brake over all zones holds",
    OwnerFloor 500 "an owner is not left without anything",
    State 1_200 "nothing counted is deleted without the state",
    StateKept 100_000 "a state that could not be read is not written over",
    AllSeen 1_200 "nothing counted is deleted before every zone was tried",
    Replacement 200 "what is replaced goes only with what replaces it",
    Outside 100_000 "names outside the filter are left alone",
    Instance 8_000 "what names an instance goes to no other",
    Approval 5_000 "an approval covers each delete once, as it was shown",
    WrongApproval 600 "an approval of what is not held does nothing",
    Forged 1_000 "no object makes a claim",
    Command 1_300 "a command touches only what is its own",
    Memory 1_000 "what a process wrote itself is what it goes by",
    Unanswered 90 "a write without an answer is read before the next one",
    HeldOurs 500 "what is held for approval is its daemon's own",
    IntentLeft 500 "who is at rest leaves no write half done",
    DryRun 8_000 "a dry run sends nothing",
    Limits 100_000 "a call keeps to the limits",
    NoEnd 3_000 "nobody asks without end",
    Rest 70_000 "a daemon comes to rest",
    Panic 3_000 "nothing panics",
    Wanted 17_000 "what is asked for is there",
    Stands 16_000 "what stands is what is asked for",
    Routing 400 "a set with an identifier is routed as asked for",
    TimeToLive 350 "the TTL is what is asked for",
    Orphan 16_000 "what nobody asks for is gone",
    Moved 600 "a claim that moves stands at its new place alone",
    Fight 150 "a fight calms down",
    Silence 1_700 "who has converged is silent",
    Fresh 1_300 "a fresh process finds nothing to do",
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.text())
    }
}

/// How often one rule came to a verdict, and how often an excuse kept it from one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cases {
    /// Cases that would have broken the rule if they were wrong.
    pub judged: u64,
    /// Cases in which whatever happened was let pass.
    pub excused: u64,
}

/// The cases of every rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdicts(BTreeMap<Rule, Cases>);

impl Verdicts {
    /// One case of a rule: judged, or else excused.
    pub(crate) fn note(&mut self, rule: Rule, judged: bool) {
        self.note_many(rule, judged, 1);
    }

    /// So many cases of a rule: judged, or else excused.
    pub fn note_many(&mut self, rule: Rule, judged: bool, count: u64) {
        let cases = self.0.entry(rule).or_default();
        *(if judged { &mut cases.judged } else { &mut cases.excused }) += count;
    }

    /// Adds those of another history.
    pub fn add(&mut self, other: &Self) {
        for (rule, cases) in &other.0 {
            let sum = self.0.entry(*rule).or_default();
            sum.judged += cases.judged;
            sum.excused += cases.excused;
        }
    }

    /// The cases of one rule.
    pub fn of(&self, rule: Rule) -> Cases {
        self.0.get(&rule).copied().unwrap_or_default()
    }

    /// The rules that judged fewer cases than so many `rounds` have to bring, each with its cases and the least number: a third
    /// where claims are not in the zones. A rule that was never judged is always among them.
    pub fn too_few(&self, rounds: u64, claims: Claims) -> Vec<(Rule, u64, u64)> {
        // Where claims are elsewhere, nobody writes texts beside those of others, and no intents; and no claim moves.
        let of_texts = |rule: Rule| matches!(rule, Rule::ForeignText | Rule::IntentLeft | Rule::HeldOurs | Rule::Moved);
        // A table cannot be used with several instances.
        let alone = |rule: Rule| rule == Rule::Instance && claims == Claims::Table;
        let applies = |rule: &&Rule| claims == Claims::Zones || !(of_texts(**rule) || alone(**rule));
        let share = if claims == Claims::Zones { 1 } else { 3 };
        let least = |rule: Rule| (rule.least() * rounds / 100_000 / share).max(1);
        let all = Rule::ALL.iter().filter(applies).map(|rule| (*rule, self.of(*rule).judged, least(*rule)));
        all.filter(|(_, judged, least)| judged < least).collect()
    }

    /// One line for each rule.
    pub fn table(&self) -> String {
        let mut lines = format!("{:>12} {:>10}  rule", "judged", "excused");
        for rule in Rule::ALL {
            let Cases { judged, excused } = self.of(*rule);
            let _ = write!(lines, "\n{judged:>12} {excused:>10}  {rule}");
        }
        lines
    }
}
