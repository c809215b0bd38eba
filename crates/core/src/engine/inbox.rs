//! The names of one zone that have to be planned, each with the moment it was first asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::name::DnsName;

/// Dirty names gather here while a call is in flight; the first one wakes the worker at once.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    names: Mutex<BTreeMap<DnsName, Instant>>,
    fresh: Mutex<BTreeSet<DnsName>>,
    recheck: AtomicBool,
    wake: Notify,
}

/// What was in the inbox.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    /// The dirty names.
    pub(crate) names: BTreeMap<DnsName, Instant>,
    /// Those that a source changed.
    pub(crate) fresh: BTreeSet<DnsName>,
    /// Whether to look at what waits.
    pub(crate) recheck: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inbox {
    /// Names that a source changed: they are tried at once, even those that back off.
    pub(crate) fn changed(&self, names: impl IntoIterator<Item = DnsName>) {
        let names: Vec<DnsName> = names.into_iter().collect();
        lock(&self.fresh).extend(names.iter().cloned());
        self.again(names);
    }

    /// Names to look at again for another reason.
    pub(crate) fn again(&self, names: impl IntoIterator<Item = DnsName>) {
        let now = Instant::now();
        self.put_back(names.into_iter().map(|name| (name, now)));
        self.wake();
    }

    /// Names that could not be finished, with the moments they came with. Does not wake.
    pub(crate) fn put_back(&self, names: impl IntoIterator<Item = (DnsName, Instant)>) {
        let mut all = lock(&self.names);
        for (name, since) in names {
            let entry = all.entry(name).or_insert(since);
            *entry = (*entry).min(since);
        }
    }

    /// Takes everything.
    pub(crate) fn take(&self) -> Mail {
        Mail {
            names: std::mem::take(&mut *lock(&self.names)),
            fresh: std::mem::take(&mut *lock(&self.fresh)),
            recheck: self.recheck.swap(false, Ordering::SeqCst),
        }
    }

    /// The names that wait here.
    pub(crate) fn names(&self) -> BTreeSet<DnsName> {
        lock(&self.names).keys().cloned().collect()
    }

    /// Whether a name waits here.
    pub(crate) fn holds(&self, name: &DnsName) -> bool {
        lock(&self.names).contains_key(name)
    }

    /// Whether a source changed a name since the last look.
    pub(crate) fn has_fresh(&self) -> bool {
        !lock(&self.fresh).is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.names).len()
    }

    /// What waits for evidence or an approval shall be looked at again.
    pub(crate) fn recheck(&self) {
        self.recheck.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Whether what waits is still to be looked at again.
    pub(crate) fn wants_recheck(&self) -> bool {
        self.recheck.load(Ordering::SeqCst)
    }

    /// Wakes the worker without a name.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Waits to be woken.
    pub(crate) async fn woken(&self) {
        self.wake.notified().await;
    }
}
