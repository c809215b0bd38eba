//! The swap: what one program wrote leaves the other nothing to do.

use anyhow::Result;
use serde_json::Value;

use crate::cloud::{Cloud, Ended, Programs, Which};

/// A service with its zones, each of which holds a foreign record.
pub trait Account {
    /// The service.
    type Service: Cloud;

    /// The service.
    fn service(&self) -> &Self::Service;

    /// Every record that clients can write, the foreign ones too, in words.
    fn sets(&self) -> Vec<String>;

    /// How many of them are foreign.
    fn foreign(&self) -> usize;

    /// What is wrong where nothing but the foreign records is to stand.
    fn not_empty(&self) -> Vec<String>;
}

/// What holds for all cases.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// What both programs are given besides.
    pub flags: &'static [&'static str],
    /// What only Zonewright has: its pace is not the point here, nor is its care about many deletes.
    pub ours: &'static [&'static str],
}

/// One way to set both programs up.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// For people.
    pub name: &'static str,
    /// Further flags of both.
    pub flags: &'static [&'static str],
    /// Whether there is a private zone of the same name.
    pub private: bool,
    /// The objects, with these addresses for one of them.
    pub objects: fn(&[&str]) -> Vec<Value>,
    /// Whether external-dns writes some of it again in every round, or in the second one for the first time: then it begins with two
    /// rounds, and what stands is compared, not whether it writes.
    pub restless: bool,
    /// Who begins, once each.
    pub first: &'static [Which],
}

/// Either of them.
pub const EITHER: &[Which] = &[Which::ExternalDns, Which::Zonewright];

/// Plays every case; whether nothing differed.
///
/// # Errors
/// A program cannot be started, or does not end.
pub async fn play<A: Account>(
    programs: &Programs,
    terms: &Terms,
    cases: &[Case],
    account: impl Fn(&Case) -> A,
    verbose: bool,
) -> Result<bool> {
    let mut equal = true;
    for case in cases {
        for first in case.first.iter().copied() {
            let (account, notes, problems) = (account(case), Vec::new(), Vec::new());
            let mut play = Play { programs, terms, case, account, notes, problems, verbose };
            play.run(first).await?;
            let verdict = if play.problems.is_empty() { "nothing to do" } else { "DIFFERS" };
            println!("{}, {} first: {verdict}", case.name, first.name());
            for line in play.notes.iter().chain(&play.problems) {
                println!("    {line}");
            }
            equal &= play.problems.is_empty();
        }
    }
    Ok(equal)
}

struct Play<'a, A> {
    programs: &'a Programs,
    terms: &'a Terms,
    case: &'a Case,
    account: A,
    /// What is printed in any case.
    notes: Vec<String>,
    /// What differs.
    problems: Vec<String>,
    verbose: bool,
}

impl<A: Account> Play<'_, A> {
    /// One writes, the other finds nothing to do and changes one object, and then the first finds nothing to do. At the end no
    /// object is left.
    async fn run(&mut self, first: Which) -> Result<()> {
        let second = if first == Which::ExternalDns { Which::Zonewright } else { Which::ExternalDns };
        let (old, new) = (&["192.0.2.1", "192.0.2.2", "192.0.2.3"], &["192.0.2.1", "192.0.2.99"]);
        let (old, new) = ((self.case.objects)(old), (self.case.objects)(new));
        let mut written = self.once(first, &old).await?;
        if self.case.restless {
            written = self.once(first, &old).await?;
        }
        self.notes.push(format!(
            "{} wrote {} sets: {:?}",
            first.name(),
            self.account.sets().len() - self.account.foreign(),
            written.calls
        ));
        self.silent("again", first, &old).await?;
        self.silent("the swap", second, &old).await?;
        let changed = self.once(second, &new).await?;
        self.notes.push(format!("{} changed one: {:?}", second.name(), changed.calls));
        if !self.account.sets().iter().any(|set| set.contains("192.0.2.99")) {
            self.problems.push(format!("{} does not carry the change out:\n{}", second.name(), changed.output));
        }
        self.silent("the way back", first, &new).await?;
        self.emptied().await
    }

    async fn once(&mut self, which: Which, objects: &[Value]) -> Result<Ended> {
        let ours = if which == Which::Zonewright { self.terms.ours } else { &[] };
        let flags = [self.terms.flags, self.case.flags, ours].concat();
        let ended = self.programs.once(which, self.account.service(), objects, &flags).await?;
        let loud = |line: &&str| self.verbose || line.contains("level=error") || line.contains("level=fatal");
        let said = ended.output.lines().filter(loud).map(|line| format!("{} said: {line}", which.name()));
        self.notes.extend(said);
        Ok(ended)
    }

    /// A run that is to change nothing.
    async fn silent(&mut self, when: &str, which: Which, objects: &[Value]) -> Result<()> {
        let before = self.account.sets();
        let ended = self.once(which, objects).await?;
        let after = self.account.sets();
        let read = ended.calls.contains_key(A::Service::READ);
        let may_write = self.case.restless && which == Which::ExternalDns;
        let wrote = A::Service::WRITES.iter().any(|operation| ended.calls.contains_key(*operation)) && !may_write;
        if !read || wrote || before != after {
            self.problems.push(format!("{when}: {} did more or less than to read: {:?}", which.name(), ended.calls));
            let gone = before.iter().filter(|set| !after.contains(set)).map(|set| format!("  - {set}"));
            let come = after.iter().filter(|set| !before.contains(set)).map(|set| format!("  + {set}"));
            self.problems.extend(gone.chain(come));
        }
        Ok(())
    }

    /// Zonewright takes away what both wrote, and nothing else.
    async fn emptied(&mut self) -> Result<()> {
        let ended = self.once(Which::Zonewright, &[]).await?;
        let wrong = self.account.not_empty();
        self.problems.extend(wrong.into_iter().map(|what| format!("{what}: {:?}", ended.calls)));
        Ok(())
    }
}
