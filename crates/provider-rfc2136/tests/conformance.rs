//! The suite that every provider passes, against each server.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod common;

use std::fmt::Write as _;

use async_trait::async_trait;
use common::*;
use zonewright_conformance::provider::Harness;
use zonewright_core::provider::{Provider, Record};
use zonewright_core::{DnsName, RData, RecordSet, RecordType, Ttl, Zone};
use zonewright_provider_rfc2136::Rfc2136;
use zonewright_testkit::{DnsServer, DnsSoftware, tools};

/// A server with a zone, and the provider in front of it.
struct Tried {
    server: DnsServer,
    provider: Rfc2136,
    zone: Zone,
}

#[async_trait]
impl Harness for Tried {
    fn provider(&self) -> &dyn Provider {
        &self.provider
    }

    fn zone(&self) -> &Zone {
        &self.zone
    }

    async fn insert(&self, set: RecordSet) {
        let (name, rtype, ttl) = (&set.key.name, set.key.rtype, set.ttl.map_or(0, Ttl::secs));
        let mut script = format!("update delete {name} {rtype}");
        for data in set.data.as_records() {
            let _ = write!(script, "\nupdate add {name} {ttl} {rtype} {data}");
        }
        self.server.nsupdate(&script);
    }

    async fn dump(&self) -> Vec<RecordSet> {
        dump(&self.server)
    }
}

/// The zone as the server's own tools show it.
fn dump(server: &DnsServer) -> Vec<RecordSet> {
    let mut sets: Vec<RecordSet> = Vec::new();
    for Record { name, ttl, data } in server.axfr(ZONE).iter().map(|line| record(line)) {
        match sets.iter_mut().find(|set| set.key.name == name && set.key.rtype == data.rtype()) {
            Some(set) => {
                let all = set.data.as_records().iter().cloned().chain([data]).collect::<Vec<_>>();
                *set = RecordSet::simple(name, set.key.rtype, Some(ttl), all);
            }
            None => sets.push(RecordSet::simple(name, data.rtype(), Some(ttl), [data])),
        }
    }
    sets
}

/// One line of a zone file: `name TTL IN type data`.
fn record(line: &str) -> Record {
    let mut words = line.splitn(5, ' ');
    let mut word = || words.next().unwrap_or_else(|| panic!("{line:?} is no record"));
    let (name, ttl, _class, rtype, data) = (word(), word(), word(), word(), word());
    let rtype: RecordType = rtype.parse().unwrap();
    Record {
        name: DnsName::parse(name).unwrap(),
        ttl: Ttl::from_secs(ttl.parse().unwrap()).unwrap(),
        data: RData::parse(rtype, data).unwrap_or_else(|e| panic!("{line:?}: {e}")),
    }
}

async fn tried(software: DnsSoftware) -> Option<Tried> {
    if tools::skip("conformance", software.tools()) {
        return None;
    }
    let Site { server, provider, zone, .. } = Site::start(software, "existing 300 A 192.0.2.77").await;
    Some(Tried { server, provider, zone })
}

mod bind {
    async fn harness() -> Option<super::Tried> {
        super::tried(super::DnsSoftware::Bind).await
    }
    zonewright_conformance::provider_suite!(harness);
}

mod knot {
    async fn harness() -> Option<super::Tried> {
        super::tried(super::DnsSoftware::Knot).await
    }
    zonewright_conformance::provider_suite!(harness);
}

mod powerdns {
    async fn harness() -> Option<super::Tried> {
        super::tried(super::DnsSoftware::PowerDns).await
    }
    zonewright_conformance::provider_suite!(harness);
}

/// Updates that are signed by Kerberos. The library reads its configuration from the environment, so all cases are one test,
/// which runs in a process of its own: nothing of it is counted where it did not run.
#[cfg(feature = "gss-tsig")]
mod kerberos {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Mutex;

    use zonewright_conformance::provider::{CASES, Case};
    use zonewright_testkit::kerberos::Keytab;
    use zonewright_testkit::{Key, Realm, ZoneSpec, own_process, require};

    use super::*;

    const USER: &str = "dns-updater";
    const PASSWORD: &str = "correct horse";
    /// Cases that run at a time; each has a server of its own.
    const AT_A_TIME: usize = 4;

    async fn harness(keytab: Keytab) -> Tried {
        let zones = [ZoneSpec::new(ZONE, "existing 300 A 192.0.2.77")];
        let server = DnsServer::bind_with_kerberos(&zones, &[Key::new("ddns")], keytab, &[USER]);
        let flags = [
            ("rfc2136-host", format!("localhost:{}", server.addr().port())),
            ("rfc2136-zone", ZONE.to_owned()),
            ("rfc2136-gss-tsig", "true".to_owned()),
            ("rfc2136-kerberos-realm", "EXAMPLE.TEST".to_owned()),
            ("rfc2136-kerberos-username", USER.to_owned()),
            ("rfc2136-kerberos-password", PASSWORD.to_owned()),
        ];
        let provider = provider(&flags);
        let zone = zone(&provider).await;
        Tried { server, provider, zone }
    }

    /// Whether the case holds; if not, the panic has said why.
    fn holds(name: &str, case: Case, keytab: Keytab) -> bool {
        let run = || {
            zonewright_conformance::run(
                name,
                async || Some(harness(keytab).await),
                async |harness| case(&harness).await,
            );
        };
        catch_unwind(AssertUnwindSafe(run)).is_ok()
    }

    #[test]
    fn every_case_with_kerberos() {
        require!(DnsSoftware::Bind.tools(), Realm::TOOLS);
        own_process!();
        let realm = Realm::start("EXAMPLE.TEST");
        realm.add_user(USER, PASSWORD);
        let keytab = realm.keytab(&["DNS/localhost"]);
        let (waiting, failed) = (Mutex::new(CASES.iter()), Mutex::new(Vec::new()));
        let next = || waiting.lock().unwrap().next();
        std::thread::scope(|threads| {
            for _ in 0..AT_A_TIME {
                threads.spawn(|| {
                    while let Some((name, case)) = next() {
                        if !holds(name, *case, keytab.clone()) {
                            failed.lock().unwrap().push(*name);
                        }
                    }
                });
            }
        });
        assert_eq!(failed.into_inner().unwrap(), Vec::<&str>::new());
    }
}
