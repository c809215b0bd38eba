//! The table beside the zones as one daemon process sees it: the same line, on which everything can go wrong.
//!
//! In: calls of the registry. Out: pages of few rows, as they are when each is asked for, and statements that take effect, each
//! for itself, if their conditions hold then. A batch may be carried out in part: statements are throttled, or fail and
//! leave it open whether they took effect.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value as Json;
use tokio::time::{sleep, timeout};
use zonewright_core::documents::Document;
use zonewright_core::{ErrorKind, Result, Retry};
use zonewright_registry_dynamodb::service::{Item, Page, Schema, Statement, StatementError, TableService, Value};

use super::weather::{Draw, Fault};
use super::{Line, error, lock};
use crate::rules::Rule;
use crate::truth::{Truth, row_document};

/// How long the client waits for an answer.
const LIMIT: Duration = Duration::from_secs(20);
/// Statements that the service takes in one batch.
const BATCH: usize = 25;
const WRITE: &str = "write rows";

/// A table at the end of a line.
#[derive(Debug)]
pub(crate) struct Table(pub(crate) Arc<Line>);

impl Table {
    async fn ask(&self, operation: &'static str) -> Result<Draw> {
        let late = |_| error(ErrorKind::Timeout, operation, "no answer");
        timeout(LIMIT, self.0.begin(operation)).await.map_err(late)?
    }

    fn check_batch(&self, statements: &[Statement]) {
        let keys: BTreeMap<&str, usize> = statements.iter().map(|statement| (key_of(statement), 0)).collect();
        let mut truth = lock(&self.0.truth);
        truth.verdicts.note(Rule::Limits, true);
        if statements.len() > BATCH || keys.len() < statements.len() {
            truth.broken(Rule::Limits, format!("daemon {}: {} statements", self.0.daemon, statements.len()));
        }
    }

    /// Carries out each statement. Where a part fails, dice say which.
    fn carry_out(&self, statements: &[Statement], dice: Option<u64>) -> Vec<Option<StatementError>> {
        let one = |(at, statement): (usize, &Statement)| {
            let fate = dice.map_or(0, |dice| dice >> (2 * (at % 32)) & 3);
            let effect = (fate < 3).then(|| self.one(statement));
            if let Some(Some(_)) = effect {
                lock(&self.0.truth).note_settled(self.0.daemon, key_of(statement));
            }
            match (fate, effect) {
                (2, Some(_)) => Some(refused("InternalServerError", None)),
                (_, Some(effect)) => effect,
                (_, None) if dice.is_some_and(|dice| dice.count_ones() % 2 == 0) => {
                    Some(refused("InternalServerError", None))
                }
                (_, None) => Some(refused("ThrottlingError", None)),
            }
        };
        statements.iter().enumerate().map(one).collect()
    }

    /// Carries out one statement, if its condition holds.
    fn one(&self, statement: &Statement) -> Option<StatementError> {
        let mut truth = lock(&self.0.truth);
        let key = key_of(statement);
        let standing = truth.objects.as_ref().and_then(|objects| objects.read(key)).cloned();
        let is_of = |owner: &String| standing.as_ref().and_then(|row| row.notes.get("owner")) == Some(owner);
        let failed = || Some(refused("ConditionalCheckFailed", standing.as_ref().map(item)));
        match statement {
            Statement::Insert { .. } if standing.is_some() => return Some(refused("DuplicateItem", None)),
            Statement::Update { owner, .. } if !is_of(owner) => return failed(),
            Statement::Delete { .. } if standing.is_none() => return None,
            Statement::Delete { owner, .. } if !is_of(owner) => return failed(),
            Statement::Insert { owner, labels, .. } => {
                self.put(&mut truth, key, Some(row_document(key, owner, labels)));
            }
            Statement::Update { owner, becomes, labels, .. } => {
                let owner = becomes.as_ref().unwrap_or(owner);
                self.put(&mut truth, key, Some(row_document(key, owner, labels)));
            }
            Statement::Delete { .. } => self.put(&mut truth, key, None),
        }
        None
    }

    fn put(&self, truth: &mut Truth, key: &str, document: Option<Document>) {
        if self.0.command.is_some() {
            truth.order_object(self.0.daemon, key, document);
        } else {
            truth.note_object(self.0.daemon, key, document);
        }
    }
}

fn key_of(statement: &Statement) -> &str {
    match statement {
        Statement::Insert { key, .. } | Statement::Update { key, .. } | Statement::Delete { key, .. } => key,
    }
}

fn refused(code: &str, item: Option<Item>) -> StatementError {
    StatementError { code: code.to_owned(), message: "for some reason".to_owned(), item }
}

fn value(json: &Json) -> Value {
    match json {
        Json::String(text) => Value::Text(text.clone()),
        Json::Object(map) => Value::Map(map.iter().map(|(name, json)| (name.clone(), value(json))).collect()),
        _ => Value::Other,
    }
}

fn item(document: &Document) -> Item {
    match serde_json::from_str(&document.text).map(|json: Json| value(&json)) {
        Ok(Value::Map(item)) => item,
        _ => Item::new(),
    }
}

#[async_trait]
impl TableService for Table {
    async fn describe(&self) -> Result<Schema> {
        self.ask("describe the table").await?;
        Ok(Schema { attributes: vec![("k".into(), "S".into())], hash: vec!["k".into()], range: Vec::new() })
    }

    async fn scan(&self, start: Option<&Item>) -> Result<Page> {
        let draw = self.ask("read rows").await?;
        let start = match start.and_then(|item| item.get("k")) {
            Some(Value::Text(key)) => Some(key.as_str()),
            _ => None,
        };
        let reader = if self.0.command.is_some() { usize::MAX } else { self.0.daemon };
        let most = usize::try_from(1 + draw.dice % 40).unwrap_or(1);
        let page = |truth: &mut Truth| truth.objects.as_mut().map(|objects| objects.see_page(reader, start, most));
        let rows = page(&mut lock(&self.0.truth)).unwrap_or_default();
        sleep(draw.after).await;
        let last = rows.get(most - 1).map(|(key, _)| Item::from([("k".to_owned(), Value::Text(key.clone()))]));
        Ok(Page { items: rows.iter().map(|(_, row)| item(row)).collect(), last })
    }

    async fn execute(&self, statements: &[Statement]) -> Result<Vec<Option<StatementError>>> {
        use Fault::{CrashAfter, CrashBefore, Down, LostAnswer, LostWrite, Partial, Throttled};
        let line = &self.0;
        let dead = || error(ErrorKind::Unauthorized, WRITE, "the process is dead");
        if line.is_dead() {
            return Err(dead());
        }
        self.check_batch(statements);
        for statement in statements {
            lock(&line.truth).note_attempt(line.daemon, key_of(statement));
        }
        let draw = line.draw(&[
            (5, Down),
            (2, Throttled),
            (5, LostWrite),
            (5, LostAnswer),
            (6, Partial),
            (3, CrashBefore),
            (4, CrashAfter),
        ]);
        line.endure(WRITE).await;
        let fail = |kind, text: &str| {
            line.tell(|| format!("writing {} rows fails: {text}", statements.len()));
            error(kind, WRITE, text)
        };
        match draw.fault {
            Some(Down) => return Err(fail(ErrorKind::Unavailable, "not reachable")),
            Some(Throttled) => return Err(fail(ErrorKind::Throttled, "too many requests").retry(Retry::Backoff)),
            Some(LostWrite) => return Err(fail(ErrorKind::Timeout, "lost on its way, and nobody says so")),
            Some(CrashBefore) => {
                line.die();
                return Err(dead());
            }
            _ => {}
        }
        sleep(draw.before).await;
        if line.is_dead() {
            return Err(dead());
        }
        let answers = self.carry_out(statements, (draw.fault == Some(Partial)).then_some(draw.dice));
        sleep(draw.after).await;
        match draw.fault {
            Some(LostAnswer) => Err(fail(ErrorKind::Timeout, "the answer is lost")),
            Some(CrashAfter) => {
                line.die();
                Err(dead())
            }
            _ => Ok(answers),
        }
    }
}
