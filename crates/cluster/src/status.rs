//! Writes the status of a custom resource.
//!
//! In comes what the status shall say; out goes one PUT of the `status` subresource, over the object as it stands, so that
//! nobody else's fields are lost. A write that met another one is tried again by whoever asks; nothing rests on it.

use http::Method;
use serde_json::Value;
use zonewright_core::{Error, ErrorKind, Result};

use crate::cluster::Cluster;
use crate::object;
use crate::watch::{WatchKey, WatchSpec};

impl Cluster {
    /// Brings fields of an object's status to the values in `fields`; the others stay. Nothing is written where they are so
    /// already, or where the object has moved on to another `metadata.generation` than `generation`.
    ///
    /// # Errors
    /// The object cannot be read or written; the right `update` on the subresource may be missing. [`ErrorKind::Unsupported`] if the
    /// kind has no such subresource.
    pub async fn write_status(&self, kind: &WatchSpec, key: &WatchKey, generation: i64, fields: &Value) -> Result<()> {
        let path = object::path(kind, &key.namespace, &key.name);
        let place = format!("{} {}/{}", kind.kind, key.namespace, key.name);
        let failed = |failure: crate::api::Failure| failure.into_error("write status", &place);
        let mut object: Value = self.read(&path).await.map_err(failed)?;
        let current = object.pointer("/metadata/generation").and_then(Value::as_i64);
        if current != Some(generation) || !merge(&mut object, fields) {
            return Ok(());
        }
        match self.write::<Value>(Method::PUT, &format!("{path}/status"), &object).await {
            Ok(_) => Ok(()),
            Err(failure) if failure.code() == Some(404) && self.is_still_there(&path, &object).await => {
                let text = format!("{place}: the object is there, and its kind has no subresource `status`");
                Err(Error::new(ErrorKind::Unsupported, "write status", text))
            }
            Err(failure) => Err(failed(failure)),
        }
    }

    /// The API server says the same, that the object is not found, where the object is gone and where only the subresource is missing.
    async fn is_still_there(&self, path: &str, object: &Value) -> bool {
        let uid = |object: &Value| object.pointer("/metadata/uid").cloned();
        self.read::<Value>(path).await.is_ok_and(|now| uid(&now) == uid(object))
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
    use crate::fake::{Fake, Step};

    #[tokio::test(start_paused = true)]
    async fn a_kind_without_the_subresource_is_told_from_an_object_that_is_gone() {
        let kind = WatchSpec::new("externaldns.k8s.io", "v1alpha1", "dnsendpoints", "DNSEndpoint", true);
        let key = WatchKey { namespace: "a".to_owned(), name: "e".to_owned(), uid: String::new() };
        let path = "/apis/externaldns.k8s.io/v1alpha1/namespaces/a/dnsendpoints/e";
        let (get, put) = (format!("GET {path}"), format!("PUT {path}/status"));
        let there = |uid: &str| Step::json(&get, &json!({"metadata": {"uid": uid, "generation": 1}}));
        let none =
            |request: &str| Step::refused(request, 404, "NotFound", "dnsendpoints.externaldns.k8s.io \"e\" not found");
        for (then, expected) in [
            (there("u-1"), ErrorKind::Unsupported),
            (there("u-2"), ErrorKind::NotFound),
            (none(&get), ErrorKind::NotFound),
        ] {
            let fake = Fake::new(vec![there("u-1"), none(&put), then]);
            let written = fake.cluster().write_status(&kind, &key, 1, &json!({"observedGeneration": 1})).await;
            assert_eq!(written.unwrap_err().kind, expected);
        }
    }

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
