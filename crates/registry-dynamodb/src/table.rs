//! The table: its schema, its rows, and statements in batches.
//!
//! In: writes, each with the condition that nobody else owns the row. Out: what became of each, one answer for each write and
//! in order. A throttled call or statement is repeated a few times with growing pauses, since it was turned away for sure;
//! nothing else is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use zonewright_core::Result;
use zonewright_core::claim::OwnerId;
use zonewright_core::error::{Error, ErrorKind};

use super::error;
use super::row::Row;
use super::rows::Stored;
use super::service::{Item, Schema, Statement, StatementError, TableService, Value};

/// How many statements the service takes in one batch.
const BATCH: usize = 25;
/// The pause before a throttled call is repeated for the first time; it doubles.
const PAUSE: Duration = Duration::from_millis(100);

const KEY: &str = "k";
const OWNER: &str = "o";
const LABELS: &str = "l";

/// What is done, as errors name it.
pub(crate) const DESCRIBE: &str = "describe the table of claims";
pub(crate) const WRITE: &str = "write claims";

/// One row to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Write {
    /// It must not be there.
    Insert { key: String, row: Row },
    /// It must be that of `owner`.
    Update { key: String, owner: OwnerId, row: Row },
    /// It must be that of `owner`, or be gone.
    Delete { key: String, owner: OwnerId },
}

impl Write {
    pub(crate) fn key(&self) -> &str {
        match self {
            Self::Insert { key, .. } | Self::Update { key, .. } | Self::Delete { key, .. } => key,
        }
    }
}

/// What became of a write.
#[derive(Debug)]
pub(crate) enum Done {
    /// It is in force.
    Written,
    /// The row is not what was assumed. With what stands there, where that was reported.
    Lost(Option<Stored>),
    /// It was not carried out, or that is not known.
    Failed(Error),
}

/// A table of the service.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) service: Arc<dyn TableService>,
    pub(crate) name: String,
    /// How often a throttled call is made in all, at least once.
    pub(crate) attempts: u32,
}

impl Table {
    /// Whether the table has the shape that external-dns gives it.
    pub(crate) async fn check(&self) -> Result<()> {
        let schema = self.patiently(|| self.service.describe()).await?;
        match problem(&self.name, &schema) {
            None => Ok(()),
            Some(problem) => Err(Error::new(ErrorKind::Configuration, DESCRIBE, problem)),
        }
    }

    /// Every row, of all owners.
    pub(crate) async fn rows(&self) -> Result<Vec<Stored>> {
        let (mut rows, mut start) = (Vec::new(), None);
        loop {
            let page = self.patiently(|| self.service.scan(start.as_ref())).await?;
            rows.extend(page.items.into_iter().filter_map(stored));
            start = page.last;
            if start.is_none() {
                return Ok(rows);
            }
        }
    }

    /// Carries out writes: one answer for each, in order.
    pub(crate) async fn write(&self, writes: &[Write]) -> Vec<Done> {
        let mut all: BTreeMap<usize, Done> = BTreeMap::new();
        let mut left: Vec<usize> = (0..writes.len()).collect();
        for attempt in 1.. {
            for batch in batches(&left, writes) {
                let chosen: Vec<&Write> = batch.iter().filter_map(|at| writes.get(*at)).collect();
                all.extend(batch.into_iter().zip(self.batch(&chosen).await));
            }
            left.retain(|at| matches!(all.get(at), Some(Done::Failed(error)) if error::was_turned_away(error)));
            if left.is_empty() || attempt >= self.attempts {
                break;
            }
            tokio::time::sleep(pause(attempt)).await;
        }
        all.into_values().collect()
    }

    async fn batch(&self, writes: &[&Write]) -> Vec<Done> {
        let statements: Vec<Statement> = writes.iter().map(|write| statement(write)).collect();
        let mut answers = match self.service.execute(&statements).await {
            Ok(answers) => answers.into_iter(),
            Err(error) => return writes.iter().map(|_| Done::Failed(error.clone())).collect(),
        };
        let silent = || {
            let text = format!("table {:?}: the answer says nothing of a statement", self.name);
            Done::Failed(Error::new(ErrorKind::Protocol, WRITE, text))
        };
        let done = |_: &&Write| match answers.next() {
            None => silent(),
            Some(None) => Done::Written,
            Some(Some(refusal)) => self.refused(refusal),
        };
        writes.iter().map(done).collect()
    }

    fn refused(&self, refusal: StatementError) -> Done {
        let error = error::of_code(WRITE, &self.name, &refusal.code, &refusal.message, false);
        match error.kind {
            ErrorKind::Conflict => Done::Lost(refusal.item.and_then(stored)),
            _ => Done::Failed(error),
        }
    }

    /// Makes a call again while it is turned away, up to the number of attempts.
    async fn patiently<T, F: Future<Output = Result<T>>>(&self, call: impl Fn() -> F) -> Result<T> {
        let mut attempt = 1;
        loop {
            let error = match call().await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if !error::was_turned_away(&error) || attempt >= self.attempts {
                return Err(error);
            }
            tokio::time::sleep(pause(attempt)).await;
            attempt += 1;
        }
    }
}

/// The statement of a write, with the owner in every condition.
fn statement(write: &Write) -> Statement {
    let owner_of = |row: &Row| row.owner.as_str().to_owned();
    match write {
        Write::Insert { key, row } => {
            Statement::Insert { key: key.clone(), owner: owner_of(row), labels: row.written() }
        }
        Write::Update { key, owner, row } => Statement::Update {
            key: key.clone(),
            owner: owner.as_str().to_owned(),
            becomes: (*owner != row.owner).then(|| owner_of(row)),
            labels: row.written(),
        },
        Write::Delete { key, owner } => Statement::Delete { key: key.clone(), owner: owner.as_str().to_owned() },
    }
}

fn pause(attempt: u32) -> Duration {
    PAUSE * 2_u32.saturating_pow(attempt.saturating_sub(1).min(6))
}

/// Positions of writes, as many together as a batch takes; no two of one row.
fn batches(chosen: &[usize], writes: &[Write]) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = Vec::new();
    let mut keys = BTreeSet::new();
    for at in chosen {
        let Some(write) = writes.get(*at) else { continue };
        match all.last_mut() {
            Some(batch) if batch.len() < BATCH && keys.insert(write.key()) => batch.push(*at),
            _ => {
                keys = BTreeSet::from([write.key()]);
                all.push(vec![*at]);
            }
        }
    }
    all
}

/// An item as a row. `None` only where the item has no key, which the schema rules out.
fn stored(mut item: Item) -> Option<Stored> {
    let Some(Value::Text(key)) = item.remove(KEY) else { return None };
    Some(Stored { key, row: row(item) })
}

fn row(mut item: Item) -> Result<Row, String> {
    let owner = match item.remove(OWNER) {
        Some(Value::Text(owner)) => OwnerId::new(&owner).ok_or("the attribute \"o\" (its owner) is empty")?,
        Some(_) => return Err("the attribute \"o\" (its owner) is no text".to_owned()),
        None => return Err("it has no attribute \"o\" (its owner)".to_owned()),
    };
    let labels = match item.remove(LABELS) {
        Some(Value::Map(labels)) => labels,
        Some(_) => return Err("the attribute \"l\" (its labels) is no map".to_owned()),
        None => Item::new(),
    };
    let text = |(key, value): (String, Value)| match value {
        Value::Text(value) => Ok((key, value)),
        _ => Err(format!("the label {key:?} is no text")),
    };
    Row::read(owner, labels.into_iter().map(text).collect::<Result<_, _>>()?)
}

/// What keeps a table from holding claims, in the words of external-dns.
fn problem(name: &str, table: &Schema) -> Option<String> {
    match table.attributes.iter().find(|(attribute, _)| attribute == KEY) {
        Some((_, kind)) if kind == "S" => {}
        Some((_, other)) => return Some(format!("table {name:?} attribute \"k\" must have type \"S\", not {other:?}")),
        None => return Some(format!("table {name:?} must have attribute \"k\" of type \"S\"")),
    }
    if !table.hash.iter().any(|key| key == KEY) {
        return Some(format!("table {name:?} must have hash key \"k\""));
    }
    let range = table.range.first()?;
    Some(format!("table {name:?} must not have a range key; it has {range:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delete(key: &str) -> Write {
        Write::Delete { key: key.to_owned(), owner: OwnerId::new("me").unwrap() }
    }

    #[test]
    fn a_batch_holds_25_statements_and_none_twice_on_one_row() {
        let writes: Vec<Write> = (0..52).map(|i| delete(&i.to_string())).collect();
        let all: Vec<usize> = (0..52).collect();
        let sizes: Vec<usize> = batches(&all, &writes).iter().map(Vec::len).collect();
        assert_eq!(sizes, [25, 25, 2]);
        let writes = ["a", "b", "a", "a"].map(delete);
        assert_eq!(batches(&[0, 1, 2, 3], &writes), [vec![0, 1], vec![2], vec![3]]);
        assert_eq!(batches(&[1, 3], &writes), [vec![1, 3]]);
    }

    #[test]
    fn rows_that_do_not_parse_say_why() {
        let item = |parts: &[(&str, Value)]| -> Item {
            parts.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
        };
        let text = |text: &str| Value::Text(text.to_owned());
        let map = |value| Value::Map(Item::from([("resource".to_owned(), value)]));
        for (parts, problem) in [
            (item(&[]), "no attribute \"o\""),
            (item(&[("o", text(""))]), "is empty"),
            (item(&[("o", Value::Other)]), "is no text"),
            (item(&[("o", text("me")), ("l", text("x"))]), "is no map"),
            (item(&[("o", text("me")), ("l", map(Value::Other))]), "label \"resource\" is no text"),
        ] {
            let error = row(parts).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
        let sound = row(item(&[("o", text("me")), ("l", map(text("r")))])).unwrap();
        assert_eq!((sound.owner.as_str(), sound.resource.as_deref()), ("me", Some("r")));
    }
}
