//! Identifiers of Azure Resource Manager: `/subscriptions/{s}/resourceGroups/{g}/providers/Microsoft.Network/dnsZones/{zone}`.
//!
//! What must hold: they mean the same in any case of letters, and the service writes them now so and now so; ours are in lower case.

use std::fmt;

use zonewright_core::zone::ZoneId;

/// Public or private zones: two services with one shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Azure DNS.
    Public,
    /// Azure Private DNS.
    Private,
}

impl Kind {
    /// The last part of the resource type.
    pub(crate) fn resource(self) -> &'static str {
        match self {
            Self::Public => "dnszones",
            Self::Private => "privatednszones",
        }
    }

    /// The version of the interface.
    pub(crate) fn version(self) -> &'static str {
        match self {
            Self::Public => "2018-05-01",
            Self::Private => "2024-06-01",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "Azure DNS",
            Self::Private => "Azure Private DNS",
        })
    }
}

/// Where a zone is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArmId {
    pub(crate) subscription: String,
    pub(crate) group: String,
    pub(crate) zone: String,
}

impl ArmId {
    /// Reads the identifier of a zone of this kind.
    pub(crate) fn parse(text: &str, kind: Kind) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        let parts: Vec<&str> = text.trim_start_matches('/').split('/').collect();
        let ["subscriptions", subscription, "resourcegroups", group, "providers", "microsoft.network", resource, zone] =
            parts.as_slice()
        else {
            return None;
        };
        let whole = *resource == kind.resource() && [subscription, group, zone].iter().all(|part| !part.is_empty());
        let owned = |part: &str| part.to_owned();
        whole.then(|| Self { subscription: owned(subscription), group: owned(group), zone: owned(zone) })
    }

    /// The same as the id of a zone.
    pub(crate) fn id(&self, kind: Kind) -> ZoneId {
        let Self { subscription, group, zone } = self;
        let resource = kind.resource();
        ZoneId::from(
            format!(
                "/subscriptions/{subscription}/resourcegroups/{group}/providers/microsoft.network/{resource}/{zone}"
            )
            .as_str(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_mean_the_same_in_any_case() {
        let public = "/subscriptions/S1/resourceGroups/Shop/providers/Microsoft.Network/dnsZones/Example.org";
        let id = ArmId::parse(public, Kind::Public).unwrap();
        assert_eq!((id.subscription.as_str(), id.group.as_str(), id.zone.as_str()), ("s1", "shop", "example.org"));
        assert_eq!(ArmId::parse(id.id(Kind::Public).as_str(), Kind::Public), Some(id.clone()));
        assert_eq!(id.id(Kind::Public).as_str(), public.to_ascii_lowercase());
        for (text, kind) in [
            (public, Kind::Private),
            ("/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/dnsZones/", Kind::Public),
            ("/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/dnsZones/z/A", Kind::Public),
            ("example.org", Kind::Public),
            ("", Kind::Private),
        ] {
            assert_eq!(ArmId::parse(text, kind), None, "{text}");
        }
    }
}
