//! Hosts of routes and listeners: what may be one, and what two of them have in common.
//!
//! In come names, out go names. What must hold: the common host is served by both sides, and the order of the two does not
//! matter.

use zonewright_core::DnsName;

/// Whether a name, without `*` as its first label, is one by RFC 1123: letters, digits and inner `-` in each label, and no
/// IP address.
///
/// # Errors
/// What speaks against it.
pub(super) fn check(name: &DnsName) -> Result<(), &'static str> {
    if name.as_str().parse::<std::net::IpAddr>().is_ok() {
        return Err("it is an IP address");
    }
    let fits = |label: &str| {
        label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let mut labels = name.labels().skip(usize::from(name.is_wildcard()));
    if name.is_wildcard() && name.label_count() == 1 {
        return Err("there is no name behind the wildcard");
    }
    if !labels.all(fits) {
        return Err("a label has another character than letters, digits and inner dashes");
    }
    Ok(())
}

/// The more specific of two hosts, where one of them serves the other. A wildcard serves every name below it, however deep,
/// and not the name itself.
pub(super) fn common<'n>(a: &'n DnsName, b: &'n DnsName) -> Option<&'n DnsName> {
    if a == b || serves(a, b) {
        Some(b)
    } else if serves(b, a) {
        Some(a)
    } else {
        None
    }
}

fn serves(wildcard: &DnsName, name: &DnsName) -> bool {
    let Some(base) = wildcard.parent().filter(|_| wildcard.is_wildcard()) else { return false };
    *name != base && name.is_within(&base)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> DnsName {
        DnsName::parse(text).expect("a name")
    }

    /// G39, and what the API's own pages say of `hostname` and `hostnames`.
    #[test]
    fn hosts_in_common() {
        for (a, b, expected) in [
            ("example.net", "example.net", Some("example.net")),
            ("example.net", "EXAMPLE.net.", Some("example.net")),
            ("*.example.net", "test.example.net", Some("test.example.net")),
            ("*.example.net", "a.example.net", Some("a.example.net")),
            ("*.example.net", "foo.bar.test.example.net", Some("foo.bar.test.example.net")),
            ("*.example.net", "*.example.net", Some("*.example.net")),
            ("*.example.net", "*.a.example.net", Some("*.a.example.net")),
            ("*.a.example.net", "b.a.example.net", Some("b.a.example.net")),
            ("*.example.net", "example.net", None),
            ("*.example.net", "test-example.net", None),
            ("*.example.net", "test.example.org", None),
            ("*.a.example.net", "*.b.example.net", None),
            ("test.example.net", "example.net", None),
        ] {
            let (a, b, expected) = (name(a), name(b), expected.map(name));
            assert_eq!(common(&a, &b), expected.as_ref(), "{a} {b}");
            assert_eq!(common(&b, &a), expected.as_ref(), "{b} {a}");
        }
    }

    /// G41.
    #[test]
    fn what_is_a_host() {
        let long = format!("{}.example", "a".repeat(63));
        for (text, good) in [
            ("example", true),
            ("example.net", true),
            ("test-with-dash.example.net", true),
            ("*.example.net", true),
            ("3com.net", true),
            (long.as_str(), true),
            ("-a.example.net", false),
            ("a-.example.net", false),
            ("a_b.example.net", false),
            ("a+b.example.net", false),
            ("a(b).example.net", false),
            ("a.*.example.net", false),
            ("*example.net", false),
            ("*", false),
            ("1.2.3.4", false),
        ] {
            assert_eq!(check(&name(text)).is_ok(), good, "{text}");
        }
    }
}
