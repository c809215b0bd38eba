//! The same flags at Route 53 and at Cloud DNS.

use zonewright_testkit::{KubeApi, require};

use super::plane::{EXTERNAL, Plane};
use crate::daemon::CommandLine;
use crate::site::ZONE;
use crate::{LATER, until};

/// Waits until a zone holds these lines, in whatever order.
#[track_caller]
fn shows(shown: impl Fn() -> Vec<String>, expected: &[&str]) {
    let mut expected: Vec<String> = expected.iter().map(|line| (*line).to_owned()).collect();
    expected.sort();
    let seen = zonewright_testkit::poll(LATER, || (shown() == expected).then_some(()));
    assert!(seen.is_some(), "the zone holds {:#?}, expected {expected:#?}", shown());
}

/// Values of the API's two names with these nodes: outside and inside.
fn api(numbers: &[u8]) -> [String; 2] {
    let joined = |network: &str| -> String {
        let values: Vec<String> = numbers.iter().map(|number| format!("{network}.{number}")).collect();
        values.join(" ")
    };
    [joined("203.0.113"), joined("10.0.0")]
}

/// Three control-plane nodes come up one after another, are rolled one after another, and one is lost; `shows` waits for what the zone
/// holds after each step.
#[track_caller]
fn life(plane: &Plane, shows: impl Fn(&[u8])) {
    for (number, now) in [(1, &[1][..]), (2, &[1, 2]), (3, &[1, 2, 3])] {
        plane.join(number);
        shows(now);
    }
    for (old, new, now) in [(1, 4, [2, 3, 4]), (2, 5, [3, 4, 5]), (3, 6, [4, 5, 6])] {
        plane.leave(old);
        plane.join(new);
        shows(&now);
    }
    plane.leave(6);
    shows(&[4, 5]);
}

#[cfg(feature = "provider-route53")]
mod route53 {
    use zonewright_fakes::route53::{RecordSet, Route53};

    use super::*;

    const ACCOUNT: &str = "000000000001";
    const BALANCER: &str = "web-1.eu-west-1.elb.amazonaws.com";

    fn line(plane: &Plane, service: &Route53) -> CommandLine {
        let provider = CommandLine::default()
            .args(&["--aws-batch-change-interval=0s", "--aws-api-qps=100"])
            .env("AWS_ACCESS_KEY_ID", "AKIDFAKE")
            .env("AWS_SECRET_ACCESS_KEY", "s3cr3t-of-the-key")
            .env("AWS_ENDPOINT_URL", &service.url())
            .env("AWS_EC2_METADATA_DISABLED", "true");
        plane.line(&provider, "aws-route53")
    }

    /// Name, type, TTL and values of every set but SOA, NS and TXT.
    fn shown(service: &Route53, zone: &str) -> Vec<String> {
        let sets = service.sets(zone).into_iter().filter(|set| !["SOA", "NS", "TXT"].contains(&set.kind.as_str()));
        let mut shown: Vec<String> = sets.map(|set| of(&set)).collect();
        shown.sort();
        shown
    }

    fn of(set: &RecordSet) -> String {
        let name = set.name.trim_end_matches('.');
        if let Some(alias) = &set.alias {
            return format!("{name} {} alias {}", set.kind, alias.name.trim_end_matches('.'));
        }
        let mut values = set.values.clone();
        values.sort();
        format!("{name} {} {} {}", set.kind, set.ttl.unwrap_or_default(), values.join(" "))
    }

    #[track_caller]
    fn shows(service: &Route53, zone: &str, expected: &[&str]) {
        super::shows(|| shown(service, zone), expected);
    }

    /// Two zones of one name: neither is managed, and that is reported; with an id the right one is. Host names of load balancers are aliases.
    #[test]
    fn a_zone_by_its_id_and_load_balancers_as_aliases() {
        require!(KubeApi::TOOLS);
        let (plane, service) = (Plane::start(), Route53::start());
        let public = service.add_zone(ACCOUNT, ZONE, false, &[]);
        let private = service.add_zone(ACCOUNT, ZONE, true, &[]);
        let foreign = RecordSet::new(&format!("legacy.{ZONE}."), "A", 3600, &["198.51.100.7"]);
        service.put(&private, foreign.clone());
        plane.join(1);
        plane.service("web", "LoadBalancer", &[(EXTERNAL, &format!("web.{ZONE}"))]);
        plane.reached_at("services", "web", &[BALANCER]);

        let daemon = line(&plane, &service).arg(format!("--zone={ZONE}")).start();
        let said = daemon.says_within(&[&format!("2 zones have the name {ZONE}, so none of them is managed")], LATER);
        assert!(said.contains(&private) && said.contains(&public), "{said}");
        plane.expect_event("default", "web", "NoMatchingZone", &format!("--zone={ZONE}/{private}"));
        drop(daemon);
        assert!(shown(&service, &public).is_empty() && shown(&service, &private).len() == 1);

        let rule = format!("--zone=*/{private}");
        let daemon = line(&plane, &service).args(&[&rule, "--route53-batch-size=10"]).start();
        let legacy = format!("legacy.{ZONE} A 3600 198.51.100.7");
        let api = [format!("api.{ZONE} A 60 203.0.113.1"), format!("api.internal.{ZONE} A 60 10.0.0.1")];
        let alias = ["A", "AAAA"].map(|kind| format!("web.{ZONE} {kind} alias {BALANCER}"));
        shows(&service, &private, &[&api[0], &api[1], &legacy, &alias[0], &alias[1]]);
        plane.join(2);
        let both =
            [format!("api.{ZONE} A 60 203.0.113.1 203.0.113.2"), format!("api.internal.{ZONE} A 60 10.0.0.1 10.0.0.2")];
        shows(&service, &private, &[&both[0], &both[1], &legacy, &alias[0], &alias[1]]);
        drop(daemon);

        // The way of dns-controller's code; the names are still the cluster's.
        let daemon = line(&plane, &service).args(&[&rule, "--kops-cname"]).start();
        let cname = format!("web.{ZONE} CNAME 60 {BALANCER}");
        shows(&service, &private, &[&both[0], &both[1], &legacy, &cname]);
        drop(daemon);
        assert!(shown(&service, &public).is_empty(), "the other zone is never written to");
        assert!(service.sets(&private).contains(&foreign) && !service.calls().contains_key("UPSERT"));
    }

    /// With the flags that kops gives, in an account that has other zones: kops' credentials allow the cluster's alone.
    #[test]
    fn zones_that_the_wildcard_takes_and_nobody_needs() {
        require!(KubeApi::TOOLS);
        let (plane, service) = (Plane::start(), Route53::start());
        let zone = service.add_zone(ACCOUNT, ZONE, false, &[]);
        let other = service.add_zone(ACCOUNT, "other.test", false, &[]);
        service.forbid(&other, true);
        plane.join(1);
        let daemon = line(&plane, &service).args(&[&format!("--zone=*/{zone}"), "--zone=*/*"]).start();
        let [external, internal] = api(&[1]);
        let both = [format!("api.{ZONE} A 60 {external}"), format!("api.internal.{ZONE} A 60 {internal}")];
        shows(&service, &zone, &[&both[0], &both[1]]);
        daemon.says_within(&["the zone may not be read; only a wildcard takes it, and no object needs it"], LATER);
        daemon.ready();
        // An object needs it now.
        plane.reached("services", "astray", "astray.other.test", "192.0.2.66");
        daemon.unready(&["zone other.test: ", "not authorized to perform: route53:ListResourceRecordSets"], LATER);
        plane.expect_event("default", "astray", "ZoneNotServed", "astray.other.test");
        service.forbid(&other, false);
        shows(&service, &other, &["astray.other.test A 60 192.0.2.66"]);
        daemon.ready();
    }

    /// The API's names are there all the time, whatever stands in the way elsewhere.
    #[test]
    fn a_control_plane_comes_up_is_rolled_and_loses_a_node() {
        require!(KubeApi::TOOLS);
        let (plane, service) = (Plane::start(), Route53::start());
        let zone = service.add_zone(ACCOUNT, ZONE, false, &[]);
        let foreign = RecordSet::new(&format!("legacy.{ZONE}."), "A", 3600, &["198.51.100.7"]);
        service.put(&zone, foreign.clone());
        plane.reached("services", "clash", &format!("legacy.{ZONE}"), "192.0.2.66");
        let daemon = line(&plane, &service).start();
        let legacy = format!("legacy.{ZONE} A 3600 198.51.100.7");
        life(&plane, |numbers| {
            let [external, internal] = api(numbers);
            let [api, inner] = [format!("api.{ZONE} A 60 {external}"), format!("api.internal.{ZONE} A 60 {internal}")];
            shows(&service, &zone, &[&api, &inner, &legacy]);
        });
        plane.expect_event("default", "clash", "ForeignRecord", &format!("legacy.{ZONE}"));
        drop(daemon);
        for name in ["api", "api.internal"] {
            assert_eq!(service.vanished(&zone, &format!("{name}.{ZONE}"), "A"), 0, "{name} was away in between");
        }
        assert!(service.sets(&zone).contains(&foreign));
    }

    /// There and back: the CNAMEs and addresses that dns-controller wrote are adopted with `--kops-cname`, become aliases without it, and
    /// CNAMEs again before dns-controller, which writes no aliases, takes over.
    #[test]
    fn host_names_of_load_balancers_there_and_back() {
        require!(KubeApi::TOOLS);
        let (plane, service) = (Plane::start(), Route53::start());
        let zone = service.add_zone(ACCOUNT, ZONE, false, &[]);
        service.put(&zone, RecordSet::new(&format!("web.{ZONE}."), "CNAME", 60, &[BALANCER]));
        plane.reached("services", "web", &format!("web.{ZONE}"), BALANCER);
        let cname = format!("web.{ZONE} CNAME 60 {BALANCER}");
        let alias = ["A", "AAAA"].map(|kind| format!("web.{ZONE} {kind} alias {BALANCER}"));
        let line = line(&plane, &service).arg("--adopt-unowned");
        // Wanted as an alias it is another record, so it is foreign.
        let daemon = line.start();
        plane.expect_event("default", "web", "ForeignRecord", &format!("web.{ZONE}"));
        shows(&service, &zone, &[&cname]);
        drop(daemon);
        let daemon = line.clone().arg("--kops-cname").start();
        let claimed =
            || service.sets(&zone).iter().any(|set| set.kind == "TXT" && set.values[0].contains(&plane.owner()));
        until("its claim", LATER, claimed);
        shows(&service, &zone, &[&cname]);
        drop(daemon);
        let daemon = line.start();
        shows(&service, &zone, &[&alias[0], &alias[1]]);
        drop(daemon);
        let daemon = line.arg("--kops-cname").start();
        shows(&service, &zone, &[&cname]);
        drop(daemon);
    }

    /// `--route53-batch-size` is the number of changes in one call; a record and its claim are two, and never parted.
    #[test]
    fn calls_have_as_many_changes_as_the_batch_size_says() {
        require!(KubeApi::TOOLS);
        let (plane, service) = (Plane::start(), Route53::start());
        let zone = service.add_zone(ACCOUNT, ZONE, false, &[]);
        let hosts: Vec<String> = (0..6).map(|number| format!("n{number}.{ZONE}")).collect();
        plane.service("web", "LoadBalancer", &[(EXTERNAL, &hosts.join(","))]);
        plane.reached_at("services", "web", &["192.0.2.1"]);
        let expected: Vec<String> = hosts.iter().map(|host| format!("{host} A 60 192.0.2.1")).collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        let calls = || {
            let calls = service.calls();
            let of = |word: &str| calls.get(word).copied().unwrap_or_default();
            [of("ChangeResourceRecordSets"), of("CREATE"), of("DELETE")]
        };
        let daemon = line(&plane, &service).arg("--route53-batch-size=4").start();
        shows(&service, &zone, &expected);
        assert_eq!(calls(), [3, 12, 0]);
        plane.delete("services", "web");
        shows(&service, &zone, &[]);
        assert_eq!(calls(), [6, 12, 12]);
        drop(daemon);
    }

    /// Of zones one within the other a name goes to the innermost one that the rules leave and to no other, be it public or private; hosts
    /// of Ingresses at load balancers are aliases, too.
    #[test]
    fn inner_and_outer_zones() {
        require!(KubeApi::TOOLS);
        let (plane, service) = (Plane::start(), Route53::start());
        let outer = service.add_zone(ACCOUNT, ZONE, false, &[]);
        let inner = service.add_zone(ACCOUNT, &format!("internal.{ZONE}"), true, &[]);
        plane.join(1);
        plane.ingress("web", &format!("web.internal.{ZONE}"), &[BALANCER]);
        let api = format!("api.{ZONE} A 60 203.0.113.1");
        let below = [
            format!("api.internal.{ZONE} A 60 10.0.0.1"),
            format!("web.internal.{ZONE} A alias {BALANCER}"),
            format!("web.internal.{ZONE} AAAA alias {BALANCER}"),
        ];
        let below: Vec<&str> = below.iter().map(String::as_str).collect();
        let daemon = line(&plane, &service).args(&["--zone", "*"]).start();
        shows(&service, &inner, &below);
        shows(&service, &outer, &[&api]);
        drop(daemon);
        // Without the inner zone among those that are managed, its names are the outer one's.
        service.drop_zone(&inner);
        let inner = service.add_zone(ACCOUNT, &format!("internal.{ZONE}"), false, &[]);
        let daemon = line(&plane, &service).arg(format!("--zone={ZONE}")).start();
        shows(&service, &outer, &[&[&*api][..], &below[..]].concat());
        drop(daemon);
        assert!(shown(&service, &inner).is_empty());
    }
}

#[cfg(feature = "provider-clouddns")]
mod clouddns {
    use zonewright_fakes::clouddns::{CloudDns, Kind, RecordSet};

    use super::*;

    const PROJECT: &str = "shop";

    fn line(plane: &Plane, service: &CloudDns) -> CommandLine {
        let provider = CommandLine::default()
            .args(&["--google-batch-change-interval=0s", "--google-api-qps=100"])
            .env("CLOUDSDK_API_ENDPOINT_OVERRIDES_DNS", &service.url())
            .env("CLOUDSDK_CONFIG", "/nowhere")
            .env("GCE_METADATA_HOST", service.url().trim_start_matches("http://"));
        plane.line(&provider, "google-clouddns")
    }

    /// Name, type, TTL and values of every set but SOA, NS and TXT.
    fn shown(service: &CloudDns, zone: &str) -> Vec<String> {
        let sets = service.sets(zone).into_iter().filter(|set| !["SOA", "NS", "TXT"].contains(&set.kind.as_str()));
        let line = |set: RecordSet| {
            let mut values = set.rrdatas.clone();
            values.sort();
            format!("{} {} {} {}", set.name.trim_end_matches('.'), set.kind, set.ttl, values.join(" "))
        };
        let mut shown: Vec<String> = sets.map(line).collect();
        shown.sort();
        shown
    }

    /// The rules choose the zone by its number, as for dns-controller; host names of load balancers are CNAMEs, since there are no aliases; a
    /// clashing record of another writer holds nothing up, and the API's names are there all the time.
    #[test]
    fn a_control_plane_comes_up_is_rolled_and_loses_a_node() {
        require!(KubeApi::TOOLS);
        let (plane, service) = (Plane::start(), CloudDns::start());
        service.set_machine(Some(PROJECT));
        let zone = service.add_zone(PROJECT, "shop-zone", &format!("{ZONE}."), Kind::Public);
        let other = service.add_zone(PROJECT, "shop-twin", &format!("{ZONE}."), Kind::Public);
        let foreign = RecordSet::new(&format!("legacy.{ZONE}."), "A", 3600, &["198.51.100.7"]);
        service.put(&zone, foreign.clone());
        plane.service("web", "LoadBalancer", &[(EXTERNAL, &format!("web.{ZONE}, legacy.{ZONE}"))]);
        plane.reached_at("services", "web", &["lb.cloud.test"]);
        let daemon = line(&plane, &service).arg(format!("--zone=*/{zone},*")).start();
        let legacy = format!("legacy.{ZONE} A 3600 198.51.100.7");
        let web = format!("web.{ZONE} CNAME 60 lb.cloud.test.");
        life(&plane, |numbers| {
            let [external, internal] = api(numbers);
            let [api, inner] = [format!("api.{ZONE} A 60 {external}"), format!("api.internal.{ZONE} A 60 {internal}")];
            shows(|| shown(&service, &zone), &[&api, &inner, &legacy, &web]);
        });
        plane.expect_event("default", "web", "ForeignRecord", &format!("legacy.{ZONE}"));
        drop(daemon);
        for name in ["api", "api.internal"] {
            assert_eq!(service.vanished(&zone, &format!("{name}.{ZONE}."), "A"), 0, "{name} was away in between");
        }
        assert!(shown(&service, &other).is_empty(), "the other zone of the name is never written to");
        assert!(service.sets(&zone).contains(&foreign));
    }
}
