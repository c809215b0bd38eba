//! One endpoint under construction: the settings that hold for it, and its targets.

use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

use zonewright_core::endpoint::{Endpoint, Extras, ObjectPolicy, Origin, Sharing, Targets};
use zonewright_core::record::{AliasTarget, Ttl};
use zonewright_core::{DnsName, RData, RecordType};

/// What holds for the endpoints that are asked for from now on: as a rule, for all of the object's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct EndpointSettings {
    /// TTL.
    pub(crate) ttl: Option<Ttl>,
    /// The object's own policy.
    pub(crate) policy: Option<ObjectPolicy>,
    /// Resource label; `None` where external-dns writes none.
    pub(crate) resource: Option<Arc<str>>,
    /// Set identifier, provider-specific properties and further labels of the claim.
    pub(crate) extras: Extras,
}

/// The targets of one endpoint in the order in which they came, each once.
#[derive(Debug)]
pub(super) struct EndpointTargets {
    sharing: Sharing,
    settings: Rc<EndpointSettings>,
    order: Vec<RData>,
    seen: HashSet<RData>,
    /// An alias that a provider resolves, in the place of records.
    alias: Option<AliasTarget>,
}

impl EndpointTargets {
    pub(super) fn new(sharing: Sharing, settings: Rc<EndpointSettings>) -> Self {
        Self { sharing, settings, order: Vec::new(), seen: HashSet::new(), alias: None }
    }

    /// Adds a target, once.
    pub(super) fn add(&mut self, data: &RData) {
        if self.seen.insert(data.clone()) {
            self.order.push(data.clone());
        }
    }

    /// Asks for an alias of `host`, in the place of records; the first counts.
    pub(super) fn point_to(&mut self, host: &DnsName) {
        let alias = || AliasTarget { target: Arc::from(host.as_str()), zone: None, evaluate_health: true };
        self.alias.get_or_insert_with(alias);
    }

    /// The endpoint that comes of it.
    pub(super) fn endpoint(mut self, name: DnsName, rtype: RecordType, origin: &Arc<Origin>) -> Endpoint {
        self.order.shrink_to_fit();
        let settings = &self.settings;
        let mut extras = settings.extras.clone();
        // Only addresses and CNAMEs have an alias form; elsewhere the property would spoil the record.
        if !matches!(rtype, RecordType::A | RecordType::Aaaa | RecordType::Cname)
            && extras.properties.contains_key("alias")
        {
            extras.edit(|extras| extras.properties.remove("alias"));
        }
        Endpoint {
            name,
            rtype,
            targets: self.alias.map_or(Targets::Records(self.order), |alias| Targets::Alias(Box::new(alias))),
            ttl: settings.ttl,
            origin: origin.clone(),
            resource: settings.resource.clone(),
            sharing: self.sharing,
            policy: settings.policy,
            extras,
        }
    }
}
