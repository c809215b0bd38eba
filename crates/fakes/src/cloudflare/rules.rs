//! What may stand beside what in a zone: *Records with the same name*, *NS records already exist* and *DNS record types* in the
//! documentation.

use super::record::Record;
use super::refusal::Refusal;

/// Most characters of all content of one name and type.
const CONTENT: usize = 8_192;

/// Whether a record may stand beside the others of its name.
///
/// # Errors
/// It may not.
pub(super) fn check(record: &Record, beside: &[&Record], apex: bool) -> Result<(), Refusal> {
    let any = |kinds: &[&str]| beside.iter().any(|other| kinds.contains(&other.kind.as_str()));
    let of_addresses = ["A", "AAAA", "CNAME"];
    let kind = record.kind.as_str();
    if kind == "CNAME" && any(&of_addresses) {
        return Err(Refusal::conflict(81053, "An A, AAAA, or CNAME record with that host already exists."));
    }
    if matches!(kind, "A" | "AAAA") && any(&["CNAME"]) {
        return Err(Refusal::conflict(81054, "A CNAME record with that host already exists."));
    }
    if kind == "NS" && !apex && any(&of_addresses) {
        return Err(Refusal::conflict(81055, "Non-NS records with that host already exist."));
    }
    if of_addresses.contains(&kind) && !apex && any(&["NS"]) {
        return Err(Refusal::conflict(81056, "NS records with that host already exist."));
    }
    if beside.iter().any(|other| record.says(other)) {
        return Err(Refusal::conflict(81058, "An identical record already exists."));
    }
    let same = beside.iter().filter(|other| other.kind == kind).map(|other| other.content.len());
    if same.sum::<usize>() + record.content.len() > CONTENT {
        let message = "Combined content length of records with this name and type must not exceed 8192 characters.";
        return Err(Refusal::field(message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn records(text: &str) -> Record {
        let (kind, content) = text.split_once(' ').unwrap();
        Record::new("x.a.org", kind, content)
    }

    #[track_caller]
    fn outcome(text: &str, beside: &[&str], apex: bool) -> u32 {
        let beside: Vec<Record> = beside.iter().map(|text| records(text)).collect();
        check(&records(text), &beside.iter().collect::<Vec<_>>(), apex).map_or_else(|refusal| refusal.code, |()| 0)
    }

    #[test]
    fn a_cname_stands_alone_among_addresses() {
        for (record, beside, expected) in [
            ("CNAME b.org", "A 192.0.2.1", 81053),
            ("CNAME b.org", "AAAA 2001:db8::1", 81053),
            ("CNAME b.org", "CNAME c.org", 81053),
            ("CNAME b.org", "CNAME b.org", 81053),
            ("A 192.0.2.1", "CNAME b.org", 81054),
            ("AAAA 2001:db8::1", "CNAME b.org", 81054),
            ("TXT a", "CNAME b.org", 0),
            ("CNAME b.org", "TXT a", 0),
            ("CNAME b.org", "MX b.org", 0),
            ("A 192.0.2.1", "A 192.0.2.2", 0),
            ("A 192.0.2.1", "A 192.0.2.1", 81058),
            ("TXT a", "TXT a", 81058),
        ] {
            assert_eq!(outcome(record, &[beside], false), expected, "{record} beside {beside}");
        }
    }

    #[test]
    fn a_delegated_name_has_no_addresses() {
        for (record, beside, expected) in [
            ("A 192.0.2.1", "NS ns.b.org", 81056),
            ("CNAME b.org", "NS ns.b.org", 81056),
            ("NS ns.b.org", "A 192.0.2.1", 81055),
            ("TXT a", "NS ns.b.org", 0),
        ] {
            assert_eq!(outcome(record, &[beside], false), expected, "{record} beside {beside}");
            assert_eq!(outcome(record, &[beside], true), 0, "{record} beside {beside} at the apex");
        }
    }

    #[test]
    fn content_of_one_name_and_type_has_a_limit() {
        let (one, two) = (format!("TXT {}", "a".repeat(4_000)), format!("TXT {}", "b".repeat(4_000)));
        let three = format!("TXT {}", "c".repeat(192));
        assert_eq!(outcome(&three, &[&one, &two], false), 0);
        assert_eq!(outcome(&format!("{three}c"), &[&one, &two], false), 9100);
        let mut other = records("MX b.org").with_priority(2);
        let first = records("MX b.org").with_priority(1);
        assert_eq!(check(&other, &[&first], false), Ok(()));
        other.priority = Some(1);
        assert!(check(&other, &[&first], false).is_err());
    }
}
