//! A clock that goes faster than the real one, for tests of providers at a service on loopback, whose own clock is the real one.

use std::time::Duration;

/// How often the clock moves, in real time.
const TICK: Duration = Duration::from_millis(2);

/// Does `work` by a clock that goes so many times as fast. A paused clock jumps to the next deadline whenever every task waits, also
/// for an answer of a real socket; while a blocking task runs it stands still.
pub(crate) async fn hurried<T>(faster: u32, work: impl Future<Output = T>) -> T {
    tokio::time::pause();
    let clock = async {
        loop {
            let tick = tokio::task::spawn_blocking(|| std::thread::sleep(TICK));
            tick.await.expect("a sleep does not panic");
            tokio::time::advance(TICK * faster).await;
        }
    };
    tokio::select! {
        done = work => done,
        () = clock => unreachable!("the clock has no end"),
    }
}
