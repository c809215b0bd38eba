//! How far the view of each kind can be trusted.
//!
//! In come the turns of a feed (a list began, ended, failed; a watch opened, was lost; discovery denied the kind), each
//! with its time; out comes core's [`KindState`]. What must hold: whenever a kind counts as complete and fresh, an
//! object that is not in the view is not in the cluster, but for the last [`GRACE`].

use std::time::Duration;

use tokio::time::Instant;
use zonewright_core::source::{DOUBT_FROM, KindState};

/// How long a view stays fresh after its watch was lost.
pub const GRACE: Duration = Duration::from_secs(30);

/// The connection behind a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    Never,
    Open,
    Lost(Instant),
}

/// What the last answer about the kind was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// There was none yet.
    Nothing,
    /// The view holds all objects.
    Whole,
    /// A list, or a folder, returned nothing where there was much; the number of this doubt.
    Emptied(u64),
    /// The server does not know the kind; the number of this doubt, 0 where it never served it in this process.
    Denied(u64),
}

/// The trust in one kind.
#[derive(Debug, Clone)]
pub struct KindTrust {
    link: Link,
    known: Known,
    settled: bool,
    /// Until when a view that cannot be listed is waited for.
    patience: Instant,
    /// The last attempt to list it failed, and no other one has got an answer since.
    failing: bool,
    /// The server has served this kind at some time, in this process or one before.
    seen: bool,
    /// How often something has become doubtful so far.
    doubts: u64,
}

impl KindTrust {
    /// The view of a kind that has not been listed; `seen` if an earlier process listed it. Until `patience` it is tried again
    /// before it counts as settled; a list that has begun by then is waited for to its end.
    pub fn new(seen: bool, patience: Instant) -> Self {
        Self { link: Link::Never, known: Known::Nothing, settled: false, patience, failing: false, seen, doubts: 0 }
    }

    /// A list began to arrive.
    pub fn begun(&mut self) {
        self.failing = false;
    }

    /// An attempt to list or to watch failed at `now`.
    pub fn failed(&mut self, now: Instant) {
        self.failing = true;
        self.settled |= now >= self.patience;
    }

    /// A list ended at `now`: it held `listed` objects where `before` were known.
    pub fn listed(&mut self, before: usize, listed: usize, now: Instant) {
        self.settled = true;
        self.seen = true;
        if self.link != Link::Open {
            self.link = Link::Lost(now);
        }
        if !matches!(self.known, Known::Emptied(_)) {
            self.known = Known::Whole;
        }
        self.shrunk(before, listed);
    }

    /// Objects went without a DELETE event each: `before` were known, `after` are left.
    pub fn shrunk(&mut self, before: usize, after: usize) {
        match self.known {
            Known::Whole if after == 0 && before >= DOUBT_FROM => self.known = Known::Emptied(self.another_doubt()),
            Known::Emptied(_) if after > 0 => self.known = Known::Whole,
            _ => {}
        }
    }

    /// An object was seen: whatever looked empty is not.
    pub fn object_seen(&mut self) {
        if matches!(self.known, Known::Emptied(_)) {
            self.known = Known::Whole;
        }
    }

    fn another_doubt(&mut self) -> u64 {
        self.doubts += 1;
        self.doubts
    }

    /// The watch is open.
    pub fn open(&mut self) {
        self.link = Link::Open;
    }

    /// A list or a watch failed, and the view is not kept current since then. Failing again changes nothing.
    pub fn lost(&mut self, since: Instant) {
        if self.link == Link::Open {
            self.link = Link::Lost(since);
        }
    }

    /// What feeds the view cannot be read any more: nothing about it is fresh from now on.
    pub fn blind(&mut self) {
        self.link = Link::Never;
    }

    /// Discovery positively denies the kind; that answer stands until the connection is lost.
    pub fn deny(&mut self) {
        self.settled |= !self.seen;
        self.known = match self.known {
            Known::Denied(doubt) => Known::Denied(doubt),
            Known::Nothing => Known::Denied(0),
            Known::Whole | Known::Emptied(_) => Known::Denied(self.another_doubt()),
        };
        self.link = Link::Open;
    }

    /// Whether the kind was ever served.
    pub fn is_seen(&self) -> bool {
        self.seen
    }

    /// When the trust changes next if nothing happens: the view stops being fresh, or being waited for; `None` if it is not a
    /// matter of time.
    pub fn expiry(&self, now: Instant) -> Option<Instant> {
        let stale = match self.link {
            Link::Lost(at) => Some(at + GRACE),
            Link::Never | Link::Open => None,
        };
        let given_up = (self.failing && !self.settled).then_some(self.patience);
        [stale, given_up].into_iter().flatten().filter(|at| *at > now).min()
    }

    /// The trust at `now` in a view of so many objects, all of them readable and none of them the server's own.
    pub fn state(&self, objects: usize, now: Instant) -> KindState {
        let (complete, fresh) = (self.is_complete(), self.is_fresh(now));
        let (settled, doubted) = (self.is_settled(now), self.doubted());
        KindState { complete, fresh, settled, objects, doubted, ..KindState::default() }
    }

    /// The number of the doubt that an operator may accept, if that is what the view lacks.
    fn doubted(&self) -> Option<u64> {
        match self.known {
            Known::Emptied(doubt) => Some(doubt),
            Known::Denied(doubt) if self.seen => Some(doubt),
            Known::Denied(_) | Known::Nothing | Known::Whole => None,
        }
    }

    fn is_settled(&self, now: Instant) -> bool {
        self.settled || self.failing && now >= self.patience
    }

    /// Whether it was listed to its end, and nothing gives reason for doubt.
    pub fn is_complete(&self) -> bool {
        match self.known {
            Known::Whole => true,
            Known::Denied(_) => !self.seen,
            Known::Nothing | Known::Emptied(_) => false,
        }
    }

    fn is_fresh(&self, now: Instant) -> bool {
        match self.link {
            Link::Never => false,
            Link::Open => true,
            Link::Lost(at) => now < at + GRACE,
        }
    }
}
