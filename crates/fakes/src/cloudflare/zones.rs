//! The operations on zones and tokens.

use serde_json::json;

use super::access::{Caller, Permission};
use super::ids;
use super::page::{self, Page};
use super::refusal::Refusal;
use super::request::{Request, Target};
use super::service::{Answer, Service};
use super::zone::Zone;

impl Service {
    /// What a token may not read is not listed: a token without the permission has an empty list.
    pub(super) fn list_zones(&self, caller: &Caller, request: &Request, repeat: bool) -> Result<Answer, Refusal> {
        let page = Page::read(request, page::ZONES, self.page, repeat)?;
        let readable = |zone: &Zone| caller.may(Permission::ZoneRead) && caller.reaches(&zone.id);
        let reached = self.zones.values().filter(|zone| readable(zone) && shown(zone, request));
        let mut zones: Vec<&Zone> = reached.collect();
        zones.sort_by_key(|zone| (&zone.name, &zone.id));
        let (zones, info) = page.cut(zones);
        let permissions = caller.permissions();
        Ok(Answer::listing(zones.into_iter().map(|zone| zone.element(&permissions)).collect(), info))
    }

    pub(super) fn get_zone(&mut self, caller: &Caller, target: &Target, path: &str) -> Result<Answer, Refusal> {
        let permissions = caller.permissions();
        let zone = self.zone(caller, target, path)?;
        Ok(Answer::one(zone.element(&permissions)))
    }

    /// The zone that a path names, if the caller may do with it what the operation does.
    pub(super) fn zone(&mut self, caller: &Caller, target: &Target, path: &str) -> Result<&mut Zone, Refusal> {
        if !ids::is_id(&target.zone) {
            return Err(Refusal::no_route(path));
        }
        let permission = target.operation.permission();
        if !caller.reaches(&target.zone) || permission.is_some_and(|permission| !caller.may(permission)) {
            let itself = permission == Some(Permission::ZoneRead);
            return Err(if itself { Refusal::unauthorized() } else { Refusal::not_allowed() });
        }
        self.zones.get_mut(&target.zone).ok_or_else(|| Refusal::no_route(path))
    }
}

/// Whether a zone meets the parameters of a listing. A name may have an operator before a colon.
fn shown(zone: &Zone, request: &Request) -> bool {
    let status = if zone.active { "active" } else { "pending" };
    let named = |given: &str| match given.split_once(':') {
        None => zone.name == given,
        Some(("equal", name)) => zone.name == name,
        Some(("not_equal", name)) => zone.name != name,
        Some(("starts_with", start)) => zone.name.starts_with(start),
        Some(("ends_with", end)) => zone.name.ends_with(end),
        Some(("contains", part)) => zone.name.contains(part),
        Some(_) => false,
    };
    let meets = |name: &str, test: &dyn Fn(&str) -> bool| request.parameter(name).is_none_or(test);
    meets("name", &|given| named(&given.to_ascii_lowercase()))
        && meets("account.id", &|given| given == ids::ACCOUNT)
        && meets("status", &|given| given == status)
}

/// Whether the token of a request is one.
pub(super) fn verify(caller: &Caller) -> Answer {
    let status = if caller.expired { "expired" } else { "active" };
    Answer::one(json!({ "id": caller.id, "status": status }))
}
