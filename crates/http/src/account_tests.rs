//! Rate, share, concurrency and pauses, on a paused clock.

use zonewright_core::turn;

use super::*;

const LONG: Duration = Duration::from_hours(1);

fn account(requests: u32, burst: u32) -> Account {
    let rate = Rate { burst: NonZeroU32::new(burst).unwrap(), ..Rate::per_second(requests) };
    Account::new("test", AccountLimits { rate: Some(rate), concurrency: None })
}

/// Sends `count` requests one after the other, and says how many milliseconds that took.
async fn run(account: &Account, share: Share, count: usize) -> u128 {
    let start = Instant::now();
    for _ in 0..count {
        account.admit(share, LONG).await.unwrap();
    }
    start.elapsed().as_millis()
}

#[tokio::test(start_paused = true)]
async fn a_burst_goes_at_once_and_then_the_rate_holds() {
    let account = account(5, 3);
    assert_eq!(run(&account, Share::Full, 3).await, 0);
    assert_eq!(run(&account, Share::Full, 10).await, 2000);
    tokio::time::advance(Duration::from_mins(1)).await;
    assert_eq!(run(&account, Share::Full, 4).await, 200, "quiet time fills the burst and no more");
}

#[tokio::test(start_paused = true)]
async fn the_rate_is_that_of_all_clones_together() {
    let account = account(10, 1);
    let runs = (0..4).map(|_| {
        let account = account.clone();
        tokio::spawn(async move { run(&account, Share::Full, 25).await })
    });
    let start = Instant::now();
    for run in runs.collect::<Vec<_>>() {
        run.await.unwrap();
    }
    assert_eq!(start.elapsed().as_millis(), 9900, "100 requests at 10 a second, the first at once");
}

#[tokio::test(start_paused = true)]
async fn the_background_uses_a_fifth_and_leaves_the_rest() {
    let account = account(10, 1);
    assert_eq!(run(&account, Share::Background, 11).await, 5000, "2 a second, also where nothing else is sent");
    let behind = tokio::spawn({
        let account = account.clone();
        async move {
            loop {
                account.admit(Share::Background, LONG).await.unwrap();
            }
        }
    });
    let took = run(&account, Share::Full, 80).await;
    behind.abort();
    assert!((9_500..=10_500).contains(&took), "80 requests at 8 a second took {took} ms");
}

#[tokio::test(start_paused = true)]
async fn what_goes_next_does_not_wait_for_the_queue() {
    let account = account(1, 1);
    let queue: Vec<_> = (0..60)
        .map(|_| {
            let account = account.clone();
            tokio::spawn(async move { run(&account, Share::Full, 1).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    for _ in 0..3 {
        let took = run(&account, Share::Next, 1).await;
        assert!(took <= 2_000, "{took} ms behind others that wait for a minute");
    }
    let mut last = 0;
    for one in queue {
        last = last.max(one.await.unwrap());
    }
    assert_eq!(last, 62_000, "all of them go at the rate");
}

#[tokio::test(start_paused = true)]
async fn the_queue_moves_while_others_always_go_before_it() {
    let account = account(1, 1);
    let others: Vec<_> = (0..3)
        .map(|_| {
            let account = account.clone();
            tokio::spawn(async move { run(&account, Share::Next, usize::MAX).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    let queue = tokio::time::timeout(Duration::from_mins(5), run(&account, Share::Full, 10)).await;
    others.iter().for_each(tokio::task::JoinHandle::abort);
    let took = queue.expect("the queue moves");
    assert!(
        (90_000..=140_000).contains(&took),
        "10 turns of the queue took {took} ms: about every tenth one is its own"
    );
}

#[tokio::test(start_paused = true)]
async fn what_goes_next_does_not_wait_for_the_queue_of_the_slots() {
    let account = Account::new("test", AccountLimits { rate: None, concurrency: NonZeroU32::new(2) });
    // Requests that take a second each.
    let send = async |share| {
        let begun = Instant::now();
        let permit = account.admit(share, LONG).await.unwrap();
        let waited = begun.elapsed();
        tokio::time::sleep(Duration::from_secs(1)).await;
        drop(permit);
        waited.as_millis()
    };
    let queue = async {
        let waits = futures::future::join_all((0..60).map(|_| send(Share::Full))).await;
        assert_eq!(waits.into_iter().max(), Some(31_000), "two at a time, and four slots for others");
    };
    let next = async {
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        // Who gives up is no longer waited for.
        assert!(tokio::time::timeout(Duration::from_millis(100), account.admit(Share::Next, LONG)).await.is_err());
        for _ in 0..4 {
            let waited = send(Share::Next).await;
            assert!(waited <= 1_000, "{waited} ms behind others that wait for half a minute");
        }
    };
    tokio::join!(queue, next);
}

/// More than there are slots go before the others, all the time.
#[tokio::test(start_paused = true)]
async fn the_queue_of_the_slots_moves_while_others_always_go_before_it() {
    let account = Account::new("test", AccountLimits { rate: None, concurrency: NonZeroU32::new(1) });
    let others: Vec<_> = (0..3)
        .map(|_| {
            let account = account.clone();
            tokio::spawn(async move {
                loop {
                    let _slot = account.admit(Share::Next, LONG).await.unwrap();
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    let queue = tokio::time::timeout(Duration::from_mins(1), run(&account, Share::Full, 5)).await;
    others.iter().for_each(tokio::task::JoinHandle::abort);
    assert!(queue.is_ok(), "the queue moves");
}

#[tokio::test(start_paused = true)]
async fn a_pause_is_waited_for_without_a_turn() {
    let account = account(1, 1);
    account.pause(Duration::from_secs(3));
    for _ in 0..5 {
        account.rested(LONG).await.unwrap();
    }
    assert_eq!(run(&account, Share::Full, 1).await, 0, "the turn is still there");
    account.pause(Duration::from_mins(1));
    assert_eq!(account.rested(Duration::from_secs(10)).await, Err(Duration::from_mins(1)));
}

#[tokio::test(start_paused = true)]
async fn a_part_goes_at_the_pace_of_the_whole_and_pauses_by_itself() {
    let accounts = Accounts::default();
    let limits = AccountLimits { rate: Some(Rate::per_second(1)), concurrency: NonZeroU32::new(1) };
    let whole = accounts.of("service", &"token".into(), limits);
    let part = accounts.part(&whole, "lists", NonZeroU32::new(1));
    let start = Instant::now();
    // A request of each is under way at once; their turns are the same ones.
    let both = [whole.admit(Share::Full, LONG).await.unwrap(), part.admit(Share::Full, LONG).await.unwrap()];
    assert_eq!(start.elapsed(), Duration::from_secs(1));
    drop(both);
    // Who asks for it again has the same one.
    accounts.part(&whole, "lists", None).pause(2 * LONG);
    assert!(part.admit(Share::Full, LONG).await.is_err() && whole.admit(Share::Full, LONG).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_gives_up_uses_no_turn() {
    let account = account(1, 1);
    run(&account, Share::Full, 1).await;
    for _ in 0..5 {
        let given_up = tokio::time::timeout(Duration::from_millis(100), account.admit(Share::Full, LONG)).await;
        assert!(given_up.is_err());
    }
    assert_eq!(run(&account, Share::Full, 1).await, 500);
}

#[tokio::test(start_paused = true)]
async fn no_more_than_so_many_are_under_way() {
    let limits = AccountLimits { rate: None, concurrency: NonZeroU32::new(2) };
    let account = Account::new("test", limits);
    let first = account.admit(Share::Full, LONG).await.unwrap();
    let _second = account.admit(Share::Full, LONG).await.unwrap();
    let wait = || tokio::time::timeout(Duration::from_secs(1), account.admit(Share::Full, LONG));
    assert!(wait().await.is_err(), "a third has to wait");
    drop(first);
    assert!(wait().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_pause_holds_all_up_and_one_that_is_too_long_is_reported() {
    let account = Account::unlimited("test");
    account.pause(Duration::from_secs(3));
    account.pause(Duration::from_secs(1));
    assert_eq!(run(&account.clone(), Share::Full, 5).await, 3000, "the longest counts");
    account.pause(Duration::from_mins(1));
    let wait = account.admit(Share::Full, Duration::from_secs(10)).await.unwrap_err();
    assert_eq!(wait, Duration::from_mins(1));
    account.pause(Duration::MAX);
    assert!(account.admit(Share::Full, Duration::from_secs(10)).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_begins_while_one_waits_for_its_turn_holds_it_up() {
    let account = account(1, 1);
    run(&account, Share::Full, 1).await;
    let waits = tokio::spawn({
        let account = account.clone();
        async move { run(&account, Share::Full, 1).await }
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    account.pause(Duration::from_secs(5));
    assert_eq!(waits.await.unwrap(), 5500);
}

/// As at the start with five hundred zones, each of which is listed within a limit.
#[tokio::test(start_paused = true)]
async fn a_long_queue_costs_nobody_its_time() {
    let (account, limit) = (account(5, 1), Duration::from_mins(1));
    let start = Instant::now();
    let all = (0..500).map(|_| turn::within(limit, account.admit(Share::Full, LONG)));
    let served = futures::future::join_all(all).await.iter().filter(|turn| turn.is_some()).count();
    assert_eq!((served, start.elapsed().as_millis()), (500, 99_800));
}

#[test]
fn a_rate_of_nothing_is_no_panic() {
    assert_eq!(Rate::per_second(0).requests.get(), 1);
    let rate = Rate { period: Duration::ZERO, ..Rate::per_second(1) };
    assert!(rate.quota(1).is_none());
    let rate = Rate { period: Duration::MAX, ..Rate::per_second(1) };
    assert!(rate.quota(PARTS).is_none());
}

#[test]
fn equal_credentials_share_one_account_while_it_is_in_use() {
    let accounts = Accounts::default();
    let of = |service: &str, secret: &str| accounts.of(service, &secret.into(), AccountLimits::default());
    let first = of("cloudflare", "s3cret");
    assert!(Arc::ptr_eq(&first.0, &of("cloudflare", "s3cret").0));
    for other in [of("cloudflare", "other"), of("dnsimple", "s3cret")] {
        assert!(!Arc::ptr_eq(&first.0, &other.0));
    }
    assert!(first.name().starts_with("cloudflare/") && !format!("{accounts:?} {first:?}").contains("s3cret"));
    drop(first);
    of("azure", "x");
    assert_eq!(accounts.0.lock().unwrap().len(), 1, "what nobody uses goes");
}
