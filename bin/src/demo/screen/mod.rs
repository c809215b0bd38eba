//! The picture on a terminal, redrawn as it changes, and the keys.

mod columns;
mod draw;
mod state;
#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crossterm::event::{self, Event as Input};
use ratatui::DefaultTerminal;
use tokio_util::sync::CancellationToken;
use zonewright_core::{Error, ErrorKind, Result};

use super::session::Session;
use draw::draw;
use state::{Action, Page, State};

/// How often it is drawn, and keys are read.
const TICK: Duration = Duration::from_millis(100);

/// Draws until `stop`, or until q, Ctrl-C, or Escape on the first page.
pub(super) async fn show(session: &Session, stop: CancellationToken) -> Result<()> {
    let mut terminal = ratatui::try_init().map_err(problem)?;
    let result = turn(session, &stop, &mut terminal).await.map_err(problem);
    ratatui::restore();
    result
}

fn problem(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Configuration, "draw on the terminal", "give --plain for lines").caused_by(error)
}

async fn turn(session: &Session, stop: &CancellationToken, terminal: &mut DefaultTerminal) -> std::io::Result<()> {
    let mut state = State::default();
    while !stop.is_cancelled() {
        let picture = session.picture();
        if state.page == Page::History {
            state.history = session.history().await;
        }
        terminal.draw(|frame| draw(frame, &picture, &mut state, now()))?;
        while event::poll(Duration::ZERO)? {
            let Input::Key(key) = event::read()? else { continue };
            match state.press(key, &picture) {
                Action::None => {}
                Action::End => return Ok(()),
                Action::Do(command) => {
                    let reply = session.carry_out(command).await;
                    state.answer(reply);
                }
            }
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(TICK) => {}
        }
    }
    Ok(())
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
