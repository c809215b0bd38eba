//! One kind, watched for ever. In: a [`WatchSpec`] and the type that an object is cut down to while it is read. Out: the
//! [`WatchEvent`]s.
//!
//! What must hold:
//! - A DELETE event of the API server is distinguished from an object that is merely missing in a new list: only the first
//!   becomes [`WatchEvent::Deleted`]. The second is what was not listed between [`WatchEvent::Begin`] and [`WatchEvent::Done`].
//! - A watch that breaks is resumed where it broke, so that its DELETE events stay proofs. Before that the server is asked
//!   whether its history reaches as far as ours: after a restore of etcd a watch from a version of the lost future would be
//!   silent for ever.
//! - [`WatchEvent::Lost`] comes at the moment when the connection breaks, and within half a minute when it stalls.
//! - [`WatchEvent::Done`] comes only after every object of the list: pages that hold fewer than the server counts are no list.
//! - One object that cannot be read is one [`WatchEvent::Unreadable`]; the others go on.
//!
//! Requests follow <https://kubernetes.io/docs/reference/using-api/api-concepts/>: a streaming list where the server can,
//! else pages of [`WatchSpec::page_size`].

mod backoff;
mod discovery;
mod lines;
mod list;
mod run;
mod wire;

#[cfg(test)]
mod tests;

use std::fmt;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::cluster::Cluster;

use backoff::Backoff;

/// What to watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchSpec {
    /// API group; empty for the core group.
    pub group: String,
    /// Version of the group.
    pub version: String,
    /// Resource name in paths: `services`.
    pub plural: String,
    /// Kind name: `Service`; for people.
    pub kind: String,
    /// Whether objects live in namespaces. True where that is not known: if there turns out to be no such collection in
    /// `namespace`, and discovery says that the kind is cluster-scoped, all its objects are watched.
    pub namespaced: bool,
    /// Only this namespace; all if `None`. Ignored for a kind that lives outside namespaces.
    pub namespace: Option<String>,
    /// Label selector, as `kubectl -l` takes it.
    pub label_selector: Option<String>,
    /// Field selector, as `kubectl --field-selector` takes it.
    pub field_selector: Option<String>,
    /// Objects in one page of a list, where the server does not stream lists.
    pub page_size: u32,
}

/// The name of one object of a kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchKey {
    /// Namespace; empty for an object outside namespaces.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`; empty where it is not known.
    pub uid: String,
}

/// What a watch reports. The order is: `Begin`, `Listed`..., `Done`, `Open`, then changes; after `Lost` either `Open` (resumed
/// without a gap) or `Begin` again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEvent<T> {
    /// A list begins. What was known before stays valid until `Done`; a list that breaks off is begun again.
    Begin,
    /// An object of the list.
    Listed(T),
    /// The list is complete. What it did not hold is gone, without a tombstone.
    Done,
    /// An object was created or changed.
    Applied(T),
    /// The API server reported this object's deletion, with no gap between this event and what was reported before: a
    /// tombstone. May come within a list too; the object is then no part of it, whatever `Listed` said.
    Deleted(WatchKey),
    /// An object, listed or changed, that does not fit the type. It exists; nothing else is known of it.
    Unreadable {
        /// The object.
        key: WatchKey,
        /// Which field is wrong, and what was expected.
        error: String,
    },
    /// The watch is open: from now on the view is as fresh as can be. Reported once for each `Lost`, `Denied`, `OtherVersion` or
    /// `Forbidden`, not for each connection.
    Open,
    /// The view is no longer fresh: a list or watch failed. It is tried again, first after a fraction of a second, then
    /// every 10 s at most. Repeated for each failed attempt.
    Lost {
        /// When the view stopped being fresh: the same for every failure until the next `Open`.
        since: Instant,
        /// What happened, a sentence for the log.
        text: String,
    },
    /// The API server's own discovery says that it does not know this kind in any version. Asked again every 30 s.
    Denied {
        /// What it said.
        text: String,
    },
    /// The API server's own discovery has this kind, and not in the version that is read: what objects there are is not known. Asked
    /// again every 30 s.
    OtherVersion {
        /// Which versions it has.
        text: String,
    },
    /// A right is missing. With `verb` = `watch` the list before it is complete, but will not be kept current; it is read
    /// again every 30 s. A missing `list` is asked for again sooner at first.
    Forbidden {
        /// `list` or `watch`.
        verb: &'static str,
        /// What the API server said: user, verb, resource.
        text: String,
    },
}

/// Watches one kind until the receiver of `sink` is dropped.
///
/// `T` is decoded straight from the answer's bytes: fields that it does not name are skipped, never stored. Objects in
/// lists carry neither `apiVersion` nor `kind`.
pub async fn watch<T>(cluster: &Cluster, spec: WatchSpec, sink: mpsc::Sender<WatchEvent<T>>)
where
    T: DeserializeOwned + Send,
{
    let closed = sink.clone();
    let watcher = Watcher {
        cluster,
        spec,
        sink,
        version: None,
        doubt: false,
        lists: Lists::Streamed,
        paged: true,
        state: State::Lost(Instant::now()),
        backoff: Backoff::default(),
        complained: false,
        object: PhantomData,
    };
    tokio::select! {
        () = watcher.run() => {}
        () = closed.closed() => {}
    }
}

struct Watcher<'a, T> {
    cluster: &'a Cluster,
    spec: WatchSpec,
    sink: mpsc::Sender<WatchEvent<T>>,
    /// The resource version up to which everything was reported; `None` before the first list.
    version: Option<String>,
    /// The connection broke: the server may not be the one that it was.
    doubt: bool,
    lists: Lists,
    /// Whether to list in pages; not after a page token expired.
    paged: bool,
    state: State,
    backoff: Backoff,
    /// Whether the log says that the view is not fresh.
    complained: bool,
    object: PhantomData<fn() -> T>,
}

/// How the next list is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lists {
    Streamed,
    /// In pages, since the last streaming list did not reach its end; the one after it streams again.
    PagedOnce,
    /// In pages, since the server does not stream lists.
    Paged,
}

/// What was last reported to the sink about the watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// Not fresh since then.
    Lost(Instant),
}

/// Why a connection came to its end.
#[derive(Debug)]
enum End {
    /// Nobody listens any more.
    Closed,
    /// In good order: the time asked for is over. The watch goes on from the last version.
    Planned,
    /// The version is too old, or unknown to this server: everything must be listed again.
    Expired(String),
    /// Anything else.
    Lost { text: String, retry_after: Option<std::time::Duration> },
    /// The kind does not exist.
    Denied(String),
    /// The kind exists in other versions only.
    OtherVersion(String),
    /// The kind was asked for in a namespace, and its objects are in none.
    ClusterScoped,
    /// A right is missing.
    Forbidden { verb: &'static str, text: String },
}

impl End {
    fn lost(text: impl fmt::Display) -> Self {
        Self::Lost { text: text.to_string(), retry_after: None }
    }
}

impl WatchSpec {
    /// All objects of a kind in all namespaces, in pages of 500.
    pub fn new(group: &str, version: &str, plural: &str, kind: &str, namespaced: bool) -> Self {
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: plural.to_owned(),
            kind: kind.to_owned(),
            namespaced,
            namespace: None,
            label_selector: None,
            field_selector: None,
            page_size: 500,
        }
    }

    /// The path of the group and version: `/api/v1`, `/apis/networking.k8s.io/v1`.
    fn group_path(&self) -> String {
        if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        }
    }

    /// The path of the collection.
    fn path(&self) -> String {
        match self.namespace.as_deref().filter(|namespace| self.namespaced && !namespace.is_empty()) {
            Some(namespace) => format!("{}/namespaces/{namespace}/{}", self.group_path(), self.plural),
            None => format!("{}/{}", self.group_path(), self.plural),
        }
    }
}

impl fmt::Display for WatchSpec {
    /// `services`, `ingresses.networking.k8s.io/v1 in namespace a`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.plural)?;
        if !self.group.is_empty() {
            write!(f, ".{}/{}", self.group, self.version)?;
        }
        match &self.namespace {
            Some(namespace) if self.namespaced => write!(f, " in namespace {namespace}"),
            _ => Ok(()),
        }
    }
}
