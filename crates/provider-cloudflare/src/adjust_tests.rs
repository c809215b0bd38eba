use zonewright_core::DnsName;

use super::*;
use crate::config::Hostnames;

fn set(rtype: RecordType, data: &[&str], options: &[(&str, &str)]) -> RecordSet {
    let records = data.iter().map(|text| RData::parse(rtype, text).unwrap());
    let mut set = RecordSet::simple(DnsName::parse("www.example.org").unwrap(), rtype, None, records);
    for (key, text) in options {
        let value = text.parse().map_or_else(|_| OptionValue::Text((*text).into()), OptionValue::Bool);
        set.options.set(key, value);
    }
    set
}

fn a(options: &[(&str, &str)]) -> RecordSet {
    set(RecordType::A, &["192.0.2.1"], options)
}

/// The options of what is published, and the notes.
#[track_caller]
fn published(set: &RecordSet, plan: Plan, defaults: &Defaults) -> (String, Vec<String>) {
    let Adjustment::As { sets, notes } = adjust(set, plan, defaults) else { panic!("{set} is refused") };
    let options: Vec<String> = sets[0].options.iter().map(|(key, value)| format!("{key}={value}")).collect();
    (format!("{} {}", sets[0].ttl.unwrap(), options.join(" ")), notes)
}

#[track_caller]
fn refused(set: &RecordSet, defaults: &Defaults) -> String {
    match adjust(set, Plan::Free, defaults) {
        Adjustment::Refused(why) => why,
        other => panic!("{other:?}"),
    }
}

fn proxied() -> Defaults {
    Defaults { proxied: true, ..Defaults::default() }
}

#[test]
fn the_proxy_is_as_the_object_says_or_else_the_flag() {
    let none = Defaults::default();
    for (stated, defaults, expected) in [
        (vec![], &none, "1 cloudflare-proxied=false"),
        (vec![], &proxied(), "1 cloudflare-proxied=true"),
        (vec![(PROXIED, "false")], &proxied(), "1 cloudflare-proxied=false"),
        (vec![(PROXIED, "true")], &none, "1 cloudflare-proxied=true"),
    ] {
        assert_eq!(published(&a(&stated), Plan::Free, defaults), (expected.to_owned(), vec![]), "{stated:?}");
    }
    let timed = RecordSet { ttl: Ttl::from_secs(300), ..a(&[]) };
    assert_eq!(published(&timed, Plan::Free, &none).0, "300 cloudflare-proxied=false");
    assert_eq!(published(&timed, Plan::Free, &proxied()).0, "1 cloudflare-proxied=true", "its TTL is the service's");
    let text = set(RecordType::Txt, &["a"], &[]);
    assert_eq!(published(&text, Plan::Free, &proxied()), ("1 ".to_owned(), vec![]));
    let (options, notes) = published(&set(RecordType::Txt, &["a"], &[(PROXIED, "true")]), Plan::Free, &none);
    assert!(options == "1 " && notes[0].contains("TXT"), "{options} {notes:?}");
}

#[test]
fn no_address_of_a_private_network_is_proxied() {
    for address in ["10.1.2.3", "172.16.0.1", "192.168.0.1", "127.0.0.1", "169.254.0.1", "100.64.0.1"] {
        let private = |options: &[(&str, &str)]| set(RecordType::A, &["192.0.2.1", address], options);
        let (options, notes) = published(&private(&[]), Plan::Free, &proxied());
        assert!(options.contains("proxied=false") && notes[0].contains(address), "{options} {notes:?}");
        let why = refused(&private(&[(PROXIED, "true")]), &Defaults::default());
        assert!(why.contains(address) && why.contains(PROXIED), "{why}");
        assert_eq!(published(&private(&[]), Plan::Free, &Defaults::default()).1, Vec::<String>::new());
    }
    for (address, reached) in
        [("fd00::1", false), ("fe80::1", false), ("::ffff:10.0.0.1", false), ("2001:db8::1", true)]
    {
        let (options, _) = published(&set(RecordType::Aaaa, &[address], &[]), Plan::Free, &proxied());
        assert_eq!(options.contains("proxied=true"), reached, "{address}");
    }
}

#[test]
fn a_comment_is_cut_to_what_the_plan_takes() {
    let defaults = Defaults { comment: "by zonewright".to_owned(), ..Defaults::default() };
    assert!(published(&a(&[]), Plan::Free, &defaults).0.ends_with("record-comment=by zonewright"));
    assert!(published(&a(&[(COMMENT, "mine")]), Plan::Free, &defaults).0.ends_with("record-comment=mine"));
    let long = "\u{e4}".repeat(101);
    let (options, notes) = published(&a(&[(COMMENT, &long)]), Plan::Free, &defaults);
    assert!(
        options.ends_with(&format!("={}", "\u{e4}".repeat(100))) && notes[0].contains("101"),
        "{options} {notes:?}"
    );
    assert_eq!(published(&a(&[(COMMENT, &long)]), Plan::Paid, &defaults).1, Vec::<String>::new());
    assert!(published(&a(&[(COMMENT, "two\nlines")]), Plan::Free, &defaults).0.ends_with("=two lines"));
    assert_eq!(published(&a(&[(COMMENT, "  ")]), Plan::Free, &defaults).0, "1 cloudflare-proxied=false");
}

#[test]
fn tags_are_for_those_who_pay() {
    let tagged = a(&[(TAGS, "b:2, A:1,,b:2")]);
    let defaults = Defaults::default();
    assert!(published(&tagged, Plan::Paid, &defaults).0.ends_with("tags=a:1,b:2"));
    let (options, notes) = published(&tagged, Plan::Free, &defaults);
    assert!(options == "1 cloudflare-proxied=false" && notes[0].contains("free plan has no tags"), "{notes:?}");
    let many = (0..21).map(|i| format!("t{i:02}:x")).collect::<Vec<_>>().join(",");
    let (options, notes) = published(&a(&[(TAGS, &many)]), Plan::Enterprise, &defaults);
    assert!(options.ends_with("t19:x") && notes[0].contains("21"), "{options}");
    assert_eq!(published(&a(&[(TAGS, " , ")]), Plan::Paid, &defaults).0, "1 cloudflare-proxied=false");
}

#[test]
fn host_names_and_regions_are_kept_where_they_are_managed() {
    let asked = a(&[(HOSTNAMES, "B.example.com, a.example.com"), (REGION, "eu")]);
    assert_eq!(published(&asked, Plan::Free, &Defaults::default()).0, "1 cloudflare-proxied=false");
    let hostnames = Some(Hostnames { min_tls: "1.2".to_owned(), authority: None });
    let both = Defaults { hostnames, region: Some("us".to_owned()), ..Defaults::default() };
    let (options, notes) = published(&asked, Plan::Free, &both);
    assert_eq!(
        options,
        "1 cloudflare-custom-hostname=a.example.com,b.example.com cloudflare-proxied=false cloudflare-region-key=eu"
    );
    assert!(notes.is_empty());
    assert!(published(&a(&[]), Plan::Free, &both).0.ends_with("region-key=us"));
    assert_eq!(published(&set(RecordType::Txt, &["a"], &[(REGION, "eu")]), Plan::Free, &both).0, "1 ");
}

#[test]
fn what_the_service_would_refuse_is_reported() {
    let none = Defaults::default();
    let octets = set(RecordType::Caa, &["0 issue \"\\255\""], &[]);
    assert!(refused(&octets, &none).contains("UTF-8"));
    assert!(refused(&set(RecordType::Dname, &["a.example."], &[]), &none).contains("DNAME"));
    let many: Vec<String> = (0..40).map(|i| format!("\"{i:03}{}\"", "x".repeat(220))).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(refused(&set(RecordType::Txt, &many, &[]), &none).contains("8192"));
    let long = format!("\"{}\"", "x".repeat(255)).repeat(17);
    assert!(refused(&set(RecordType::Txt, &[&long], &[]), &none).contains("4096"));
}

#[test]
fn adjusting_again_changes_nothing() {
    for set in [a(&[(COMMENT, " x "), (TAGS, "b:1,A:2")]), set(RecordType::A, &["10.0.0.1"], &[])] {
        let once = adjust(&set, Plan::Paid, &Defaults::default());
        let twice = adjust(&once.sets()[0], Plan::Paid, &Defaults::default());
        assert_eq!(once.sets(), twice.sets());
    }
}
