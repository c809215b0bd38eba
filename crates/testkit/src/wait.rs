//! Waiting for a condition, never for a time.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// The first pause between two probes; each further one is twice as long, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// A pause lasts at least so many times as long as the probe before it: one that starts a program takes ten milliseconds of a
/// processor, which what is waited for could use. Beyond [`LONG`] it lasts no more than twice as long as the probe.
const PAUSE_FOR_A_PROBE: u32 = 5;
const PAUSE_FOR_A_SLOW_PROBE: u32 = 2;
const LONG: Duration = Duration::from_millis(250);

/// Calls `probe` until it gives a value, at most for the time `within`. The probe is called once more after the
/// deadline, so that a machine that stood still does not fail the test.
///
/// # Panics
/// When there is no value at the deadline; `what` says what was waited for.
#[track_caller]
pub fn wait_for<T>(what: &str, within: Duration, probe: impl FnMut() -> Option<T>) -> T {
    match poll(within, probe) {
        Some(value) => value,
        None => panic!("waited {within:?} in vain for {what}"),
    }
}

/// As [`wait_for`], and `None` at the deadline: for tests that expect a thing *not* to happen, and for callers with a
/// better message.
pub fn poll<T>(within: Duration, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + within;
    let mut pause = FIRST_PAUSE;
    loop {
        let asked = Instant::now();
        let late = asked >= deadline;
        if let Some(value) = probe() {
            return Some(value);
        }
        if late {
            return None;
        }
        let took = asked.elapsed();
        let after_it = (took * PAUSE_FOR_A_PROBE).min(LONG).max(took * PAUSE_FOR_A_SLOW_PROBE);
        sleep(pause.max(after_it).min(deadline.saturating_duration_since(Instant::now())));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_is_returned() {
        let mut calls = 0;
        let value = wait_for("the third call", Duration::from_secs(5), || {
            calls += 1;
            (calls == 3).then_some("here")
        });
        assert_eq!(value, "here");
    }

    #[test]
    #[should_panic(expected = "in vain for rain")]
    fn the_deadline_names_what_was_waited_for() {
        wait_for("rain", Duration::ZERO, || None::<()>);
    }
}
