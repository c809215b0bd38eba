//! Record sets of a zone in as little memory as they need. Most are one record without options: those are little more than its data.

use crate::name::DnsName;
use crate::options::Options;
use crate::rdata::{RData, Txt};
use crate::record::{AliasTarget, Item, RecordData, RecordKey, RecordSet, Routing, SetId, Ttl};
use crate::rtype::RecordType;

/// What stands at a name, sorted by type and set identifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Slims {
    One(Slim),
    Many(Box<[Slim]>),
}

impl Slims {
    pub(super) fn as_slice(&self) -> &[Slim] {
        match self {
            Self::One(only) => std::slice::from_ref(only),
            Self::Many(all) => all,
        }
    }
}

impl From<Vec<Slim>> for Slims {
    fn from(mut slims: Vec<Slim>) -> Self {
        match slims.pop() {
            Some(only) if slims.is_empty() => Self::One(only),
            last => {
                slims.extend(last);
                Self::Many(slims.into_boxed_slice())
            }
        }
    }
}

/// A record set without its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Slim {
    /// One plain record of the types that make up most of a zone.
    Plain { ttl: Option<Ttl>, data: Short },
    /// Anything else.
    Full(Box<Full>),
}

/// The data of one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Short {
    A(std::net::Ipv4Addr),
    Cname(DnsName),
    Txt(Txt),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Full {
    rtype: RecordType,
    ttl: Option<Ttl>,
    data: Data,
    /// What few sets have.
    rest: Option<Box<Rest>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Data {
    One(RData),
    Many(Box<[RData]>),
    Alias(Box<AliasTarget>),
    Items(Box<[Item]>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rest {
    set_id: Option<SetId>,
    routing: Routing,
    options: Options,
}

impl Slim {
    pub(super) fn new(set: RecordSet) -> Self {
        let RecordSet { key: RecordKey { rtype, set_id, .. }, ttl, data, routing, options } = set;
        let plain = set_id.is_none() && routing == Routing::Simple && options.is_empty();
        let data = match Data::from(data) {
            Data::One(RData::A(address)) if plain && rtype == RecordType::A => {
                return Self::Plain { ttl, data: Short::A(address) };
            }
            Data::One(RData::Cname(target)) if plain && rtype == RecordType::Cname => {
                return Self::Plain { ttl, data: Short::Cname(target) };
            }
            Data::One(RData::Txt(text)) if plain && rtype == RecordType::Txt => {
                return Self::Plain { ttl, data: Short::Txt(text) };
            }
            data => data,
        };
        let rest = (!plain).then(|| Box::new(Rest { set_id, routing, options }));
        Self::Full(Box::new(Full { rtype, ttl, data, rest }))
    }

    pub(super) fn rtype(&self) -> RecordType {
        match self {
            Self::Plain { data: Short::A(_), .. } => RecordType::A,
            Self::Plain { data: Short::Cname(_), .. } => RecordType::Cname,
            Self::Plain { data: Short::Txt(_), .. } => RecordType::Txt,
            Self::Full(full) => full.rtype,
        }
    }

    pub(super) fn set_id(&self) -> Option<&SetId> {
        match self {
            Self::Plain { .. } => None,
            Self::Full(full) => full.rest.as_ref()?.set_id.as_ref(),
        }
    }

    pub(super) fn is(&self, key: &RecordKey) -> bool {
        self.rtype() == key.rtype && self.set_id() == key.set_id.as_ref()
    }

    pub(super) fn at(&self, name: &DnsName) -> RecordSet {
        let key = RecordKey { name: name.clone(), rtype: self.rtype(), set_id: self.set_id().cloned() };
        let full = match self {
            Self::Plain { ttl, data } => {
                let data = RecordData::Records(vec![data.clone().into()]);
                return RecordSet { key, ttl: *ttl, data, routing: Routing::Simple, options: Options::default() };
            }
            Self::Full(full) => full,
        };
        let data = match &full.data {
            Data::One(only) => RecordData::Records(vec![only.clone()]),
            Data::Many(records) => RecordData::Records(records.to_vec()),
            Data::Alias(alias) => RecordData::Alias((**alias).clone()),
            Data::Items(items) => RecordData::Items(items.to_vec()),
        };
        let (routing, options) = match &full.rest {
            Some(rest) => (rest.routing.clone(), rest.options.clone()),
            None => (Routing::Simple, Options::default()),
        };
        RecordSet { key, ttl: full.ttl, data, routing, options }
    }
}

impl From<Short> for RData {
    fn from(data: Short) -> Self {
        match data {
            Short::A(address) => Self::A(address),
            Short::Cname(target) => Self::Cname(target),
            Short::Txt(text) => Self::Txt(text),
        }
    }
}

impl From<RecordData> for Data {
    fn from(data: RecordData) -> Self {
        match data {
            RecordData::Alias(alias) => Self::Alias(Box::new(alias)),
            RecordData::Items(items) => Self::Items(items.into()),
            RecordData::Records(mut records) if records.len() == 1 => match records.pop() {
                Some(only) => Self::One(only),
                None => Self::Many(Box::default()),
            },
            RecordData::Records(records) => Self::Many(records.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::OptionValue;
    use crate::testing::set;

    #[test]
    fn a_set_is_given_back_as_it_was() {
        let plain = ["a.example A 192.0.2.1", "a.example TXT x", "a.example CNAME b.example"].map(set);
        let many = ["a.example A 192.0.2.1 192.0.2.2", "a.example AAAA 2001:db8::1", "a.example NS b.example"].map(set);
        let weighted = RecordSet { routing: Routing::Weighted { weight: 3 }, ..plain[0].clone() };
        let named =
            RecordSet { key: RecordKey { set_id: SetId::new("x"), ..plain[1].key.clone() }, ..plain[1].clone() };
        let mut options = Options::default();
        options.set("proxied", OptionValue::Bool(true));
        let with_options = RecordSet { options, ..plain[2].clone() };
        let odd = RecordSet { key: RecordKey { rtype: RecordType::Ns, ..plain[0].key.clone() }, ..plain[0].clone() };
        for set in plain.into_iter().chain(many).chain([weighted, named, with_options, odd]) {
            assert_eq!(Slim::new(set.clone()).at(&set.key.name), set);
        }
    }

    #[test]
    fn most_of_a_zone_is_small() {
        assert_eq!((size_of::<Slim>(), size_of::<Slims>()), (32, 32));
    }
}
