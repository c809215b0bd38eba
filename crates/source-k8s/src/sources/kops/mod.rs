//! The sources of `zonewright kops`: Services, Pods and Ingresses as kops' dns-controller reads them, with Nodes for their addresses.
//!
//! In come those objects, out go endpoints of 60 s without a label, so that the values of any number of objects are joined under one
//! name. What must hold: whatever is mapped rests on every kind that the mode reads, so nothing is taken away before all of them have been
//! listed; a name that cannot be one costs only itself.

mod ingress;
mod node;
mod pod;
mod service;

use std::net::IpAddr;
use std::rc::Rc;

use zonewright_core::endpoint::{Mapped, Sharing};
use zonewright_core::record::Ttl;
use zonewright_core::{DnsName, RData};

use super::{MapFn, MapScope, SourceRole};
use crate::annotations::{Annotation, KOPS_EXTERNAL, KOPS_INTERNAL};
use crate::kind::Kind;
use crate::lookup::{ReadScope, Reads};
use crate::map::{EndpointSettings, INVALID_TARGET, Mapping};
use crate::objects::{LoadBalancer, Meta};
use crate::options::{KopsOptions, SourceKind, SourceOptions};

/// TTL of every record in seconds, as dns-controller writes them.
const TTL: u32 = 60;

/// The work of the mode: one role for each kind that asks for names. Each reads all kinds.
pub(super) fn roles(options: &SourceOptions, kops: KopsOptions) -> Vec<SourceRole> {
    let all: [(SourceKind, Kind, MapFn); 3] = [
        (SourceKind::Service, Kind::Service, service::map),
        (SourceKind::Pod, Kind::Pod, pod::map),
        (SourceKind::Ingress, Kind::Ingress, ingress::map),
    ];
    let watched: Vec<_> = all.into_iter().filter(|(_, kind, _)| kops.watch_ingress || *kind != Kind::Ingress).collect();
    let reach = ReadScope::of(&options.namespace);
    let reads: Reads =
        watched.iter().map(|(_, kind, _)| (*kind, reach.clone())).chain([(Kind::Node, ReadScope::All)]).collect();
    let role = |(source, kind, map)| SourceRole { source, kind, labels: Vec::new(), reads: reads.clone(), map };
    watched.into_iter().map(role).collect()
}

/// One object on its way, and how it is read.
struct Mapper<'a> {
    mapping: Mapping<'a>,
    scope: &'a MapScope<'a>,
    kops: KopsOptions,
}

/// Which addresses names stand for, by the annotation that states them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    External,
    Internal,
}

impl Side {
    const ALL: [Self; 2] = [Self::External, Self::Internal];

    /// The annotation.
    fn key(self) -> &'static str {
        match self {
            Self::External => KOPS_EXTERNAL,
            Self::Internal => KOPS_INTERNAL,
        }
    }
}

/// Maps an object of the mode, if it counts.
fn map<'a>(meta: &'a Meta, scope: &'a MapScope<'a>, work: impl FnOnce(&mut Mapper<'a>)) -> Mapped {
    let options = scope.options;
    let counts = ReadScope::of(&options.namespace).has(&meta.namespace) && options.passes_filters(meta).is_ok();
    let kops = options.kops.filter(|_| counts);
    let mut mapping = Mapping::new(meta, scope);
    let Some(kops) = kops else { return mapping.finish() };
    let annotations = mapping.annotations;
    let policy = mapping.read_policy(&annotations);
    mapping.put_settings(Rc::new(EndpointSettings { ttl: Ttl::from_secs(TTL), policy, ..EndpointSettings::default() }));
    scope.role.reads.keys().for_each(|kind| mapping.rests_on(*kind, scope.lookup));
    let mut mapper = Mapper { mapping, scope, kops };
    work(&mut mapper);
    mapper.mapping.finish()
}

impl Mapper<'_> {
    /// Whether an annotation asks for names.
    fn asks(&self, side: Side) -> bool {
        self.mapping.annotations.plain(side.key()).is_some_and(|names| !names.trim().is_empty())
    }

    /// The names that an annotation states, without the white space around them.
    fn names(&mut self, side: Side) -> Vec<DnsName> {
        let stated = self.mapping.annotations.plain(side.key()).unwrap_or_default();
        let texts: Vec<&str> = stated.split(',').map(str::trim).filter(|text| !text.is_empty()).collect();
        if texts.is_empty() {
            return Vec::new();
        }
        self.mapping.listed_names(Annotation { key: side.key(), value: &texts.join(",") })
    }

    /// Asks for names at targets; for the reason they wait where there are none.
    fn publish(&mut self, names: &[DnsName], targets: &[RData], reason: &str) {
        for name in names {
            self.mapping.want_or_wait(name, targets, Sharing::Union, reason);
        }
    }

    /// Asks for names at what a load balancer answers at: of each entry its address and its host name.
    fn at_load_balancer(&mut self, names: &[DnsName], balancer: &LoadBalancer) {
        if names.is_empty() {
            return;
        }
        let field = "status.loadBalancer.ingress";
        let targets = self.mapping.targets(field, balancer.targets());
        self.publish(names, &targets, &format!("{field} has no address yet"));
    }

    /// The addresses among texts; what is none is reported.
    fn addresses<'t>(&mut self, field: &str, texts: impl IntoIterator<Item = &'t str>) -> Vec<RData> {
        let mut found = Vec::new();
        for text in texts {
            match text.parse() {
                Ok(IpAddr::V4(address)) => found.push(RData::A(address)),
                Ok(IpAddr::V6(address)) => found.push(RData::Aaaa(address)),
                Err(_) => self.mapping.warn(INVALID_TARGET, format!("{field}, {text:?}: expected an IP address")),
            }
        }
        found
    }
}
