use std::fmt::Write as _;

use super::*;
use crate::endpoint::Note;
use crate::endpoint::{Severity, Targets};
use crate::record::Ttl;
use crate::testing::{endpoint, name};

fn mapped(lines: &[&str]) -> Mapped {
    Mapped { endpoints: lines.iter().map(|line| endpoint("Service", "web", line)).collect(), ..Mapped::default() }
}

fn with(mut mapped: Mapped, key: &str, value: &str) -> Mapped {
    for endpoint in &mut mapped.endpoints {
        endpoint.extras.edit(|extras| extras.properties.insert(Arc::from(key), Arc::from(value)));
    }
    mapped
}

fn bare(rtype: RecordType) -> Mapped {
    let mut mapped = mapped(&["a.example A 1.1.1.1"]);
    mapped.endpoints[0].rtype = rtype;
    mapped.endpoints[0].targets = Targets::Records(Vec::new());
    mapped
}

/// Endpoints with their TTLs and properties, then pending names and notes.
fn shown(mapped: &Mapped) -> Vec<String> {
    let endpoint = |e: &Endpoint| {
        let mut line = e.to_string();
        if let Some(ttl) = e.ttl {
            let _ = write!(line, " ttl={ttl}");
        }
        for (key, value) in &e.extras.properties {
            let _ = write!(line, " {key}={value}");
        }
        line
    };
    let mut lines: Vec<String> = mapped.endpoints.iter().map(endpoint).collect();
    lines.extend(mapped.pending.iter().map(|p| format!("{} pending", p.name)));
    lines.extend(mapped.notes.iter().map(|note| format!("! {}", note.reason)));
    lines
}

fn check(wrapping: &Wrapping, mapped: &Mapped, expected: &[&str]) {
    assert_eq!(shown(&wrapping.apply(mapped)), expected, "{wrapping:?}");
}

fn nets(texts: &[&str]) -> Vec<IpNet> {
    texts.iter().map(|text| network(text).unwrap()).collect()
}

fn defaults(force: bool) -> Wrapping {
    let records = [RData::parse(RecordType::A, "127.0.0.1"), RData::parse(RecordType::A, "127.0.0.2")];
    let others = [RData::parse(RecordType::Cname, "foo.example.org"), RData::parse(RecordType::Aaaa, "2001:db8::1")];
    let default_targets = records.into_iter().chain(others).map(Result::unwrap).collect();
    Wrapping { default_targets, force_default_targets: force, ..Wrapping::default() }
}

#[test]
fn default_targets() {
    let all = ["a.example A 127.0.0.1 127.0.0.2", "a.example AAAA 2001:db8::1", "a.example CNAME foo.example.org."];
    check(&defaults(false), &bare(RecordType::A), &all);
    check(&defaults(false), &bare(RecordType::Txt), &all);
    check(&defaults(false), &mapped(&["a.example A 1.1.1.1"]), &["a.example A 1.1.1.1"]);
    check(&defaults(true), &mapped(&["a.example A 1.1.1.1"]), &all);
    check(&defaults(true), &bare(RecordType::A), &all);
    check(&Wrapping::default(), &bare(RecordType::A), &["a.example pending"]);
    let made = defaults(true).apply(&mapped(&["a.example A ttl=7 1.1.1.1"]));
    assert!(made.endpoints.iter().all(|e| e.ttl == Ttl::from_secs(7) && e.resource.is_some()));
}

#[test]
fn nat64() {
    let wrapping = Wrapping { nat64: vec![nat64_prefix("2001:DB8::/96").unwrap()], ..Wrapping::default() };
    for (lines, expected) in [
        (&["a.example AAAA 2001:db8:1::1"][..], &["a.example AAAA 2001:db8:1::1"][..]),
        (&["a.example AAAA 2001:db8::192.0.2.42"], &["a.example AAAA 2001:db8::c000:22a", "a.example A 192.0.2.42"]),
        (&["a.example A 1.1.1.1"], &["a.example A 1.1.1.1"]),
        (
            &["a.example AAAA ttl=9 2001:db8::c000:22a 2001:db8:1::1"],
            &["a.example AAAA 2001:db8::c000:22a 2001:db8:1::1 ttl=9", "a.example A 192.0.2.42 ttl=9"],
        ),
        (
            &["a.example A 1.1.1.1", "a.example AAAA 2001:db8::c000:22a"],
            &["a.example A 1.1.1.1 192.0.2.42", "a.example AAAA 2001:db8::c000:22a"],
        ),
    ] {
        check(&wrapping, &mapped(lines), expected);
    }
    for (bad, why) in
        [("invalid-prefix", "no IPv6 network"), ("2001:db8::/64", "/64"), ("10.0.0.0/24", "no IPv6 network")]
    {
        assert!(nat64_prefix(bad).unwrap_err().to_string().contains(why), "{bad}");
    }
}

#[test]
fn target_filter() {
    let line = [
        "a.example A 10.0.0.1 1.2.3.4",
        "b.example AAAA 2001:db8::1",
        "c.example CNAME x.example",
        "d.example AAAA ::ffff:10.1.1.1",
    ];
    let (v4, v6, host, odd) = (
        "a.example A 10.0.0.1 1.2.3.4",
        "b.example AAAA 2001:db8::1",
        "c.example CNAME x.example.",
        "d.example AAAA ::ffff:10.1.1.1",
    );
    let note = "! TargetFiltered";
    for (include, exclude, expected) in [
        (&[][..], &[][..], &[v4, v6, host, odd][..]),
        (&["10.0.0.0/8"], &[], &["a.example A 10.0.0.1", odd, note, note]),
        (&[], &["10.0.0.0/8"], &["a.example A 1.2.3.4", v6, host, note]),
        (&["0.0.0.0/0"], &["10.0.0.0/8"], &["a.example A 1.2.3.4", note, note, note]),
        (&["2001:db8::/32", "1.0.0.0/8"], &[], &["a.example A 1.2.3.4", v6, note, note]),
    ] {
        let (target_nets, excluded_target_nets) = (nets(include), nets(exclude));
        check(&Wrapping { target_nets, excluded_target_nets, ..Wrapping::default() }, &mapped(&line), expected);
    }
    assert!(network("8.8.8.8").unwrap_err().to_string().contains("expected CIDR form"));
    assert_eq!(network("10.1.2.3/8").unwrap().to_string(), "10.0.0.0/8");
}

#[test]
fn reverse_names() {
    let wrapping = |by_default| Wrapping { ptr: Some(by_default), ..Wrapping::default() };
    let line = "a.example A 192.168.49.2";
    let reverse = "2.49.168.192.in-addr.arpa PTR a.example.";
    check(&wrapping(true), &mapped(&[line]), &[line, reverse]);
    check(&wrapping(false), &mapped(&[line]), &[line]);
    check(&wrapping(false), &with(mapped(&[line]), "record-type", "PTR"), &[line, reverse]);
    check(&wrapping(true), &with(mapped(&[line]), "record-type", ""), &[line]);
    check(
        &Wrapping::default(),
        &with(mapped(&[line]), "record-type", "ptr"),
        &["a.example A 192.168.49.2 record-type=ptr"],
    );
    check(&wrapping(true), &mapped(&["a.example CNAME b.example"]), &["a.example CNAME b.example."]);
    check(&wrapping(true), &mapped(&["*.example A 1.1.1.1"]), &["*.example A 1.1.1.1"]);
    check(
        &wrapping(true),
        &with(mapped(&["*.example A 1.1.1.1"]), "record-type", "ptr"),
        &["*.example A 1.1.1.1", "! NoReverseName"],
    );
    check(
        &wrapping(true),
        &mapped(&["b.example A ttl=300 192.168.49.2", "a.example A ttl=60 192.168.49.2"]),
        &[
            "b.example A 192.168.49.2 ttl=300",
            "a.example A 192.168.49.2 ttl=60",
            "2.49.168.192.in-addr.arpa PTR b.example. a.example. ttl=60",
        ],
    );
    let v6 = "a.example AAAA 2001:db8::567:89ab";
    let expected = "b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa PTR a.example.";
    check(&wrapping(true), &mapped(&[v6]), &[v6, expected]);
    let made = wrapping(true).apply(&mapped(&[line]));
    assert_eq!(
        (made.endpoints[1].resource.clone(), made.endpoints[1].name.clone()),
        (None, name("2.49.168.192.in-addr.arpa"))
    );
}

#[test]
fn alias_is_preferred_where_nothing_was_said() {
    let wrapping = Wrapping { prefer_alias: true, ..Wrapping::default() };
    let line = ["a.example CNAME b.example", "c.example A 1.1.1.1"];
    check(&wrapping, &mapped(&line), &["a.example CNAME b.example. alias=true", "c.example A 1.1.1.1"]);
    check(&wrapping, &with(mapped(&line[..1]), "alias", "false"), &["a.example CNAME b.example. alias=false"]);
}

#[test]
fn the_order_of_the_steps() {
    let wrapping = Wrapping {
        nat64: vec![nat64_prefix("64:ff9b::/96").unwrap()],
        target_nets: nets(&["0.0.0.0/0"]),
        ptr: Some(true),
        ..Wrapping::default()
    };
    check(
        &wrapping,
        &mapped(&["a.example AAAA 64:ff9b::1.2.3.4"]),
        &["a.example A 1.2.3.4", "4.3.2.1.in-addr.arpa PTR a.example.", "! TargetFiltered"],
    );
}

#[test]
fn what_else_an_object_says_stays() {
    let mut asked = mapped(&["a.example A 1.1.1.1"]);
    asked.pending.push(Pending { name: name("p.example"), resource: None, reason: "blank".to_owned() });
    asked
        .notes
        .push(Note { severity: Severity::Normal, ..Note::warning(&asked.endpoints[0].origin.object, "Any", "x") });
    check(
        &defaults(true),
        &bare(RecordType::A),
        &["a.example A 127.0.0.1 127.0.0.2", "a.example AAAA 2001:db8::1", "a.example CNAME foo.example.org."],
    );
    assert_eq!(Wrapping::default().apply(&asked), asked);
}

/// The other prefix goes through the same steps, so that what it is compared with is what would be published.
#[test]
fn what_is_asked_for_under_another_prefix_is_wrapped_too() {
    let mut asked = mapped(&[]);
    let endpoint = endpoint("Service", "web", "a.example AAAA 64:ff9b::1.2.3.4");
    let (object, prefix) = (endpoint.origin.object.clone(), Arc::from("p/"));
    asked.other_prefix = Some(Box::new(OtherPrefix { prefix, endpoints: vec![endpoint], pending: [].into(), object }));
    let wrapping = Wrapping { nat64: vec![nat64_prefix("64:ff9b::/96").unwrap()], ..Wrapping::default() };
    let other = wrapping.apply(&asked).other_prefix.unwrap();
    let lines: Vec<String> = other.endpoints.iter().map(ToString::to_string).collect();
    assert!(lines.contains(&"a.example A 1.2.3.4".to_owned()), "{lines:?}");
}

/// A source that has nothing but errors.
struct Troubled;

#[async_trait]
impl Source for Troubled {
    async fn changed(&self) {}

    fn take(&self, _: bool) -> Update {
        Update::default()
    }

    fn review(&self, _: usize) -> Review {
        Review::default()
    }

    fn evidence(&self) -> Evidence {
        Evidence::default()
    }

    fn errors(&self) -> SourceErrors {
        SourceErrors { failures: 1, standing: vec!["web.yaml:2: no YAML".to_owned()], ..SourceErrors::default() }
    }

    fn use_published(&self, _: Arc<dyn PublishedNames>) {}

    fn published_read(&self) -> bool {
        true
    }

    fn consider(&self, _: &Subject) -> Vec<Consideration> {
        Vec::new()
    }
}

#[test]
fn nothing_that_a_source_says_is_lost() {
    let wrapped = Wrapped::around(Arc::new(Troubled), Wrapping::default());
    assert_eq!(wrapped.errors(), Troubled.errors());
    assert!(wrapped.published_read());
}
