//! The daemon's local socket, and the commands that speak to it: `plans` and `approve`; `history`, `undo` and `pinned` have
//! modules of their own.
//!
//! One request and one answer a connection, each a line of JSON. The socket lies in the state folder and belongs to the
//! user of the daemon alone; where others can write to that folder there is no socket, and none there is spoken to. Whoever asks shows the token that lies beside it, so that a socket which was passed on (into a
//! container, by a forwarder) is no way in by itself.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;
use zonewright_api::{
    Approve, Approved, Ask, ContestedName, HeldPlans, Plans, Request, Where, WireError, decode_answer, decode_request,
    encode_answer, encode_request,
};
use zonewright_core::catalog::Settings;
use zonewright_core::clock::Clock;
use zonewright_core::guard::{Brake, HeldPlan, JointPlan};
use zonewright_core::store::StateStore;
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_engine::{Engine, approve_saved, saved_plans};

use crate::journal::{nowhere, state_left_behind};
use crate::{folder, history, undo};

/// The longest request.
const LIMIT: usize = 4_096;

/// The folder for socket and state: `--state-dir`, else one of the user's own by the owner id.
pub(crate) fn folder(settings: &Settings) -> PathBuf {
    match settings.text("state-dir") {
        "" => base().join(format!("{PREFIX}{}", file_name(settings.text("txt-owner-id")))),
        folder => PathBuf::from(folder),
    }
}

const PREFIX: &str = "zonewright-";

fn base() -> PathBuf {
    std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from)
}

/// The folder of the daemon that a command means: as [`folder`], but where the user named none, the only one there is.
pub(crate) fn meant(settings: &Settings) -> PathBuf {
    let named = settings.given("state-dir") || settings.given("txt-owner-id");
    let only = || {
        let folders = std::fs::read_dir(base()).ok()?.flatten().map(|entry| entry.path());
        let ours = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            name.starts_with(PREFIX) && socket(path).exists() && folder::check(path).is_ok()
        };
        match folders.filter(ours).collect::<Vec<_>>().as_slice() {
            [one] => Some(one.clone()),
            _ => None,
        }
    };
    Some(()).filter(|()| !named).and_then(|()| only()).unwrap_or_else(|| folder(settings))
}

/// Whether a daemon answers on the socket of this folder.
pub(crate) fn answers(folder: &Path) -> bool {
    folder::check(folder).is_ok() && std::os::unix::net::UnixStream::connect(socket(folder)).is_ok()
}

/// An owner id as a file name: what is no letter, digit, `-` or `_` becomes `-`.
pub(crate) fn file_name(owner: &str) -> String {
    owner.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' }).collect()
}

fn socket(folder: &Path) -> PathBuf {
    folder.join("control.sock")
}

fn problem(path: &Path, source: std::io::Error) -> Error {
    Error::new(ErrorKind::Configuration, "open the control socket", path.display().to_string()).caused_by(source)
}

/// Listens for commands until `stop`. A socket without a daemon is replaced.
///
/// # Errors
/// If the folder or the socket cannot be made, others can write to the folder, or another daemon answers there.
pub(crate) async fn serve(folder: &Path, engine: Arc<Engine>, stop: CancellationToken) -> Result<()> {
    folder::make(folder)?;
    let path = socket(folder);
    if UnixStream::connect(&path).await.is_ok() {
        let text = format!(
            "{}: another daemon answers there; give each its own --state-dir or --txt-owner-id",
            path.display()
        );
        return Err(Error::new(ErrorKind::Configuration, "open the control socket", text));
    }
    match std::fs::remove_file(&path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(problem(&path, e)),
        _ => {}
    }
    let token: Arc<str> = Arc::from(fresh_token(folder)?);
    let listener = UnixListener::bind(&path).map_err(|e| problem(&path, e))?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).map_err(|e| problem(&path, e))?;
    tokio::spawn(async move {
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                connection = listener.accept() => {
                    if let Ok((stream, _)) = connection {
                        tokio::spawn(answer(stream, engine.clone(), token.clone()));
                    }
                }
            }
        }
        // A socket that is left behind is replaced by the next daemon.
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::remove_file(path.with_file_name(TOKEN));
    });
    Ok(())
}

const TOKEN: &str = "control.token";

/// Writes a token that only the daemon's user can read; another one for each daemon.
fn fresh_token(folder: &Path) -> Result<String> {
    use std::os::unix::fs::OpenOptionsExt;

    let path = folder.join(TOKEN);
    let mut bytes = [0_u8; 16];
    let token = std::fs::File::open("/dev/urandom").and_then(|mut source| {
        std::io::Read::read_exact(&mut source, &mut bytes)?;
        Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
    });
    let token = token.map_err(|e| problem(&path, e))?;
    let _ = std::fs::remove_file(&path);
    let written = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    written
        .and_then(|mut file| std::io::Write::write_all(&mut file, token.as_bytes()))
        .map_err(|e| problem(&path, e))?;
    Ok(token)
}

async fn answer(mut stream: UnixStream, engine: Arc<Engine>, token: Arc<str>) {
    let (read, mut write) = stream.split();
    let mut line = String::new();
    let mut reader = BufReader::new(tokio::io::AsyncReadExt::take(read, LIMIT as u64));
    if reader.read_line(&mut line).await.is_err() {
        return;
    }
    let reply = match decode_request(&line, &token) {
        Ok(request) => reply(&engine, request).await,
        Err(problem) => encode_answer(Err::<HeldPlans, _>(problem)),
    };
    let _ = write.write_all(reply.as_bytes()).await;
}

async fn reply(engine: &Engine, request: Request) -> String {
    match request {
        Request::Plans(Plans {}) => encode_answer(Ok(held_plans(engine))),
        Request::Approve(Approve { hash }) => encode_answer(approved(engine, hash)),
        Request::History(asked) => encode_answer(history::reply(engine, asked).await),
        Request::PlanUndo(asked) => encode_answer(undo::plan(engine, asked).await),
        Request::Undo(asked) => encode_answer(undo::carry_out(engine, &asked).await),
        Request::Pins(_) => encode_answer(Ok(undo::pinned_names(engine))),
        Request::Unpin(asked) => encode_answer(undo::unpin(engine, &asked)),
    }
}

fn held_plans(engine: &Engine) -> HeldPlans {
    let contested =
        engine.contested().into_iter().map(|(zone, name, fight)| ContestedName { zone, name, text: fight.to_string() });
    HeldPlans {
        plans: listed(engine.plans(), engine.joint_plans(), |_| None),
        contested: contested.collect(),
        pinned: undo::pinned_names(engine).pinned,
    }
}

fn approved(engine: &Engine, hash: String) -> std::result::Result<Approved, String> {
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

/// Asks the daemon of a folder.
///
/// # Errors
/// [`ErrorKind::Unavailable`] if none answers; [`ErrorKind::Configuration`] if others can write to the folder; what it answers, if
/// that is an error.
pub(crate) async fn ask<A: Ask>(folder: &Path, request: A) -> Result<A::Answer> {
    let path = socket(folder);
    if path.symlink_metadata().is_ok() {
        folder::check(folder)?;
    }
    let unreachable = |e| {
        let text = format!(
            "{}: no daemon answers there; give the --state-dir and --txt-owner-id that it was started with",
            path.display()
        );
        Error::new(ErrorKind::Unavailable, "speak to the daemon", text).caused_by(e)
    };
    let token = std::fs::read_to_string(folder.join(TOKEN)).unwrap_or_default();
    let mut stream = UnixStream::connect(&path).await.map_err(unreachable)?;
    stream.write_all(encode_request(&token, request).as_bytes()).await.map_err(unreachable)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).await.map_err(unreachable)?;
    decode_answer::<A>(&line).map_err(|error| {
        let kind = match error {
            WireError::Protocol(_) => ErrorKind::Protocol,
            WireError::Refused(_) => ErrorKind::Invalid,
        };
        Error::new(kind, "speak to the daemon", error.to_string())
    })
}

/// An answer for programs: one line of JSON with its keys in alphabetical order.
pub(crate) fn as_json(answer: &impl Serialize) -> String {
    // Keys are texts and no value refuses to be written.
    serde_json::to_value(answer).unwrap_or_default().to_string() + "\n"
}

/// The text of `zonewright plans`.
///
/// # Errors
/// If no daemon answers, and none left a state.
pub(crate) async fn plans(settings: &Settings) -> Result<String> {
    let folder = meant(settings);
    let reply = match ask(&folder, Plans {}).await {
        Err(error) if error.kind == ErrorKind::Unavailable => {
            let store = saved(settings, &folder).await?;
            let (plans, joint) = saved_plans(store.clone()).await?;
            let plans = listed(plans, joint, |hash| store.approve_with(hash));
            HeldPlans { plans, ..HeldPlans::default() }
        }
        answered => answered?,
    };
    if settings.bool("json") {
        return Ok(as_json(&reply));
    }
    Ok(shown(&reply))
}

/// A reply as people read it.
fn shown(reply: &HeldPlans) -> String {
    let HeldPlans { plans, contested, pinned } = reply;
    let pinned = undo::pinned_text(pinned);
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
            approve_for_the_next(saved(settings, &folder).await?, hash).await?
        }
        answered => answered?,
    };
    if settings.bool("json") {
        return Ok(as_json(&reply));
    }
    Ok(format!("{} deletes in zone {} are approved.\n", reply.deletes, reply.zone))
}

/// The state that a process left, or keeps where its socket is out of reach: that of `--once`, say, or of a pod.
async fn saved(settings: &Settings, folder: &Path) -> Result<Arc<dyn StateStore>> {
    state_left_behind(settings, folder).await?.ok_or_else(|| nowhere(settings, "saved state", folder))
}

/// Where the state is kept; `None` without `--state-dir`.
pub(crate) fn state_file(settings: &Settings) -> Option<PathBuf> {
    let folder = Some(settings.text("state-dir")).filter(|folder| !folder.is_empty())?;
    Some(Path::new(folder).join(format!("{}.json", file_name(settings.text("txt-owner-id")))))
}

async fn approve_for_the_next(store: Arc<dyn StateStore>, hash: &str) -> Result<Approved> {
    if let Some(how) = store.approve_with(hash) {
        let text = format!("{} may be a running daemon's; approve the plan there: {how}", store.place());
        return Err(Error::new(ErrorKind::Invalid, "approve a plan", text));
    }
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
    use zonewright_core::guard::Scope;

    use super::*;

    fn plan(count: usize, place: Where) -> zonewright_api::HeldPlan {
        let text = |text: &str| text.to_owned();
        let (hash, reason, approve) = (text("abc"), text("many"), text("zonewright approve abc"));
        zonewright_api::HeldPlan { hash, scope: Scope::Zone, reason, count, approve, place }
    }

    #[test]
    fn plans_and_contested_names_as_people_read_them() {
        assert_eq!(shown(&HeldPlans::default()), "No plan is held.\n");
        let name = |text: &str| DnsName::parse(text).unwrap();
        let deletes = vec!["a.example A 192.0.2.1".to_owned()];
        let place = Where::Zone { zone: "i/example".to_owned(), since: Timestamp(0), deletes };
        let (zone, contested) = (name("example"), name("b.example"));
        let text = "another writer keeps changing it".to_owned();
        let contested = vec![ContestedName { zone, name: contested, text }];
        assert_eq!(
            shown(&HeldPlans { plans: vec![plan(1, place)], contested, pinned: vec![] }),
            "abc  zone i/example: 1 deletes are held\n  because many\n  - a.example A 192.0.2.1\n  \
             approve it with: zonewright approve abc\nb.example in zone example: another writer keeps changing it\n"
        );
    }

    #[test]
    fn plans_that_are_held_together_come_with_one_hash_for_all() {
        let zones = [("i/a".to_owned(), 9), ("i/b".to_owned(), 9)].into();
        assert_eq!(
            shown(&HeldPlans { plans: vec![plan(18, Where::Zones { zones })], ..HeldPlans::default() }),
            "abc  2 zones together: 18 deletes are held\n  because many\n  approve all of them with: zonewright approve abc\n"
        );
    }
}
