//! The state that survives a restart, in a ConfigMap. In and out: one JSON document under the key `state.json`.
//!
//! The object is `zonewright-<owner>`. An owner may hold what object names cannot, so it is sanitised: lower case, every
//! other character than `a-z`, `0-9` and `-` becomes `-`, dashes at the ends go, the whole is cut to 63 characters (RFC 1123
//! label). Where that changed anything, `-` and eight hexadecimal digits of the owner's SHA-256 follow, so that `a.b` and
//! `a-b` stay apart.
//!
//! A document that is too large for one object is cut into several (`<name>-state-a-0` ...), and a pointer to them stands
//! under the key ([`parts`]). They are emptied when they are not needed any more: no right to delete is asked for.
//!
//! A write names the resource version that was read (optimistic concurrency) and is repeated on 409, so that labels and
//! other keys which another writer adds survive; of two documents written at the same time the later one stays.

mod parts;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use http::Method;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use sha2::{Digest, Sha256};
use zonewright_core::store::StateStore;
use zonewright_core::{Error, ErrorKind, Result, Retry};

use self::parts::Pointer;
use crate::api::Failure;
use crate::cluster::Cluster;

const KEY: &str = "state.json";
/// The key of a part in its object.
const PART: &str = "part";
/// The annotation on the ConfigMap that approves held plans: their hashes, separated by commas. Whoever may write the object
/// may approve.
const APPROVE: &str = "zonewright.dev/approve";
/// Longest name of an RFC 1123 label.
const MAX_NAME: usize = 63;
/// Writers that meet: more attempts than there can be replicas.
const ATTEMPTS: usize = 8;

/// Keeps the document in a ConfigMap.
///
/// A missing right comes back as [`ErrorKind::Unauthorized`] with [`Retry::Never`] and the name of the verb, so that the
/// caller can go on with memory alone; the first one is logged here. Credentials that are not accepted (401: an expired token, an
/// issuer that is away) are [`ErrorKind::Unavailable`]: there may be a document, and the next attempt may reach it.
#[derive(Debug)]
pub struct ConfigMapStore {
    cluster: Cluster,
    namespace: String,
    name: String,
    /// Most bytes in one object.
    most: usize,
    complained: AtomicBool,
}

impl ConfigMapStore {
    /// The store of `owner` (`--txt-owner-id`) in `namespace`. Nothing is sent.
    pub fn new(cluster: &Cluster, namespace: &str, owner: &str) -> Self {
        Self {
            cluster: cluster.clone(),
            namespace: namespace.to_owned(),
            name: object_name(owner),
            most: parts::MOST,
            complained: AtomicBool::new(false),
        }
    }

    /// The name of the ConfigMap.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn collection(&self) -> String {
        format!("/api/v1/namespaces/{}/configmaps", self.namespace)
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.collection())
    }

    async fn current(&self, name: &str) -> Result<Option<ConfigMap>, Failure> {
        match self.cluster.read(&self.path(name)).await {
            Ok(found) => Ok(Some(found)),
            // Only the API server's own word that the object is missing: a 404 of a proxy is none.
            Err(failure) if failure.reason() == "NotFound" => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Writes over what is there, in parts where one object does not hold it; the verb that was used goes with a failure.
    async fn write(&self, document: &str) -> Result<(), (&'static str, Failure)> {
        let found = self.current(&self.name).await.map_err(|failure| ("get", failure))?;
        let former =
            found.as_ref().and_then(|found| found.data.as_ref()?.get(KEY)).and_then(|text| Pointer::read(text));
        if document.len() <= self.most {
            self.put(&self.name, KEY, document, found).await?;
            self.empty(former, None).await;
            return Ok(());
        }
        let texts = parts::cut(document, self.most);
        let pointer = Pointer::to(document, &texts, former.as_ref());
        for (name, text) in pointer.names(&self.name).iter().zip(&texts) {
            let found = self.current(name).await.map_err(|failure| ("get", failure))?;
            self.put(name, PART, text, found).await?;
        }
        let text = serde_json::to_string(&pointer).expect("a pointer of plain fields is always JSON");
        self.put(&self.name, KEY, &text, found).await?;
        self.empty(former, Some(&pointer)).await;
        Ok(())
    }

    /// Writes a text into an object as it was `found`, or makes it.
    async fn put(
        &self,
        name: &str,
        key: &str,
        text: &str,
        found: Option<ConfigMap>,
    ) -> Result<(), (&'static str, Failure)> {
        let Some(mut found) = found else {
            let sent = self.send(Method::POST, &self.collection(), &fresh(name, key, text)).await;
            return sent.map_err(|failure| ("create", failure));
        };
        found.data.get_or_insert_default().insert(key.to_owned(), text.to_owned());
        self.send(Method::PUT, &self.path(name), &found).await.map_err(|failure| ("update", failure))
    }

    /// Empties the parts of a former document. That may fail: nothing points to them any more.
    async fn empty(&self, former: Option<Pointer>, present: Option<&Pointer>) {
        let used = present.map(|pointer| pointer.names(&self.name)).unwrap_or_default();
        let names = former.map(|pointer| pointer.names(&self.name)).unwrap_or_default();
        for name in names.iter().filter(|name| !used.contains(name)) {
            if let Ok(Some(found)) = self.current(name).await
                && let Err((_, failure)) = self.put(name, PART, "", Some(found)).await
            {
                tracing::debug!(name, %failure, "a part of a former state could not be emptied");
            }
        }
    }

    /// The document that a pointer leads to.
    async fn joined(&self, pointer: &Pointer) -> Result<String> {
        let mut document = String::new();
        for name in pointer.names(&self.name) {
            let found = self.current(&name).await.map_err(|failure| self.error("read state", "get", failure))?;
            document.push_str(&found.and_then(|found| found.data?.remove(PART)).unwrap_or_default());
        }
        if pointer.matches(&document) {
            return Ok(document);
        }
        let text = format!("{}: its {} parts do not make up the state that was written", self.place(), pointer.parts);
        Err(Error::new(ErrorKind::Protocol, "read state", text))
    }

    async fn send(&self, method: Method, path: &str, object: &ConfigMap) -> Result<(), Failure> {
        self.cluster.write::<ConfigMap>(method, path, object).await.map(drop)
    }

    fn error(&self, operation: &'static str, verb: &'static str, failure: Failure) -> Error {
        match failure.code() {
            Some(403) => {}
            // Who asks is not known to the API server now. That says nothing of his rights, nor of what is kept.
            Some(401) => {
                let context = format!("{}: the credentials are not accepted now: {failure}", self.place());
                return Error::new(ErrorKind::Unavailable, operation, context);
            }
            _ => return failure.into_error(operation, &self.place()),
        }
        let context =
            format!("{}: the right to {verb} ConfigMaps in this namespace is missing: {failure}", self.place());
        if !self.complained.swap(true, Ordering::Relaxed) {
            tracing::warn!("{operation}: {context}");
        }
        Error::new(ErrorKind::Unauthorized, operation, context).retry(Retry::Never)
    }
}

#[async_trait]
impl StateStore for ConfigMapStore {
    async fn load(&self) -> Result<Option<Vec<u8>>> {
        // Another process may write meanwhile: then the pointer is read once more.
        for last in [false, true] {
            let found = self.current(&self.name).await.map_err(|failure| self.error("read state", "get", failure))?;
            let Some(text) = found.and_then(|found| found.data?.remove(KEY)) else { return Ok(None) };
            let Some(pointer) = Pointer::read(&text) else { return Ok(Some(text.into_bytes())) };
            match self.joined(&pointer).await {
                Ok(document) => return Ok(Some(document.into_bytes())),
                Err(error) if last || error.kind != ErrorKind::Protocol => return Err(error),
                Err(_) => {}
            }
        }
        Ok(None)
    }

    async fn save(&self, document: &[u8]) -> Result<()> {
        let text = std::str::from_utf8(document)
            .map_err(|e| Error::new(ErrorKind::Invalid, "write state", "the document is no text").caused_by(e))?;
        let mut result = self.write(text).await;
        for _ in 1..ATTEMPTS {
            match &result {
                Err((_, failure)) if is_race(failure) => result = self.write(text).await,
                _ => break,
            }
        }
        result.map_err(|(verb, failure)| self.error("write state", verb, failure))
    }

    async fn approvals(&self) -> Result<BTreeSet<String>> {
        let found = self.current(&self.name).await.map_err(|failure| self.error("read approvals", "get", failure))?;
        let text = found.and_then(|found| found.metadata.annotations?.remove(APPROVE)).unwrap_or_default();
        Ok(text.split([',', ' ']).filter(|hash| !hash.is_empty()).map(str::to_owned).collect())
    }

    fn approve_with(&self, hash: &str) -> Option<String> {
        Some(format!("kubectl annotate --overwrite configmap -n {} {} {APPROVE}={hash}", self.namespace, self.name))
    }

    fn place(&self) -> String {
        format!("ConfigMap {}/{}", self.namespace, self.name)
    }
}

/// A new object with this text.
fn fresh(name: &str, key: &str, text: &str) -> ConfigMap {
    let labels = BTreeMap::from([("app.kubernetes.io/managed-by".to_owned(), "zonewright".to_owned())]);
    let metadata = ObjectMeta { name: Some(name.to_owned()), labels: Some(labels), ..ObjectMeta::default() };
    let data = BTreeMap::from([(key.to_owned(), text.to_owned())]);
    ConfigMap { metadata, data: Some(data), ..ConfigMap::default() }
}

/// Another writer wrote or made the object between our reading and our writing.
fn is_race(failure: &Failure) -> bool {
    failure.code() == Some(409)
}

/// The name of the objects of an owner.
pub(crate) fn object_name(owner: &str) -> String {
    let safe = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' };
    let name: String = format!("zonewright-{}", owner.to_ascii_lowercase()).chars().map(safe).collect();
    let trimmed = name.trim_end_matches('-');
    if trimmed.len() <= MAX_NAME && trimmed == format!("zonewright-{owner}") {
        return trimmed.to_owned();
    }
    let digest = digest(owner);
    let kept: String = trimmed.chars().take(MAX_NAME - 1 - digest.len()).collect();
    format!("{}-{digest}", kept.trim_end_matches('-'))
}

/// Eight hexadecimal digits.
fn digest(text: &str) -> String {
    Sha256::digest(text).iter().take(4).fold(String::new(), |mut out, byte| {
        write!(out, "{byte:02x}").expect("writing to a string cannot fail");
        out
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fake::{Fake, Step};

    const GET: &str = "GET /api/v1/namespaces/dns/configmaps/zonewright-me";
    const PUT: &str = "PUT /api/v1/namespaces/dns/configmaps/zonewright-me";
    const POST: &str = "POST /api/v1/namespaces/dns/configmaps";

    fn store(steps: Vec<Step>) -> (ConfigMapStore, Fake) {
        let fake = Fake::new(steps);
        (ConfigMapStore::new(&fake.cluster(), "dns", "me"), fake)
    }

    fn stored(version: &str, document: &str) -> serde_json::Value {
        json!({ "metadata": { "name": "zonewright-me", "resourceVersion": version }, "data": { KEY: document, "other": "kept" } })
    }

    fn missing() -> Step {
        Step::refused(GET, 404, "NotFound", "configmaps \"zonewright-me\" not found")
    }

    #[test]
    fn owners_become_names() {
        let check = |owner: &str, expected: &str| assert_eq!(object_name(owner), expected, "{owner}");
        check("default", "zonewright-default");
        check("cluster-1", "zonewright-cluster-1");
        check("My.Cluster", &format!("zonewright-my-cluster-{}", digest("My.Cluster")));
        check("a.b", &format!("zonewright-a-b-{}", digest("a.b")));
        check("a-", &format!("zonewright-a-{}", digest("a-")));
        check("", &format!("zonewright-{}", digest("")));
        check(&"x".repeat(52), &format!("zonewright-{}", "x".repeat(52)));
        check(&"x".repeat(53), &format!("zonewright-{}-{}", "x".repeat(43), digest(&"x".repeat(53))));
        assert_ne!(object_name("a.b"), object_name("a_b"));
    }

    proptest::proptest! {
        #[test]
        fn every_owner_becomes_a_label(owner in ".{0,80}") {
            let name = object_name(&owner);
            let inner = name.strip_prefix("zonewright-").unwrap();
            proptest::prop_assert!(name.len() <= MAX_NAME && !inner.is_empty() && !name.ends_with('-'), "{}", name);
            let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            proptest::prop_assert!(inner.chars().all(allowed), "{}", name);
        }
    }

    #[tokio::test]
    async fn a_missing_object_is_an_empty_store_and_is_made() {
        let (store, fake) = store(vec![missing(), missing(), Step::json(POST, &stored("1", "{}"))]);
        assert_eq!(store.load().await.unwrap(), None);
        store.save(b"{}").await.unwrap();
        assert_eq!(fake.sent(2)["data"][KEY], "{}");
        assert_eq!(fake.sent(2)["metadata"]["name"], "zonewright-me");
    }

    #[tokio::test]
    async fn a_404_that_is_not_the_api_servers_is_no_empty_store() {
        let (store, _fake) = store(vec![Step::text(GET, 404, "404 page not found")]);
        assert_eq!(store.load().await.unwrap_err().kind, ErrorKind::NotFound);
    }

    #[tokio::test]
    async fn a_conflict_is_read_and_written_again_with_all_that_others_keep_there() {
        let conflict = Step::refused(PUT, 409, "Conflict", "the object has been modified");
        let (store, fake) = store(vec![
            Step::json(GET, &stored("5", "old")),
            conflict,
            Step::json(GET, &stored("6", "theirs")),
            Step::json(PUT, &stored("7", "ours")),
        ]);
        store.save(b"ours").await.unwrap();
        let sent = fake.sent(3);
        assert_eq!(sent["metadata"]["resourceVersion"], "6");
        assert_eq!((&sent["data"][KEY], &sent["data"]["other"]), (&json!("ours"), &json!("kept")));
    }

    #[tokio::test]
    async fn somebody_elses_create_is_a_conflict_too() {
        let exists = Step::refused(POST, 409, "AlreadyExists", "configmaps \"zonewright-me\" already exists");
        let (store, _fake) =
            store(vec![missing(), exists, Step::json(GET, &stored("1", "")), Step::json(PUT, &stored("2", ""))]);
        store.save(b"{}").await.unwrap();
    }

    #[tokio::test]
    async fn endless_conflicts_end() {
        let steps = (0..ATTEMPTS)
            .flat_map(|_| [Step::json(GET, &stored("5", "")), Step::refused(PUT, 409, "Conflict", "modified")]);
        let (store, fake) = store(steps.collect());
        assert_eq!(store.save(b"{}").await.unwrap_err().kind, ErrorKind::Conflict);
        assert_eq!(fake.requests().len(), 2 * ATTEMPTS);
    }

    #[tokio::test]
    async fn a_missing_right_is_named_and_not_worth_a_retry() {
        let refused = |call| Step::refused(call, 403, "Forbidden", "User \"zonewright\" cannot do that");
        let (store, _fake) = store(vec![refused(GET), missing(), refused(POST)]);
        let error = store.load().await.unwrap_err();
        assert_eq!((error.kind, error.retry), (ErrorKind::Unauthorized, Retry::Never));
        assert!(error.context.contains("right to get ConfigMaps"), "{error}");
        let error = store.save(b"{}").await.unwrap_err();
        assert!(error.context.contains("ConfigMap dns/zonewright-me: the right to create ConfigMaps"), "{error}");
    }

    #[tokio::test]
    async fn credentials_that_are_not_accepted_now_are_no_missing_right() {
        let refused = |call| Step::refused(call, 401, "Unauthorized", "Unauthorized");
        let (store, _fake) = store(vec![refused(GET), refused(GET), missing(), refused(POST), refused(GET)]);
        let look = store.load().await.unwrap_err();
        let written = [store.save(b"{}").await.unwrap_err(), store.save(b"{}").await.unwrap_err()];
        let asked = store.approvals().await.unwrap_err();
        for error in [&look, &asked].into_iter().chain(&written) {
            assert_eq!(error.kind, ErrorKind::Unavailable, "{error}");
            assert_ne!(error.retry, Retry::Never, "{error}");
            assert!(error.context.contains("credentials are not accepted now"), "{error}");
        }
    }

    #[tokio::test]
    async fn plans_are_approved_by_an_annotation() {
        let mut annotated = stored("5", "{}");
        annotated["metadata"]["annotations"] = json!({ APPROVE: "abc, def" });
        let (store, _fake) = store(vec![Step::json(GET, &annotated), Step::json(GET, &stored("6", "{}")), missing()]);
        assert_eq!(store.approvals().await.unwrap(), BTreeSet::from(["abc".to_owned(), "def".to_owned()]));
        assert_eq!(store.approvals().await.unwrap(), BTreeSet::new());
        assert_eq!(store.approvals().await.unwrap(), BTreeSet::new());
        let command = store.approve_with("abc").unwrap();
        assert_eq!(command, "kubectl annotate --overwrite configmap -n dns zonewright-me zonewright.dev/approve=abc");
    }

    const PARTS: &str = "/api/v1/namespaces/dns/configmaps/zonewright-me-state-";

    fn part(row: &str, text: &str) -> serde_json::Value {
        json!({ "metadata": { "name": format!("zonewright-me-state-{row}"), "resourceVersion": "1" }, "data": { PART: text } })
    }

    /// What stands is whole at any time: parts first, under names that nothing points to, and then the pointer.
    #[tokio::test]
    async fn a_large_document_is_kept_in_parts() {
        let get = |name: &str| format!("GET {PARTS}{name}");
        let put = |name: &str| format!("PUT {PARTS}{name}");
        let none = |name: &str| Step::refused(&get(name), 404, "NotFound", "not found");
        let (mut store, fake) = store(vec![
            Step::json(GET, &stored("5", "{}")),
            none("a-0"),
            Step::json(POST, &part("a-0", "0123")),
            none("a-1"),
            Step::json(POST, &part("a-1", "4567")),
            Step::json(PUT, &stored("6", "")),
        ]);
        store.most = 4;
        store.save(b"01234567").await.unwrap();
        assert_eq!((&fake.sent(2)["data"][PART], &fake.sent(4)["data"][PART]), (&json!("0123"), &json!("4567")));
        let pointer = fake.sent(5)["data"][KEY].as_str().unwrap().to_owned();
        assert!(Pointer::read(&pointer).is_some(), "{pointer}");

        // The next one goes to the other row; a small one takes the place of the pointer, and the parts are emptied.
        let (mut store, fake) = self::store(vec![
            Step::json(GET, &stored("6", &pointer)),
            Step::json(&get("a-0"), &part("a-0", "0123")),
            Step::json(&get("a-1"), &part("a-1", "4567")),
            Step::json(GET, &stored("6", &pointer)),
            Step::json(PUT, &stored("7", "")),
            Step::json(&get("a-0"), &part("a-0", "0123")),
            Step::json(&put("a-0"), &part("a-0", "")),
            Step::json(&get("a-1"), &part("a-1", "4567")),
            Step::json(&put("a-1"), &part("a-1", "")),
        ]);
        store.most = 4;
        assert_eq!(store.load().await.unwrap().unwrap(), b"01234567");
        store.save(b"{}").await.unwrap();
        assert_eq!((&fake.sent(4)["data"][KEY], &fake.sent(6)["data"][PART]), (&json!("{}"), &json!("")));
    }

    #[tokio::test]
    async fn parts_that_do_not_make_up_the_document_are_an_error() {
        let pointer = serde_json::to_string(&Pointer::to("01234567", &["0123", "4567"], None)).unwrap();
        let look = || {
            let second = Step::refused(&format!("GET {PARTS}a-1"), 404, "NotFound", "not found");
            [
                Step::json(GET, &stored("6", &pointer)),
                Step::json(&format!("GET {PARTS}a-0"), &part("a-0", "0123")),
                second,
            ]
        };
        let (store, _fake) = store(look().into_iter().chain(look()).collect());
        let error = store.load().await.unwrap_err();
        assert!(error.context.contains("its 2 parts do not make up the state"), "{error}");
    }

    #[tokio::test]
    async fn bytes_that_are_no_text_are_refused() {
        let (store, fake) = store(Vec::new());
        assert_eq!(store.save(&[0xff]).await.unwrap_err().kind, ErrorKind::Invalid);
        assert!(fake.requests().is_empty());
    }
}
