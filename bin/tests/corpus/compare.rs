//! Does a run of the program match the recorded one?
//!
//! In: the recorded run, and what the program did. Out: the differences as readable lines, none if there is none. Both
//! sides go through the same rules; the README of the corpus says which, and why.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::endpoint::{Key, Shape, Turn};
use crate::program::Played;
use crate::recorded::{Changes, Endpoint, Run};
use crate::scope::Scope;

/// How many lines of a program's output are shown where its status is wrong.
const SHOWN: usize = 6;

/// How `played` differs from the recorded `run`.
pub(crate) fn differences(run: &Run, played: &Played) -> Vec<String> {
    let problems = played.sent.problems.iter().map(|problem| format!("  {problem}"));
    problems.chain(result_differences(run, played)).collect()
}

fn result_differences(run: &Run, played: &Played) -> Vec<String> {
    let must_fail = run.exit != 0;
    if must_fail != played.failed {
        let word = |failed| if failed { "failure" } else { "success" };
        let verdict = format!("  exit: expected {}, got {}", word(must_fail), word(played.failed));
        return std::iter::once(verdict).chain(last_lines(&played.output)).collect();
    }
    if must_fail {
        return Vec::new();
    }
    let rules = Rules::of(run);
    rules.work(&run.desired, &run.changes).differences(rules.work(&played.sent.desired, &played.sent.changes))
}

fn last_lines(output: &str) -> impl Iterator<Item = String> {
    let skipped = output.lines().count().saturating_sub(SHOWN);
    output.lines().skip(skipped).map(|line| format!("  output: {line}"))
}

/// What a run says about how its endpoints are to be compared.
struct Rules {
    scope: Scope,
    /// The recorded targets of CNAMEs that have several: no zone can hold them, so a program may choose.
    choices: BTreeMap<Key, BTreeSet<String>>,
}

/// What a run led to, in the form in which it is compared.
struct Work {
    desired: Vec<Shape>,
    create: Vec<Shape>,
    delete: Vec<Shape>,
    update: Vec<Turn>,
}

impl Rules {
    fn of(run: &Run) -> Self {
        let updated = run.changes.update.iter().map(|update| &update.to);
        let recorded = run.desired.iter().chain(&run.current).chain(&run.changes.create).chain(updated);
        let mut choices: BTreeMap<Key, BTreeSet<String>> = BTreeMap::new();
        for shape in recorded.map(Shape::of) {
            if matches!(shape.key.record_type.as_str(), "CNAME" | "DNAME") && shape.targets.len() > 1 {
                choices.entry(shape.key).or_default().extend(shape.targets);
            }
        }
        Self { scope: Scope::of(run), choices }
    }

    /// The shape, with all recorded targets in place of those that were chosen among them.
    fn shape(&self, endpoint: &Endpoint) -> Shape {
        let mut shape = Shape::of(endpoint);
        let choices = self.choices.get(&shape.key);
        if let Some(choices) = choices.filter(|all| !shape.targets.is_empty() && shape.targets.is_subset(all)) {
            shape.targets.clone_from(choices);
        }
        shape
    }

    fn work(&self, desired: &[Endpoint], changes: &Changes) -> Work {
        let shapes = |endpoints: &[Endpoint]| endpoints.iter().map(|endpoint| self.shape(endpoint)).collect::<Vec<_>>();
        let turns = changes.update.iter().map(|update| Turn::of(update, |endpoint| self.shape(endpoint)));
        Work {
            desired: self.planned(shapes(desired)),
            create: shapes(&changes.create),
            delete: shapes(&changes.delete),
            // An update of nothing is no update.
            update: turns.filter(|turn| turn.from != turn.to).collect(),
        }
    }

    /// What can take part in the plan, each endpoint once. A CNAME beside another type cannot.
    fn planned(&self, mut desired: Vec<Shape>) -> Vec<Shape> {
        desired.retain(|shape| self.scope.holds(&shape.key));
        let place = |key: &Key| (key.name.clone(), key.set.clone());
        let others = desired.iter().filter(|shape| shape.key.record_type != "CNAME");
        let taken: BTreeSet<_> = others.map(|shape| place(&shape.key)).collect();
        desired.retain(|shape| shape.key.record_type != "CNAME" || !taken.contains(&place(&shape.key)));
        desired.into_iter().collect::<BTreeSet<_>>().into_iter().collect()
    }
}

impl Work {
    fn differences(self, got: Self) -> Vec<String> {
        let mut lines = list_differences("desired", self.desired, got.desired, |shape| &shape.key);
        lines.extend(list_differences("create", self.create, got.create, |shape| &shape.key));
        lines.extend(list_differences("update", self.update, got.update, |turn| &turn.from.key));
        lines.extend(list_differences("delete", self.delete, got.delete, |shape| &shape.key));
        lines
    }
}

/// The differences between two lists whose order does not matter; items of the same key are shown beside each other.
fn list_differences<T: Ord + fmt::Display>(
    list: &str,
    expected: Vec<T>,
    mut got: Vec<T>,
    key: impl Fn(&T) -> &Key,
) -> Vec<String> {
    let mut take = |fits: &dyn Fn(&T) -> bool| got.iter().position(fits).map(|at| got.remove(at));
    let missing: Vec<T> = expected.into_iter().filter(|item| take(&|other| other == item).is_none()).collect();
    let mut lines = Vec::new();
    for item in missing {
        match take(&|other| key(other) == key(&item)) {
            Some(other) => lines.push(format!("  {list}: different\n    expected  {item}\n    got       {other}")),
            None => lines.push(format!("  {list}: missing     {item}")),
        }
    }
    lines.extend(got.iter().map(|item| format!("  {list}: unexpected  {item}")));
    lines
}

// By its path, since this file is a module of the side-by-side player too.
#[cfg(test)]
#[path = "compare/tests.rs"]
mod tests;
