//! `zonewright explain`: why a name is published, or is not.
//!
//! The daemon answers over its socket. Where none does, or with `--offline`, the objects and zones are read once with the flags of the
//! daemon, in a dry run that writes nothing; its state and its journal are read where they are found.

mod text;

use std::sync::Arc;

use zonewright_api::{Explain, Explanation};
use zonewright_core::catalog::{FlagValue, Settings};
use zonewright_core::clock::Clock;
use zonewright_core::endpoint::{Note, Reporter};
use zonewright_core::explain::Subject;
use zonewright_core::name_policy::PermitAll;
use zonewright_core::shared::Shared;
use zonewright_core::store::{MemoryStore, StateStore};
use zonewright_core::wrap::Wrapped;
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_engine::journal::{Journaling, Mode};
use zonewright_engine::metrics::Metrics;
use zonewright_engine::{self as engine, Engine, Parts};

use crate::ask::{as_json, ask};
use crate::catalog::Catalog;
use crate::daemon::DaemonParts;
use crate::instance::InstanceSettings;
use crate::name_servers::SystemNameServers;
use crate::state_dir::meant;
use crate::{config, connection, journal};

/// The text of `zonewright explain`.
///
/// # Errors
/// No daemon answers, and the flags do not say where objects and zones are; or what keeps them from being read.
pub(crate) async fn show(
    catalog: &Catalog,
    settings: &Settings,
    listed: &[InstanceSettings],
    about: &Subject,
) -> Result<String> {
    let folder = meant(settings);
    let can_look = !settings.list("source").is_empty();
    let explanation = if settings.bool("offline") {
        look(catalog, settings, listed, about).await?
    } else {
        match ask(&folder, Explain { about: about.clone() }).await {
            Err(error) if error.kind == ErrorKind::Unavailable && can_look => {
                look(catalog, settings, listed, about).await?
            }
            Err(mut error) if error.kind == ErrorKind::Unavailable => {
                error
                    .context
                    .push_str("; or give the daemon's flags (--source, --provider ...) to find out without it");
                return Err(error);
            }
            answered => answered?,
        }
    };
    Ok(if settings.text("output") == "json" { as_json(&explanation) } else { text::shown(&explanation) })
}

/// Reads everything once and writes nothing.
async fn look(
    catalog: &Catalog,
    settings: &Settings,
    listed: &[InstanceSettings],
    about: &Subject,
) -> Result<Explanation> {
    if settings.list("source").is_empty() {
        let text = "--offline needs the flags of the daemon: --source, --provider and what they need";
        return Err(Error::new(ErrorKind::Configuration, "explain", text));
    }
    let config = engine::Config { dry_run: true, one_pass: true, looks: true, ..config::engine(settings)? };
    let store = saved(settings).await;
    let history = journal::left_behind(settings, &meant(settings)).await.ok().flatten();
    let cluster = connection::open(catalog, settings).await?;
    let documents = connection::documents(catalog, settings, cluster.as_ref());
    let instances = config::instances(catalog, settings, listed, documents, &Shared::default()).await?;
    // No folder is made for a state that is not written.
    let mut bare = settings.clone();
    bare.set("state-dir", FlagValue::Text(String::new()), false);
    let world = DaemonParts::open(&bare, &config, cluster).await?;
    let journal = match history {
        Some(store) => Journaling { store, mode: Mode::Off },
        None => world.journal,
    };
    let parts = Parts {
        sources: vec![Wrapped::around(world.source, config::wrapping(settings)?)],
        instances,
        name_policy: Arc::new(PermitAll),
        store,
        journal,
        reporter: Arc::new(Silent),
        metrics: Arc::new(Metrics::default()),
        clock: Clock::system(),
        own_object: None,
    };
    let engine = Engine::start(config, parts).await;
    engine.settled().await;
    let explanation =
        engine.explain(about, "a look with these flags and without the daemon", Some(&SystemNameServers::DNS)).await;
    engine.stop().await;
    drop(world.tasks);
    Ok(explanation)
}

/// A copy of the state that the daemon keeps; an empty one where it cannot be read: what is held is then not known, the rest is.
async fn saved(settings: &Settings) -> Arc<dyn StateStore> {
    let copy = MemoryStore::default();
    if let Ok(Some(store)) = journal::state_left_behind(settings, &meant(settings)).await
        && let Ok(Some(document)) = store.load().await
    {
        // Memory takes everything.
        let _ = copy.save(&document).await;
    }
    Arc::new(copy)
}

/// What is said of objects is in the explanation.
struct Silent;

impl Reporter for Silent {
    fn report(&self, _: &Note) {}
}
