//! Everything that the service holds, and what becomes of one request.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::{Value, json};

use super::access::{Access, Caller};
use super::refusal::{ErrorForm, Refusal};
use super::regions;
use super::request::{Operation, Request, Target};
use super::zone::Zone;
use super::zones;
use crate::faults::{Fault, Faults};
use crate::http::Incoming;
use crate::pace::Pace;
use crate::reply::Reply;

/// An answer before it is written.
#[derive(Debug)]
pub(super) struct Answer {
    status: u16,
    result: Value,
    info: Option<Value>,
    bare: bool,
}

impl Answer {
    pub(super) fn one(result: Value) -> Self {
        Self { status: 200, result, info: None, bare: false }
    }

    pub(super) fn listing(items: Vec<Value>, info: Value) -> Self {
        Self { info: Some(info), ..Self::one(items.into()) }
    }

    pub(super) fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// An answer without the envelope that the others have.
    pub(super) fn bare(result: Value) -> Self {
        Self { bare: true, ..Self::one(result) }
    }

    fn reply(self) -> Reply {
        if self.bare {
            return written(self.status, &self.result);
        }
        let mut body = json!({ "result": self.result, "success": true, "errors": [], "messages": [] });
        if let Some(info) = self.info {
            body["result_info"] = info;
        }
        written(self.status, &body)
    }
}

fn written(status: u16, body: &Value) -> Reply {
    Reply::new(status, "application/json", body.to_string())
}

/// Everything that the service holds.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) access: Access,
    pub(super) zones: BTreeMap<String, Zone>,
    pub(super) faults: Faults<Fault>,
    pub(super) calls: BTreeMap<String, usize>,
    pub(super) requests: usize,
    /// Most items of a page, whatever a request asks for.
    pub(super) page: Option<usize>,
    /// How many requests a caller has.
    pub(super) pace: Pace,
    /// What a refused caller has to wait where the pace does not say it, in seconds.
    pub(super) retry_after: u64,
    pub(super) form: ErrorForm,
    pub(super) made: usize,
}

impl Default for Service {
    fn default() -> Self {
        Self {
            access: Access::default(),
            zones: BTreeMap::new(),
            faults: Faults::lacking(&[Fault::RateLimited, Fault::PriorRequestNotComplete, Fault::Skewed]),
            calls: BTreeMap::new(),
            requests: 0,
            page: None,
            pace: Pace::default(),
            retry_after: 1,
            form: ErrorForm::default(),
            made: 0,
        }
    }
}

impl Service {
    /// Answers a request as it came.
    pub(super) fn serve(&mut self, incoming: Incoming) -> Reply {
        self.answer(&Request::of(incoming)).with_header("cf-ray", "0000000000000fac-LHR".to_owned())
    }

    pub(super) fn answer(&mut self, request: &Request) -> Reply {
        self.requests += 1;
        let target = match request.target() {
            Ok(target) => target,
            Err(refusal) => return self.refuse(&refusal),
        };
        let name = format!("{:?}", target.operation);
        *self.calls.entry(name.clone()).or_default() += 1;
        let fault = self.faults.next(&name);
        if let Some(reply) = fault.and_then(|fault| self.instead(fault)) {
            return reply;
        }
        let reply = match self.carry_out(request, &target, fault == Some(Fault::RepeatedPage)) {
            Ok(answer) => answer.reply(),
            Err(refusal) => self.refuse(&refusal),
        };
        match fault {
            Some(fault) => fault.spoil(reply, || self.refuse(&Refusal::broken())),
            None => reply,
        }
    }

    fn refuse(&self, refusal: &Refusal) -> Reply {
        let reply = written(refusal.status, &refusal.envelope(self.form));
        match refusal.retry_after {
            Some(seconds) => reply.with_header("retry-after", seconds.to_string()),
            None => reply,
        }
    }

    /// What is answered in place of carrying the call out.
    fn instead(&self, fault: Fault) -> Option<Reply> {
        let page =
            "<!DOCTYPE html><html><head><title>520: Web server is returning an unknown error</title></head></html>";
        let refusal = match fault {
            Fault::Throttled => Refusal::throttled(self.retry_after),
            Fault::Denied => Refusal::not_allowed(),
            Fault::Expired => Refusal::invalid_token(),
            Fault::Broken => Refusal::broken(),
            Fault::Unavailable => Refusal::unavailable(),
            other => return other.wordless("application/json", (520, page)),
        };
        Some(self.refuse(&refusal))
    }

    fn carry_out(&mut self, request: &Request, target: &Target, repeat: bool) -> Result<Answer, Refusal> {
        let caller = self.caller(request, target.operation)?;
        // *Rate limits* in the documentation of the API: of a user, whichever of its tokens it is.
        self.pace.take(&caller.id, Instant::now()).map_err(|wait| Refusal::throttled(wait.as_secs() + 1))?;
        match target.operation {
            Operation::ListZones => self.list_zones(&caller, request, repeat),
            Operation::GetZone => self.get_zone(&caller, target, &request.path()),
            Operation::ListRecords => self.list_records(&caller, target, request, repeat),
            Operation::GetRecord
            | Operation::CreateRecord
            | Operation::ReplaceRecord
            | Operation::PatchRecord
            | Operation::DeleteRecord => self.one_record(&caller, target, request),
            Operation::BatchRecords => self.batch(&caller, target, request),
            Operation::ListCustomHostnames => self.list_custom_hostnames(&caller, target, request, repeat),
            Operation::GetCustomHostname
            | Operation::CreateCustomHostname
            | Operation::PatchCustomHostname
            | Operation::DeleteCustomHostname => self.one_custom_hostname(&caller, target, request),
            Operation::ListRegionalHostnames => self.list_regional_hostnames(&caller, target, request),
            Operation::GetRegionalHostname
            | Operation::CreateRegionalHostname
            | Operation::PatchRegionalHostname
            | Operation::DeleteRegionalHostname => self.one_regional_hostname(&caller, target, request),
            Operation::ListRegions => regions::list(&caller, target, &request.path()),
            Operation::VerifyToken => Ok(zones::verify(&caller)),
        }
    }

    fn caller(&self, request: &Request, operation: Operation) -> Result<Caller, Refusal> {
        let verify = operation == Operation::VerifyToken;
        match self.access.caller(request) {
            Ok(caller) if caller.expired && !verify => Err(Refusal::invalid_token()),
            Err(refusal) if refusal == Refusal::invalid_token() && verify => {
                Err(Refusal::new(401, 1000, "Invalid API Token"))
            }
            outcome => outcome,
        }
    }
}
