//! One zone as the engine's loops share it: its view, its inbox, how it is doing, and who waits for its worker.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use zonewright_core::clock::Timestamp;
use zonewright_core::error::Error;
use zonewright_core::flap::Fight;
use zonewright_core::name::DnsName;
use zonewright_core::plan::Adoptable;
use zonewright_core::record::{RecordKey, RecordSet};
use zonewright_core::registry::Contents;
use zonewright_core::turn::Watch;
use zonewright_core::view::ZoneView;
use zonewright_core::zone::Zone;

use crate::changes::Changes;
use crate::inbox::Inbox;
use crate::last_attempts::LastAttempts;
use crate::metrics::{ByZone, Metrics};
use crate::preview::Preview;
use crate::undo::Order;

/// One zone: its view, its inbox, its state of health.
#[derive(Debug)]
pub(crate) struct ZoneHandle {
    pub(crate) zone: Zone,
    /// What people read: the zone's name, behind that of its instance where there are several.
    pub(crate) title: String,
    /// When it came, where another zone of its name was served already: names go to that one.
    pub(crate) came_beside: Option<Timestamp>,
    pub(crate) inbox: Inbox,
    /// What was answered at names that wait for another attempt.
    pub(crate) last_attempts: Arc<LastAttempts>,
    view: RwLock<ZoneView>,
    status: Mutex<Status>,
    /// An undo that waits for the worker.
    order: Mutex<Option<Order>>,
    /// Who waits for the zone to be read again.
    looks: Mutex<Vec<oneshot::Sender<()>>>,
    /// What a dry run of one pass would do.
    preview: Mutex<Preview>,
    /// The registry could not write down something that was sent. It may have since.
    pub(crate) uncommitted: AtomicBool,
    /// Until when the call that its loop is in may take.
    pub(crate) watch: Watch,
}

/// What else is known of the last error of a zone.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FailureFlags {
    /// It was met while the zone was read.
    pub(crate) unread: bool,
    /// The zone is not tried again.
    pub(crate) given_up: bool,
    /// Nobody needs the zone: the credentials may not read it, only a wildcard takes it, and no object wants a name there.
    pub(crate) needless: bool,
}

/// How a zone is doing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Status {
    /// It has been read completely.
    pub(crate) listed: bool,
    /// Every name has been planned once.
    pub(crate) planned: bool,
    /// A turn is under way.
    pub(crate) working: bool,
    /// Claims that are being moved, a piece with each turn.
    pub(crate) moving: usize,
    /// The last error, and since when there has been no success.
    pub(crate) failing: Option<(Error, Instant)>,
    /// More about that error.
    pub(crate) failure: FailureFlags,
    /// What was sent since the start; in a dry run, what would have been.
    pub(crate) changes: Changes,
    /// Record sets that stay as they are, which is reported to their objects.
    pub(crate) left_alone: usize,
    /// Names that are parked after a refusal.
    pub(crate) parked: usize,
    /// Names that another writer keeps changing back.
    pub(crate) contested: Vec<(DnsName, Fight)>,
    /// Records that are wanted and stand without a claim.
    pub(crate) adoptable: BTreeMap<RecordKey, Adoptable>,
    /// The sizes of its worker's tables.
    pub(crate) tables: BTreeMap<&'static str, usize>,
    /// When its loop last turned.
    pub(crate) turned: Option<Instant>,
}

/// A zone or list that has failed for this long is not fresh any more.
pub(crate) const STALE: Duration = Duration::from_secs(30);

impl Status {
    /// Why the zone is not ready, if it is not: it was never read, or has failed for too long, and somebody needs it. The probe
    /// and the metric both ask here.
    pub(crate) fn unready(&self) -> Option<String> {
        match &self.failing {
            Some(_) if self.failure.needless => None,
            Some((error, since)) if since.elapsed() >= STALE || !self.listed => Some(error.chain()),
            _ if !self.listed => Some("not read yet".to_owned()),
            _ => None,
        }
    }

    /// When it will not be ready any more, if nothing changes.
    pub(crate) fn stale_at(&self) -> Option<Instant> {
        let (_, since) = self.failing.as_ref()?;
        Some(*since + STALE).filter(|at| *at > Instant::now())
    }
}

impl ZoneHandle {
    /// `alone`: the process has no other instance.
    pub(crate) fn new(zone: Zone, alone: bool, came_beside: Option<Timestamp>) -> Self {
        let title = if alone { zone.title() } else { format!("{}/{}", zone.key.instance, zone.title()) };
        Self {
            zone,
            title,
            came_beside,
            inbox: Inbox::default(),
            last_attempts: Arc::default(),
            view: RwLock::default(),
            status: Mutex::default(),
            order: Mutex::default(),
            looks: Mutex::default(),
            preview: Mutex::default(),
            uncommitted: AtomicBool::default(),
            watch: Watch::default(),
        }
    }

    pub(crate) fn view(&self) -> RwLockReadGuard<'_, ZoneView> {
        self.view.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn view_mut(&self) -> RwLockWriteGuard<'_, ZoneView> {
        self.view.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn preview(&self) -> MutexGuard<'_, Preview> {
        self.preview.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for the zone to be read again. The answer comes after a reading that began later than this; none, if it fails.
    pub(crate) fn look(&self) -> oneshot::Receiver<()> {
        let (done, answer) = oneshot::channel();
        self.looks.lock().unwrap_or_else(PoisonError::into_inner).push(done);
        self.inbox.wake();
        answer
    }

    /// Takes those who wait for a reading.
    pub(crate) fn take_looks(&self) -> Vec<oneshot::Sender<()>> {
        std::mem::take(&mut *self.looks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Leaves an undo for the worker. Returns whether there was room for it.
    pub(crate) fn order(&self, order: Order) -> bool {
        let mut slot = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        let free = slot.is_none();
        if free {
            *slot = Some(order);
            self.inbox.wake();
        }
        free
    }

    /// Takes the undo that waits.
    pub(crate) fn take_order(&self) -> Option<Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Brings the metric in step with what the probe says.
    pub(crate) fn publish_ready(&self, metrics: &Metrics) -> Option<String> {
        let unready = self.status().unready();
        metrics.zone_ready.get_or_create(&ByZone { zone: self.label() }).set(i64::from(unready.is_none()));
        unready
    }

    /// The zone's key as text, in metrics and in the saved state.
    pub(crate) fn label(&self) -> String {
        self.zone.key.to_string()
    }
}

impl Contents for ZoneHandle {
    fn find(&self, key: &RecordKey) -> Option<RecordSet> {
        self.view().find(key)
    }

    fn each(&self, visit: &mut dyn FnMut(RecordSet)) {
        self.view().sets().for_each(visit);
    }
}
