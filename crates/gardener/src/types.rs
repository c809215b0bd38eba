//! The objects that are read, cut down to what decides: `DNSRecord`, `Cluster`, `Namespace`, `Secret`.
//!
//! In: what the API server answers. Out: plain structs. Nothing is written back from them: every change is a merge patch that
//! names what it changes, so that fields which are not here survive.
//!
//! <https://gardener.cloud/docs/gardener/extensions/resources/dnsrecord/>

use std::collections::BTreeMap;
use std::fmt;

use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;
use zonewright_cluster::WatchSpec;

/// The finalizer that Gardener's own DNSRecord controllers set.
pub const FINALIZER: &str = "extensions.gardener.cloud/dnsrecord";
/// Asks for an operation.
pub const OPERATION: &str = "gardener.cloud/operation";
/// When the operation was asked for, RFC 3339.
pub const TIMESTAMP: &str = "gardener.cloud/timestamp";
/// Address families of an alias: `ipv4`, `ipv6`, `dual-stack`.
pub const IP_STACK: &str = "dns.gardener.cloud/ip-stack";
/// Gives up zones in which records of the object may still stand, by their names in the mark, with commas between them.
pub const ABANDON: &str = "zonewright.dev/abandon-zone";
/// On a Shoot: delete whatever the infrastructure says.
const FORCE_DELETION: &str = "confirmation.gardener.cloud/force-deletion";
/// The namespace of seeds and gardens, whose records belong to no shoot.
pub const GARDEN: &str = "garden";

/// The resource of DNSRecords.
pub fn dns_records() -> WatchSpec {
    WatchSpec::new("extensions.gardener.cloud", "v1alpha1", "dnsrecords", "DNSRecord", true)
}

/// The resource of Clusters.
pub fn clusters() -> WatchSpec {
    WatchSpec::new("extensions.gardener.cloud", "v1alpha1", "clusters", "Cluster", false)
}

/// The namespaces of shoots.
pub fn shoot_namespaces() -> WatchSpec {
    WatchSpec {
        label_selector: Some("gardener.cloud/role=shoot".to_owned()),
        ..WatchSpec::new("", "v1", "namespaces", "Namespace", false)
    }
}

/// The resource of Secrets.
pub fn secrets() -> WatchSpec {
    WatchSpec::new("", "v1", "secrets", "Secret", true)
}

/// Namespace and name of a DNSRecord.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordName {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
}

impl fmt::Display for RecordName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// What of an object's metadata is read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// `metadata.name`.
    pub name: String,
    /// Namespace; empty outside namespaces.
    pub namespace: String,
    /// `metadata.uid`.
    pub uid: String,
    /// The version that a patch may name.
    pub resource_version: String,
    /// Counts changes of the spec, and the order to delete.
    pub generation: i64,
    /// RFC 3339 in whole seconds, so that earlier ones sort first.
    pub creation_timestamp: Option<String>,
    /// Set once the object is to be deleted.
    pub deletion_timestamp: Option<String>,
    /// `metadata.annotations`.
    pub annotations: BTreeMap<String, String>,
    /// `metadata.finalizers`, in the order in which they stand.
    pub finalizers: Vec<String>,
}

/// A DNSRecord.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DnsRecord {
    /// Metadata.
    pub metadata: Metadata,
    /// What is asked for.
    pub spec: DnsRecordSpec,
    /// What became of it.
    #[serde(default)]
    pub status: DnsRecordStatus,
}

/// `spec` of a DNSRecord.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DnsRecordSpec {
    /// Kind of provider: `aws-route53`, ...
    #[serde(rename = "type")]
    pub provider: String,
    /// `garden`, `seed` or `shoot`; absent means `shoot`.
    #[serde(default)]
    pub class: Option<String>,
    /// The Secret with the credentials.
    pub secret_ref: SecretRef,
    /// What the provider alone understands.
    #[serde(default)]
    pub provider_config: Option<Value>,
    /// Region of the provider.
    #[serde(default)]
    pub region: Option<String>,
    /// The provider's id of the zone.
    #[serde(default)]
    pub zone: Option<String>,
    /// The name of the records, with or without a dot at its end.
    pub name: String,
    /// `A`, `AAAA`, `CNAME` or `TXT`.
    pub record_type: String,
    /// Addresses, a host name, or texts.
    pub values: Vec<String>,
    /// Seconds; absent means 120.
    #[serde(default)]
    pub ttl: Option<i64>,
}

/// Points to a Secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(default)]
pub struct SecretRef {
    /// Name.
    pub name: String,
    /// Namespace; empty means that of the DNSRecord.
    pub namespace: String,
}

/// `status` of a DNSRecord, as far as it decides.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DnsRecordStatus {
    /// Conditions as they are: a list is replaced as a whole.
    pub conditions: Vec<Value>,
    /// The last error, until an operation succeeds.
    pub last_error: Option<LastError>,
    /// What is done or was done last.
    pub last_operation: Option<LastOperation>,
    /// The generation that was handled last.
    pub observed_generation: i64,
    /// The zone that was chosen.
    pub zone: Option<String>,
    /// What this controller keeps in mind ([`crate::sent`]).
    pub provider_status: Option<Value>,
}

/// `status.lastError`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LastError {
    /// What went wrong, a sentence for people.
    pub description: String,
    /// Gardener's error codes, such as `ERR_INFRA_UNAUTHORIZED`.
    pub codes: Vec<String>,
    /// When it was written.
    #[serde(rename = "lastUpdateTime")]
    pub at: Option<String>,
}

/// `status.lastOperation`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LastOperation {
    /// `Create`, `Reconcile`, `Delete`, `Migrate`, `Restore`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `Processing`, `Succeeded`, `Error`, ...
    pub state: String,
    /// When it was written.
    #[serde(rename = "lastUpdateTime")]
    pub at: Option<String>,
}

impl LastOperation {
    /// An operation that was never written.
    pub fn new(kind: &str, state: &str) -> Self {
        Self { kind: kind.to_owned(), state: state.to_owned(), at: None }
    }
}

impl DnsRecord {
    /// Namespace and name.
    pub fn record_name(&self) -> RecordName {
        RecordName { namespace: self.metadata.namespace.clone(), name: self.metadata.name.clone() }
    }

    /// Whether it is to be deleted.
    pub fn is_deleting(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotations.get(key).map(String::as_str)
    }

    /// The zones that its owner gives up, as [`ABANDON`] names them.
    pub fn abandoned_zones(&self) -> impl Iterator<Item = &str> {
        let named = self.annotation(ABANDON).unwrap_or_default();
        named.split(',').map(str::trim).filter(|zone| !zone.is_empty())
    }

    /// Whether our finalizer is set.
    pub fn has_finalizer(&self) -> bool {
        self.metadata.finalizers.iter().any(|known| known == FINALIZER)
    }

    /// Type and state of the last operation.
    pub fn last(&self) -> Option<(&str, &str)> {
        self.status.last_operation.as_ref().map(|last| (last.kind.as_str(), last.state.as_str()))
    }

    /// Whether it was migrated to another seed.
    pub fn is_migrated(&self) -> bool {
        self.last() == Some(("Migrate", "Succeeded"))
    }

    /// Where its Secret is: an empty namespace means its own.
    pub fn secret(&self) -> SecretRef {
        let SecretRef { name, namespace } = self.spec.secret_ref.clone();
        let namespace = if namespace.is_empty() { self.metadata.namespace.clone() } else { namespace };
        SecretRef { name, namespace }
    }

    /// `spec.zone`, if it says something.
    pub fn stated_zone(&self) -> Option<&str> {
        self.spec.zone.as_deref().map(str::trim).filter(|zone| !zone.is_empty())
    }

    /// `status.zone`, if it says something.
    pub fn known_zone(&self) -> Option<&str> {
        self.status.zone.as_deref().map(str::trim).filter(|zone| !zone.is_empty())
    }

    /// The status of the condition `Created`, if there is one.
    pub fn created(&self) -> Option<&str> {
        let created = self.status.conditions.iter().find(|condition| condition["type"] == "Created")?;
        created["status"].as_str()
    }
}

/// A Cluster, as far as it decides: what the Shoot in it says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct ClusterObject {
    /// Metadata; the name is the namespace of the control plane.
    pub metadata: Metadata,
    #[serde(default)]
    spec: ClusterSpec,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct ClusterSpec {
    shoot: Shoot,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Shoot {
    metadata: ShootMetadata,
    status: ShootStatus,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct ShootMetadata {
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ShootStatus {
    last_operation: Option<LastOperation>,
}

impl ClusterObject {
    /// Whether the Shoot has failed, and waits for a person.
    pub fn has_failed(&self) -> bool {
        self.spec.shoot.status.last_operation.as_ref().is_some_and(|last| last.state == "Failed")
    }

    /// Whether the Shoot is to go whatever the infrastructure says.
    pub fn is_forced(&self) -> bool {
        let annotations = self.spec.shoot.metadata.annotations.as_ref();
        annotations.and_then(|all| all.get(FORCE_DELETION)).is_some_and(|value| is_true(value))
    }
}

/// Whether a text is one of those that Go takes for true.
fn is_true(text: &str) -> bool {
    matches!(text, "1" | "t" | "T" | "true" | "TRUE" | "True")
}

/// A Namespace: its name is all that is read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Namespace {
    /// Metadata.
    pub metadata: Metadata,
}

/// A Secret as the API server answers it: values in base64.
#[derive(Debug, Default, Deserialize)]
pub struct SecretObject {
    /// Values by key.
    #[serde(default, deserialize_with = "secret_texts")]
    pub data: BTreeMap<String, SecretString>,
}

fn secret_texts<'de, D: serde::Deserializer<'de>>(from: D) -> Result<BTreeMap<String, SecretString>, D::Error> {
    let texts: Option<BTreeMap<String, String>> = Option::deserialize(from)?;
    Ok(texts.unwrap_or_default().into_iter().map(|(key, text)| (key, SecretString::from(text))).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_without_status_is_read() {
        let record: DnsRecord = serde_json::from_value(json!({
            "metadata": { "name": "a", "namespace": "shoot--x", "uid": "u", "generation": 3 },
            "spec": {
                "type": "aws-route53", "secretRef": { "name": "s" }, "name": "api.example.com", "recordType": "A",
                "values": ["192.0.2.1"], "providerConfig": { "kind": "unknown" },
            },
        }))
        .unwrap();
        assert_eq!(record.secret(), SecretRef { name: "s".to_owned(), namespace: "shoot--x".to_owned() });
        assert_eq!((record.last(), record.created(), record.stated_zone()), (None, None, None));
        assert!(!record.is_deleting() && !record.has_finalizer() && !record.is_migrated());
    }

    #[test]
    fn zones_that_are_given_up_are_named_one_by_one() {
        let mut record = DnsRecord::default();
        assert_eq!(record.abandoned_zones().count(), 0);
        for (text, expected) in [("Z1", &["Z1"][..]), (" Z1 ,, p/z2, ", &["Z1", "p/z2"]), ("", &[]), (" , ", &[])] {
            record.metadata.annotations.insert(ABANDON.to_owned(), text.to_owned());
            assert_eq!(record.abandoned_zones().collect::<Vec<_>>(), expected, "{text:?}");
        }
    }

    #[test]
    fn empty_texts_of_zones_say_nothing() {
        let mut record = DnsRecord::default();
        (record.spec.zone, record.status.zone) = (Some(String::new()), Some(" Z1 ".to_owned()));
        assert_eq!((record.stated_zone(), record.known_zone()), (None, Some("Z1")));
    }

    #[test]
    fn clusters_may_hold_next_to_nothing() {
        let read = |spec: Value| {
            let object = json!({ "metadata": { "name": "shoot--x" }, "spec": spec });
            serde_json::from_value::<ClusterObject>(object).unwrap()
        };
        let nothing = read(json!({ "cloudProfile": {}, "seed": {}, "shoot": {} }));
        assert!(!nothing.has_failed() && !nothing.is_forced());
        let failed = read(json!({ "shoot": { "status": { "lastOperation": { "state": "Failed" } } } }));
        assert!(failed.has_failed());
        let annotation = |value: &str| {
            read(json!({ "shoot": { "metadata": { "annotations": { FORCE_DELETION: value } } } })).is_forced()
        };
        assert!(annotation("true") && annotation("True") && !annotation("yes") && !annotation(""));
    }
}
