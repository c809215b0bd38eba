//! The routing policy that an object states by properties.
//!
//! In: the properties of one endpoint. Out: the policy, or a sentence about the property that is wrong. Where external-dns sends what
//! the service then refuses for the whole batch, it is reported on the object, and nothing is sent.

use std::sync::Arc;

use zonewright_core::options::Properties;
use zonewright_core::record::{GeoPlace, Geolocation, Routing};

/// Every property that says something of routing.
pub(crate) const KEYS: [&str; 11] = [
    WEIGHT,
    REGION,
    FAILOVER,
    MULTIVALUE,
    CONTINENT,
    COUNTRY,
    SUBDIVISION,
    NEAR_REGION,
    NEAR_GROUP,
    NEAR_COORDINATES,
    NEAR_BIAS,
];

const WEIGHT: &str = "aws/weight";
const REGION: &str = "aws/region";
const FAILOVER: &str = "aws/failover";
const MULTIVALUE: &str = "aws/multi-value-answer";
const CONTINENT: &str = "aws/geolocation-continent-code";
const COUNTRY: &str = "aws/geolocation-country-code";
const SUBDIVISION: &str = "aws/geolocation-subdivision-code";
const NEAR_REGION: &str = "aws/geoproximity-region";
const NEAR_GROUP: &str = "aws/geoproximity-local-zone-group";
const NEAR_COORDINATES: &str = "aws/geoproximity-coordinates";
const NEAR_BIAS: &str = "aws/geoproximity-bias";

/// The policy that the properties state; [`Routing::Simple`] without any.
///
/// # Errors
/// A sentence that names the property and says what was expected.
pub(crate) fn routing(properties: &Properties) -> Result<Routing, String> {
    let stated = Stated(properties);
    let policies = [
        stated.weighted()?,
        stated.latency(),
        stated.failover()?,
        stated.multivalue(),
        stated.geolocation()?,
        stated.geoproximity()?,
    ];
    let mut policies = policies.into_iter().flatten();
    match (policies.next(), policies.next()) {
        (None, _) => Ok(Routing::Simple),
        (Some(policy), None) => Ok(policy),
        (Some(one), Some(other)) => {
            let kind = |policy: &Routing| policy.kind().map_or_else(String::new, |kind| kind.to_string());
            Err(format!("routing is stated to be {} and {}; a record set has one policy", kind(&one), kind(&other)))
        }
    }
}

struct Stated<'p>(&'p Properties);

impl Stated<'_> {
    /// The value of a property that is there and not blank.
    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(|text| text.trim()).filter(|text| !text.is_empty())
    }

    fn code(&self, key: &str) -> Option<Arc<str>> {
        self.text(key).map(|code| Arc::from(code.to_ascii_uppercase()))
    }

    fn weighted(&self) -> Result<Option<Routing>, String> {
        let weight = self.number(WEIGHT, 0, 255)?;
        Ok(weight.map(|weight| Routing::Weighted { weight: weight.unsigned_abs() }))
    }

    fn latency(&self) -> Option<Routing> {
        self.text(REGION).map(|region| Routing::Latency { region: Arc::from(region.to_ascii_lowercase()) })
    }

    fn failover(&self) -> Result<Option<Routing>, String> {
        let Some(text) = self.text(FAILOVER) else { return Ok(None) };
        match text.to_ascii_uppercase().as_str() {
            "PRIMARY" => Ok(Some(Routing::Failover { primary: true })),
            "SECONDARY" => Ok(Some(Routing::Failover { primary: false })),
            _ => Err(format!("{FAILOVER}={text:?}: expected PRIMARY or SECONDARY")),
        }
    }

    /// Any value states it, also an empty one, as in external-dns; but `false` says no.
    fn multivalue(&self) -> Option<Routing> {
        let stated = self.0.get(MULTIVALUE)?;
        (!stated.trim().eq_ignore_ascii_case("false")).then_some(Routing::Multivalue)
    }

    fn geolocation(&self) -> Result<Option<Routing>, String> {
        let (continent, country, subdivision) = (self.code(CONTINENT), self.code(COUNTRY), self.code(SUBDIVISION));
        let location = match (continent, country, subdivision) {
            (None, None, None) => return Ok(None),
            (None, None, Some(_)) => return Err(format!("{SUBDIVISION}: expected {COUNTRY} beside it")),
            (Some(_), country, subdivision) if country.is_some() || subdivision.is_some() => {
                return Err(format!("{CONTINENT}: expected neither {COUNTRY} nor {SUBDIVISION} beside it"));
            }
            (continent, country, subdivision) => Geolocation { continent, country, subdivision },
        };
        Ok(Some(Routing::Geolocation { location }))
    }

    fn geoproximity(&self) -> Result<Option<Routing>, String> {
        let bias = self.number(NEAR_BIAS, -99, 99)?;
        let region = self.text(NEAR_REGION).map(|region| GeoPlace::Region(Arc::from(region.to_ascii_lowercase())));
        let group = self.text(NEAR_GROUP).map(|group| GeoPlace::LocalZoneGroup(Arc::from(group)));
        let coordinates = self.text(NEAR_COORDINATES).map(coordinates).transpose()?;
        let mut places = [region, group, coordinates].into_iter().flatten();
        match (places.next(), places.next(), bias) {
            (None, _, None) => Ok(None),
            (None, _, Some(_)) => {
                Err(format!("{NEAR_BIAS}: expected {NEAR_REGION}, {NEAR_GROUP} or {NEAR_COORDINATES} beside it"))
            }
            (Some(_), Some(_), _) => {
                Err(format!("expected one of {NEAR_REGION}, {NEAR_GROUP} and {NEAR_COORDINATES}; found several"))
            }
            (Some(place), None, bias) => {
                Ok(Some(Routing::Geoproximity { place, bias: i16::try_from(bias.unwrap_or(0)).unwrap_or(0) }))
            }
        }
    }

    fn number(&self, key: &str, least: i32, most: i32) -> Result<Option<i32>, String> {
        let Some(text) = self.text(key) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        number.map(Some).ok_or_else(|| format!("{key}={text:?}: expected a whole number from {least} to {most}"))
    }
}

/// Latitude and longitude in degrees, at most two decimals each.
fn coordinates(text: &str) -> Result<GeoPlace, String> {
    let wrong = || {
        format!(
            "{NEAR_COORDINATES}={text:?}: expected latitude (-90 to 90) and longitude (-180 to 180), at most two decimals \
             each, such as 49.22,-74.01"
        )
    };
    let (latitude, longitude) = text.split_once(',').ok_or_else(wrong)?;
    let degrees = |text: &str, most: f64| {
        let text = text.trim();
        let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let number = text.parse::<f64>().ok().filter(|number| number.abs() <= most && decimals <= 2);
        number.map(|_| Arc::<str>::from(text)).ok_or_else(wrong)
    };
    Ok(GeoPlace::Coordinates(degrees(latitude, 90.0)?, degrees(longitude, 180.0)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(stated: &[(&str, &str)]) -> Result<Routing, String> {
        routing(&stated.iter().map(|(key, value)| (Arc::from(*key), Arc::from(*value))).collect())
    }

    #[test]
    fn policies() {
        let place = |continent: &str, country: &str, subdivision: &str| {
            let code = |text: &str| (!text.is_empty()).then(|| Arc::from(text));
            let location =
                Geolocation { continent: code(continent), country: code(country), subdivision: code(subdivision) };
            Routing::Geolocation { location }
        };
        let near = |place, bias| Routing::Geoproximity { place, bias };
        for (stated, expected) in [
            (vec![], Routing::Simple),
            (vec![(WEIGHT, "0")], Routing::Weighted { weight: 0 }),
            (vec![(WEIGHT, " 255 ")], Routing::Weighted { weight: 255 }),
            (vec![(REGION, "EU-west-1")], Routing::Latency { region: "eu-west-1".into() }),
            (vec![(FAILOVER, "primary")], Routing::Failover { primary: true }),
            (vec![(FAILOVER, "SECONDARY")], Routing::Failover { primary: false }),
            (vec![(MULTIVALUE, "")], Routing::Multivalue),
            (vec![(MULTIVALUE, "true")], Routing::Multivalue),
            (vec![(MULTIVALUE, "false")], Routing::Simple),
            (vec![(CONTINENT, "eu")], place("EU", "", "")),
            (vec![(COUNTRY, "*")], place("", "*", "")),
            (vec![(COUNTRY, "US"), (SUBDIVISION, "ca")], place("", "US", "CA")),
            (vec![(NEAR_REGION, "eu-west-1")], near(GeoPlace::Region("eu-west-1".into()), 0)),
            (
                vec![(NEAR_GROUP, "usw2-lax1"), (NEAR_BIAS, "-99")],
                near(GeoPlace::LocalZoneGroup("usw2-lax1".into()), -99),
            ),
            (
                vec![(NEAR_COORDINATES, "49.22, -74.01"), (NEAR_BIAS, "99")],
                near(GeoPlace::Coordinates("49.22".into(), "-74.01".into()), 99),
            ),
            (vec![("webhook/x", "1")], Routing::Simple),
        ] {
            assert_eq!(of(&stated), Ok(expected), "{stated:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (stated, named) in [
            (vec![(WEIGHT, "256")], "0 to 255"),
            (vec![(WEIGHT, "ten")], WEIGHT),
            (vec![(FAILOVER, "third")], "PRIMARY or SECONDARY"),
            (vec![(SUBDIVISION, "CA")], COUNTRY),
            (vec![(CONTINENT, "EU"), (COUNTRY, "DE")], CONTINENT),
            (vec![(NEAR_BIAS, "3")], NEAR_REGION),
            (vec![(NEAR_REGION, "a"), (NEAR_BIAS, "100")], "-99 to 99"),
            (vec![(NEAR_REGION, "a"), (NEAR_GROUP, "b")], "several"),
            (vec![(NEAR_COORDINATES, "1")], "latitude"),
            (vec![(NEAR_COORDINATES, "91,0")], "-90 to 90"),
            (vec![(NEAR_COORDINATES, "1.234,0")], "two decimals"),
            (vec![(NEAR_COORDINATES, "NaN,0")], "latitude"),
            (vec![(WEIGHT, "1"), (REGION, "eu-west-1")], "weighted and latency"),
        ] {
            let error = of(&stated).expect_err(named);
            assert!(error.contains(named), "{stated:?}: {error}");
        }
    }
}
