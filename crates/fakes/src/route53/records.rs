//! The operations on record sets and changes.

use std::collections::BTreeMap;

use super::change::{Action, Batch};
use super::name::canonical;
use super::refusal::Refusal;
use super::request::Request;
use super::service::{Service, document, page_of};
use super::set::{RecordSet, Routing};
use super::value::KINDS;
use super::xml::Element;
use super::zone::Key;
use crate::reply::Reply;

impl Service {
    pub(super) fn list_sets(
        &mut self,
        account: &str,
        id: &str,
        request: &Request,
        repeat: bool,
    ) -> Result<Reply, Refusal> {
        let count = page_of(request, self.page)?;
        let start = start(request)?;
        let sets = self.zone(account, id)?.listed();
        let page: Vec<&RecordSet> = sets.range(start..).take(count + 1).map(|(_, set)| set).collect();
        let next = if repeat { page.first() } else { page.get(count) };
        let shown = page.iter().take(count).map(|set| set.element()).collect();
        let mut parts = vec![Element::list("ResourceRecordSets", shown), Element::text("IsTruncated", &next.is_some())];
        if let Some(next) = next {
            parts.push(Element::text("NextRecordName", &next.name));
            parts.push(Element::text("NextRecordType", &next.kind));
            parts.extend(next.identifier.as_ref().map(|identifier| Element::text("NextRecordIdentifier", identifier)));
        }
        parts.push(Element::text("MaxItems", &count));
        Ok(document(200, "ListResourceRecordSetsResponse", parts))
    }

    pub(super) fn change_sets(&mut self, account: &str, id: &str, body: &[u8]) -> Result<Reply, Refusal> {
        self.not_busy(account, id)?;
        let batch = Batch::read(body)?;
        for change in &batch.changes {
            self.count(change.action.name());
        }
        let kept = batch.changes.iter().filter(|change| change.action != Action::Delete);
        let missing = kept.clone().filter_map(|change| change.set.health_check.as_ref());
        if let Some(missing) = missing.into_iter().find(|check| !self.health_checks.contains(*check)) {
            let text = format!("No health check found with id: {missing}");
            return Err(Refusal::new(404, "NoSuchHealthCheck", text));
        }
        let collection = kept.filter_map(|change| change.set.routing.as_ref()).find_map(Routing::collection);
        if let Some(collection) = collection {
            let text = format!("The CIDR collection {collection} doesn't exist");
            return Err(Refusal::new(404, "NoSuchCidrCollectionException", text));
        }
        let targets = batch.changes.iter().filter_map(|change| Some(&change.set.alias.as_ref()?.zone));
        let targets = targets.filter_map(|target| Some((target.clone(), self.zones.get(target)?.name.clone())));
        let targets: BTreeMap<String, String> = targets.collect();
        let zone = self.zone(account, id)?;
        zone.apply(&batch.changes, &|id| targets.get(id).cloned()).map_err(Refusal::batch)?;
        let submitted = self.submit(account, batch.comment);
        Ok(document(200, "ChangeResourceRecordSetsResponse", vec![submitted]))
    }

    /// Refuses a change while another one of the zone is being worked on.
    pub(super) fn not_busy(&mut self, account: &str, id: &str) -> Result<(), Refusal> {
        let zone = self.zone(account, id)?;
        let Some(busy) = zone.busy.checked_sub(1) else { return Ok(()) };
        zone.busy = busy;
        Err(Refusal::prior_request())
    }

    pub(super) fn get_change(&mut self, account: &str, id: &str) -> Result<Reply, Refusal> {
        let change = self.changes.get_mut(id).filter(|change| change.account == account);
        let missing = || Refusal::new(404, "NoSuchChange", format!("Could not find resource with ID: {id}"));
        let change = change.ok_or_else(missing)?;
        let status = match change.pending.checked_sub(1) {
            Some(pending) => {
                change.pending = pending;
                "PENDING"
            }
            None => "INSYNC",
        };
        Ok(document(200, "GetChangeResponse", vec![change.element(id, status)]))
    }
}

/// Where a listing starts: each part needs the one before.
fn start(request: &Request) -> Result<Key, Refusal> {
    let (kind, identifier) = (request.parameter("type"), request.parameter("identifier"));
    let Some(name) = request.parameter("name") else {
        let alone = kind.is_some() || identifier.is_some();
        return if alone {
            Err(Refusal::input("The request must contain the name of the start"))
        } else {
            Ok(Key::default())
        };
    };
    if kind.is_none() && identifier.is_some() {
        return Err(Refusal::input("The request must contain the type of the start"));
    }
    if let Some(kind) = kind.filter(|kind| !KINDS.contains(kind)) {
        let known = KINDS.join(", ");
        let problem = format!(
            "Value '{kind}' at 'type' failed to satisfy constraint: Member must satisfy enum value set: [{known}]"
        );
        return Err(Refusal::validation(&[problem]));
    }
    let name = canonical(name).map_err(Refusal::input)?;
    Ok(Key::new(&name, kind.unwrap_or_default(), identifier.unwrap_or_default()))
}
