//! What the registry asks of the table service: few calls, so that another service, or a model of it, can stand in its place.
//!
//! In: a description, a page of rows, statements. Out: answers as the service gives them; what they mean is judged in `table`.
//! What must hold: nothing is repeated here, and a statement takes effect only if its condition holds at that very moment.

use std::collections::BTreeMap;
use std::fmt::Debug;

use async_trait::async_trait;
use zonewright_core::Result;

/// An attribute of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A text (`S`).
    Text(String),
    /// A map (`M`).
    Map(BTreeMap<String, Value>),
    /// Anything else: no row of claims has it.
    Other,
}

/// A row: its attributes by name. `k` is its key, `o` the owner, `l` the labels.
pub type Item = BTreeMap<String, Value>;

/// Some rows, and where to go on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// The rows of this page.
    pub items: Vec<Item>,
    /// The key of the last row looked at; `None` after the last page.
    pub last: Option<Item>,
}

/// The shape of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schema {
    /// The attributes of keys: name and type (`S`, `N`, `B`).
    pub attributes: Vec<(String, String)>,
    /// The attributes of the hash key.
    pub hash: Vec<String>,
    /// Those of the range key, if there is one.
    pub range: Vec<String>,
}

/// A conditional write of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    /// A new row; refused as `DuplicateItem` where one has the key.
    Insert {
        /// The hash key.
        key: String,
        /// The attribute `o`.
        owner: String,
        /// The attribute `l`.
        labels: BTreeMap<String, String>,
    },
    /// Other attributes for the row of `owner`; refused as `ConditionalCheckFailed` where it is gone or another's.
    Update {
        /// The hash key.
        key: String,
        /// What the attribute `o` must be.
        owner: String,
        /// What it becomes, if it changes.
        becomes: Option<String>,
        /// What the attribute `l` becomes.
        labels: BTreeMap<String, String>,
    },
    /// The row of `owner` goes; refused as `ConditionalCheckFailed` where it is another's. That it is gone is no error.
    Delete {
        /// The hash key.
        key: String,
        /// What the attribute `o` must be.
        owner: String,
    },
}

/// Why one statement was not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementError {
    /// The service's code, such as `ConditionalCheckFailed` or `ThrottlingError`.
    pub code: String,
    /// The service's words.
    pub message: String,
    /// The row on which a condition failed, if there is one.
    pub item: Option<Item>,
}

/// The calls of the service, on one table. The shipped one is the AWS SDK's client.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Operations.html>
#[async_trait]
pub trait TableService: Debug + Send + Sync {
    /// The shape of the table (`DescribeTable`).
    ///
    /// # Errors
    /// The call failed, or there is no such table.
    async fn describe(&self) -> Result<Schema>;

    /// The rows after the key `start`, as they are now (`Scan`, consistently); from the first one on without it.
    ///
    /// # Errors
    /// The call failed. [`zonewright_core::ErrorKind::Throttled`] if it may be made again after a pause.
    async fn scan(&self, start: Option<&Item>) -> Result<Page>;

    /// Carries out up to 25 statements, no two of one row, each for itself (`BatchExecuteStatement`). One answer for each, in
    /// order: `None` where it is in force. Where the answer is shorter, nothing is known of the rest.
    ///
    /// # Errors
    /// The call failed: of [`zonewright_core::ErrorKind::Throttled`] nothing was carried out, of others nothing is known.
    async fn execute(&self, statements: &[Statement]) -> Result<Vec<Option<StatementError>>>;
}
