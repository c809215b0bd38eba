//! What goes wrong with the calls of a process: it is killed at one of them, or one is refused, or carried out and not answered.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use zonewright_core::ErrorKind;

/// What goes wrong with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upset {
    /// The process is killed before the call.
    Killed,
    /// It is refused, and nothing is carried out.
    Refused(ErrorKind),
    /// It is carried out, and the answer is an error that does not say so.
    Lost,
}

type UpsetPlan = Box<dyn FnMut(&str) -> Option<Upset> + Send>;

/// Ends the process that it is given to, at the call of a number; whoever waits for it waits for ever. Or upsets calls by a plan.
#[derive(Default)]
pub(crate) struct Fuse {
    left: Mutex<Option<usize>>,
    calls: AtomicUsize,
    plan: Mutex<Option<UpsetPlan>>,
}

impl fmt::Debug for Fuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fuse").field("left", &self.left).finish_non_exhaustive()
    }
}

impl Fuse {
    /// From now on so many more calls return.
    pub(crate) fn set(&self, left: Option<usize>) {
        *self.left.lock().unwrap() = left;
        self.calls.store(0, Ordering::Relaxed);
    }

    /// Calls since it was set.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// From now on calls are upset by this plan, which gets what each of them does.
    pub(crate) fn plan(&self, plan: impl FnMut(&str) -> Option<Upset> + Send + 'static) {
        *self.plan.lock().unwrap() = Some(Box::new(plan));
    }

    /// From now on no call is upset.
    pub(crate) fn calm(&self) {
        *self.plan.lock().unwrap() = None;
    }

    /// A place between two calls.
    pub(crate) async fn call(&self) {
        let burnt = match &mut *self.left.lock().unwrap() {
            None => false,
            Some(0) => true,
            Some(left) => {
                *left -= 1;
                false
            }
        };
        if burnt {
            std::future::pending::<()>().await;
        }
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// What goes wrong with a call that does this. Of a process that is killed by it nothing returns.
    pub(crate) async fn upset(&self, what: &str) -> Option<Upset> {
        let upset = self.plan.lock().unwrap().as_mut().and_then(|plan| plan(what));
        if upset == Some(Upset::Killed) {
            std::future::pending::<()>().await;
        }
        upset
    }
}
