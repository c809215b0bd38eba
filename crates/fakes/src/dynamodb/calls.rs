//! One call: its faults, its counters, and what it does to the tables.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::Fault;
use super::partiql::Statement;
use super::table::{Item, Refusal, Table};

/// Statements that a batch holds at most.
const BATCH: usize = 25;

type Answer = Result<Value, Refusal>;

/// Everything that the service holds.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) tables: BTreeMap<String, Table>,
    pub(super) page: usize,
    pub(super) faults: BTreeMap<String, (Fault, usize)>,
    pub(super) calls: BTreeMap<String, usize>,
    pub(super) stale_reads: usize,
}

impl Default for Service {
    fn default() -> Self {
        let (tables, faults, calls) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { tables, page: 1024 * 1024, faults, calls, stale_reads: 0 }
    }
}

impl Service {
    pub(super) fn call(&mut self, operation: &str, body: &[u8]) -> Answer {
        *self.calls.entry(operation.to_owned()).or_default() += 1;
        let fault = self.next_fault(operation);
        match fault {
            Some(Fault::Throttled) => return Err(throttled()),
            Some(Fault::Denied) => {
                let text = format!(
                    "User: arn:aws:iam::000000000000:user/test is not authorized to perform: dynamodb:{operation}"
                );
                return Err(Refusal::new("AccessDeniedException", text));
            }
            Some(Fault::Broken) => return Err(broken()),
            Some(Fault::StatementThrottled | Fault::AnswerLost) | None => {}
        }
        let body: Value = serde_json::from_slice(body)
            .map_err(|problem| Refusal::new("SerializationException", problem.to_string()))?;
        let answer = match operation {
            "DescribeTable" => self.describe(&body),
            "Scan" => self.scan(&body),
            "ExecuteStatement" => self.execute(&body),
            "BatchExecuteStatement" => self.batch(&body, fault == Some(Fault::StatementThrottled)),
            other => Err(Refusal::new("UnknownOperationException", other)),
        };
        if fault == Some(Fault::AnswerLost) { Err(broken()) } else { answer }
    }

    fn next_fault(&mut self, operation: &str) -> Option<Fault> {
        let (fault, times) = self.faults.get_mut(operation).filter(|(_, times)| *times > 0)?;
        *times -= 1;
        Some(*fault)
    }

    fn table(&mut self, name: &str) -> Result<&mut Table, Refusal> {
        let missing = || {
            Refusal::new("ResourceNotFoundException", format!("Requested resource not found: Table: {name} not found"))
        };
        self.tables.get_mut(name).ok_or_else(missing)
    }

    fn describe(&mut self, body: &Value) -> Answer {
        let name = text(body, "TableName")?;
        Ok(json!({ "Table": self.table(name)?.describe(name) }))
    }

    fn scan(&mut self, body: &Value) -> Answer {
        if body.get("ConsistentRead").and_then(Value::as_bool) != Some(true) {
            self.stale_reads += 1;
        }
        let bytes = self.page;
        let limit = body.get("Limit").and_then(Value::as_u64).and_then(|limit| usize::try_from(limit).ok());
        let start = body.get("ExclusiveStartKey").and_then(Value::as_object);
        let filter = filter(body)?;
        let projection = body.get("ProjectionExpression").and_then(Value::as_str);
        let names: Option<BTreeSet<&str>> = projection.map(|names| names.split(',').map(str::trim).collect());
        let table = self.table(text(body, "TableName")?)?;
        let (page, next) = table.page(start, bytes, limit.unwrap_or(usize::MAX))?;
        let read = page.len();
        // The page is filled before the filter is looked at, so a page without items may have a successor.
        let kept =
            page.into_iter().filter(|item| filter.as_ref().is_none_or(|(name, value)| item.get(name) == Some(value)));
        let shown = |name: &String| names.as_ref().is_none_or(|names| names.contains(name.as_str()));
        let project = |item: &Item| -> Item {
            item.iter().filter(|(name, _)| shown(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        let items: Vec<Item> = kept.map(project).collect();
        let mut answer = json!({ "Count": items.len(), "ScannedCount": read, "Items": items });
        if let (Some(key), Some(answer)) = (next, answer.as_object_mut()) {
            answer.insert("LastEvaluatedKey".to_owned(), Value::Object(key));
        }
        Ok(answer)
    }

    fn execute(&mut self, body: &Value) -> Answer {
        let statement = statement(body)?;
        self.count(&statement);
        let items = self.table(statement.table())?.execute(statement);
        let items = items.map_err(|refusal| old_item(body, refusal))?;
        Ok(json!({ "Items": items }))
    }

    fn count(&mut self, statement: &Statement) {
        *self.calls.entry(statement.verb().to_owned()).or_default() += 1;
    }

    fn batch(&mut self, body: &Value, mut throttle: bool) -> Answer {
        let statements = body.get("Statements").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if statements.is_empty() || statements.len() > BATCH {
            return Err(Refusal::invalid(format!(
                "1 validation error detected: Value at 'statements' failed to satisfy constraint: Member must have length \
                 less than or equal to {BATCH} and greater than or equal to 1, not {}",
                statements.len()
            )));
        }
        let parsed: Vec<Result<Statement, Refusal>> = statements.iter().map(statement).collect();
        self.check_together(&parsed)?;
        let mut responses = Vec::new();
        for (request, statement) in statements.iter().zip(parsed) {
            let done = match statement {
                Ok(_) if std::mem::take(&mut throttle) => Err(throttled()),
                Ok(statement) => {
                    self.count(&statement);
                    let name = statement.table().to_owned();
                    let items = self.table(&name).and_then(|table| table.execute(statement));
                    items.map(|items| (name, items)).map_err(|refusal| old_item(request, refusal))
                }
                Err(refusal) => Err(refusal),
            };
            responses.push(match done {
                Ok((name, items)) => match items.into_iter().next() {
                    Some(item) => json!({ "TableName": name, "Item": item }),
                    None => json!({ "TableName": name }),
                },
                Err(refusal) => json!({ "Error": in_batch(refusal) }),
            });
        }
        Ok(json!({ "Responses": responses }))
    }

    /// Reads and writes do not go together, nor do two statements on one item.
    fn check_together(&mut self, statements: &[Result<Statement, Refusal>]) -> Result<(), Refusal> {
        let sound: Vec<&Statement> = statements.iter().filter_map(|statement| statement.as_ref().ok()).collect();
        let reads = sound.iter().filter(|statement| matches!(statement, Statement::Select { .. })).count();
        if reads != 0 && reads != sound.len() {
            return Err(Refusal::invalid("Batch requests cannot mix read and write statements"));
        }
        let mut seen = BTreeSet::new();
        for statement in sound {
            let name = statement.table().to_owned();
            let key = self.tables.get(&name).and_then(|table| table.key_of(statement).ok());
            if key.is_some_and(|key| !seen.insert((name, key))) {
                return Err(Refusal::invalid("Provided list of item keys contains duplicates"));
            }
        }
        Ok(())
    }
}

fn throttled() -> Refusal {
    Refusal::new(
        "ProvisionedThroughputExceededException",
        "The level of configured provisioned throughput for the table was exceeded",
    )
}

fn broken() -> Refusal {
    Refusal::new("InternalServerError", "Internal server error")
}

fn text<'a>(body: &'a Value, name: &str) -> Result<&'a str, Refusal> {
    let found = body.get(name).and_then(Value::as_str);
    found.ok_or_else(|| Refusal::invalid(format!("1 validation error detected: Value null at '{name}'")))
}

fn statement(body: &Value) -> Result<Statement, Refusal> {
    let parameters = body.get("Parameters").and_then(Value::as_array).cloned().unwrap_or_default();
    Statement::parse(text(body, "Statement")?, parameters)
}

/// `name = :value`, the one form of a filter that is known here.
fn filter(body: &Value) -> Result<Option<(String, Value)>, Refusal> {
    let Some(expression) = body.get("FilterExpression").and_then(Value::as_str) else { return Ok(None) };
    let unknown = || Refusal::invalid(format!("Invalid FilterExpression: {expression}"));
    let (name, value) = expression.split_once('=').ok_or_else(unknown)?;
    let value =
        body.get("ExpressionAttributeValues").and_then(|values| values.get(value.trim())).ok_or_else(unknown)?;
    Ok(Some((name.trim().to_owned(), value.clone())))
}

/// The item on which a condition failed is shown only if that was asked for.
fn old_item(request: &Value, refusal: Refusal) -> Refusal {
    let wanted = request.get("ReturnValuesOnConditionCheckFailure").and_then(Value::as_str) == Some("ALL_OLD");
    Refusal { item: refusal.item.filter(|_| wanted), ..refusal }
}

/// The same refusal as a batch names it.
fn in_batch(refusal: Refusal) -> Value {
    let code = match refusal.code {
        "ConditionalCheckFailedException" => "ConditionalCheckFailed",
        "DuplicateItemException" => "DuplicateItem",
        "ProvisionedThroughputExceededException" => "ProvisionedThroughputExceeded",
        "ResourceNotFoundException" => "ResourceNotFound",
        "ValidationException" => "ValidationError",
        other => other,
    };
    let mut error = json!({ "Code": code, "Message": refusal.message });
    if let (Some(item), Some(error)) = (refusal.item, error.as_object_mut()) {
        error.insert("Item".to_owned(), Value::Object(item));
    }
    error
}
