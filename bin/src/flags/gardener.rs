//! The flags of `zonewright gardener`: those that Gardener's extensions have in common, and those of providers and registries.
//!
//! Switches are taken in the form of those extensions too: `--leader-election=true`.

use std::ffi::OsString;

use zonewright_core::catalog::FlagKind::{Bool, Choice, Duration, Int, List, Text};
use zonewright_core::catalog::{FlagSpec, Settings};

use super::set::FlagSet;
use super::table::{KUBECONFIG, LOG_FORMAT, LOG_LEVEL, OWNER_ID, SERVER};

/// The name of the command.
pub(super) const WORD: &str = "gardener";

pub(super) const ABOUT: &str = "Run as an extension controller of Gardener: records for DNSRecord objects";

/// The flags of the command itself.
pub(super) const FLAGS: &[FlagSpec] = &[
    KUBECONFIG,
    SERVER,
    FlagSpec::new("kube-api-request-timeout", Duration, "Time-out of requests to the API server; 0: no limit")
        .or("30s"),
    FlagSpec::new("kube-api-qps", Int, "Maximum requests to the API server per second, without watches and events")
        .or("100"),
    FlagSpec::new("kube-api-burst", Int, "Maximum burst of requests to the API server").or("130"),
    FlagSpec::new(
        "types",
        List,
        "Types of DNSRecords to handle, separated by commas; repeatable; empty: all whose provider is built in",
    ),
    FlagSpec::new(
        "extension-classes",
        List,
        "Classes of DNSRecords to handle (garden, seed, shoot), separated by commas; repeatable; empty: shoot",
    ),
    FlagSpec::new(
        "dnsrecord-max-concurrent-reconciles",
        Int,
        "Maximum number of DNSRecords of one account that are worked on at once",
    )
    .or("5"),
    FlagSpec::new(
        "ignore-operation-annotation",
        Bool,
        "Follow every change of a spec, without an operation annotation",
    ),
    FlagSpec::new("registry", Choice(&["noop", "txt"]), "Registry: where the ownership of records is stored")
        .or("noop"),
    OWNER_ID,
    FlagSpec::new("health-bind-address", Text, "Listen address for /healthz and /readyz").or(":8081"),
    FlagSpec::new("metrics-bind-address", Text, "Listen address for /metrics").or(":8080"),
    FlagSpec::new("leader-election", Bool, "Work only while holding a lease; several replicas may run").or("true"),
    FlagSpec::new("leader-election-namespace", Text, "Namespace of that lease; empty: that of the pod"),
    FlagSpec::new("leader-election-id", Text, "Name of that lease").or("zonewright-gardener-leader-election"),
    FlagSpec::new("heartbeat-namespace", Text, "Namespace of the heartbeat lease; empty: that of the pod"),
    FlagSpec::new("heartbeat-renew-interval-seconds", Int, "Interval of the heartbeat in seconds").or("30"),
    FlagSpec::new("admission", Bool, "Serve the admission webhook of DNSRecords, and handle none"),
    FlagSpec::new("admission-bind-address", Text, "Listen address of the admission webhook").or(":10250"),
    FlagSpec::new("admission-cert-dir", Text, "Folder with tls.crt and tls.key of the admission webhook")
        .or("/etc/zonewright/tls"),
    LOG_FORMAT,
    LOG_LEVEL,
];

/// Refuses settings that cannot work, by name.
///
/// # Errors
/// One sentence that names the flag.
pub(super) fn check(settings: &Settings) -> Result<(), String> {
    for flag in
        ["dnsrecord-max-concurrent-reconciles", "heartbeat-renew-interval-seconds", "kube-api-qps", "kube-api-burst"]
    {
        if settings.int(flag) < 1 {
            return Err(format!("--{flag}={}: expected at least 1", settings.int(flag)));
        }
    }
    if settings.text("registry") == "txt" && !settings.given("txt-owner-id") {
        return Err("--registry=txt needs --txt-owner-id: all seeds of a garden have the same one".to_owned());
    }
    Ok(())
}

/// `--switch=true` and `--switch=false` in the grammar of the other commands.
pub(super) fn switch(argument: OsString, set: &FlagSet) -> OsString {
    let rewritten = argument.to_str().and_then(|text| {
        let (name, value) = text.strip_prefix("--")?.split_once('=')?;
        let on = matches!(value, "true" | "1" | "t");
        let known = set.switch(name).is_some() && (on || matches!(value, "false" | "0" | "f"));
        known.then(|| if on { format!("--{name}") } else { format!("--no-{name}") })
    });
    rewritten.map_or(argument, OsString::from)
}
