//! The table: its schema, its rows, and statements in batches.
//!
//! In: writes, each with the condition that nobody else owns the row. Out: what became of each, one answer for each write and
//! in order. A throttled call or statement is repeated a few times with growing pauses, since it was turned away for sure;
//! nothing else is.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BatchStatementError, BatchStatementRequest, KeyType,
    ReturnValuesOnConditionCheckFailure, ScalarAttributeType, TableDescription,
};
use zonewright_core::Result;
use zonewright_core::claim::OwnerId;
use zonewright_core::error::{Error, ErrorKind};

use super::error;
use super::row::Row;
use super::rows::Stored;

/// How many statements the service takes in one batch.
const BATCH: usize = 25;
/// The pause before a throttled call is repeated for the first time; it doubles.
const PAUSE: Duration = Duration::from_millis(100);

const KEY: &str = "k";
const OWNER: &str = "o";
const LABELS: &str = "l";

type Attributes = HashMap<String, AttributeValue>;

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
    /// The row is not what was assumed. With what stands there, where that was told.
    Lost(Option<Stored>),
    /// It was not carried out, or that is not known.
    Failed(Error),
}

/// A table of the service.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) client: Client,
    pub(crate) name: String,
    /// How often a throttled call is made in all, at least once.
    pub(crate) attempts: u32,
}

impl Table {
    /// Whether the table has the shape that external-dns gives it.
    pub(crate) async fn check(&self) -> Result<()> {
        const OPERATION: &str = "describe the table of claims";
        let answer = self.patiently(OPERATION, || self.client.describe_table().table_name(&self.name).send()).await?;
        let wrong = |text: String| Err(Error::new(ErrorKind::Configuration, OPERATION, text));
        match answer.table().map(|table| problem(&self.name, table)) {
            Some(None) => Ok(()),
            Some(Some(problem)) => wrong(problem),
            None => wrong(format!("table {:?} was not described in the answer", self.name)),
        }
    }

    /// Every row, of all owners.
    pub(crate) async fn rows(&self) -> Result<Vec<Stored>> {
        let (mut rows, mut start) = (Vec::new(), None);
        loop {
            let page = self.patiently("read the table of claims", || {
                let scan = self.client.scan().table_name(&self.name).consistent_read(true);
                scan.projection_expression("k,o,l").set_exclusive_start_key(start.clone()).send()
            });
            let page = page.await?;
            rows.extend(page.items.unwrap_or_default().into_iter().filter_map(stored));
            start = page.last_evaluated_key.filter(|key| !key.is_empty());
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
        const OPERATION: &str = "write claims";
        let all_fail = |error: Error| writes.iter().map(|_| Done::Failed(error.clone())).collect();
        let statements: Result<Vec<BatchStatementRequest>, _> =
            writes.iter().map(|write| self.statement(write)).collect();
        let statements = match statements {
            Ok(statements) => statements,
            Err(error) => return all_fail(Error::new(ErrorKind::Invalid, OPERATION, error.to_string())),
        };
        let answer = self.client.batch_execute_statement().set_statements(Some(statements)).send().await;
        let responses = match answer {
            Ok(answer) => answer.responses.unwrap_or_default(),
            Err(error) => return all_fail(error::of_call(OPERATION, &self.name, error)),
        };
        let mut responses = responses.into_iter();
        let silent = || {
            let text = format!("table {:?}: the answer says nothing of a statement", self.name);
            Done::Failed(Error::new(ErrorKind::Protocol, OPERATION, text))
        };
        let done = |_: &&Write| {
            let answer = responses.next().map(|response| response.error);
            answer.map_or_else(silent, |error| error.map_or(Done::Written, |error| self.refused(OPERATION, error)))
        };
        writes.iter().map(done).collect()
    }

    fn refused(&self, operation: &'static str, refusal: BatchStatementError) -> Done {
        let code = refusal.code.as_ref().map_or("an error without a code", |code| code.as_str());
        let message = refusal.message.as_deref().unwrap_or("no more was said");
        let error = error::of_code(operation, &self.name, code, message, false);
        match error.kind {
            ErrorKind::Conflict => Done::Lost(refusal.item.and_then(stored)),
            _ => Done::Failed(error),
        }
    }

    /// The statement of a write: those of external-dns, with the owner in every condition.
    fn statement(&self, write: &Write) -> Result<BatchStatementRequest, aws_sdk_dynamodb::error::BuildError> {
        let table = &self.name;
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let (statement, parameters) = match write {
            Write::Insert { key, row } => (
                format!("INSERT INTO \"{table}\" VALUE {{'k':?, 'o':?, 'l':?}}"),
                vec![text(key), text(row.owner.as_str()), labels(row)],
            ),
            Write::Update { key, owner, row } if *owner == row.owner => (
                format!("UPDATE \"{table}\" SET \"l\"=? WHERE \"k\"=? AND \"o\"=?"),
                vec![labels(row), text(key), text(owner.as_str())],
            ),
            Write::Update { key, owner, row } => (
                format!("UPDATE \"{table}\" SET \"o\"=? SET \"l\"=? WHERE \"k\"=? AND \"o\"=?"),
                vec![text(row.owner.as_str()), labels(row), text(key), text(owner.as_str())],
            ),
            Write::Delete { key, owner } => {
                (format!("DELETE FROM \"{table}\" WHERE \"k\"=? AND \"o\"=?"), vec![text(key), text(owner.as_str())])
            }
        };
        BatchStatementRequest::builder()
            .statement(statement)
            .set_parameters(Some(parameters))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .build()
    }

    /// Makes a call again while it is turned away, up to the number of attempts.
    async fn patiently<T, E, F>(&self, operation: &'static str, call: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = Result<T, aws_sdk_dynamodb::error::SdkError<E>>>,
        E: aws_sdk_dynamodb::error::ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        let mut attempt = 1;
        loop {
            let error = match call().await {
                Ok(answer) => return Ok(answer),
                Err(error) => error::of_call(operation, &self.name, error),
            };
            if !error::was_turned_away(&error) || attempt >= self.attempts {
                return Err(error);
            }
            tokio::time::sleep(pause(attempt)).await;
            attempt += 1;
        }
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

fn labels(row: &Row) -> AttributeValue {
    AttributeValue::M(row.written().into_iter().map(|(key, value)| (key, AttributeValue::S(value))).collect())
}

/// An item as a row. `None` only where the item has no key, which the schema rules out.
fn stored(mut item: Attributes) -> Option<Stored> {
    let key = item.remove(KEY).and_then(|value| value.as_s().ok().cloned())?;
    Some(Stored { key, row: row(item) })
}

fn row(mut item: Attributes) -> Result<Row, String> {
    let owner = match item.remove(OWNER) {
        Some(AttributeValue::S(owner)) => OwnerId::new(&owner).ok_or("the attribute \"o\" (its owner) is empty")?,
        Some(_) => return Err("the attribute \"o\" (its owner) is no text".to_owned()),
        None => return Err("it has no attribute \"o\" (its owner)".to_owned()),
    };
    let labels = match item.remove(LABELS) {
        Some(AttributeValue::M(labels)) => labels,
        Some(_) => return Err("the attribute \"l\" (its labels) is no map".to_owned()),
        None => HashMap::new(),
    };
    let text = |(key, value): (String, AttributeValue)| match value {
        AttributeValue::S(value) => Ok((key, value)),
        _ => Err(format!("the label {key:?} is no text")),
    };
    Row::read(owner, labels.into_iter().map(text).collect::<Result<_, _>>()?)
}

/// What keeps a table from holding claims, in the words of external-dns.
fn problem(name: &str, table: &TableDescription) -> Option<String> {
    let kind = table.attribute_definitions().iter().find(|attribute| attribute.attribute_name() == KEY);
    match kind.map(AttributeDefinition::attribute_type) {
        Some(ScalarAttributeType::S) => {}
        Some(other) => {
            return Some(format!("table {name:?} attribute \"k\" must have type \"S\", not {:?}", other.as_str()));
        }
        None => return Some(format!("table {name:?} must have attribute \"k\" of type \"S\"")),
    }
    let schema = table.key_schema();
    if !schema.iter().any(|key| *key.key_type() == KeyType::Hash && key.attribute_name() == KEY) {
        return Some(format!("table {name:?} must have hash key \"k\""));
    }
    let range = schema.iter().find(|key| *key.key_type() == KeyType::Range)?;
    Some(format!("table {name:?} must not have a range key; it has {:?}", range.attribute_name()))
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
        let item = |parts: &[(&str, AttributeValue)]| -> Attributes {
            parts.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
        };
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let map = |value| AttributeValue::M(HashMap::from([("resource".to_owned(), value)]));
        for (parts, problem) in [
            (item(&[]), "no attribute \"o\""),
            (item(&[("o", text(""))]), "is empty"),
            (item(&[("o", AttributeValue::Bool(true))]), "is no text"),
            (item(&[("o", text("me")), ("l", text("x"))]), "is no map"),
            (
                item(&[("o", text("me")), ("l", map(AttributeValue::N("1".to_owned())))]),
                "label \"resource\" is no text",
            ),
        ] {
            let told = row(parts).unwrap_err();
            assert!(told.contains(problem), "{told}");
        }
        let sound = row(item(&[("o", text("me")), ("l", map(text("r")))])).unwrap();
        assert_eq!((sound.owner.as_str(), sound.resource.as_deref()), ("me", Some("r")));
    }
}
