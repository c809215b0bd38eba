//! What the keys have made of the screen: the page, how far it is scrolled, and what waits for a yes.
//!
//! In come keys and the picture; out comes what is to be done. Nothing here does it.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::demo::picture::{Offer, Past, Picture};
use crate::demo::session::{Command, Reply};

/// What fills the screen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Page {
    /// Records, changes and notes together.
    #[default]
    Records,
    /// The claims in the zone.
    Claims,
    /// What was changed, with what became of it.
    History,
    /// Every note at full length.
    Notes,
}

/// What a key comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// Nothing besides what is seen.
    None,
    /// The end.
    End,
    /// Something for the session.
    Do(Command),
}

/// The state of the screen.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) page: Page,
    /// Lines of the list that are above the screen; on the page of the history, the line that is chosen.
    pub(super) position: usize,
    /// The furthest that makes sense, as it was drawn last.
    pub(super) furthest: usize,
    /// A page of the list, as it was drawn last.
    pub(super) page_length: usize,
    pub(super) history: Vec<Past>,
    /// An undo that waits for a yes.
    pub(super) offer: Option<Offer>,
    /// What became of the last key.
    pub(super) message: Option<String>,
}

impl State {
    /// Takes a key.
    pub(super) fn press(&mut self, key: KeyEvent, picture: &Picture) -> Action {
        if key.kind == KeyEventKind::Release {
            return Action::None;
        }
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return Action::End;
        }
        if let Some(offer) = self.offer.take() {
            self.message = None;
            return match key.code {
                KeyCode::Char('y') => Action::Do(Command::Undo(offer.hash)),
                _ => Action::None,
            };
        }
        match key.code {
            KeyCode::Char('q') => return Action::End,
            KeyCode::Esc if self.page == Page::Records => return Action::End,
            KeyCode::Esc => self.turn_to(Page::Records),
            KeyCode::Char('c') => self.turn_to(Page::Claims),
            KeyCode::Char('h') => self.turn_to(Page::History),
            KeyCode::Char('n') => self.turn_to(Page::Notes),
            KeyCode::Char(letter) => return self.command(letter, picture),
            _ => self.scroll(key.code),
        }
        Action::None
    }

    /// A page, or back from it.
    fn turn_to(&mut self, page: Page) {
        self.page = if self.page == page { Page::Records } else { page };
        self.position = 0;
        self.message = None;
    }

    fn scroll(&mut self, key: KeyCode) {
        let (at, page) = (self.position, self.page_length.max(1));
        let to = match key {
            KeyCode::Up => at.saturating_sub(1),
            KeyCode::Down => at + 1,
            KeyCode::PageUp => at.saturating_sub(page),
            KeyCode::PageDown => at + page,
            KeyCode::Home => 0,
            KeyCode::End => self.furthest,
            _ => at,
        };
        self.position = to.min(self.furthest);
    }

    fn command(&mut self, letter: char, picture: &Picture) -> Action {
        let held = picture.held.first();
        let command = match letter {
            'm' => Command::MassDelete,
            'a' => match held {
                Some(held) => Command::Approve(held.hash.clone()),
                None => return self.say("No plan is held; m deletes many records at once"),
            },
            'r' => Command::Refuse,
            'u' if self.page == Page::History => match self.history.get(self.position) {
                Some(past) => Command::PlanUndo(Some(past.plan.clone())),
                None => return Action::None,
            },
            'u' => Command::PlanUndo(None),
            _ => return Action::None,
        };
        self.message = None;
        Action::Do(command)
    }

    fn say(&mut self, text: &str) -> Action {
        self.message = Some(text.to_owned());
        Action::None
    }

    /// Takes what became of a command.
    pub(super) fn answer(&mut self, reply: Reply) {
        match reply {
            Reply::Said(text) => self.message = Some(text),
            Reply::Offered(offer) => self.offer = Some(offer),
        }
    }
}
