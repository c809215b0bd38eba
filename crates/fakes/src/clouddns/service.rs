//! Everything that the service holds, and what becomes of one request.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Instant;

use serde_json::{Value, json};

use super::access::{Access, Caller};
use super::quota::Quota;
use super::refusal::Refusal;
use super::request::{Operation, Request, Target};
use super::zone::{Made, Zone};
use crate::faults::{Fault, Faults};
use crate::http::Incoming;
use crate::pace::Pace;
use crate::reply::Reply;

/// Items of a page where a request asks for no number, and at most.
const PAGE: usize = 100;

/// Everything that the service holds.
#[derive(Debug, Default)]
pub(super) struct Service {
    pub(super) access: Access,
    /// By id.
    pub(super) zones: BTreeMap<u64, Zone>,
    pub(super) faults: Faults<Fault>,
    pub(super) calls: BTreeMap<String, usize>,
    pub(super) requests: usize,
    pub(super) page: Option<usize>,
    /// How many requests a project has.
    pub(super) pace: Pace,
    /// How many seconds the fault [`Fault::Throttled`] asks callers to wait; 1 without.
    pub(super) retry_after: Option<u64>,
    /// How often a new change is `pending`.
    pub(super) pending: usize,
    pub(super) quota: Quota,
    pub(super) made: u64,
}

impl Service {
    /// Answers a request as it came.
    pub(super) fn serve(&mut self, incoming: Incoming) -> Reply {
        self.answer(&Request::of(incoming))
    }

    pub(super) fn answer(&mut self, request: &Request) -> Reply {
        self.requests += 1;
        let Some(target) = request.target() else {
            if let Some((name, reply)) = self.access.answer(request) {
                *self.calls.entry(name.to_owned()).or_default() += 1;
                return reply;
            }
            return refuse(&Refusal::no_route());
        };
        let name = format!("{:?}", target.operation);
        *self.calls.entry(name.clone()).or_default() += 1;
        let fault = self.faults.next(&name);
        if let Some(reply) = fault.and_then(|fault| self.instead(fault)) {
            return reply;
        }
        let reply = match self.carry_out(request, &target, fault == Some(Fault::RepeatedPage)) {
            Ok(body) => written(&body),
            Err(refusal) => refuse(&refusal),
        };
        match fault {
            Some(fault) => fault.spoil(reply, || refuse(&Refusal::broken())),
            None => reply,
        }
    }

    /// What is answered in place of carrying the call out.
    fn instead(&self, fault: Fault) -> Option<Reply> {
        let page = "<!DOCTYPE html><html><title>Error 502 (Server Error)!!1</title></html>";
        let refusal = match fault {
            Fault::Throttled => Refusal::throttled(self.retry_after.unwrap_or(1)),
            Fault::RateLimited => Refusal::rate_limited(),
            Fault::Denied => Refusal::forbidden(),
            Fault::Expired => Refusal::credentials(),
            Fault::Broken => Refusal::broken(),
            Fault::Unavailable => Refusal::unavailable(),
            other => return other.wordless(JSON, (502, page)),
        };
        Some(refuse(&refusal))
    }

    fn carry_out(&mut self, request: &Request, target: &Target, repeat: bool) -> Result<Value, Refusal> {
        let caller = self.access.caller(request)?;
        self.pace.take(&target.project, Instant::now()).map_err(|wait| Refusal::throttled(wait.as_secs() + 1))?;
        if target.operation == Operation::CreateChange && !caller.writes {
            return Err(Refusal::forbidden());
        }
        let paging = Paging::of(request, self.page, repeat);
        match target.operation {
            Operation::GetProject => {
                let quota = self.quota.json();
                Ok(json!({ "kind": "dns#project", "id": target.project, "number": "100000000001", "quota": quota }))
            }
            Operation::ListZones => Ok(self.list_zones(request, target, &paging?)),
            _ => {
                let (pending, quota) = (self.pending, self.quota);
                let zone = self.zone(&caller, target)?;
                match target.operation {
                    Operation::ListRecordSets => list_sets(zone, request, &paging?),
                    Operation::GetRecordSet => get_set(zone, target),
                    Operation::CreateChange => {
                        let number = zone.apply(&request.fields()?, quota, pending)?;
                        zone.changes.get(number - 1).map(|made| change(number, made)).ok_or_else(Refusal::broken)
                    }
                    Operation::GetChange => get_change(zone, target),
                    Operation::ListChanges => {
                        let changes = zone.changes.iter().enumerate().rev();
                        let changes =
                            changes.map(|(at, made)| (format!("{:08}", usize::MAX - at), change(at + 1, made)));
                        Ok(paging?.cut("changes", "dns#changesListResponse", changes.collect()))
                    }
                    _ => Ok(zone.json()),
                }
            }
        }
    }

    /// The zone of this name or id.
    fn zone(&mut self, caller: &Caller, target: &Target) -> Result<&mut Zone, Refusal> {
        let is_it = |zone: &&mut Zone| {
            zone.project == target.project && (zone.name == target.zone || zone.id.to_string() == target.zone)
        };
        let zone = self.zones.values_mut().find(is_it);
        let zone = zone.ok_or_else(|| Refusal::missing("parameters.managedZone", &target.zone))?;
        if caller.sees(&zone.name) { Ok(zone) } else { Err(Refusal::forbidden()) }
    }

    fn list_zones(&self, request: &Request, target: &Target, paging: &Paging) -> Value {
        let name = request.parameter("dnsName");
        let zones = self.zones.values().filter(|zone| zone.project == target.project);
        let zones = zones.filter(|zone| name.is_none_or(|name| name == zone.apex));
        paging.cut(
            "managedZones",
            "dns#managedZonesListResponse",
            zones.map(|zone| (zone.name.clone(), zone.json())).collect(),
        )
    }
}

fn list_sets(zone: &Zone, request: &Request, paging: &Paging) -> Result<Value, Refusal> {
    let (name, kind) = (request.parameter("name"), request.parameter("type"));
    if kind.is_some() && name.is_none() {
        return Err(Refusal::required("parameters.name"));
    }
    if let Some(given) = name
        && super::value::name(given).is_none()
    {
        return Err(Refusal::invalid("parameters.name", given));
    }
    let name = name.map(str::to_ascii_lowercase);
    let after = paging.after.as_ref().and_then(|after| after.rsplit_once('|'));
    let after = after.map_or(Bound::Unbounded, |(name, kind)| Bound::Excluded((name.to_owned(), kind.to_owned())));
    let sets = zone.listed().range((after, Bound::Unbounded)).map(|(_, set)| set);
    let sets = sets.filter(|set| name.as_ref().is_none_or(|name| *name == set.name));
    let sets = sets.filter(|set| kind.is_none_or(|kind| kind == set.kind));
    let sets = sets.map(|set| (format!("{}|{}", set.name, set.kind), set.json()));
    Ok(paging.page("rrsets", "dns#resourceRecordSetsListResponse", sets))
}

fn get_set(zone: &Zone, target: &Target) -> Result<Value, Refusal> {
    let [name, kind] = target.rest.as_slice() else { return Err(Refusal::no_route()) };
    let found = zone.listed().get(&(name.to_ascii_lowercase(), kind.clone()));
    found
        .map(super::set::RecordSet::json)
        .ok_or_else(|| Refusal::missing("parameters.name", &format!("{name} ({kind})")))
}

fn get_change(zone: &mut Zone, target: &Target) -> Result<Value, Refusal> {
    let id = target.rest.first().map(String::as_str).unwrap_or_default();
    let at = id.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let made = at.and_then(|at| zone.changes.get_mut(at)).ok_or_else(|| Refusal::missing("parameters.changeId", id))?;
    let shown = change(at.map_or(0, |at| at + 1), made);
    made.pending = made.pending.saturating_sub(1);
    Ok(shown)
}

fn change(number: usize, made: &Made) -> Value {
    let status = if made.pending > 0 { "pending" } else { "done" };
    let mut shown = json!({
        "kind": "dns#change", "id": number.to_string(), "startTime": "2026-01-01T00:00:00.000Z", "status": status, "isServing": false,
    });
    for (list, sets) in [("additions", &made.additions), ("deletions", &made.deletions)] {
        if !sets.is_empty() {
            shown[list] = json!(sets);
        }
    }
    shown
}

/// Which page of a list is asked for.
#[derive(Debug)]
struct Paging {
    size: usize,
    /// The page begins after the item of this key.
    after: Option<String>,
    repeat: bool,
}

impl Paging {
    fn of(request: &Request, most: Option<usize>, repeat: bool) -> Result<Self, Refusal> {
        let asked = request.parameter("maxResults");
        let size = asked.map_or(Some(PAGE), |text| text.parse().ok().filter(|size| *size > 0));
        let size = size.ok_or_else(|| Refusal::invalid("parameters.maxResults", asked.unwrap_or_default()))?;
        let token = request.parameter("pageToken");
        let after = token.map(|token| token.strip_prefix(TOKEN_START).map(str::to_owned));
        if after == Some(None) {
            return Err(Refusal::invalid("parameters.pageToken", token.unwrap_or_default()));
        }
        let after = after.flatten().filter(|_| !repeat);
        Ok(Self { size: size.min(most.unwrap_or(usize::MAX)), after, repeat })
    }

    /// The page of a list whose items have keys in their order.
    fn cut(&self, field: &str, kind: &str, mut items: Vec<(String, Value)>) -> Value {
        items.sort_by(|a, b| a.0.cmp(&b.0));
        let rest = items.into_iter().filter(|(key, _)| self.after.as_ref().is_none_or(|after| key > after));
        self.page(field, kind, rest)
    }

    /// The page that begins with the first of these items.
    fn page(&self, field: &str, kind: &str, rest: impl Iterator<Item = (String, Value)>) -> Value {
        let mut rest: Vec<(String, Value)> = rest.take(self.size.saturating_add(1)).collect();
        let more = rest.len() > self.size || self.repeat;
        rest.truncate(self.size);
        let last = rest.last().map(|(key, _)| format!("{TOKEN_START}{key}"));
        let mut body = json!({ "kind": kind, field: rest.into_iter().map(|(_, item)| item).collect::<Vec<_>>() });
        if let (true, Some(last)) = (more, last) {
            body["nextPageToken"] = json!(last);
        }
        body
    }
}

/// How every page token begins, so that others are known.
const TOKEN_START: &str = "after:";
const JSON: &str = "application/json; charset=UTF-8";

fn written(body: &Value) -> Reply {
    Reply::new(200, JSON, body.to_string())
}

fn refuse(refusal: &Refusal) -> Reply {
    let reply = Reply::new(refusal.status, JSON, refusal.body().to_string());
    let reply = match refusal.retry_after {
        Some(seconds) => reply.with_header("retry-after", seconds.to_string()),
        None => reply,
    };
    if refusal.status == 401 {
        return reply.with_header("www-authenticate", "Bearer realm=\"https://accounts.google.com/\"".to_owned());
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other() {
        let page = |target: &str, most| {
            let request = Request::new("GET", target);
            let items = ["a", "b", "c"].map(|key| (key.to_owned(), json!(key))).to_vec();
            Paging::of(&request, most, false).map(|paging| paging.cut("items", "list", items))
        };
        let first = page("/x?maxResults=2", None).unwrap();
        assert_eq!((&first["items"], &first["nextPageToken"]), (&json!(["a", "b"]), &json!("after:b")));
        let last = page("/x?maxResults=2&pageToken=after%3Ab", None).unwrap();
        assert_eq!((&last["items"], last.get("nextPageToken")), (&json!(["c"]), None));
        assert_eq!(page("/x", Some(1)).unwrap()["items"], json!(["a"]));
        for wrong in ["/x?maxResults=0", "/x?maxResults=y", "/x?pageToken=other"] {
            assert_eq!(page(wrong, None).unwrap_err().status, 400, "{wrong}");
        }
    }
}
