//! One name in one zone: planned once more, without doing anything.
//!
//! In comes a name that lies in the zone; out goes what shall stand, what stands, and a verdict for each record set that is or is not as
//! it is asked for. The view, the claims and the pins are those that the zone's worker has; a worker that is busy is not waited for.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use zonewright_core::change::Change;
use zonewright_core::clock::{Timestamp, utc};
use zonewright_core::endpoint::Note;
use zonewright_core::explain::{Cause, Finding, HeldDelete, ParkedName, PublishedSet, ZoneExplanation};
use zonewright_core::name::DnsName;
use zonewright_core::plan::{NamePlan, Placed, Skip, Why};
use zonewright_core::record::RecordKey;

use super::journal::{self, Written};
use super::name_servers::NameServers;
use crate::adjusting::{AdjustedDrafts, adjust};
use crate::context::EngineContext;
use crate::drafting::{decide, draft};
use crate::journal::JournalRecord;
use crate::last_attempts::{LastAttempt, Obstacle};
use crate::pinning;
use crate::provider_instance::ProviderInstance;
use crate::worker::Worker;
use crate::zone_handle::ZoneHandle;

/// How long a server or a provider is waited for: a person waits for the answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

/// What was found out of a name in one zone.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) zone: ZoneExplanation,
    /// Whether the name is within the filters of the zone and its instance.
    pub(super) counts: bool,
    /// What is not as it is asked for.
    pub(super) undone: Vec<Finding>,
    /// Of what is published.
    pub(super) published: Vec<Finding>,
    /// What was said of objects on the way, with the object.
    pub(super) said: Vec<(Option<String>, Finding)>,
    /// What stands and is not ours, where nobody asks.
    pub(super) foreign: Vec<Finding>,
    /// The zone was not read to its end.
    pub(super) unread: Option<Finding>,
}

/// The name in the zone.
pub(super) struct NameInZone<'a> {
    pub(super) context: &'a Arc<EngineContext>,
    pub(super) instance: &'a Arc<ProviderInstance>,
    pub(super) handle: &'a Arc<ZoneHandle>,
    pub(super) name: &'a DnsName,
    pub(super) servers: Option<&'a dyn NameServers>,
    pub(super) entries: Vec<JournalRecord>,
    last_attempt: Option<LastAttempt>,
}

/// Looks at a name in a zone.
pub(super) async fn look(
    context: &Arc<EngineContext>,
    instance: &Arc<ProviderInstance>,
    handle: &Arc<ZoneHandle>,
    name: &DnsName,
    servers: Option<&dyn NameServers>,
) -> Findings {
    let chosen = instance.serves(handle, name);
    let mut out = Findings { counts: chosen && instance.counts(handle, name), ..Findings::default() };
    out.zone.zone = handle.title.clone();
    out.zone.chosen = chosen;
    if !chosen {
        return out;
    }
    let entries = journal::of_name(context, name).await;
    let place =
        NameInZone { context, instance, handle, name, servers, entries, last_attempt: handle.last_attempts.at(name) };
    place.health(&mut out);
    place.standing(&mut out);
    if out.counts && context.config.filter.matches(name) {
        place.plan(&mut out).await;
    }
    place.served(&mut out).await;
    out
}

impl NameInZone<'_> {
    fn now(&self) -> Timestamp {
        self.context.clock.now()
    }

    /// A moment of the monotonic clock as people read it.
    fn moment(&self, at: Instant) -> String {
        utc(self.now().plus(at.saturating_duration_since(Instant::now())))
    }

    fn verdict(&self, cause: Cause, key: Option<&RecordKey>, detail: &str) -> Finding {
        let record = key.map_or_else(|| self.name.to_string(), ToString::to_string);
        let about = [
            ("name", self.name.to_string()),
            ("record", record),
            ("zone", self.handle.zone.name.to_string()),
            ("detail", detail.to_owned()),
        ];
        Finding::new(cause, about)
    }

    /// How the zone does as a whole.
    fn health(&self, out: &mut Findings) {
        let status = self.handle.status().clone();
        if let Some((error, _)) = &status.failing {
            out.zone.trouble = Some(error.chain());
            out.zone.last_answer = Some(error.chain());
        }
        let complete = self.handle.view().is_complete();
        match (&status.failing, complete) {
            (Some((error, _)), false) => {
                out.unread = Some(self.verdict(Cause::ZoneNotServed, None, &error.chain()));
            }
            (None, false) => out.unread = Some(self.verdict(Cause::ZoneUnread, None, "")),
            _ => {}
        }
        if let Some(LastAttempt { error, attempts, until, .. }) = &self.last_attempt {
            let parked = ParkedName { attempts: *attempts, next: self.moment(*until), error: error.clone() };
            out.zone.last_answer = Some(error.clone());
            out.zone.parked = Some(parked);
        }
        let label = self.handle.label();
        out.zone.held = self.context.state.look(&label, |state| {
            let held = state.held.as_ref().filter(|plan| plan.held.keys().any(|key| key.name == *self.name))?;
            Some(HeldDelete { hash: held.hash.clone(), reason: held.reason.clone(), since: utc(held.since) })
        });
    }

    /// Plans the name once more.
    async fn plan(&self, out: &mut Findings) {
        let capability = self.instance.provider.capability(Some(&self.handle.zone));
        // A worker that looks and does nothing: the functions of a round take what they need from one.
        let (context, instance, handle) = (self.context.clone(), self.instance.clone(), self.handle.clone());
        let mut worker = Worker::new(context, instance, handle, CancellationToken::new());
        let drafts = draft(&mut worker, &capability, std::slice::from_ref(self.name), false);
        self.notes(drafts.notes, out);
        let labelled = self.instance.options.is_open();
        let asked = adjust(&*self.instance.provider, &self.handle.zone, drafts.names, labelled);
        let AdjustedDrafts { placed, refused, unknown, notes } = match timeout(PATIENCE, asked).await {
            Ok(Ok(adjusted)) => adjusted,
            Ok(Err(error)) => return self.not_answered(&error.chain(), out),
            Err(_) => return self.not_answered("the provider did not answer within 3 seconds", out),
        };
        self.notes(notes, out);
        for (_, error) in unknown {
            self.not_answered(&error.chain(), out);
        }
        let mut unmet = drafts.unmet;
        for wanted in refused {
            unmet.entry(self.name.clone()).or_default().push((*wanted).clone().into());
        }
        let sets: Vec<&Placed> = placed.iter().flat_map(|(_, placed)| placed).collect();
        out.zone.wanted = sets.iter().map(|placed| placed.set.to_string()).collect();
        for plan in decide(&mut worker, &capability, &placed, &unmet) {
            self.judge(&sets, &plan, out);
        }
    }

    fn not_answered(&self, error: &str, out: &mut Findings) {
        out.zone.last_answer = Some(error.to_owned());
        out.undone.push(self.refused(Cause::RecordRefused, error, None));
    }

    fn refused(&self, cause: Cause, error: &str, until: Option<Instant>) -> Finding {
        let when = until.map_or_else(|| "the next attempt".to_owned(), |until| self.moment(until));
        Finding::new(cause, [("name", self.name.to_string()), ("detail", error.to_owned()), ("when", when)])
    }

    fn notes(&self, notes: Vec<Note>, out: &mut Findings) {
        for note in notes {
            let object = note.object.to_string();
            out.zone.notes.push(format!("{object}: {}: {}", note.reason, note.message));
            if let Some(cause) = Cause::of_note(note.reason) {
                let about = [
                    ("name", self.name.to_string()),
                    ("record", self.name.to_string()),
                    ("object", object.clone()),
                    ("zone", self.handle.zone.name.to_string()),
                    ("detail", note.message),
                ];
                out.said.push((Some(object), Finding::new(cause, about)));
            }
        }
    }

    /// Takes in the plan: what is left undone, what is still to be done, and what stands.
    fn judge(&self, sets: &[&Placed], plan: &NamePlan, out: &mut Findings) {
        let changed: BTreeSet<RecordKey> = plan
            .groups
            .iter()
            .flat_map(|planned| planned.group.records())
            .map(|step| step.change.key().clone())
            .collect();
        for skip in &plan.skips {
            out.zone.left_undone.push(format!("{}: {}", skip.key, skip.why));
            out.undone.push(self.left_undone(skip));
        }
        for planned in &plan.groups {
            for step in planned.group.records() {
                out.undone.push(self.to_do(&step.change, out));
            }
        }
        let skipped = |key: &RecordKey| plan.skips.iter().any(|skip| skip.key == *key);
        for placed in sets.iter().filter(|placed| !changed.contains(&placed.set.key) && !skipped(&placed.set.key)) {
            out.published.push(self.stands(placed));
        }
        if sets.is_empty() && plan.skips.is_empty() && plan.groups.is_empty() {
            out.foreign
                .extend(out.zone.published.iter().filter(|set| set.owner != "ours").map(|set| self.foreign(set)));
        }
    }

    fn stands(&self, placed: &Placed) -> Finding {
        let key = &placed.set.key;
        let written = self.written(key);
        let (when, by) = match written {
            Some(Written { at, by }) if !by.is_empty() => (at, by.join(", ")),
            written => {
                let when = written.map_or_else(|| "a time before the journal begins".to_owned(), |written| written.at);
                (when, placed.wanted.origin.object.to_string())
            }
        };
        let about = [("name", key.to_string()), ("record", key.to_string()), ("when", when), ("by", by)];
        Finding::new(Cause::Published, about)
    }

    fn foreign(&self, set: &PublishedSet) -> Finding {
        let zone = self.handle.zone.name.to_string();
        let about = [
            ("name", self.name.to_string()),
            ("record", set.record.clone()),
            ("owner", set.owner.clone()),
            ("zone", zone),
        ];
        Finding::new(Cause::NotOurs, about)
    }

    /// Why a part is left undone.
    fn left_undone(&self, skip: &Skip) -> Finding {
        let cause = Cause::from(&skip.why);
        let text = skip.why.to_string();
        let standing = self.handle.view().find(&skip.key).map(|set| set.to_string());
        let own = self.instance.registry.owner().map(ToString::to_string).unwrap_or_default();
        let waits = {
            let desired_state = self.context.desired_state();
            let grace = self.context.config.status_grace;
            desired_state.table.at(self.name).pending.first().map(|(_, since)| utc(since.plus(grace)))
        };
        let object = skip.objects.first().map(ToString::to_string).or_else(|| self.holder(&skip.key));
        let mut about = vec![
            ("name", self.name.to_string()),
            ("record", skip.key.to_string()),
            ("zone", self.handle.zone.name.to_string()),
            ("object", object.unwrap_or_else(|| "Its object".to_owned())),
            ("when", waits.unwrap_or_default()),
            ("by", own),
        ];
        let detail = match &skip.why {
            Why::Foreign(owner) | Why::ForeignClaim(owner) => {
                about.push(("owner", owner.to_string()));
                text
            }
            Why::Disputed(owners) => {
                about.push(("owner", owners.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")));
                text
            }
            Why::Unclaimed => self.claim_names(&skip.key).join(", "),
            Why::ForeignBeside(key) => {
                self.handle.view().find(key).map_or_else(|| key.to_string(), |set| set.to_string())
            }
            Why::Policy(what) => (*what).to_owned(),
            Why::Doubt(kinds) => kinds.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            Why::Pending(reason) => reason.clone(),
            Why::OtherPrefix { prefix, .. } => {
                about.push(("value", prefix.to_string()));
                text
            }
            _ => text,
        };
        about.push(("detail", detail));
        if let (Why::Foreign(_) | Why::Unclaimed, Some(standing)) = (&skip.why, standing) {
            about.push(("record", standing));
        }
        Finding::new(cause, about)
    }

    /// The object that the claim on a record names.
    fn holder(&self, key: &RecordKey) -> Option<String> {
        self.ownership(key).claim().and_then(|claim| claim.resource.as_ref()).map(ToString::to_string)
    }

    /// Why something that is planned is not done yet.
    fn to_do(&self, change: &Change, out: &Findings) -> Finding {
        let key = change.key();
        if let Some(held) = &out.zone.held
            && matches!(change, Change::Delete { .. })
        {
            let about = [
                ("name", self.name.to_string()),
                ("record", key.to_string()),
                ("hash", held.hash.clone()),
                ("detail", held.reason.clone()),
            ];
            return Finding::new(Cause::HeldDelete, about);
        }
        if let Some(why) = pinning::why(self.context, &self.handle.label(), self.name) {
            return self.verdict(Cause::RecordPinned, Some(key), &why);
        }
        let contest =
            self.handle.status().contested.iter().find(|(name, _)| name == self.name).map(|(_, c)| c.to_string());
        if let Some(contest) = contest {
            return self.verdict(Cause::RecordContested, Some(key), &contest);
        }
        if let Some(LastAttempt { obstacle, error, until, .. }) = &self.last_attempt {
            match obstacle {
                Obstacle::Refused | Obstacle::Unadjusted => {
                    return self.refused(Cause::RecordRefused, error, Some(*until));
                }
                Obstacle::Unclaimed => return self.refused(Cause::ClaimRefused, error, Some(*until)),
                Obstacle::Unconfirmed => {}
            }
        }
        let failing = self.handle.status().failing.as_ref().map(|(error, _)| error.chain());
        if let Some(error) = failing {
            return self.verdict(Cause::ZoneNotServed, Some(key), &error);
        }
        if let Some(unread) = &out.unread {
            return unread.clone();
        }
        let config = &self.context.config;
        let cause = match (config.looks, config.dry_run) {
            (true, _) => Cause::DaemonAway,
            (false, true) => Cause::DryRun,
            (false, false) => Cause::UnderWay,
        };
        self.verdict(cause, Some(key), "")
    }
}
