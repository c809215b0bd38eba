//! The slow pass over everything that sources hold, spread over hours.
//!
//! What a source reports is taken over as it comes, so the pass finds nothing, as long as nothing was lost on the way. In: a part of
//! what each source holds, with each interval. Out: what differs from what was taken over; what no source showed in a whole pass
//! is gone, without a proof.

use std::time::Duration;

use tracing::warn;
use zonewright_core::desired::Taken;

use crate::context::EngineContext;

/// How long a pass takes, where there is much to look at.
const PASS: Duration = Duration::from_hours(6);

/// Where the pass is.
#[derive(Debug, Default)]
pub(crate) struct Passes {
    /// The sources that have shown all that they hold in this pass.
    done: Vec<bool>,
}

impl Passes {
    /// Makes the next part. Returns what it brought.
    pub(crate) fn step(&mut self, context: &EngineContext) -> Taken {
        self.done.resize(context.sources.len(), false);
        let most = part(context.desired_state().table.objects(), context.config.interval);
        let mut taken = Taken::default();
        for (source, done) in context.sources.iter().zip(&mut self.done).filter(|(_, done)| !**done) {
            let review = source.review(most);
            *done = review.last;
            taken.join(context.desired_state().table.review(review.objects, context.clock.now()));
        }
        if self.done.iter().all(|done| *done) {
            self.done.clear();
            taken.join(context.desired_state().table.reviewed());
        }
        if !taken.dirty.is_empty() {
            warn!(
                names = taken.dirty.len(),
                "what objects ask for was not known to its end; these names are planned again"
            );
        }
        taken
    }
}

/// How many of so many objects belong to one of the parts, which are made once in each interval.
fn part(objects: usize, interval: Duration) -> usize {
    let parts = PASS.as_secs().checked_div(interval.as_secs()).unwrap_or(PASS.as_secs()).max(1);
    objects.div_ceil(usize::try_from(parts).unwrap_or(usize::MAX)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_is_spread_over_hours() {
        for (objects, secs, most) in
            [(100_000, 60, 278), (360, 60, 1), (361, 60, 2), (0, 60, 1), (10, 86_400, 10), (21_600, 0, 1)]
        {
            assert_eq!(part(objects, Duration::from_secs(secs)), most, "{objects} {secs}");
        }
    }
}
