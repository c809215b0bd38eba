//! The suite must fail for a provider that is broken, in the case that is there for it, and pass for a sound one.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod fault;

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use zonewright_conformance::provider::CASES;

use fault::{Broken, Fault};

/// The cases that fail under a fault.
async fn failing(fault: Fault) -> BTreeSet<&'static str> {
    let mut failed = BTreeSet::new();
    for (name, case) in CASES {
        let harness = Broken::start(fault).await;
        if AssertUnwindSafe(case(&harness)).catch_unwind().await.is_err() {
            failed.insert(*name);
        }
    }
    failed
}

#[tokio::test]
async fn a_sound_provider_passes() {
    assert_eq!(failing(Fault::None).await, BTreeSet::new());
}

const FAULTS: &[(Fault, &str)] = &[
    (Fault::DropsTtls, "ttl_changes"),
    (Fault::LosesAPage, "many_names"),
    (Fault::RepeatsASet, "finds_its_zone"),
    (Fault::HidesTypes, "every_type_is_written_and_read_back"),
    (Fault::JoinsStrings, "text_of_every_kind"),
    (Fault::LowersText, "text_of_every_kind"),
    (Fault::FirstTarget, "sets_grow_and_shrink"),
    (Fault::EmptyUnknownZone, "an_unknown_zone_is_an_error"),
    (Fault::IgnoresPreconditions, "create_on_existing_is_refused"),
    (Fault::IgnoresPreconditions, "a_stale_update_is_refused"),
    (Fault::IgnoresPreconditions, "a_stale_delete_is_refused"),
    (Fault::IgnoresPreconditions, "a_race_has_one_winner"),
    (Fault::IgnoresPreconditions, "a_cname_stands_alone"),
    (Fault::IgnoresRequires, "extra_preconditions_count"),
    (Fault::CreateAdds, "create_on_existing_is_refused"),
    (Fault::SplitsGroups, "a_group_is_atomic"),
    (Fault::AlwaysApplied, "one_bad_group_is_one_bad_group"),
    (Fault::AlwaysApplied, "outside_the_zone_is_refused"),
    (Fault::AlwaysApplied, "types_that_are_not_declared_are_refused"),
    (Fault::AlwaysApplied, "what_is_not_declared_is_refused"),
    (Fault::FalseRefusal, "one_bad_group_is_one_bad_group"),
    (Fault::FalseRefusal, "foreign_records_stay_as_they_are"),
    (Fault::ForgetsDeletes, "an_address_becomes_a_cname_and_back"),
    (Fault::ForgetsDeletes, "wildcards"),
    (Fault::FirstGroupOnly, "many_names"),
    (Fault::TouchesForeign, "foreign_records_stay_as_they_are"),
    (Fault::AlwaysUnchanged, "history_shows_own_changes"),
    (Fault::AlwaysUnchanged, "history_shows_foreign_changes"),
    (Fault::DeltaWithoutRemoved, "history_shows_own_changes"),
    (Fault::DeltaLosesAStep, "history_shows_own_changes"),
    (Fault::NamesGivesAll, "a_read_of_names_equals_that_part_of_the_whole"),
    (Fault::NamesGivesOne, "a_read_of_names_equals_that_part_of_the_whole"),
    (Fault::AdjustCreeps, "adjust_is_idempotent_and_true"),
    (Fault::AdjustLies, "adjust_is_idempotent_and_true"),
    (Fault::DeclaresTooMuch, "every_type_is_written_and_read_back"),
    (Fault::DeclaresTooLittle, "types_that_are_not_declared_are_refused"),
    (Fault::LosesZones, "finds_its_zone"),
    (Fault::HidesUnusualNames, "unusual_names"),
    (Fault::HidesTheApex, "records_at_the_apex"),
    (Fault::AnswersNothing, "an_empty_call_does_nothing"),
    (Fault::CannotTell, "changes_are_served"),
];

#[test]
fn every_case_has_a_fault_to_find() {
    // The server that the faults are built on has no requests, pages, routing policies and aliases: `tests/cloud` has those faults.
    let without = CASES.iter().map(|(name, _)| *name).filter(|name| !FAULTS.iter().any(|(_, case)| case == name));
    let elsewhere = [
        "an_unset_ttl_is_the_default",
        "a_page_can_be_asked_again",
        "weights",
        "a_name_changes_between_simple_and_routed",
        "items_share_one_record_set",
        "items_of_one_place_are_refused",
        "aliases",
        "a_flattened_cname_stands_at_the_apex",
        "calls_hold_what_is_declared",
        "zones_of_one_name_are_two",
        "throttled_at_any_request",
        "refused_at_any_request",
        "not_carried_out_at_any_request",
        "answer_lost_at_any_request",
        "unreadable_at_any_request",
        "an_endless_listing_is_an_error",
        "a_throttling_service_is_left_alone",
        "a_change_is_few_requests",
        "a_zone_that_went_is_an_error",
    ];
    assert_eq!(without.collect::<Vec<_>>(), elsewhere);
}

#[tokio::test]
async fn every_fault_is_found_by_the_case_that_is_there_for_it() {
    for &(fault, case) in FAULTS {
        let harness = Broken::start(fault).await;
        let (name, run) = CASES.iter().find(|(name, _)| *name == case).unwrap();
        let ended = AssertUnwindSafe(run(&harness)).catch_unwind().await;
        assert!(ended.is_err(), "{name} passed a provider with fault {fault:?}");
    }
}
