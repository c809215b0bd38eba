//! One long hour in a large zone: thousands of foreign records, and somebody who edits them all the time.

use zonewright_simulator::busy_zone;

/// 5,000 foreign records, an hour of simulated time, a change every few seconds by a human's hand and by the cluster: what
/// is foreign is byte for byte as its authors left it.
#[test]
fn a_large_zone_stays_as_it_was_left() {
    let busy = busy_zone(7, 5_000, 3_600);
    assert_eq!(busy.violation, None);
    assert!(busy.edits > 400 && busy.writes > 400, "{} edits, {} writes", busy.edits, busy.writes);
    assert!(busy.foreign_before == busy.foreign_after, "the foreign part is not as it was left");
    assert!(busy.foreign_before.len() > 3_000);
}
