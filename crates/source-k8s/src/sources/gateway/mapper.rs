//! What every part of a route's mapping works on.

use std::collections::HashSet;

use zonewright_core::DnsName;

use crate::kind::Kind;
use crate::map::Mapping;
use crate::objects::Route;
use crate::role::MapScope;

/// The mapping of one route.
pub(super) struct Mapper<'m, 'a> {
    pub(super) kind: Kind,
    pub(super) route: &'a Route,
    pub(super) scope: &'m MapScope<'a>,
    pub(super) mapping: &'m mut Mapping<'a>,
}

/// The names that a route asks for.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    /// Those that it states itself, each once.
    pub(super) named: Vec<DnsName>,
    /// The same, to find them by.
    pub(super) known: HashSet<DnsName>,
    /// Whether it takes whatever its listeners serve.
    pub(super) of_listeners: bool,
}

impl Hosts {
    /// Whether what is published may be a listener's name, and none of these.
    pub(super) fn rest_on_listeners(&self) -> bool {
        self.of_listeners || self.named.iter().any(DnsName::is_wildcard)
    }
}
