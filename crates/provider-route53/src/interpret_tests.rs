use zonewright_core::endpoint::{EndpointExtras, ObjectRef, Origin, Sharing, TypeMeta};
use zonewright_core::record::{Routing, SetId};
use zonewright_core::zone::InstanceId;

use super::*;

const DEFAULTS: Defaults = Defaults { prefer_cname: false, evaluate_health: true };
const BALANCER: &str = "web-1.eu-west-1.elb.amazonaws.com";

fn zone() -> Zone {
    Zone::new(&InstanceId::from("aws"), "Z1", DnsName::parse("example.org").unwrap())
}

fn endpoint(name: &str, rtype: RecordType, target: &str, properties: &[(&str, &str)]) -> Endpoint {
    let object = ObjectRef {
        types: TypeMeta::new("v1", "Service"),
        namespace: "shop".into(),
        name: "web".into(),
        uid: "".into(),
    };
    Endpoint {
        name: DnsName::parse(name).unwrap(),
        rtype,
        targets: Targets::Records(vec![RData::parse(rtype, target).unwrap()]),
        ttl: zonewright_core::Ttl::from_secs(60),
        origin: Arc::new(Origin { source: "service".into(), rank: 0, object, created: None, choice: None }),
        resource: None,
        sharing: Sharing::Holder,
        policy: None,
        extras: EndpointExtras {
            properties: properties.iter().map(|(key, value)| (Arc::from(*key), Arc::from(*value))).collect(),
            ..EndpointExtras::default()
        }
        .into(),
    }
}

fn cname(target: &str, properties: &[(&str, &str)]) -> Interpretation {
    interpret(&zone(), &endpoint("www.example.org", RecordType::Cname, target, properties), DEFAULTS)
}

/// The types, and the target, zone and health of each alias.
fn shown(made: &Interpretation) -> Vec<String> {
    let one = |form: &Endpoint| match &form.targets {
        Targets::Alias(alias) => {
            let zone = alias.zone.as_deref().unwrap_or("?");
            format!("{} alias {} {zone} {}", form.rtype, alias.target, alias.evaluate_health)
        }
        Targets::Records(records) => format!("{} {}", form.rtype, records[0]),
    };
    made.forms.iter().flatten().map(one).collect()
}

#[test]
fn a_load_balancer_becomes_two_aliases() {
    let made = cname(BALANCER, &[]);
    let alias = |rtype| format!("{rtype} alias {BALANCER} Z32O12XQLNTSW2 true");
    assert_eq!(shown(&made), [alias("A"), alias("AAAA")]);
    let forms = made.forms.unwrap();
    assert!(forms.iter().all(|form| form.ttl.is_none() && form.extras.properties.is_empty()));
}

#[test]
fn what_decides_between_alias_and_cname() {
    let plain = |target: &str| vec![format!("CNAME {target}.")];
    assert_eq!(shown(&cname(BALANCER, &[("alias", "false")])), plain(BALANCER));
    assert_eq!(shown(&cname("www.example.net", &[])), plain("www.example.net"));
    assert_eq!(shown(&cname("www.example.net", &[("alias", "perhaps")])), plain("www.example.net"));
    let preferring = Defaults { prefer_cname: true, ..DEFAULTS };
    let host = endpoint("www.example.org", RecordType::Cname, BALANCER, &[]);
    assert_eq!(shown(&interpret(&zone(), &host, preferring)), plain(BALANCER));
    let host = endpoint("www.example.org", RecordType::Cname, BALANCER, &[("alias", "true")]);
    assert_eq!(shown(&interpret(&zone(), &host, preferring)).len(), 2);
    for (stated, rtype) in [("A", "A"), ("AAAA", "AAAA")] {
        let made = shown(&cname(BALANCER, &[("alias", stated)]));
        assert_eq!(made, [format!("{rtype} alias {BALANCER} Z32O12XQLNTSW2 true")]);
    }
}

#[test]
fn the_zone_of_an_alias() {
    let stated =
        [("alias", "true"), ("aws/target-hosted-zone", "/hostedzone/Z9"), ("aws/evaluate-target-health", "false")];
    assert_eq!(shown(&cname("www.example.net", &stated))[0], "A alias www.example.net Z9 false");
    assert_eq!(shown(&cname("other.example.org", &[("alias", "true")]))[0], "A alias other.example.org Z1 true");
    let refused = cname("www.example.net", &[("alias", "true")]);
    assert_eq!((shown(&refused).len(), refused.forms.is_some()), (0, true));
    assert!(refused.notes[0].message.contains("aws/target-hosted-zone"), "{:?}", refused.notes);
}

#[test]
fn a_pin_is_a_zone() {
    for id in ["Z7", "/hostedzone/Z7"] {
        assert_eq!(cname(BALANCER, &[("aws/hosted-zone-id", id)]).zone, Some(ZoneId::from("Z7")));
    }
    assert_eq!(cname(BALANCER, &[("aws/hosted-zone-id", " ")]).zone, None);
}

#[test]
fn a_policy_needs_an_identifier() {
    let weighted = [("aws/weight", "10"), ("aws/health-check-id", "abc")];
    let refused = cname("www.example.net", &weighted);
    assert!(refused.forms.as_ref().is_some_and(Vec::is_empty));
    assert!(refused.notes[0].message.contains("set-identifier"), "{:?}", refused.notes);
    let asked = endpoint("www.example.org", RecordType::Cname, BALANCER, &weighted);
    let made = interpret(&zone(), &asked.with(|extras| extras.set_id = SetId::new("blue")), DEFAULTS);
    let forms = made.forms.unwrap();
    assert_eq!(forms.len(), 2);
    for form in forms {
        assert_eq!(form.extras.routing, Routing::Weighted { weight: 10 });
        assert_eq!(form.extras.properties.keys().map(|key| &**key).collect::<Vec<_>>(), ["aws/health-check-id"]);
    }
}

#[test]
fn what_does_not_apply_is_reported() {
    let address = endpoint("www.example.org", RecordType::A, "192.0.2.1", &[("alias", "true")]);
    let made = interpret(&zone(), &address, DEFAULTS);
    assert_eq!((shown(&made), made.notes.len()), (vec!["A 192.0.2.1".to_owned()], 1));
    let made = cname(BALANCER, &[("aws/evaluate-target-health", "yes")]);
    assert!(shown(&made)[0].ends_with("false") && made.notes[0].message.contains("expected `true`"));
    let mut two = endpoint("www.example.org", RecordType::Cname, BALANCER, &[]);
    let more = RData::parse(RecordType::Cname, "other.example.net").unwrap();
    two.targets = Targets::Records([two.targets.as_records(), &[more]].concat());
    let made = interpret(&zone(), &two, DEFAULTS);
    assert_eq!((shown(&made).len(), made.notes.len()), (2, 1));
}

/// An S3 website is an alias of one family where external-dns cannot publish a CNAME, and where the object asks for one.
#[test]
fn a_website_is_an_alias_at_the_apex() {
    const WEBSITE: &str = "s3-website-eu-west-1.amazonaws.com";
    let alias = vec![format!("A alias {WEBSITE} Z1BKCTXD74EZPE true")];
    let bucket = |name: &str| format!("{name}.{WEBSITE}");
    for (name, target, properties, expected) in [
        ("example.org", WEBSITE.to_owned(), &[][..], alias.clone()),
        ("example.org", bucket("example.org"), &[], alias.clone()),
        ("www.example.org", bucket("www.example.org"), &[("alias", "true")], alias.clone()),
        ("www.example.org", bucket("www.example.org"), &[], vec![format!("CNAME www.example.org.{WEBSITE}.")]),
        ("example.org", bucket("example.org"), &[("alias", "false")], vec![format!("CNAME example.org.{WEBSITE}.")]),
        // The bucket of another name: no alias leads there.
        ("example.org", bucket("other.example.net"), &[], vec![format!("CNAME other.example.net.{WEBSITE}.")]),
    ] {
        let host = endpoint(name, RecordType::Cname, &target, properties);
        assert_eq!(shown(&interpret(&zone(), &host, DEFAULTS)), expected, "{name} {target} {properties:?}");
    }
}
