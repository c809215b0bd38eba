//! What the service would publish for an endpoint: an alias in place of a CNAME, a routing policy in place of properties.

use std::sync::Arc;

use zonewright_core::endpoint::{Endpoint, Note, Targets};
use zonewright_core::interpret::Interpretation;
use zonewright_core::record::{AliasTarget, Routing};
use zonewright_core::zone::ZoneId;
use zonewright_core::{DnsName, RData, RecordType, Zone};

use crate::{canonical_zone, properties, website};

const ALIAS: &str = "alias";
const EVALUATE: &str = "aws/evaluate-target-health";
const TARGET_ZONE: &str = "aws/target-hosted-zone";
const ZONE: &str = "aws/hosted-zone-id";

/// What holds where an object says nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Defaults {
    /// `--aws-prefer-cname`.
    pub(crate) prefer_cname: bool,
    /// `--aws-evaluate-target-health`.
    pub(crate) evaluate_health: bool,
}

/// Reads an endpoint as it would be published in `zone`.
pub(crate) fn interpret(zone: &Zone, endpoint: &Endpoint, defaults: Defaults) -> Interpretation {
    let mut notes = Vec::new();
    let pinned = endpoint.extras.properties.get(ZONE).map(|id| bare(id)).filter(|id| !id.is_empty());
    let made = match forms(zone, endpoint, defaults, &mut notes) {
        Ok(forms) => Interpretation { notes, ..Interpretation::forms(forms) },
        Err(text) => {
            let text = format!("{} {}: {text}", endpoint.name, endpoint.rtype);
            Interpretation::refused(Note::warning(&endpoint.origin.object, "InvalidOption", text))
        }
    };
    match pinned {
        Some(id) => made.only_in(ZoneId::from(id)),
        None => made,
    }
}

/// The id of a hosted zone without the path that the console shows before it.
pub(crate) fn bare(id: &str) -> &str {
    let id = id.trim();
    id.strip_prefix("/hostedzone/").unwrap_or(id)
}

fn forms(zone: &Zone, endpoint: &Endpoint, defaults: Defaults, notes: &mut Vec<Note>) -> Result<Vec<Endpoint>, String> {
    let mut form = endpoint.clone();
    let routing = match &endpoint.extras.routing {
        Routing::Simple => properties::routing(&endpoint.extras.properties)?,
        stated => stated.clone(),
    };
    if endpoint.extras.set_id.is_none()
        && let Some(kind) = routing.kind()
    {
        return Err(format!(
            "{kind} routing needs a set identifier; expected the annotation `set-identifier` beside it"
        ));
    }
    form.extras.edit(|extras| {
        extras.routing = routing;
        for key in properties::KEYS.into_iter().chain([ALIAS, EVALUATE, TARGET_ZONE, ZONE]) {
            extras.properties.remove(key);
        }
    });
    let Some((host, types)) = alias(zone, endpoint, defaults, notes) else { return Ok(vec![form]) };
    let target = AliasTarget {
        target: Arc::from(host.as_str()),
        zone: Some(target_zone(zone, endpoint, &host)?),
        evaluate_health: evaluates(endpoint, defaults, notes),
    };
    let aliased = |rtype: &RecordType| Endpoint {
        rtype: *rtype,
        targets: Targets::Alias(Box::new(target.clone())),
        ttl: None,
        ..form.clone()
    };
    Ok(types.iter().map(aliased).collect())
}

/// The host that an alias points to and the types in which it stands, if this is to be an alias.
fn alias(
    zone: &Zone,
    endpoint: &Endpoint,
    defaults: Defaults,
    notes: &mut Vec<Note>,
) -> Option<(DnsName, &'static [RecordType])> {
    /// All that websites in S3 have.
    const A: &[RecordType] = &[RecordType::A];
    const BOTH: &[RecordType] = &[RecordType::A, RecordType::Aaaa];
    let stated = endpoint.extras.properties.get(ALIAS).map(|alias| &**alias);
    let mut report = |text: String| {
        let text = format!("{} {}: {text}", endpoint.name, endpoint.rtype);
        notes.push(Note::warning(&endpoint.origin.object, "OptionIgnored", text));
    };
    if endpoint.rtype != RecordType::Cname {
        if stated == Some("true") && endpoint.rtype.is_address() && matches!(endpoint.targets, Targets::Records(_)) {
            report("an alias needs a host name as its target; the addresses are published".to_owned());
        }
        return None;
    }
    let hosts: Vec<&DnsName> = endpoint.targets.as_records().iter().filter_map(RData::target).collect();
    let host = *hosts.first()?;
    let website = website::of(host, &endpoint.name).map(|(endpoint, _)| endpoint);
    let types = match stated {
        Some("true") if website.is_some() => A,
        Some("true") => BOTH,
        Some("A") => A,
        Some("AAAA") => &[RecordType::Aaaa],
        Some("false") => return None,
        // Anything else says nothing, as in external-dns.
        _ if !defaults.prefer_cname && canonical_zone::of(host).is_some() => BOTH,
        _ if !defaults.prefer_cname && website.is_some() && endpoint.name == zone.name => A,
        _ => return None,
    };
    if hosts.len() > 1 {
        report(format!("an alias has one target; it points to {host}"));
    }
    Some((website.unwrap_or_else(|| host.clone()), types))
}

/// The hosted zone of an alias's target: as the object states it, as the host name shows, or the zone itself.
fn target_zone(zone: &Zone, endpoint: &Endpoint, host: &DnsName) -> Result<Arc<str>, String> {
    let stated = endpoint.extras.properties.get(TARGET_ZONE).map(|id| bare(id)).filter(|id| !id.is_empty());
    let of_website = || website::of(host, &endpoint.name).map(|(_, id)| id);
    if let Some(id) = stated.or_else(|| canonical_zone::of(host)).or_else(of_website) {
        return Ok(Arc::from(id));
    }
    if host.is_within(&zone.name) {
        return Ok(Arc::from(zone.key.zone.as_str()));
    }
    Err(format!(
        "{host} is neither the host name of an AWS resource that an alias can point to nor a name of zone {}; expected \
         {TARGET_ZONE} beside it, or no alias",
        zone.name
    ))
}

fn evaluates(endpoint: &Endpoint, defaults: Defaults, notes: &mut Vec<Note>) -> bool {
    let Some(text) = endpoint.extras.properties.get(EVALUATE) else { return defaults.evaluate_health };
    if !matches!(&**text, "true" | "false") {
        let text = format!(
            "{} {}: {EVALUATE}={text:?}: expected `true` or `false`; it counts as `false`",
            endpoint.name, endpoint.rtype
        );
        notes.push(Note::warning(&endpoint.origin.object, "OptionIgnored", text));
    }
    &**text == "true"
}

#[cfg(test)]
#[path = "interpret_tests.rs"]
mod tests;
