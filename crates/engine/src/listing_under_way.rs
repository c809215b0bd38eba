//! A listing that has begun and comes in pages.

use std::time::Duration;

use prometheus_client::metrics::gauge::Gauge;
use tokio::time::Instant;
use tracing::info;
use zonewright_core::error::Result;
use zonewright_core::listing::PagedListing;
use zonewright_core::provider::{Listing, Provider};
use zonewright_core::turn;
use zonewright_core::zone::Zone;

use crate::early_names::EarlyNames;

/// Time between two lines about the progress of a listing.
const PROGRESS: Duration = Duration::from_secs(10);

/// A listing that was read, or what changed since the last one.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) listing: Listing,
    /// When the first page was asked for.
    pub(crate) began: Instant,
    /// How long its pages took, each in the attempt that was answered.
    pub(crate) took: Duration,
}

/// A listing with the pages that were read so far.
#[derive(Debug)]
pub(crate) struct ListingUnderWay {
    pages: PagedListing,
    began: Instant,
    took: Duration,
    /// When its progress was last logged.
    logged: Instant,
    /// Names that are served meanwhile.
    pub(crate) early: EarlyNames,
}

impl ListingUnderWay {
    /// No page was read yet.
    pub(crate) fn begin() -> Self {
        let now = Instant::now();
        Self {
            pages: PagedListing::default(),
            began: now,
            took: Duration::ZERO,
            logged: now,
            early: EarlyNames::default(),
        }
    }

    /// When the first page was asked for.
    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    /// Pages that were read.
    pub(crate) fn pages(&self) -> usize {
        self.pages.read()
    }

    /// Reads the next page. After the last one: the whole listing.
    ///
    /// # Errors
    /// As [`PagedListing::turn`].
    pub(crate) async fn turn(&mut self, provider: &dyn Provider, zone: &Zone, gauge: &Gauge) -> Result<Option<Listed>> {
        if self.pages.read() == 0 {
            (self.began, self.took) = (Instant::now(), Duration::ZERO);
        }
        let (whole, took) = turn::timed(self.pages.turn(provider, zone)).await;
        let whole = whole?;
        self.took += took;
        if whole.is_none() {
            gauge.set(i64::try_from(self.pages.sets()).unwrap_or(i64::MAX));
            self.log(zone);
        }
        Ok(whole.map(|listing| Listed { listing, began: self.began, took: self.took }))
    }

    /// Progress of what takes long.
    fn log(&mut self, zone: &Zone) {
        if self.logged.elapsed() >= PROGRESS {
            self.logged = Instant::now();
            info!(zone = %zone.name, record_sets = self.pages.sets(), pages = self.pages.read(),
                seconds = self.began.elapsed().as_secs(), "the zone is being listed");
        }
    }
}
