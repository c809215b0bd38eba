//! The mappers of Traefik's routes, of both API groups: the hosts of rules and annotated names, at annotated targets.
//!
//! What must hold: a route without the `target` annotation asks for nothing by itself, since it states no address.

mod rule;

use zonewright_core::DnsName;
use zonewright_core::endpoint::Mapped;

use super::hosted::{self, Answer};
use super::{MapScope, SourceRole};
use crate::kind::Kind;
use crate::map::Mapping;
use crate::objects::IngressRoute;
use crate::options::{SourceKind, SourceOptions};
use crate::store::Object;

/// The kinds of the group traefik.io, with their labels.
const NEW: [(Kind, &str); 3] = [
    (Kind::IngressRoute, "ingressroute"),
    (Kind::IngressRouteTcp, "ingressroutetcp"),
    (Kind::IngressRouteUdp, "ingressrouteudp"),
];

/// The kinds of the group traefik.containo.us, with the same labels.
const OLD: [(Kind, &str); 3] = [
    (Kind::OldIngressRoute, "ingressroute"),
    (Kind::OldIngressRouteTcp, "ingressroutetcp"),
    (Kind::OldIngressRouteUdp, "ingressrouteudp"),
];

/// The work of the source: on the kinds of the groups that the flags let in.
pub(super) fn roles(options: &SourceOptions) -> Vec<SourceRole> {
    let new = NEW.iter().filter(|_| options.traefik_new);
    let old = OLD.iter().filter(|_| options.traefik_legacy);
    new.chain(old).map(|(kind, label)| SourceRole::new(SourceKind::TraefikProxy, *kind, label, options, map)).collect()
}

/// Maps one route. It reads no other object.
fn map(object: &Object, scope: &MapScope<'_>) -> Mapped {
    let Some(route) = object.body::<IngressRoute>() else { return Mapped::default() };
    let mut mapping = Mapping::new(&route.metadata, scope);
    if scope.options.accepts(&route.metadata).is_ok() {
        mapping.read_settings();
        if let Some((field, targets)) = mapping.stated_targets() {
            let names = names(&mut mapping, object.kind(), route);
            Answer { targets, reason: format!("{field} holds no valid target") }.publish(&mut mapping, &names);
        }
        mapping.apply_templates(false);
    }
    mapping.finish()
}

fn names(mapping: &mut Mapping<'_>, kind: Kind, route: &IngressRoute) -> Vec<DnsName> {
    let mut names = hosted::annotated(mapping);
    // A UDP route has no rules: datagrams carry no host name.
    if !matches!(kind, Kind::IngressRouteUdp | Kind::OldIngressRouteUdp) {
        let routes = route.spec.routes.iter().enumerate();
        let hosts = routes.flat_map(|(at, route)| {
            rule::hosts(&route.rule).into_iter().map(move |host| (format!("spec.routes[{at}].match"), host))
        });
        names.extend(hosted::hosts(mapping, hosts.filter(|(_, host)| *host != "*")));
    }
    names
}
