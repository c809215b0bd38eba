//! The server: questions over UDP and TCP in, messages out.
//!
//! It answers queries and, for clients on this machine, zone transfers (RFC 5936) as an export. Everything else is not
//! implemented: changes come through the provider. What must hold: an answer is made from one state of the zones.

use std::sync::Arc;

use hickory_server::net::runtime::Time;
use hickory_server::net::xfer::Protocol;
use hickory_server::proto::op::{Edns, Header, HeaderCounts, MessageType, Metadata, OpCode, ResponseCode};
use hickory_server::proto::rr::{DNSClass, Record, RecordType as WireType};
use hickory_server::server::{Request, RequestHandler, ResponseHandler, ResponseInfo};
use hickory_server::zone_handler::MessageResponseBuilder;
use zonewright_core::{DnsName, RecordType};

use crate::answer::{self, Code, Found, QueryType, Reply};
use crate::message;
use crate::state::State;

/// Largest answer over UDP, whatever the client offers: what passes everywhere without fragments (DNS flag day 2020).
const UDP_SIZE: u16 = 1232;

/// Octets of records in one message of a transfer; the limit of a message is 65,535.
const TRANSFER_SIZE: usize = 32_000;

/// Answers questions from the state.
pub(crate) struct Handler(pub(crate) Arc<State>);

/// One message to send.
#[derive(Default)]
struct Message {
    code: ResponseCode,
    authoritative: bool,
    sections: [Vec<Record>; 3],
}

impl Message {
    fn code(code: ResponseCode) -> Self {
        Self { code, ..Self::default() }
    }
}

#[async_trait::async_trait]
impl RequestHandler for Handler {
    async fn handle_request<R: ResponseHandler, T: Time>(&self, request: &Request, mut handle: R) -> ResponseInfo {
        let edns = request.edns.as_ref().map(own_edns);
        let mut last = failed(request);
        for message in self.messages(request) {
            let mut metadata = Metadata::response_from_request(&request.metadata);
            metadata.response_code = message.code;
            metadata.authoritative = message.authoritative;
            let [answer, authority, additional] = &message.sections;
            let builder = MessageResponseBuilder::new(&request.queries, edns.as_ref());
            match handle.send_response(builder.build(metadata, answer, authority, [], additional)).await {
                Ok(info) => last = info,
                Err(error) => {
                    tracing::debug!(client = %request.src(), %error, "cannot answer");
                    return last;
                }
            }
        }
        last
    }
}

impl Handler {
    fn messages(&self, request: &Request) -> Vec<Message> {
        if request.metadata.op_code != OpCode::Query {
            return vec![Message::code(ResponseCode::NotImp)];
        }
        if request.edns.as_ref().is_some_and(|edns| edns.version() > 0) {
            return vec![Message::code(ResponseCode::BADVERS)];
        }
        let Ok(info) = request.request_info() else { return vec![Message::code(ResponseCode::FormErr)] };
        let question = info.query.original();
        let Some(name) = message::from_wire_name(question.name()) else {
            return vec![Message::code(ResponseCode::FormErr)];
        };
        if !matches!(question.query_class(), DNSClass::IN | DNSClass::ANY) {
            return vec![Message::code(ResponseCode::Refused)];
        }
        self.0.count(|calls| calls.queries += 1);
        match question.query_type() {
            WireType::AXFR | WireType::IXFR => self.transfer(request, &name),
            wire => {
                let reply = self.0.look(|zones| answer::answer(|name| zones.find(name), &name, wanted(wire)));
                vec![message(reply, (&name, question.name()))]
            }
        }
    }

    /// The whole zone in as many messages as it needs. A question for the difference gets the whole too (RFC 1995 4).
    fn transfer(&self, request: &Request, name: &DnsName) -> Vec<Message> {
        if request.protocol() != Protocol::Tcp || !request.src().ip().to_canonical().is_loopback() {
            return vec![Message::code(ResponseCode::Refused)];
        }
        let sets = self.0.look(|zones| match zones.find(name) {
            Found::Zone(zone) if zone.apex == *name => {
                let soa = zone.soa.record_set(&zone.apex);
                let inner = zone.sets().cloned();
                Ok(std::iter::once(soa.clone()).chain(inner).chain([soa]).collect::<Vec<_>>())
            }
            Found::Zone(_) | Found::Nothing => Err(ResponseCode::NotAuth),
            Found::Broken => Err(ResponseCode::ServFail),
        });
        match sets {
            Ok(sets) => chunks(message::records(&sets, None)),
            Err(code) => vec![Message::code(code)],
        }
    }
}

fn chunks(records: Vec<Record>) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    let mut room = 0;
    for record in records {
        let size = message::size(&record);
        if size > room {
            messages.push(Message { authoritative: true, ..Message::default() });
            room = TRANSFER_SIZE.max(size);
        }
        room -= size;
        if let Some(message) = messages.last_mut() {
            message.sections[0].push(record);
        }
    }
    messages
}

fn message(reply: Reply, question: (&DnsName, &hickory_server::proto::rr::Name)) -> Message {
    let code = match reply.code {
        Code::NoError => ResponseCode::NoError,
        Code::NxDomain => ResponseCode::NXDomain,
        Code::YxDomain => ResponseCode::YXDomain,
        Code::Refused => ResponseCode::Refused,
        Code::ServFail => ResponseCode::ServFail,
    };
    let sections =
        [reply.answer, reply.authority, reply.additional].map(|sets| message::records(&sets, Some(question)));
    Message { code, authoritative: reply.authoritative, sections }
}

fn wanted(wire: WireType) -> QueryType {
    match wire {
        WireType::ANY => QueryType::Any,
        other => QueryType::Type(RecordType::from_number(u16::from(other))),
    }
}

/// Our side of EDNS (RFC 6891 6.1): the payload is what this answer may have.
fn own_edns(theirs: &Edns) -> Edns {
    let mut edns = Edns::new();
    edns.set_max_payload(theirs.max_payload().clamp(512, UDP_SIZE));
    edns.set_dnssec_ok(theirs.flags().dnssec_ok);
    if theirs.version() > 0 {
        edns.set_rcode_high(ResponseCode::BADVERS.high());
    }
    edns
}

fn failed(request: &Request) -> ResponseInfo {
    let mut metadata = Metadata::new(request.metadata.id, MessageType::Response, request.metadata.op_code);
    metadata.response_code = ResponseCode::ServFail;
    ResponseInfo::from(Header { metadata, counts: HeaderCounts::default() })
}
