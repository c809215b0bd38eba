//! The mapper of Skipper's RouteGroups: hosts and annotated names, at the addresses of the load balancer.
//!
//! `--skipper-routegroup-groupversion` may name another group or version than the usual one. Such objects are held whole,
//! and their shape is read when they are mapped.

use serde::Deserialize;
use zonewright_core::endpoint::Mapped;

use super::hosted::{self, Answer};
use super::{MapScope, SourceRole};
use crate::map::Mapping;
use crate::objects::{LoadBalancerIngress, RouteGroup};
use crate::options::{SourceKind, SourceOptions};
use crate::store::Object;

/// The work of the source.
pub(super) fn role(options: &SourceOptions) -> SourceRole {
    SourceRole::new(SourceKind::SkipperRouteGroup, options.routegroup, "routegroup", options, map)
}

/// Maps one RouteGroup. It reads no other object.
fn map(object: &Object, scope: &MapScope<'_>) -> Mapped {
    let mut mapping = Mapping::new(object.meta(), scope);
    if scope.options.accepts(object.meta()).is_err() {
        return mapping.finish();
    }
    mapping.read_settings();
    match (object.body::<RouteGroup>(), object.meta().whole.as_deref()) {
        (Some(group), _) => publish(&mut mapping, group),
        (None, Some(whole)) => match RouteGroup::deserialize(whole) {
            Ok(group) => publish(&mut mapping, &group),
            Err(problem) => unreadable(&mut mapping, &problem),
        },
        (None, None) => {}
    }
    mapping.finish()
}

fn publish(mapping: &mut Mapping<'_>, group: &RouteGroup) {
    let mut names = hosted::listed(mapping, "spec.hosts", &group.spec.hosts);
    names.extend(hosted::annotated(mapping));
    let entries = &group.status.load_balancer.route_group;
    hosted::publish(mapping, &names, |mapping| {
        let texts = entries.iter().flat_map(LoadBalancerIngress::targets);
        Answer::stated(mapping, "status.loadBalancer.routeGroup", texts)
    });
}

/// An object without the shape of a RouteGroup: what it asked for before stays.
fn unreadable(mapping: &mut Mapping<'_>, problem: &serde_json::Error) {
    let reason = format!("it does not have the shape of a RouteGroup: {problem}");
    mapping.warn("UnreadableObject", format!("{reason}; expected spec.hosts to be a list of texts"));
    let resource = mapping.settings().resource.clone();
    mapping.cannot_determine([resource], &reason);
}
