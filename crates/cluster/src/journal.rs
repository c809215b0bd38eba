//! The journal in the cluster: a ring of ConfigMaps. In and out: lines.
//!
//! The objects are `<state>-journal-<number>`, where `<state>` is the name of the state's ConfigMap. Each holds pieces under
//! the keys `000000.gz`, `000001.gz`, ...: what one append brought, compressed. An annotation numbers the objects in the
//! order in which they were begun; when the newest is full, the oldest is emptied and becomes the newest.
//!
//! An append is one request: what the newest object holds is known here, and its resource version goes with the write.
//! Where that is refused because another writer wrote (an earlier process that has not ended yet), the ring is read again
//! and the append repeated, so that nothing is overwritten that was not read. Rights: get, create, update.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::ops::ControlFlow;

use async_trait::async_trait;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use http::Method;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use tokio::sync::Mutex;
use zonewright_core::store::{JournalStore, Visitor};
use zonewright_core::{Error, ErrorKind, Result, Retry};

use crate::api::Failure;
use crate::cluster::Cluster;
use crate::store::object_name;

/// Numbers the objects in the order in which they were begun.
const SEQUENCE: &str = "zonewright.dev/journal-sequence";
/// The ending of our keys.
const PIECE: &str = ".gz";
/// Most that one append may bring, compressed: a ConfigMap holds 1 MiB.
const LARGEST: usize = 700 << 10;
/// Writers that meet: more attempts than there can be replicas.
const ATTEMPTS: usize = 5;

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingLimits {
    /// Number of objects, at least 2.
    pub objects: usize,
    /// An object that holds so many bytes, compressed, is followed by the next.
    pub object_size: usize,
}

impl Default for RingLimits {
    /// Eight objects of 128 KiB; some ten thousand entries.
    fn default() -> Self {
        Self { objects: 8, object_size: 128 << 10 }
    }
}

/// Keeps the journal in ConfigMaps.
#[derive(Debug)]
pub struct ConfigMapJournal {
    cluster: Cluster,
    namespace: String,
    name: String,
    limits: RingLimits,
    /// The newest object, as it was last read or written.
    newest: Mutex<Option<Slot>>,
}

/// One object of the ring.
#[derive(Debug, Clone)]
struct Slot {
    number: usize,
    sequence: u64,
    object: ConfigMap,
}

/// What a request was for, and how it failed.
type Failed = (&'static str, Failure);

impl ConfigMapJournal {
    /// The journal of `owner` (`--txt-owner-id`) in `namespace`. Nothing is sent.
    pub fn new(cluster: &Cluster, namespace: &str, owner: &str, limits: RingLimits) -> Self {
        let limits = RingLimits { objects: limits.objects.max(2), ..limits };
        let name = format!("{}-journal", object_name(owner));
        Self { cluster: cluster.clone(), namespace: namespace.to_owned(), name, limits, newest: Mutex::default() }
    }

    /// Whether anything was ever written to it.
    ///
    /// # Errors
    /// The cluster does not answer, or gives no right to look.
    pub async fn is_begun(&self) -> Result<bool> {
        let first = self.slot(0).await.map_err(|failed| self.error("look for the journal", failed))?;
        Ok(first.sequence > 0)
    }

    fn collection(&self) -> String {
        format!("/api/v1/namespaces/{}/configmaps", self.namespace)
    }

    fn path(&self, number: usize) -> String {
        format!("{}/{}-{number}", self.collection(), self.name)
    }

    /// The object of a number; an empty one where there is none yet.
    async fn slot(&self, number: usize) -> Result<Slot, Failed> {
        let object = match self.cluster.read::<ConfigMap>(&self.path(number)).await {
            Ok(object) => object,
            // Only the API server's own word that the object is missing: a 404 of a proxy is none.
            Err(failure) if failure.reason() == "NotFound" => self.fresh(number),
            Err(failure) => return Err(("get", failure)),
        };
        let annotations = object.metadata.annotations.as_ref();
        let sequence = annotations.and_then(|all| all.get(SEQUENCE)?.parse().ok()).unwrap_or(0);
        Ok(Slot { number, sequence, object })
    }

    fn fresh(&self, number: usize) -> ConfigMap {
        let labels = BTreeMap::from([("app.kubernetes.io/managed-by".to_owned(), "zonewright".to_owned())]);
        let name = Some(format!("{}-{number}", self.name));
        ConfigMap {
            metadata: ObjectMeta { name, labels: Some(labels), ..ObjectMeta::default() },
            ..ConfigMap::default()
        }
    }

    /// The whole ring, the newest object first.
    async fn ring(&self) -> Result<Vec<Slot>, Failed> {
        let mut ring = Vec::new();
        for number in 0..self.limits.objects {
            ring.push(self.slot(number).await?);
        }
        // Where none was begun, the first one is.
        ring.sort_by_key(|slot| (Reverse(slot.sequence), slot.number));
        Ok(ring)
    }

    /// Appends a piece to the newest object, or to the next one if that is full.
    async fn put(&self, newest: &mut Option<Slot>, piece: &[u8]) -> Result<(), Failed> {
        let mut slot = match newest.take() {
            Some(slot) => slot,
            None => self.last().await?,
        };
        while slot.size() > 0 && slot.size() + piece.len() > self.limits.object_size {
            let next = self.slot((slot.number + 1) % self.limits.objects).await?;
            slot = if next.sequence > slot.sequence {
                // Another writer has gone on since: what stands there is no older than what we know, and stays.
                self.last().await?
            } else {
                next.emptied(slot.sequence + 1)
            };
        }
        slot.add(piece);
        *newest = Some(self.write(slot).await?);
        Ok(())
    }

    /// The newest object, as it stands.
    async fn last(&self) -> Result<Slot, Failed> {
        match self.ring().await?.into_iter().next() {
            Some(slot) => Ok(slot),
            None => self.slot(0).await,
        }
    }

    async fn write(&self, slot: Slot) -> Result<Slot, Failed> {
        let (verb, method, path) = match &slot.object.metadata.resource_version {
            Some(_) => ("update", Method::PUT, self.path(slot.number)),
            None => ("create", Method::POST, self.collection()),
        };
        let written: ConfigMap =
            self.cluster.write(method, &path, &slot.object).await.map_err(|failure| (verb, failure))?;
        let version = written.metadata.resource_version;
        let mut object = slot.object;
        object.metadata.resource_version = version;
        Ok(Slot { object, ..slot })
    }

    async fn append_piece(&self, newest: &mut Option<Slot>, piece: &[u8]) -> Result<()> {
        let mut result = self.put(newest, piece).await;
        for _ in 1..ATTEMPTS {
            match &result {
                Err((_, failure)) if is_race(failure) => {
                    *newest = None;
                    result = self.put(newest, piece).await;
                }
                _ => break,
            }
        }
        if result.is_err() {
            // What stands there now is not known.
            *newest = None;
        }
        result.map_err(|failed| self.error("write the journal", failed))
    }

    fn error(&self, operation: &'static str, (verb, failure): Failed) -> Error {
        if failure.code() != Some(403) {
            return failure.into_error(operation, &self.place());
        }
        let context =
            format!("{}: the right to {verb} ConfigMaps in this namespace is missing: {failure}", self.place());
        Error::new(ErrorKind::Unauthorized, operation, context).retry(Retry::Backoff)
    }
}

/// Another writer wrote, made or removed the object since it was read.
fn is_race(failure: &Failure) -> bool {
    failure.code() == Some(409) || failure.reason() == "NotFound"
}

impl Slot {
    fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let all = self.object.binary_data.iter().flatten();
        all.filter(|(key, _)| key.ends_with(PIECE)).map(|(_, piece)| piece.0.as_slice())
    }

    fn size(&self) -> usize {
        self.pieces().map(<[u8]>::len).sum()
    }

    fn add(&mut self, piece: &[u8]) {
        let data = self.object.binary_data.get_or_insert_default();
        let number = |key: &String| key.strip_suffix(PIECE)?.parse::<usize>().ok();
        let next = data.keys().filter_map(number).max().map_or(0, |last| last + 1);
        data.insert(format!("{next:06}{PIECE}"), ByteString(piece.to_vec()));
        let annotations = self.object.metadata.annotations.get_or_insert_default();
        // The first object of a ring that was never begun.
        self.sequence = self.sequence.max(1);
        annotations.insert(SEQUENCE.to_owned(), self.sequence.to_string());
    }

    /// Without our pieces, and the newest from now on. What another writer keeps there stays.
    fn emptied(mut self, sequence: u64) -> Self {
        if let Some(data) = &mut self.object.binary_data {
            data.retain(|key, _| !key.ends_with(PIECE));
        }
        Self { sequence, ..self }
    }

    /// All lines of the object, in order.
    fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for piece in self.pieces() {
            if let Err(error) = MultiGzDecoder::new(piece).read_to_end(&mut text) {
                tracing::warn!(object = self.object.metadata.name, %error, "a piece of the journal cannot be read");
            }
            // What is cut short must not run into the next piece.
            if text.last().is_some_and(|byte| *byte != b'\n') {
                text.push(b'\n');
            }
        }
        text
    }
}

fn compress(lines: &[String]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    for line in lines {
        encoder.write_all(line.as_bytes())?;
        encoder.write_all(b"\n")?;
    }
    encoder.finish()
}

#[async_trait]
impl JournalStore for ConfigMapJournal {
    async fn append(&self, lines: &[String]) -> Result<()> {
        let mut newest = self.newest.lock().await;
        // Halves of what is too large for one object are put back on top.
        let mut waiting: Vec<&[String]> = vec![lines];
        while let Some(part) = waiting.pop() {
            let failed = |e| Error::new(ErrorKind::Invalid, "write the journal", self.place()).caused_by(e);
            let piece = compress(part).map_err(failed)?;
            if piece.len() <= LARGEST {
                self.append_piece(&mut newest, &piece).await?;
                continue;
            }
            let (first, second) = part.split_at(part.len() / 2);
            if first.is_empty() {
                let text = format!("{}: a line of {} bytes is more than fits", self.place(), piece.len());
                return Err(Error::new(ErrorKind::Invalid, "write the journal", text));
            }
            waiting.extend([second, first]);
        }
        Ok(())
    }

    async fn read(&self, visit: &mut Visitor<'_>) -> Result<()> {
        let mut newest = self.newest.lock().await;
        let ring = self.ring().await.map_err(|failed| self.error("read the journal", failed))?;
        *newest = ring.first().cloned();
        drop(newest);
        for slot in ring.iter().filter(|slot| slot.sequence > 0) {
            if visit(&slot.text()) == ControlFlow::Break(()) {
                break;
            }
        }
        Ok(())
    }

    fn outcomes_wait(&self) -> bool {
        true
    }

    fn place(&self) -> String {
        format!("ConfigMaps {}/{}-*", self.namespace, self.name)
    }
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
