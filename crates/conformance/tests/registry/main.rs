//! The registry suite passes for a small sound registry, and fails for one that is broken, in the case that is there for it.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod toy;

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use zonewright_conformance::registry::{CASES, Harness, LostUpdate};
use zonewright_core::registry::{ClaimFormat as _, Registry};

use toy::{Fault, Toy};

struct Pair {
    ours: Toy,
    theirs: Toy,
}

impl Harness for Pair {
    fn ours(&self) -> &dyn Registry {
        &self.ours
    }

    fn theirs(&self) -> Option<&dyn Registry> {
        self.theirs.owner().map(|_| &self.theirs as &dyn Registry)
    }

    fn lost_update(&self) -> LostUpdate {
        LostUpdate::New
    }

    fn again(&self) -> Box<dyn Registry> {
        Box::new(self.ours.again())
    }
}

fn pair(fault: Fault) -> Pair {
    let ours = Toy::new("me", fault);
    Pair { theirs: ours.neighbour("other"), ours }
}

mod sound {
    async fn harness() -> Option<super::Pair> {
        Some(super::pair(super::Fault::None))
    }
    zonewright_conformance::registry_suite!(harness);
}

const FAULTS: &[(Fault, &str)] = &[
    (Fault::NoOwnerButClaims, "without_claims_everything_is_ours"),
    (Fault::ForgetsTheResource, "what_is_written_is_read_as_ours"),
    (Fault::EveryOwnerIsUs, "their_claim_is_theirs"),
    (Fault::EveryTextIsAClaim, "what_nobody_claims_is_not_ours"),
    (Fault::OneClaimForAllTypes, "a_claim_on_one_type_is_none_on_another"),
    (Fault::OneClaimForAllSets, "a_claim_on_one_set_is_none_on_another"),
    (Fault::LeavesTheClaim, "a_delete_takes_the_claim_along"),
    (Fault::LeavesTheClaim, "a_change_of_type_moves_the_claim"),
    (Fault::RequiresNothing, "an_update_keeps_the_claim_and_requires_it"),
    (Fault::RequiresNothing, "a_lost_record_comes_back_under_its_claim"),
    (Fault::KeepsTheFirstResource, "another_resource_goes_into_the_claim"),
    (Fault::CreatesUnderForeignClaims, "where_their_claim_stands_nothing_is_created"),
    (Fault::TakesOverTexts, "foreign_text_is_never_overwritten"),
    (Fault::SkipsLongNames, "long_names_are_claimed_or_refused"),
    (Fault::ClaimsOutsideTheZone, "claims_stand_inside_the_zone"),
    (Fault::HidesItsPlaces, "a_targeted_read_covers_the_claims"),
    (Fault::ChangesTheRecord, "decorating_is_pure_and_keeps_the_records"),
    (Fault::UpgradesForEver, "a_claim_that_is_current_is_not_moved"),
    (Fault::RemembersTooMuch, "a_refused_group_gives_no_right"),
    (Fault::RemembersTooMuch, "a_write_that_was_cut_off_gives_no_right"),
    (Fault::HandsNothingOver, "a_record_is_taken_unless_it_is_claimed"),
    (Fault::TakesWhatever, "what_has_changed_is_not_taken"),
    (Fault::HandsNothingOver, "a_record_is_given_to_another_owner"),
    (Fault::HandsNothingOver, "a_released_record_is_nobodys"),
    (Fault::ForgetsItself, "a_restart_reads_the_same"),
    (Fault::ForgetsItself, "a_write_whose_answer_was_lost_is_found_again"),
    (Fault::ForgetsItself, "an_update_that_was_cut_off_leaves_the_claim_as_it_was"),
    (Fault::KeepsTheFirstResource, "an_update_whose_answer_was_lost_names_what_was_declared"),
    (Fault::ForgetsAtReading, "a_reading_keeps_the_claims"),
    (Fault::EndsAllAtReading, "a_reading_ends_no_claim_of_others"),
    (Fault::HandsNothingOver, "what_an_owner_leaves_behind_is_found"),
];

#[test]
fn every_case_has_a_fault_to_find() {
    let cases: BTreeSet<&str> = CASES.iter().map(|(name, _)| *name).collect();
    assert_eq!(FAULTS.iter().map(|(_, case)| *case).collect::<BTreeSet<_>>(), cases);
}

#[tokio::test]
async fn every_fault_is_found_by_the_case_that_is_there_for_it() {
    for &(fault, case) in FAULTS {
        let (name, run) = CASES.iter().find(|(name, _)| *name == case).unwrap();
        let ended = AssertUnwindSafe(run(&pair(fault))).catch_unwind().await;
        assert!(ended.is_err(), "{name} passed a registry with fault {fault:?}");
    }
}
