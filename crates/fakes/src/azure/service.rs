//! Everything that the service holds, and what becomes of one request.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde_json::Value;

use super::access::{Access, Caller, TokenRequest};
use super::page::Paging;
use super::refusal::Refusal;
use super::request::{Operation, Request, Target};
use super::value::RecordType;
use super::zone::{Condition, Kind, Zone};
use crate::faults::{Fault, Faults};
use crate::http::Incoming;
use crate::pace::Pace;
use crate::reply::Reply;

/// Everything that the service holds.
#[derive(Debug, Default)]
pub(super) struct Service {
    pub(super) access: Access,
    /// By their ids in lower case.
    pub(super) zones: BTreeMap<String, Zone>,
    /// Subscription and resource group, in lower case.
    pub(super) groups: BTreeSet<[String; 2]>,
    pub(super) faults: Faults<Fault>,
    pub(super) calls: BTreeMap<String, usize>,
    pub(super) requests: usize,
    pub(super) page: Option<usize>,
    /// How many requests a subscription has.
    pub(super) pace: Pace,
    /// How many seconds the fault [`Fault::Throttled`] asks callers to wait; 1 without.
    pub(super) retry_after: Option<u64>,
    pub(super) made: usize,
}

/// An answer that is a success: its status, and its body if it has one.
type Answer = (u16, Option<Value>);

/// What a request is for.
enum Call {
    Zones(Target),
    Token(TokenRequest),
}

impl Service {
    /// Answers a request as it came.
    pub(super) fn serve(&mut self, incoming: Incoming) -> Reply {
        self.requests += 1;
        let id = format!("00000000-0000-4000-a000-{:012x}", self.requests);
        self.answer(&Request::of(incoming)).with_header("x-ms-request-id", id)
    }

    fn answer(&mut self, request: &Request) -> Reply {
        let call = request.target().map(Call::Zones).or_else(|| TokenRequest::of(request).map(Call::Token));
        let Some(call) = call else { return refuse(&Refusal::no_route(), false) };
        let (name, fault) = match &call {
            Call::Zones(target) => {
                let name = format!("{:?}", target.operation);
                let fault = self.faults.next(&name);
                (name, fault)
            }
            Call::Token(asked) => (asked.name().to_owned(), self.faults.next_of(asked.name())),
        };
        *self.calls.entry(name).or_default() += 1;
        if let Some(reply) = fault.and_then(|fault| self.instead(fault, &call)) {
            return reply;
        }
        let (reply, public) = match &call {
            Call::Token(asked) => (self.access.answer(asked, request), false),
            Call::Zones(target) => {
                let public = target.kind == Kind::Public;
                let answer = self.carry_out(request, target, fault == Some(Fault::RepeatedPage));
                (answer.map_or_else(|refusal| refuse(&refusal, public), written), public)
            }
        };
        match fault {
            Some(fault) => fault.spoil(reply, || refuse(&Refusal::broken(), public)),
            None => reply,
        }
    }

    /// What is answered in place of carrying the call out.
    fn instead(&self, fault: Fault, call: &Call) -> Option<Reply> {
        let page = "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head></html>";
        let (public, subscription, action, scope) = match call {
            Call::Zones(target) => {
                (target.kind == Kind::Public, target.subscription.as_str(), target.action(), target.scope())
            }
            Call::Token(asked) => (false, "", asked.name().to_owned(), String::new()),
        };
        let refusal = match fault {
            Fault::Throttled => Refusal::throttled(subscription, self.retry_after.unwrap_or(1)),
            Fault::RateLimited => Refusal::rate_limited(),
            Fault::Denied => Refusal::denied(&action, &scope),
            Fault::Expired => Refusal::expired(),
            Fault::Broken => Refusal::broken(),
            Fault::Unavailable => Refusal::unavailable(),
            other => return other.wordless(JSON, (502, page)),
        };
        Some(refuse(&refusal, public))
    }

    fn carry_out(&mut self, request: &Request, target: &Target, repeat: bool) -> Result<Answer, Refusal> {
        check_version(request, target)?;
        let caller = self.access.caller(request)?;
        let pace = self.pace.take(&target.subscription.to_ascii_lowercase(), Instant::now());
        pace.map_err(|wait| Refusal::throttled(&target.subscription, wait.as_secs() + 1))?;
        let allowed = target.zone.is_empty() || caller.sees(&target.zone);
        if !allowed || target.writes() && !caller.writes {
            return Err(Refusal::denied(&target.action(), &target.scope()));
        }
        self.check_group(target)?;
        let paging = Paging::of(request, self.page, repeat)?;
        if target.operation == Operation::ListZones {
            return Ok((200, Some(self.list_zones(&caller, target, &paging))));
        }
        let zone = self.zone(target)?;
        match target.operation {
            Operation::ListZones | Operation::GetZone => Ok((200, Some(zone.json()))),
            Operation::ListRecordSets => list_sets(zone, request, target, &paging),
            Operation::GetRecordSet => get_set(zone, target),
            Operation::PutRecordSet => write(zone, request, target, false),
            Operation::PatchRecordSet => write(zone, request, target, true),
            Operation::DeleteRecordSet => {
                let of = record_type(target)?;
                let deleted = zone.delete(&target.name, of.name, &condition(request))?;
                Ok((if deleted { 200 } else { 204 }, None))
            }
        }
    }

    fn check_group(&self, target: &Target) -> Result<(), Refusal> {
        let same = |known: &str, named: &str| known.eq_ignore_ascii_case(named);
        let mut groups =
            self.groups.iter().filter(|[subscription, _]| same(subscription, &target.subscription)).peekable();
        if groups.peek().is_none() {
            return Err(Refusal::no_subscription(&target.subscription));
        }
        match &target.group {
            Some(named) if !groups.any(|[_, group]| same(group, named)) => Err(Refusal::no_group(named)),
            _ => Ok(()),
        }
    }

    fn zone(&mut self, target: &Target) -> Result<&mut Zone, Refusal> {
        let group = target.group.as_deref().unwrap_or_default();
        self.zones.get_mut(&target.place().to_ascii_lowercase()).ok_or_else(|| {
            if target.writes() {
                Refusal::no_parent(&target.zone)
            } else {
                Refusal::no_zone(target.kind.resource_type(), &target.zone, group)
            }
        })
    }

    /// The zones that the caller may see.
    fn list_zones(&self, caller: &Caller, target: &Target, paging: &Paging<'_>) -> Value {
        let scope = format!("{}/", target.place().to_ascii_lowercase());
        let zones = self.zones.iter().filter(|(id, zone)| zone.kind == target.kind && id.starts_with(&scope));
        let seen = zones.filter(|(_, zone)| caller.sees(&zone.name));
        paging.cut(seen.map(|(id, zone)| (id.clone(), zone)), Zone::json)
    }
}

fn check_version(request: &Request, target: &Target) -> Result<(), Refusal> {
    let version = request.parameter("api-version").ok_or_else(Refusal::no_version)?;
    let (known, kind) = (target.kind.versions(), target.kind.resource_type());
    if known.contains(&version) {
        return Ok(());
    }
    let date = version.trim_end_matches("-preview");
    if date.parse::<jiff::civil::Date>().is_err() {
        return Err(Refusal::no_date(version, known));
    }
    let whole = if target.record_type.is_empty() { kind.to_owned() } else { format!("{kind}/{}", target.record_type) };
    Err(Refusal::unknown_version(&whole, version, known))
}

fn record_type(target: &Target) -> Result<&'static RecordType, Refusal> {
    RecordType::find(target.kind, &target.record_type).ok_or_else(|| {
        let version = target.kind.versions().last().copied().unwrap_or_default();
        Refusal::no_type(&format!("{}/{}", target.kind.resource_type(), target.record_type), version)
    })
}

fn condition(request: &Request) -> Condition<'_> {
    Condition { matches: request.header("if-match"), none_matches: request.header("if-none-match") }
}

fn list_sets(zone: &Zone, request: &Request, target: &Target, paging: &Paging<'_>) -> Result<Answer, Refusal> {
    let all = target.record_type == "ALL" || target.record_type == "RECORDSETS" && zone.kind == Kind::Public;
    let of = if all { None } else { Some(record_type(target)?.name) };
    let suffix = request.parameter("$recordsetnamesuffix").map(|suffix| format!(".{}", suffix.to_ascii_lowercase()));
    let sets = zone.listed().values().filter(|set| of.is_none_or(|of| of == set.kind));
    let sets = sets.filter(|set| suffix.as_ref().is_none_or(|suffix| set.name.ends_with(suffix)));
    let sets = sets.map(|set| (format!("{}|{}", set.name, set.kind), set));
    Ok((200, Some(paging.cut(sets, |set| set.json(zone)))))
}

fn get_set(zone: &Zone, target: &Target) -> Result<Answer, Refusal> {
    let of = record_type(target)?;
    let found = zone.sets.get(&(target.name.clone(), of.name.to_owned()));
    let found = found.ok_or_else(|| Refusal::no_set(&target.name, &zone.group, &zone.subscription))?;
    Ok((200, Some(found.json(zone))))
}

fn write(zone: &mut Zone, request: &Request, target: &Target, merge: bool) -> Result<Answer, Refusal> {
    let of = record_type(target)?;
    let sent = request.json()?;
    let (key, new) = zone.write((&target.name, of), &sent, &condition(request), merge)?;
    let written = zone.sets.get(&key).map(|set| set.json(zone));
    Ok((if new { 201 } else { 200 }, written))
}

const JSON: &str = "application/json; charset=utf-8";

fn written((status, body): Answer) -> Reply {
    Reply::new(status, JSON, body.map(|body| body.to_string()).unwrap_or_default())
}

fn refuse(refusal: &Refusal, public: bool) -> Reply {
    let reply = Reply::new(refusal.status, JSON, refusal.body(public).to_string());
    let reply = match refusal.retry_after {
        Some(seconds) => reply.with_header("retry-after", seconds.to_string()),
        None => reply,
    };
    if refusal.status != 401 {
        return reply;
    }
    let challenge = format!(
        "Bearer authorization_uri=\"https://login.microsoftonline.com/\", error=\"invalid_token\", error_description=\"{}\"",
        refusal.message
    );
    reply.with_header("www-authenticate", challenge)
}
