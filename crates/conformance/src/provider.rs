//! The provider suite.
//!
//! In: a fresh provider and zone, and a way to look at the zone past the provider. A case walks the zone through states;
//! after each it demands that the listing equals what was asked for, that the zone itself does, that a second plan is
//! empty, and that nobody else's record changed.

pub mod cases;
pub(crate) mod specimen;
mod view;
mod walk;

use std::future::Future;
use std::pin::Pin;

use async_trait::async_trait;
use zonewright_core::provider::Provider;
use zonewright_core::{RecordSet, Zone};

/// A fresh provider with one zone, and access to that zone by another way.
///
/// Both `insert` and `dump` go past the provider under test: to the server, the fake, the table behind it. They panic if
/// they fail.
#[async_trait]
pub trait Harness: Send + Sync {
    /// The provider under test.
    fn provider(&self) -> &dyn Provider;

    /// The zone that the suite may change, as the provider names it. What it holds at the start is left alone.
    fn zone(&self) -> &Zone;

    /// Puts a record set in place as somebody else would.
    async fn insert(&self, set: RecordSet);

    /// Everything that the zone holds now. The SOA may be in it or not.
    async fn dump(&self) -> Vec<RecordSet>;
}

/// A case as a value.
pub type Case = for<'a> fn(&'a dyn Harness) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// The names of the cases, given to another macro with what it needs.
#[doc(hidden)]
#[macro_export]
macro_rules! __provider_cases {
    ($next:ident $($argument:tt)*) => {
        $crate::$next! { [$($argument)*]
            finds_its_zone
            an_unknown_zone_is_an_error
            an_empty_call_does_nothing
            every_type_is_written_and_read_back
            types_that_are_not_declared_are_refused
            what_is_not_declared_is_refused
            ttl_changes
            sets_grow_and_shrink
            text_of_every_kind
            wildcards
            unusual_names
            records_at_the_apex
            an_address_becomes_a_cname_and_back
            many_names
            create_on_existing_is_refused
            a_cname_stands_alone
            a_stale_update_is_refused
            a_stale_delete_is_refused
            extra_preconditions_count
            a_group_is_atomic
            one_bad_group_is_one_bad_group
            outside_the_zone_is_refused
            a_race_has_one_winner
            foreign_records_stay_as_they_are
            history_tells_of_own_changes
            history_tells_of_foreign_changes
            a_read_of_names_equals_that_part_of_the_whole
            adjust_is_idempotent_and_true
            a_page_can_be_asked_again
            weights
            a_name_changes_between_simple_and_routed
            aliases
            a_flattened_cname_stands_at_the_apex
        }
    };
}

crate::__provider_cases! { __table }
