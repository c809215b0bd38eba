//! Documents as ConfigMaps of one namespace: what the registry `configmap` keeps its records in.
//!
//! In and out: the text under the key `records`, the notes as annotations `zonewright.dev/<key>`. The objects carry the label
//! `zonewright.dev/registry=records`, by which they are found. What must hold: a list asks for metadata alone, so that a look
//! at objects that did not change costs next to nothing; a write names the version that was read, and leaves labels,
//! annotations and keys of others as they are (a merge patch).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use http::header::ACCEPT;
use http::{HeaderValue, Method};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde_json::{Value, json};
use zonewright_core::documents::{Document, DocumentStore, Listed, Version};
use zonewright_core::{Error, ErrorKind, Result, Retry};

use crate::api::Failure;
use crate::cluster::Cluster;

/// Where the text is.
const KEY: &str = "records";
/// Begins the annotations that are notes.
const NOTE: &str = "zonewright.dev/";
/// Label that marks the objects, and its value.
const LABEL: (&str, &str) = ("zonewright.dev/registry", "records");
/// Objects without what they hold.
const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
/// Objects in one answer.
const PAGE: usize = 500;

/// Keeps documents in ConfigMaps of one namespace.
///
/// A missing right comes back as [`ErrorKind::Unauthorized`] with the name of the verb; the first one is logged here.
#[derive(Debug)]
pub struct ConfigMapDocuments {
    cluster: Cluster,
    namespace: String,
    complained: AtomicBool,
}

/// A page of a list, of which only metadata is read.
#[derive(Debug, Deserialize)]
struct Page {
    #[serde(default)]
    metadata: PageMeta,
    /// An empty list of metadata is null.
    items: Option<Vec<Item>>,
}

#[derive(Debug, Default, Deserialize)]
struct PageMeta {
    #[serde(default, rename = "continue")]
    next: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Item {
    metadata: ObjectMeta,
}

impl ConfigMapDocuments {
    /// A store in `namespace`. Nothing is sent.
    pub fn new(cluster: &Cluster, namespace: &str) -> Self {
        Self { cluster: cluster.clone(), namespace: namespace.to_owned(), complained: AtomicBool::new(false) }
    }

    fn collection(&self) -> String {
        format!("/api/v1/namespaces/{}/configmaps", self.namespace)
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.collection())
    }

    async fn page(&self, next: Option<&str>) -> Result<Page, Failure> {
        let (label, value) = LABEL;
        let mut path = format!("{}?labelSelector={label}%3D{value}&limit={PAGE}", self.collection());
        if let Some(next) = next {
            path.push_str("&continue=");
            path.extend(next.bytes().map(|b| match b {
                b if b.is_ascii_alphanumeric() || b"-_.~".contains(&b) => char::from(b).to_string(),
                b => format!("%{b:02X}"),
            }));
        }
        self.cluster.read_as(&path, (ACCEPT, HeaderValue::from_static(METADATA))).await
    }

    async fn write(&self, method: Method, path: &str, body: &Value) -> Result<Version, Failure> {
        let written: Item = self.cluster.write(method, path, body).await?;
        Ok(version(&written.metadata))
    }

    fn error(&self, operation: &'static str, verb: &'static str, place: &str, failure: Failure) -> Error {
        if failure.code() != Some(403) {
            return failure.into_error(operation, place);
        }
        let context = format!(
            "{place}: the right to {verb} ConfigMaps in namespace {} is missing; the registry needs get, list, create and \
             patch: {failure}",
            self.namespace
        );
        if !self.complained.swap(true, Ordering::Relaxed) {
            tracing::error!("{operation}: {context}");
        }
        Error::new(ErrorKind::Unauthorized, operation, context).retry(Retry::Backoff)
    }
}

fn version(metadata: &ObjectMeta) -> Version {
    Version(metadata.resource_version.clone().unwrap_or_default())
}

fn notes(metadata: &ObjectMeta) -> BTreeMap<String, String> {
    let annotations = metadata.annotations.iter().flatten();
    let note = |(key, value): (&String, &String)| Some((key.strip_prefix(NOTE)?.to_owned(), value.clone()));
    annotations.filter_map(note).collect()
}

/// What a write says, in a shape that is a whole object as well as a patch of one.
fn body(name: &str, version: Option<&Version>, document: &Document) -> Value {
    let (label, value) = LABEL;
    let annotations: BTreeMap<String, &String> =
        document.notes.iter().map(|(key, value)| (format!("{NOTE}{key}"), value)).collect();
    let mut body = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "labels": { label: value, "app.kubernetes.io/managed-by": "zonewright" },
            "annotations": annotations,
        },
        "data": { KEY: document.text },
    });
    if let Some(Version(version)) = version {
        body["metadata"]["resourceVersion"] = json!(version);
    }
    body
}

#[async_trait]
impl DocumentStore for ConfigMapDocuments {
    async fn list(&self) -> Result<Vec<Listed>> {
        let place = format!("ConfigMaps in namespace {}", self.namespace);
        let (mut listed, mut next) = (Vec::new(), None::<String>);
        loop {
            let page = self.page(next.as_deref()).await;
            let page = page.map_err(|failure| self.error("read the registry", "list", &place, failure))?;
            listed.extend(page.items.into_iter().flatten().map(|Item { metadata }| Listed {
                version: version(&metadata),
                notes: notes(&metadata),
                name: metadata.name.unwrap_or_default(),
            }));
            next = page.metadata.next.filter(|token| !token.is_empty());
            if next.is_none() {
                listed.sort_by(|a, b| a.name.cmp(&b.name));
                return Ok(listed);
            }
        }
    }

    async fn read(&self, name: &str) -> Result<Option<(Version, Document)>> {
        match self.cluster.read::<ConfigMap>(&self.path(name)).await {
            Ok(found) => {
                let text = found.data.and_then(|mut data| data.remove(KEY)).unwrap_or_default();
                Ok(Some((version(&found.metadata), Document { notes: notes(&found.metadata), text })))
            }
            // Only the API server's own word that the object is missing: a 404 of a proxy is none.
            Err(failure) if failure.reason() == "NotFound" => Ok(None),
            Err(failure) => Err(self.error("read the registry", "get", &self.place(name), failure)),
        }
    }

    async fn create(&self, name: &str, document: &Document) -> Result<Version> {
        let written = self.write(Method::POST, &self.collection(), &body(name, None, document)).await;
        written.map_err(|failure| self.error("write the registry", "create", &self.place(name), failure))
    }

    async fn replace(&self, name: &str, version: &Version, document: &Document) -> Result<Version> {
        let written = self.write(Method::PATCH, &self.path(name), &body(name, Some(version), document)).await;
        written.map_err(|failure| match failure.reason() {
            "NotFound" => {
                Error::new(ErrorKind::Conflict, "write the registry", format!("{} is gone", self.place(name)))
            }
            _ => self.error("write the registry", "patch", &self.place(name), failure),
        })
    }

    fn place(&self, name: &str) -> String {
        format!("ConfigMap {}/{name}", self.namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{Fake, Step};

    const LIST: &str =
        "GET /api/v1/namespaces/dns/configmaps?labelSelector=zonewright.dev/registry%3Drecords&limit=500";
    const GET: &str = "GET /api/v1/namespaces/dns/configmaps/me-registry";
    const PATCH: &str = "PATCH /api/v1/namespaces/dns/configmaps/me-registry";
    const POST: &str = "POST /api/v1/namespaces/dns/configmaps";

    fn store(steps: Vec<Step>) -> (ConfigMapDocuments, Fake) {
        let fake = Fake::new(steps);
        (ConfigMapDocuments::new(&fake.cluster(), "dns"), fake)
    }

    fn object(name: &str, version: &str) -> Value {
        let annotations = json!({ "zonewright.dev/owner": "me", "other": "x" });
        json!({
            "metadata": { "name": name, "resourceVersion": version, "annotations": annotations },
            "data": { "records": "[]", "other": "y" },
        })
    }

    fn document() -> Document {
        Document { notes: BTreeMap::from([("owner".to_owned(), "me".to_owned())]), text: "[]".to_owned() }
    }

    #[tokio::test]
    async fn a_list_goes_page_by_page() {
        let first = json!({ "metadata": { "continue": "a+b=" }, "items": [object("me-registry-1", "2")] });
        let last = json!({ "metadata": {}, "items": [object("me-registry", "1")] });
        let (store, _fake) = store(vec![Step::json(LIST, &first), Step::json(LIST, &last).with("continue=a%2Bb%3D")]);
        let listed = store.list().await.unwrap();
        let names: Vec<_> = listed.iter().map(|item| (item.name.as_str(), item.version.0.as_str())).collect();
        assert_eq!(names, [("me-registry", "1"), ("me-registry-1", "2")]);
        assert_eq!(listed[0].notes, document().notes);
    }

    #[tokio::test]
    async fn an_empty_list_is_null_on_real_servers() {
        let (store, _fake) = store(vec![Step::json(LIST, &json!({ "metadata": {}, "items": null }))]);
        assert_eq!(store.list().await.unwrap(), []);
    }

    #[tokio::test]
    async fn a_document_is_made_read_and_replaced_as_it_was_read() {
        let (store, fake) = store(vec![
            Step::json(POST, &object("me-registry", "1")),
            Step::json(GET, &object("me-registry", "1")),
            Step::json(PATCH, &object("me-registry", "2")),
        ]);
        let version = store.create("me-registry", &document()).await.unwrap();
        assert_eq!(store.read("me-registry").await.unwrap(), Some((version.clone(), document())));
        assert_eq!(store.replace("me-registry", &version, &document()).await.unwrap(), Version("2".to_owned()));
        assert_eq!(fake.sent(0)["metadata"]["labels"]["zonewright.dev/registry"], "records");
        let sent = fake.sent(2);
        assert_eq!((&sent["metadata"]["resourceVersion"], &sent["data"]), (&json!("1"), &json!({ "records": "[]" })));
    }

    #[tokio::test]
    async fn somebody_elses_change_is_a_conflict() {
        let exists = Step::refused(POST, 409, "AlreadyExists", "configmaps \"me-registry\" already exists");
        let changed = Step::refused(PATCH, 409, "Conflict", "the object has been modified");
        let gone = Step::refused(PATCH, 404, "NotFound", "configmaps \"me-registry\" not found");
        let (store, _fake) = store(vec![exists, changed, gone]);
        assert_eq!(store.create("me-registry", &document()).await.unwrap_err().kind, ErrorKind::Conflict);
        for _ in 0..2 {
            let error = store.replace("me-registry", &Version("1".to_owned()), &document()).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Conflict);
        }
    }

    #[tokio::test]
    async fn a_missing_object_is_none_and_a_proxys_404_is_an_error() {
        let missing = Step::refused(GET, 404, "NotFound", "configmaps \"me-registry\" not found");
        let (store, _fake) = store(vec![missing, Step::text(GET, 404, "404 page not found")]);
        assert_eq!(store.read("me-registry").await.unwrap(), None);
        assert_eq!(store.read("me-registry").await.unwrap_err().kind, ErrorKind::NotFound);
    }

    #[tokio::test]
    async fn a_missing_right_is_named() {
        let refused = |call| Step::refused(call, 403, "Forbidden", "User \"zonewright\" cannot do that");
        let (store, _fake) = store(vec![refused(LIST), refused(GET), refused(POST), refused(PATCH)]);
        let named = |error: Error, verb: &str| {
            assert_eq!(error.kind, ErrorKind::Unauthorized);
            assert!(error.context.contains(&format!("the right to {verb} ConfigMaps in namespace dns")), "{error}");
        };
        named(store.list().await.unwrap_err(), "list");
        named(store.read("me-registry").await.unwrap_err(), "get");
        named(store.create("me-registry", &document()).await.unwrap_err(), "create");
        named(store.replace("me-registry", &Version("1".to_owned()), &document()).await.unwrap_err(), "patch");
    }
}
