//! Who lets whom in: acceptance by controllers, and the namespaces that a listener or a Gateway takes objects from.
//!
//! In come conditions, choices of namespaces and the Namespace objects; out comes yes, or what stands in the way. What must
//! hold: what is not known is distinguished from what was decided.

use super::mapper::Mapper;
use super::parent::{Name, gateway_name};
use crate::kind::Kind;
use crate::objects::{Condition, FromNamespaces, Gateway, Listener, ListenerSet, Plain, acceptance};
use crate::selector::MetadataSelector;

/// What stands in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// A controller or a rule decided against it.
    Refused(String),
    /// It cannot be known now; the way may be open.
    Unknown(String),
    /// As unknown, and worth an event: something that should be there is not.
    Missing(String),
}

/// Whether the way is open.
pub(super) type Way = Result<(), Obstacle>;

/// Whether conditions say that `who` has accepted `what`.
pub(super) fn accepted(conditions: &[Condition], who: &Name, what: &str) -> Way {
    let Some(condition) = acceptance(conditions) else {
        return Err(Obstacle::Unknown(format!("{who}: nobody has said yet whether {what} is accepted")));
    };
    let reason = if condition.reason.is_empty() { "no reason given" } else { &condition.reason };
    match &*condition.status {
        "True" => Ok(()),
        "False" => Err(Obstacle::Refused(format!("{who}: {what} is not accepted ({reason})"))),
        _ => Err(Obstacle::Unknown(format!("{who}: it is not known yet whether {what} is accepted ({reason})"))),
    }
}

impl Mapper<'_, '_> {
    /// Whether a ListenerSet adds to its Gateway's listeners.
    pub(super) fn set_attached(&self, set: &ListenerSet, gateway: &Gateway, name: &Name) -> Way {
        let of = gateway_name(gateway);
        let (from, own) = (&gateway.spec.allowed_listeners.namespaces, &*gateway.metadata.namespace);
        if !self.takes(from, "None", own, &set.metadata.namespace)? {
            return Err(Obstacle::Refused(format!("{of}: spec.allowedListeners does not admit {name}")));
        }
        accepted(&set.status.conditions, name, "the ListenerSet")
    }

    /// Whether a ListenerSet's own listener is in use.
    pub(super) fn entry_attached(set: &ListenerSet, listener: &Listener, name: &Name) -> Way {
        let entry = set.status.listeners.iter().find(|entry| entry.name == listener.name);
        let conditions = entry.map_or(&[][..], |entry| &entry.conditions);
        accepted(conditions, name, &format!("its listener {}", listener.name))
    }

    /// Whether a listener of an object in `own` takes this route.
    pub(super) fn route_allowed(&self, listener: &Listener, own: &str) -> Result<bool, Obstacle> {
        let spec = self.kind.spec();
        let allowed = &listener.allowed_routes;
        let of_kind = allowed.kinds.is_empty()
            || allowed
                .kinds
                .iter()
                .any(|kind| kind.group.as_deref().is_none_or(|group| group == spec.group) && *kind.kind == *spec.name);
        Ok(of_kind && self.takes(&allowed.namespaces, "Same", own, &self.route.metadata.namespace)?)
    }

    /// Whether a choice of namespaces on an object in `own` has `namespace` in it.
    fn takes(&self, from: &FromNamespaces, usual: &str, own: &str, namespace: &str) -> Result<bool, Obstacle> {
        match if from.from.is_empty() { usual } else { &*from.from } {
            "All" => Ok(true),
            "Same" => Ok(own == namespace),
            "Selector" => {
                // Neither an absent selector nor one that does not parse selects anything.
                let selector = from.selector.as_ref().and_then(|selector| MetadataSelector::try_from(selector).ok());
                selector.map_or(Ok(false), |selector| self.selects(&selector, namespace))
            }
            _ => Ok(false),
        }
    }

    fn selects(&self, selector: &MetadataSelector, namespace: &str) -> Result<bool, Obstacle> {
        let object = self.scope.lookup.object::<Plain>(Kind::Namespace, "", namespace);
        let missing =
            || Obstacle::Missing(format!("Namespace {namespace} does not exist, so its labels are not known"));
        object.map(|object| selector.matches(&object.metadata.labels)).ok_or_else(missing)
    }
}
