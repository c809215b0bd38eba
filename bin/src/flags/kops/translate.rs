//! From the values of dns-controller's flags to the daemon's settings.
//!
//! In come both; the daemon's are changed. What must hold: what the user said of the daemon's own flags stands, where dns-controller has
//! no flag of its own for it.

use std::time::Duration;

use zonewright_core::catalog::{FlagValue, Settings};
use zonewright_core::zone_rules::ZoneRules;
use zonewright_source_k8s::options::KOPS;

use super::table::CLIENT;

/// The name of a provider in dns-controller, and here.
const PROVIDERS: [(&str, &str); 2] = [("aws-route53", "aws"), ("google-clouddns", "google")];

/// Providers of dns-controller that are not here.
const ABSENT: [&str; 4] = ["digitalocean", "openstack-designate", "scaleway", "gossip"];

/// Sets what the flags mean.
///
/// # Errors
/// What is wrong with a value, and what was expected.
pub(in crate::flags) fn translate(own: &Settings, settings: &mut Settings) -> Result<(), String> {
    if !own.bool("internal-ipv4") && !own.bool("internal-ipv6") {
        return Err("must specify at least one of --internal-ipv4 and --internal-ipv6".to_owned());
    }
    let mut set = |name: &'static str, value: FlagValue| settings.set(name, value, false);
    let text = |name: &str| FlagValue::Text(own.text(name).to_owned());
    set(KOPS, FlagValue::Bool(true));
    for name in ["watch-ingress", "internal-ipv4", "internal-ipv6", "kops-external-ipv6"] {
        set(name, FlagValue::Bool(own.bool(name)));
    }
    set("namespace", text("watch-namespace"));
    set("zone", FlagValue::List(zones(own)?));
    set("provider", FlagValue::Text(provider(own.text("dns"))?));
    if let Some(bad) = own.list("as-user-extra").iter().find(|pair| !pair.contains('=')) {
        return Err(format!("--as-user-extra={bad}: expected KEY=VALUE"));
    }
    for name in CLIENT {
        if let Some(value) = own.value(name) {
            set(name, value.clone());
        }
    }
    if own.bool("kops-cname") {
        set("aws-prefer-cname", FlagValue::Bool(true));
    }
    if own.bool("adopt-unowned") {
        set("adopt-matching", FlagValue::Bool(true));
    }
    if let Some(size) = positive(own, "route53-batch-size")? {
        set("aws-batch-change-size", FlagValue::Int(size));
    }
    let seconds = positive(own, "update-interval")?.map(|seconds| Duration::from_secs(seconds.unsigned_abs()));
    fill(settings, "interval", seconds.map(|length| FlagValue::Duration { length, negative: false }));
    fill(settings, "metrics-address", Some(text("metrics-listen")));
    fill(settings, "log-level", Some(FlagValue::Text(level(own.int("v")).to_owned())));
    fill(settings, "policy", Some(FlagValue::Text("sync".to_owned())));
    let kinds = ["service", "pod", "ingress"].iter().filter(|kind| own.bool("watch-ingress") || **kind != "ingress");
    settings.set("source", FlagValue::List(kinds.map(|kind| (*kind).to_owned()).collect()), false);
    if settings.text("registry") == "noop" {
        // Without claims everything in the zone would count as ours.
        settings.set("registry", FlagValue::Text("memory".to_owned()), false);
    }
    Ok(())
}

/// Sets a value, unless the user gave the daemon's own flag.
fn fill(settings: &mut Settings, name: &'static str, value: Option<FlagValue>) {
    if let Some(value) = value.filter(|_| !settings.given(name)) {
        settings.set(name, value, false);
    }
}

/// The zone rules of both spellings, checked.
fn zones(own: &Settings) -> Result<Vec<String>, String> {
    let rules: Vec<String> = own.list("zone").iter().chain(own.list("zones")).cloned().collect();
    ZoneRules::parse(rules.iter().map(String::as_str)).map_err(|problem| format!("{problem} (flag --zone)"))?;
    Ok(rules)
}

fn provider(word: &str) -> Result<String, String> {
    if ABSENT.contains(&word) {
        return Err(format!(
            "--dns={word} is not supported; expected aws-route53, google-clouddns or a provider of Zonewright, such as \
             --dns=webhook with a webhook provider for {word}"
        ));
    }
    let known = PROVIDERS.iter().find(|(theirs, _)| *theirs == word);
    Ok(known.map_or(word, |(_, ours)| ours).to_owned())
}

/// A number that says nothing where it is 0.
fn positive(own: &Settings, name: &str) -> Result<Option<i64>, String> {
    match own.int(name) {
        0 => Ok(None),
        number if number > 0 => Ok(Some(number)),
        _ => Err(format!("--{name} must not be negative")),
    }
}

/// The level of log lines at a verbosity of klog.
fn level(verbosity: i64) -> &'static str {
    match verbosity {
        ..=3 => "info",
        4 | 5 => "debug",
        6.. => "trace",
    }
}
