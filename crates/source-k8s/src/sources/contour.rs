//! The mapper of Contour's HTTPProxies: the host of a root proxy and annotated names, at the addresses of the load balancer.

use zonewright_core::endpoint::Mapped;

use super::hosted::{self, Answer};
use super::{MapScope, SourceRole};
use crate::kind::Kind;
use crate::map::Mapping;
use crate::objects::HttpProxy;
use crate::options::{SourceKind, SourceOptions};
use crate::store::Object;

/// The work of the source. The label has the capitals of the kind, unlike all others.
pub(super) fn role(options: &SourceOptions) -> SourceRole {
    SourceRole::new(SourceKind::ContourHttpProxy, Kind::HttpProxy, "HTTPProxy", options, map)
}

/// Maps one HTTPProxy. It reads no other object.
fn map(object: &Object, scope: &MapScope<'_>) -> Mapped {
    let Some(object) = object.body::<HttpProxy>() else { return Mapped::default() };
    let mut mapping = Mapping::new(&object.metadata, scope);
    if scope.options.accepts(&object.metadata).is_ok() {
        mapping.read_settings();
        let fqdn = ("spec.virtualhost.fqdn".to_owned(), &*object.spec.virtual_host.fqdn);
        let mut names = hosted::hosts(&mut mapping, [fqdn]);
        names.extend(hosted::annotated(&mut mapping));
        let balancer = &object.status.load_balancer;
        hosted::publish(&mut mapping, &names, |mapping| Answer::load_balancer(mapping, balancer.targets()));
    }
    mapping.finish()
}
