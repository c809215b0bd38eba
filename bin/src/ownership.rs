//! `adopt`, `transfer`, `release` and `drain`: claims that change hands, and an owner that leaves for good.
//!
//! In come the daemon's own flags and an order; out comes a plan that is printed first, and carried out after `--yes` or the
//! answer of a person. What must hold: between the plan and the action the zones are read once more, and whatever has become
//! different is left alone.

mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::Arc;

use zonewright_core::catalog::{FlagValue, Settings};
use zonewright_core::change::Outcome;
use zonewright_core::claim::OwnerId;
use zonewright_core::clock::Clock;
use zonewright_core::plan::Adoptable;
use zonewright_core::record::{RecordKey, RecordSet};
use zonewright_core::registry::OwnershipChange;
use zonewright_core::shared::Shared;
use zonewright_core::zone::ZoneKey;
use zonewright_core::{DnsName, Error, ErrorKind, Result};
use zonewright_engine::Instance;
use zonewright_engine::journal::{Cause, EntryOrigin, JournalWriter, Journaling, Mode, WriterId};
use zonewright_engine::layer::Layers;
use zonewright_engine::metrics::Metrics;
use zonewright_engine::ownership::{Action, InstanceSnapshot, Proposal, Scope, Selector};

use self::report::{Outcomes, Plan, Printer, changes};
use crate::catalog::Catalog;
use crate::instance::InstanceSettings;
use crate::journal::{CommandJournal, UndoPlace};
use crate::{command_flags, config, connection, daemon, journal, output, state_dir};

/// Status where nothing was done for want of a yes.
const NOT_CONFIRMED: u8 = 2;

/// What is to become of claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Unowned records that the cluster requests become ours.
    Adopt,
    /// What is ours becomes another owner's.
    Transfer,
    /// Our claims are dropped; the records stay.
    Release,
    /// What is ours goes.
    Drain,
}

impl Order {
    /// The name of the command.
    fn word(self) -> &'static str {
        match self {
            Self::Adopt => "adopt",
            Self::Transfer => "transfer",
            Self::Release => "release",
            Self::Drain => "drain",
        }
    }

    /// The word for it in the journal.
    fn cause(self) -> Cause {
        match self {
            Self::Adopt => Cause::Adopt,
            Self::Transfer => Cause::Transfer,
            Self::Release => Cause::Release,
            Self::Drain => Cause::Drain,
        }
    }
}

fn wrong(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Configuration, "read the flags", text)
}

/// Prints the plan, asks, and does it.
///
/// # Errors
/// What keeps the plan from being made: nothing was done then.
pub(crate) async fn run(
    catalog: &Catalog,
    settings: &Settings,
    listed: &[InstanceSettings],
    (order, words): (Order, &[String]),
) -> Result<ExitCode> {
    let job = Job::new(catalog, settings, listed, (order, words)).await?;
    let first = job.snapshot().await?;
    job.check_owner(&first)?;
    let plan = job.proposal(&first);
    let (out, dry_run) = (job.printer, settings.bool("dry-run"));
    if plan.actions.is_empty() {
        return Ok(job.nothing(&first, &plan, words, dry_run));
    }
    let written = out.line(&job.planned(&plan, true, dry_run));
    // One change may concern several records, each with its line.
    let headline = job.headline(plan.actions.iter().map(|action| action.text.lines().count()).sum());
    let shown = out.say(format_args!("{headline}\n{}", plan.to_string().trim_end()));
    warn_of_daemon(settings, job.printer, order);
    if let Some(note) = &job.note {
        if out.asks() {
            out.say(format_args!("note: {note}"));
        } else {
            tracing::warn!("{note}");
        }
    }
    if dry_run {
        out.say("dry run: nothing was done");
        return Ok(written.or_failure(shown.or_failure(ExitCode::SUCCESS)));
    }
    if !(settings.bool("yes") || out.is_confirmed()) {
        out.say("nothing was done: confirm with --yes or at a terminal");
        return Ok(ExitCode::from(NOT_CONFIRMED));
    }
    let journal = JournalWriter::new(job.journal.clone(), Clock::system(), WriterId::random());
    let origin = journal.origin(order.cause());
    job.carry_out(&first, &plan, &journal, &origin).await
}

/// The one instance that a command works on, of those of the settings file.
fn chosen(listed: &[InstanceSettings], name: &str) -> Result<Vec<InstanceSettings>> {
    let all = || listed.iter().map(|one| one.id.as_str()).collect::<Vec<_>>().join(", ");
    match (listed, name) {
        ([], "") => Ok(Vec::new()),
        ([], _) => Err(wrong("--provider-instance: the settings file lists no providers")),
        ([only], "") => Ok(vec![only.clone()]),
        (_, "") => Err(wrong(format!("--provider-instance is required, one of {}", all()))),
        (_, name) => match listed.iter().find(|one| one.id.as_str() == name) {
            Some(one) => Ok(vec![one.clone()]),
            None => Err(wrong(format!("--provider-instance {name:?}: expected one of {}", all()))),
        },
    }
}

/// An order with all that it needs.
struct Job {
    order: Order,
    instance: Instance,
    journal: Journaling,
    /// Where what it does can be undone, and what has to be said of the journal beforehand.
    undo: UndoPlace,
    note: Option<String>,
    scope: Scope,
    owner_given: bool,
    to: Option<OwnerId>,
    wanted: Vec<(ZoneKey, Adoptable)>,
    forced: BTreeSet<DnsName>,
    /// Flags that the printed undo needs, each behind a blank.
    flags: String,
    printer: Printer,
}

impl Job {
    async fn new(
        catalog: &Catalog,
        flags: &Settings,
        listed: &[InstanceSettings],
        (order, words): (Order, &[String]),
    ) -> Result<Self> {
        let mut settings = flags.clone();
        let listed = chosen(listed, settings.text("provider-instance"))?;
        if order == Order::Transfer {
            let from = settings.text("from").to_owned();
            settings.set("txt-owner-id", FlagValue::Text(from), true);
        }
        // Another daemon may still go by the owner id that this one had: what that claims is not meant.
        settings.set("migrate-from-txt-owner", FlagValue::Text(String::new()), false);
        let to = OwnerId::new(if order == Order::Transfer { settings.text("to") } else { "" });
        if order == Order::Transfer && (to.is_none() || settings.text("from").is_empty()) {
            return Err(wrong("transfer needs --from and --to, each the owner id of a daemon"));
        }
        if order == Order::Transfer && settings.text("from") == settings.text("to") {
            return Err(wrong("transfer: --from and --to are the same owner id"));
        }
        let select = words.iter().map(|word| Selector::parse(word)).collect::<Result<_, _>>().map_err(wrong)?;
        let engine = config::engine(&settings)?;
        let scope = Scope { filter: engine.filter.clone(), managed: engine.managed.clone(), select };
        let wanted =
            if order == Order::Adopt { daemon::adoptable(catalog, &settings, &listed).await? } else { Vec::new() };
        let documents = connection::registry(catalog, &settings).await?;
        let bare = config::instances(catalog, &settings, &listed, documents, &Shared::default()).await?;
        let bare = bare.into_iter().next().ok_or_else(|| wrong("there is no provider"))?;
        let provider = Layers::new(bare.id.clone()).around(bare.provider, &Arc::new(Metrics::default()));
        let name = |text: &String| DnsName::parse(text).map_err(|error| wrong(format!("--force {text:?}: {error}")));
        let forced = match order {
            Order::Adopt => settings.list("force").iter().map(name).collect::<Result<_>>()?,
            _ => BTreeSet::new(),
        };
        let owner_given = settings.given("txt-owner-id");
        let CommandJournal { journaling: journal, undo, note } = journal_of(flags, order).await?;
        let printer = Printer::of(flags);
        let flags = command_flags::of_daemon(flags, &journal_owner(flags, order));
        let instance = Instance { provider, ..bare };
        Ok(Self { order, instance, journal, undo, note, scope, owner_given, to, wanted, forced, flags, printer })
    }

    async fn snapshot(&self) -> Result<InstanceSnapshot> {
        InstanceSnapshot::read(self.instance.clone(), self.scope.clone()).await
    }

    /// What takes something away needs an explicit owner: the default owner id is shared by too many.
    fn check_owner(&self, snapshot: &InstanceSnapshot) -> Result<()> {
        if self.owner_given || self.order == Order::Adopt {
            return Ok(());
        }
        let owners = snapshot.owners();
        let known: Vec<String> = owners.iter().map(|(owner, count)| format!("{owner} ({count} records)")).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Err(wrong(format!("--txt-owner-id is required; owners in these zones: {known}")))
    }

    fn proposal(&self, snapshot: &InstanceSnapshot) -> Proposal {
        match (self.order, &self.to) {
            (Order::Adopt, _) => snapshot.adopt(&self.wanted, &self.forced),
            (Order::Transfer, Some(to)) => snapshot.hand_over(&OwnershipChange::Give(to.clone())),
            (Order::Release | Order::Transfer, _) => snapshot.hand_over(&OwnershipChange::Disown),
            (Order::Drain, _) => snapshot.drain(),
        }
    }

    fn owner(&self) -> String {
        self.instance.registry.owner().map(ToString::to_string).unwrap_or_default()
    }

    fn planned<'p>(&self, plan: &'p Proposal, matched: bool, dry_run: bool) -> Plan<'p> {
        Plan {
            command: self.order.word(),
            owner: self.owner(),
            to: self.to.as_ref().map(ToString::to_string),
            matched,
            dry_run,
            changes: changes(plan),
            left_alone: &plan.left,
        }
    }

    /// Nothing is to be done: either all of it is done already, or nothing is what was asked for.
    fn nothing(&self, snapshot: &InstanceSnapshot, plan: &Proposal, words: &[String], dry_run: bool) -> ExitCode {
        let adopts = self.order == Order::Adopt;
        let wanted =
            |(_, one): &(ZoneKey, Adoptable)| self.scope.selects(&one.published.key.name, one.resource.as_deref());
        let already = self.to.as_ref().map(|to| snapshot.selected_of(to)).filter(|count| *count > 0);
        let given = already.filter(|_| !words.is_empty());
        let matched = !plan.left.is_empty()
            || given.is_some()
            || adopts && (words.is_empty() || snapshot.matches_any() || self.wanted.iter().any(wanted));
        self.printer.line(&self.planned(plan, matched, dry_run));
        let to = self.to.as_ref().map(ToString::to_string).unwrap_or_default();
        let theirs = already.map(|count| format!("{count} records there belong to {to:?} already"));
        if matched {
            let done = self.leaves_none(plan);
            let why = theirs.filter(|_| done).map(|why| format!(": {why}")).unwrap_or_default();
            let what = if done { "nothing to do" } else { "nothing of it can be done" };
            self.printer.say(format_args!("{plan}{what}{why}"));
            return if done || dry_run { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
        let owner = Some(self.owner()).filter(|_| !adopts);
        let owner = owner.map(|owner| format!(" of owner {owner:?}")).unwrap_or_default();
        let at = if words.is_empty() { String::new() } else { format!(" at {}", words.join(", ")) };
        let why = theirs.map(|why| format!(" ({why})")).unwrap_or_default();
        self.printer.say(format_args!("nothing matched: there is no record{owner}{at}{why}"));
        ExitCode::FAILURE
    }

    /// Whether nothing of what was asked for is left alone. (What is not as it is wanted is not asked for by `adopt`.)
    fn leaves_none(&self, plan: &Proposal) -> bool {
        self.order == Order::Adopt || plan.left.is_empty()
    }

    fn headline(&self, count: usize) -> String {
        let owner = self.owner();
        let records = "no record is changed";
        match (self.order, &self.to) {
            (Order::Adopt, _) => format!("adopt: {count} records become owned by {owner:?}; {records}"),
            (Order::Transfer, Some(to)) => {
                format!("transfer: {count} records of {owner:?} become owned by {:?}; {records}", to.as_str())
            }
            (Order::Release | Order::Transfer, _) => {
                format!("release: {count} records stay, and are no longer owned by {owner:?}; {records}")
            }
            (Order::Drain, _) => format!("drain: {count} changes delete the records and claims of {owner:?}"),
        }
    }

    /// Reads the zones again and does what was shown, as far as it is still the same; then reads them once more and says
    /// how they stand.
    async fn carry_out(
        &self,
        first: &InstanceSnapshot,
        shown: &Proposal,
        journal: &JournalWriter,
        origin: &EntryOrigin,
    ) -> Result<ExitCode> {
        let snapshot = self.snapshot().await?;
        let all = self.leaves_none(shown);
        let shown: BTreeSet<String> = shown.actions.iter().map(line).collect();
        let (actions, other): (Vec<Action>, Vec<Action>) =
            self.proposal(&snapshot).actions.into_iter().partition(|action| shown.contains(&line(action)));
        let gone = shown.len().saturating_sub(actions.len());
        let outcomes = snapshot.carry_out(&actions, journal, origin).await;
        let mut report = Outcomes { skipped: gone, appeared: other.len(), ..Outcomes::default() };
        for (action, outcome) in actions.iter().zip(&outcomes) {
            if let Some(error) = outcome.error() {
                report.failed.push((action.text.clone(), error.chain()));
                output::complain(format_args!("{}: {}: {}", outcome.label(), action.text, error.chain()));
            }
        }
        report.done = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Applied)).count();
        let (out, done, failed) = (self.printer, report.done, report.failed.len());
        out.say(format_args!("{done} done, {failed} failed, {gone} skipped because they changed meanwhile"));
        if let Some(place) = journal.place().filter(|_| done > 0) {
            let undo = format!("zonewright undo --plan {}{}", origin.plan(), self.flags);
            match self.undo {
                UndoPlace::Here => out.say(format_args!("journaled in {place}; undo with: {undo}")),
                UndoPlace::Pod => out.say(format_args!("journaled in {place}; undo in the daemon's pod with: {undo}")),
                UndoPlace::Nowhere => out.say(format_args!("journaled in {place}")),
            };
            report.undo = Some(undo).filter(|_| self.undo != UndoPlace::Nowhere);
        }
        if !other.is_empty() {
            out.say(format_args!("{} more appeared meanwhile; run the command again", other.len()));
        }
        // What was done is told in any case.
        let verified = self.verify(first, &mut report).await;
        out.line(&report);
        verified?;
        let done = all && failed == 0 && gone == 0 && report.remaining == Some(0);
        Ok(if done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Whether the records are what they were, and what remains to be done; a drain has nothing to compare.
    async fn verify(&self, first: &InstanceSnapshot, report: &mut Outcomes) -> Result<()> {
        let now = self.snapshot().await?;
        if self.order == Order::Drain {
            let left = now.drain().actions.len();
            report.remaining = Some(left);
            self.printer.say(format_args!("{left} changes remain"));
            return Ok(());
        }
        let left = self.proposal(&now).actions.len();
        report.remaining = Some(left);
        let changed = differences(&first.contents(), &now.contents());
        for key in &changed {
            self.printer.say(format_args!("{key} was changed by another writer meanwhile"));
        }
        let (compared, differ) = (first.contents().len(), changed.len());
        self.printer.say(format_args!("{compared} records compared, {differ} differ; {left} claims remain"));
        report.changed_by_others = changed.iter().map(ToString::to_string).collect();
        Ok(())
    }
}

/// The journal of the daemon that the flags describe. What is given away belongs into the journal of one of the two: that of
/// `--txt-owner-id` where it is the new owner, else that of the former one.
async fn journal_of(settings: &Settings, order: Order) -> Result<CommandJournal> {
    let mut settings = settings.clone();
    if settings.bool("dry-run") {
        let journaling = Journaling { mode: Mode::Off, ..Journaling::default() };
        return Ok(CommandJournal { journaling, undo: UndoPlace::Nowhere, note: None });
    }
    if order == Order::Transfer {
        let owner = journal_owner(&settings, order);
        settings.set("txt-owner-id", FlagValue::Text(owner), true);
    }
    journal::of_command(&settings).await
}

/// Whose journal it is.
fn journal_owner(settings: &Settings, order: Order) -> String {
    let receiver = settings.given("txt-owner-id") && settings.text("txt-owner-id") == settings.text("to");
    let flag = if order == Order::Transfer && !receiver { "from" } else { "txt-owner-id" };
    settings.text(flag).to_owned()
}

type Contents = BTreeMap<(ZoneKey, RecordKey), RecordSet>;

fn differences(before: &Contents, after: &Contents) -> Vec<RecordKey> {
    let keys: BTreeSet<&(ZoneKey, RecordKey)> = before.keys().chain(after.keys()).collect();
    keys.into_iter().filter(|key| before.get(*key) != after.get(*key)).map(|(_, key)| key.clone()).collect()
}

fn line(action: &Action) -> String {
    format!("{} {}", action.zone.key, action.text)
}

/// A daemon that runs goes on publishing what its objects ask for.
fn warn_of_daemon(settings: &Settings, out: Printer, order: Order) {
    let folder = state_dir::folder(settings);
    if order == Order::Drain && state_dir::answers(&folder) {
        out.say(format_args!(
            "note: a daemon of this owner answers in {}; it will create again what its objects request",
            folder.display()
        ));
    }
}
