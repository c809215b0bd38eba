//! Questions to name servers: what `zonewright explain` asks those of a zone whose provider is a service.
//!
//! In come host names of servers and a name; out comes what the first of them answers that knows the zone. Host names are looked up
//! by the resolver of the operating system. UDP first, TCP where an answer is cut; nothing is asked twice.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use async_trait::async_trait;
use domain::base::iana::{Class, Rcode, Rtype};
use domain::base::rdata::ComposeRecordData;
use domain::base::record::ParsedRecord;
use domain::base::{Message, MessageBuilder, Name};
use domain::rdata::AllRecordData;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket, lookup_host};
use tokio::time::timeout;
use zonewright_core::provider::Record;
use zonewright_core::{DnsName, RData, RecordType, Ttl};
use zonewright_engine::{NameServers, ServerAnswer};

/// How long one server is waited for.
const PATIENCE: Duration = Duration::from_millis(900);

/// Room for an answer by UDP; none is longer without EDNS, which is not used.
const DATAGRAM: usize = 4096;

/// Name servers at a port, 53 but in tests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SystemNameServers {
    pub(crate) port: u16,
}

impl SystemNameServers {
    /// Those of the internet.
    pub(crate) const DNS: Self = Self { port: 53 };

    async fn one(self, server: &DnsName, question: &Question) -> Result<Vec<Record>, String> {
        let host = server.to_string();
        let looked_up = timeout(PATIENCE, lookup_host((host.as_str(), self.port))).await;
        let found = looked_up.map_err(|_| "its address cannot be found in time".to_owned())?;
        let mut found = found.map_err(|error| format!("its address cannot be found: {error}"))?;
        let address = found.next().ok_or("it has no address")?;
        let answer = timeout(PATIENCE, question.put_to(address)).await.map_err(|_| "no answer in time".to_owned())?;
        records(&answer.map_err(|error| error.to_string())?)
    }
}

#[async_trait]
impl NameServers for SystemNameServers {
    async fn ask(&self, servers: &[DnsName], name: &DnsName, rtype: RecordType) -> Result<ServerAnswer, String> {
        let question = Question::new(name, rtype).ok_or("the type has no number")?;
        let mut failed = Vec::new();
        for server in servers {
            match self.one(server, &question).await {
                Ok(records) => return Ok(ServerAnswer { server: server.clone(), records }),
                Err(why) => failed.push(format!("{server}: {why}")),
            }
        }
        Err(failed.join("; "))
    }
}

/// A message with one question.
struct Question {
    message: Message<Vec<u8>>,
}

impl Question {
    fn new(name: &DnsName, rtype: RecordType) -> Option<Self> {
        let name = Name::from_octets(name.to_wire()).ok()?;
        let mut builder = MessageBuilder::new_vec();
        // A new id for each question: an answer that comes late is to another one.
        builder.header_mut().set_id(rand::random());
        let mut builder = builder.question();
        builder.push((name, Rtype::from_int(rtype.number()?))).ok()?;
        Some(Self { message: builder.into_message() })
    }

    async fn put_to(&self, server: SocketAddr) -> io::Result<Message<Vec<u8>>> {
        let answer = self.by_datagram(server).await?;
        if answer.header().tc() { self.by_stream(server).await } else { Ok(answer) }
    }

    async fn by_datagram(&self, server: SocketAddr) -> io::Result<Message<Vec<u8>>> {
        let any: SocketAddr =
            if server.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
        let socket = UdpSocket::bind(any).await?;
        socket.connect(server).await?;
        socket.send(self.message.as_slice()).await?;
        let mut octets = vec![0; DATAGRAM];
        loop {
            let length = socket.recv(&mut octets).await?;
            let received = octets.get(..length).unwrap_or_default().to_vec();
            // What is no answer to this question is as good as not received.
            if let Some(answer) = self.answer(received) {
                return Ok(answer);
            }
        }
    }

    async fn by_stream(&self, server: SocketAddr) -> io::Result<Message<Vec<u8>>> {
        let mut stream = TcpStream::connect(server).await?;
        let length = u16::try_from(self.message.as_slice().len()).unwrap_or(u16::MAX);
        stream.write_all(&[&length.to_be_bytes(), self.message.as_slice()].concat()).await?;
        let mut octets = vec![0; usize::from(stream.read_u16().await?)];
        stream.read_exact(&mut octets).await?;
        self.answer(octets).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not an answer to the question"))
    }

    fn answer(&self, octets: Vec<u8>) -> Option<Message<Vec<u8>>> {
        Message::from_octets(octets).ok().filter(|answer| answer.is_answer(&self.message))
    }
}

/// The records of an answer that comes from the zone.
fn records(answer: &Message<Vec<u8>>) -> Result<Vec<Record>, String> {
    match answer.header().rcode() {
        Rcode::NOERROR | Rcode::NXDOMAIN if answer.header().aa() => {}
        Rcode::NOERROR | Rcode::NXDOMAIN => return Err("it does not serve the zone".to_owned()),
        other => return Err(format!("it answers {other}")),
    }
    let malformed = || "it answers with a malformed message".to_owned();
    let section = answer.answer().map_err(|_| malformed())?;
    let records = section.filter(|record| record.as_ref().is_ok_and(|record| record.class() == Class::IN));
    records.map(|record| record.ok().as_ref().and_then(read).ok_or_else(malformed)).collect()
}

/// A record in our own form.
fn read(record: &ParsedRecord<'_, Vec<u8>>) -> Option<Record> {
    use domain::base::name::ToLabelIter as _;

    let owner = record.owner();
    let labels = owner.iter_labels().filter(|label| !label.is_root()).map(AsRef::as_ref);
    let name = DnsName::from_raw_labels(labels).ok()?;
    let typed = record.to_any_record::<AllRecordData<_, _>>().ok()?;
    let mut octets = Vec::new();
    typed.data().compose_rdata(&mut octets).ok()?;
    let data = RData::from_wire(RecordType::from_number(record.rtype().to_int()), &octets).ok()?;
    Some(Record { name, ttl: Ttl::from_wire(record.ttl().as_secs()), data })
}

#[cfg(test)]
#[path = "name_servers_tests.rs"]
mod tests;
