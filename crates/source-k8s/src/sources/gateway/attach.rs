//! A route and one of its parents: the listeners that take it, and what it gets there.
//!
//! In come a parent and the route's hosts; endpoints are asked for as they are found. What must hold: whatever a listener
//! does not take leaves a doubt or a note, unless it is simply another listener's business; in doubt what it would serve waits.

use std::collections::BTreeSet;

use zonewright_core::endpoint::Sharing;
use zonewright_core::{DnsName, RData};

use super::admit::{Obstacle, Way, accepted};
use super::host;
use super::mapper::{Hosts, Mapper};
use super::parent::{Found, Name, Parent};
use crate::annotations::{Annotations, TARGET};
use crate::kind::Kind;
use crate::map::INVALID_HOSTNAME;
use crate::objects::{Gateway, Listener, Meta};

/// What came of the parents so far.
#[derive(Debug, Default)]
pub(super) struct Attached {
    /// The names of the route that some listener serves.
    pub(super) served: BTreeSet<DnsName>,
    /// What is not known: each can hide a listener that serves a name.
    pub(super) doubts: Vec<String>,
    /// Whether any parent has accepted the route.
    pub(super) accepted: bool,
    /// Whether any parent is missing, so that its listeners are not known.
    pub(super) hidden: bool,
}

/// What a parent has to give.
#[derive(Debug)]
struct Offer {
    targets: Vec<RData>,
    /// Why there may be none.
    reason: String,
}

impl Mapper<'_, '_> {
    /// Asks for what the route gets from one parent.
    pub(super) fn attach(&mut self, parent: &Parent<'_>, hosts: &Hosts, attached: &mut Attached) {
        let name = parent.found.name();
        let doubt = match self.entry(parent, &name) {
            Ok(()) => {
                attached.accepted = true;
                None
            }
            Err(obstacle) => {
                let Some(nothing) = self.report(obstacle, attached) else { return };
                Some(nothing)
            }
        };
        let listeners = match &parent.found {
            Found::Missing(_) => {
                attached.hidden = true;
                return;
            }
            Found::Gateway(gateway) => &gateway.spec.listeners,
            Found::Set(set, _) => &set.spec.listeners,
        };
        let section = &parent.reference.section_name;
        let mut named = listeners.iter().filter(|listener| section.is_empty() || listener.name == *section).peekable();
        if doubt.is_none() && named.peek().is_none() && !section.is_empty() {
            self.mapping
                .warn("NoSuchListener", format!("{name} has no listener {section:?}, which sectionName asks for"));
        }
        let offer = doubt.unwrap_or_else(|| self.offer(&parent.found));
        let (kind, port) = (self.kind, parent.reference.port);
        for listener in named.filter(|listener| speaks(kind, listener) && on_port(listener, port)) {
            match self.admits(&parent.found, listener, &name) {
                Ok(true) => self.at_listener(listener, &name, &offer, hosts, attached),
                Ok(false) => {}
                Err(obstacle) => {
                    if let Some(offer) = self.report(obstacle, attached) {
                        self.at_listener(listener, &name, &offer, hosts, attached);
                    }
                }
            }
        }
    }

    /// Whether the route has come through the parent's door.
    fn entry(&self, parent: &Parent<'_>, name: &Name) -> Way {
        if let Found::Missing(name) = &parent.found {
            return Err(Obstacle::Missing(format!("{name} does not exist")));
        }
        accepted(parent.conditions, name, "this route")?;
        match &parent.found {
            Found::Set(set, gateway) => self.set_attached(set, gateway, name),
            _ => Ok(()),
        }
    }

    fn admits(&self, found: &Found, listener: &Listener, name: &Name) -> Result<bool, Obstacle> {
        match found {
            Found::Missing(_) => Ok(false),
            Found::Gateway(gateway) => self.route_allowed(listener, &gateway.metadata.namespace),
            Found::Set(set, _) => {
                Self::entry_attached(set, listener, name)?;
                self.route_allowed(listener, &set.metadata.namespace)
            }
        }
    }

    /// Reports what stands in the way. Returns what there is to give until more is known, if that can be.
    fn report(&mut self, obstacle: Obstacle, attached: &mut Attached) -> Option<Offer> {
        let reason = match obstacle {
            Obstacle::Refused(why) => {
                self.mapping.warn("RouteNotAccepted", why);
                return None;
            }
            Obstacle::Unknown(why) => why,
            Obstacle::Missing(why) => {
                self.mapping.warn("ParentNotFound", why.clone());
                why
            }
        };
        attached.doubts.push(reason.clone());
        Some(Offer { targets: Vec::new(), reason })
    }

    /// Asks for the hosts that the route and the listener have in common.
    fn at_listener(&mut self, listener: &Listener, name: &Name, offer: &Offer, hosts: &Hosts, attached: &mut Attached) {
        let Ok(served) = self.listener_host(listener, name) else { return };
        if let Some(served) = served.as_ref().filter(|_| hosts.of_listeners) {
            self.mapping.want_part(served, &offer.targets, Sharing::Holder, &offer.reason);
        }
        for own in &hosts.named {
            let common = served.as_ref().map_or(Some(own), |served| host::common(served, own));
            if let Some(common) = common {
                self.mapping.want_part(common, &offer.targets, Sharing::Holder, &offer.reason);
                attached.served.insert(own.clone());
            }
        }
    }

    /// The listener's host; `None` where it serves every host.
    ///
    /// # Errors
    /// It has one that is none; that was reported.
    fn listener_host(&mut self, listener: &Listener, name: &Name) -> Result<Option<DnsName>, ()> {
        if listener.hostname.is_empty() {
            return Ok(None);
        }
        let field = format!("hostname of listener {} of {name}", listener.name);
        let served = self.mapping.owner(&field, &listener.hostname).ok_or(())?;
        match host::check(&served) {
            Ok(()) => Ok(Some(served)),
            Err(problem) => {
                self.mapping.warn(INVALID_HOSTNAME, format!("{field}, {:?}: {problem}", listener.hostname));
                Err(())
            }
        }
    }

    /// The targets of a parent: its annotation, its Gateway's annotation, the addresses of the Gateway.
    fn offer(&mut self, found: &Found) -> Offer {
        let (set, gateway) = match found {
            Found::Missing(_) => return Offer { targets: Vec::new(), reason: String::new() },
            Found::Gateway(gateway) => (None, gateway),
            Found::Set(set, gateway) => (Some(&set.metadata), gateway),
        };
        let stated = set.and_then(|meta| self.stated_by(meta)).or_else(|| self.stated_by(&gateway.metadata));
        stated.unwrap_or_else(|| self.addresses(gateway))
    }

    fn stated_by(&mut self, meta: &Meta) -> Option<Offer> {
        let annotations = Annotations::new(&self.scope.options.annotation_prefixes, &meta.annotations);
        let annotation = annotations.find(TARGET).filter(|annotation| !annotation.value.is_empty())?;
        let field = format!("annotation {} of {}/{}", annotation.key, meta.namespace, meta.name);
        let targets = self.mapping.listed_targets(&field, annotation.value);
        Some(Offer { targets, reason: format!("{field} holds no valid target") })
    }

    fn addresses(&mut self, gateway: &Gateway) -> Offer {
        let field = format!("status.addresses of Gateway {}/{}", gateway.metadata.namespace, gateway.metadata.name);
        let values = gateway.status.addresses.iter().map(|address| &*address.value).filter(|value| !value.is_empty());
        Offer { targets: self.mapping.targets(&field, values), reason: format!("{field} has no address yet") }
    }
}

/// Whether routes of a kind go over the listener's protocol.
fn speaks(kind: Kind, listener: &Listener) -> bool {
    let protocols: &[&str] = match kind {
        Kind::HttpRoute | Kind::GrpcRoute => &["HTTP", "HTTPS"],
        Kind::TlsRoute => &["TLS"],
        Kind::TcpRoute => &["TCP", "TLS"],
        Kind::UdpRoute => &["UDP"],
        _ => &[],
    };
    protocols.contains(&&*listener.protocol)
}

fn on_port(listener: &Listener, port: Option<i64>) -> bool {
    port.is_none_or(|port| port == listener.port)
}
