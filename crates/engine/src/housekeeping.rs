//! Loops that save: the state soon after it changed, outcomes of the journal that wait for the next entry.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::approvals;
use crate::context::EngineContext;

/// Time between two attempts to read or save a state that cannot be.
const STATE_PAUSE: Duration = Duration::from_secs(5);

/// Saves the state soon after it changed, and not more often than every few seconds; tries again to read one that cannot be
/// read. What was held for that is judged again when it is over.
pub(crate) async fn keep_state(context: Arc<EngineContext>, cancel: CancellationToken) {
    let mut said = context.state.in_doubt().is_some();
    let mut joint = approvals::JointSeen::new();
    loop {
        let doubted = context.state.in_doubt().is_some();
        tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            () = context.state.changed() => {}
            () = sleep(if doubted { STATE_PAUSE } else { Duration::from_mins(10) }) => {}
        }
        context.state.read_again(context.clock.now(), context.config.brake.approval_ttl).await;
        let saved = context.state.save().await;
        if let Err(error) = &saved
            && !said
        {
            warn!(
                error = error.chain(),
                "the state could not be saved; deletes that the brake counts are held until it can be"
            );
        }
        said = saved.is_err();
        context.metrics.state_trusted.set(i64::from(context.state.in_doubt().is_none()));
        if doubted && context.state.in_doubt().is_none() {
            info!("the state can be read and saved; what was held for that is looked at again");
            context.zone_handles().iter().for_each(|handle| handle.inbox.recheck());
        }
        approvals::announce_joint(&context, &mut joint);
        tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            () = sleep(Duration::from_secs(2)) => {}
        }
    }
}

/// Writes outcomes that wait for the next entry when none comes.
pub(crate) async fn keep_journal(context: Arc<EngineContext>, cancel: CancellationToken) {
    while context.journal_writer.journaling().store.outcomes_wait() {
        tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            () = sleep(Duration::from_secs(2)) => context.journal_writer.flush().await,
        }
    }
}
