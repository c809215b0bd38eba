//! Intents: the first half of a write that cannot be made in one step.
//!
//! In: the claim to come (or to go), as its TXT record has it, and the records that come or go with it. Out: a text that
//! external-dns takes for nobody's claim, and that speaks for a record only while exactly what it announced stands there. So
//! a refused write leaves no right behind, and a crash between record and claim strands no record.
//!
//! The form: `heritage=zonewright-intent,zonewright/record=RECORD[ RECORD..],zonewright/claim=TEXT`. A RECORD is
//! `DIGEST/TYPE/NAME`; TEXT is the claim as it will be written, to the end of the text.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::name::DnsName;
use crate::rdata::RData;
use crate::record::{RecordKey, RecordSet};
use crate::rtype::RecordType;

/// What every intent begins with.
pub const HERITAGE: &str = "heritage=zonewright-intent";
const RECORD: &str = ",zonewright/record=";
const CLAIM: &str = ",zonewright/claim=";

/// A record that is to come or to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announced {
    /// The [`digest`] of its content.
    pub digest: String,
    /// The record type of the announced set.
    pub rtype: RecordType,
    /// Its name; a set identifier is that of the claim.
    pub name: DnsName,
}

impl Announced {
    fn of(set: &RecordSet) -> Self {
        Self { digest: digest(set), rtype: set.key.rtype, name: set.key.name.clone() }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.splitn(3, '/');
        let (digest, rtype, name) = (words.next()?, words.next()?, words.next()?);
        Some(Self { digest: digest.to_owned(), rtype: rtype.parse().ok()?, name: DnsName::parse(name).ok()? })
    }
}

/// A write that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// The records that the write changes, as they stand where the claim speaks for them.
    pub records: Vec<Announced>,
    /// The text of the claim.
    pub claim: String,
}

impl Intent {
    /// Announces the claim `claim` for `records`.
    pub fn new<'a>(records: impl IntoIterator<Item = &'a RecordSet>, claim: &str) -> Self {
        Self { records: records.into_iter().map(Announced::of).collect(), claim: claim.to_owned() }
    }

    /// The intent that a text holds; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        // External-dns puts its claims in quotes of their own.
        let text = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text);
        let rest = text.strip_prefix(HERITAGE)?.strip_prefix(RECORD)?;
        let (records, claim) = rest.split_once(CLAIM)?;
        let records: Option<Vec<Announced>> = records.split(' ').map(Announced::parse).collect();
        Some(Self { records: records?, claim: claim.to_owned() })
    }

    /// The intent that a record's data is; `None` if it is none.
    pub fn of(data: &RData) -> Option<Self> {
        match data {
            RData::Txt(txt) => txt.text().and_then(|text| Self::parse(&text)),
            _ => None,
        }
    }

    /// The intents that the texts of a set hold.
    pub fn all_in(set: &RecordSet) -> Vec<Self> {
        set.data.as_records().iter().filter_map(Self::of).collect()
    }

    /// Whether a text begins like an intent, also one that cannot be read further.
    pub fn is_one(text: &str) -> bool {
        text.strip_prefix('"').unwrap_or(text).starts_with(HERITAGE)
    }

    /// Whether it speaks for a record: the record stands exactly as it was announced.
    pub fn covers(&self, record: &RecordSet) -> bool {
        self.records.contains(&Announced::of(record))
    }
}

impl std::fmt::Display for Intent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let record = |announced: &Announced| format!("{}/{}/{}", announced.digest, announced.rtype, announced.name);
        let records: Vec<String> = self.records.iter().map(record).collect();
        write!(f, "{HERITAGE}{RECORD}{}{CLAIM}{}", records.join(" "), self.claim)
    }
}

/// The first 16 hexadecimal digits of a SHA-256 over key and data of a record set. Its TTL does not count: some providers
/// change it.
pub fn digest(set: &RecordSet) -> String {
    digest_of(&set.key, texts(set))
}

/// The data of a record set as [`digest`] counts it: one text for each record, or one for an alias; and one for its routing policy,
/// if it has one, since a change of its weight alone is a change too.
pub fn texts(set: &RecordSet) -> Vec<String> {
    let mut texts: Vec<String> = match &set.data {
        crate::record::RecordData::Records(records) => records.iter().map(ToString::to_string).collect(),
        other => vec![other.to_string()],
    };
    texts.extend((!set.routing.is_simple()).then(|| format!("={}", crate::in_set::policy_key(&set.routing))));
    texts
}

/// [`digest`] of a record set of which only the key and the [`texts`] are at hand.
pub fn digest_of(key: &RecordKey, mut texts: Vec<String>) -> String {
    let mut hasher = Sha256::new();
    hasher.update(key.to_string());
    texts.sort();
    for record in texts {
        hasher.update([0]);
        hasher.update(record);
    }
    hasher.finalize().iter().take(8).fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::set;

    #[test]
    fn an_intent_speaks_for_what_it_announced_and_nothing_else() {
        let record = set("a.example A 192.0.2.1");
        let claim = "heritage=external-dns,external-dns/owner=me";
        let other = set("*.example CNAME x.test");
        let text = Intent::new([&record, &other], claim).to_string();
        let read = Intent::parse(&text).unwrap();
        assert_eq!(read.claim, claim);
        assert!(read.covers(&record) && read.covers(&other) && !read.covers(&set("a.example A 192.0.2.2")));
        assert!(!read.covers(&set("b.example A 192.0.2.1")));
        assert_eq!(Intent::parse(&format!("\"{text}\"")), Some(read));
        assert_eq!(Intent::parse(claim), None);
        assert!(Intent::is_one("heritage=zonewright-intent,damaged") && !Intent::is_one(claim));
    }

    #[test]
    fn the_order_of_records_and_their_ttl_do_not_count() {
        let one = set("a.example A 192.0.2.1 192.0.2.2");
        assert_eq!(digest(&one), digest(&set("a.example A 192.0.2.2 192.0.2.1")));
        assert_eq!(digest(&one), digest(&RecordSet { ttl: None, ..one.clone() }));
        assert_eq!(digest(&one).len(), 16);
        let weighted = |weight| RecordSet { routing: crate::record::Routing::Weighted { weight }, ..one.clone() };
        assert_ne!(digest(&weighted(10)), digest(&weighted(20)));
    }
}
