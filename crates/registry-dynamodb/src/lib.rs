//! Claims in a DynamoDB table, as external-dns keeps them.
//!
//! In: the rows of a table, and the groups of changes of all zones. Out: who owns which record, and rows that say so before
//! a record comes and no longer once it is gone. Both programs read each other's rows. What must hold:
//!
//! - A row is there before its record is, and is written only on the condition that nobody else has it: two owners never
//!   create one record, and an owner edited by hand is respected at once.
//! - While a write is open the row speaks only for a record that is exactly what was announced (`row`). So a refused write
//!   gives no right, and a crash at any point strands no record.
//! - What the table does not take is owed to it and written before anything else (`book`). A table that cannot be read is
//!   an error: nothing is planned on old rows.
//! - Claims that stand as TXT records are read, and move into the table: first the row, then the TXT record goes (`decorate`).
//!
//! Rows that cannot be read are reported and left alone. Rows of ours whose records are gone end (`what`).

mod book;
mod changes;
mod claim_effect;
#[cfg(feature = "sdk")]
mod client;
mod config;
mod decorate;
mod elsewhere;
mod error;
#[cfg(feature = "sdk")]
mod flags;
mod key;
mod row;
mod rows;
#[cfg(feature = "sdk")]
mod sdk;
pub mod service;
mod stale;
mod table;

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use zonewright_core::change::{Change, Group, Outcome};
use zonewright_core::claim::{Claim, OwnerId};
use zonewright_core::record::SetId;
use zonewright_core::registry::{
    ClaimAnomaly, ClaimFormat, ClaimStore, Contents, Dropped, ExternalChanges, OwnershipChange, Published, StaleClaims,
};
use zonewright_core::zone::Zone;
use zonewright_core::{DnsName, RData, RecordKey, RecordSet, Result};
use zonewright_registry::txt::TxtRegistry;

use book::Book;
pub use config::{AccessKeys, DynamoConfig};
use decorate::View;
#[cfg(feature = "sdk")]
pub use flags::ENTRY;
use rows::Rows;
use service::TableService;
use table::Table;

/// The registry of `--registry=dynamodb`.
#[derive(Debug)]
pub struct DynamoRegistry {
    owner: OwnerId,
    txt: TxtRegistry,
    book: Book,
}

impl DynamoRegistry {
    /// A registry by `config`, over the AWS SDK. The table is not read before [`ClaimStore::load`]; a missing one is no error
    /// here.
    ///
    /// # Errors
    /// [`zonewright_core::ErrorKind::Configuration`] if the table has no name, no region is known, or claims as TXT records
    /// cannot be read by the settings.
    #[cfg(feature = "sdk")]
    pub async fn connect(config: DynamoConfig) -> Result<Self> {
        config.check()?;
        let service = sdk::SdkService { client: config.client().await?, table: config.table.clone() };
        Self::over(Arc::new(service), config)
    }

    /// A registry over another service; of `config`, what is said of region, keys and roles is passed over.
    ///
    /// # Errors
    /// [`zonewright_core::ErrorKind::Configuration`] if the table has no name, or claims as TXT records cannot be read by the
    /// settings.
    pub fn over(service: Arc<dyn TableService>, config: DynamoConfig) -> Result<Self> {
        config.check()?;
        let owner = config.txt.owner.clone();
        let table = Table { service, name: config.table, attempts: config.attempts.max(1) };
        let book = Book::new(owner.clone(), table, config.cache);
        Ok(Self { owner, txt: TxtRegistry::new(config.txt)?, book })
    }

    fn view<'a>(&'a self, rows: &'a Rows, zone: &'a Zone, published: &'a dyn Published) -> View<'a> {
        View { me: &self.owner, table: self.book.table(), txt: &self.txt, rows, zone, published }
    }
}

impl ClaimFormat for DynamoRegistry {
    fn owner(&self) -> Option<&OwnerId> {
        Some(&self.owner)
    }

    /// Claims as TXT records, as long as there are such.
    fn is_claim(&self, set: &RecordSet) -> bool {
        self.txt.is_claim(set)
    }

    fn is_record(&self, zone: &Zone, set: &RecordSet, published: &dyn Published) -> bool {
        self.txt.is_record(zone, set, published) || self.view(&self.book.rows(), zone, published).has_row(&set.key)
    }

    fn claims(&self, zone: &Zone, key: &RecordKey, published: &dyn Published) -> Vec<Claim> {
        self.view(&self.book.rows(), zone, published).claims(key)
    }

    fn item_of(&self, text: &RData) -> Option<SetId> {
        self.txt.item_of(text)
    }

    fn claim_names(&self, zone: &Zone, key: &RecordKey) -> BTreeSet<DnsName> {
        self.txt.claim_names(zone, key)
    }

    fn record_names(&self, zone: &Zone, claim: &DnsName) -> BTreeSet<DnsName> {
        self.txt.record_names(zone, claim)
    }

    fn decorate(
        &self,
        zone: &Zone,
        groups: Vec<Group>,
        published: &dyn Published,
    ) -> Vec<Result<Group, (Group, Dropped)>> {
        let rows = self.book.rows();
        let view = self.view(&rows, zone, published);
        for step in groups.iter().flat_map(Group::records) {
            if let Change::Delete { from } = &step.change {
                self.book.elsewhere.note(&zone.key, &from.key, view.elsewhere(&from.key));
            }
        }
        groups.into_iter().map(|group| view.decorate(group)).collect()
    }

    fn anomaly(&self, zone: &Zone, set: &RecordSet, published: &dyn Published) -> Option<ClaimAnomaly> {
        (!self.is_record(zone, set, published)).then(|| self.txt.anomaly(zone, set, published)).flatten()
    }

    fn upgrade(&self, zone: &Zone, record: &RecordSet, published: &dyn Published) -> Option<Group> {
        self.view(&self.book.rows(), zone, published).upgrade(record)
    }

    /// Of TXT records; rows are no record sets (`what`).
    fn collect_stale_claims(
        &self,
        zone: &Zone,
        set: &RecordSet,
        what: StaleClaims,
        published: &dyn Published,
    ) -> Option<Group> {
        (!self.is_record(zone, set, published))
            .then(|| self.txt.collect_stale_claims(zone, set, what, published))
            .flatten()
    }

    fn assign(
        &self,
        zone: &Zone,
        record: &RecordSet,
        change: &OwnershipChange,
        published: &dyn Published,
    ) -> Result<Option<Group>, Dropped> {
        let rows = self.book.rows();
        let view = self.view(&rows, zone, published);
        if *change == OwnershipChange::Disown {
            self.book.elsewhere.note(&zone.key, &record.key, view.elsewhere(&record.key));
        }
        view.assign(record, change)
    }
}

#[async_trait]
impl ClaimStore for DynamoRegistry {
    async fn load(&self) -> Result<()> {
        self.book.load().await
    }

    /// What others have changed in the rows since this was last asked for. Rows of ours end whose records
    /// are gone.
    async fn resync(&self, zone: &Zone, contents: &dyn Contents, _changed: bool) -> Result<ExternalChanges> {
        self.book.tidy(zone, contents).await;
        Ok(self.book.external_changes(zone))
    }

    fn item_keys(&self, _zone: &Zone, names: &BTreeSet<DnsName>) -> BTreeSet<RecordKey> {
        self.book.rows().item_keys(names)
    }

    fn leftovers(&self, zone: &Zone, published: &dyn Published) -> Vec<Group> {
        stale::leftovers(&self.book.rows(), &self.owner, zone, published)
    }

    fn piece(&self) -> usize {
        0
    }

    async fn prepare(&self, zone: &Zone, groups: Vec<Group>) -> Vec<Result<Group, (Group, Dropped)>> {
        self.book.prepare(zone, groups).await
    }

    async fn commit(&self, zone: &Zone, groups: &[Group], outcomes: &[Outcome]) -> Result<()> {
        self.book.commit(zone, groups, outcomes).await
    }
}
