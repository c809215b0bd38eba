//! Single objects: reading one, and changing a part of one.
//!
//! In: a kind, a name, and for a change the JSON merge patch (RFC 7386). Out: the object as it stands afterwards, in the
//! caller's own small type. What must hold: fields that a patch does not name stay as they are, also those that the caller's
//! type does not know; a patch that names `metadata.resourceVersion` is refused with [`ErrorKind::Conflict`] where the object
//! has moved on.
//!
//! [`ErrorKind::Conflict`]: zonewright_core::ErrorKind::Conflict

use http::Method;
use serde::de::DeserializeOwned;
use serde_json::Value;
use zonewright_core::Result;

use crate::cluster::Cluster;
use crate::watch::WatchSpec;

impl Cluster {
    /// The object of this name; `None` if the API server says that there is none. `namespace` is empty for a kind outside
    /// namespaces.
    ///
    /// # Errors
    /// It cannot be read, or does not fit the type.
    pub async fn object<T: DeserializeOwned>(
        &self,
        kind: &WatchSpec,
        namespace: &str,
        name: &str,
    ) -> Result<Option<T>> {
        match self.read(&path(kind, namespace, name)).await {
            Ok(found) => Ok(Some(found)),
            // Only the API server's own word that the object is missing: a 404 of a proxy is none.
            Err(failure) if failure.reason() == "NotFound" => Ok(None),
            Err(failure) => Err(failure.into_error("read object", &place(kind, namespace, name))),
        }
    }

    /// Merges a patch into an object, or into its status.
    ///
    /// # Errors
    /// [`zonewright_core::ErrorKind::NotFound`] if there is no such object, [`zonewright_core::ErrorKind::Conflict`] if the
    /// patch names a resource version that is not the object's.
    pub async fn merge<T: DeserializeOwned>(
        &self,
        kind: &WatchSpec,
        (namespace, name): (&str, &str),
        part: PatchTarget,
        change: &Value,
    ) -> Result<T> {
        let mut resource = path(kind, namespace, name);
        if part == PatchTarget::Status {
            resource.push_str("/status");
        }
        let merged = self.write(Method::PATCH, &resource, change).await;
        merged.map_err(|failure| failure.into_error("change object", &place(kind, namespace, name)))
    }
}

/// What of an object a patch is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchTarget {
    /// Metadata and spec.
    Object,
    /// The `status` subresource.
    Status,
}

/// `DNSRecord ns/name`, for messages.
fn place(kind: &WatchSpec, namespace: &str, name: &str) -> String {
    if namespace.is_empty() { format!("{} {name}", kind.kind) } else { format!("{} {namespace}/{name}", kind.kind) }
}

/// The path of an object; `namespace` is empty for a kind outside namespaces.
pub(crate) fn path(kind: &WatchSpec, namespace: &str, name: &str) -> String {
    let root = if kind.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", kind.group) };
    let (version, plural) = (&kind.version, &kind.plural);
    match namespace {
        "" => format!("{root}/{version}/{plural}/{name}"),
        namespace => format!("{root}/{version}/namespaces/{namespace}/{plural}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use zonewright_core::ErrorKind;

    use super::*;
    use crate::fake::{Fake, Step};

    fn records() -> WatchSpec {
        WatchSpec::new("extensions.gardener.cloud", "v1alpha1", "dnsrecords", "DNSRecord", true)
    }

    const PATH: &str = "/apis/extensions.gardener.cloud/v1alpha1/namespaces/ns/dnsrecords/a";

    #[test]
    fn paths() {
        assert_eq!(path(&records(), "ns", "a"), PATH);
        assert_eq!(path(&WatchSpec::new("", "v1", "pods", "Pod", true), "ns", "a"), "/api/v1/namespaces/ns/pods/a");
        let clusters = WatchSpec::new("extensions.gardener.cloud", "v1alpha1", "clusters", "Cluster", false);
        assert_eq!(path(&clusters, "", "c"), "/apis/extensions.gardener.cloud/v1alpha1/clusters/c");
    }

    #[tokio::test(start_paused = true)]
    async fn a_missing_object_is_none_and_a_proxys_404_is_not() {
        let read = |step| async move { Fake::new(vec![step]).cluster().object::<Value>(&records(), "ns", "a").await };
        let line = format!("GET {PATH}");
        assert_eq!(read(Step::json(&line, &json!({ "spec": 1 }))).await.unwrap(), Some(json!({ "spec": 1 })));
        assert_eq!(read(Step::refused(&line, 404, "NotFound", "gone")).await.unwrap(), None);
        let error = read(Step::text(&line, 404, "<html>")).await.unwrap_err();
        assert!(error.to_string().contains("DNSRecord ns/a"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn patches_go_to_the_object_or_to_its_status() {
        let fake = Fake::new(vec![
            Step::json(&format!("PATCH {PATH}"), &json!({})),
            Step::refused(&format!("PATCH {PATH}/status"), 409, "Conflict", "the object has been modified"),
        ]);
        let (cluster, patch) = (fake.cluster(), json!({ "metadata": { "resourceVersion": "7" } }));
        cluster.merge::<Value>(&records(), ("ns", "a"), PatchTarget::Object, &patch).await.unwrap();
        let error = cluster.merge::<Value>(&records(), ("ns", "a"), PatchTarget::Status, &patch).await.unwrap_err();
        assert_eq!((error.kind, fake.sent(0)), (ErrorKind::Conflict, patch));
    }
}
