//! Everything that the service holds, and what becomes of one request.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::access::Access;
use super::refusal::{BatchErrorForm, Refusal};
use super::request::{Operation, Request};
use super::sts;
use super::xml::{Element, NAMESPACE};
use super::zone::Zone;
use crate::faults::{Fault, Faults};
use crate::http::Incoming;
use crate::pace::Pace;
use crate::reply::Reply;

/// The id in answers of the service of roles.
pub(super) const REQUEST: &str = "00000000-0000-0000-0000-00000000fake";

/// An answer in XML.
pub(super) fn xml(status: u16, body: String) -> Reply {
    Reply::new(status, "text/xml", body)
}

/// A document of Route 53.
pub(super) fn document(status: u16, name: &'static str, parts: Vec<Element>) -> Reply {
    xml(status, Element::list(name, parts).document(NAMESPACE))
}

/// A submitted change.
#[derive(Debug)]
pub(super) struct Submitted {
    pub(super) account: String,
    pub(super) comment: Option<String>,
    pub(super) at: String,
    /// How many calls of `GetChange` say `PENDING` still.
    pub(super) pending: usize,
}

/// Everything that the service holds.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) access: Access,
    pub(super) zones: BTreeMap<String, Zone>,
    pub(super) changes: BTreeMap<String, Submitted>,
    pub(super) health_checks: BTreeSet<String>,
    pub(super) faults: Faults<Fault>,
    pub(super) calls: BTreeMap<String, usize>,
    pub(super) requests: usize,
    /// Most items of a page.
    pub(super) page: usize,
    /// How many requests an account has.
    pub(super) pace: Pace,
    pub(super) form: BatchErrorForm,
    /// How many calls of `GetChange` a new change stays `PENDING`.
    pub(super) pending: usize,
    made: usize,
}

impl Default for Service {
    fn default() -> Self {
        Self {
            access: Access::default(),
            zones: BTreeMap::new(),
            changes: BTreeMap::new(),
            health_checks: BTreeSet::new(),
            faults: Faults::lacking(&[Fault::RateLimited, Fault::Unavailable]),
            calls: BTreeMap::new(),
            requests: 0,
            page: 300,
            pace: Pace::default(),
            form: BatchErrorForm::default(),
            pending: 1,
            made: 0,
        }
    }
}

impl Service {
    /// A number that was not given out before.
    pub(super) fn number(&mut self) -> usize {
        self.made += 1;
        self.made
    }

    pub(super) fn count(&mut self, name: &str) {
        *self.calls.entry(name.to_owned()).or_default() += 1;
    }

    /// The id of the request that is answered: another one each time.
    fn request_id(&self) -> String {
        format!("00000000-0000-4000-8000-{:012x}", self.requests)
    }

    /// Answers a request as it came.
    pub(super) fn serve(&mut self, incoming: Incoming) -> Reply {
        let reply = self.answer(&Request::of(incoming));
        let id = self.request_id();
        reply.with_header("x-amzn-requestid", id)
    }

    pub(super) fn answer(&mut self, request: &Request) -> Reply {
        self.requests += 1;
        let operation = match request.operation() {
            Ok(operation) => operation,
            Err(refusal) => return self.refuse(&refusal, "route53"),
        };
        self.count(operation.name());
        let fault = self.faults.next(operation.name());
        if let Some(reply) = fault.and_then(|fault| self.instead(fault, operation)) {
            return reply;
        }
        let reply = match self.carry_out(request, operation, fault == Some(Fault::RepeatedPage)) {
            Ok(reply) => reply,
            Err(refusal) => self.refuse(&refusal, operation.service()),
        };
        match fault {
            Some(fault) => fault.spoil(reply, || self.refuse(&Refusal::broken(), operation.service())),
            None => reply,
        }
    }

    fn refuse(&self, refusal: &Refusal, service: &str) -> Reply {
        let namespace = if service == "sts" { sts::NAMESPACE } else { NAMESPACE };
        xml(refusal.status, refusal.body(self.form, namespace, &self.request_id()))
    }

    /// What is answered in place of carrying the call out.
    fn instead(&self, fault: Fault, operation: Operation<'_>) -> Option<Reply> {
        let (service, name) = (operation.service(), operation.name());
        let page = "<!DOCTYPE html><html><head><title>Welcome</title></head><body>Please log in<br></body></html>";
        let refusal = match fault {
            Fault::Throttled => Refusal::throttled(),
            Fault::PriorRequestNotComplete => Refusal::prior_request(),
            Fault::Denied => Refusal::denied(service, name, ""),
            Fault::Expired => Refusal::expired_token(),
            Fault::Skewed => {
                let times = ("20000101T000000Z", "20000101T000500Z", "20000101T001000Z");
                let text =
                    format!("Signature expired: {} is now earlier than {} ({} - 5 min.)", times.0, times.1, times.2);
                Refusal::new(403, "SignatureDoesNotMatch", text)
            }
            Fault::Broken => Refusal::broken(),
            other => return other.wordless("text/xml", (200, page)),
        };
        Some(self.refuse(&refusal, service))
    }

    fn carry_out(&mut self, request: &Request, operation: Operation<'_>, repeat: bool) -> Result<Reply, Refusal> {
        request.check_type(operation)?;
        if operation == Operation::AssumeRoleWithWebIdentity {
            return sts::assume_by_token(&mut self.access, &request.form());
        }
        let caller = self.access.caller(request, operation.service())?;
        // *Quotas* in the developer guide: requests per second and account.
        self.pace.take(&caller.account, Instant::now()).map_err(|_| Refusal::throttled())?;
        let account = caller.account.as_str();
        match operation {
            Operation::AssumeRole => sts::assume(&mut self.access, &caller, &request.form()),
            Operation::GetCallerIdentity => Ok(sts::identity(&caller)),
            Operation::AssumeRoleWithWebIdentity => Err(Refusal::broken()),
            Operation::ListHostedZones => self.list_zones(account, request, repeat),
            Operation::ListHostedZonesByName => self.list_zones_by_name(account, request),
            Operation::ListHostedZonesByVpc => self.list_zones_by_vpc(account, request),
            Operation::CreateHostedZone => self.create_zone(account, &request.body),
            Operation::GetHostedZone(id) => self.get_zone(account, id),
            Operation::DeleteHostedZone(id) => self.delete_zone(account, id),
            Operation::ListResourceRecordSets(id) => {
                self.permitted(id, operation.name())?;
                self.list_sets(account, id, request, repeat)
            }
            Operation::ChangeResourceRecordSets(id) => {
                self.permitted(id, operation.name())?;
                self.change_sets(account, id, &request.body)
            }
            Operation::GetChange(id) => self.get_change(account, id),
            Operation::ListTagsForResource(kind, id) => self.list_tags(account, kind, id),
            Operation::ListTagsForResources(kind) => self.list_tags_of_many(account, kind, &request.body),
            Operation::ChangeTagsForResource(kind, id) => self.change_tags(account, kind, id, &request.body),
        }
    }

    /// Policies are read before anything else.
    fn permitted(&self, zone: &str, operation: &str) -> Result<(), Refusal> {
        if !self.zones.get(zone).is_some_and(|zone| zone.forbidden) {
            return Ok(());
        }
        Err(Refusal::denied("route53", operation, &format!(" on resource: arn:aws:route53:::hostedzone/{zone}")))
    }

    /// A zone of the account.
    pub(super) fn zone(&mut self, account: &str, id: &str) -> Result<&mut Zone, Refusal> {
        let zone = self.zones.get_mut(id).ok_or_else(|| Refusal::no_such_zone(id))?;
        if zone.account != account {
            let text = format!("User: arn:aws:iam::{account}:user/fake is not authorized to access this resource");
            return Err(Refusal::new(403, "AccessDenied", text));
        }
        Ok(zone)
    }

    /// Keeps a change for `GetChange`, and says what an answer says of it.
    pub(super) fn submit(&mut self, account: &str, comment: Option<String>) -> Element {
        let id = format!("C{:013}FAKE", self.number());
        let at = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let submitted = Submitted { account: account.to_owned(), comment, at, pending: self.pending };
        let element = submitted.element(&id, "PENDING");
        self.changes.insert(id, submitted);
        element
    }
}

impl Submitted {
    pub(super) fn element(&self, id: &str, status: &str) -> Element {
        let mut parts = vec![
            Element::text("Id", &format!("/change/{id}")),
            Element::text("Status", status),
            Element::text("SubmittedAt", &self.at),
        ];
        parts.extend(self.comment.as_ref().map(|comment| Element::text("Comment", comment)));
        Element::list("ChangeInfo", parts)
    }
}

/// How many items a page may have: what the request asks for, at most `most`.
pub(super) fn page_of(request: &Request, most: usize) -> Result<usize, Refusal> {
    let Some(asked) = request.parameter("maxitems") else { return Ok(most) };
    let asked = asked.parse::<usize>().ok().filter(|asked| *asked > 0);
    asked.map(|asked| asked.min(most)).ok_or_else(|| Refusal::input("maxitems must be a positive number"))
}
