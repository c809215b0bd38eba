//! Between our record sets and the server library's messages.
//!
//! Data goes over in wire form, so that what is sent is octet by octet what core's types hold.

use hickory_server::proto::rr::rdata::NULL;
use hickory_server::proto::rr::{Name, RData, Record, RecordType};
use zonewright_core::{DnsName, RecordSet};

/// A name of a question, lower-cased; `None` if it is none of ours to understand.
pub(crate) fn from_wire_name(name: &Name) -> Option<DnsName> {
    DnsName::from_raw_labels(name.iter()).ok()
}

/// A name for a message; `None` never occurs for names that core parsed.
fn to_wire_name(name: &DnsName) -> Option<Name> {
    let labels: Vec<Vec<u8>> = name.raw_labels().collect();
    let mut out = Name::from_labels(labels.iter().map(Vec::as_slice)).ok()?;
    out.set_fqdn(true);
    Some(out)
}

/// The records of the sets. An owner that equals the question is written in the question's spelling.
pub(crate) fn records(sets: &[RecordSet], question: Option<(&DnsName, &Name)>) -> Vec<Record> {
    sets.iter().flat_map(|set| set_records(set, question)).collect()
}

fn set_records(set: &RecordSet, question: Option<(&DnsName, &Name)>) -> Vec<Record> {
    let spelled = question.filter(|(name, _)| **name == set.key.name).map(|(_, spelling)| spelling.clone());
    let (Some(owner), Some(number)) = (spelled.or_else(|| to_wire_name(&set.key.name)), set.key.rtype.number()) else {
        return Vec::new();
    };
    let ttl = set.ttl.map_or(0, zonewright_core::Ttl::secs);
    let octets = set.data.as_records().iter().filter_map(zonewright_core::RData::to_wire);
    let data = octets.map(|octets| RData::Unknown { code: RecordType::from(number), rdata: raw(octets) });
    data.map(|data| Record::from_rdata(owner.clone(), ttl, data)).collect()
}

fn raw(octets: Vec<u8>) -> NULL {
    if octets.is_empty() { NULL::new() } else { NULL::with(octets) }
}

/// An upper bound of the octets of a record in a message.
pub(crate) fn size(record: &Record) -> usize {
    let data = match &record.data {
        RData::Unknown { rdata, .. } => rdata.anything.len(),
        _ => 0,
    };
    record.name.len() + 12 + data
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::set;
    use hickory_server::proto::serialize::binary::{BinDecodable, BinEncodable};

    #[test]
    fn every_type_goes_out_as_the_library_reads_it() {
        for line in [
            "a.example.test 60 A 192.0.2.1",
            "a.example.test 60 AAAA 2001:db8::1",
            "a.example.test 60 CNAME b.example.test.",
            "a.example.test 60 TXT \"a \\\" b\" \"\\200\"",
            "a.example.test 60 NS b.example.test.",
            "a.example.test 60 SRV 1 2 3 b.example.test.",
            "a.example.test 60 MX 10 b.example.test.",
            "a.example.test 60 PTR b.example.test.",
            "a.example.test 60 CAA 0 issue \"ca.test\"",
            "a.example.test 60 NAPTR 1 2 \"u\" \"E2U+sip\" \"!^.*$!sip:a@b!\" .",
            "a.example.test 60 HTTPS 1 . alpn=h2 port=8443",
            "a.example.test 60 SVCB 1 b.example.test. ipv4hint=192.0.2.1",
            "*.a.example.test 60 TLSA \\# 3 010203",
            "a\\.b.example.test 60 A 192.0.2.1",
        ] {
            let set = set(line);
            let records = records(std::slice::from_ref(&set), None);
            let octets = records[0].to_bytes().unwrap();
            assert!(octets.len() <= size(&records[0]), "{line}");
            let read = Record::from_bytes(&octets).unwrap();
            assert_eq!(from_wire_name(&read.name).as_ref(), Some(&set.key.name), "{line}");
            assert!(!matches!(read.data, RData::Unknown { .. }), "{line} was not understood");
        }
    }

    #[test]
    fn the_spelling_of_the_question_is_kept() {
        let asked = Name::from_ascii("A.Example.TEST.").unwrap();
        let name = from_wire_name(&asked).unwrap();
        let sets = [set("a.example.test 60 A 192.0.2.1"), set("b.example.test 60 A 192.0.2.1")];
        let names: Vec<String> = records(&sets, Some((&name, &asked))).iter().map(|r| r.name.to_ascii()).collect();
        assert_eq!(names, ["A.Example.TEST.", "b.example.test."]);
    }
}
