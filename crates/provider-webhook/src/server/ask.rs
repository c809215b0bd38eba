//! The body of POST /records, by the names that it is about.
//!
//! In: the four lists. Out: one bundle for each name, with everything that is asked for there. A claim belongs to the name
//! of its record, which callers say in the label `ownedRecord`, so that both stand or fall together. Old and new sides of
//! updates are paired by position; what has no other side spoils its name and no other.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use zonewright_core::claim_text::reads_as_claim;
use zonewright_core::{DnsName, RData, RecordType};

use crate::wire::{Endpoint, from_fields};

/// The four lists, each element where it stands; `null` elements count for the pairing.
#[derive(Debug, Default)]
pub(super) struct Posted {
    create: Vec<Option<Endpoint>>,
    update_old: Vec<Option<Endpoint>>,
    update_new: Vec<Option<Endpoint>>,
    delete: Vec<Option<Endpoint>>,
}

from_fields!(Posted, create = "create", update_old = "updateOld", update_new = "updateNew", delete = "delete");

/// One change as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ask {
    Delete(Endpoint),
    Update(Endpoint, Endpoint),
    Create(Endpoint),
}

impl Ask {
    fn new_side(&self) -> Option<&Endpoint> {
        match self {
            Self::Create(new) | Self::Update(_, new) => Some(new),
            Self::Delete(_) => None,
        }
    }
}

/// Everything that is asked for at one name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Bundle {
    /// The name as it is spelled, where it is no domain name.
    pub(super) said: String,
    /// The name.
    pub(super) name: Option<DnsName>,
    pub(super) asks: Vec<Ask>,
    /// Why nothing of it can be done.
    pub(super) problem: Option<String>,
}

impl Bundle {
    /// A new text that would be read as a claim, though the caller claims it as a record: the claims that come with it say whose
    /// they are (`ownedRecord`), and it does not.
    pub(super) fn forged(&self) -> Option<&Endpoint> {
        let new = || self.asks.iter().filter_map(Ask::new_side);
        let reads = |endpoint: &&Endpoint| {
            let texts = endpoint.targets.iter().filter_map(|text| RData::parse(RecordType::Txt, text).ok());
            endpoint.rtype.eq_ignore_ascii_case("TXT") && texts.into_iter().any(|data| reads_as_claim(&data))
        };
        let is_claimed = new().any(|endpoint| owned_record(endpoint).is_some());
        new().filter(|endpoint| is_claimed && owned_record(endpoint).is_none()).find(reads)
    }
}

/// The lists by name, in the order of the names.
pub(super) fn bundles(posted: Posted) -> Vec<Bundle> {
    let mut all = Bundles::default();
    posted.delete.into_iter().flatten().for_each(|endpoint| all.at(&endpoint).asks.push(Ask::Delete(endpoint)));
    let (old, new) = (posted.update_old, posted.update_new);
    if old.len() == new.len() {
        old.into_iter().zip(new).for_each(|pair| all.pair(pair));
    } else {
        let problem = format!("updateOld has {} endpoints and updateNew {}; expected pairs", old.len(), new.len());
        old.iter().chain(&new).flatten().for_each(|endpoint| all.at(endpoint).problem = Some(problem.clone()));
    }
    posted.create.into_iter().flatten().for_each(|endpoint| all.at(&endpoint).asks.push(Ask::Create(endpoint)));
    all.0.into_values().collect()
}

#[derive(Debug, Default)]
struct Bundles(BTreeMap<String, Bundle>);

impl Bundles {
    /// The bundle that an endpoint belongs to.
    fn at(&mut self, endpoint: &Endpoint) -> &mut Bundle {
        let name = owned_record(endpoint).or_else(|| DnsName::parse(&endpoint.name).ok());
        let said = name.as_ref().map_or(endpoint.name.as_str(), DnsName::as_str).to_owned();
        self.0.entry(said.clone()).or_insert_with(|| Bundle { said, name, ..Bundle::default() })
    }

    fn pair(&mut self, pair: (Option<Endpoint>, Option<Endpoint>)) {
        match pair {
            (Some(from), Some(to)) => self.at(&to).asks.push(Ask::Update(from, to)),
            (Some(one), None) | (None, Some(one)) => {
                let problem = "one side of an update is null; expected the old and the new endpoint";
                self.at(&one).problem = Some(problem.to_owned());
            }
            (None, None) => {}
        }
    }
}

/// The name of the record that a claim is for.
fn owned_record(endpoint: &Endpoint) -> Option<DnsName> {
    let label = endpoint.labels.get("ownedRecord").filter(|_| endpoint.rtype.eq_ignore_ascii_case("TXT"))?;
    DnsName::parse(label).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `name: ask ask ...`, or what is wrong.
    fn shown(bundle: &Bundle) -> String {
        let ask = |ask: &Ask| match ask {
            Ask::Delete(old) => format!("-{}/{}", old.name, old.rtype),
            Ask::Create(new) => format!("+{}/{}", new.name, new.rtype),
            Ask::Update(old, new) => format!("~{}/{}>{}", old.name, old.targets.join("+"), new.targets.join("+")),
        };
        let asks = || bundle.asks.iter().map(ask).collect::<Vec<_>>().join(" ");
        format!("{}: {}", bundle.said, bundle.problem.clone().unwrap_or_else(asks))
    }

    #[track_caller]
    fn check(json: &str, expected: &[&str]) {
        let posted: Posted = serde_json::from_str(json).unwrap();
        assert_eq!(bundles(posted).iter().map(shown).collect::<Vec<_>>(), expected, "{json}");
    }

    const A: &str = r#"{"dnsName":"a.test","recordType":"A","targets":["1"]}"#;

    #[test]
    fn one_bundle_for_each_name() {
        check("null", &[]);
        check(r#"{"create":null,"delete":[null]}"#, &[]);
        check(&format!(r#"{{"Create":[{A}]}}"#), &["a.test: +a.test/A"]);
        check(
            &format!(
                r#"{{"create":[{{"dnsName":"A.test.","recordType":"CNAME"}},{{"dnsName":"b.test"}}],"delete":[{A}]}}"#
            ),
            &["a.test: -a.test/A +A.test./CNAME", "b.test: +b.test/"],
        );
        check(r#"{"create":[{"dnsName":"a..b"}]}"#, &["a..b: +a..b/"]);
    }

    #[test]
    fn a_claim_goes_with_its_record() {
        let claim = r#"{"dnsName":"a-a.test","recordType":"TXT","labels":{"ownedRecord":"a.test"}}"#;
        check(&format!(r#"{{"create":[{A},{claim}]}}"#), &["a.test: +a.test/A +a-a.test/TXT"]);
        let strange = r#"{"dnsName":"b.test","recordType":"A","labels":{"ownedRecord":"a.test"}}"#;
        check(&format!(r#"{{"create":[{strange}]}}"#), &["b.test: +b.test/A"]);
        let nowhere = r#"{"dnsName":"b.test","recordType":"TXT","labels":{"ownedRecord":"a..b"}}"#;
        check(&format!(r#"{{"create":[{nowhere}]}}"#), &["b.test: +b.test/TXT"]);
    }

    #[test]
    fn updates_are_pairs() {
        let a2 = A.replace("\"1\"", "\"2\"");
        check(&format!(r#"{{"updateOld":[{A}],"updateNew":[{a2}]}}"#), &["a.test: ~a.test/1>2"]);
        check(
            &format!(r#"{{"updateOld":[null,{A}],"updateNew":[{{"dnsName":"b.test"}},{a2}]}}"#),
            &["a.test: ~a.test/1>2", "b.test: one side of an update is null; expected the old and the new endpoint"],
        );
        check(
            &format!(r#"{{"create":[{{"dnsName":"b.test"}}],"updateOld":[{A}]}}"#),
            &["a.test: updateOld has 1 endpoints and updateNew 0; expected pairs", "b.test: +b.test/"],
        );
    }
}
