//! The picture as lines, for pipes and logs: everything once, then what changes.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::picture::Picture;

/// Prints until `stop`.
pub(super) async fn follow(paint: impl Fn() -> Picture, stop: CancellationToken) {
    let mut former = paint();
    former.hints.iter().for_each(|hint| println!("{hint}"));
    println!();
    let mut rows = former.rows.clone();
    rows.sort_by(|a, b| (&a.name, &a.rtype).cmp(&(&b.name, &b.rtype)));
    for row in rows {
        println!("{:<24} {:<6} {:>5}  {:<24} {}", row.name, row.rtype, row.ttl, row.data, row.by);
    }
    former.problems().for_each(|problem| println!("! {problem}"));
    while !stop.is_cancelled() {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(Duration::from_millis(50)) => {}
        }
        let picture = paint();
        let news = picture.events.iter().take_while(|event| Some(*event) != former.events.first());
        for event in news.collect::<Vec<_>>().into_iter().rev() {
            println!("{}", event.text);
        }
        let known: Vec<String> = former.problems().collect();
        picture.problems().filter(|problem| !known.contains(problem)).for_each(|problem| println!("! {problem}"));
        former = picture;
    }
}
