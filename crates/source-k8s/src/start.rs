//! A source with the feeds that it lives by: of a cluster, or of a folder.

use std::path::Path;
use std::sync::Arc;

use tokio::task::JoinSet;
use zonewright_core::source::SeenKinds;
use zonewright_core::{Error, ErrorKind, Result};

use crate::feed::manifests::{DocumentReads, ManifestFeed};
use crate::feed::polled;
use crate::index::Index;
#[cfg(feature = "cluster")]
use crate::kind::Kind;
use crate::options::SourceOptions;
use crate::source::K8sSource;

impl K8sSource {
    /// A source that reads a folder of manifests, and the task that reads it; dropping the set ends the task.
    ///
    /// Has to be called within a tokio runtime. The first reading goes on in the task: the evidence is settled when every
    /// file has been read.
    ///
    /// # Errors
    /// `dir` is no folder, or cannot be read.
    pub fn manifests(dir: &Path, options: SourceOptions, seen: &SeenKinds) -> Result<(Arc<Self>, JoinSet<()>)> {
        let mut reads = options.reads();
        reads.retain(|kind, _| !kind.is_polled());
        let wanted = DocumentReads { reads, keep: options.keep() };
        let feed = ManifestFeed::new(dir, wanted).map_err(|error| {
            let context = format!("--manifests {}: expected a folder that can be read: {error}", dir.display());
            Error::new(ErrorKind::Configuration, "open the manifests folder", context)
        })?;
        let options = Arc::new(options);
        let source = Arc::new(Self::new(Index::new(Arc::clone(&options), seen)));
        let mut tasks = JoinSet::new();
        tasks.spawn(feed.run(Arc::clone(&source)));
        polled::spawn(&mut tasks, &options, &source);
        Ok((source, tasks))
    }

    /// A source that watches a cluster, and one task for each kind in use; dropping the set ends them.
    ///
    /// Has to be called within a tokio runtime. `seen` are the kinds that an earlier process saw ([`K8sSource::seen`]).
    #[cfg(feature = "cluster")]
    pub fn watch(
        cluster: &zonewright_cluster::Cluster,
        options: SourceOptions,
        seen: &SeenKinds,
    ) -> (Arc<Self>, JoinSet<()>) {
        let options = Arc::new(options);
        let source = Arc::new(Self::new(Index::new(Arc::clone(&options), seen).keeping_little()));
        let mut tasks = crate::feed::watch::spawn(cluster, &options, &source);
        polled::spawn(&mut tasks, &options, &source);
        (source, tasks)
    }

    /// Writes into the status of DNSEndpoints what was read of them, until `ending` is over; then what is due is still written.
    /// Not for a dry run.
    #[cfg(feature = "cluster")]
    pub async fn report_statuses(
        self: Arc<Self>,
        cluster: zonewright_cluster::Cluster,
        ending: impl Future<Output = ()> + Send,
    ) {
        // Without that source nothing is ever due, and no mapping needs to be looked at.
        if self.reads().contains_key(&Kind::DnsEndpoint) {
            crate::feed::status::run(cluster, self, ending).await;
        }
    }
}
