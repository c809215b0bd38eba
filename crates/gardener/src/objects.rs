//! The API server, as far as an operation needs it. A trait, so that operations are tested against one that is a value, and that
//! can end the process between any two calls.

use async_trait::async_trait;
use serde_json::Value;
use zonewright_cluster::{Cluster, PatchTarget};
use zonewright_core::Result;

use crate::secret::SecretValues;
use crate::types::{self, DnsRecord, RecordName, SecretObject, SecretRef};

/// Reads and changes objects.
#[async_trait]
pub trait Objects: Send + Sync {
    /// A DNSRecord as it stands; `None` if there is none.
    ///
    /// # Errors
    /// It cannot be read.
    async fn record(&self, name: &RecordName) -> Result<Option<DnsRecord>>;

    /// The values of a Secret; `None` if there is none.
    ///
    /// # Errors
    /// It cannot be read.
    async fn secret(&self, secret: &SecretRef) -> Result<Option<SecretValues>>;

    /// Merges a patch into a DNSRecord or its status, and returns it as it stands then.
    ///
    /// # Errors
    /// [`zonewright_core::ErrorKind::NotFound`] if it is gone, [`zonewright_core::ErrorKind::Conflict`] if the patch names another
    /// resource version.
    async fn merge(&self, name: &RecordName, part: PatchTarget, patch: &Value) -> Result<DnsRecord>;
}

#[async_trait]
impl Objects for Cluster {
    async fn record(&self, name: &RecordName) -> Result<Option<DnsRecord>> {
        self.object(&types::dns_records(), &name.namespace, &name.name).await
    }

    async fn secret(&self, secret: &SecretRef) -> Result<Option<SecretValues>> {
        let found: Option<SecretObject> = self.object(&types::secrets(), &secret.namespace, &secret.name).await?;
        Ok(found.as_ref().map(SecretValues::of))
    }

    async fn merge(&self, name: &RecordName, part: PatchTarget, patch: &Value) -> Result<DnsRecord> {
        Self::merge(self, &types::dns_records(), (&name.namespace, &name.name), part, patch).await
    }
}
