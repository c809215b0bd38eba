//! The mapper of Kong's TCPIngresses: annotated names and the server names of rules, at the addresses of the load balancer.

use zonewright_core::endpoint::Mapped;

use super::hosted::{self, Answer};
use super::{MapScope, SourceRole};
use crate::kind::Kind;
use crate::map::Mapping;
use crate::objects::TcpIngress;
use crate::options::{SourceKind, SourceOptions};
use crate::store::Object;

/// The work of the source.
pub(super) fn role(options: &SourceOptions) -> SourceRole {
    SourceRole::new(SourceKind::KongTcpIngress, Kind::TcpIngress, "tcpingress", options, map)
}

/// Maps one TCPIngress. It reads no other object, and templates do not apply to it.
fn map(object: &Object, scope: &MapScope<'_>) -> Mapped {
    let Some(object) = object.body::<TcpIngress>() else { return Mapped::default() };
    let mut mapping = Mapping::new(&object.metadata, scope);
    if scope.options.accepts(&object.metadata).is_ok() {
        mapping.read_settings();
        let mut names = hosted::annotated(&mut mapping);
        let rules = object.spec.rules.iter().enumerate();
        let hosts = rules.map(|(at, rule)| (format!("spec.rules[{at}].host"), &*rule.host));
        names.extend(hosted::hosts(&mut mapping, hosts));
        let balancer = &object.status.load_balancer;
        hosted::answer(&mut mapping, &names, |mapping| Answer::load_balancer(mapping, balancer.targets()));
    }
    mapping.finish()
}
