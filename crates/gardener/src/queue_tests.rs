//! Lanes, pauses, and what happens meanwhile.

use super::*;

fn name(text: &str) -> RecordName {
    RecordName { namespace: "ns".to_owned(), name: text.to_owned() }
}

fn lane(text: &str) -> Lane {
    Lane::Account(AccountId::named(text))
}

fn begun(queue: &mut Queue) -> Vec<Attempt> {
    queue.begin(Instant::now())
}

fn names(attempts: &[Attempt]) -> Vec<&str> {
    attempts.iter().map(|attempt| attempt.name.name.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_lane_that_is_full_holds_up_no_other() {
    let mut queue = Queue::new(2);
    for n in 0..100 {
        queue.add(&name(&format!("slow-{n}")), &lane("slow"), true);
    }
    queue.add(&name("quick"), &lane("quick"), true);
    let attempts = begun(&mut queue);
    assert_eq!(names(&attempts), ["quick", "slow-0", "slow-1"]);
    assert!(begun(&mut queue).is_empty());
    queue.finish(&attempts[1], Finished::Done, Instant::now(), 0.0);
    assert_eq!(names(&begun(&mut queue)), ["slow-2"]);
    queue.add(&name("another"), &lane("quick"), true);
    assert_eq!(names(&begun(&mut queue)), ["another"]);
}

#[tokio::test(start_paused = true)]
async fn what_happens_during_an_attempt_leads_to_another() {
    let mut queue = Queue::new(5);
    queue.add(&name("a"), &lane("x"), false);
    let first = begun(&mut queue);
    queue.add(&name("a"), &lane("x"), true);
    assert!(begun(&mut queue).is_empty(), "one at a time");
    queue.finish(&first[0], Finished::Again(Duration::from_secs(30)), Instant::now(), 0.0);
    let second = begun(&mut queue);
    assert_eq!((names(&second), second[0].forced), (vec!["a"], true));
    queue.finish(&second[0], Finished::Done, Instant::now(), 0.0);
    assert!(queue.is_empty() && queue.rows.is_empty() && queue.open.is_empty());
}

#[tokio::test(start_paused = true)]
async fn pauses_grow_and_an_event_ends_them() {
    let mut queue = Queue::new(5);
    queue.add(&name("a"), &lane("x"), true);
    for expected in [1, 2, 4, 8] {
        let attempts = begun(&mut queue);
        queue.finish(&attempts[0], Finished::Again(Duration::ZERO), Instant::now(), 0.0);
        assert_eq!(queue.next(), Some(Instant::now() + Duration::from_secs(expected)));
        assert!(begun(&mut queue).is_empty());
        tokio::time::advance(Duration::from_secs(expected)).await;
    }
    let attempts = begun(&mut queue);
    assert!(attempts[0].forced, "what was asked for is asked for until it is done");
    queue.finish(&attempts[0], Finished::Again(Duration::ZERO), Instant::now(), 0.0);
    queue.add(&name("a"), &lane("x"), false);
    assert_eq!((names(&begun(&mut queue)), queue.next()), (vec!["a"], None));
}

#[test]
fn how_long_pauses_are() {
    let seconds = |failures, least, spread| pause(failures, Duration::from_secs(least), spread).as_secs();
    assert_eq!((seconds(1, 0, 0.0), seconds(5, 0, 0.0), seconds(40, 0, 0.0)), (1, 16, 600));
    assert_eq!((seconds(1, 30, 0.0), seconds(1, 30, 1.0), seconds(7, 30, 0.0)), (30, 37, 64));
    assert_eq!(seconds(1, 3_600, 0.0), 3_600, "what the provider asks for");
}

#[tokio::test(start_paused = true)]
async fn an_object_moves_to_the_lane_of_its_account() {
    let mut queue = Queue::new(1);
    queue.add(&name("a"), &Lane::Search, true);
    let attempts = begun(&mut queue);
    queue.finish(&attempts[0], Finished::Moved(lane("x")), Instant::now(), 0.0);
    let attempts = begun(&mut queue);
    assert_eq!((attempts[0].lane.clone(), attempts[0].forced), (lane("x"), true));
    queue.finish(&attempts[0], Finished::Done, Instant::now(), 0.0);
    assert!(queue.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_attempt_goes_on_in_another_lane_where_there_is_room() {
    let mut queue = Queue::new(1);
    for text in ["a", "b"] {
        queue.add(&name(text), &Lane::Search, true);
    }
    let attempts = begun(&mut queue);
    assert!(queue.shift(&name("a"), &lane("x")) && !queue.shift(&name("b"), &lane("x")));
    queue.finish(&attempts[1], Finished::Moved(lane("x")), Instant::now(), 0.0);
    assert!(begun(&mut queue).is_empty(), "one at a time");
    queue.finish(&attempts[0], Finished::Done, Instant::now(), 0.0);
    let attempts = begun(&mut queue);
    assert_eq!(names(&attempts), ["b"]);
    queue.finish(&attempts[0], Finished::Done, Instant::now(), 0.0);
    assert!(queue.is_empty() && queue.rows.is_empty() && queue.open.is_empty());
}

#[tokio::test(start_paused = true)]
async fn objects_that_are_gone_leave_nothing() {
    let mut queue = Queue::new(1);
    for text in ["running", "waiting", "other"] {
        queue.add(&name(text), &lane("x"), true);
    }
    let attempts = begun(&mut queue);
    queue.remove(&name("waiting"));
    queue.remove(&name("running"));
    queue.finish(&attempts[0], Finished::Again(Duration::ZERO), Instant::now(), 0.0);
    queue.remove(&name("running"));
    queue.remove(&name("never"));
    assert_eq!(names(&begun(&mut queue)), ["other"]);
    assert_eq!((queue.len(), queue.next()), (1, None));
}
