//! The screen at its usual size and at a large one, and what the keys do.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::draw::draw;
use super::state::{Action, Page, State};
use crate::demo::picture::{Event, Held, Offer, Past, Picture, Row, in_order};
use crate::demo::session::{Command, Reply};

const NOW: i64 = 100_000;

fn row(name: &str, data: &str, by: &str, changed: i64) -> Row {
    let text = |text: &str| text.to_owned();
    let (name, rtype, ttl) = (format!("{name}.demo.test"), text("A"), text("300"));
    Row { name, rtype, ttl, data: text(data), by: text(by), changed }
}

/// Eleven names of which `n09` changed last, then `n08`.
fn picture() -> Picture {
    let rows = (0..11).map(|n| row(&format!("n{n:02}"), "192.0.2.1", "service/default/web", n % 10 * 1_000));
    let event =
        |n: i64| Event { at: NOW - n * 1_000, text: format!("+ n{n:02}.demo.test 300 A 192.0.2.1"), failed: false };
    Picture {
        hints: vec!["ask    dig web".to_owned(), "edit   web.yaml".to_owned()],
        rows: in_order(rows.collect()),
        claims: vec![row("a-n00", "\"heritage=external-dns\"", "", 0)],
        events: (0..30).map(event).collect(),
        held: Vec::new(),
        notes: (0..6).map(|n| format!("Service default/s{n}: a sentence of eleven words that is longer than a line of this screen can be (Reason)")).collect(),
    }
}

fn screen(width: u16, height: u16, picture: &Picture, state: &mut State) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, picture, state, NOW)).unwrap();
    let text = terminal.backend().to_string();
    text.lines().map(|line| line.trim_matches('"').trim_end().to_owned()).collect()
}

/// The lines from one title to the next.
fn pane<'a>(lines: &'a [String], title: &str) -> Vec<&'a str> {
    let begin = lines.iter().position(|line| line.starts_with(&format!(" {title} ─"))).expect(title);
    let rest = lines.iter().skip(begin + 1).take_while(|line| !line.contains(" ─"));
    rest.map(String::as_str).collect()
}

#[test]
fn at_80_by_24_what_changed_last_is_on_top_and_the_rest_is_counted() {
    let lines = screen(80, 24, &picture(), &mut State::default());
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
    let records = pane(&lines, "Records");
    assert!(records[0].starts_with("name           type  TTL  records    held by"), "{records:#?}");
    assert!(records[1].starts_with("n09.demo.test  A     300  192.0.2.1  service/default/web"), "{records:#?}");
    assert!(records[2].starts_with("n08.demo.test "), "{records:#?}");
    let shown = records.len() - 2;
    assert_eq!(records.last(), Some(&&*format!("+{} more", 11 - shown)), "{records:#?}");
    let changes = pane(&lines, "Changes");
    assert_eq!(changes[0], "    0 s ago  + n00.demo.test 300 A 192.0.2.1");
    assert_eq!(changes.last(), Some(&&*format!("+{} more", 30 - changes.len() + 1)), "{changes:#?}");
    let notes = pane(&lines, "What is wrong");
    assert!(notes[0].starts_with("Service default/s0: a sentence") && notes[0].ends_with('…'), "{notes:#?}");
    assert!(notes.contains(&"+3 more"), "{notes:#?}");
    assert!(lines[23].starts_with("q quit"), "{lines:#?}");
}

#[test]
fn at_160_by_48_everything_has_room() {
    let lines = screen(160, 48, &picture(), &mut State::default());
    for n in 0..11 {
        assert!(lines.iter().any(|line| line.starts_with(&format!("n{n:02}.demo.test"))), "{lines:#?}");
    }
    let all = lines.join("\n");
    // Changes and notes stand beside the records.
    assert!(lines[3].starts_with(" Records ─") && lines[3].contains(" Changes ─"), "{all}");
    assert_eq!(all.matches("s ago").count(), 20, "{all}");
    assert!(all.contains("+10 more") && !all.contains('…'), "{all}");
    assert_eq!(all.matches("(Reason)").count(), 6, "each note at full length\n{all}");
}

#[test]
fn a_held_plan_is_approved_or_refused_on_the_spot() {
    let held = Held { hash: "f31c09b2a17e".to_owned(), deletes: 24, reason: "too many".to_owned() };
    let picture = Picture { held: vec![held], ..picture() };
    let lines = screen(80, 24, &picture, &mut State::default());
    let plan = pane(&lines, "Held plan");
    assert_eq!(plan[0], "Plan f31c09b2a17e: 24 deletes are held, none is sent");
    assert_eq!(plan[1], "because too many");
    let pressed = |letter| State::default().press(KeyEvent::from(KeyCode::Char(letter)), &picture);
    assert_eq!(pressed('a'), Action::Do(Command::Approve("f31c09b2a17e".to_owned())));
    assert_eq!(pressed('r'), Action::Do(Command::Refuse));
    assert_eq!(pressed('m'), Action::Do(Command::MassDelete));
    let mut state = State::default();
    let none = Picture { held: Vec::new(), ..picture.clone() };
    assert_eq!(state.press(KeyEvent::from(KeyCode::Char('a')), &none), Action::None);
    assert!(state.message.is_some_and(|text| text.starts_with("No plan is held")));
}

#[test]
fn records_scroll_to_their_end_and_no_further() {
    let (picture, mut state) = (picture(), State::default());
    let first = |lines: &[String]| pane(lines, "Records")[1].split(' ').next().unwrap().to_owned();
    screen(80, 24, &picture, &mut state);
    for (key, expected) in [
        (KeyCode::Down, "n08.demo.test"),
        (KeyCode::Down, "n07.demo.test"),
        (KeyCode::Up, "n08.demo.test"),
        (KeyCode::Home, "n09.demo.test"),
        (KeyCode::Up, "n09.demo.test"),
    ] {
        state.press(KeyEvent::from(key), &picture);
        assert_eq!(first(&screen(80, 24, &picture, &mut state)), expected, "{key}");
    }
    for key in [KeyCode::End, KeyCode::PageDown, KeyCode::Down] {
        state.press(KeyEvent::from(key), &picture);
        let lines = screen(80, 24, &picture, &mut state);
        let records = pane(&lines, "Records");
        assert!(records.last().is_some_and(|last| last.starts_with("n10.demo.test")), "{key} {records:#?}");
        assert!(!records.iter().any(|line| line.starts_with('+')), "{records:#?}");
    }
}

#[test]
fn the_plan_of_a_chosen_change_is_undone_after_a_yes() {
    let past = |plan: &str| Past {
        time: "12:00:00".to_owned(),
        outcome: "applied".to_owned(),
        plan: plan.to_owned(),
        change: format!("+ {plan}.demo.test 300 A 192.0.2.1"),
    };
    let picture = picture();
    let mut state = State { history: vec![past("two"), past("one")], ..State::default() };
    let press = |state: &mut State, code| state.press(KeyEvent::from(code), &picture);
    press(&mut state, KeyCode::Char('h'));
    assert_eq!(state.page, Page::History);
    let lines = screen(80, 24, &picture, &mut state);
    assert!(lines.iter().any(|line| line == "12:00:00  applied  one   + one.demo.test 300 A 192.0.2.1"), "{lines:#?}");
    press(&mut state, KeyCode::Down);
    let asked = press(&mut state, KeyCode::Char('u'));
    assert_eq!(asked, Action::Do(Command::PlanUndo(Some("one".to_owned()))));
    let offer = Offer { hash: "abc".to_owned(), lines: (0..40).map(|n| format!("- n{n} A")).collect() };
    for (key, expected) in
        [('y', Action::Do(Command::Undo("abc".to_owned()))), ('n', Action::None), ('q', Action::None)]
    {
        state.answer(Reply::Offered(offer.clone()));
        let lines = screen(80, 24, &picture, &mut state);
        assert!(pane(&lines, "Undo").iter().any(|line| line.starts_with('+') && line.ends_with(" more")), "{lines:#?}");
        assert_eq!(press(&mut state, KeyCode::Char(key)), expected);
        assert_eq!(state.offer, None);
    }
}

#[test]
fn pages_are_left_by_escape_and_the_demo_by_q() {
    let picture = picture();
    for (key, page, text) in [
        ('c', Page::Claims, "a-n00.demo.test"),
        ('n', Page::Notes, "Service default/s5"),
        ('h', Page::History, "History"),
    ] {
        let mut state = State::default();
        assert_eq!(state.press(KeyEvent::from(KeyCode::Char(key)), &picture), Action::None);
        assert_eq!(state.page, page);
        let all = screen(80, 24, &picture, &mut state).join("\n");
        assert!(all.contains(text), "{text} is missing in\n{all}");
        assert_eq!(state.press(KeyEvent::from(KeyCode::Esc), &picture), Action::None);
        assert_eq!(state.page, Page::Records);
        assert_eq!(state.press(KeyEvent::from(KeyCode::Esc), &picture), Action::End);
        assert_eq!(state.press(KeyEvent::from(KeyCode::Char('q')), &picture), Action::End);
        let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(state.press(ctrl_c, &picture), Action::End);
    }
}

#[test]
fn no_screen_is_too_small() {
    let held = Held { hash: "f31c09b2a17e".to_owned(), deletes: 24, reason: "too many".to_owned() };
    let picture = Picture { held: vec![held], ..picture() };
    for (width, height) in [(1, 1), (10, 3), (20, 8), (80, 10), (300, 5)] {
        for page in [Page::Records, Page::Claims, Page::History, Page::Notes] {
            let offer = Some(Offer { hash: String::new(), lines: vec!["- x".to_owned()] });
            for offer in [None, offer] {
                screen(width, height, &picture, &mut State { page, offer, ..State::default() });
            }
        }
    }
}
