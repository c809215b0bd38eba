//! The mapper of Ambassador's Hosts: the host name, at the addresses of the Service in front of it.
//!
//! What must hold: a Host without the annotation that names its Service asks for nothing.

use zonewright_core::endpoint::Mapped;

use super::hosted::{self, Answer};
use super::{MapScope, SourceRole};
use crate::annotations::{AMBASSADOR_SERVICE, Annotation};
use crate::kind::Kind;
use crate::lookup::{Lookup, ReadScope};
use crate::map::Mapping;
use crate::objects::{AmbassadorHost, Service};
use crate::options::{SourceKind, SourceOptions};
use crate::store::Object;

/// The work of the source. Its Services are read wherever they are: Hosts name them with their namespace.
pub(super) fn role(options: &SourceOptions) -> SourceRole {
    SourceRole::new(SourceKind::AmbassadorHost, Kind::AmbassadorHost, "host", options, map)
        .reading([Kind::Service], &ReadScope::All)
}

/// Maps one Host. The controller annotation does not count.
fn map(object: &Object, scope: &MapScope<'_>) -> Mapped {
    let Some(object) = object.body::<AmbassadorHost>() else { return Mapped::default() };
    let mut mapping = Mapping::new(&object.metadata, scope);
    let here = ReadScope::of(&scope.options.namespace).has(&object.metadata.namespace);
    if let Some(value) = mapping.annotations.plain(AMBASSADOR_SERVICE)
        && here
        && scope.options.passes_filters(&object.metadata).is_ok()
    {
        mapping.read_settings();
        let names = hosted::hosts(&mut mapping, [("spec.hostname".to_owned(), &*object.spec.hostname)]);
        let annotation = Annotation { key: AMBASSADOR_SERVICE, value };
        hosted::answer(&mut mapping, &names, |mapping| in_front(mapping, scope.lookup, annotation));
    }
    mapping.finish()
}

/// What the Service answers at.
fn in_front(mapping: &mut Mapping<'_>, lookup: &Lookup<'_>, annotation: Annotation<'_>) -> Answer {
    let Some((namespace, name)) = service_name(annotation.value) else {
        mapping.bad_annotation(annotation, "the name of a Service, as `namespace/name`, `name.namespace` or `name`");
        return Answer::waiting(format!("annotation {AMBASSADOR_SERVICE} names no Service"));
    };
    match lookup.object::<Service>(Kind::Service, namespace, name) {
        Some(service) => Answer::service(mapping, &service, service.status.load_balancer.targets()),
        None => Answer::waiting(format!(
            "Service {namespace}/{name}, which annotation {AMBASSADOR_SERVICE} names, is not there"
        )),
    }
}

/// Namespace and name of a Service. A bare name is one of the namespace `default`, wherever the Host is.
fn service_name(text: &str) -> Option<(&str, &str)> {
    if let Some((namespace, name)) = text.split_once('/') {
        return (!name.contains('/')).then_some((namespace, name));
    }
    Some(text.split_once('.').map_or(("default", text), |(name, namespace)| (namespace, name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_by_name() {
        for (text, expected) in [
            ("svc", Some(("default", "svc"))),
            ("ns/svc", Some(("ns", "svc"))),
            ("svc.ns", Some(("ns", "svc"))),
            ("svc.ns.foo.bar", Some(("ns.foo.bar", "svc"))),
            ("ns/svc/foo/bar", None),
            ("ns/svc/foo.bar", None),
            ("ns.foo/svc/bar", None),
        ] {
            assert_eq!(service_name(text), expected, "{text:?}");
        }
    }
}
