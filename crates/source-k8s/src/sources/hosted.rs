//! What the sources share whose objects name hosts: names from fields and the annotation, at what the object answers at.
//!
//! In come the texts of an object, out go endpoints and pending names. What must hold: an empty host asks for nothing, and
//! the `target` annotation stands in the place of everything else that gives targets.

use zonewright_core::endpoint::{Severity, Sharing};
use zonewright_core::{DnsName, RData};

use crate::annotations::{Annotation, Annotations, HOSTNAME, INGRESS};
use crate::kind::Kind;
use crate::lookup::Lookup;
use crate::map::Mapping;
use crate::objects::{Ingress, Meta, Service};

/// The field that most objects state their addresses in.
pub(super) const LOAD_BALANCER: &str = "status.loadBalancer.ingress";

/// What an object answers at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    /// The targets, in the order in which they count.
    pub(super) targets: Vec<RData>,
    /// Why there are none.
    pub(super) reason: String,
}

impl Answer {
    /// No targets, because of `reason`.
    pub(super) fn waiting(reason: String) -> Self {
        Self { targets: Vec::new(), reason }
    }

    /// The targets that a field states, or the wait for them.
    pub(super) fn stated<'t>(mapping: &mut Mapping<'_>, field: &str, texts: impl IntoIterator<Item = &'t str>) -> Self {
        Self { targets: mapping.targets(field, texts), reason: format!("{field} has no address yet") }
    }

    /// The entries of the object's load balancer.
    pub(super) fn load_balancer<'t>(mapping: &mut Mapping<'_>, texts: impl IntoIterator<Item = &'t str>) -> Self {
        Self::stated(mapping, LOAD_BALANCER, texts)
    }

    /// The external addresses of a Service, else what `status` gives of its load balancer.
    pub(super) fn service<'t>(
        mapping: &mut Mapping<'_>,
        service: &'t Service,
        status: impl Iterator<Item = &'t str>,
    ) -> Self {
        let whose = whose(Kind::Service, &service.metadata);
        let ips = &service.spec.external_ips;
        if ips.is_empty() {
            return Self::stated(mapping, &format!("{LOAD_BALANCER} of {whose}"), status);
        }
        Self::stated(mapping, &format!("spec.externalIPs of {whose}"), ips.iter().map(|ip| &**ip))
    }

    /// What the Ingress answers at that a gateway's annotation names, of each entry its address or else its host name;
    /// `None` where there is no such annotation.
    pub(super) fn behind_ingress(mapping: &mut Mapping<'_>, lookup: &Lookup<'_>, gateway: &Meta) -> Option<Self> {
        let options = mapping.scope.options;
        let annotations = Annotations::new(&options.annotation_prefixes, &gateway.annotations);
        let annotation = annotations.find(INGRESS).filter(|annotation| !annotation.value.is_empty())?;
        let Some((namespace, name)) = namespaced(annotation.value, &gateway.namespace) else {
            mapping.bad_annotation(annotation, "the name of an Ingress, as `name` or `namespace/name`");
            return Some(Self::waiting(format!("annotation {} names no Ingress", annotation.key)));
        };
        Some(Self::ingress(mapping, lookup, annotation, namespace, name))
    }

    fn ingress(
        mapping: &mut Mapping<'_>,
        lookup: &Lookup<'_>,
        annotation: Annotation<'_>,
        namespace: &str,
        name: &str,
    ) -> Self {
        match lookup.object::<Ingress>(Kind::Ingress, namespace, name) {
            None => Self::waiting(format!(
                "Ingress {namespace}/{name}, which annotation {} names, is not there",
                annotation.key
            )),
            Some(ingress) => {
                let field = format!("{LOAD_BALANCER} of {}", whose(Kind::Ingress, &ingress.metadata));
                Self::stated(mapping, &field, ingress.status.load_balancer.first_targets())
            }
        }
    }

    /// Asks for each name at these targets, or waits.
    pub(super) fn publish(&self, mapping: &mut Mapping<'_>, names: &[DnsName]) {
        for name in names {
            mapping.want_or_wait(name, &self.targets, Sharing::Holder, &self.reason);
        }
    }
}

/// `Service ns/name`.
pub(super) fn whose(kind: Kind, meta: &Meta) -> String {
    meta.object_ref(kind).to_string()
}

/// The parts of `name` or `namespace/name`; `None` if there are more.
pub(super) fn namespaced<'t>(text: &'t str, default: &'t str) -> Option<(&'t str, &'t str)> {
    match text.split_once('/') {
        None => Some((default, text)),
        Some(("", name)) if !name.contains('/') => Some((default, name)),
        Some((namespace, name)) => (!name.contains('/')).then_some((namespace, name)),
    }
}

/// The names that fields state; an empty one asks for nothing, and neither does `*`: no record stands for every name.
pub(super) fn hosts<'t>(mapping: &mut Mapping<'_>, hosts: impl IntoIterator<Item = (String, &'t str)>) -> Vec<DnsName> {
    let stated = hosts.into_iter().filter(|(_, host)| !host.is_empty());
    stated.filter_map(|(field, host)| name(mapping, &field, host)).collect()
}

fn name(mapping: &mut Mapping<'_>, field: &str, host: &str) -> Option<DnsName> {
    if host == "*" {
        let message = format!("{field} is `*`, any host; expected a name: it is left out");
        mapping.note(Severity::Normal, ANY_HOST, message);
        return None;
    }
    mapping.owner(field, host)
}

/// The reason of the note on a host that stands for all.
const ANY_HOST: &str = "AnyHost";

/// The names of a list of hosts, by the path of the list.
pub(super) fn listed(mapping: &mut Mapping<'_>, path: &str, list: &[Box<str>]) -> Vec<DnsName> {
    hosts(mapping, list.iter().enumerate().map(|(at, host)| (format!("{path}[{at}]"), &**host)))
}

/// The names of the `hostname` annotation, unless it is to be ignored.
pub(super) fn annotated(mapping: &mut Mapping<'_>) -> Vec<DnsName> {
    if mapping.scope.options.ignore_hostname_annotation { Vec::new() } else { mapping.names(HOSTNAME) }
}

/// Asks for each name at the targets of the object's annotation, else at those that `own` gives.
pub(super) fn answer(mapping: &mut Mapping<'_>, names: &[DnsName], own: impl FnOnce(&mut Mapping<'_>) -> Answer) {
    if names.is_empty() {
        return;
    }
    let answer = match mapping.stated_targets() {
        Some((field, targets)) => Answer { targets, reason: format!("{field} holds no valid target") },
        None => own(mapping),
    };
    answer.publish(mapping, names);
}

/// [`answer`], and then the same for the names that templates give.
pub(super) fn publish(mapping: &mut Mapping<'_>, names: &[DnsName], own: impl Fn(&mut Mapping<'_>) -> Answer) {
    answer(mapping, names, &own);
    let templated = mapping.template_names();
    answer(mapping, &templated, &own);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parser of section 3.20.
    #[test]
    fn names_with_a_namespace() {
        for (text, expected) in [
            ("a/b", Some(("a", "b"))),
            ("b", Some(("own", "b"))),
            ("/b", Some(("own", "b"))),
            ("a/b/c", None),
            ("/b/c", None),
            ("", Some(("own", ""))),
        ] {
            assert_eq!(namespaced(text, "own"), expected, "{text:?}");
        }
    }
}
