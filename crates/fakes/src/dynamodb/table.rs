//! Tables and what one statement does to an item.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::partiql::{Condition, Operand, Statement};

/// An item: attribute names and typed values (`{"S": ".."}`).
pub type Item = Map<String, Value>;

/// Longest hash key in bytes.
const KEY_BYTES: usize = 2048;
/// Largest item in bytes.
const ITEM_BYTES: usize = 400 * 1024;

/// An error of the service.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    /// The name of the exception, without its namespace.
    pub(super) code: &'static str,
    pub(super) message: String,
    /// The item on which a condition failed, where that was asked for.
    pub(super) item: Option<Item>,
}

impl Refusal {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), item: None }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new("ValidationException", message)
    }
}

/// The key of a table: attributes with their types, the hash key first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// Name and type (`S`, `N`, `B`) of the hash key.
    pub hash: (String, String),
    /// The same of the range key, if there is one.
    pub range: Option<(String, String)>,
}

impl Schema {
    /// A hash key and no range key.
    pub fn hash(name: &str, kind: &str) -> Self {
        Self { hash: (name.to_owned(), kind.to_owned()), range: None }
    }

    fn attributes(&self) -> impl Iterator<Item = &(String, String)> {
        std::iter::once(&self.hash).chain(&self.range)
    }
}

/// A table.
#[derive(Debug)]
pub(super) struct Table {
    schema: Schema,
    items: BTreeMap<Vec<String>, Item>,
}

impl Table {
    pub(super) fn new(schema: Schema) -> Self {
        Self { schema, items: BTreeMap::new() }
    }

    pub(super) fn items(&self) -> impl Iterator<Item = &Item> {
        self.items.values()
    }

    pub(super) fn put(&mut self, item: Item) -> Result<(), Refusal> {
        self.items.insert(self.key(&item)?, item);
        Ok(())
    }

    pub(super) fn remove(&mut self, key: &str) -> Option<Item> {
        self.items.remove(&vec![key.to_owned()])
    }

    /// What `DescribeTable` says of it.
    pub(super) fn describe(&self, name: &str) -> Value {
        let kinds = ["HASH", "RANGE"];
        let schema = self.schema.attributes().zip(kinds);
        let schema: Vec<Value> =
            schema.map(|((name, _), kind)| json!({ "AttributeName": name, "KeyType": kind })).collect();
        let attributes = self.schema.attributes();
        let attributes: Vec<Value> =
            attributes.map(|(name, kind)| json!({ "AttributeName": name, "AttributeType": kind })).collect();
        json!({
            "TableName": name,
            "TableStatus": "ACTIVE",
            "KeySchema": schema,
            "AttributeDefinitions": attributes,
            "ItemCount": self.items.len(),
        })
    }

    /// The items after `start`, as many as fit a page, and where the next page starts.
    pub(super) fn page(
        &self,
        start: Option<&Item>,
        bytes: usize,
        limit: usize,
    ) -> Result<(Vec<&Item>, Option<Item>), Refusal> {
        let after = start.map(|item| self.key(item)).transpose()?;
        let (mut page, mut size, mut last) = (Vec::new(), 0, None);
        let rest = self.items.iter().filter(|(key, _)| after.as_ref().is_none_or(|after| *key > after));
        for (_, item) in rest {
            if !page.is_empty() && (size >= bytes || page.len() >= limit) {
                return Ok((page, last));
            }
            size += bytes_of(&Value::Object(item.clone()));
            let key = self.schema.attributes().filter_map(|(name, _)| Some((name.clone(), item.get(name)?.clone())));
            last = Some(key.collect());
            page.push(item);
        }
        Ok((page, None))
    }

    /// The values of the key attributes.
    fn key(&self, item: &Item) -> Result<Vec<String>, Refusal> {
        let part = |(name, kind): &(String, String)| {
            let value = item
                .get(name)
                .ok_or_else(|| Refusal::invalid(format!("One of the required keys was not given a value: {name}")))?;
            let text = value.get(kind).and_then(Value::as_str).ok_or_else(|| {
                Refusal::invalid(format!("Type mismatch for key {name} expected: {kind} actual: {value}"))
            })?;
            match text.len() {
                0 => {
                    Err(Refusal::invalid(format!("A key attribute cannot contain an empty string value. Key: {name}")))
                }
                1..=KEY_BYTES => Ok(text.to_owned()),
                _ => Err(Refusal::invalid("Size of hashkey has exceeded the maximum size limit of2048 bytes")),
            }
        };
        self.schema.attributes().map(part).collect()
    }

    /// The key of the item that a statement is about.
    pub(super) fn key_of(&self, statement: &Statement) -> Result<Vec<String>, Refusal> {
        match statement {
            Statement::Insert { values, .. } => self.key(&values.iter().cloned().collect()),
            Statement::Update { conditions, .. }
            | Statement::Delete { conditions, .. }
            | Statement::Select { conditions, .. } => {
                let named: Item = conditions.iter().map(|c| (c.attribute.clone(), c.value.clone())).collect();
                self.key(&named).map_err(|_| {
                    Refusal::invalid("Where clause does not contain a mandatory equality on all key attributes")
                })
            }
        }
    }

    /// Carries a statement out; the items that it selects.
    pub(super) fn execute(&mut self, statement: Statement) -> Result<Vec<Item>, Refusal> {
        let key = self.key_of(&statement)?;
        match statement {
            Statement::Insert { values, .. } => self.insert(key, values).map(|()| Vec::new()),
            Statement::Update { sets, conditions, .. } => self.update(&key, sets, &conditions).map(|()| Vec::new()),
            Statement::Delete { conditions, .. } => {
                if self.items.get(&key).is_some_and(|item| !meets(item, &conditions)) {
                    return Err(self.failed(&key));
                }
                self.items.remove(&key);
                Ok(Vec::new())
            }
            Statement::Select { conditions, .. } => {
                Ok(self.items.get(&key).filter(|item| meets(item, &conditions)).cloned().into_iter().collect())
            }
        }
    }

    fn insert(&mut self, key: Vec<String>, values: Vec<(String, Value)>) -> Result<(), Refusal> {
        if self.items.contains_key(&key) {
            return Err(Refusal::new("DuplicateItemException", "Duplicate primary key exists in table"));
        }
        let item = sound(values.into_iter().collect())?;
        self.items.insert(key, item);
        Ok(())
    }

    fn update(&mut self, key: &[String], sets: Vec<(String, Value)>, conditions: &[Condition]) -> Result<(), Refusal> {
        if let Some((name, _)) = sets.iter().find(|(name, _)| self.schema.attributes().any(|(key, _)| key == name)) {
            return Err(Refusal::invalid(format!("Cannot update attribute {name}. This attribute is part of the key")));
        }
        let Some(item) = self.items.get(key).filter(|item| meets(item, conditions)) else {
            return Err(self.failed(key));
        };
        let item = sound(item.clone().into_iter().chain(sets).collect())?;
        self.items.insert(key.to_vec(), item);
        Ok(())
    }

    fn failed(&self, key: &[String]) -> Refusal {
        let item = self.items.get(key).cloned();
        Refusal { item, ..Refusal::new("ConditionalCheckFailedException", "The conditional request failed") }
    }
}

fn meets(item: &Item, conditions: &[Condition]) -> bool {
    conditions.iter().all(|condition| item.get(&condition.attribute) == Some(&condition.value))
}

/// An item whose size and types are allowed.
fn sound(item: Item) -> Result<Item, Refusal> {
    item.values().try_for_each(typed)?;
    if bytes_of(&Value::Object(item.clone())) > ITEM_BYTES {
        return Err(Refusal::invalid("Item size has exceeded the maximum allowed size"));
    }
    Ok(item)
}

/// Whether a value is one typed value of the wire format.
pub(super) fn typed(value: &Value) -> Result<(), Refusal> {
    let wrong = || Refusal::invalid(format!("Supplied AttributeValue is not of a known type: {value}"));
    let object = value.as_object().filter(|object| object.len() == 1).ok_or_else(wrong)?;
    let (kind, inner) = object.iter().next().ok_or_else(wrong)?;
    match (kind.as_str(), inner) {
        ("S" | "N" | "B", Value::String(_)) | ("BOOL", Value::Bool(_)) | ("NULL", Value::Bool(true)) => Ok(()),
        ("M", Value::Object(map)) => map.values().try_for_each(typed),
        ("L", Value::Array(list)) => list.iter().try_for_each(typed),
        _ => Err(wrong()),
    }
}

/// About what a value weighs: names and texts.
fn bytes_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(bytes_of).sum(),
        Value::Object(map) => map.iter().map(|(name, value)| name.len() + bytes_of(value)).sum(),
        _ => 1,
    }
}

/// A statement with its parameters in place.
pub(super) fn bind(operand: Operand, parameters: &mut impl Iterator<Item = Value>) -> Result<Value, Refusal> {
    let value = match operand {
        Operand::Text(text) => json!({ "S": text }),
        Operand::Parameter => parameters
            .next()
            .ok_or_else(|| Refusal::invalid("Number of parameters in request and statement don't match."))?,
    };
    typed(&value)?;
    Ok(value)
}
