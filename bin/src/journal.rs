//! Where the journal is kept: a folder, ConfigMaps, or memory. The daemon and the commands find it by the same flags.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracing::warn;
use zonewright_core::catalog::Settings;
use zonewright_core::store::{JournalStore, StateStore};
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_engine::journal::{FolderJournal, FolderLimits, Journaling, MemoryJournal, Mode};

#[cfg(feature = "cluster")]
use crate::connection::{self, Connection};
use crate::{folder, saved, state_dir};

fn wrong(text: &str) -> Error {
    Error::new(ErrorKind::Configuration, "read the flags", text)
}

/// How much depends on the journal.
///
/// # Errors
/// A configuration error that names the flag.
pub(crate) fn mode(settings: &Settings) -> Result<Mode> {
    Mode::parse(settings.text("journal")).ok_or_else(|| wrong("--journal is one of: required, best-effort, off"))
}

/// The journal in the folder that the settings name. A dry run writes nothing, and makes no folder.
///
/// # Errors
/// A configuration error that names the flag.
pub(crate) fn in_folder(settings: &Settings, dry_run: bool) -> Result<Journaling> {
    let mode = mode(settings)?;
    let folder = match settings.text("journal-dir") {
        "" => state_dir::folder(settings).join(FOLDER),
        folder => PathBuf::from(folder),
    };
    let writes = mode != Mode::Off && !dry_run;
    if !is_named(settings)
        && writes
        && let Err(error) = folder::make(&state_dir::folder(settings))
    {
        warn!(error = error.chain(), "the journal is kept in memory only; give --state-dir or --journal-dir");
        return Ok(Journaling { store: Arc::new(MemoryJournal::default()), mode });
    }
    Ok(Journaling { store: Arc::new(FolderJournal::new(folder, &prefix(settings), limits(settings)?)), mode })
}

/// Whether the user said where the journal or the state is.
fn is_named(settings: &Settings) -> bool {
    ["journal-dir", "state-dir"].into_iter().any(|flag| !settings.text(flag).is_empty())
}

/// The journal of a daemon that reads a cluster: the ring of ConfigMaps where it runs in that cluster, else a folder.
///
/// # Errors
/// A configuration error that names the flag.
#[cfg(feature = "cluster")]
pub(crate) fn in_cluster(settings: &Settings, cluster: &Connection, dry_run: bool) -> Result<Journaling> {
    if cluster.in_cluster() && !is_named(settings) {
        return Ok(Journaling { store: Arc::new(ring(settings, cluster)), mode: mode(settings)? });
    }
    in_folder(settings, dry_run)
}

#[cfg(feature = "cluster")]
fn ring(settings: &Settings, cluster: &Connection) -> zonewright_cluster::ConfigMapJournal {
    let owner = settings.text("txt-owner-id");
    let namespace = connection::home(settings, cluster);
    zonewright_cluster::ConfigMapJournal::new(cluster, namespace, owner, zonewright_cluster::RingLimits::default())
}

/// The journal that a command on claims writes.
pub(crate) struct CommandJournal {
    pub(crate) journaling: Journaling,
    /// Where what it writes can be undone.
    pub(crate) undo: UndoPlace,
    /// What has to be said of it before anything is done.
    pub(crate) note: Option<String>,
}

/// Where the daemon answers that undoes what stands in a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UndoPlace {
    /// Here.
    Here,
    /// In its pod alone.
    #[cfg_attr(not(feature = "cluster"), allow(dead_code, reason = "without a client no pod is found"))]
    Pod,
    /// None is known.
    Nowhere,
}

/// The journal that a command on claims writes: that of the daemon with the same flags. Outside of the pod it is the ring in the cluster
/// at hand if a daemon has begun one there and none answers here.
///
/// # Errors
/// A configuration error that names the flag; the journal is required, and the cluster cannot be asked or no daemon is found.
pub(crate) async fn of_command(settings: &Settings) -> Result<CommandJournal> {
    let mode = mode(settings)?;
    let here = |undo, note| Ok(CommandJournal { journaling: in_folder(settings, false)?, undo, note });
    if mode == Mode::Off || is_named(settings) {
        return here(UndoPlace::Here, None);
    }
    let folder = state_dir::folder(settings);
    if settings.text("manifests").is_empty() {
        match of_a_cluster(settings, &folder).await {
            Ok(Some((store, undo, note))) => {
                return Ok(CommandJournal { journaling: Journaling { store, mode }, undo, note });
            }
            Ok(None) => {}
            Err(error) if mode == Mode::Required => return Err(error),
            Err(error) => {
                warn!(error = error.chain(), "the journal in the cluster cannot be read; using a local folder");
            }
        }
    }
    if state_dir::answers(&folder) {
        return here(UndoPlace::Here, None);
    }
    let missing = format!(
        "no daemon of owner {:?} answers in {}, and none was found in a cluster; give the --state-dir of the daemon, or \
         --kubeconfig and --state-namespace where it runs in a cluster",
        settings.text("txt-owner-id"),
        folder.display()
    );
    if mode == Mode::Required {
        let text = format!("--journal=required: {missing}");
        return Err(Error::new(ErrorKind::NotFound, "look for the daemon's journal", text));
    }
    let journal = folder.join(FOLDER);
    let text = format!(
        "{missing}. Otherwise it is journaled in {}, from where no daemon that is known undoes it",
        journal.display()
    );
    here(UndoPlace::Nowhere, Some(text))
}

/// The ring of a daemon that runs in the cluster at hand.
#[cfg(feature = "cluster")]
async fn of_a_cluster(
    settings: &Settings,
    folder: &Path,
) -> Result<Option<(Arc<dyn JournalStore>, UndoPlace, Option<String>)>> {
    let Some(cluster) = connection::to_read(settings).await? else { return Ok(None) };
    let ring = Arc::new(ring(settings, &cluster));
    if cluster.in_cluster() {
        return Ok(Some((ring, UndoPlace::Here, None)));
    }
    if state_dir::answers(folder) || !or_unnamed(settings, ring.is_begun().await, false)? {
        return Ok(None);
    }
    let unnamed = || format!("the journal is that of the daemon in the kubeconfig's cluster: {}", ring.place());
    let note = (!connection::is_named(settings)).then(unnamed);
    Ok(Some((ring, UndoPlace::Pod, note)))
}

/// There is no client.
#[cfg(not(feature = "cluster"))]
#[expect(clippy::unused_async, reason = "the same shape with and without the feature")]
async fn of_a_cluster(_: &Settings, _: &Path) -> Result<Option<(Arc<dyn JournalStore>, UndoPlace, Option<String>)>> {
    Ok(None)
}

/// The folder of the journal in the state folder.
const FOLDER: &str = "journal";

fn prefix(settings: &Settings) -> String {
    state_dir::file_name(settings.text("txt-owner-id"))
}

fn limits(settings: &Settings) -> Result<FolderLimits> {
    let size = u64::try_from(settings.int("journal-file-size")).ok().filter(|size| *size > 0);
    let size = size.ok_or_else(|| wrong("--journal-file-size must be greater than 0"))?;
    let files = usize::try_from(settings.int("journal-files")).ok().filter(|files| *files > 1);
    let files = files.ok_or_else(|| wrong("--journal-files must be greater than 1"))?;
    Ok(FolderLimits { file_size: size.saturating_mul(1 << 20), files })
}

/// The journal that a daemon left behind, or writes where its socket is out of reach: in the folder that was named, else in the
/// cluster at hand, else in the folder of its state. `None` if there is none of them.
///
/// # Errors
/// The cluster cannot be asked.
pub(crate) async fn left_behind(settings: &Settings, state: &Path) -> Result<Option<Arc<dyn JournalStore>>> {
    let folder = match settings.text("journal-dir") {
        "" => state.join(FOLDER),
        folder => PathBuf::from(folder),
    };
    let ring = if is_named(settings) { None } else { ring_at_hand(settings).await? };
    Ok(ring.or_else(|| {
        folder.is_dir().then(|| -> Arc<dyn JournalStore> {
            Arc::new(FolderJournal::new(folder, &prefix(settings), FolderLimits::default()))
        })
    }))
}

/// What a cluster answered; `none` where it could not be asked and nobody named it.
#[cfg(feature = "cluster")]
fn or_unnamed<T>(settings: &Settings, answer: Result<T>, none: T) -> Result<T> {
    if connection::is_named(settings) { answer } else { Ok(answer.unwrap_or(none)) }
}

#[cfg(feature = "cluster")]
async fn ring_at_hand(settings: &Settings) -> Result<Option<Arc<dyn JournalStore>>> {
    let Some(cluster) = connection::to_read(settings).await? else { return Ok(None) };
    let ring = ring(settings, &cluster);
    let begun = or_unnamed(settings, ring.is_begun().await, false)?;
    Ok(begun.then(|| -> Arc<dyn JournalStore> { Arc::new(ring) }))
}

/// There is no client.
#[cfg(not(feature = "cluster"))]
#[expect(clippy::unused_async, reason = "the same shape with and without the feature")]
async fn ring_at_hand(_: &Settings) -> Result<Option<Arc<dyn JournalStore>>> {
    Ok(None)
}

/// The state that a daemon keeps: the file in the folder that was named, else the ConfigMap in the cluster at hand, else the file
/// in the folder of its state. `None` if there is none of them.
///
/// # Errors
/// The cluster cannot be asked.
pub(crate) async fn state_left_behind(settings: &Settings, state: &Path) -> Result<Option<Arc<dyn StateStore>>> {
    let stored = if is_named(settings) { None } else { state_at_hand(settings).await? };
    Ok(stored.or_else(|| saved::left_in(state, settings.text("txt-owner-id"))))
}

#[cfg(feature = "cluster")]
async fn state_at_hand(settings: &Settings) -> Result<Option<Arc<dyn StateStore>>> {
    let Some(cluster) = connection::to_read(settings).await? else { return Ok(None) };
    let namespace = connection::home(settings, &cluster);
    let store = zonewright_cluster::ConfigMapStore::new(&cluster, namespace, settings.text("txt-owner-id"));
    let state = or_unnamed(settings, store.load().await, None)?;
    Ok(state.is_some().then(|| -> Arc<dyn StateStore> { Arc::new(store) }))
}

/// There is no client.
#[cfg(not(feature = "cluster"))]
#[expect(clippy::unused_async, reason = "the same shape with and without the feature")]
async fn state_at_hand(_: &Settings) -> Result<Option<Arc<dyn StateStore>>> {
    Ok(None)
}

/// What a command says where neither a daemon answers nor anything of one is found.
pub(crate) fn nowhere(settings: &Settings, what: &str, folder: &Path) -> Error {
    let owner = settings.text("txt-owner-id");
    let text = format!(
        "no daemon of owner {owner:?} answers in {}, no {what} of it is there, and none was found in a cluster; give the \
         --state-dir and --txt-owner-id that it was started with, or --kubeconfig and --state-namespace where it runs in a \
         cluster",
        folder.display()
    );
    Error::new(ErrorKind::NotFound, "look for a daemon", text)
}
