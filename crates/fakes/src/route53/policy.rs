//! What is checked of a routing policy: *Choosing a routing policy* in the developer guide.

use super::set::{RecordSet, Routing};

/// The regions of latency sets: *ResourceRecordSet*, `Region`, in the API reference.
#[rustfmt::skip]
pub(super) const REGIONS: &[&str] = &[
    "us-east-1", "us-east-2", "us-west-1", "us-west-2", "ca-central-1", "eu-west-1", "eu-west-2", "eu-west-3", "eu-central-1",
    "eu-central-2", "ap-southeast-1", "ap-southeast-2", "ap-southeast-3", "ap-northeast-1", "ap-northeast-2", "ap-northeast-3",
    "eu-north-1", "sa-east-1", "cn-north-1", "cn-northwest-1", "ap-east-1", "me-south-1", "me-central-1", "ap-south-1",
    "ap-south-2", "af-south-1", "eu-south-1", "eu-south-2", "ap-southeast-4", "il-central-1", "ca-west-1", "ap-southeast-5",
    "mx-central-1", "ap-southeast-7", "us-gov-east-1", "us-gov-west-1", "ap-east-2", "ap-southeast-6", "eusc-de-east-1",
];

const CONTINENTS: &[&str] = &["AF", "AN", "AS", "EU", "OC", "NA", "SA"];

/// Codes that look like a country and are none of ISO 3166-1: those that people take for one, and the first that nobody has.
const NO_COUNTRIES: &[&str] = &["UK", "EU", "EN", "AA", "XX", "ZZ"];

/// Countries with subdivisions: *GeoLocation* in the API reference.
const DIVIDED: &[&str] = &["US", "UA", "CA"];

/// What is wrong with the place that a policy names.
pub(super) fn problem(routing: &Routing) -> Option<String> {
    match routing {
        Routing::Location { continent, country, subdivision } => {
            location(continent.as_deref(), country.as_deref(), subdivision.as_deref())
        }
        Routing::Proximity { region, local_zone_group, coordinates, .. } => {
            let places = [region.is_some(), local_zone_group.is_some(), coordinates.is_some()];
            if places.into_iter().filter(|there| *there).count() != 1 {
                return Some("Expected exactly one of [AWSRegion, LocalZoneGroup, or Coordinates]".to_owned());
            }
            if region.as_deref().is_some_and(|region| !REGIONS.contains(&region)) {
                return Some("Unknown AWSRegion".to_owned());
            }
            let wrong = coordinates
                .as_ref()
                .is_some_and(|(latitude, longitude)| !degrees(latitude, 2, 90.0) || !degrees(longitude, 3, 180.0));
            wrong.then(|| "Invalid Coordinates".to_owned())
        }
        _ => None,
    }
}

fn location(continent: Option<&str>, country: Option<&str>, subdivision: Option<&str>) -> Option<String> {
    let sound = match (continent, country, subdivision) {
        (Some(code), None, None) => CONTINENTS.contains(&code),
        (None, Some("*"), None) => true,
        (None, Some(code), None) => known_country(code),
        (None, Some(code), Some(part)) => DIVIDED.contains(&code) && known_part(part),
        _ => {
            return Some(
                "Expected exactly one of [ContinentCode, or CountryCode with or without SubdivisionCode]".to_owned(),
            );
        }
    };
    (!sound).then(|| "The GeoLocation is not supported".to_owned())
}

fn known_country(code: &str) -> bool {
    code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_uppercase()) && !NO_COUNTRIES.contains(&code)
}

fn known_part(code: &str) -> bool {
    (1..=3).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

/// A number with at most two digits after the point.
fn degrees(text: &str, digits: usize, most: f64) -> bool {
    let number = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let decimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let form = (1..=digits).contains(&whole.len()) && part.len() <= 2 && decimal(whole) && decimal(part);
    form && number.parse::<f64>().is_ok_and(|number| number <= most)
}

/// Why a set cannot have the policy that it has.
pub(super) fn misplaced(set: &RecordSet) -> Option<String> {
    let RecordSet { name, kind, .. } = set;
    match set.routing.as_ref()? {
        Routing::Failover(role) if role == "PRIMARY" && set.alias.is_none() && set.health_check.is_none() => {
            Some("A non-alias primary ResourceRecordSet must have an associated health check.".to_owned())
        }
        Routing::MultiValue if matches!(kind.as_str(), "NS" | "CNAME" | "SOA" | "DS") => {
            Some(format!("Multivalue answer RRSet with DNS name {name} cannot have type {kind}."))
        }
        _ if matches!(kind.as_str(), "NS" | "SOA" | "DS") => {
            Some(format!("RRSet of type {kind} with DNS name {name} cannot have a routing policy."))
        }
        _ => None,
    }
}

/// Why a set cannot stand beside the others of its name and type.
pub(super) fn conflict(set: &RecordSet, others: &[&RecordSet]) -> Option<String> {
    let place = {
        let identifier = set.identifier.as_ref().map(|identifier| format!(", SetIdentifier {identifier}"));
        format!("RRSet with DNS name {}, type {}{}", set.name, set.kind, identifier.unwrap_or_default())
    };
    let policy = |set: &RecordSet| set.routing.as_ref().map(Routing::policy);
    let other = others.iter().find(|other| policy(other).is_none() || policy(other) != policy(set));
    if other.is_some() && set.routing == Some(Routing::MultiValue) {
        return Some(format!(
            "{place} cannot be created because a non multivalue answer rrset exists with the same name and type."
        ));
    }
    if other.is_some() {
        return Some(format!("{place} cannot be created as other RRSets exist with the same name and type."));
    }
    if others.len() >= GROUP {
        return Some(format!("{place} cannot be created as {GROUP} RRSets exist with the same name and type."));
    }
    let twin = others.iter().any(|other| same_place(set.routing.as_ref(), other.routing.as_ref()));
    let what = set.routing.as_ref().map(Routing::policy).unwrap_or_default();
    twin.then(|| {
        format!("{place} cannot be created as an RRSet with the same {what} exists with the same name and type.")
    })
}

/// Most sets of one name and type: *Quotas* in the developer guide.
const GROUP: usize = 100;

/// Whether two sets answer the same question: one of a region, a role, a place.
fn same_place(one: Option<&Routing>, other: Option<&Routing>) -> bool {
    let without_bias = |routing: &Routing| match routing.clone() {
        Routing::Proximity { region, local_zone_group, coordinates, .. } => {
            Routing::Proximity { region, local_zone_group, coordinates, bias: None }
        }
        routing => routing,
    };
    match one {
        None | Some(Routing::Weight(_) | Routing::MultiValue) => false,
        Some(one) => other.is_some_and(|other| without_bias(one) == without_bias(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(continent: &str, country: &str, subdivision: &str) -> Routing {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Routing::Location { continent: text(continent), country: text(country), subdivision: text(subdivision) }
    }

    fn near(region: &str, group: &str, coordinates: Option<(&str, &str)>, bias: i64) -> Routing {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let coordinates = coordinates.map(|(latitude, longitude)| (latitude.to_owned(), longitude.to_owned()));
        Routing::Proximity { region: text(region), local_zone_group: text(group), coordinates, bias: Some(bias) }
    }

    #[test]
    fn places_are_checked() {
        for sound in [
            location("EU", "", ""),
            location("", "*", ""),
            location("", "DE", ""),
            location("", "US", "NY"),
            near("eu-west-1", "", None, 0),
            near("", "us-east-1-bos-1", None, 0),
            near("", "", Some(("49.22", "-174.01")), 0),
            near("", "", Some(("+90", "180.0")), 0),
        ] {
            assert_eq!(problem(&sound), None, "{sound:?}");
        }
        for wrong in [
            location("", "", ""),
            location("EU", "DE", ""),
            location("EU", "", "NY"),
            location("DE", "", ""),
            location("", "UK", ""),
            location("", "de", ""),
            location("", "DE", "BY"),
            location("", "US", "New"),
            near("", "", None, 0),
            near("eu-west-1", "g", None, 0),
            near("mars-1", "", None, 0),
            near("", "", Some(("91", "0")), 0),
            near("", "", Some(("1.234", "0")), 0),
            near("", "", Some(("1", "181")), 0),
            near("", "", Some(("", "1")), 0),
        ] {
            assert!(problem(&wrong).is_some(), "{wrong:?}");
        }
    }

    #[test]
    fn sets_of_a_name_and_type_have_one_policy() {
        let simple = RecordSet::new("a.org.", "A", 1, &["192.0.2.1"]);
        let set = |identifier: &str, routing| simple.clone().routed(identifier, routing);
        let failover = |role: &str| Routing::Failover(role.to_owned());
        let region = |region: &str| Routing::Region(region.to_owned());
        let conflict = |set: &RecordSet, other: &RecordSet| conflict(set, &[other]).is_some();
        let weighted = set("w", Routing::Weight(1));
        for (one, other, clash) in [
            (&simple, &weighted, true),
            (&weighted, &set("x", Routing::Weight(1)), false),
            (&weighted, &set("x", region("eu-west-1")), true),
            (&weighted, &set("x", Routing::MultiValue), true),
            (&set("x", failover("PRIMARY")), &set("y", failover("SECONDARY")), false),
            (&set("x", failover("PRIMARY")), &set("y", failover("PRIMARY")), true),
            (&set("x", region("eu-west-1")), &set("y", region("eu-west-2")), false),
            (&set("x", region("eu-west-1")), &set("y", region("eu-west-1")), true),
            (&set("x", Routing::MultiValue), &set("y", Routing::MultiValue), false),
            (&set("x", location("", "*", "")), &set("y", location("EU", "", "")), false),
            (&set("x", location("", "*", "")), &set("y", location("", "*", "")), true),
            (&set("x", near("eu-west-1", "", None, 1)), &set("y", near("eu-west-1", "", None, 2)), true),
        ] {
            assert_eq!((conflict(one, other), conflict(other, one)), (clash, clash), "{one:?} {other:?}");
        }
    }

    #[test]
    fn a_group_is_full_with_a_hundred() {
        let set =
            |n: usize| RecordSet::new("a.org.", "A", 1, &["192.0.2.1"]).routed(&n.to_string(), Routing::Weight(1));
        let sets: Vec<RecordSet> = (0..100).map(set).collect();
        let others: Vec<&RecordSet> = sets.iter().collect();
        assert!(conflict(&set(100), &others).is_some());
        assert!(conflict(&set(100), &others[1..]).is_none());
    }

    #[test]
    fn some_types_have_no_policy() {
        let a = RecordSet::new("a.org.", "A", 1, &["192.0.2.1"]).routed("i", Routing::Failover("PRIMARY".to_owned()));
        assert!(misplaced(&a).is_some());
        assert_eq!(misplaced(&RecordSet { health_check: Some("h".to_owned()), ..a }), None);
        let cname = RecordSet::new("a.org.", "CNAME", 1, &["b.org"]);
        assert!(misplaced(&cname.clone().routed("i", Routing::MultiValue)).is_some());
        assert_eq!(misplaced(&cname.routed("i", Routing::Weight(1))), None);
        let ns = RecordSet::new("a.org.", "NS", 1, &["b.org"]);
        assert!(misplaced(&ns.clone().routed("i", Routing::Weight(1))).is_some());
        assert_eq!(misplaced(&ns), None);
    }
}
