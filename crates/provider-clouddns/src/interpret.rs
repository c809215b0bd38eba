//! What the service would publish for an endpoint: an item of a routing policy in place of properties.

use std::sync::Arc;

use zonewright_core::endpoint::{Endpoint, Note};
use zonewright_core::interpret::Interpretation;
use zonewright_core::options::Properties;
use zonewright_core::record::Routing;

use crate::options::{LOCATION, POLICY, WEIGHT};
use crate::policy::{WEIGHT as MOST, at};

/// Reads an endpoint.
pub(crate) fn interpret(endpoint: &Endpoint) -> Interpretation {
    let stated = [POLICY, WEIGHT, LOCATION].iter().any(|key| endpoint.extras.properties.contains_key(*key));
    if !stated {
        return Interpretation::as_stated();
    }
    match form(endpoint) {
        Ok(form) => Interpretation::forms([form]),
        Err(text) => {
            let text = format!("{} {}: {text}", endpoint.name, endpoint.rtype);
            Interpretation::refused(Note::warning(&endpoint.origin.object, "InvalidOption", text))
        }
    }
}

fn form(endpoint: &Endpoint) -> Result<Endpoint, String> {
    let routing = match &endpoint.extras.routing {
        Routing::Simple => routing(&endpoint.extras.properties)?,
        stated => stated.clone(),
    };
    if endpoint.extras.set_id.is_none()
        && let Some(kind) = routing.kind()
    {
        return Err(format!(
            "{kind} routing needs a set identifier; expected the annotation `set-identifier` beside it"
        ));
    }
    Ok(endpoint.clone().with(|extras| {
        extras.routing = routing;
        for key in [POLICY, WEIGHT, LOCATION] {
            extras.properties.remove(key);
        }
    }))
}

/// The policy that the properties state.
fn routing(properties: &Properties) -> Result<Routing, String> {
    let text = |key: &str| properties.get(key).map(|text| text.trim()).filter(|text| !text.is_empty());
    let (weight, location) = (text(WEIGHT), text(LOCATION));
    match (text(POLICY), weight, location) {
        (None, None, None) => Ok(Routing::Simple),
        (Some("wrr"), None, _) => Err(format!("{POLICY}=wrr: expected {WEIGHT} beside it")),
        (Some("geo"), _, None) => Err(format!("{POLICY}=geo: expected {LOCATION} beside it")),
        (Some("wrr") | None, Some(weight), None) => {
            let number = weight.parse().ok().filter(|number| *number <= MOST);
            let number =
                number.ok_or_else(|| format!("{WEIGHT}={weight:?}: expected a whole number from 0 to {MOST}"))?;
            Ok(Routing::Weighted { weight: number })
        }
        (Some("geo") | None, None, Some(region)) => {
            let region = region.to_ascii_lowercase();
            let is_region = region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
            if !is_region {
                return Err(format!("{LOCATION}={region:?}: expected a region of Google Cloud, such as europe-west3"));
            }
            Ok(Routing::Geolocation { location: at(&Arc::<str>::from(region)) })
        }
        (Some("geo" | "wrr") | None, Some(_), Some(_)) => {
            Err(format!("{WEIGHT} and {LOCATION} are both stated; a record set has one policy"))
        }
        (Some(other), _, _) => Err(format!("{POLICY}={other:?}: expected geo or wrr")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(stated: &[(&str, &str)]) -> Result<Routing, String> {
        routing(&stated.iter().map(|(key, value)| (Arc::from(*key), Arc::from(*value))).collect())
    }

    #[test]
    fn policies() {
        let place = |region: &str| Routing::Geolocation { location: at(region) };
        for (stated, expected) in [
            (vec![], Routing::Simple),
            (vec![(WEIGHT, "0")], Routing::Weighted { weight: 0 }),
            (vec![(POLICY, "wrr"), (WEIGHT, " 1000 ")], Routing::Weighted { weight: 1_000 }),
            (vec![(LOCATION, "Europe-West3")], place("europe-west3")),
            (vec![(POLICY, "geo"), (LOCATION, "us-east1")], place("us-east1")),
            (vec![(POLICY, ""), (LOCATION, "us-east1")], place("us-east1")),
        ] {
            assert_eq!(of(&stated), Ok(expected), "{stated:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (stated, named) in [
            (vec![(WEIGHT, "1001")], "0 to 1000"),
            (vec![(WEIGHT, "0.5")], WEIGHT),
            (vec![(WEIGHT, "-1")], WEIGHT),
            (vec![(POLICY, "wrr")], WEIGHT),
            (vec![(POLICY, "geo"), (WEIGHT, "1")], LOCATION),
            (vec![(POLICY, "failover"), (WEIGHT, "1")], "geo or wrr"),
            (vec![(WEIGHT, "1"), (LOCATION, "us-east1")], "both"),
            (vec![(LOCATION, "us east")], LOCATION),
        ] {
            let error = of(&stated).expect_err(named);
            assert!(error.contains(named), "{stated:?}: {error}");
        }
    }
}
