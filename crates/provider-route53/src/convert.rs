//! Record sets in the form of the service, both ways.
//!
//! In: [`ResourceRecordSet`]s of an answer. Out: [`RecordSet`]s, and back. What must hold: what is read and written again says the same;
//! what is not understood is kept as it is, so that it can be deleted exactly and is never taken for something else.

use std::sync::Arc;

use aws_sdk_route53::types::{
    AliasTarget as WireAlias, CidrRoutingConfig, Coordinates, GeoLocation, GeoProximityLocation, ResourceRecord,
    ResourceRecordSet, ResourceRecordSetFailover, ResourceRecordSetRegion, RrType,
};
use zonewright_core::options::{OptionValue, Options};
use zonewright_core::rdata::{Content, Opaque, Txt};
use zonewright_core::record::{AliasTarget, GeoPlace, Geolocation, Routing, SetId};
use zonewright_core::{RData, RecordData, RecordKey, RecordSet, RecordType, Ttl};

use crate::options::{CIDR_COLLECTION, CIDR_LOCATION, HEALTH_CHECK, TRAFFIC_POLICY};
use crate::{name, txt};

/// Reads a set of an answer.
///
/// # Errors
/// Why its name or type cannot be read. Values that cannot be read are kept as text.
pub(crate) fn read(set: &ResourceRecordSet) -> Result<RecordSet, String> {
    let rtype: RecordType = set.r#type().as_str().parse().map_err(|error| format!("{}: {error}", set.name()))?;
    let name = name::read(set.name()).map_err(|error| error.to_string())?;
    let data = match set.alias_target() {
        Some(alias) => RecordData::Alias(AliasTarget {
            target: target(alias.dns_name()),
            zone: Some(Arc::from(alias.hosted_zone_id())),
            evaluate_health: alias.evaluate_target_health(),
        }),
        None => RecordData::records(set.resource_records().iter().map(|record| value(rtype, record.value()))),
    };
    let ttl = set.ttl().map(|ttl| u32::try_from(ttl).ok().and_then(Ttl::from_secs).unwrap_or(Ttl::ZERO));
    Ok(RecordSet {
        key: RecordKey { name, rtype, set_id: set.set_identifier().and_then(SetId::new) },
        ttl,
        data,
        routing: routing(set),
        options: options(set),
    })
}

/// The target of an alias as we spell it: lower case, without a final dot.
pub(crate) fn target(text: &str) -> Arc<str> {
    match name::read(text) {
        Ok(name) => Arc::from(name.as_str()),
        Err(_) => Arc::from(text),
    }
}

fn value(rtype: RecordType, text: &str) -> RData {
    let data = match rtype {
        RecordType::Txt => txt::read(text).ok().map(|strings| RData::Txt(Txt::from_strings(strings))),
        _ => decimal(text).and_then(|text| RData::parse(rtype, &text).ok()),
    };
    data.unwrap_or_else(|| RData::Other(Box::new(Opaque { rtype, content: Content::Text(text.to_owned()) })))
}

fn routing(set: &ResourceRecordSet) -> Routing {
    let text = |text: &str| Arc::<str>::from(text);
    if let Some(weight) = set.weight() {
        return Routing::Weighted { weight: u32::try_from(weight).unwrap_or(0) };
    }
    if let Some(region) = set.region() {
        return Routing::Latency { region: text(region.as_str()) };
    }
    if let Some(failover) = set.failover() {
        return Routing::Failover { primary: *failover == ResourceRecordSetFailover::Primary };
    }
    if set.multi_value_answer() == Some(true) {
        return Routing::Multivalue;
    }
    if let Some(place) = set.geo_location() {
        let location = Geolocation {
            continent: place.continent_code().map(text),
            country: place.country_code().map(text),
            subdivision: place.subdivision_code().map(text),
        };
        return Routing::Geolocation { location };
    }
    let Some(near) = set.geo_proximity_location() else { return Routing::Simple };
    let place = match (near.aws_region(), near.local_zone_group(), near.coordinates()) {
        (Some(region), _, _) => GeoPlace::Region(text(region)),
        (None, Some(group), _) => GeoPlace::LocalZoneGroup(text(group)),
        (None, None, Some(at)) => GeoPlace::Coordinates(text(at.latitude()), text(at.longitude())),
        (None, None, None) => return Routing::Simple,
    };
    Routing::Geoproximity { place, bias: i16::try_from(near.bias().unwrap_or(0)).unwrap_or(0) }
}

fn options(set: &ResourceRecordSet) -> Options {
    let mut options = Options::default();
    let mut keep = |key, text: Option<&str>| {
        if let Some(text) = text {
            options.set(key, OptionValue::Text(Arc::from(text)));
        }
    };
    keep(HEALTH_CHECK, set.health_check_id());
    keep(TRAFFIC_POLICY, set.traffic_policy_instance_id());
    keep(CIDR_COLLECTION, set.cidr_routing_config().map(CidrRoutingConfig::collection_id));
    keep(CIDR_LOCATION, set.cidr_routing_config().map(CidrRoutingConfig::location_name));
    options
}

/// Writes a set as it is sent.
///
/// # Errors
/// What of it the service has no form for.
pub(crate) fn write(set: &RecordSet) -> Result<ResourceRecordSet, String> {
    let RecordSet { key, ttl, data, routing, options } = set;
    let option = |key| options.get(key).map(ToString::to_string);
    let mut out = ResourceRecordSet::builder()
        .name(name::write(&key.name))
        .r#type(RrType::from(key.rtype.to_string().as_str()))
        .set_set_identifier(key.set_id.as_ref().map(|id| id.as_str().to_owned()))
        .set_health_check_id(option(HEALTH_CHECK))
        .set_traffic_policy_instance_id(option(TRAFFIC_POLICY));
    if let (Some(collection), Some(location)) = (option(CIDR_COLLECTION), option(CIDR_LOCATION)) {
        let cidr = CidrRoutingConfig::builder().collection_id(collection).location_name(location).build();
        out = out.cidr_routing_config(cidr.map_err(|error| error.to_string())?);
    }
    out = match data {
        RecordData::Records(records) => {
            for record in records {
                let record = ResourceRecord::builder().value(text(record)).build();
                out = out.resource_records(record.map_err(|error| error.to_string())?);
            }
            out.ttl(i64::from(ttl.unwrap_or_else(crate::default_ttl).secs()))
        }
        RecordData::Alias(alias) => {
            let zone = alias.zone.as_deref().ok_or("an alias needs the hosted zone of its target")?;
            let target = WireAlias::builder()
                .dns_name(dotted(&alias.target))
                .hosted_zone_id(zone)
                .evaluate_target_health(alias.evaluate_health);
            out.alias_target(target.build().map_err(|error| error.to_string())?)
        }
        RecordData::Items(_) => return Err("the sets of a routing policy stand apart here".to_owned()),
    };
    let out = match routing {
        Routing::Simple => out,
        Routing::Weighted { weight } => out.weight(i64::from(*weight)),
        Routing::Latency { region } => out.region(ResourceRecordSetRegion::from(&**region)),
        Routing::Failover { primary: true } => out.failover(ResourceRecordSetFailover::Primary),
        Routing::Failover { primary: false } => out.failover(ResourceRecordSetFailover::Secondary),
        Routing::Multivalue => out.multi_value_answer(true),
        Routing::Geolocation { location } => out.geo_location(geolocation(location)),
        Routing::Geoproximity { place, bias } => out.geo_proximity_location(geoproximity(place, *bias)?),
    };
    out.build().map_err(|error| error.to_string())
}

fn geolocation(location: &Geolocation) -> GeoLocation {
    let text = |code: &Option<Arc<str>>| code.as_deref().map(str::to_owned);
    GeoLocation::builder()
        .set_continent_code(text(&location.continent))
        .set_country_code(text(&location.country))
        .set_subdivision_code(text(&location.subdivision))
        .build()
}

fn geoproximity(place: &GeoPlace, bias: i16) -> Result<GeoProximityLocation, String> {
    let out = GeoProximityLocation::builder().bias(i32::from(bias));
    Ok(match place {
        GeoPlace::Region(region) => out.aws_region(&**region),
        GeoPlace::LocalZoneGroup(group) => out.local_zone_group(&**group),
        GeoPlace::Coordinates(latitude, longitude) => {
            let at = Coordinates::builder().latitude(&**latitude).longitude(&**longitude).build();
            out.coordinates(at.map_err(|error| error.to_string())?)
        }
    }
    .build())
}

/// A target with a final dot, as the service answers it.
fn dotted(target: &str) -> String {
    if target.ends_with('.') { target.to_owned() } else { format!("{target}.") }
}

/// A value as it is sent, in the spelling of external-dns: TXT in quotes; the names of CNAME, NS, PTR and MX without a final dot.
pub(crate) fn text(data: &RData) -> String {
    match data {
        RData::Txt(txt) => txt::write(txt.strings()),
        RData::Other(opaque) => match &opaque.content {
            Content::Text(text) => text.clone(),
            Content::Octets(_) => data.to_string(),
        },
        RData::Cname(_) | RData::Ns(_) | RData::Ptr(_) | RData::Mx { .. } => undotted(octal(&data.to_string())),
        _ => octal(&data.to_string()),
    }
}

/// Without the final dot of a name that is not the root.
fn undotted(mut text: String) -> String {
    if text.ends_with('.') && text != "." && !text.ends_with(" .") {
        text.pop();
    }
    text
}

/// Presentation form (RFC 1035 5.1) has decimal escapes, the service octal ones.
fn octal(text: &str) -> String {
    escapes(text, 10, |octet| format!("\\{octet:03o}")).unwrap_or_else(|| text.to_owned())
}

/// The way back; `None` where an escape is no octal one.
fn decimal(text: &str) -> Option<String> {
    escapes(text, 8, |octet| format!("\\{octet:03}"))
}

/// Rewrites each escape of three digits of this base; an escaped character that is no digit stays.
fn escapes(text: &str, base: u32, write: impl Fn(u8) -> String) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        out.push(c);
        if c != '\\' {
            continue;
        }
        let first = rest.next()?;
        if !first.is_ascii_digit() {
            out.push(first);
            continue;
        }
        let digits = [first, rest.next()?, rest.next()?];
        let value = digits.iter().try_fold(0, |sum, digit| Some(sum * base + digit.to_digit(base)?))?;
        out.pop();
        out.push_str(&write(u8::try_from(value).ok()?));
    }
    Some(out)
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
