//! The table of an election's steps, and elections against a scripted API server on a paused clock.

use serde_json::{Value, json};

use super::*;
use crate::fake::{Fake, Piece, Step as Answer};

const PATH: &str = "/apis/coordination.k8s.io/v1/namespaces/garden/leases";
const NOW: &str = "2026-01-31T12:00:00.000000Z";

fn spec(holder: &str, renewed: &str, transitions: u32) -> Spec {
    Spec {
        holder_identity: Some(holder.to_owned()),
        lease_duration_seconds: Some(15),
        acquire_time: Some("then".to_owned()),
        renew_time: Some(renewed.to_owned()),
        lease_transitions: Some(transitions),
    }
}

fn decide(found: &Spec, observed: &mut Option<Observed>) -> Step {
    step("me", LeaseTimes::default(), found, observed, (Instant::now(), NOW))
}

#[tokio::test(start_paused = true)]
async fn anothers_lease_is_taken_once_it_has_stood_unchanged_for_its_duration() {
    let mut observed = None;
    assert_eq!(decide(&spec("other", "1", 3), &mut observed), Step::Wait, "however old its times look");
    tokio::time::advance(Duration::from_secs(14)).await;
    assert_eq!(decide(&spec("other", "2", 3), &mut observed), Step::Wait, "it was renewed");
    tokio::time::advance(Duration::from_secs(14)).await;
    assert_eq!(decide(&spec("other", "2", 3), &mut observed), Step::Wait);
    tokio::time::advance(Duration::from_secs(1)).await;
    let Step::Write(taken) = decide(&spec("other", "2", 3), &mut observed) else { panic!("it has expired") };
    assert_eq!(taken, Spec { acquire_time: Some(NOW.to_owned()), ..spec("me", NOW, 4) });
}

#[tokio::test(start_paused = true)]
async fn free_leases_are_taken_and_ones_own_is_renewed() {
    let Step::Write(first) = decide(&Spec::default(), &mut None) else { panic!("nobody has it") };
    assert_eq!(first, Spec { acquire_time: Some(NOW.to_owned()), ..spec("me", NOW, 0) });
    let Step::Write(renewed) = decide(&spec("me", "1", 2), &mut None) else { panic!("it is ours") };
    assert_eq!(renewed, spec("me", NOW, 2), "neither acquired nor handed over");
    let Step::Write(released) = decide(&spec("", "1", 2), &mut None) else { panic!("it was given back") };
    assert_eq!(released.lease_transitions, Some(3));
}

fn lease(spec: &Spec) -> Value {
    json!({ "metadata": { "name": "l", "resourceVersion": "7" }, "spec": spec })
}

fn election(fake: &Fake) -> Election {
    Election::new(&fake.cluster(), "garden", "l", "me", LeaseTimes::default())
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_ends_in_time() {
    let get = format!("GET {PATH}/l");
    let fake = Fake::new(vec![
        Answer::refused(&get, 404, "NotFound", "none"),
        Answer::json(&format!("POST {PATH}"), &json!({})),
        Answer::json(&get, &lease(&spec("me", "1", 0))),
        Answer::json(&format!("PATCH {PATH}/l"), &json!({})),
        Answer::unreachable(&get),
        Answer::never(&get),
    ]);
    let mut election = election(&fake);
    election.acquire().await;
    assert_eq!(fake.sent(1)["spec"]["holderIdentity"], "me");
    let begun = Instant::now();
    let error = election.hold().await;
    // Renewed after 2 s, and then 10 s more.
    assert_eq!(begun.elapsed().as_secs(), 12, "{error}");
    assert_eq!(fake.sent(3)["metadata"]["resourceVersion"], "7");
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_lease_is_anothers_ends_at_once() {
    let get = format!("GET {PATH}/l");
    let fake = Fake::new(vec![Answer::json(&get, &lease(&spec("other", "1", 1)))]);
    let begun = Instant::now();
    let error = election(&fake).hold().await;
    assert!(error.to_string().contains("another process"), "{error}");
    assert_eq!(begun.elapsed().as_secs(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_lost_the_race_is_no_leadership() {
    let get = format!("GET {PATH}/l");
    let fake = Fake::new(vec![
        Answer::json(&get, &lease(&spec("", "1", 1))),
        Answer::refused(&format!("PATCH {PATH}/l"), 409, "Conflict", "modified"),
    ]);
    assert!(!election(&fake).attempt().await.unwrap());
}

/// Others count the lease's time from the request, whenever its answer comes.
#[tokio::test(start_paused = true)]
async fn a_late_answer_does_not_prolong_the_lease() {
    let get = format!("GET {PATH}/l");
    let late = || vec![Piece::Pause(Duration::from_secs(8)), Piece::Line(json!({}))];
    let fake = Fake::new(vec![
        Answer::json(&get, &lease(&spec("me", "1", 0))),
        Answer::stream(&format!("PATCH {PATH}/l"), late()),
        Answer::never(&get),
    ]);
    let begun = Instant::now();
    let error = election(&fake).hold().await;
    // Sent after 2 s, answered after 10 s.
    assert_eq!(begun.elapsed().as_secs(), 12, "{error}");
    let fake = Fake::new(vec![
        Answer::json(&get, &lease(&spec("", "1", 0))),
        Answer::stream(&format!("PATCH {PATH}/l"), late()),
    ]);
    let (begun, mut election) = (Instant::now(), election(&fake));
    election.acquire().await;
    let error = election.hold().await;
    assert_eq!(begun.elapsed().as_secs(), 10, "{error}");
}
