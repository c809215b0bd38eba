//! One long hour in a large zone: thousands of foreign records, and somebody who edits them all the time.

use zonewright_simulator::busy_zone;

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Simulated time of the test command, which runs this with optimisation; without, a sample.
const SECONDS: u64 = if cfg!(debug_assertions) { 450 } else { 3_600 };

/// 5,000 foreign records, an hour of simulated time, a change every few seconds by a human's hand and by the cluster: what
/// is foreign is byte for byte as its authors left it.
#[test]
fn a_large_zone_stays_as_it_was_left() {
    let busy = busy_zone(7, 5_000, SECONDS);
    assert_eq!(busy.violation, None);
    let least = SECONDS / 9;
    assert!(busy.edits > least && busy.writes > least, "{} edits, {} writes", busy.edits, busy.writes);
    assert!(busy.foreign_before == busy.foreign_after, "the foreign part is not as it was left");
    assert!(busy.foreign_before.len() > 3_000);
}
