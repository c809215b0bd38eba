//! The picture on a terminal, redrawn as it changes.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crossterm::event::{self, Event as Input, KeyCode, KeyModifiers};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Cell, Paragraph, Row, Table, Wrap};
use tokio_util::sync::CancellationToken;
use zonewright_core::{Error, ErrorKind, Result};

use super::picture::{Event, Picture};

/// A change is marked for this long, in milliseconds.
const FRESH: i64 = 5_000;

/// Draws until `stop`, or until q, Escape or Ctrl-C.
pub(super) async fn show(paint: impl Fn() -> Picture, stop: CancellationToken) -> Result<()> {
    let problem =
        |e| Error::new(ErrorKind::Configuration, "draw on the terminal", "give --plain for lines").caused_by(e);
    let mut terminal = ratatui::try_init().map_err(problem)?;
    let result = loop {
        let picture = paint();
        if let Err(e) = terminal.draw(|frame| draw(frame, &picture, now())) {
            break Err(problem(e));
        }
        match wants_out() {
            Ok(false) => {}
            Ok(true) => break Ok(()),
            Err(e) => break Err(problem(e)),
        }
        tokio::select! {
            () = stop.cancelled() => break Ok(()),
            () = tokio::time::sleep(Duration::from_millis(100)) => {}
        }
    };
    ratatui::restore();
    result
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn wants_out() -> std::io::Result<bool> {
    while event::poll(Duration::ZERO)? {
        if let Input::Key(key) = event::read()? {
            let ctrl_c = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
            if ctrl_c || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn dim() -> Style {
    Style::new().fg(Color::DarkGray)
}

fn titled(title: &'static str) -> Block<'static> {
    Block::new()
        .borders(Borders::TOP)
        .border_style(dim())
        .title(Span::styled(title, Style::new().add_modifier(Modifier::BOLD)))
}

fn draw(frame: &mut Frame<'_>, picture: &Picture, now: i64) {
    let problems = u16::try_from(picture.problems.len()).unwrap_or(u16::MAX).min(6) * 2;
    let rows = u16::try_from(picture.rows.len()).unwrap_or(u16::MAX);
    let [head, table, changes, trouble] = Layout::vertical([
        Constraint::Length(4),
        Constraint::Length((rows + 3).min(frame.area().height / 2)),
        Constraint::Min(4),
        Constraint::Length(if problems == 0 { 0 } else { problems + 1 }),
    ])
    .areas(frame.area());
    frame.render_widget(header(picture), head);
    frame.render_widget(names(picture, now), table);
    frame.render_widget(
        Paragraph::new(picture.events.iter().map(|e| event_line(e, now)).collect::<Vec<_>>())
            .block(titled(" Changes ")),
        changes,
    );
    if problems > 0 {
        let lines: Vec<Line<'_>> =
            picture.problems.iter().map(|p| Line::styled(p.as_str(), Style::new().fg(Color::Yellow))).collect();
        frame.render_widget(
            Paragraph::new(lines).wrap(Wrap { trim: true }).block(titled(" Told to the owners of objects ")),
            trouble,
        );
    }
}

fn header(picture: &Picture) -> Paragraph<'_> {
    let mut lines = vec![Line::from(vec![
        Span::styled("Zonewright", Style::new().fg(Color::Cyan).add_modifier(Modifier::BOLD)),
        Span::styled("  a folder in place of a cluster, a DNS server inside    q ends", dim()),
    ])];
    lines.extend(picture.hints.iter().map(|hint| Line::raw(hint.as_str())));
    Paragraph::new(lines)
}

fn names(picture: &Picture, now: i64) -> Table<'_> {
    let fresh = |name: &str| picture.events.iter().any(|e| now - e.at < FRESH && e.text.contains(&format!(" {name} ")));
    let rows = picture.rows.iter().map(|row| {
        let style = if fresh(&row.name) { Style::new().fg(Color::Green) } else { Style::new() };
        let cell = |text: &'_ str| Cell::from(text.to_owned());
        Row::new([cell(&row.name), cell(&row.rtype), cell(&row.ttl), cell(&row.data), cell(&row.by).style(dim())])
            .style(style)
    });
    let widths =
        [Constraint::Fill(3), Constraint::Length(6), Constraint::Length(6), Constraint::Fill(4), Constraint::Fill(3)];
    Table::new(rows, widths)
        .header(Row::new(["name", "type", "TTL", "records", "held by"]).style(dim()))
        .block(titled(" Records "))
}

fn event_line(event: &Event, now: i64) -> Line<'_> {
    let colour = match event.text.chars().next() {
        _ if event.failed => Color::Red,
        Some('+') => Color::Green,
        Some('-') => Color::Magenta,
        _ => Color::Blue,
    };
    let age = (now - event.at).max(0) / 1_000;
    Line::from(vec![
        Span::styled(format!("{age:>5} s ago  "), dim()),
        Span::styled(event.text.as_str(), Style::new().fg(colour)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::picture;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    #[test]
    fn the_picture_shows_names_changes_and_problems() {
        let row = picture::Row {
            name: "web.demo.test".to_owned(),
            rtype: "A".to_owned(),
            ttl: "30".to_owned(),
            data: "192.0.2.10".to_owned(),
            by: "service/default/web".to_owned(),
        };
        let picture = Picture {
            hints: vec!["ask    dig web".to_owned(), "edit   web.yaml".to_owned()],
            rows: vec![row],
            events: vec![Event { at: 1_000, text: "+ web.demo.test 30 A 192.0.2.10".to_owned(), failed: false }],
            problems: vec!["Service default/broken: bad TTL".to_owned()],
        };
        let mut terminal = Terminal::new(TestBackend::new(100, 20)).unwrap();
        terminal.draw(|frame| draw(frame, &picture, 3_000)).unwrap();
        let text = terminal.backend().to_string();
        for part in ["dig web", "web.yaml", "service/default/web", "2 s ago  + web.demo.test", "bad TTL"] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }
}
