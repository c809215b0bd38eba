//! How far the view of each kind can be trusted.
//!
//! In come the turns of a feed (a list began, ended, failed; a watch opened, was lost; discovery denied the kind), each
//! with its time; out comes core's [`KindState`]. What must hold: whenever a kind counts as complete and fresh, an
//! object that is not in the view is not in the cluster, but for the last [`GRACE`].

use std::time::Duration;

use tokio::time::Instant;
use zonewright_core::source::KindState;

/// How long a view stays fresh after its watch was lost.
pub const GRACE: Duration = Duration::from_secs(30);

/// From this many objects on, a list without any is doubted.
pub const DOUBT_FROM: usize = 3;

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
pub struct View {
    link: Link,
    known: Known,
    settled: bool,
    /// The server has served this kind at some time, in this process or one before.
    seen: bool,
    /// How often something has become doubtful so far.
    doubts: u64,
}

impl View {
    /// The view of a kind that has not been listed; `seen` if an earlier process listed it.
    pub fn new(seen: bool) -> Self {
        Self { link: Link::Never, known: Known::Nothing, settled: false, seen, doubts: 0 }
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
        self.settled = true;
        if self.link == Link::Open {
            self.link = Link::Lost(since);
        }
    }

    /// What feeds the view cannot be read any more: nothing about it is fresh from now on.
    pub fn blind(&mut self) {
        self.settled = true;
        self.link = Link::Never;
    }

    /// Discovery positively denies the kind; that answer stands until the connection is lost.
    pub fn deny(&mut self) {
        self.settled = true;
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

    /// When the view stops being fresh if nothing happens; `None` if it is not a matter of time.
    pub fn expiry(&self) -> Option<Instant> {
        match self.link {
            Link::Lost(at) => Some(at + GRACE),
            Link::Never | Link::Open => None,
        }
    }

    /// The trust at `now` in a view of so many objects.
    pub fn state(&self, objects: usize, now: Instant) -> KindState {
        let (complete, fresh) = (self.is_complete(), self.is_fresh(now));
        KindState { complete, fresh, settled: self.settled, objects, doubted: self.doubted() }
    }

    /// The number of the doubt that an operator may accept, if that is what the view lacks.
    fn doubted(&self) -> Option<u64> {
        match self.known {
            Known::Emptied(doubt) => Some(doubt),
            Known::Denied(doubt) if self.seen => Some(doubt),
            Known::Denied(_) | Known::Nothing | Known::Whole => None,
        }
    }

    fn is_complete(&self) -> bool {
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
