//! Limits on the time of a call that do not count how long it waits for its turn.
//!
//! Requests of one account go one after the other at the account's pace. With five hundred zones the last one waits for minutes
//! before its first request is made, which says nothing about the service. So who keeps the pace marks the waits ([`waiting`]), and
//! who limits the time leaves them out ([`within`]), as does who measures it ([`timed`]). All meet in the task: what a call hands to
//! another task counts in full.
//!
//! An answer that comes in pieces takes as long as it is large: each piece begins the time anew ([`progress`]). And who asks whether
//! the task is stuck sees until when its call may take ([`Watch`]).

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// The shortest time after which a call is looked at again.
const LOOK: Duration = Duration::from_millis(50);

/// So many times its limit a call may take that makes progress, up to [`LONGEST`].
const MOST: u32 = 60;
const LONGEST: Duration = Duration::from_hours(4);

tokio::task_local! {
    /// The waits of the limited calls that a task is in, the innermost last.
    static CALLS: Vec<Arc<Waits>>;
    /// Who looks at the task.
    static WATCH: Watch;
}

/// Until when the calls that a task is in may take. It is seen by others.
#[derive(Debug, Clone, Default)]
pub struct Watch(Arc<Mutex<Limited>>);

/// The calls with a limit that a task is in.
#[derive(Debug, Default)]
struct Limited {
    /// How many there are: within each other, and at the same time.
    now: usize,
    until: Option<Instant>,
}

impl Watch {
    /// Runs the work, whose calls with a limit are seen from here on.
    pub async fn over<T>(&self, work: impl Future<Output = T>) -> T {
        WATCH.scope(self.clone(), work).await
    }

    /// When the calls with a limit that the work is in are over at the latest, as it looked when they were last polled; when the last one
    /// was over, where it is in none.
    pub fn until(&self) -> Option<Instant> {
        self.limited().until
    }

    fn limited(&self) -> MutexGuard<'_, Limited> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that is watched until this is dropped: it may be given up.
struct Watched(Option<Watch>);

impl Watched {
    fn now() -> Self {
        // Where nobody looks, nobody need know.
        let watch = WATCH.try_with(Clone::clone).ok();
        if let Some(watch) = &watch {
            watch.limited().now += 1;
        }
        Self(watch)
    }

    fn lasts(&self, rest: Duration) {
        if let Some(watch) = &self.0 {
            let mut limited = watch.limited();
            limited.until = limited.until.max(Some(Instant::now() + rest));
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(watch) = &self.0 {
            let mut limited = watch.limited();
            limited.now = limited.now.saturating_sub(1);
            if limited.now == 0 {
                limited.until = Some(Instant::now());
            }
        }
    }
}

/// Runs the call, and gives it up once it has taken longer than the limit, waits for its turn not counted. `None` if it was given up.
/// Each [`progress`] begins the time anew, until it has taken sixty times the limit, or four hours.
pub async fn within<T>(limit: Duration, call: impl Future<Output = T>) -> Option<T> {
    let (waits, began, watched) = (Arc::new(Waits::default()), Instant::now(), Watched::now());
    let mut call = std::pin::pin!(CALLS.scope(calls_and(&waits), call));
    let most = limit.saturating_mul(MOST).min(LONGEST.max(limit));
    loop {
        let taken = began.elapsed().saturating_sub(waits.so_far());
        let counted = waits.state().progress.map_or(taken, |since| taken.min(since.elapsed()));
        let rest = limit.saturating_sub(counted).min(most.saturating_sub(taken));
        if rest.is_zero() && !waits.waiting() {
            return None;
        }
        let rest = if waits.waiting() { rest.max(LOOK) } else { rest };
        watched.lasts(rest);
        tokio::select! {
            biased;
            done = &mut call => return Some(done),
            () = sleep(rest) => {}
        }
    }
}

/// Runs the call. Returns also how long it took, without waits for its turn and without what was [`lost`].
pub async fn timed<T>(call: impl Future<Output = T>) -> (T, Duration) {
    let (waits, began) = (Arc::new(Waits::default()), Instant::now());
    let done = CALLS.scope(calls_and(&waits), call).await;
    (done, began.elapsed().saturating_sub(waits.so_far()))
}

/// So much of the time of the calls that the task is in came to nothing: an attempt that failed says nothing of how long one takes.
pub fn lost(time: Duration) {
    for waits in calls() {
        waits.state().ended += time;
    }
}

/// A piece of the answer to the call that the task is in has come, and more will.
pub fn progress() {
    for waits in calls() {
        waits.state().progress = Some(Instant::now());
    }
}

fn calls() -> Vec<Arc<Waits>> {
    CALLS.try_with(Clone::clone).unwrap_or_default()
}

fn calls_and(waits: &Arc<Waits>) -> Vec<Arc<Waits>> {
    let mut calls = calls();
    calls.push(waits.clone());
    calls
}

/// Waits for a turn, within no limit.
pub async fn waiting<T>(turn: impl Future<Output = T>) -> T {
    let _marked = Marked::now();
    turn.await
}

/// How long a call has waited. Its requests may wait at the same time: what counts is that one of them does.
#[derive(Debug, Default)]
struct Waits(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    ended: Duration,
    /// How many wait now, and since when one does.
    now: usize,
    since: Option<Instant>,
    /// When a piece of its answer came last.
    progress: Option<Instant>,
}

impl Waits {
    fn so_far(&self) -> Duration {
        let state = self.state();
        state.ended + state.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn waiting(&self) -> bool {
        self.state().now > 0
    }

    fn begin(&self) {
        let mut state = self.state();
        state.now += 1;
        state.since.get_or_insert_with(Instant::now);
    }

    fn end(&self) {
        let mut state = self.state();
        state.now = state.now.saturating_sub(1);
        if state.now == 0
            && let Some(since) = state.since.take()
        {
            state.ended += since.elapsed();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait that ends when this is dropped: a call may be given up while it waits.
struct Marked(Vec<Arc<Waits>>);

impl Marked {
    fn now() -> Self {
        let calls = calls();
        for waits in &calls {
            waits.begin();
        }
        Self(calls)
    }
}

impl Drop for Marked {
    fn drop(&mut self) {
        for waits in &self.0 {
            waits.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_mins(1);

    async fn seconds(seconds: u64) {
        sleep(Duration::from_secs(seconds)).await;
    }

    /// Whether the call is done within the limit, and after how many seconds it was known.
    async fn limited(call: impl Future<Output = ()>) -> (bool, u64) {
        let began = Instant::now();
        let done = within(LIMIT, call).await.is_some();
        (done, began.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn work_counts_and_waits_do_not() {
        assert_eq!(limited(seconds(59)).await, (true, 59));
        assert_eq!(limited(seconds(61)).await, (false, 60));
        assert_eq!(limited(waiting(seconds(3_600))).await, (true, 3_600));
        let both = |work| async move {
            waiting(seconds(100)).await;
            seconds(work).await;
            waiting(seconds(100)).await;
            seconds(30).await;
        };
        assert_eq!(limited(both(29)).await, (true, 259));
        assert_eq!(limited(both(31)).await, (false, 260));
        assert_eq!(limited(both(90)).await, (false, 160), "given up in the midst of work");
    }

    #[tokio::test(start_paused = true)]
    async fn a_piece_of_the_answer_begins_the_time_anew() {
        let pieces = |number, pause, rest| async move {
            for _ in 0..number {
                seconds(pause).await;
                progress();
            }
            seconds(rest).await;
        };
        assert_eq!(limited(pieces(10, 59, 59)).await, (true, 649));
        assert_eq!(limited(pieces(10, 59, 61)).await, (false, 650));
        assert_eq!(limited(pieces(1_000, 50, 0)).await, (false, 3_600), "it does not end");
    }

    #[tokio::test(start_paused = true)]
    async fn who_watches_sees_how_long_a_call_may_take() {
        let (watch, began) = (Watch::default(), Instant::now());
        let until = || watch.until().map(|until| (until - began).as_secs());
        let seen = watch.over(async {
            let outside = until();
            let seen = within(LIMIT, async {
                let mut seen = vec![until()];
                waiting(seconds(100)).await;
                seen.push(until());
                seconds(10).await;
                progress();
                seconds(51).await;
                seen.push(until());
                seen
            });
            (outside, seen.await, until())
        });
        let (outside, inside, afterwards) = seen.await;
        assert_eq!(outside, None);
        assert_eq!(inside, Some(vec![Some(60), Some(120), Some(170)]));
        assert_eq!(afterwards, Some(161), "it was over then");
        within(LIMIT, seconds(1)).await;
        assert_eq!(until(), Some(161), "it is not the work");
        // Calls within each other, in whatever else measures them.
        let inner = async {
            within(2 * LIMIT, seconds(1)).await;
            until()
        };
        let (seen, _) = watch.over(timed(within(LIMIT, inner))).await;
        assert_eq!((seen, until()), (Some(Some(282)), Some(163)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_lost_is_not_measured() {
        let (took, all) = timed(async {
            let ((), attempt) = timed(async {
                waiting(seconds(10)).await;
                seconds(60).await;
            })
            .await;
            lost(attempt);
            seconds(2).await;
            attempt
        })
        .await;
        assert_eq!((took.as_secs(), all.as_secs()), (60, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn waits_at_the_same_time_count_once() {
        let two = |work| async move {
            tokio::join!(waiting(seconds(100)), async {
                seconds(20).await;
                waiting(seconds(100)).await;
            });
            seconds(work).await;
        };
        assert_eq!(limited(two(59)).await, (true, 179));
        assert_eq!(limited(two(61)).await, (false, 180));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_is_given_up_has_ended() {
        let given_up = async {
            let _ = tokio::time::timeout(Duration::from_secs(10), waiting(seconds(100))).await;
            seconds(61).await;
        };
        assert_eq!(limited(given_up).await, (false, 70));
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_within_a_limit_leaves_out_the_same_waits() {
        let inner = async {
            let done = within(Duration::from_secs(10), waiting(seconds(100))).await.is_some();
            assert!(done);
        };
        assert_eq!(limited(inner).await, (true, 100));
    }
}
