//! Amazon DynamoDB, as far as an ownership registry needs it: `DescribeTable`, `Scan`, `ExecuteStatement` and
//! `BatchExecuteStatement` in JSON 1.0.
//!
//! Enforced: signed requests, key schemas, key types and sizes, 25 statements a batch, no two of them on one item, no reads
//! among writes, conditions, pages by size before the filter. Faults are made on demand ([`DynamoDb::fail`]).

mod calls;
mod partiql;
mod table;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::server::Server;
use calls::Service;
use table::Refusal;
pub use table::{Item, Schema};

/// What goes wrong with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The call is refused: too many requests.
    Throttled,
    /// One statement of a batch is refused so, the others are carried out.
    StatementThrottled,
    /// The caller lacks the right.
    Denied,
    /// The service fails, and nothing is carried out.
    Broken,
    /// The call is carried out, and its answer is an error all the same.
    AnswerLost,
}

/// The service on loopback. It ends when it is dropped.
#[derive(Debug)]
pub struct DynamoDb {
    server: Server,
    service: Arc<Mutex<Service>>,
}

impl DynamoDb {
    /// The service without tables.
    ///
    /// # Panics
    /// As [`Server::start`].
    pub fn start() -> Self {
        let service = Arc::new(Mutex::new(Service::default()));
        let router = Router::new().fallback(answer).with_state(service.clone());
        Self { server: Server::start(router), service }
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        self.server.url()
    }

    fn service(&self) -> MutexGuard<'_, Service> {
        self.service.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an empty table.
    pub fn create_table(&self, name: &str, schema: Schema) {
        self.service().tables.insert(name.to_owned(), table::Table::new(schema));
    }

    /// Takes a table away; returns its items for [`DynamoDb::put`].
    pub fn drop_table(&self, name: &str) -> Vec<Item> {
        self.service().tables.remove(name).map(|table| table.items().cloned().collect()).unwrap_or_default()
    }

    /// Puts an item in place, past every rule.
    ///
    /// # Panics
    /// If there is no such table, or the item lacks the key: a mistake of the test.
    pub fn put(&self, table: &str, item: Item) {
        let mut service = self.service();
        let table = service.tables.get_mut(table).expect("the test names a table that it created");
        table.put(item).expect("the test gives an item with the key");
    }

    /// Takes an item out by the text of its hash key.
    pub fn remove(&self, table: &str, key: &str) -> Option<Item> {
        self.service().tables.get_mut(table)?.remove(key)
    }

    /// Every item of a table in the order of the keys; none if there is no such table.
    pub fn items(&self, table: &str) -> Vec<Item> {
        self.service().tables.get(table).map(|table| table.items().cloned().collect()).unwrap_or_default()
    }

    /// How many bytes a page of a scan reads at most; 1 MiB if never set.
    pub fn set_page(&self, bytes: usize) {
        self.service().page = bytes;
    }

    /// Lets the next `times` calls of `operation` (`Scan`, ...) fail; 0 ends all faults of the operation.
    pub fn fail(&self, operation: &str, fault: Fault, times: usize) {
        self.service().faults.insert(operation.to_owned(), (fault, times));
    }

    /// How often each operation was called, and under `INSERT`, `UPDATE`, `DELETE`, `SELECT` how many statements were sent.
    pub fn calls(&self) -> BTreeMap<String, usize> {
        self.service().calls.clone()
    }

    /// How many scans did not ask for a consistent read.
    pub fn stale_reads(&self) -> usize {
        self.service().stale_reads
    }
}

async fn answer(State(service): State<Arc<Mutex<Service>>>, headers: HeaderMap, body: Bytes) -> Response {
    let mut service = service.lock().unwrap_or_else(PoisonError::into_inner);
    let answer = match operation(&headers) {
        Ok(operation) => service.call(operation, &body),
        Err(refusal) => Err(refusal),
    };
    let (status, body) = match answer {
        Ok(body) => (StatusCode::OK, body),
        Err(refusal) => (refusal.status(), refusal.body()),
    };
    let kind = [("content-type", "application/x-amz-json-1.0"), ("x-amzn-requestid", "FAKE")];
    (status, kind, body.to_string()).into_response()
}

/// The operation that signed headers name.
fn operation(headers: &HeaderMap) -> Result<&str, Refusal> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !header("authorization").starts_with("AWS4-HMAC-SHA256 ") {
        return Err(Refusal::new("MissingAuthenticationTokenException", "Request is missing Authentication Token"));
    }
    let target = header("x-amz-target").strip_prefix("DynamoDB_20120810.");
    target.ok_or_else(|| Refusal::new("UnknownOperationException", ""))
}

impl Refusal {
    fn status(&self) -> StatusCode {
        if self.code == "InternalServerError" { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::BAD_REQUEST }
    }

    fn body(&self) -> Value {
        let kind = format!("com.amazonaws.dynamodb.v20120810#{}", self.code);
        let mut body = json!({ "__type": kind, "message": self.message });
        if let (Some(item), Some(body)) = (&self.item, body.as_object_mut()) {
            body.insert("Item".to_owned(), Value::Object(item.clone()));
        }
        body
    }
}
