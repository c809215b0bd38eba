//! Checks of the settings as a whole, in the order and words of external-dns, then our own.

use std::time::Duration;

use zonewright_core::RecordType;
use zonewright_core::catalog::{FlagSpec, FlagValue, Settings};
use zonewright_source_k8s::selector::MetadataSelector;

use super::Notice;
use super::selection::Selection;
use super::set::FlagSet;
use crate::catalog::Catalog;

/// Default of both time-outs of requests to the API server.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Carries deprecated flags over to those that took their place.
pub(super) fn carry_over(settings: &mut Settings, set: &FlagSet) -> Vec<Notice> {
    let mut notices = Vec::new();
    let old = settings.duration("request-timeout");
    if old != REQUEST_TIMEOUT {
        notices.push(Notice::Warning(if settings.given("kube-api-request-timeout") {
            "--request-timeout is deprecated and not looked at, since --kube-api-request-timeout is given".to_owned()
        } else {
            let negative = settings.is_negative("request-timeout");
            settings.set("kube-api-request-timeout", FlagValue::Duration { length: old, negative }, true);
            "--request-timeout is deprecated: use --kube-api-request-timeout".to_owned()
        }));
    }
    notices.extend(set.rows().iter().filter_map(|row| rename(&row.spec, settings)));
    notices
}

/// Carries the value of a flag over to the name that took its place.
fn rename(old: &FlagSpec, settings: &mut Settings) -> Option<Notice> {
    let (name, new) = (old.name, old.renamed_to.filter(|_| settings.given(old.name))?);
    let value = settings.value(name).filter(|value| !matches!(value, FlagValue::Bool(false)))?.clone();
    if settings.given(new) && !matches!(value, FlagValue::Bool(_)) {
        return Some(Notice::Warning(format!("--{name} is deprecated and not looked at, since --{new} is given")));
    }
    settings.set(new, value, true);
    Some(Notice::Warning(format!("--{name} is deprecated: use --{new}")))
}

/// Refuses settings that contradict each other.
///
/// # Errors
/// The first contradiction.
pub(super) fn check(settings: &Settings, selection: &Selection, catalog: &Catalog) -> Result<(), String> {
    refuse(
        settings.text("policy").is_empty() && !selection.webhook_server,
        "--policy must be set explicitly (one of: sync, upsert-only, create-only)",
    )?;
    catalog.provider(&selection.provider).map_or(Ok(()), |entry| (entry.check)(settings))?;
    let templates = settings.nonempty("fqdn-template");
    refuse(
        settings.bool("ignore-hostname-annotation") && templates.is_empty(),
        "FQDN Template must be set if ignoring annotations",
    )?;
    catalog.registry(&selection.registry).map_or(Ok(()), |entry| (entry.check)(settings))?;
    let invalid = |flag: &str, error| format!("--{flag} does not specify a valid label selector: {error}");
    MetadataSelector::labels(settings.text("label-filter")).map_err(|e| invalid("label-filter", e))?;
    MetadataSelector::annotations(settings.text("annotation-filter")).map_err(|e| invalid("annotation-filter", e))?;
    prefixes(settings)?;
    refuse(settings.int("kube-api-qps") <= 0, "--kube-api-qps must be greater than 0")?;
    refuse(settings.int("kube-api-burst") <= 0, "--kube-api-burst must be greater than 0")?;
    let ptr = settings.list("managed-record-types").iter().any(|rtype| rtype == "PTR");
    refuse(settings.bool("create-ptr") && !ptr, "--create-ptr requires PTR in --managed-record-types")?;
    ours(settings)
}

fn prefixes(settings: &Settings) -> Result<(), String> {
    for prefix in settings.list("annotation-prefix") {
        refuse(prefix.is_empty(), "--annotation-prefix cannot be empty")?;
        refuse(!prefix.ends_with('/'), "--annotation-prefix must end with '/'")?;
    }
    Ok(())
}

/// Flags that external-dns does not have.
fn ours(settings: &Settings) -> Result<(), String> {
    for name in ["status-grace", "brake-window", "approval-ttl", "start-timeout"] {
        refuse(settings.is_negative(name), &format!("--{name} cannot be negative"))?;
    }
    for name in ["brake-min-deletes", "brake-process-min", "brake-owner-floor"] {
        refuse(settings.int(name) < 0, &format!("--{name} cannot be negative"))?;
    }
    for name in ["brake-percent", "brake-process-percent"] {
        refuse(!(0..=100).contains(&settings.int(name)), &format!("--{name} must be from 0 to 100"))?;
    }
    Ok(())
}

fn refuse(wrong: bool, message: &str) -> Result<(), String> {
    if wrong { Err(message.to_owned()) } else { Ok(()) }
}

/// Values that external-dns takes in silence although they match nothing.
pub(super) fn doubts(settings: &Settings) -> Vec<Notice> {
    let mut notices = types(settings);
    let emitted = |text: &&String| !["", "RecordReady", "RecordError"].contains(&text.as_str());
    notices.extend(settings.list("events-emit").iter().filter(emitted).map(|value| {
        Notice::Warning(format!("--events-emit={value} has no effect; expected RecordReady or RecordError"))
    }));
    notices
}

fn types(settings: &Settings) -> Vec<Notice> {
    let known = |text: &str| RecordType::WRITABLE.iter().any(|rtype| rtype.to_string() == text);
    let flags = ["managed-record-types", "exclude-record-types"];
    let values = flags.iter().flat_map(|flag| settings.list(flag).iter().map(move |value| (flag, value)));
    values
        .filter(|(_, value)| !value.is_empty() && !known(value))
        .map(|(flag, value)| {
            let types: Vec<String> = RecordType::WRITABLE.iter().map(ToString::to_string).collect();
            Notice::Warning(format!("--{flag}={value} matches no record type; expected one of {}", types.join(", ")))
        })
        .collect()
}
