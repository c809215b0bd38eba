//! What the name servers of a zone answer now, where the provider is a service and no server is asked by it.
//!
//! In come the name and the records of the view; out go lines for people, and a verdict where a server answers that nothing is there.
//! What must hold: whatever becomes of the question, the rest of the explanation stands.

use std::collections::BTreeSet;

use async_trait::async_trait;
use tokio::time::timeout;
use zonewright_core::explain::{Cause, Finding};
use zonewright_core::name::DnsName;
use zonewright_core::provider::Record;
use zonewright_core::rdata::RData;
use zonewright_core::record::{RecordKey, RecordSet};
use zonewright_core::rtype::RecordType;

use super::zone::{Findings, NameInZone, PATIENCE};

/// Asks name servers, for people who want to know what is answered.
#[async_trait]
pub trait NameServers: Send + Sync {
    /// What the first of these servers that knows the zone answers for a name and a type, now.
    ///
    /// # Errors
    /// None of them answers as one that knows the zone: what each did, as a sentence.
    async fn ask(&self, servers: &[DnsName], name: &DnsName, rtype: RecordType) -> Result<ServerAnswer, String>;
}

/// What one server answers from the zone itself, not from a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAnswer {
    /// The host name of the server.
    pub server: DnsName,
    /// The records of the answer, those that an alias leads to included. None: there is no such record.
    pub records: Vec<Record>,
}

/// So many types of a name are asked for.
const TYPES: usize = 4;

impl NameInZone<'_> {
    /// Asks the servers that the zone's own records name.
    pub(super) async fn ask_name_servers(&self, out: &mut Findings) {
        let Some(servers) = self.servers else { return };
        let apex = RecordKey::simple(self.handle.zone.name.clone(), RecordType::Ns);
        let named = self.handle.view().find(&apex);
        let named = named.iter().flat_map(|set| set.data.as_records()).filter_map(RData::target).cloned();
        let named: Vec<DnsName> = named.collect();
        if named.is_empty() {
            out.zone.served = vec!["not asked: the provider's records name no servers of the zone".to_owned()];
            return;
        }
        let known = self.handle.view().at(self.name);
        let known: Vec<RecordSet> =
            known.into_iter().filter(|set| !self.instance.is_claim(&self.handle.zone, set)).collect();
        let mut types: BTreeSet<RecordType> = known.iter().map(|set| set.key.rtype).collect();
        if types.is_empty() {
            types.insert(RecordType::A);
        }
        let asking = async {
            for rtype in types.into_iter().take(TYPES) {
                match servers.ask(&named, self.name, rtype).await {
                    Ok(answer) => self.answered(rtype, &answer, &known, out),
                    Err(why) => {
                        out.zone.served.push(format!("no answer for {rtype}: {why}"));
                        break;
                    }
                }
            }
        };
        if timeout(PATIENCE, asking).await.is_err() {
            out.zone.served.push("no answer within 3 seconds".to_owned());
        }
    }

    fn answered(&self, rtype: RecordType, answer: &ServerAnswer, known: &[RecordSet], out: &mut Findings) {
        let ServerAnswer { server, records } = answer;
        let shown = records.iter().map(|record| {
            let Record { name, ttl, data } = record;
            format!("{server}: {name} {ttl} {} {data}", data.rtype())
        });
        let lines: Vec<String> = if records.is_empty() {
            vec![format!("{server}: nothing stands at {} {rtype}", self.name)]
        } else {
            shown.collect()
        };
        let ours = known.iter().find(|set| set.key.rtype == rtype && self.ownership(&set.key).is_ours());
        if let Some(set) = ours.filter(|_| records.is_empty() && out.undone.is_empty() && !out.published.is_empty()) {
            let about = [
                ("name", self.name.to_string()),
                ("record", set.to_string()),
                ("zone", self.handle.zone.name.to_string()),
                ("detail", format!("its server answers: {}", lines.join("; "))),
            ];
            out.undone.push(Finding::new(Cause::NotServed, about));
        }
        out.zone.served.extend(lines);
    }
}
