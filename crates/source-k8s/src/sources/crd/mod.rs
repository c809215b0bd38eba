//! The mapper of DNSEndpoints: record sets as their author wrote them, each with its own TTL, set identifier and properties.
//!
//! In come the elements of `spec.endpoints`, out goes an endpoint for each. What must hold: an element that is wrong costs
//! only itself, and is reported with its place; texts mean what they mean to external-dns, which takes some host names with a
//! final dot only and others only without.

mod element;
mod status;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use zonewright_core::endpoint::{EndpointExtras, Mapped, Sharing};
use zonewright_core::plan;
use zonewright_core::record::{SetId, Ttl};
use zonewright_core::{DnsName, RecordType};

pub use self::status::{Status, status};

use self::element::{Data, Element, FinalDots};
use super::{MapScope, SourceRole};
use crate::annotations::is_property;
use crate::kind::Kind;
use crate::lookup::ReadScope;
use crate::map::{EndpointSettings, Mapping, OTHER_ANNOTATION_PREFIX};
use crate::objects::{DnsEndpoint, WantedRecord};
use crate::options::{SourceKind, SourceOptions};
use crate::other_prefix::note_properties;
use crate::store::Object;

/// The reason of the notes on elements that are left out.
const INVALID_ENDPOINT: &str = "InvalidEndpoint";

/// Labels whose value is not for an element to say.
const OWN_LABELS: [&str; 2] = ["owner", "resource"];

/// The work of the source.
pub(super) fn role(options: &SourceOptions) -> SourceRole {
    SourceRole::new(SourceKind::Crd, Kind::DnsEndpoint, "crd", options, map)
}

/// The work of a source that gives endpoints as DNSEndpoints hold them, each with a label of its own.
pub(super) fn polled_role(source: SourceKind, kind: Kind, options: &SourceOptions) -> SourceRole {
    SourceRole { labels: Vec::new(), ..SourceRole::new(source, kind, "", options, map) }
}

/// Maps one DNSEndpoint. It reads no other object, and no annotation but its policy counts.
fn map(object: &Object, scope: &MapScope<'_>) -> Mapped {
    let Some(endpoint) = object.body::<DnsEndpoint>() else { return Mapped::default() };
    let mut mapping = Mapping::new(&endpoint.metadata, scope);
    if counts(endpoint, scope.options) {
        let own = mapping.annotations;
        let policy = mapping.read_policy(&own);
        let settings = EndpointSettings { policy, ..EndpointSettings::clone(&mapping.settings()) };
        let mut mapper = Mapper { mapping: &mut mapping, settings, ttls: BTreeMap::new() };
        for (at, element) in endpoint.spec.endpoints.iter().enumerate() {
            if let Some(element) = element {
                mapper.element(&format!("spec.endpoints[{at}]"), element);
            }
        }
    }
    let mut mapped = mapping.finish();
    note_properties(object.reference(), scope.options, &mut mapped);
    mapped
}

/// Whether namespace and filters let the object in.
pub(crate) fn counts(object: &DnsEndpoint, options: &SourceOptions) -> bool {
    let here = ReadScope::of(&options.namespace).has(&object.metadata.namespace);
    here && options.passes_filters(&object.metadata).is_ok()
}

struct Mapper<'m, 'a> {
    mapping: &'m mut Mapping<'a>,
    /// What all elements have in common.
    settings: EndpointSettings,
    /// The TTLs of the record sets asked for so far.
    ttls: BTreeMap<(DnsName, RecordType, Option<SetId>), Option<Ttl>>,
}

impl Mapper<'_, '_> {
    fn element(&mut self, field: &str, wanted: &WantedRecord) {
        let Some(name) = self.mapping.owner(&format!("{field}.dnsName"), &wanted.dns_name) else {
            self.keep_published(wanted, &format!("{field}.dnsName cannot be read"));
            return;
        };
        let dots = if self.is_polled() { FinalDots::Any } else { FinalDots::AsExternalDns };
        let element = match Element::read(&name, wanted, dots) {
            Ok(element) => element,
            Err((part, problem)) => {
                let reason = format!("{field}.{part} of {name}: {problem}");
                let message = || format!("{reason}; it is left out, and what the object has published stays");
                self.mapping.warn_with(INVALID_ENDPOINT, message);
                self.keep_published(wanted, &reason);
                return;
            }
        };
        let ttl = self.ttl(field, wanted);
        if self.agrees(field, &name, &element, wanted, ttl) {
            for (key, _) in wanted.labels.iter().filter(|(key, _)| key.starts_with(plan::OWN_LABELS)) {
                let text = format!(
                    "{field}.labels, {key}: zonewright writes labels of this name itself; this one is left out"
                );
                self.mapping.warn(INVALID_ENDPOINT, text);
            }
            self.settings(wanted, ttl);
            self.want(&name, element);
        }
    }

    /// Several elements for one record set are joined as long as they agree about its TTL.
    fn agrees(
        &mut self,
        field: &str,
        name: &DnsName,
        element: &Element,
        wanted: &WantedRecord,
        ttl: Option<Ttl>,
    ) -> bool {
        let key = (name.clone(), element.rtype, SetId::new(&wanted.set_identifier));
        let first = *self.ttls.entry(key).or_insert(ttl);
        if first != ttl {
            let shown = |ttl: Option<Ttl>| ttl.map_or_else(|| "no TTL".to_owned(), |ttl| format!("the TTL {ttl}"));
            let (rtype, first, own) = (element.rtype, shown(first), shown(ttl));
            let message =
                format!("{field} asks for {name} {rtype} with {own}, an earlier element with {first}; it is left out");
            self.mapping.warn(INVALID_ENDPOINT, message);
        }
        first == ttl
    }

    fn ttl(&mut self, field: &str, wanted: &WantedRecord) -> Option<Ttl> {
        let seconds = wanted.record_ttl;
        let ttl = u32::try_from(seconds).ok().filter(|seconds| *seconds > 0).and_then(Ttl::from_secs);
        if ttl.is_none() && seconds != 0 {
            let message = format!("{field}.recordTTL, {seconds}: expected 1 to {} seconds; none is set", Ttl::MAX);
            self.mapping.warn("InvalidTTL", message);
        }
        ttl
    }

    fn settings(&mut self, wanted: &WantedRecord, ttl: Option<Ttl>) {
        self.report_other_prefix(wanted);
        let properties = wanted.provider_specific.iter();
        let properties = properties.map(|p| (Arc::from(&*p.name), Arc::from(&*p.value))).collect();
        let set_id = SetId::new(&wanted.set_identifier);
        let own = |key: &str| OWN_LABELS.contains(&key) || key.starts_with(plan::OWN_LABELS);
        let labels = wanted.labels.iter().filter(|(key, _)| !own(key));
        let labels = labels.map(|(key, value)| (Arc::from(key), Arc::from(value))).collect();
        let resource = self.resource(wanted);
        let extras = EndpointExtras { set_id, properties, labels, ..EndpointExtras::default() }.into();
        let policy = self.settings.policy;
        self.mapping.put_settings(Rc::new(EndpointSettings { ttl, policy, resource, extras }));
    }

    fn report_other_prefix(&mut self, wanted: &WantedRecord) {
        let Some(prefix) = self.mapping.scope.options.annotation_prefixes.other_known() else { return };
        let unread = |name: &str| name.strip_prefix(prefix).is_some_and(is_property);
        if let Some(property) = wanted.provider_specific.iter().find(|property| unread(&property.name)) {
            let message = format!(
                "the property {} of {} begins with {prefix}, which is not in force, so it is not read; \
                 --annotation-prefix={prefix} reads it (repeat the flag to read several prefixes)",
                property.name, wanted.dns_name
            );
            self.mapping.warn(OTHER_ANNOTATION_PREFIX, message);
        }
    }

    /// An element that cannot be read may ask for what stands, which an earlier program may have understood. Where no label says what
    /// that is, it may be any record without one.
    fn keep_published(&mut self, wanted: &WantedRecord, reason: &str) {
        let resource = self.resource(wanted);
        self.mapping.cannot_determine([resource], reason);
    }

    /// The label of what the element asks for.
    fn resource(&self, wanted: &WantedRecord) -> Option<Arc<str>> {
        let stated = || wanted.labels.get("resource").filter(|label| !label.is_empty()).map(Arc::from);
        self.settings.resource.clone().or_else(|| stated().filter(|_| self.is_polled()))
    }

    fn is_polled(&self) -> bool {
        self.mapping.scope.role.kind.is_polled()
    }

    fn want(&mut self, name: &DnsName, element: Element) {
        match element.data {
            Data::Alias(host) => self.mapping.want_alias(name, element.rtype, &host, Sharing::Holder),
            Data::Records(records) if records.is_empty() => {
                self.mapping.want_of_type(name, element.rtype, &records, Sharing::Holder);
            }
            Data::Records(records) => self.mapping.want(name, &records, Sharing::Holder),
        }
    }
}
