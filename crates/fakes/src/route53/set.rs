//! A record set, as tests see it and as the service holds it, and its XML both ways.

use roxmltree::Node;

use super::name::canonical;
use super::refusal::Refusal;
use super::xml::{self, Element};

/// A resource record set: *ResourceRecordSet* in the API reference.
///
/// # Examples
/// ```
/// use zonewright_fakes::route53::{RecordSet, Routing};
///
/// let set = RecordSet::new("www.example.org", "A", 300, &["192.0.2.1"]).routed("one", Routing::Weight(10));
/// assert_eq!(set.identifier.as_deref(), Some("one"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordSet {
    /// As the service writes it: lower case, octal escapes, a final dot.
    pub name: String,
    /// `A`, `TXT` and so on.
    pub kind: String,
    /// Distinguishes the sets of one name and type; none where there is no routing policy.
    pub identifier: Option<String>,
    /// The routing policy; none in a simple set.
    pub routing: Option<Routing>,
    /// In seconds; none in an alias.
    pub ttl: Option<i64>,
    /// The values as they were sent; none in an alias.
    pub values: Vec<String>,
    /// Where an alias leads.
    pub alias: Option<Alias>,
    /// The health check that belongs to the set.
    pub health_check: Option<String>,
    /// The traffic policy instance that made the set.
    pub policy_instance: Option<String>,
}

/// The routing policy of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Routing {
    /// Weighted, 0 to 255.
    Weight(i64),
    /// Latency, by AWS region.
    Region(String),
    /// Failover, `PRIMARY` or `SECONDARY`.
    Failover(String),
    /// Multivalue answer.
    MultiValue,
    /// Geolocation.
    Location {
        /// Two letters, alone.
        continent: Option<String>,
        /// Two letters, or `*` for everywhere else.
        country: Option<String>,
        /// A part of the country.
        subdivision: Option<String>,
    },
    /// Geoproximity: one place of the three kinds, and a bias.
    Proximity {
        /// AWS region.
        region: Option<String>,
        /// Local zone group.
        local_zone_group: Option<String>,
        /// Latitude and longitude in degrees.
        coordinates: Option<(String, String)>,
        /// -99 to 99.
        bias: Option<i64>,
    },
    /// By the address of the resolver: collection and location.
    Cidr {
        /// The id of the collection.
        collection: String,
        /// The location in it, or `*`.
        location: String,
    },
}

/// Where an alias leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    /// The hosted zone that the target lives in.
    pub zone: String,
    /// The name of the target, as the service writes names.
    pub name: String,
    /// Whether the health of the target counts.
    pub evaluate_health: bool,
}

impl RecordSet {
    /// A simple set with values.
    pub fn new(name: &str, kind: &str, ttl: i64, values: &[&str]) -> Self {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        Self { ttl: Some(ttl), values, ..Self::bare(name, kind) }
    }

    /// A simple alias that does not evaluate its target's health.
    pub fn alias(name: &str, kind: &str, zone: &str, target: &str) -> Self {
        let alias = Alias { zone: zone.to_owned(), name: target.to_owned(), evaluate_health: false };
        Self { alias: Some(alias), ..Self::bare(name, kind) }
    }

    /// The same set with an identifier and a routing policy.
    #[must_use]
    pub fn routed(self, identifier: &str, routing: Routing) -> Self {
        Self { identifier: Some(identifier.to_owned()), routing: Some(routing), ..self }
    }

    fn bare(name: &str, kind: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind: kind.to_owned(),
            identifier: None,
            routing: None,
            ttl: None,
            values: Vec::new(),
            alias: None,
            health_check: None,
            policy_instance: None,
        }
    }

    /// The same set with its names in the form of the service.
    pub(super) fn stored(mut self) -> Result<Self, String> {
        self.name = canonical(&self.name)?;
        if let Some(alias) = &mut self.alias {
            alias.name = canonical(&alias.name)?;
        }
        Ok(self)
    }

    /// Whether a delete that names `self` means `standing`: everything is equal, values in any order.
    pub(super) fn same(&self, standing: &Self) -> bool {
        let sorted = |set: &Self| {
            let mut set = set.clone();
            set.values.sort();
            set
        };
        sorted(self) == sorted(standing)
    }

    /// The set in a listing.
    pub(super) fn element(&self) -> Element {
        let mut parts = vec![Element::text("Name", &self.name), Element::text("Type", &self.kind)];
        parts.extend(self.identifier.as_ref().map(|identifier| Element::text("SetIdentifier", identifier)));
        parts.extend(self.routing.as_ref().map(Routing::element));
        parts.extend(self.ttl.map(|ttl| Element::text("TTL", &ttl)));
        if !self.values.is_empty() {
            let record = |value: &String| Element::list("ResourceRecord", vec![Element::text("Value", value)]);
            parts.push(Element::list("ResourceRecords", self.values.iter().map(record).collect()));
        }
        parts.extend(self.alias.as_ref().map(Alias::element));
        parts.extend(self.health_check.as_ref().map(|id| Element::text("HealthCheckId", id)));
        parts.extend(self.policy_instance.as_ref().map(|id| Element::text("TrafficPolicyInstanceId", id)));
        Element::list("ResourceRecordSet", parts)
    }
}

impl Alias {
    fn element(&self) -> Element {
        let parts = vec![
            Element::text("HostedZoneId", &self.zone),
            Element::text("DNSName", &self.name),
            Element::text("EvaluateTargetHealth", &self.evaluate_health),
        ];
        Element::list("AliasTarget", parts)
    }

    fn read(node: Node<'_, '_>) -> Result<Self, Refusal> {
        xml::only(node, &["HostedZoneId", "DNSName", "EvaluateTargetHealth"])?;
        let part = |name: &'static str| {
            let text = xml::text(node, name).filter(|text| !text.is_empty()).map(str::to_owned);
            text.ok_or_else(|| Refusal::missing(&format!("AliasTarget.{name}")))
        };
        let evaluate_health = match part("EvaluateTargetHealth")?.as_str() {
            "true" => true,
            "false" => false,
            other => return Err(Refusal::malformed(format!("{other} is no boolean"))),
        };
        Ok(Self { zone: part("HostedZoneId")?, name: part("DNSName")?, evaluate_health })
    }
}

impl Routing {
    /// The element that says it, whose name distinguishes the policies.
    pub(super) fn policy(&self) -> &'static str {
        match self {
            Self::Weight(_) => "Weight",
            Self::Region(_) => "Region",
            Self::Failover(_) => "Failover",
            Self::MultiValue => "MultiValueAnswer",
            Self::Location { .. } => "GeoLocation",
            Self::Proximity { .. } => "GeoProximityLocation",
            Self::Cidr { .. } => "CidrRoutingConfig",
        }
    }

    /// The CIDR collection; none are made here.
    pub(super) fn collection(&self) -> Option<&str> {
        if let Self::Cidr { collection, .. } = self { Some(collection) } else { None }
    }

    fn element(&self) -> Element {
        let text = |name, text: &Option<String>| text.as_ref().map(|text| Element::text(name, text));
        match self {
            Self::Weight(weight) => Element::text("Weight", weight),
            Self::Region(value) => Element::text("Region", value),
            Self::Failover(value) => Element::text("Failover", value),
            Self::MultiValue => Element::text("MultiValueAnswer", "true"),
            Self::Location { continent, country, subdivision } => {
                let parts = [("ContinentCode", continent), ("CountryCode", country), ("SubdivisionCode", subdivision)];
                Element::list(self.policy(), parts.into_iter().filter_map(|(name, value)| text(name, value)).collect())
            }
            Self::Proximity { region, local_zone_group, coordinates, bias } => {
                let place = |(latitude, longitude): &(String, String)| {
                    let parts = vec![Element::text("Latitude", latitude), Element::text("Longitude", longitude)];
                    Element::list("Coordinates", parts)
                };
                let parts = [
                    text("AWSRegion", region),
                    text("LocalZoneGroup", local_zone_group),
                    coordinates.as_ref().map(place),
                    bias.map(|bias| Element::text("Bias", &bias)),
                ];
                Element::list(self.policy(), parts.into_iter().flatten().collect())
            }
            Self::Cidr { collection, location } => {
                let parts = vec![Element::text("CollectionId", collection), Element::text("LocationName", location)];
                Element::list(self.policy(), parts)
            }
        }
    }

    fn read(node: Node<'_, '_>) -> Result<Option<Self>, Refusal> {
        let value = node.text().unwrap_or_default();
        let part = |name| xml::text(node, name).map(str::to_owned);
        let routing = match node.tag_name().name() {
            "Weight" => Self::Weight(number(value)?),
            "Region" => Self::Region(value.to_owned()),
            "Failover" => Self::Failover(value.to_owned()),
            "MultiValueAnswer" if value == "true" => Self::MultiValue,
            "GeoLocation" => {
                xml::only(node, &["ContinentCode", "CountryCode", "SubdivisionCode"])?;
                let (continent, country) = (part("ContinentCode"), part("CountryCode"));
                Self::Location { continent, country, subdivision: part("SubdivisionCode") }
            }
            "GeoProximityLocation" => {
                xml::only(node, &["AWSRegion", "LocalZoneGroup", "Coordinates", "Bias"])?;
                let place = |place| {
                    let part = |name| xml::text(place, name).unwrap_or_default().to_owned();
                    (part("Latitude"), part("Longitude"))
                };
                Self::Proximity {
                    region: part("AWSRegion"),
                    local_zone_group: part("LocalZoneGroup"),
                    coordinates: xml::child(node, "Coordinates").map(place),
                    bias: xml::text(node, "Bias").map(number).transpose()?,
                }
            }
            "CidrRoutingConfig" => {
                let part = |name| part(name).unwrap_or_default();
                Self::Cidr { collection: part("CollectionId"), location: part("LocationName") }
            }
            _ => return Ok(None),
        };
        Ok(Some(routing))
    }
}

/// A set in a request, as it was sent: [`RecordSet`] has room for one policy, a request for several.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) set: RecordSet,
    /// The policies that the request names beyond the first.
    pub(super) more: usize,
}

impl Asked {
    pub(super) fn read(node: Node<'_, '_>) -> Result<Self, Refusal> {
        #[rustfmt::skip]
        let names = [
            "Name", "Type", "SetIdentifier", "Weight", "Region", "Failover", "MultiValueAnswer", "GeoLocation",
            "GeoProximityLocation", "CidrRoutingConfig", "TTL", "ResourceRecords", "AliasTarget", "HealthCheckId",
            "TrafficPolicyInstanceId",
        ];
        xml::only(node, &names)?;
        let part = |name: &'static str| xml::text(node, name).map(str::to_owned);
        let missing = |name: &'static str| move || Refusal::missing(&format!("ResourceRecordSet.{name}"));
        let policies = node.children().filter(Node::is_element).map(Routing::read);
        let policies: Vec<Routing> = policies.filter_map(Result::transpose).collect::<Result<_, _>>()?;
        let values = xml::list(node, "ResourceRecords", "ResourceRecord").into_iter();
        let values = values.map(|record| xml::text(record, "Value").map(str::to_owned));
        let values: Option<Vec<String>> = values.collect();
        let set = RecordSet {
            name: part("Name").ok_or_else(missing("Name"))?,
            kind: part("Type").ok_or_else(missing("Type"))?,
            identifier: part("SetIdentifier"),
            ttl: xml::text(node, "TTL").map(number).transpose()?,
            values: values.ok_or_else(missing("Value"))?,
            alias: xml::child(node, "AliasTarget").map(Alias::read).transpose()?,
            health_check: part("HealthCheckId"),
            policy_instance: part("TrafficPolicyInstanceId"),
            routing: policies.first().cloned(),
        };
        Ok(Self { set, more: policies.len().saturating_sub(1) })
    }
}

fn number(text: &str) -> Result<i64, Refusal> {
    text.parse().map_err(|_| Refusal::malformed(format!("'{text}' is no number")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route53::xml::NAMESPACE;

    fn read(xml: &str) -> Result<Asked, Refusal> {
        xml::request(xml.as_bytes(), "ResourceRecordSet", Asked::read)
    }

    fn location(continent: Option<&str>, country: Option<&str>, subdivision: Option<&str>) -> Routing {
        let text = |text: Option<&str>| text.map(str::to_owned);
        Routing::Location { continent: text(continent), country: text(country), subdivision: text(subdivision) }
    }

    #[test]
    fn every_set_survives_the_way_there_and_back() {
        let plain = RecordSet::new("a.example.org.", "TXT", 300, &["\"<a>\"", "\"b & c\""]);
        let place = Some(("49.22".to_owned(), "-74.01".to_owned()));
        let near = |region: Option<&str>, local_zone_group: Option<&str>, coordinates| Routing::Proximity {
            region: region.map(str::to_owned),
            local_zone_group: local_zone_group.map(str::to_owned),
            coordinates,
            bias: Some(-9),
        };
        let policies = [
            Routing::Weight(0),
            Routing::Region("eu-west-1".to_owned()),
            Routing::Failover("PRIMARY".to_owned()),
            Routing::MultiValue,
            location(Some("EU"), None, None),
            location(None, Some("US"), Some("NY")),
            near(Some("eu-west-1"), None, None),
            near(None, Some("us-east-1-bos-1"), None),
            near(None, None, place),
            Routing::Cidr { collection: "c".to_owned(), location: "*".to_owned() },
        ];
        let routed = policies.map(|policy| plain.clone().routed("one", policy));
        let checked =
            RecordSet { health_check: Some("h".to_owned()), policy_instance: Some("p".to_owned()), ..plain.clone() };
        let alias = RecordSet::alias("a.example.org.", "A", "Z1", "b.example.org.");
        for set in routed.into_iter().chain([plain, checked, alias]) {
            let asked = read(&set.element().document(NAMESPACE)).unwrap();
            assert_eq!((asked.set, asked.more), (set, 0));
        }
    }

    #[test]
    fn what_is_missing_or_unknown_is_refused() {
        let root = |inner: &str| format!("<ResourceRecordSet xmlns=\"{NAMESPACE}\">{inner}</ResourceRecordSet>");
        let named = "<Name>a.org</Name><Type>A</Type>";
        assert!(read(&root(named)).is_ok());
        for (inner, code) in [
            ("<Name>a.org</Name>", "InvalidInput"),
            ("<Type>A</Type>", "InvalidInput"),
            ("<Name>a.org</Name><Type>A</Type><TTL>soon</TTL>", "MalformedInput"),
            ("<Name>a.org</Name><Type>A</Type><Ttl>1</Ttl>", "MalformedInput"),
            ("<Name>a.org</Name><Type>A</Type><AliasTarget><DNSName>b.org</DNSName></AliasTarget>", "InvalidInput"),
            ("<Name>a.org</Name><Type>A</Type><ResourceRecords><ResourceRecord/></ResourceRecords>", "InvalidInput"),
        ] {
            assert_eq!(read(&root(inner)).unwrap_err().code, code, "{inner}");
        }
        let two = "<Weight>1</Weight><Region>eu-west-1</Region><MultiValueAnswer>false</MultiValueAnswer>";
        assert_eq!(read(&root(&format!("{named}{two}"))).unwrap().more, 1);
    }

    #[test]
    fn a_delete_names_values_in_any_order() {
        let standing = RecordSet::new("a.org.", "A", 300, &["192.0.2.1", "192.0.2.2"]);
        assert!(RecordSet::new("a.org.", "A", 300, &["192.0.2.2", "192.0.2.1"]).same(&standing));
        assert!(!RecordSet::new("a.org.", "A", 300, &["192.0.2.1"]).same(&standing));
        assert!(!RecordSet::new("a.org.", "A", 60, &["192.0.2.1", "192.0.2.2"]).same(&standing));
    }
}
