//! Where the claim on a record stands, what it says, and which names leave no room for one.

use crate::support::{World, decorate, registry, verdict};
use crate::writing::{check, check_with};

#[test]
fn names_and_values_are_those_of_external_dns() {
    let r = "[ingress/ns/app]";
    for (affixes, change, claim) in [
        (("", "", ""), format!("+ app.ex.com A 192.0.2.1 {r}"), "+ a-app.ex.com TXT !me:ingress/ns/app"),
        (("", "", ""), format!("+ app.ex.com AAAA 2001:db8::1 {r}"), "+ aaaa-app.ex.com TXT !me:ingress/ns/app"),
        (("", "", ""), format!("+ app.ex.com CNAME lb.example {r}"), "+ cname-app.ex.com TXT !me:ingress/ns/app"),
        (("", "", ""), "+ app.ex.com A 192.0.2.1".to_owned(), "+ a-app.ex.com TXT !me"),
        (("", "", ""), format!("+ app.ex.com TXT hello {r}"), "+ txt-app.ex.com TXT !me:ingress/ns/app"),
        (("", "", ""), format!("+ s.ex.com A@eu 192.0.2.1 {r}"), "+ a-s.ex.com TXT (eu) !me:ingress/ns/app"),
        (("%{record_type}-reg.", "", ""), format!("+ ex.com A 192.0.2.1 {r}"), "+ a-reg.ex.com TXT !me:ingress/ns/app"),
        (("", "-reg", ""), format!("+ app.ex.com MX 10 mx.example {r}"), "+ mx-app-reg.ex.com TXT !me:ingress/ns/app"),
        (("", "", "any"), format!("+ *.ex.com A 192.0.2.1 {r}"), "+ a-any.ex.com TXT !me:ingress/ns/app"),
        (("", "", ""), format!("+ *.ex.com A 192.0.2.1 {r}"), "+ a-*.ex.com TXT !me:ingress/ns/app"),
        // Outside the zone external-dns would name it a-ex.com.
        (("", "", ""), format!("+ ex.com A 192.0.2.1 {r}"), "+ a-_apex.ex.com TXT !me:ingress/ns/app"),
        (("txt-", "", ""), format!("+ ex.com CAA 0 issue ca.example {r}"), "+ caa-_apex.ex.com TXT !me:ingress/ns/app"),
    ] {
        check_with(affixes, "zone ex.com", &change, &[claim]);
    }
    check("zone .", "+ example CNAME x.org", &["+ cname-example TXT !me"]);
}

#[test]
fn names_too_long_to_claim_say_what_to_shorten() {
    let (host, label) = ("x".repeat(62), "x".repeat(62));
    for (affixes, change, expected) in [
        (
            ("", "", ""),
            format!("+ {host}.ex.com A 192.0.2.1"),
            format!(
                "dropped: the ownership record of {host}.ex.com A needs the label a-{label} of 64 octets, and 63 is the \
                 limit; shorten the host name"
            ),
        ),
        (
            ("txt-", "", ""),
            format!("+ {host}.ex.com A 192.0.2.1"),
            format!(
                "dropped: the ownership record of {host}.ex.com A needs the label txt-a-{label} of 68 octets, and 63 is \
                 the limit; shorten --txt-prefix or the host name"
            ),
        ),
    ] {
        check_with(affixes, "zone ex.com", &change, &[&expected]);
    }
    // The template gives the type a label of its own.
    check_with(
        ("%{record_type}.", "", ""),
        "zone ex.com",
        &format!("+ {host}.ex.com A 192.0.2.1"),
        &[&format!("+ a.{host}.ex.com TXT !me")],
    );
    // So does the name for an apex.
    check(
        &format!("zone {host}.com"),
        &format!("+ {host}.com A 192.0.2.1"),
        &[&format!("+ a-_apex.{host}.com TXT !me")],
    );
    let deep = format!("{}.ex.com", vec!["x".repeat(60); 4].join("."));
    let reason = &verdict(
        &decorate(&registry("much-too-long.", "", ""), &World::new("zone ex.com"), &[&format!("+ {deep} A 192.0.2.1")])
            [0],
    )[0];
    assert!(reason.contains("253 characters is the limit; shorten --txt-prefix or the host name"), "{reason}");
}

#[test]
fn labels_that_would_be_misread_are_not_written() {
    let world = World::new("zone ex.com");
    let results = decorate(&registry("", "", ""), &world, &["+ www.ex.com A 192.0.2.1 [r,external-dns/owner=other]"]);
    assert!(
        verdict(&results[0])[0].contains("cannot be written into an ownership record"),
        "{:?}",
        verdict(&results[0])
    );
}
