//! The mapper of OpenShift's Routes: the host that a router serves and annotated names, at the router's own name.
//!
//! What must hold: names and targets come from the same router, the first that admitted the route (`--openshift-router-name`
//! narrows which ones count). `spec.host` gives no records; while no router has said anything, it is waited for.

use zonewright_core::DnsName;
use zonewright_core::endpoint::Mapped;

use super::hosted::{self, Answer};
use super::{MapScope, SourceRole};
use crate::kind::Kind;
use crate::map::Mapping;
use crate::objects::{OpenshiftRoute, RouterStatus};
use crate::options::{SourceKind, SourceOptions};
use crate::store::Object;

/// The work of the source.
pub(super) fn role(options: &SourceOptions) -> SourceRole {
    SourceRole::new(SourceKind::OpenshiftRoute, Kind::OpenshiftRoute, "route", options, map)
}

/// Maps one Route. It reads no other object.
fn map(object: &Object, scope: &MapScope<'_>) -> Mapped {
    let Some(object) = object.body::<OpenshiftRoute>() else { return Mapped::default() };
    let mut mapping = Mapping::new(&object.metadata, scope);
    if scope.options.accepts(&object.metadata).is_ok() {
        mapping.read_settings();
        publish(&mut mapping, object);
    }
    mapping.finish()
}

fn publish(mapping: &mut Mapping<'_>, route: &OpenshiftRoute) {
    let router = mapping.scope.options.openshift_router_name.as_str();
    let serving = route.status.ingress.iter().enumerate().find(|(_, status)| counts(status, router) && serves(status));
    let mut names = match serving {
        Some((at, status)) => hosted::hosts(mapping, [(format!("status.ingress[{at}].host"), &*status.host)]),
        None => Vec::new(),
    };
    names.extend(hosted::annotated(mapping));
    hosted::publish(mapping, &names, |mapping| match serving {
        Some((at, status)) => {
            let field = format!("status.ingress[{at}].routerCanonicalHostname");
            Answer::stated(mapping, &field, [&*status.router_canonical_hostname])
        }
        None => Answer::waiting(NOT_ADMITTED.to_owned()),
    });
    if serving.is_none() {
        for name in asked_for(mapping, route, router) {
            mapping.wait(&name, NOT_ADMITTED);
        }
    }
}

const NOT_ADMITTED: &str = "no router has admitted the route in status.ingress yet";

fn counts(status: &RouterStatus, router: &str) -> bool {
    router.is_empty() || &*status.router_name == router
}

fn serves(status: &RouterStatus) -> bool {
    status.is_admitted() && !status.router_canonical_hostname.is_empty()
}

/// The hosts that the route asks our routers for: where they know it, what they say; where nobody does, its own.
fn asked_for(mapping: &mut Mapping<'_>, route: &OpenshiftRoute, router: &str) -> Vec<DnsName> {
    if route.status.ingress.is_empty() {
        return hosted::hosts(mapping, [("spec.host".to_owned(), &*route.spec.host)]);
    }
    let ours = route.status.ingress.iter().enumerate().filter(|(_, status)| counts(status, router));
    hosted::hosts(mapping, ours.map(|(at, status)| (format!("status.ingress[{at}].host"), &*status.host)))
}
