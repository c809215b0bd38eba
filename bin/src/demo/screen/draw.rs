//! One drawing of the screen.
//!
//! In come the picture, the state and the time; out come cells. What must hold: whatever does not fit is counted or ends with an
//! ellipsis, on the smallest screen and on the largest.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph, Wrap};

use super::columns::{GAP, cut, widths};
use super::state::{Page, State};
use crate::demo::picture::{Event, Held, Picture, Row};

/// A change is marked for this long, in milliseconds.
const FRESH: i64 = 5_000;

/// From this width on, changes and notes stand beside the records.
const WIDE: u16 = 120;

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, picture: &Picture, state: &mut State, now: i64) {
    let plan_height = if picture.held.is_empty() { 0 } else { 4 };
    let [head, plan, body, foot] = Layout::vertical([
        Constraint::Length(3),
        Constraint::Length(plan_height),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(header(picture, head.width), head);
    if let Some(first) = picture.held.first() {
        frame.render_widget(held_plan(first, picture.held.len(), plan.width), plan);
    }
    match state.page {
        Page::Records => first_page(frame, picture, state, now, body),
        Page::Claims => {
            let title = " Claims: whose each record is, as texts in the zone ";
            table(frame, title, ["name", "type", "TTL", "text", ""], &picture.claims, state, now, body);
        }
        Page::History => history(frame, state, body),
        Page::Notes => all_notes(frame, picture, state, body),
    }
    frame.render_widget(footer(state, foot.width), foot);
    if let Some(offer) = &state.offer {
        ask(frame, &offer.lines, body);
    }
}

fn dim() -> Style {
    Style::new().fg(Color::DarkGray)
}

fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

fn titled(title: &str) -> Block<'_> {
    Block::new().borders(Borders::TOP).border_style(dim()).title(Span::styled(title, bold()))
}

fn header(picture: &Picture, width: u16) -> Paragraph<'_> {
    let mut lines = vec![Line::from(vec![
        Span::styled("Zonewright", Style::new().fg(Color::Cyan).add_modifier(Modifier::BOLD)),
        Span::styled("  a folder in place of a cluster, a DNS server inside", dim()),
    ])];
    lines.extend(picture.hints.iter().map(|hint| Line::raw(cut(hint, width.into()))));
    Paragraph::new(lines)
}

fn held_plan(held: &Held, plans: usize, width: u16) -> Paragraph<'_> {
    let more = if plans > 1 { format!("  (+{} more plans)", plans - 1) } else { String::new() };
    let warn = Style::new().fg(Color::Yellow);
    let text = |text: String| cut(&text, width.into());
    Paragraph::new(vec![
        Line::styled(
            text(format!("Plan {}: {} deletes are held, none is sent{more}", held.hash, held.deletes)),
            warn.add_modifier(Modifier::BOLD),
        ),
        Line::styled(text(format!("because {}", held.reason)), warn),
        Line::styled(text("a approves it   r refuses it: the manifests come back".to_owned()), bold()),
    ])
    .block(titled(" Held plan "))
}

fn footer(state: &State, width: u16) -> Line<'_> {
    if let Some(message) = &state.message {
        return Line::styled(cut(message, width.into()), Style::new().fg(Color::Cyan));
    }
    let keys = match (&state.offer, state.page) {
        (Some(_), _) => "y carries it out   any other key leaves it",
        (None, Page::Records) => "q quit  ↑↓ scroll  m mass delete  h history  u undo  c claims  n notes",
        (None, Page::History) => "esc back  ↑↓ choose a change  u undo its plan  q quit",
        (None, _) => "esc back  ↑↓ scroll  q quit",
    };
    Line::styled(cut(keys, width.into()), dim())
}

fn first_page(frame: &mut Frame<'_>, picture: &Picture, state: &mut State, now: i64, area: Rect) {
    let notes = picture.notes.len();
    let columns = ["name", "type", "TTL", "records", "held by"];
    if area.width >= WIDE {
        let [left, right] = Layout::horizontal([Constraint::Fill(6), Constraint::Fill(5)]).spacing(2).areas(area);
        let [changes, reported] =
            Layout::vertical([Constraint::Fill(1), Constraint::Fill(u16::from(notes > 0))]).areas(right);
        table(frame, " Records ", columns, &picture.rows, state, now, left);
        frame.render_widget(events(picture, now, changes), changes);
        frame.render_widget(note_lines(picture, reported, 3), reported);
        return;
    }
    let reported = if notes == 0 { 0 } else { clamped(notes, 4) + 1 };
    let wanted = clamped(picture.rows.len(), usize::from(area.height)) + 2;
    let left = area.height.saturating_sub(reported);
    let [records, changes, reported] = Layout::vertical([
        Constraint::Length(wanted.min(left.saturating_mul(3) / 5)),
        Constraint::Fill(1),
        Constraint::Length(reported),
    ])
    .areas(area);
    table(frame, " Records ", columns, &picture.rows, state, now, records);
    frame.render_widget(events(picture, now, changes), changes);
    frame.render_widget(note_lines(picture, reported, 1), reported);
}

fn clamped(number: usize, most: usize) -> u16 {
    u16::try_from(number.min(most)).unwrap_or(u16::MAX)
}

/// Lines of which some may stand below the screen: the last one counts them.
fn more(mut lines: Vec<Line<'_>>, room: usize, all: usize, first: usize) -> Vec<Line<'_>> {
    if first + room < all {
        lines.truncate(room.saturating_sub(1));
        lines.push(Line::styled(format!("+{} more", all - first - lines.len()), dim()));
    }
    lines
}

fn table(
    frame: &mut Frame<'_>,
    title: &str,
    columns: [&str; 5],
    rows: &[Row],
    state: &mut State,
    now: i64,
    area: Rect,
) {
    let room = usize::from(area.height.saturating_sub(2));
    state.page_length = room.saturating_sub(1);
    state.furthest = rows.len().saturating_sub(room);
    state.position = state.position.min(state.furthest);
    let cells = |row: &Row| [row.name.clone(), row.rtype.clone(), row.ttl.clone(), row.data.clone(), row.by.clone()];
    let all: Vec<[String; 5]> = rows.iter().map(cells).collect();
    let texts = all.iter().map(|cells| cells.each_ref().map(String::as_str));
    let widths = widths(texts.chain([columns]), area.width.into());
    let mut lines = vec![Line::styled(aligned(columns, widths), dim())];
    let shown = rows.iter().zip(all).skip(state.position).take(room);
    let shown = shown.map(|(row, cells)| {
        let fresh = now - row.changed < FRESH;
        Line::styled(
            aligned(cells.each_ref().map(String::as_str), widths),
            if fresh { Style::new().fg(Color::Green) } else { Style::new() },
        )
    });
    lines.extend(more(shown.collect(), room, rows.len(), state.position));
    frame.render_widget(Paragraph::new(lines).block(titled(title)), area);
}

fn aligned<const N: usize>(cells: [&str; N], widths: [usize; N]) -> String {
    let cells = cells.iter().zip(widths).map(|(cell, width)| {
        let text = cut(cell, width);
        let pad = width.saturating_sub(unicode_width::UnicodeWidthStr::width(&*text));
        format!("{text}{}", " ".repeat(pad + GAP))
    });
    cells.collect::<String>().trim_end().to_owned()
}

fn events(picture: &Picture, now: i64, area: Rect) -> Paragraph<'_> {
    let room = usize::from(area.height.saturating_sub(1));
    let lines = picture.events.iter().take(room).map(|event| event_line(event, now, area.width)).collect();
    Paragraph::new(more(lines, room, picture.events.len(), 0)).block(titled(" Changes "))
}

fn event_line(event: &Event, now: i64, width: u16) -> Line<'_> {
    let colour = match event.text.chars().next() {
        _ if event.failed => Color::Red,
        Some('+') => Color::Green,
        Some('-') => Color::Magenta,
        _ => Color::Blue,
    };
    let age = format!("{:>5} s ago  ", (now - event.at).max(0) / 1_000);
    let text = cut(&event.text, usize::from(width).saturating_sub(age.len()));
    Line::from(vec![Span::styled(age, dim()), Span::styled(text, Style::new().fg(colour))])
}

/// Notes, each in at most so many lines.
fn note_lines(picture: &Picture, area: Rect, most: usize) -> Paragraph<'_> {
    let (room, width) = (usize::from(area.height.saturating_sub(1)), usize::from(area.width));
    let mut lines = Vec::new();
    let mut shown = 0;
    for note in &picture.notes {
        let wrapped = wrapped(note, width, most);
        // The last line is for the count of those that are left.
        let last = shown + 1 == picture.notes.len();
        if lines.len() + wrapped.len() + usize::from(!last) > room {
            break;
        }
        shown += 1;
        lines.extend(wrapped.into_iter().map(|text| Line::styled(text, Style::new().fg(Color::Yellow))));
    }
    if shown < picture.notes.len() && room > 0 {
        lines.push(Line::styled(format!("+{} more", picture.notes.len() - shown), dim()));
    }
    Paragraph::new(lines).block(titled(" What is wrong "))
}

/// A text in lines, broken between words; the last of too many ends with an ellipsis.
fn wrapped(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        if lines.len() + 1 >= most {
            lines.push(cut(rest, width));
            break;
        }
        let head = cut(rest, width);
        if head == rest {
            lines.push(head);
            break;
        }
        let end = head.trim_end_matches('…').rfind(' ').filter(|at| *at > 0);
        let end = end.unwrap_or_else(|| head.trim_end_matches('…').len().max(1));
        let Some((line, tail)) = rest.split_at_checked(end) else { break };
        lines.push(line.to_owned());
        rest = tail.trim_start();
    }
    lines
}

fn history(frame: &mut Frame<'_>, state: &mut State, area: Rect) {
    let room = usize::from(area.height.saturating_sub(2));
    let all = state.history.len();
    state.page_length = room.saturating_sub(1);
    state.furthest = all.saturating_sub(1);
    state.position = state.position.min(state.furthest);
    let rows: Vec<[&str; 4]> =
        state.history.iter().map(|past| [&*past.time, &*past.outcome, &*past.plan, &*past.change]).collect();
    let heads = ["time", "outcome", "plan", "change"];
    // The change has what the others leave: they are short, and always worth their room.
    let [time, outcome, plan, _] = widths(rows.iter().copied().chain([heads]), usize::MAX);
    let left = usize::from(area.width).saturating_sub(time + outcome + plan + 3 * GAP);
    let widths = [time, outcome, plan, left];
    // What is chosen stays in sight.
    let first = state.position.saturating_sub(room.saturating_sub(2));
    let mut lines = vec![Line::styled(aligned(heads, widths), dim())];
    let shown = rows.iter().enumerate().skip(first).take(room).map(|(at, row)| {
        let chosen = if at == state.position { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() };
        Line::styled(aligned(*row, widths), chosen)
    });
    lines.extend(more(shown.collect(), room, all, first));
    frame.render_widget(Paragraph::new(lines).block(titled(" History ")), area);
}

fn all_notes(frame: &mut Frame<'_>, picture: &Picture, state: &mut State, area: Rect) {
    let room = usize::from(area.height.saturating_sub(1));
    let lines: Vec<String> =
        picture.notes.iter().flat_map(|note| wrapped(note, area.width.into(), usize::MAX)).collect();
    state.page_length = room.saturating_sub(1);
    state.furthest = lines.len().saturating_sub(room);
    state.position = state.position.min(state.furthest);
    let all = lines.len();
    let mut shown: Vec<Line<'_>> = lines.into_iter().skip(state.position).take(room).map(Line::raw).collect();
    if shown.is_empty() {
        shown.push(Line::styled("Nothing is wrong.", dim()));
    }
    let shown = more(shown, room, all, state.position);
    frame.render_widget(Paragraph::new(shown).block(titled(" What is wrong ")), area);
}

/// An undo that waits for a yes, over the page.
fn ask(frame: &mut Frame<'_>, lines: &[String], body: Rect) {
    let height = clamped(lines.len() + 3, usize::from(body.height));
    let [_, area] = Layout::vertical([Constraint::Fill(1), Constraint::Length(height)]).areas(body);
    let room = usize::from(area.height.saturating_sub(2));
    let shown = lines.iter().take(room).map(|line| Line::raw(cut(line, area.width.into()))).collect();
    let mut shown = more(shown, room, lines.len(), 0);
    shown.push(Line::styled("Undo this? y carries it out, any other key leaves it", bold()));
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(shown).wrap(Wrap { trim: false }).block(titled(" Undo ")), area);
}
