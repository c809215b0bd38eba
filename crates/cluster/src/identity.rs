//! What distinguishes one cluster from every other: the UID of the namespace `kube-system`, which lasts as long as the cluster.

use serde::Deserialize;
use zonewright_core::{Error, ErrorKind, Result, Retry};

use crate::cluster::Cluster;

/// The namespace that every cluster has, and that nobody makes anew.
const NAMESPACE: &str = "kube-system";

#[derive(Debug, Deserialize)]
struct Namespace {
    metadata: Metadata,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    #[serde(default)]
    uid: String,
}

impl Cluster {
    /// The UID of the namespace `kube-system`. Needs the right to `get` that namespace.
    ///
    /// # Errors
    /// The API server is out of reach, refuses, or answers without a UID. Each may pass: ask again.
    pub async fn uid(&self) -> Result<String> {
        let operation = "read the cluster's identity";
        let path = format!("/api/v1/namespaces/{NAMESPACE}");
        let place = format!("namespace {NAMESPACE}");
        let found: Namespace =
            self.read(&path).await.map_err(|failure| failure.into_error(operation, &place).retry(Retry::Backoff))?;
        if found.metadata.uid.is_empty() {
            return Err(Error::new(ErrorKind::Protocol, operation, format!("{place} has no UID")).retry(Retry::Backoff));
        }
        Ok(found.metadata.uid)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::fake::{Fake, Step};

    const REQUEST: &str = "GET /api/v1/namespaces/kube-system";

    #[tokio::test(start_paused = true)]
    async fn the_uid_or_what_is_wrong() {
        let named = |uid: &str| json!({ "metadata": { "name": "kube-system", "uid": uid } });
        for (answer, expected) in
            [(named("6f1c-1"), Ok("6f1c-1")), (named(""), Err("namespace kube-system has no UID"))]
        {
            let fake = Fake::new(vec![Step::json(REQUEST, &answer)]);
            match (fake.cluster().uid().await, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected),
                (Err(found), Err(expected)) => assert!(found.chain().contains(expected), "{}", found.chain()),
                (found, _) => panic!("{found:?}"),
            }
        }
    }
}
