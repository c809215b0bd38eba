//! Writes the status of a custom resource.
//!
//! In comes what the status shall say; out goes one PUT of the `status` subresource, over the object as it stands, so that
//! nobody else's fields are lost. A write that met another one is tried again by whoever asks; nothing rests on it.

use http::Method;
use serde_json::Value;
use zonewright_core::Result;

use crate::cluster::Cluster;
use crate::object;
use crate::watch::{WatchKey, WatchSpec};

impl Cluster {
    /// Brings fields of an object's status to the values in `fields`; the others stay. Nothing is written where they are so
    /// already, or where the object has moved on to another `metadata.generation` than `generation`.
    ///
    /// # Errors
    /// The object cannot be read or written; the right `update` on the subresource may be missing.
    pub async fn write_status(&self, kind: &WatchSpec, key: &WatchKey, generation: i64, fields: &Value) -> Result<()> {
        let path = object::path(kind, &key.namespace, &key.name);
        let place = format!("{} {}/{}", kind.kind, key.namespace, key.name);
        let failed = |failure: crate::api::Failure| failure.into_error("write status", &place);
        let mut object: Value = self.read(&path).await.map_err(failed)?;
        let current = object.pointer("/metadata/generation").and_then(Value::as_i64);
        if current != Some(generation) || !merge(&mut object, fields) {
            return Ok(());
        }
        self.write::<Value>(Method::PUT, &format!("{path}/status"), &object).await.map(drop).map_err(failed)
    }
}

/// Puts the fields into the object's status; returns whether anything changed by it.
fn merge(object: &mut Value, fields: &Value) -> bool {
    let (Some(object), Some(fields)) = (object.as_object_mut(), fields.as_object()) else { return false };
    let status = object.entry("status").or_insert_with(|| Value::Object(serde_json::Map::default()));
    let Some(status) = status.as_object_mut() else { return false };
    let mut changed = false;
    for (name, value) in fields {
        if status.get(name) != Some(value) {
            status.insert(name.clone(), value.clone());
            changed = true;
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn other_fields_of_the_status_stay() {
        let mut object = json!({"metadata": {"generation": 2}, "status": {"other": 1, "observedGeneration": 1}});
        assert!(merge(&mut object, &json!({"observedGeneration": 2})));
        assert_eq!(object["status"], json!({"other": 1, "observedGeneration": 2}));
        assert!(!merge(&mut object, &json!({"observedGeneration": 2})), "nothing to write");
        let mut fresh = json!({"metadata": {}});
        assert!(merge(&mut fresh, &json!({"a": 1})));
        assert_eq!(fresh["status"], json!({"a": 1}));
        assert!(!merge(&mut json!([]), &json!({"a": 1})) && !merge(&mut json!({"status": 1}), &json!({"a": 1})));
    }
}
