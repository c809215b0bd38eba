//! Zones, and which of them a name belongs to.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::filter::DomainFilter;
use crate::name::DnsName;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(Arc::from(text))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

text_id! {
    /// Names one configured provider: a kind of provider with its account and settings.
    InstanceId
}
text_id! {
    /// A provider's own name for a zone.
    ZoneId
}

/// Identity of a zone across providers and accounts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ZoneKey {
    /// The provider instance that holds it.
    pub instance: InstanceId,
    /// Its id there.
    pub zone: ZoneId,
}

impl fmt::Display for ZoneKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.instance, self.zone)
    }
}

/// Who can resolve a zone's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Visibility {
    /// Everybody on the internet.
    Public,
    /// Only certain networks.
    Private,
}

/// A zone of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone {
    /// The instance of the provider and the zone's id there.
    pub key: ZoneKey,
    /// Another id by which people may know it, where the provider has two: its number at Cloud DNS. Only rules that choose zones read it.
    pub other_id: Option<ZoneId>,
    /// The apex. The root for a provider that has no zones (webhook).
    pub name: DnsName,
    /// Who can resolve it.
    pub visibility: Visibility,
    /// Which of the names below the apex are managed here. Everything, but for a provider that has no zones and names its
    /// domains instead (webhook). It says nothing of claims, which may stand outside of it.
    pub filter: DomainFilter,
    /// A rule that takes any zone took it, beside others that say which: nobody asked for this one
    /// ([`crate::zone_rules`]).
    pub by_wildcard: bool,
}

impl Zone {
    /// Whether records at `name` are managed in this zone: it is the apex or below, and within the zone's filter.
    pub fn covers(&self, name: &DnsName) -> bool {
        name.is_within(&self.name) && self.filter.matches(name)
    }

    /// Whether the provider calls it so.
    pub fn has_id(&self, id: &str) -> bool {
        self.key.zone.as_str() == id || self.other_id.as_ref().is_some_and(|other| other.as_str() == id)
    }

    /// What people call it: its apex, or for a provider that has no zones the domains that it serves.
    pub fn title(&self) -> String {
        let domains = self.filter.domains();
        if self.name == DnsName::root() && !domains.is_empty() { domains.join(", ") } else { self.name.to_string() }
    }

    /// A public zone without a filter.
    pub fn new(instance: &InstanceId, id: &str, name: DnsName) -> Self {
        Self {
            key: ZoneKey { instance: instance.clone(), zone: ZoneId::from(id) },
            other_id: None,
            name,
            visibility: Visibility::Public,
            filter: DomainFilter::default(),
            by_wildcard: false,
        }
    }
}

/// How names go to the zones of one provider instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ZoneRule {
    /// To the zone with the longest name that is a suffix; among equals to the one with the least rank, and then the least id.
    LongestSuffix,
    /// To every private zone that is a suffix, and to the longest public one (Route 53, split horizon).
    AllPrivateLongestPublic,
    /// To every private zone that is a suffix, and to the longest public one, unless a private one is longer: what is within that is not for
    /// the public (Cloud DNS, split horizon).
    AllPrivateInnermostPublic,
}

/// The zones of one provider instance that `name` belongs to, in a stable order; none if it is outside every zone.
pub fn route<'a>(rule: ZoneRule, zones: impl IntoIterator<Item = &'a Zone>, name: &DnsName) -> Vec<&'a Zone> {
    route_ranked(rule, zones, name, |_| ())
}

/// As [`route`]; among zones of one name those with the least rank come first.
pub fn route_ranked<'a, R: Ord>(
    rule: ZoneRule,
    zones: impl IntoIterator<Item = &'a Zone>,
    name: &DnsName,
    rank: impl Fn(&Zone) -> R,
) -> Vec<&'a Zone> {
    let mut fitting: Vec<&Zone> = zones.into_iter().filter(|zone| name.is_within(&zone.name)).collect();
    fitting.sort_by_cached_key(|zone| (std::cmp::Reverse(zone.name.label_count()), rank(zone), zone.key.clone()));
    match rule {
        ZoneRule::LongestSuffix => fitting.truncate(1),
        ZoneRule::AllPrivateLongestPublic => first_public(&mut fitting),
        ZoneRule::AllPrivateInnermostPublic => {
            let longest = fitting.first().map_or(0, |zone| zone.name.label_count());
            fitting.retain(|zone| zone.visibility == Visibility::Private || zone.name.label_count() == longest);
            first_public(&mut fitting);
        }
    }
    fitting
}

/// Leaves the private zones and the first public one.
fn first_public(zones: &mut Vec<&Zone>) {
    let mut public_seen = false;
    zones.retain(|zone| match zone.visibility {
        Visibility::Private => true,
        Visibility::Public => !std::mem::replace(&mut public_seen, true),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(id: &str, name: &str, visibility: Visibility) -> Zone {
        Zone { visibility, ..Zone::new(&InstanceId::from("i"), id, DnsName::parse(name).unwrap()) }
    }

    fn ids(rule: ZoneRule, zones: &[Zone], name: &str) -> Vec<String> {
        route(rule, zones, &DnsName::parse(name).unwrap()).iter().map(|z| z.key.zone.to_string()).collect()
    }

    #[test]
    fn longest_suffix_by_whole_labels() {
        use Visibility::Public;
        let zones = [
            zone("1", "example.com", Public),
            zone("2", "sub.example.com", Public),
            zone("4", "sub.example.com", Public),
            zone("3", "other.org", Public),
        ];
        for (name, expected) in [
            ("a.example.com", vec!["1"]),
            ("a.sub.example.com", vec!["2"]),
            ("sub.example.com", vec!["2"]),
            ("badexample.com", vec![]),
            ("com", vec![]),
        ] {
            assert_eq!(ids(ZoneRule::LongestSuffix, &zones, name), expected, "{name}");
        }
    }

    #[test]
    fn among_zones_of_one_name_the_least_rank_comes_first() {
        let zones = ["1", "2", "3"].map(|id| zone(id, "example.com", Visibility::Public));
        let name = DnsName::parse("a.example.com").unwrap();
        let late = |zone: &Zone| match &*zone.key.zone.to_string() {
            "1" => Some(9),
            "2" => Some(5),
            _ => None,
        };
        let first = |zones: &[Zone]| {
            let routed = route_ranked(ZoneRule::LongestSuffix, zones, &name, late);
            routed.iter().map(|zone| zone.key.zone.to_string()).collect::<Vec<_>>()
        };
        assert_eq!((first(&zones), first(&zones[..2])), (vec!["3".to_owned()], vec!["2".to_owned()]));
    }

    #[test]
    fn a_zone_covers_what_its_filter_takes() {
        let name = |text: &str| DnsName::parse(text).unwrap();
        let filter = DomainFilter::plain(&["example.org".to_owned()], &["x.example.org".to_owned()]);
        let root = Zone { filter, ..zone("1", ".", Visibility::Public) };
        let plain = zone("2", "example.com", Visibility::Public);
        for (zone, text, expected) in [
            (&root, "a.example.org", true),
            (&root, "x.example.org", false),
            (&root, "a.example.com", false),
            (&plain, "a.example.com", true),
            (&plain, "a.example.org", false),
        ] {
            assert_eq!(zone.covers(&name(text)), expected, "{text} in {}", zone.name);
        }
        assert_eq!((root.title().as_str(), plain.title().as_str()), ("example.org", "example.com"));
        assert_eq!(zone("3", ".", Visibility::Public).title(), ".");
    }

    #[test]
    fn all_private_and_the_longest_public() {
        use Visibility::{Private, Public};
        let zones = [
            zone("pub-long", "sub.example.com", Public),
            zone("pub", "example.com", Public),
            zone("priv-a", "example.com", Private),
            zone("priv-b", "sub.example.com", Private),
        ];
        assert_eq!(
            ids(ZoneRule::AllPrivateLongestPublic, &zones, "a.sub.example.com"),
            ["priv-b", "pub-long", "priv-a"]
        );
    }

    #[test]
    fn a_private_zone_hides_its_names_from_a_shorter_public_one() {
        use Visibility::{Private, Public};
        let zones = [
            zone("pub", "example.com", Public),
            zone("pub-twin", "example.com", Public),
            zone("priv-a", "example.com", Private),
            zone("priv-b", "example.com", Private),
            zone("inner", "internal.example.com", Private),
            zone("outer", "open.example.com", Public),
        ];
        for (name, expected) in [
            ("www.example.com", &["priv-a", "priv-b", "pub"][..]),
            ("db.internal.example.com", &["inner", "priv-a", "priv-b"]),
            ("internal.example.com", &["inner", "priv-a", "priv-b"]),
            ("www.open.example.com", &["outer", "priv-a", "priv-b"]),
            ("example.org", &[]),
        ] {
            assert_eq!(ids(ZoneRule::AllPrivateInnermostPublic, &zones, name), expected, "{name}");
        }
    }
}
