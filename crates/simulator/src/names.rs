//! The few names and texts that histories are about, and who speaks for what by the claims: written anew, so that the
//! registry is held against something else than itself.

use std::collections::BTreeMap;

use zonewright_core::capability::Capability;
use zonewright_core::rdata::Txt;
use zonewright_core::record::Routing;
use zonewright_core::{DnsName, RData, RecordKey, RecordSet, RecordType, Ttl};

/// Record sets of one zone.
pub(crate) type Sets = BTreeMap<RecordKey, RecordSet>;

/// The types that daemons manage.
pub(crate) const MANAGED: [RecordType; 5] =
    [RecordType::A, RecordType::Aaaa, RecordType::Cname, RecordType::Mx, RecordType::Srv];

/// Of those, the ones that take each other's place.
pub(crate) const ADDRESSES: [RecordType; 3] = [RecordType::A, RecordType::Aaaa, RecordType::Cname];

/// The first label of names at which objects ask for texts; nobody else writes there.
pub(crate) const TEXTS: &str = "text";

/// What set identifiers are to a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rows {
    /// Whether it knows any.
    known: bool,
    /// Whether all sets of a name and type have one kind of routing policy, and types exclude each other under any identifier.
    one_kind: bool,
}

impl Rows {
    pub(crate) fn of(capability: &Capability) -> Self {
        Self { known: capability.set_ids, one_kind: capability.one_kind }
    }

    /// Whether all sets of a name and type have one kind of routing policy.
    pub(crate) fn has_one_kind(self) -> bool {
        self.one_kind
    }

    /// Whether records under two keys can exclude or replace each other.
    pub(crate) fn same(self, one: &RecordKey, other: &RecordKey) -> bool {
        one.name == other.name && (self.one_kind || one.set_id == other.set_id)
    }

    /// Whether two sets are of one type, with an identifier and without, where that is not possible.
    pub(crate) fn other_kind(self, one: &RecordKey, other: &RecordKey) -> bool {
        let (plain, marked) = (one.set_id.is_none(), other.set_id.is_some());
        self.one_kind && one.name == other.name && one.rtype == other.rtype && plain == marked
    }

    /// Whether one set can take the place of another: of another type in its row, or of another kind; where all sets of a name are
    /// planned together, also an address or alias of another type under any identifier.
    pub(crate) fn takes_place(self, one: &RecordKey, other: &RecordKey) -> bool {
        let leads = |key: &RecordKey| ADDRESSES.contains(&key.rtype);
        let types = one.rtype.excludes(other.rtype) || one.rtype != other.rtype && leads(one) && leads(other);
        one.name == other.name && (one.set_id == other.set_id || self.one_kind && types) || self.other_kind(one, other)
    }

    /// A key as the provider holds what is asked for under it: without a policy there is no identifier, where all sets have one kind.
    pub(crate) fn held(self, key: &RecordKey, weighted: bool) -> RecordKey {
        let set_id = key.set_id.clone().filter(|_| self.known && (weighted || !self.one_kind));
        RecordKey { set_id, ..key.clone() }
    }

    /// A set as somebody writes it: one with an identifier has a policy, where that has to be.
    pub(crate) fn written(self, set: RecordSet) -> RecordSet {
        if self.one_kind && set.key.set_id.is_some() && set.routing.is_simple() {
            return RecordSet { routing: Routing::Weighted { weight: 1 }, ..set };
        }
        set
    }

    /// The first set of a zone beside which one that came cannot stand, by its kind or, if a CNAME `stands_alone`, by its type.
    pub(crate) fn hindered<'a>(self, sets: &'a Sets, came: &RecordKey, stands_alone: bool) -> Option<&'a RecordKey> {
        let alone = |other: &RecordKey| stands_alone && self.same(other, came) && came.rtype.excludes(other.rtype);
        sets.keys().find(|other| alone(other) || self.other_kind(other, came))
    }
}

/// Whether a key is that of a record that daemons manage, and no claim.
pub(crate) fn is_record(key: &RecordKey) -> bool {
    let head = || key.name.split_first().is_some_and(|(head, _)| head.starts_with(TEXTS));
    MANAGED.contains(&key.rtype) || key.rtype == RecordType::Txt && head()
}

/// What stands in every text by which an object tries to make a claim.
pub(crate) const FORGED: &str = "forged";

/// Whether a text was made up by an object.
pub(crate) fn is_forged(data: &zonewright_core::RecordData) -> bool {
    data.as_records().iter().any(|data| data.to_string().to_lowercase().contains(FORGED))
}

/// A name that is known to be one.
pub(crate) fn name(text: &str) -> DnsName {
    DnsName::parse(text).expect("the simulator's names are names")
}

/// Data that tells who wrote it: 1 for objects, 2 for humans, 3 for the peer.
pub(crate) fn data_of(author: u8, n: usize, rtype: RecordType) -> RData {
    match rtype {
        RecordType::A => data(rtype, &format!("192.0.{author}.{n}")),
        RecordType::Aaaa => data(rtype, &format!("2001:db8:{author}::{n}")),
        RecordType::Cname => data(rtype, &format!("t{n}.author{author}.test")),
        RecordType::Mx => data(rtype, &format!("{n} mail.author{author}.test")),
        RecordType::Srv => data(rtype, &format!("{n} 5 443 host.author{author}.test")),
        RecordType::Caa => data(rtype, &format!("0 issue \"ca{n}.author{author}.test\"")),
        _ => data(RecordType::Txt, &format!("\"text {n} of {author}\"")),
    }
}

/// Data that is known to be of its type.
pub(crate) fn data(rtype: RecordType, text: &str) -> RData {
    RData::parse(rtype, text).expect("the simulator's data is data")
}

/// A set with one TTL for all.
pub(crate) fn set(key: &RecordKey, records: impl IntoIterator<Item = RData>) -> RecordSet {
    RecordSet { key: key.clone(), ..RecordSet::simple(key.name.clone(), key.rtype, Ttl::from_secs(300), records) }
}

pub(crate) fn text(set: &RecordKey, text: &str) -> RecordSet {
    self::set(set, [RData::Txt(Txt::from_text(text))])
}

/// How names of claims are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Affix {
    pub(crate) prefix: &'static str,
    pub(crate) suffix: &'static str,
}

/// The affixes that worlds have.
pub(crate) const AFFIXES: [Affix; 4] = [
    Affix { prefix: "", suffix: "" },
    Affix { prefix: "zw-", suffix: "" },
    Affix { prefix: "%{record_type}.zw.", suffix: "" },
    Affix { prefix: "", suffix: "-zw" },
];

impl Affix {
    fn around(self, name: &DnsName, kind: &str) -> Option<DnsName> {
        let (head, rest) = name.split_first()?;
        let template = "%{record_type}";
        let prefix = self.prefix.replace(template, kind);
        let own = if self.prefix.contains(template) || kind.is_empty() { String::new() } else { format!("{kind}-") };
        DnsName::parse(&format!("{prefix}{own}{head}{}.{rest}", self.suffix)).ok()
    }

    /// Where claims on `key` count, with whether the name tells the type; under the same set identifier. `apex` is the zone's.
    pub(crate) fn places(self, key: &RecordKey, apex: &DnsName) -> Vec<(RecordKey, bool)> {
        let kind = key.rtype.lower();
        let typed = self.around(&key.name, &kind);
        let outside = typed.as_ref().is_none_or(|typed| !typed.is_within(apex));
        let inside = (outside && key.name == *apex).then(|| apex.prepend(&format!("{kind}-_apex")).ok()).flatten();
        let old = if key.rtype == RecordType::Aaaa { None } else { self.around(&key.name, "") };
        // A template alone before a dot leaves a name that begins with the dot: there is no old-format name.
        let of = |name, typed| (RecordKey { name, rtype: RecordType::Txt, set_id: key.set_id.clone() }, typed);
        let typed = inside.into_iter().chain(typed).map(|name| of(name, true));
        typed.chain(old.map(|name| of(name, false))).collect()
    }
}

/// What one TXT text says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Saying {
    /// A claim.
    Claim { owner: String, resource: Option<String>, policy: Option<String> },
    /// The first half of a write: whose claim is to come, and the records that it announces.
    Intent { owner: String, resource: Option<String>, policy: Option<String>, records: Vec<String> },
    /// Anything else.
    Other,
}

/// Reads a text.
pub(crate) fn saying(data: &RData) -> Saying {
    let RData::Txt(txt) = data else { return Saying::Other };
    let Some(whole) = txt.text() else { return Saying::Other };
    let whole = whole.trim_matches('"');
    let label = |key: &str, text: &str| text.split(',').find_map(|token| token.strip_prefix(key)).map(str::to_owned);
    if let Some(rest) = whole.strip_prefix("heritage=zonewright-intent,zonewright/record=") {
        let Some((records, claim)) = rest.split_once(",zonewright/claim=") else { return Saying::Other };
        let records = records.split(' ').map(str::to_owned).collect();
        return Saying::Intent {
            owner: label("external-dns/owner=", claim).unwrap_or_default(),
            resource: label("external-dns/resource=", claim),
            policy: label("external-dns/zonewright-policy=", claim),
            records,
        };
    }
    match (whole.starts_with("heritage=external-dns,"), label("external-dns/owner=", whole)) {
        (true, Some(owner)) => Saying::Claim {
            owner,
            resource: label("external-dns/resource=", whole),
            policy: label("external-dns/zonewright-policy=", whole),
        },
        _ => Saying::Other,
    }
}

/// Whether a set holds claims or intents.
pub(crate) fn speaks(set: &RecordSet) -> bool {
    set.key.rtype == RecordType::Txt && set.data.as_records().iter().any(|data| saying(data) != Saying::Other)
}
