//! `zonewright plans` and `zonewright approve`: deletes that the brake holds, and how they go on.
//!
//! The daemon answers; where none does, the state that it left is read, and an approval waits there for the next one.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use zonewright_api::{Approve, Approved, ContestedName, HeldPlans, Plans, Where};
use zonewright_core::catalog::Settings;
use zonewright_core::clock::Clock;
use zonewright_core::guard::{Brake, HeldPlan, JointPlan};
use zonewright_core::store::StateStore;
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_engine::{Engine, approve_saved, saved_plans};

use crate::ask::{as_json, ask};
use crate::command_flags;
use crate::journal::{nowhere, state_left_behind};
use crate::state_dir::{meant, state_file};
use crate::{state_lock, undo};

/// What the daemon answers to `zonewright plans`.
pub(crate) fn held(engine: &Engine) -> HeldPlans {
    let contested =
        engine.contested().into_iter().map(|(zone, name, fight)| ContestedName { zone, name, text: fight.to_string() });
    HeldPlans {
        plans: listed(engine.plans(), engine.joint_plans(), |_| None),
        contested: contested.collect(),
        pinned: undo::pinned_names(engine).pinned,
        place: None,
    }
}

/// Approves a held plan, as the daemon does for `zonewright approve`.
///
/// # Errors
/// No such plan is held, or nothing of it would be kept.
pub(crate) fn approved(engine: &Engine, hash: String) -> std::result::Result<Approved, String> {
    if engine.outcome().dry_run {
        return Err("this daemon runs with --dry-run: nothing is sent, and no approval is kept".to_owned());
    }
    match engine.approve(&hash) {
        Some((zone, deletes)) => Ok(Approved { approved: hash, zone, deletes }),
        None => Err(format!("no plan {hash} is held now; `zonewright plans` shows those that are")),
    }
}

/// Held plans as commands get them, those over several zones first; `approved_by` is what approves one by its hash, where
/// that is not our own command.
fn listed(
    plans: Vec<(String, HeldPlan)>,
    joint: Vec<JointPlan>,
    approved_by: impl Fn(&str) -> Option<String>,
) -> Vec<zonewright_api::HeldPlan> {
    let approve = |hash: &str| approved_by(hash).unwrap_or_else(|| format!("zonewright approve {hash}"));
    let several = |plan: JointPlan| {
        let (count, approve) = (plan.deletes(), approve(&plan.hash));
        let JointPlan { hash, scope, zones, reason } = plan;
        zonewright_api::HeldPlan { hash, scope, reason, count, approve, place: Where::Zones { zones } }
    };
    let one = |(zone, plan): (String, HeldPlan)| {
        let content = |key| plan.samples.get(key).map(|data| format!(" {data}")).unwrap_or_default();
        let deletes: Vec<String> = plan.held.keys().map(|key| format!("{key}{}", content(key))).collect();
        let approve = approve(&plan.hash);
        let HeldPlan { hash, reason, since, scope, .. } = plan;
        let (count, place) = (deletes.len(), Where::Zone { zone, since, deletes });
        zonewright_api::HeldPlan { hash, scope, reason, count, approve, place }
    };
    joint.into_iter().map(several).chain(plans.into_iter().map(one)).collect()
}

/// The text of `zonewright plans`.
///
/// # Errors
/// If no daemon answers, and none left a state.
pub(crate) async fn show(settings: &Settings) -> Result<String> {
    let folder = meant(settings);
    let reply = match ask(&folder, Plans {}).await {
        Err(error) if error.kind == ErrorKind::Unavailable => {
            let store = saved(settings, &folder).await?;
            let (plans, joint) = saved_plans(store.clone()).await?;
            let plans = listed(plans, joint, |hash| store.approve_with(hash));
            HeldPlans { plans, place: Some(store.place()), ..HeldPlans::default() }
        }
        answered => answered?,
    };
    let mut reply = reply;
    let flags = command_flags::given(settings);
    for plan in reply.plans.iter_mut().filter(|plan| plan.approve.starts_with("zonewright ")) {
        plan.approve.push_str(&flags);
    }
    if is_json(settings) {
        return Ok(as_json(&reply));
    }
    let place = reply.place.as_ref().map(|place| format!("State: {place} (no daemon answers).\n"));
    Ok(shown(&reply, &flags) + &place.unwrap_or_default())
}

/// `--json` is the former name of `--output=json`.
fn is_json(settings: &Settings) -> bool {
    settings.bool("json") || settings.text("output") == "json"
}

/// A reply as people read it.
fn shown(reply: &HeldPlans, flags: &str) -> String {
    let HeldPlans { plans, contested, pinned, place: _ } = reply;
    let pinned = undo::pinned_text(pinned, flags);
    if plans.is_empty() && contested.is_empty() {
        return format!("No plan is held.\n{pinned}");
    }
    // Writing into a string cannot fail.
    let mut out = String::new();
    for zonewright_api::HeldPlan { hash, reason, count, approve, place, .. } in plans {
        let (place, deletes, all) = match place {
            Where::Zones { zones } => (format!("{} zones together", zones.len()), &[][..], "approve all of them"),
            Where::Zone { zone, deletes, .. } => (format!("zone {zone}"), &deletes[..], "approve it"),
        };
        let _ = writeln!(out, "{hash}  {place}: {count} deletes are held\n  because {reason}");
        for delete in deletes {
            let _ = writeln!(out, "  - {delete}");
        }
        let _ = writeln!(out, "  {all} with: {approve}");
    }
    for ContestedName { zone, name, text } in contested {
        let _ = writeln!(out, "{name} in zone {zone}: {text}");
    }
    out + &pinned
}

/// The text of `zonewright approve`.
///
/// # Errors
/// If no daemon answers and none left a state, or no plan of this hash is held, or it is approved where the state is kept.
pub(crate) async fn approve(settings: &Settings, hash: &str) -> Result<String> {
    let folder = meant(settings);
    let reply = match ask(&folder, Approve { hash: hash.to_owned() }).await {
        Err(error) if error.kind == ErrorKind::Unavailable => {
            let state = state_file(&folder, settings.text("txt-owner-id"));
            approve_for_the_next(saved(settings, &folder).await?, &state, hash).await?
        }
        answered => answered?,
    };
    if is_json(settings) {
        return Ok(as_json(&reply));
    }
    Ok(format!("{} deletes in zone {} are approved.\n", reply.deletes, reply.zone))
}

/// The state that a process left, or keeps where its socket is out of reach: that of `--once`, say, or of a pod.
async fn saved(settings: &Settings, folder: &Path) -> Result<Arc<dyn StateStore>> {
    state_left_behind(settings, folder).await?.ok_or_else(|| nowhere(settings, "saved state", folder))
}

/// Approves a plan in a state that no process uses. `state`: its file, where the store is one.
async fn approve_for_the_next(store: Arc<dyn StateStore>, state: &Path, hash: &str) -> Result<Approved> {
    if let Some(how) = store.approve_with(hash) {
        let text = format!("{} may be a running daemon's; approve the plan there: {how}", store.place());
        return Err(Error::new(ErrorKind::Invalid, "approve a plan", text));
    }
    let _lock = state_lock::alone(state, "approve a plan").await?;
    let until = Clock::system().now().plus(Brake::default().approval_ttl);
    let none = || {
        let text = format!("no plan {hash} is held; `zonewright plans` shows those that are");
        Error::new(ErrorKind::Invalid, "approve a plan", text)
    };
    let (zone, deletes) = approve_saved(store, hash, until).await?.ok_or_else(none)?;
    Ok(Approved { approved: hash.to_owned(), zone, deletes })
}

#[cfg(test)]
mod tests {
    use zonewright_core::DnsName;
    use zonewright_core::clock::Timestamp;
    use zonewright_core::guard::BrakeScope;

    use super::*;

    fn plan(count: usize, place: Where) -> zonewright_api::HeldPlan {
        let text = |text: &str| text.to_owned();
        let (hash, reason, approve) = (text("abc"), text("many"), text("zonewright approve abc"));
        zonewright_api::HeldPlan { hash, scope: BrakeScope::Zone, reason, count, approve, place }
    }

    #[test]
    fn plans_and_contested_names_as_people_read_them() {
        assert_eq!(shown(&HeldPlans::default(), ""), "No plan is held.\n");
        let name = |text: &str| DnsName::parse(text).unwrap();
        let deletes = vec!["a.example A 192.0.2.1".to_owned()];
        let place = Where::Zone { zone: "i/example".to_owned(), since: Timestamp(0), deletes };
        let (zone, contested) = (name("example"), name("b.example"));
        let text = "another writer keeps changing it".to_owned();
        let contested = vec![ContestedName { zone, name: contested, text }];
        assert_eq!(
            shown(&HeldPlans { plans: vec![plan(1, place)], contested, ..HeldPlans::default() }, ""),
            "abc  zone i/example: 1 deletes are held\n  because many\n  - a.example A 192.0.2.1\n  \
             approve it with: zonewright approve abc\nb.example in zone example: another writer keeps changing it\n"
        );
    }

    #[test]
    fn plans_that_are_held_together_come_with_one_hash_for_all() {
        let zones = [("i/a".to_owned(), 9), ("i/b".to_owned(), 9)].into();
        assert_eq!(
            shown(&HeldPlans { plans: vec![plan(18, Where::Zones { zones })], ..HeldPlans::default() }, ""),
            "abc  2 zones together: 18 deletes are held\n  because many\n  approve all of them with: zonewright approve abc\n"
        );
    }
}
