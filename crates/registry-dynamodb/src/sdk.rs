//! The table service as the AWS SDK's client reaches it.
//!
//! In: the calls of [`TableService`]. Out: requests of the service, in `PartiQL` as external-dns writes them, and its answers.

use std::collections::HashMap;

use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{BuildError, DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::{
    AttributeValue, BatchStatementError, BatchStatementRequest, KeyType, ReturnValuesOnConditionCheckFailure,
    TableDescription,
};
use zonewright_core::Result;
use zonewright_core::error::{Error, ErrorKind};

use super::error::{about, of_code};
use super::service::{Item, Page, Schema, Statement, StatementError, TableService, Value};
use super::table::{DESCRIBE, WRITE};

const READ: &str = "read the table of claims";

/// A client, and the table that it asks for.
#[derive(Debug, Clone)]
pub(crate) struct SdkService {
    pub(crate) client: Client,
    pub(crate) table: String,
}

#[async_trait]
impl TableService for SdkService {
    async fn describe(&self) -> Result<Schema> {
        let answer = self.client.describe_table().table_name(&self.table).send().await;
        let answer = answer.map_err(|error| of_call(DESCRIBE, &self.table, error))?;
        answer.table().map(schema).ok_or_else(|| {
            let text = format!("table {:?} was not described in the answer", self.table);
            Error::new(ErrorKind::Configuration, DESCRIBE, text)
        })
    }

    async fn scan(&self, start: Option<&Item>) -> Result<Page> {
        let start = start.map(|item| item.iter().map(|(name, value)| (name.clone(), sent(value))).collect());
        let scan = self.client.scan().table_name(&self.table).consistent_read(true);
        let page = scan.projection_expression("k,o,l").set_exclusive_start_key(start).send().await;
        let page = page.map_err(|error| of_call(READ, &self.table, error))?;
        Ok(Page {
            items: page.items.unwrap_or_default().into_iter().map(item).collect(),
            last: page.last_evaluated_key.filter(|key| !key.is_empty()).map(item),
        })
    }

    async fn execute(&self, statements: &[Statement]) -> Result<Vec<Option<StatementError>>> {
        let requests: Result<Vec<BatchStatementRequest>, BuildError> =
            statements.iter().map(|statement| self.request(statement)).collect();
        let requests = requests.map_err(|error| Error::new(ErrorKind::Invalid, WRITE, error.to_string()))?;
        let answer = self.client.batch_execute_statement().set_statements(Some(requests)).send().await;
        let answer = answer.map_err(|error| of_call(WRITE, &self.table, error))?;
        Ok(answer.responses.unwrap_or_default().into_iter().map(|response| response.error.map(refusal)).collect())
    }
}

impl SdkService {
    /// The statements of external-dns, with the owner in every condition.
    fn request(&self, statement: &Statement) -> Result<BatchStatementRequest, BuildError> {
        let table = &self.table;
        let text = |text: &String| AttributeValue::S(text.clone());
        let map = |labels: &std::collections::BTreeMap<String, String>| {
            AttributeValue::M(labels.iter().map(|(key, value)| (key.clone(), text(value))).collect())
        };
        let (statement, parameters) = match statement {
            Statement::Insert { key, owner, labels } => (
                format!("INSERT INTO \"{table}\" VALUE {{'k':?, 'o':?, 'l':?}}"),
                vec![text(key), text(owner), map(labels)],
            ),
            Statement::Update { key, owner, becomes: None, labels } => (
                format!("UPDATE \"{table}\" SET \"l\"=? WHERE \"k\"=? AND \"o\"=?"),
                vec![map(labels), text(key), text(owner)],
            ),
            Statement::Update { key, owner, becomes: Some(next), labels } => (
                format!("UPDATE \"{table}\" SET \"o\"=? SET \"l\"=? WHERE \"k\"=? AND \"o\"=?"),
                vec![text(next), map(labels), text(key), text(owner)],
            ),
            Statement::Delete { key, owner } => {
                (format!("DELETE FROM \"{table}\" WHERE \"k\"=? AND \"o\"=?"), vec![text(key), text(owner)])
            }
        };
        BatchStatementRequest::builder()
            .statement(statement)
            .set_parameters(Some(parameters))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .build()
    }
}

fn refusal(refusal: BatchStatementError) -> StatementError {
    StatementError {
        code: refusal.code.as_ref().map_or("an error without a code", |code| code.as_str()).to_owned(),
        message: refusal.message.unwrap_or_else(|| "no more was said".to_owned()),
        item: refusal.item.map(item),
    }
}

fn schema(table: &TableDescription) -> Schema {
    let attributes = table.attribute_definitions().iter();
    let of = |kind: KeyType| {
        let keys = table.key_schema().iter().filter(move |key| *key.key_type() == kind);
        keys.map(|key| key.attribute_name().to_owned()).collect()
    };
    Schema {
        attributes: attributes
            .map(|of| (of.attribute_name().to_owned(), of.attribute_type().as_str().to_owned()))
            .collect(),
        hash: of(KeyType::Hash),
        range: of(KeyType::Range),
    }
}

fn item(attributes: HashMap<String, AttributeValue>) -> Item {
    attributes.into_iter().map(|(name, value)| (name, read(value))).collect()
}

fn read(value: AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => Value::Text(text),
        AttributeValue::M(map) => Value::Map(item(map)),
        _ => Value::Other,
    }
}

fn sent(value: &Value) -> AttributeValue {
    match value {
        Value::Text(text) => AttributeValue::S(text.clone()),
        Value::Map(map) => AttributeValue::M(map.iter().map(|(name, value)| (name.clone(), sent(value))).collect()),
        Value::Other => AttributeValue::Null(true),
    }
}

/// The error of a call that failed as a whole.
fn of_call<E>(operation: &'static str, table: &str, error: SdkError<E>) -> Error
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    match &error {
        SdkError::ServiceError(answer) => {
            let code = answer.err().code().unwrap_or("an error without a code");
            let message = answer.err().message().unwrap_or("no more was said");
            let server = answer.raw().status().is_server_error();
            of_code(operation, table, code, message, server)
        }
        SdkError::TimeoutError(_) => Error::new(ErrorKind::Timeout, operation, about(table, "no answer in time")),
        SdkError::ResponseError(_) => {
            Error::new(ErrorKind::Protocol, operation, about(table, "the answer cannot be read")).caused_by(error)
        }
        // The chain of causes is not shown by the SDK unless asked.
        other => {
            let timeout = matches!(other, SdkError::DispatchFailure(failure) if failure.is_timeout());
            let kind = if timeout { ErrorKind::Timeout } else { ErrorKind::Unavailable };
            Error::new(kind, operation, about(table, &DisplayErrorContext(&error).to_string()))
        }
    }
}
