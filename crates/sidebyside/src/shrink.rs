//! A round that differs, made smaller as long as it still does.

use anyhow::Result;
use zonewright_sidebyside::round::Round;

use crate::pair::{Pair, RoundResult};

/// How many smaller rounds are tried.
const TRIES: usize = 24;

/// The smallest round that was found, and how it differs.
pub(crate) async fn smallest(pair: &Pair<'_>, round: &Round) -> Result<(Round, Vec<String>)> {
    let (mut best, mut lines) = (round.clone(), differences(pair, round).await?.unwrap_or_default());
    let mut tries = TRIES;
    let mut at = 0;
    while let Some(smaller) = without(&best, at).filter(|_| tries > 0) {
        tries -= 1;
        match differences(pair, &smaller).await? {
            Some(found) => (best, lines) = (smaller, found),
            None => at += 1,
        }
    }
    Ok((best, lines))
}

async fn differences(pair: &Pair<'_>, round: &Round) -> Result<Option<Vec<String>>> {
    Ok(match pair.play(round).await? {
        RoundResult::Differs(lines) => Some(lines),
        RoundResult::Equal | RoundResult::Known(_) => None,
    })
}

/// The round without its part of this number: objects first, then published records, then flags but for sources.
fn without(round: &Round, number: usize) -> Option<Round> {
    let mut smaller = round.clone();
    let (objects, published) = (round.objects.len(), round.current.len());
    if number < objects {
        smaller.objects.remove(number);
    } else if number < objects + published {
        smaller.current.remove(number - objects);
    } else {
        let flag = (0..round.args.len())
            .filter(|n| round.args.get(*n).is_some_and(|arg| arg.starts_with("--") && !arg.starts_with("--source")))
            .nth(number - objects - published)?;
        smaller.args.remove(flag);
    }
    Some(smaller)
}
