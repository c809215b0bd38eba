//! The registry suite.
//!
//! In: a registry, and the same with another owner. Out: whether what it writes down is what it reads, and nothing else
//! becomes ours. The suite plays the zones: it holds preconditions against them, carries groups out, and reports to the
//! registry what became of them.

pub mod cases;
mod zone_pair;

use std::future::Future;
use std::pin::Pin;

use zonewright_core::registry::Registry;

/// Which resource a claim names after an update that took effect and whose answer was lost, until the name is planned again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostUpdate {
    /// The new one: the claim changes with its record, or in step with it.
    New,
    /// The former one: the claim is written after the answer. The next plan sees the difference and writes it.
    Former,
}

/// A fresh registry, and a second one over the same storage for another owner.
pub trait Harness: Send + Sync {
    /// The registry under test.
    fn ours(&self) -> &dyn Registry;

    /// The same with another owner; `None` where no claims are kept.
    fn theirs(&self) -> Option<&dyn Registry>;

    /// What its claims say after an update whose answer was lost.
    fn lost_update(&self) -> LostUpdate;

    /// The registry under test once more over the same storage, as after a restart of the process.
    fn again(&self) -> Box<dyn Registry>;
}

/// A case as a value.
pub type Case = for<'a> fn(&'a dyn Harness) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// The names of the cases, given to another macro with what it needs.
#[doc(hidden)]
#[macro_export]
macro_rules! __registry_cases {
    ($next:ident $($argument:tt)*) => {
        $crate::$next! { [$($argument)*]
            without_claims_everything_is_ours
            what_is_written_is_read_as_ours
            their_claim_is_theirs
            what_nobody_claims_is_not_ours
            a_claim_on_one_type_is_none_on_another
            a_claim_on_one_set_is_none_on_another
            a_delete_takes_the_claim_along
            an_update_keeps_the_claim_and_requires_it
            another_resource_goes_into_the_claim
            a_change_of_type_moves_the_claim
            where_their_claim_stands_nothing_is_created
            a_lost_record_comes_back_under_its_claim
            foreign_text_is_never_overwritten
            long_names_are_claimed_or_refused
            claims_stand_inside_the_zone
            a_targeted_read_covers_the_claims
            decorating_is_pure_and_keeps_the_records
            a_refused_group_gives_no_right
            a_claim_that_is_current_is_not_moved
            a_record_is_taken_unless_it_is_claimed
            what_has_changed_is_not_taken
            a_record_is_given_to_another_owner
            a_released_record_is_nobodys
            a_restart_reads_the_same
            a_write_that_was_cut_off_gives_no_right
            a_write_whose_answer_was_lost_is_found_again
            an_update_that_was_cut_off_leaves_the_claim_as_it_was
            an_update_whose_answer_was_lost_names_what_was_declared
            a_reading_ends_no_claim_of_others
            what_an_owner_leaves_behind_is_found
            a_reading_keeps_the_claims
        }
    };
}

crate::__registry_cases! { __table }
