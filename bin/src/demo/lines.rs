//! The picture as lines, for pipes and logs: everything once, then what changes.

use std::fmt::{Display, Write as _};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::picture::Picture;
use crate::output::{self, Written};

/// Prints until `stop`, or until nobody reads it any more.
pub(super) async fn follow(paint: impl Fn() -> Picture, stop: CancellationToken) -> Written {
    let mut former = paint();
    // Writing into a string cannot fail.
    let mut out = String::new();
    former.hints.iter().for_each(|hint| line(&mut out, hint));
    out.push('\n');
    let mut rows = former.rows.clone();
    rows.sort_by(|a, b| (&a.name, &a.rtype).cmp(&(&b.name, &b.rtype)));
    for row in rows {
        let _ = writeln!(out, "{:<24} {:<6} {:>5}  {:<24} {}", row.name, row.rtype, row.ttl, row.data, row.by);
    }
    former.problems().for_each(|problem| line(&mut out, format_args!("! {problem}")));
    loop {
        let written = if out.is_empty() { Written::All } else { output::print(&out) };
        if written != Written::All {
            return written;
        }
        out.clear();
        tokio::select! {
            () = stop.cancelled() => return written,
            () = tokio::time::sleep(Duration::from_millis(50)) => {}
        }
        let picture = paint();
        let news = picture.events.iter().take_while(|event| Some(*event) != former.events.first());
        for event in news.collect::<Vec<_>>().into_iter().rev() {
            line(&mut out, &event.text);
        }
        let known: Vec<String> = former.problems().collect();
        let news = picture.problems().filter(|problem| !known.contains(problem));
        news.for_each(|problem| line(&mut out, format_args!("! {problem}")));
        former = picture;
    }
}

fn line(out: &mut String, text: impl Display) {
    let _ = writeln!(out, "{text}");
}
