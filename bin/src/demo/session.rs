//! The running demo: the engine, what the screen shows of it, and what the keys do.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use zonewright_core::clock::utc;
use zonewright_core::endpoint::Note;
use zonewright_core::{RecordSet, Result};
use zonewright_engine::journal::{EntryResult, EntryStep, JournalRecord, Query};
use zonewright_engine::{Engine, UndoPlan, UndoRequest};
use zonewright_source_k8s::feed::manifests::UnreadObject;
use zonewright_source_k8s::sources::source_of;

use super::picture::{Event, Held, Offer, Past, Picture, Row, in_order};
use super::world::{DaemonParts, Running, Warnings, ZONE};

/// So many changes are shown, and so many lines of the history.
const SHOWN: usize = 200;

/// How long the names of an undo are pinned.
const PINNED: Duration = Duration::from_hours(24);

/// How often it is asked whether anything changed that a note may rest on.
const TICK: Duration = Duration::from_millis(100);

/// A look is made this often in any case: some causes go by time alone.
const LOOKS: Duration = Duration::from_secs(10);

/// What a key asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    /// Take many objects away.
    MassDelete,
    /// Approve the deletes of a held plan.
    Approve(String),
    /// Put back what a held plan is about.
    Refuse,
    /// Say what an undo of this plan would do; of the last one, where none is named.
    PlanUndo(Option<String>),
    /// Carry out an undo that was shown.
    Undo(String),
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reply {
    /// A sentence.
    Said(String),
    /// An undo to confirm.
    Offered(Offer),
}

/// The running demo.
pub(super) struct Session {
    world: DaemonParts,
    running: Arc<Running>,
    warnings: Arc<Warnings>,
    /// What the last look found.
    standing: Arc<Mutex<Vec<Note>>>,
    looks: JoinHandle<()>,
}

impl Session {
    /// Starts the engine, and waits until it has nothing to do.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(super) async fn start(world: DaemonParts) -> Result<Self> {
        let warnings = Arc::new(Warnings::default());
        let running = Arc::new(world.start(warnings.clone()).await?);
        running.engine.settled().await;
        let standing = Arc::new(Mutex::default());
        let looks = tokio::spawn(look_again(world.clone(), running.clone(), warnings.clone(), standing.clone()));
        Ok(Self { world, running, warnings, standing, looks })
    }

    /// Ends everything.
    pub(super) async fn stop(&self) {
        self.looks.abort();
        self.engine().stop().await;
    }

    fn engine(&self) -> &Engine {
        &self.running.engine
    }

    /// What there is to see now.
    pub(super) fn picture(&self) -> Picture {
        let events = events(self.engine());
        let mut changed: HashMap<&str, i64> = HashMap::new();
        for event in events.iter().filter(|event| !event.failed).rev() {
            changed.insert(event.name(), event.at);
        }
        let mut rows = rows(self.engine());
        for row in &mut rows {
            row.changed = changed.get(&*row.name).copied().unwrap_or_default();
        }
        let rows = in_order(rows);
        let claims = in_order(self.claims());
        Picture { hints: self.hints(&rows), rows, claims, events, held: held(self.engine()), notes: self.notes() }
    }

    fn hints(&self, rows: &[Row]) -> Vec<String> {
        let (server, folder) = (self.world.local.addr(), &self.world.folder);
        let web = rows.iter().find(|row| row.name.starts_with("web.")).or(rows.first());
        let asked = web.map_or_else(|| format!("web.{ZONE}"), |row| row.name.clone());
        vec![
            format!("ask    dig @{} -p {} {asked} +short", server.ip(), server.port()),
            format!("edit   {}   (or any file beside it; it shows at once)", folder.example().display()),
        ]
    }

    /// The texts in the zone that are no records of an object.
    fn claims(&self) -> Vec<Row> {
        let records: BTreeSet<_> = self.engine().names().into_iter().map(|state| state.set.key).collect();
        let is_text = |set: &RecordSet| set.key.rtype == zonewright_core::RecordType::Txt;
        let sets = self.world.records().into_iter().filter(|set| is_text(set) && !records.contains(&set.key));
        sets.map(|set| row(&set, String::new())).collect()
    }

    fn notes(&self) -> Vec<String> {
        let source = &self.running.source;
        let faults = source.faults().into_iter().map(|fault| fault.to_string());
        let unread: Vec<String> = source.unread_objects().iter().filter_map(unread).collect();
        let fresh = self.warnings.all();
        let standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let older = standing.into_iter().filter(|note| !fresh.contains(note)).collect::<Vec<_>>();
        let reported = older.iter().chain(&fresh).rev();
        let reported = reported.map(|note| format!("{}: {} ({})", note.object, note.message, note.reason));
        faults.chain(unread).chain(reported).collect()
    }

    /// What was changed, the newest first.
    pub(super) async fn history(&self) -> Vec<Past> {
        let found = self.engine().history(&Query::default(), SHOWN).await;
        found.map(|(records, _)| records.iter().flat_map(past).collect()).unwrap_or_default()
    }

    /// Does what a key asks for.
    pub(super) async fn carry_out(&self, command: Command) -> Reply {
        let folder = &self.world.folder;
        let said = |done: std::result::Result<String, String>| Reply::Said(done.unwrap_or_else(|why| why));
        match command {
            Command::MassDelete => said(
                folder.lose_workers().map(|file| format!("{} was deleted, with every Service in it", file.display())),
            ),
            Command::Approve(hash) => said(match self.engine().approve(&hash) {
                Some((_, deletes)) => {
                    Ok(format!("Plan {hash} is approved: {deletes} records are deleted; u undoes it"))
                }
                None => Err(format!("No plan {hash} is held any more")),
            }),
            Command::Refuse => said(
                folder
                    .restore_workers()
                    .map(|file| format!("{} is back, and what was held is not deleted", file.display())),
            ),
            Command::PlanUndo(plan) => match self.offer(plan).await {
                Ok(offer) => Reply::Offered(offer),
                Err(why) => Reply::Said(why),
            },
            Command::Undo(hash) => said(match self.engine().undo(&hash).await {
                Ok(report) => Ok(format!(
                    "{} names were restored; they stay as they are until the manifests ask for something else",
                    report.restored.len()
                )),
                Err(error) => Err(error.chain()),
            }),
        }
    }

    async fn offer(&self, plan: Option<String>) -> std::result::Result<Offer, String> {
        let last = async || self.history().await.into_iter().next().map(|past| past.plan);
        let plan = match plan {
            Some(plan) => Some(plan),
            None => last().await,
        };
        let Some(plan) = plan else { return Err("Nothing was changed yet".to_owned()) };
        let query = Query { plan: Some(plan.clone()), ..Query::default() };
        let undo = self.engine().plan_undo(&UndoRequest { query, pin_for: PINNED }).await;
        let undo = undo.map_err(|error| error.chain())?;
        if undo.is_empty() {
            return Err(format!("There is nothing to undo of plan {plan}"));
        }
        Ok(Offer { lines: offered(&undo), hash: undo.hash })
    }
}

/// Looks again whenever something changed. What was reported before a look and is not found by it is over.
async fn look_again(
    world: DaemonParts,
    running: Arc<Running>,
    warnings: Arc<Warnings>,
    standing: Arc<Mutex<Vec<Note>>>,
) {
    let mut zone = world.local.subscribe();
    let mut seen = (0, Vec::new());
    let mut looked: Option<Instant> = None;
    loop {
        let now = (running.source.remapped(), running.source.faults());
        let old = looked.is_none_or(|at| at.elapsed() > LOOKS);
        if old || seen != now || zone.has_changed().unwrap_or(false) {
            zone.mark_unchanged();
            seen = now;
            looked = Some(Instant::now());
            let before = warnings.take();
            // Without an answer what was known stays.
            let known = standing.lock().unwrap_or_else(PoisonError::into_inner).clone();
            set(&standing, known.into_iter().chain(before).collect());
            if let Some(notes) = world.look().await {
                set(&standing, notes);
            }
        }
        sleep(TICK).await;
    }
}

fn set(standing: &Mutex<Vec<Note>>, notes: Vec<Note>) {
    *standing.lock().unwrap_or_else(PoisonError::into_inner) = notes;
}

fn rows(engine: &Engine) -> Vec<Row> {
    let pins: BTreeSet<_> = engine.pins().into_iter().flat_map(|(_, pin)| pin.names.into_keys()).collect();
    let of = |state: zonewright_engine::NameState| {
        let by = state.resource.or(state.owner).unwrap_or_else(|| "not ours".to_owned());
        let pinned = if pins.contains(&state.set.key.name) { "(pinned) " } else { "" };
        row(&state.set, format!("{pinned}{by}"))
    };
    engine.names().into_iter().map(of).collect()
}

fn row(set: &RecordSet, by: String) -> Row {
    Row {
        name: set.key.name.to_string(),
        rtype: set.key.rtype.to_string(),
        ttl: set.ttl.map(|ttl| ttl.to_string()).unwrap_or_default(),
        data: set.data.to_string(),
        by,
        changed: 0,
    }
}

fn events(engine: &Engine) -> Vec<Event> {
    let of = |entry: zonewright_engine::RecentChange| {
        let failed = entry.error.is_some();
        let error = entry.error.map(|error| format!("  ({error})")).unwrap_or_default();
        let event = move |change| Event { at: entry.at.0, text: format!("{change}{error}"), failed };
        entry.changes.into_iter().map(event).collect::<Vec<_>>()
    };
    engine.recent_changes().last(SHOWN).into_iter().flat_map(of).collect()
}

fn held(engine: &Engine) -> Vec<Held> {
    let of = |(_, plan): (String, zonewright_core::guard::HeldPlan)| Held {
        hash: plan.hash,
        deletes: plan.held.len(),
        reason: plan.reason,
    };
    engine.plans().into_iter().map(of).collect()
}

/// A line for each record of an entry.
fn past(record: &JournalRecord) -> Vec<Past> {
    let JournalRecord { entry, closing } = record;
    let outcome = closing.as_ref().map_or("not known", |closing| match closing.verdict {
        EntryResult::Applied if entry.cause.as_str() == "round" => "applied",
        EntryResult::Applied => entry.cause.as_str(),
        other => other.as_str(),
    });
    let why = entry.objects.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let why = if why.is_empty() { why } else { format!("  for {why}") };
    let time = utc(entry.at);
    let changes = entry.steps.iter().filter(|step| !step.claim).filter_map(EntryStep::change);
    let line = |change| Past {
        time: time.get(11..19).unwrap_or_default().to_owned(),
        outcome: outcome.to_owned(),
        plan: entry.plan.clone(),
        change: format!("{change}{why}"),
    };
    changes.map(line).collect()
}

fn offered(undo: &UndoPlan) -> Vec<String> {
    let zone = |zone: &zonewright_engine::UndoZone| {
        let skipped = zone.skipped.iter().map(|(what, why)| format!("unchanged: {what}: {why}"));
        // Claims come and go with their records.
        let records = zone.changes.iter().filter(|line| !line.contains("heritage=external-dns"));
        records.cloned().chain(skipped).collect::<Vec<_>>()
    };
    undo.zones.iter().flat_map(zone).collect()
}

/// What is said of an object that nothing reads: only where some source would, else the folder is full of them.
fn unread(object: &UnreadObject) -> Option<String> {
    let UnreadObject { file, line, api_version, kind } = object;
    let found = source_of(api_version, kind)?;
    let place = format!("{}:{line}", file.display());
    let expected = found.kind.spec().api_version();
    Some(match found.source.feature() {
        Some(feature) if !found.source.is_built() => format!(
            "{place}: {kind} is read by --source={}, which this build does not have (Cargo feature source-{feature})",
            found.source.as_str()
        ),
        _ => format!("{place}: {kind} of {api_version} is not read; expected {expected}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_that_a_source_would_read_are_named() {
        let check = |api_version: &str, kind: &str, expected: Option<&str>| {
            let (api_version, kind) = (api_version.to_owned(), kind.to_owned());
            let object = UnreadObject { file: "d/x.yaml".into(), line: 7, api_version, kind };
            assert_eq!(unread(&object).as_deref(), expected);
        };
        check("v1", "ConfigMap", None);
        check("apps/v1", "Deployment", None);
        check(
            "networking.k8s.io/v1beta1",
            "Ingress",
            Some("d/x.yaml:7: Ingress of networking.k8s.io/v1beta1 is not read; expected networking.k8s.io/v1"),
        );
    }
}
