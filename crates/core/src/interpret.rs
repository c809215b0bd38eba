//! The provider's own form of what objects ask for, before anybody contends for a name.
//!
//! In: one endpoint, and a zone that it may go to. Out: the endpoints as that provider would publish them there: an alias
//! instead of a CNAME, a routing policy instead of a property, no identifier where there are none. Pure. What must hold: from
//! here on a record's type is the one that is published, so that who holds a name, and what stands there, are looked up under
//! the same key that is written and read back.

use std::borrow::Cow;

use crate::capability::Capability;
use crate::endpoint::{Endpoint, Note};
use crate::record::Routing;
use crate::zone::{Zone, ZoneId};

/// What a provider makes of one endpoint in one zone ([`crate::provider::Provider::interpret`]).
///
/// ```
/// use zonewright_core::endpoint::{Endpoint, Targets};
/// use zonewright_core::interpret::Interpretation;
/// use zonewright_core::record::AliasTarget;
/// use zonewright_core::RecordType;
///
/// /// A host name becomes an alias of both address families.
/// fn aliased(endpoint: &Endpoint, host: &str) -> Interpretation {
///     let alias = AliasTarget { target: host.into(), zone: None, evaluate_health: false };
///     let form = |rtype| Endpoint { rtype, targets: Targets::Alias(alias.clone().into()), ttl: None, ..endpoint.clone() };
///     Interpretation::forms([form(RecordType::A), form(RecordType::Aaaa)])
/// }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interpretation {
    /// The forms in which it is published, usually one; `None` leaves it as it is stated. Without any it cannot be published:
    /// a note says why.
    pub forms: Option<Vec<Endpoint>>,
    /// The zone that the object names for it, among those that the name belongs to; it goes to no other.
    pub zone: Option<ZoneId>,
    /// What to report on the object.
    pub notes: Vec<Note>,
}

impl Interpretation {
    /// It is published as it is stated.
    pub fn as_stated() -> Self {
        Self::default()
    }

    /// It is published in these forms.
    pub fn forms(forms: impl IntoIterator<Item = Endpoint>) -> Self {
        Self { forms: Some(forms.into_iter().collect()), ..Self::default() }
    }

    /// It cannot be published, for this reason.
    pub fn refused(note: Note) -> Self {
        Self { forms: Some(Vec::new()), notes: vec![note], ..Self::default() }
    }

    /// The same, for this zone alone.
    #[must_use]
    pub fn only_in(self, zone: ZoneId) -> Self {
        Self { zone: Some(zone), ..self }
    }
}

/// An endpoint as it goes on to contend for its name in one zone.
#[derive(Debug, Default)]
pub struct Interpreted<'e> {
    /// Its forms. None of them where it cannot be published, or belongs to another zone.
    pub forms: Vec<Cow<'e, Endpoint>>,
    /// Whether it belongs to another zone: then it is neither published here nor missed. One that names a zone which is none of
    /// the name's cannot be published, and what stands in its place is kept.
    pub elsewhere: bool,
    /// What to report on the object.
    pub notes: Vec<Note>,
}

/// Brings an endpoint into the form in which `zone` would hold it. `candidates` are the zones that the name belongs to.
pub fn interpret<'e>(
    endpoint: &'e Endpoint,
    zone: &Zone,
    candidates: &[ZoneId],
    capability: &Capability,
    made: Interpretation,
) -> Interpreted<'e> {
    let Interpretation { forms, zone: named, mut notes } = made;
    if let Some(named) = named.filter(|named| *named != zone.key.zone) {
        let known = candidates.contains(&named);
        notes.clear();
        // For the first of the zones alone: the object gets one note that the zone that it names is none of the candidates.
        if !known && candidates.first() == Some(&zone.key.zone) {
            notes.push(unknown_zone(endpoint, &named, candidates));
        }
        return Interpreted { forms: Vec::new(), elsewhere: known, notes };
    }
    let forms = forms.map_or_else(
        || vec![Cow::Borrowed(endpoint)],
        |forms| forms.into_iter().map(Cow::Owned).collect::<Vec<Cow<'e, Endpoint>>>(),
    );
    let forms = forms.into_iter().map(|form| identified(form, capability, &mut notes)).collect();
    Interpreted { forms, elsewhere: false, notes }
}

fn unknown_zone(endpoint: &Endpoint, named: &ZoneId, candidates: &[ZoneId]) -> Note {
    let known = candidates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let text = format!(
        "{} {}: zone {named} is none of those that hold this name ({known}); nothing is published",
        endpoint.name, endpoint.rtype
    );
    Note::warning(&endpoint.origin.object, "UnknownZone", text)
}

/// Whether a set with this routing policy is written under its identifier: the provider has identifiers, and has them not for
/// the sake of a policy alone that the set does not have.
pub fn has_identifier(routing: &Routing, capability: &Capability) -> bool {
    capability.set_ids && !(capability.one_kind && routing.is_simple())
}

/// Where sets have no identifiers, or have them for the sake of a routing policy alone, the plain set of the name and type is
/// asked for, as external-dns writes it there. Objects that ask for one name under several identifiers then contend for it.
fn identified<'e>(form: Cow<'e, Endpoint>, capability: &Capability, notes: &mut Vec<Note>) -> Cow<'e, Endpoint> {
    let Some(asked) = form.extras.set_id.as_ref().filter(|_| !has_identifier(&form.extras.routing, capability)) else {
        return form;
    };
    let why = if capability.set_ids {
        "a set identifier goes with a routing policy, and none is stated"
    } else {
        "this provider has no set identifiers"
    };
    let text =
        format!("{} {}: {why}; it is published without \"{}\", as one set", form.name, form.rtype, asked.as_str());
    notes.push(Note::warning(&form.origin.object, "SetIdentifierIgnored", text));
    Cow::Owned(form.into_owned().with(|extras| extras.set_id = None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::{RoutingKind, RoutingSupport};
    use crate::record::SetId;
    use crate::testing::{capability, endpoint, name};
    use crate::zone::InstanceId;

    fn zone(id: &str) -> Zone {
        Zone::new(&InstanceId::from("i"), id, name("example"))
    }

    fn run<'e>(
        asked: &'e Endpoint,
        capability: &Capability,
        made: Interpretation,
    ) -> (Interpreted<'e>, Vec<&'static str>) {
        let done = interpret(asked, &zone("a"), &[ZoneId::from("a"), ZoneId::from("b")], capability, made);
        let reasons = done.notes.iter().map(|note| note.reason).collect();
        (done, reasons)
    }

    fn blue() -> Endpoint {
        endpoint("Ingress", "a", "a.example A 192.0.2.1").with(|extras| extras.set_id = SetId::new("blue"))
    }

    #[test]
    fn where_sets_have_no_identifiers_the_plain_set_is_asked_for() {
        let (asked, plain) = (blue(), endpoint("Ingress", "a", "a.example A 192.0.2.1"));
        let (done, reasons) = run(&asked, &capability(), Interpretation::as_stated());
        assert_eq!((&*done.forms[0], reasons), (&plain, vec!["SetIdentifierIgnored"]));
        assert!(done.notes[0].message.contains("\"blue\""), "{:?}", done.notes);
        let free = Capability { set_ids: true, ..capability() };
        let (done, reasons) = run(&asked, &free, Interpretation::as_stated());
        assert_eq!((&*done.forms[0], reasons.len()), (&asked, 0));
    }

    #[test]
    fn an_identifier_goes_with_a_routing_policy_where_there_are_some() {
        let routed = Capability {
            set_ids: true,
            one_kind: true,
            routing: RoutingSupport::PerSet(&[RoutingKind::Weighted]),
            ..capability()
        };
        let asked = blue();
        assert_eq!(run(&asked, &routed, Interpretation::as_stated()).1, ["SetIdentifierIgnored"]);
        let weighted = blue().with(|extras| extras.routing = Routing::Weighted { weight: 1 });
        let (done, reasons) = run(&asked, &routed, Interpretation::forms([weighted.clone()]));
        assert_eq!((&*done.forms[0], reasons.len()), (&weighted, 0));
    }

    #[test]
    fn a_named_zone_is_the_only_one() {
        let asked = endpoint("Ingress", "a", "a.example A 192.0.2.1");
        let named = |id| Interpretation::as_stated().only_in(ZoneId::from(id));
        let (here, reasons) = run(&asked, &capability(), named("a"));
        assert!(here.forms.len() == 1 && !here.elsewhere && reasons.is_empty());
        let (there, reasons) = run(&asked, &capability(), named("b"));
        assert!(there.forms.is_empty() && there.elsewhere && reasons.is_empty());
        let (nowhere, reasons) = run(&asked, &capability(), named("c"));
        assert!(
            !nowhere.elsewhere && nowhere.forms.is_empty() && nowhere.notes[0].message.contains("zone c"),
            "{:?}",
            nowhere.notes
        );
        assert_eq!(reasons, ["UnknownZone"]);
    }

    #[test]
    fn a_refusal_leaves_nothing_and_says_why() {
        let asked = endpoint("Ingress", "a", "a.example A 192.0.2.1");
        let note = Note::warning(&asked.origin.object, "UnsupportedAlias", "no");
        let (done, reasons) = run(&asked, &capability(), Interpretation::refused(note));
        assert!(done.forms.is_empty() && !done.elsewhere);
        assert_eq!(reasons, ["UnsupportedAlias"]);
    }
}
