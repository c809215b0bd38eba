use super::*;
use crate::rdata::Txt;
use crate::rtype::RecordType;
use proptest::prelude::*;

fn txt(text: &str) -> RData {
    RData::parse(RecordType::Txt, text).unwrap()
}

/// What external-dns encrypts begins with a nonce and is base64 throughout.
const SEALED: &str = "h0A8JcPAwrYwnUfNQZRMoNHNLDmFGvCnVpkV4tPkZQz1pJtqFKOsy3bFqWdT0h7HnLjIvGmZr5xYc2BfSa9eDu6iXo8lQgEw\
                      kV4tPkZQz1pJtqFKOsy3bFqWdT0h7Hn=";

#[test]
fn every_spelling_of_a_claim_is_seen() {
    let sealed_pieces = format!("\"{}\" \"{}\"", &SEALED[..40], &SEALED[40..]);
    for text in [
        "heritage=external-dns,external-dns/owner=me,external-dns/resource=service/ns/a",
        "\"heritage=external-dns,external-dns/owner=me\"",
        "\"\\\"heritage=external-dns,external-dns/owner=me\\\"\"",
        "heritage=external-dns",
        "HERITAGE=External-DNS,external-dns/owner=me",
        "\"heritage=ext\" \"ernal-dns,external-dns/owner=me\"",
        "  heritage = external-dns , external-dns/owner=me  ",
        "external-dns/owner=me,heritage=external-dns",
        "v=spf1 -all,heritage=external-dns,external-dns/owner=me",
        "her\u{200b}itage=external-dns,external-dns/owner=me",
        "\\104eritage=external-dns,external-dns/owner=me",
        "\\150eritage=external-dns,external-dns/owner=me",
        "heritage=zonewright-intent,zonewright/record=00/A/x.example,zonewright/claim=x",
        SEALED,
        &sealed_pieces,
    ] {
        assert!(reads_as_claim(&txt(text)), "{text}");
    }
    let spf = RecordType::from_number(99);
    assert!(reads_as_claim(&RData::parse(spf, "\"heritage=external-dns,external-dns/owner=me\"").unwrap()));
    let other_octets = RData::Txt(Txt::from_octets(b"\xff,heritage=external-dns,external-dns/owner=me"));
    assert!(reads_as_claim(&other_octets), "external-dns reads texts that are not UTF-8");
}

#[test]
fn ordinary_texts_are_not() {
    let dkim = format!("\"v=DKIM1; k=rsa; p=MIIBIjANBgkq\" \"{SEALED}\"");
    for text in [
        "v=spf1 include:_spf.example.com -all",
        "google-site-verification=rXOxyZounnZasA8Z7oaD3c14JdjS9aKSWvsR1EbUSIQ",
        "pmBGN/7MjnfhTKUZ06Enqq1PeGUaOkw8lGhcfwefcHU=",
        "heritage=other,owner=me",
        "heritage=mate",
        "owner=me",
        "external-dns/owner=me",
        "world heritage: external-dns",
        "",
        &dkim,
        &"0123456789abcdef".repeat(8),
    ] {
        assert!(!reads_as_claim(&txt(text)), "{text}");
    }
    assert!(!reads_as_claim(&RData::parse(RecordType::A, "192.0.2.1").unwrap()));
}

proptest! {
    #[test]
    fn no_case_quoting_or_cutting_hides_a_claim(
        owner in "[a-z0-9-]{1,12}",
        before in "([a-z]{1,5}=[a-z]{0,5},){0,2}",
        intent in any::<bool>(),
        upper in prop::collection::vec(any::<bool>(), 120),
        odd in prop::collection::vec(prop_oneof![8 => Just(""), 1 => Just("\""), 1 => Just(" "), 1 => Just("\\")], 120),
        cuts in prop::collection::vec(0_usize..120, 0..5),
    ) {
        let heritage = if intent { "zonewright-intent" } else { "external-dns" };
        let text = format!("{before}heritage={heritage},external-dns/owner={owner}");
        let spelled = text.chars().zip(upper.iter().cycle()).zip(odd.iter().cycle()).map(|((letter, upper), odd)| {
            let letter = if *upper { letter.to_ascii_uppercase() } else { letter };
            format!("{odd}{letter}")
        });
        let spelled: Vec<u8> = spelled.collect::<String>().into_bytes();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(spelled.len())).collect();
        cuts.extend([0, spelled.len()]);
        cuts.sort_unstable();
        let strings = cuts.windows(2).map(|ends| spelled[ends[0]..ends[1]].to_vec());
        prop_assert!(reads_as_claim(&RData::Txt(Txt::from_strings(strings))));
    }

    #[test]
    fn any_octets_are_taken(octets in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = reads_as_claim(&RData::Txt(Txt::from_octets(&octets)));
    }
}
