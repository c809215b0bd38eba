//! What every mapper does: read the settings that an object's annotations make, turn names and targets into typed ones,
//! and gather endpoints, pending names and notes.
//!
//! In come texts of one object, out goes its [`Mapped`]. What must hold: a bad value costs only itself and leaves a note;
//! targets of one name, type and set identifier are one endpoint; a name that has targets is not pending, and where only a
//! part of them is known nothing is taken from it for the grace.

mod templates;
mod waiting;
mod wanted;

use std::collections::{BTreeMap, HashSet};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::num::NonZeroI64;
use std::rc::Rc;
use std::sync::Arc;

use zonewright_core::choice::{CHOICE, Choice};
use zonewright_core::endpoint::{
    Endpoint, EndpointExtras, Kinds, Mapped, ObjectPolicy, Origin, Pending, Severity, Sharing, Unknown,
};
use zonewright_core::name::NameError;
use zonewright_core::notes::Notes;
use zonewright_core::options::Properties;
use zonewright_core::record::{SetId, Ttl};
use zonewright_core::source::Presence;
use zonewright_core::{DnsName, RData, RecordType};

use crate::annotations::{self, Annotation, Annotations, Elements};
use crate::kind::Kind;
use crate::lookup::Lookup;
use crate::objects::Meta;
use crate::role::MapScope;

pub(crate) use self::wanted::EndpointSettings;
use self::wanted::EndpointTargets;

/// The reason of the note on an object whose annotations all begin with a prefix that is not in force. Readers count
/// these and log the first.
pub const OTHER_ANNOTATION_PREFIX: &str = "OtherAnnotationPrefix";

pub(crate) const INVALID_HOSTNAME: &str = "InvalidHostname";
pub(crate) const INVALID_TARGET: &str = "InvalidTarget";
pub(crate) const INVALID_ANNOTATION: &str = "InvalidAnnotation";
const TOO_MANY_NAMES: &str = "TooManyNames";
const INVALID_TTL: &str = "InvalidTTL";
const SUSPECT_TARGET: &str = "SuspectTarget";

/// The mapping of one object, as far as it has come.
#[derive(Debug)]
pub(crate) struct Mapping<'a> {
    pub(crate) annotations: Annotations<'a>,
    pub(crate) scope: MapScope<'a>,
    pub(crate) meta: &'a Meta,
    origin: Arc<Origin>,
    settings: Rc<EndpointSettings>,
    wanted: BTreeMap<(DnsName, RecordType, Option<SetId>), EndpointTargets>,
    pending: BTreeMap<DnsName, Pending>,
    /// Names that have targets from several places, as far as one of these is not known.
    partly: BTreeMap<DnsName, Pending>,
    unknown: Vec<Unknown>,
    notes: Notes,
    kinds: Kinds,
}

/// The provider instances that an object names: by its annotation, else by its label.
fn choice(meta: &Meta) -> Option<Choice> {
    let stated = meta.annotations.get(CHOICE).or_else(|| meta.labels.get(CHOICE));
    stated.and_then(Choice::parse)
}

impl<'a> Mapping<'a> {
    /// Begins to map an object. Its annotations are not read yet: it may not count.
    pub(crate) fn new(meta: &'a Meta, scope: &MapScope<'a>) -> Self {
        let MapScope { role, options, .. } = *scope;
        let origin = Origin {
            source: role.source.shared(),
            rank: options.rank(role.source),
            object: meta.object_ref(role.kind),
            created: meta.created.map(NonZeroI64::get),
            choice: choice(meta),
        };
        let resource = role.labels.first().map(|label| meta.resource(role.kind, label));
        Self {
            annotations: Annotations::new(&options.annotation_prefixes, &meta.annotations),
            scope: *scope,
            meta,
            origin: Arc::new(origin),
            settings: Rc::new(EndpointSettings { resource, ..EndpointSettings::default() }),
            wanted: BTreeMap::new(),
            pending: BTreeMap::new(),
            partly: BTreeMap::new(),
            unknown: Vec::new(),
            notes: Notes::default(),
            kinds: [role.kind.id()].into(),
        }
    }

    /// Reads what the annotations say about all endpoints: TTL, set identifier, properties, policy.
    pub(crate) fn read_settings(&mut self) {
        self.report_other_prefix();
        let all = self.annotations;
        let ttl = self.read_ttl(&all);
        let (set_id, properties) = self.read_properties(&all);
        let policy = self.read_policy(&all);
        let EndpointSettings { resource, extras, .. } = EndpointSettings::clone(&self.settings);
        let extras = EndpointExtras { set_id, properties, ..EndpointExtras::clone(&extras) }.into();
        self.settings = Rc::new(EndpointSettings { ttl, policy, resource, extras });
    }

    /// Reads TTL and policy only: what a source heeds whose objects have no provider-specific settings.
    pub(crate) fn read_ttl_and_policy(&mut self) {
        self.report_other_prefix();
        let all = self.annotations;
        let ttl = self.read_ttl(&all);
        let policy = self.read_policy(&all);
        self.settings = Rc::new(EndpointSettings { ttl, policy, ..EndpointSettings::clone(&self.settings) });
    }

    /// The settings in force.
    pub(crate) fn settings(&self) -> Rc<EndpointSettings> {
        Rc::clone(&self.settings)
    }

    /// From now on these settings hold; returns those that held until now.
    pub(crate) fn put_settings(&mut self, settings: Rc<EndpointSettings>) -> Rc<EndpointSettings> {
        std::mem::replace(&mut self.settings, settings)
    }

    /// The TTL that annotations state.
    pub(crate) fn read_ttl(&mut self, annotations: &Annotations<'_>) -> Option<Ttl> {
        annotations.find(annotations::TTL).and_then(|ttl| self.ttl(ttl))
    }

    /// The set identifier and the provider-specific properties that annotations state.
    pub(crate) fn read_properties(&mut self, annotations: &Annotations<'_>) -> (Option<SetId>, Properties) {
        let (properties, problems) = annotations::properties(annotations);
        for problem in problems {
            self.warn(INVALID_ANNOTATION, format!("annotation {problem}"));
        }
        (annotations.find(annotations::SET_IDENTIFIER).and_then(|id| SetId::new(id.value)), properties)
    }

    /// The object's own policy.
    pub(crate) fn read_policy(&mut self, annotations: &Annotations<'_>) -> Option<ObjectPolicy> {
        annotations.plain(annotations::POLICY).and_then(|word| self.policy(word))
    }

    fn report_other_prefix(&mut self) {
        if let Some(prefix) = self.annotations.other_prefix() {
            self.warn(
                OTHER_ANNOTATION_PREFIX,
                format!(
                    "the annotations of this object begin with {prefix}, which is not in force, so they are not read; \
                     --annotation-prefix={prefix} reads them (repeat the flag to read several prefixes)"
                ),
            );
        }
    }

    fn ttl(&mut self, ttl: Annotation<'_>) -> Option<Ttl> {
        annotations::ttl(ttl.value)
            .map_err(|problem| {
                self.warn(INVALID_TTL, format!("annotation {}={:?}: {problem}", ttl.key, ttl.value));
            })
            .ok()
    }

    fn policy(&mut self, word: &str) -> Option<ObjectPolicy> {
        let policy = ObjectPolicy::parse(word);
        if policy.is_none() {
            let known = ObjectPolicy::ALL.map(|(_, word)| word).join(", ");
            self.bad_annotation(Annotation { key: annotations::POLICY, value: word }, &format!("one of {known}"));
        }
        policy
    }

    /// Notes that the result rests on a kind, if that one is read at all.
    pub(crate) fn rests_on(&mut self, kind: Kind, lookup: &Lookup<'_>) {
        if lookup.reads(kind) {
            self.kinds.extend([kind.id()]);
        }
    }

    /// Reports to the object's owner that something does not work as asked.
    pub(crate) fn warn(&mut self, reason: &'static str, message: String) {
        self.note(Severity::Warning, reason, message);
    }

    /// The same for what an object may have very many of: the message is made for the first few only.
    pub(crate) fn warn_with(&mut self, reason: &'static str, message: impl FnOnce() -> String) {
        self.notes.add_with(&self.origin.object, Severity::Warning, reason, message);
    }

    /// Reports something to the object's owner; the same thing once, and of one kind the first few and a count.
    pub(crate) fn note(&mut self, severity: Severity, reason: &'static str, message: String) {
        self.notes.add_with(&self.origin.object, severity, reason, || message);
    }

    /// Reports that an annotation has a value that means nothing.
    pub(crate) fn bad_annotation(&mut self, annotation: Annotation<'_>, expected: &str) {
        let message = format!("annotation {}={:?}: expected {expected}", annotation.key, annotation.value);
        self.warn(INVALID_ANNOTATION, message);
    }

    /// The names in an annotation, each once; none if it is absent.
    pub(crate) fn names(&mut self, key: &str) -> Vec<DnsName> {
        let annotation = self.annotations.find(key);
        annotation.map(|annotation| self.listed_names(annotation)).unwrap_or_default()
    }

    /// The names in an annotation whose key has no prefix, each once; none if it is absent.
    pub(crate) fn plain_names(&mut self, key: &str) -> Vec<DnsName> {
        let value = self.annotations.plain(key);
        value.map(|value| self.listed_names(Annotation { key, value })).unwrap_or_default()
    }

    /// The names in the value of an annotation, each once.
    pub(crate) fn listed_names(&mut self, annotation: Annotation<'_>) -> Vec<DnsName> {
        let field = format!("annotation {}", annotation.key);
        let texts = self.elements(&field, annotation.value, INVALID_HOSTNAME);
        let mut seen = HashSet::new();
        let names = texts.iter().filter_map(|text| self.owner(&field, text)).filter(|name| seen.insert(name.clone()));
        let names: Vec<DnsName> = names.collect();
        self.within_limit(&field, names)
    }

    /// As many names of one annotation as it may hold: those that the object has already, then in its order. Where it is not
    /// known what it has, what is published stays, and takes its place.
    fn within_limit(&mut self, field: &str, names: Vec<DnsName>) -> Vec<DnsName> {
        let (limit, total) = (self.scope.options.max_names_per_annotation, names.len());
        if limit == 0 || total <= limit {
            return names;
        }
        let label = self.settings.resource.clone();
        let presence = |name: DnsName| (self.scope.lookup.presence(&name, label.as_ref()), name);
        let names: Vec<(Presence, DnsName)> = names.into_iter().map(presence).collect();
        let mut room = limit.saturating_sub(names.iter().filter(|(presence, _)| *presence != Presence::Free).count());
        let unread = names.iter().filter(|(presence, _)| *presence == Presence::Unread).count();
        let (mut taken, mut left) = (Vec::new(), Vec::new());
        for (presence, name) in names {
            match presence {
                Presence::Held => taken.push(name),
                Presence::Free if room > 0 => {
                    room -= 1;
                    taken.push(name);
                }
                Presence::Free => left.push(name),
                Presence::Unread => {}
            }
        }
        if unread > 0 {
            self.cannot_determine([label], &format!("it is not known yet which of {total} names are published"));
        } else if let Some(first) = left.first() {
            let message = format!(
                "{field}: {total} names, at most {limit} are taken (--max-names-per-annotation); {} are left out, the first: \
                 {first}",
                left.len()
            );
            self.warn(TOO_MANY_NAMES, message);
        }
        taken
    }

    /// A name that a record can be wanted at.
    pub(crate) fn owner(&mut self, field: &str, text: &str) -> Option<DnsName> {
        owner(text).map_err(|problem| self.warn_with(INVALID_HOSTNAME, || format!("{field}, {text:?}: {problem}"))).ok()
    }

    /// The targets that the object's `target` annotation puts in the place of its own; `None` if it is absent or empty.
    pub(crate) fn stated_targets(&mut self) -> Option<(String, Vec<RData>)> {
        let annotation = self.annotations.find(annotations::TARGET).filter(|a| !a.value.is_empty())?;
        let field = format!("annotation {}", annotation.key);
        let targets = self.listed_targets(&field, annotation.value);
        Some((field, targets))
    }

    /// The targets in a comma list.
    pub(crate) fn listed_targets(&mut self, field: &str, list: &str) -> Vec<RData> {
        let texts = self.elements(field, list, INVALID_TARGET);
        self.targets(field, texts.iter().map(String::as_str))
    }

    /// The targets that a field states.
    pub(crate) fn targets<'t>(&mut self, field: &str, texts: impl IntoIterator<Item = &'t str>) -> Vec<RData> {
        texts.into_iter().filter_map(|text| self.target(field, text)).collect()
    }

    fn target(&mut self, field: &str, text: &str) -> Option<RData> {
        let data = target(text)
            .map_err(|problem| {
                self.warn_with(INVALID_TARGET, || {
                    format!("{field}, {text:?}: {problem}; expected an IP address or a host name")
                });
            })
            .ok()?;
        if let RData::Cname(host) = &data
            && looks_like_address(host)
        {
            self.warn_with(SUSPECT_TARGET, || {
                format!("{field}, {text:?}: it looks like an IP address and is none; published as a host name")
            });
        }
        Some(data)
    }

    fn elements(&mut self, field: &str, list: &str, reason: &'static str) -> Vec<String> {
        let Elements { named, empty } = annotations::elements(list);
        if empty > 0 {
            let message = format!("{field}, {list:?}: {empty} of {} elements empty; left out", named.len() + empty);
            self.warn(reason, message);
        }
        named
    }

    /// Asks for records at `name`, of the types that the targets are.
    pub(crate) fn want<'t>(&mut self, name: &DnsName, targets: impl IntoIterator<Item = &'t RData>, sharing: Sharing) {
        for data in targets {
            if matches!(data, RData::Cname(host) if host == name) {
                self.refuse_self(name);
                continue;
            }
            self.entry(name, data.rtype(), sharing).add(data);
        }
    }

    /// Asks for records of one type at `name`, which may have no targets yet: default targets can stand in for them.
    pub(crate) fn want_of_type(&mut self, name: &DnsName, rtype: RecordType, targets: &[RData], sharing: Sharing) {
        let wanted = self.entry(name, rtype, sharing);
        for data in targets {
            wanted.add(data);
        }
    }

    /// Asks for an alias of a host that answers like address records of one type.
    pub(crate) fn want_alias(&mut self, name: &DnsName, rtype: RecordType, host: &DnsName, sharing: Sharing) {
        self.entry(name, rtype, sharing).point_to(host);
    }

    fn entry(&mut self, name: &DnsName, rtype: RecordType, sharing: Sharing) -> &mut EndpointTargets {
        let key = (name.clone(), rtype, self.settings.extras.set_id.clone());
        self.wanted.entry(key).or_insert_with(|| EndpointTargets::new(sharing, Rc::clone(&self.settings)))
    }

    /// Whether nothing has been asked for that has targets.
    pub(crate) fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// What came of it, sorted by name and type.
    pub(crate) fn finish(self) -> Mapped {
        let Self { origin, wanted, mut pending, partly, mut unknown, notes, kinds, .. } = self;
        let mut endpoints: Vec<Endpoint> = wanted
            .into_iter()
            .map(|((name, rtype, _), wanted)| {
                pending.remove(&name);
                wanted.endpoint(name, rtype, &origin)
            })
            .collect();
        // Kept as long as the object lives, and nearly always of one element, where a vector begins with room for four.
        endpoints.shrink_to_fit();
        waiting::settle(partly, &endpoints, &mut pending, &mut unknown);
        let pending = pending.into_values().collect();
        Mapped {
            endpoints,
            pending,
            unknown: unknown.into(),
            notes: notes.into_vec().into(),
            kinds,
            other_prefix: None,
        }
    }
}

/// A name that a record can be wanted at.
pub(crate) fn owner(text: &str) -> Result<DnsName, NameError> {
    let name = DnsName::parse(text)?;
    name.check_owner()?;
    Ok(name)
}

fn target(text: &str) -> Result<RData, NameError> {
    if let Ok(address) = text.parse::<Ipv4Addr>() {
        return Ok(RData::A(address));
    }
    match text.parse::<Ipv6Addr>() {
        Ok(address) => Ok(RData::Aaaa(address)),
        Err(_) => owner(text).map(RData::Cname),
    }
}

/// No top-level domain is a number, nor a number with the length of a network's prefix.
fn looks_like_address(host: &DnsName) -> bool {
    host.labels().last().is_some_and(|label| label.bytes().all(|b| b.is_ascii_digit() || b == b'/'))
}
