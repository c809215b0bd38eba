//! The provider suite.
//!
//! In: a fresh provider and zone, and a way to look at the zone past the provider. A case walks the zone through states;
//! after each it demands that the listing equals what was asked for, that the zone itself does, that a second plan is
//! empty, and that nobody else's record changed.

mod captured;
pub mod cases;
mod disturbed;
mod service;
pub(crate) mod specimen;
mod view;
mod walk;

use std::future::Future;
use std::pin::Pin;

use async_trait::async_trait;
use zonewright_core::provider::Provider;
use zonewright_core::record::AliasTarget;
use zonewright_core::{RecordSet, Zone};

pub use service::{Fault, Service};

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

    /// Puts a record set in place as another writer would.
    async fn insert(&self, set: RecordSet);

    /// Everything that the zone holds now. The SOA may be in it or not.
    async fn dump(&self) -> Vec<RecordSet>;

    /// Two targets that an alias can point to, where the provider has aliases: of any host, unless the service takes only its
    /// own.
    fn alias_targets(&self) -> [AliasTarget; 2] {
        ["one.example.net.", "two.example.net."].map(|host| AliasTarget {
            target: host.into(),
            zone: None,
            evaluate_health: false,
        })
    }

    /// Two locations of a geographic routing policy, where the provider has items of such: countries, unless the service has others.
    fn locations(&self) -> [&'static str; 2] {
        ["DE", "FR"]
    }

    /// The service behind the provider, if it is in the harness' hands and can be disturbed. The cases of faults, of the number of
    /// requests and of secrets need it.
    fn service(&self) -> Option<&dyn Service> {
        None
    }

    /// The same provider with a second zone of the same name, where the service can have such (one public, one private).
    fn twin(&self) -> Option<Box<dyn Harness + '_>> {
        None
    }
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
            an_unset_ttl_is_the_default
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
            history_shows_own_changes
            history_shows_foreign_changes
            a_read_of_names_equals_that_part_of_the_whole
            adjust_is_idempotent_and_true
            changes_are_served
            a_page_can_be_asked_again
            weights
            a_name_changes_between_simple_and_routed
            items_share_one_record_set
            items_of_one_place_are_refused
            aliases
            a_flattened_cname_stands_at_the_apex
            calls_hold_what_is_declared
            zones_of_one_name_are_two
            throttled_at_any_request
            refused_at_any_request
            not_carried_out_at_any_request
            answer_lost_at_any_request
            unreadable_at_any_request
            an_endless_listing_is_an_error
            a_throttling_service_is_left_alone
            a_change_is_few_requests
            a_zone_that_went_is_an_error
        }
    };
}

crate::__provider_cases! { __table }
