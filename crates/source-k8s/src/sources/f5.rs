//! The mappers of F5's VirtualServers and TransportServers: hosts, at the server's address.
//!
//! What must hold: a server to which the controller has given no address gives no records, whatever it asks for.

use zonewright_core::endpoint::Mapped;

use super::hosted::{self, Answer};
use super::{MapScope, SourceRole};
use crate::kind::Kind;
use crate::map::Mapping;
use crate::objects::F5Server;
use crate::options::{SourceKind, SourceOptions};
use crate::store::Object;

/// The work of the source f5-virtualserver.
pub(super) fn virtual_server_role(options: &SourceOptions) -> SourceRole {
    SourceRole::new(SourceKind::F5VirtualServer, Kind::F5VirtualServer, "f5-virtualserver", options, map)
}

/// The work of the source f5-transportserver.
pub(super) fn transport_server_role(options: &SourceOptions) -> SourceRole {
    SourceRole::new(SourceKind::F5TransportServer, Kind::F5TransportServer, "f5-transportserver", options, map)
}

/// Maps one server. It reads no other object; provider-specific annotations and `hostname` do not count.
fn map(object: &Object, scope: &MapScope<'_>) -> Mapped {
    let Some(server) = object.body::<F5Server>() else { return Mapped::default() };
    let mut mapping = Mapping::new(&server.metadata, scope);
    if scope.options.accepts(&server.metadata).is_ok() {
        mapping.read_ttl_and_policy();
        let mut names = hosted::hosts(&mut mapping, [("spec.host".to_owned(), &*server.spec.host)]);
        if object.kind() == Kind::F5VirtualServer {
            names.extend(hosted::listed(&mut mapping, "spec.hostAliases", &server.spec.host_aliases));
        }
        if has_address(server) {
            hosted::answer(&mut mapping, &names, |mapping| address(mapping, server));
        } else {
            Answer::waiting("status.vsAddress has no address yet".to_owned()).publish(&mut mapping, &names);
        }
        mapping.apply_templates(false);
    }
    mapping.finish()
}

fn has_address(server: &F5Server) -> bool {
    let address = &*server.status.vs_address;
    !address.is_empty() && !address.eq_ignore_ascii_case("none")
}

/// The address that is asked for, else the one in use.
fn address(mapping: &mut Mapping<'_>, server: &F5Server) -> Answer {
    match &*server.spec.virtual_server_address {
        "" => Answer::stated(mapping, "status.vsAddress", [&*server.status.vs_address]),
        asked_for => Answer::stated(mapping, "spec.virtualServerAddress", [asked_for]),
    }
}
