//! What every mapper does: read the settings that an object's annotations make, turn names and targets into typed ones,
//! and gather endpoints, pending names and notes.
//!
//! In come texts of one object, out goes its [`Mapped`]. What must hold: a bad value costs only itself and leaves a note;
//! targets of one name, type and set identifier are one endpoint; a name that has targets is not pending.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use zonewright_core::endpoint::{
    Endpoint, KindId, Mapped, Note, ObjectPolicy, Origin, Pending, Severity, Sharing, Targets,
};
use zonewright_core::name::NameError;
use zonewright_core::options::Properties;
use zonewright_core::record::{Routing, SetId, Ttl};
use zonewright_core::{DnsName, RData, RecordType};

use crate::annotations::{self, Annotation, Annotations, Elements};
use crate::kind::Kind;
use crate::lookup::Lookup;
use crate::objects::Meta;
use crate::options::{SourceKind, SourceOptions};

/// The reason of the note on an object whose annotations all begin with a prefix that is not in force. Readers count
/// these and log the first.
pub const OTHER_ANNOTATION_PREFIX: &str = "OtherAnnotationPrefix";

pub(crate) const INVALID_HOSTNAME: &str = "InvalidHostname";
pub(crate) const INVALID_TARGET: &str = "InvalidTarget";
pub(crate) const INVALID_ANNOTATION: &str = "InvalidAnnotation";
const INVALID_TTL: &str = "InvalidTTL";
const SUSPECT_TARGET: &str = "SuspectTarget";

/// The mapping of one object, as far as it has come.
#[derive(Debug)]
pub(crate) struct Mapping<'a> {
    pub(crate) annotations: Annotations<'a>,
    origin: Arc<Origin>,
    resource: Arc<str>,
    settings: Settings,
    wanted: BTreeMap<(DnsName, RecordType), Wanted>,
    pending: BTreeMap<DnsName, String>,
    notes: Vec<Note>,
    kinds: BTreeSet<KindId>,
}

/// What holds for all endpoints of the object.
#[derive(Debug, Default)]
struct Settings {
    ttl: Option<Ttl>,
    set_id: Option<SetId>,
    properties: Properties,
    policy: Option<ObjectPolicy>,
}

/// The targets of one endpoint in the order in which they came, each once.
#[derive(Debug)]
struct Wanted {
    sharing: Sharing,
    order: Vec<RData>,
    seen: HashSet<RData>,
}

impl<'a> Mapping<'a> {
    /// Begins to map an object. Its annotations are not read yet: it may not count.
    pub(crate) fn new(source: SourceKind, meta: &'a Meta, options: &'a SourceOptions) -> Self {
        let origin = Origin {
            source: Arc::from(source.as_str()),
            rank: options.rank(source),
            object: meta.object_ref(source.kind()),
            created: meta.created,
        };
        Self {
            annotations: Annotations::new(&options.annotation_prefixes, &meta.annotations),
            resource: Arc::from(format!("{}/{}/{}", source.as_str(), meta.namespace, meta.name)),
            origin: Arc::new(origin),
            settings: Settings::default(),
            wanted: BTreeMap::new(),
            pending: BTreeMap::new(),
            notes: Vec::new(),
            kinds: BTreeSet::from([source.kind().id()]),
        }
    }

    /// Reads what the annotations say about all endpoints: TTL, set identifier, properties, policy.
    pub(crate) fn read_settings(&mut self) {
        self.tell_other_prefix();
        let ttl = self.annotations.find(annotations::TTL).and_then(|ttl| self.ttl(ttl));
        let policy = self.annotations.plain(annotations::POLICY).and_then(|word| self.policy(word));
        let (properties, problems) = annotations::properties(&self.annotations);
        for problem in problems {
            self.warn(INVALID_ANNOTATION, format!("annotation {problem}"));
        }
        let set_id = self.annotations.find(annotations::SET_IDENTIFIER).and_then(|id| SetId::new(id.value));
        self.settings = Settings { ttl, set_id, properties, policy };
    }

    fn tell_other_prefix(&mut self) {
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
                self.warn(INVALID_TTL, format!("annotation {}={:?}: {}: {problem}", ttl.key, ttl.value, self.resource));
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
            self.kinds.insert(kind.id());
        }
    }

    /// Tells the object's owner that something does not work as asked.
    pub(crate) fn warn(&mut self, reason: &'static str, message: String) {
        self.tell(Severity::Warning, reason, message);
    }

    /// Tells the object's owner something; the same thing once.
    pub(crate) fn tell(&mut self, severity: Severity, reason: &'static str, message: String) {
        let note = Note { object: self.origin.object.clone(), severity, reason, message };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Tells that an annotation has a value that means nothing.
    pub(crate) fn bad_annotation(&mut self, annotation: Annotation<'_>, expected: &str) {
        let message = format!("annotation {}={:?}: expected {expected}", annotation.key, annotation.value);
        self.warn(INVALID_ANNOTATION, message);
    }

    /// The names in an annotation, each once; none if it is absent.
    pub(crate) fn names(&mut self, key: &str) -> Vec<DnsName> {
        let Some(annotation) = self.annotations.find(key) else { return Vec::new() };
        let field = format!("annotation {}", annotation.key);
        let mut names = Vec::new();
        for text in self.elements(&field, annotation.value, INVALID_HOSTNAME) {
            names.extend(self.owner(&field, &text).filter(|name| !names.contains(name)));
        }
        names
    }

    /// A name that a record can be wanted at.
    pub(crate) fn owner(&mut self, field: &str, text: &str) -> Option<DnsName> {
        owner(text).map_err(|problem| self.warn(INVALID_HOSTNAME, format!("{field}, {text:?}: {problem}"))).ok()
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
                let message = format!("{field}, {text:?}: {problem}; expected an IP address or a host name");
                self.warn(INVALID_TARGET, message);
            })
            .ok()?;
        if let RData::Cname(host) = &data
            && looks_like_address(host)
        {
            let message =
                format!("{field}, {text:?}: it looks like an IP address and is none; published as a host name");
            self.warn(SUSPECT_TARGET, message);
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
            let wanted = self.wanted.entry((name.clone(), data.rtype())).or_insert_with(|| Wanted::new(sharing));
            if wanted.seen.insert(data.clone()) {
                wanted.order.push(data.clone());
            }
        }
    }

    /// An alias of itself never resolves; some controllers write an object's own host into its status.
    fn refuse_self(&mut self, name: &DnsName) {
        self.warn(INVALID_TARGET, format!("{name} would be an alias of itself; expected another host or an address"));
        self.wait(name, "its only target is the name itself");
    }

    /// Asks for records at `name` whose targets are not known now.
    pub(crate) fn wait(&mut self, name: &DnsName, reason: &str) {
        self.pending.entry(name.clone()).or_insert_with(|| reason.to_owned());
    }

    /// Asks for `targets`, or waits if there are none.
    pub(crate) fn want_or_wait(&mut self, name: &DnsName, targets: &[RData], sharing: Sharing, reason: &str) {
        if targets.is_empty() {
            self.wait(name, reason);
        } else {
            self.want(name, targets, sharing);
        }
    }

    /// What came of it, sorted by name and type.
    pub(crate) fn finish(self) -> Mapped {
        let Self { origin, resource, settings, wanted, mut pending, notes, kinds, .. } = self;
        let endpoints: Vec<Endpoint> = wanted
            .into_iter()
            .map(|((name, rtype), wanted)| {
                pending.remove(&name);
                settings.endpoint(name, rtype, wanted, &origin, &resource)
            })
            .collect();
        let pending = pending
            .into_iter()
            .map(|(name, reason)| Pending { name, resource: Some(resource.clone()), reason })
            .collect();
        Mapped { endpoints, pending, notes, kinds }
    }
}

impl Wanted {
    fn new(sharing: Sharing) -> Self {
        Self { sharing, order: Vec::new(), seen: HashSet::new() }
    }
}

impl Settings {
    fn endpoint(
        &self,
        name: DnsName,
        rtype: RecordType,
        wanted: Wanted,
        origin: &Arc<Origin>,
        resource: &Arc<str>,
    ) -> Endpoint {
        let mut properties = self.properties.clone();
        // Only addresses and CNAMEs have an alias form; elsewhere the property would spoil the record.
        if !matches!(rtype, RecordType::A | RecordType::Aaaa | RecordType::Cname) {
            properties.remove("alias");
        }
        Endpoint {
            name,
            rtype,
            targets: Targets::Records(wanted.order),
            ttl: self.ttl,
            set_id: self.set_id.clone(),
            routing: Routing::Simple,
            properties,
            origin: origin.clone(),
            resource: Some(resource.clone()),
            sharing: wanted.sharing,
            policy: self.policy,
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
