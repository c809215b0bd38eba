//! The names of one zone that have to be planned, each with the moment it was first asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;
use zonewright_core::name::DnsName;

/// More names are not kept: from there on it is all of the zone's that have to be planned.
const MOST: usize = 200_000;

/// Dirty names gather here while a call is in flight; the first one wakes the worker at once.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    mail: Mutex<Mail>,
    wake: Notify,
}

/// What was in the inbox.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    /// The dirty names.
    pub(crate) names: BTreeMap<DnsName, Instant>,
    /// Those that a source changed.
    pub(crate) fresh: BTreeSet<DnsName>,
    /// There were too many of them: every name of the zone is dirty, and may have been changed by a source.
    pub(crate) everything: bool,
    /// Whether to look at what waits.
    pub(crate) recheck: bool,
}

impl Mail {
    fn put(&mut self, name: DnsName, since: Instant) {
        if self.everything {
            return;
        }
        let entry = self.names.entry(name).or_insert(since);
        *entry = (*entry).min(since);
        if self.names.len() > MOST {
            self.names.clear();
            self.fresh.clear();
            self.everything = true;
        }
    }
}

impl Inbox {
    fn mail(&self) -> MutexGuard<'_, Mail> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names that a source changed: they are tried at once, even those that back off.
    pub(crate) fn changed(&self, names: impl IntoIterator<Item = DnsName>) {
        let now = Instant::now();
        let mut mail = self.mail();
        for name in names {
            if !mail.everything {
                mail.fresh.insert(name.clone());
            }
            mail.put(name, now);
        }
        drop(mail);
        self.wake();
    }

    /// Names to look at again for another reason.
    pub(crate) fn again(&self, names: impl IntoIterator<Item = DnsName>) {
        let now = Instant::now();
        self.put_back(names.into_iter().map(|name| (name, now)));
        self.wake();
    }

    /// Names that could not be finished, with the moments they came with. Does not wake.
    pub(crate) fn put_back(&self, names: impl IntoIterator<Item = (DnsName, Instant)>) {
        let mut mail = self.mail();
        names.into_iter().for_each(|(name, since)| mail.put(name, since));
    }

    /// Takes everything that has come since the last call.
    pub(crate) fn take(&self) -> Mail {
        std::mem::take(&mut *self.mail())
    }

    /// The names that wait here, as far as they are known one by one.
    pub(crate) fn names(&self) -> BTreeSet<DnsName> {
        self.mail().names.keys().cloned().collect()
    }

    /// The names that wait here and were first asked for after a moment, each with its own.
    pub(crate) fn asked_after(&self, moment: Option<Instant>) -> Vec<(Instant, DnsName)> {
        let mail = self.mail();
        let later = mail.names.iter().filter(|(_, since)| moment.is_none_or(|moment| **since > moment));
        later.map(|(name, since)| (*since, name.clone())).collect()
    }

    /// Whether a name waits here.
    pub(crate) fn holds(&self, name: &DnsName) -> bool {
        self.mail().names.contains_key(name)
    }

    /// Whether a source changed a name since the last look.
    pub(crate) fn has_fresh(&self) -> bool {
        let mail = self.mail();
        mail.everything || !mail.fresh.is_empty()
    }

    /// Number of names that wait; where they are too many to be known, not none.
    pub(crate) fn len(&self) -> usize {
        let mail = self.mail();
        mail.names.len() + usize::from(mail.everything)
    }

    /// What waits for evidence or an approval shall be looked at again.
    pub(crate) fn recheck(&self) {
        self.mail().recheck = true;
        self.wake();
    }

    /// Whether what waits is still to be looked at again.
    pub(crate) fn wants_recheck(&self) -> bool {
        self.mail().recheck
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

#[cfg(test)]
mod tests {
    use super::*;
    use zonewright_core::testing::name;

    /// Names that come and go while a zone cannot be served must not gather without end.
    #[tokio::test(start_paused = true)]
    async fn too_many_names_are_all_of_them() {
        let inbox = Inbox::default();
        let named = |n: usize| name(&format!("n{n}.example"));
        inbox.changed((0..MOST).map(named));
        assert_eq!(inbox.len(), MOST);
        inbox.changed([named(0)]);
        assert_eq!(inbox.len(), MOST, "each once");
        inbox.changed([named(MOST)]);
        inbox.changed([named(MOST + 1)]);
        assert_eq!(inbox.len(), 1);
        let mail = inbox.take();
        assert!(mail.everything && mail.names.is_empty() && mail.fresh.is_empty());
        inbox.changed([named(0)]);
        let mail = inbox.take();
        assert!(!mail.everything && mail.names.len() == 1 && mail.fresh.len() == 1);
    }
}
