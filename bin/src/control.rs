//! The daemon's local socket.
//!
//! One request and one answer a connection, each a line of JSON. The socket lies in the state folder and belongs to the
//! user of the daemon alone; where others can write to that folder there is no socket, and none there is spoken to. Whoever
//! asks shows the token that lies beside it, so that a socket which was passed on (into a container, by a forwarder) is no way
//! in by itself. What is answered stands with the commands: `plans`, `history`, `undo`.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;
use zonewright_api::{Approve, HeldPlans, Plans, Request, decode_request, encode_answer};
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_engine::{Engine, NameServers};

use crate::name_servers::SystemNameServers;
use crate::state_dir::{socket, token};
use crate::{folder, history, inventory, plans, undo};

/// How long the socket rests after a connection that could not be taken.
const PAUSE: std::time::Duration = std::time::Duration::from_secs(1);

/// The longest request.
const LIMIT: usize = 4_096;

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
    let token_path = token(folder);
    let token: Arc<str> = Arc::from(fresh_token(folder)?);
    let listener = UnixListener::bind(&path).map_err(|e| problem(&path, e))?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).map_err(|e| problem(&path, e))?;
    tokio::spawn(async move {
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                connection = listener.accept() => match connection {
                    Ok((stream, _)) => drop(tokio::spawn(answer(stream, engine.clone(), token.clone()))),
                    Err(error) => {
                        // No file descriptor is free, say: asked at once, the answer is the same.
                        tracing::warn!(%error, "the control socket takes no connection now");
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            }
        }
        // A socket that is left behind is replaced by the next daemon.
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::remove_file(token_path);
    });
    Ok(())
}

/// Writes a token that only the daemon's user can read; another one for each daemon.
fn fresh_token(folder: &Path) -> Result<String> {
    use std::os::unix::fs::OpenOptionsExt;

    let path = token(folder);
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
        Request::Plans(Plans {}) => encode_answer(Ok(plans::held(engine))),
        Request::Approve(Approve { hash }) => encode_answer(plans::approved(engine, hash)),
        Request::History(asked) => encode_answer(history::reply(engine, asked).await),
        Request::PlanUndo(asked) => encode_answer(undo::plan(engine, asked).await),
        Request::Undo(asked) => encode_answer(undo::carry_out(engine, &asked).await),
        Request::Pins(_) => encode_answer(Ok(undo::pinned_names(engine))),
        Request::Unpin(asked) => encode_answer(undo::unpin(engine, &asked)),
        Request::Explain(asked) => {
            let servers = Some(&SystemNameServers::DNS as &dyn NameServers);
            encode_answer(Ok(engine.explain(&asked.about, "the running daemon", servers).await))
        }
        Request::Records(asked) => encode_answer(Ok(inventory::records(engine, &asked))),
        Request::Zones(_) => encode_answer(Ok(inventory::zones(engine))),
        Request::Owners(_) => encode_answer(Ok(inventory::owners(engine))),
    }
}
