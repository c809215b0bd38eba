use std::ffi::OsString;

use zonewright_core::catalog::Settings;

use super::super::{Command, Stop, parse};
use crate::catalog::Catalog;

/// What every line has that is to be taken; the embedded DNS server is in every build that has a provider.
const USUAL: [&str; 2] = ["--dns=local", "--internal-ipv4"];

fn parsed(arguments: &[&str]) -> Result<Settings, String> {
    let words = ["kops"].into_iter().chain(arguments.iter().copied()).chain(["--manifests=/nowhere"]);
    match parse(&Catalog::built_in(), words.map(OsString::from), &|_| None) {
        Ok(invocation) => {
            assert_eq!(invocation.command, Command::Kops);
            Ok(invocation.settings)
        }
        Err(Stop::Refusal(problem)) => Err(problem),
        Err(Stop::Answer(text)) => panic!("{text}"),
    }
}

fn usual(arguments: &[&str]) -> Settings {
    let all: Vec<&str> = USUAL.into_iter().chain(arguments.iter().copied()).collect();
    parsed(&all).unwrap_or_else(|problem| panic!("{arguments:?}: {problem}"))
}

/// One setting as text.
fn shown(settings: &Settings, name: &str) -> String {
    use zonewright_core::catalog::FlagValue::{Bool, Duration, Int, List, Text};
    match settings.value(name) {
        Some(Bool(on)) => on.to_string(),
        Some(Text(text)) => text.clone(),
        Some(Int(number)) => number.to_string(),
        Some(Duration { length, .. }) => format!("{}s", length.as_secs()),
        Some(List(list)) => list.join(" "),
        other => format!("{other:?}"),
    }
}

#[cfg(feature = "provider-local")]
#[test]
fn every_flag_of_dns_controller() {
    for (arguments, setting, expected) in [
        (&[][..], "zone", ""),
        (&["--zone=a.com"], "zone", "a.com"),
        (&["--zone", "a.com,b.com/1"], "zone", "a.com b.com/1"),
        (&["-z", "a.com", "-z=b.com", "-zc.com", "--zones=*/1"], "zone", "a.com b.com c.com */1"),
        (&[], "source", "service pod ingress"),
        (&["--watch-ingress=false"], "source", "service pod"),
        (&["--watch-ingress=false"], "watch-ingress", "false"),
        (&["--watch-ingress=false", "--watch-ingress"], "watch-ingress", "true"),
        (&["--watch-namespace=shop", "--namespace=other"], "namespace", "shop"),
        (&["-n", "other"], "namespace", ""),
        (&["--internal-ipv6=1"], "internal-ipv6", "true"),
        (&[], "internal-ipv6", "false"),
        (&[], "interval", "60s"),
        (&["--update-interval=5"], "interval", "5s"),
        (&["--update-interval=5", "--update-interval", "7"], "interval", "7s"),
        (&["--update-interval=5", "--interval=9s"], "interval", "9s"),
        (&[], "metrics-address", ""),
        (&["--metrics-listen=:3999"], "metrics-address", ":3999"),
        (&[], "log-level", "info"),
        (&["-v=2"], "log-level", "info"),
        (&["--v=4"], "log-level", "debug"),
        (&["-v", "8"], "log-level", "trace"),
        (&["-v8", "--log-level=error"], "log-level", "error"),
        (&["--dns-server", "--odd"], "policy", "sync"),
        (&["--policy=upsert-only"], "policy", "upsert-only"),
        (
            &["--logtostderr", "--alsologtostderr=false", "--stderrthreshold=2", "--log_dir=/x", "--vmodule=a=1"],
            "kops",
            "true",
        ),
        (&["--kubeconfig", "/k", "--server=https://x"], "kubeconfig", "/k"),
        (&["-s", "https://x"], "server", "https://x"),
        (&["--request-timeout=10s"], "kube-api-request-timeout", "10s"),
        (&[], "registry", "txt"),
        (&["--registry=noop"], "registry", "memory"),
        (&[], "adopt-matching", "false"),
        (&["--adopt-unowned"], "adopt-matching", "true"),
        (&["--kops-cname"], "aws-prefer-cname", "true"),
        (&[], "kops-external-ipv6", "true"),
        (&["--kops-external-ipv6=false"], "kops-external-ipv6", "false"),
        (&["--txt-owner-id=me"], "txt-owner-id", "me"),
        (&["--dry-run=true"], "dry-run", "true"),
        (&["--brake=false"], "brake", "false"),
        (&["--no-brake"], "brake", "false"),
    ] {
        assert_eq!(shown(&usual(arguments), setting), expected, "{arguments:?} {setting}");
    }
}

#[cfg(feature = "provider-route53")]
#[test]
fn route53_is_the_default() {
    let settings = parsed(&["--internal-ipv4", "--route53-batch-size=50"]).unwrap();
    assert_eq!((settings.text("provider"), settings.int("aws-batch-change-size")), ("aws", 50));
    assert_eq!(parsed(&["--internal-ipv6"]).unwrap().int("aws-batch-change-size"), 1_000, "the provider's default");
    assert!(!parsed(&["--internal-ipv4"]).unwrap().bool("aws-prefer-cname"), "aliases where the provider has them");
}

#[cfg(feature = "provider-clouddns")]
#[test]
fn cloud_dns_by_the_word_of_dns_controller() {
    assert_eq!(parsed(&["--internal-ipv4", "--dns=google-clouddns"]).unwrap().text("provider"), "google");
}

/// The client flags are those of the connection, and a token is never shown.
#[test]
fn flags_of_a_kubernetes_client() {
    let settings = parsed(&[
        "--internal-ipv4",
        "--context=a",
        "--user",
        "u",
        "--token=geheim",
        "--certificate_authority=/ca.pem",
        "--insecure-skip-tls-verify",
        "--as-group=one,two",
        "--as-user-extra=scope=dns",
    ])
    .unwrap();
    for (name, value) in [("context", "a"), ("user", "u"), ("certificate-authority", "/ca.pem"), ("cluster", "")] {
        assert_eq!(settings.text(name), value, "{name}");
    }
    assert!(settings.secret("token").is_some() && settings.secret("password").is_none());
    assert!(settings.bool("insecure-skip-tls-verify") && !settings.bool("disable-compression"));
    assert_eq!(settings.list("as-group"), ["one", "two"]);
    assert_eq!(settings.list("as-user-extra"), ["scope=dns"]);
    assert!(!format!("{settings:?}").contains("geheim"));
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    for (arguments, expected) in [
        (&["--dns=local"][..], "must specify at least one of --internal-ipv4 and --internal-ipv6"),
        (&["--internal-ipv4=false", "--internal-ipv6=false"], "must specify at least one of"),
        (&["--internal-ipv4=maybe"], "strconv.ParseBool: parsing \"maybe\": invalid syntax (flag --internal-ipv4)"),
        (&["--internal-ipv4", "--dns=digitalocean"], "--dns=digitalocean is not supported; expected aws-route53"),
        (&["--internal-ipv4", "--dns=openstack-designate"], "--dns=openstack-designate is not supported"),
        (&["--internal-ipv4", "--dns=scaleway"], "a webhook provider for scaleway"),
        (&["--internal-ipv4", "--dns=gossip"], "--dns=gossip is not supported"),
        (&["--internal-ipv4", "--dns=acme"], "--provider=acme does not exist in Zonewright yet; available here"),
        (&["--internal-ipv4", "--zone=a..b"], "\"a..b\": "),
        (&["--internal-ipv4", "--update-interval=-1"], "--update-interval must not be negative"),
        (&["--internal-ipv4", "--route53-batch-size=-1"], "--route53-batch-size must not be negative"),
        (&["--internal-ipv4", "--gossip-listen=:1"], "--gossip-listen: gossip clusters"),
        (&["--internal-ipv4", "--as-user-extra=scope"], "--as-user-extra=scope: expected KEY=VALUE"),
        (&["--internal-ipv4", "--insecure-skip-tls-verify=x", "--token=geheim"], "(flag --insecure-skip-tls-verify)"),
        (&["--internal-ipv4", "--watch-ingresses"], "unknown long flag '--watch-ingresses'"),
        (&["--internal-ipv4", "-x"], "unknown short flag '-x'"),
        (&["--internal-ipv4", "word"], "unexpected word"),
    ] {
        let problem = parsed(arguments).expect_err("refused");
        assert!(problem.contains(expected), "{arguments:?}: {problem}");
        assert!(!problem.contains("geheim"), "{problem}");
    }
    let words = ["kops", "--internal-ipv4", "--zone"];
    let stop = parse(&Catalog::built_in(), words.map(OsString::from), &|_| None).unwrap_err();
    assert_eq!(stop, Stop::Refusal("flag parsing error: expected argument for flag '--zone'".to_owned()));
}

#[test]
fn the_help_text_lists_the_flags() {
    let words = ["kops", "--help"].map(OsString::from);
    let Err(Stop::Answer(text)) = parse(&Catalog::built_in(), words, &|_| None) else { panic!("no help text") };
    for flag in ["--dns", "--zone", "--watch-ingress", "--internal-ipv6", "--route53-batch-size", "--adopt-unowned"] {
        assert!(text.contains(flag), "{flag}: {text}");
    }
}

proptest::proptest! {
    /// Whatever stands on the line, it is taken or refused in a sentence.
    #[test]
    fn nothing_panics(words in proptest::collection::vec("[-a-z_=,./*0-9 ]{0,20}", 0..6)) {
        let arguments = ["kops".to_owned()].into_iter().chain(words.clone()).map(OsString::from);
        if let Err(Stop::Refusal(problem)) = parse(&Catalog::built_in(), arguments, &|_| None) {
            proptest::prop_assert!(!problem.is_empty());
        }
    }
}

/// No environment variable is read for dns-controller's flags, so none is promised.
#[test]
fn the_help_names_no_environment_variable() {
    let help = super::help();
    assert!(help.contains("--update-interval") && !help.contains("EXTERNAL_DNS_") && !help.contains("[env"), "{help}");
}
