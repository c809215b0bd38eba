//! The way to one server: how a request gets there and an answer comes back, signed with what the caller gives.
//!
//! In: unsigned requests without an id. Out: checked answers. Every copy that is sent gets an id and a signature of its
//! own. Small requests go by UDP, unless TLS is on or UDP was found not to get through; all else, and whatever UDP loses or
//! cuts, by a stream. A stream that is left open is used again within seconds.

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::base::Message;
use domain::base::iana::{Opcode, Rcode};
use tokio::net::{UdpSocket, lookup_host};
use tokio::time::timeout;
use zonewright_core::{DnsName, turn};

use crate::error::ExchangeError;
use crate::stream::{ANSWER, CONNECT, Stream, Tls};
use crate::transfer::{Assembly, Transferred};
use crate::tsig::{Invalid, MaybeSigner, Signing, now};
use crate::wire::{self, Answer};

/// The largest datagram that passes everywhere (DNS flag day 2020).
const UDP_MAX: usize = 1232;
/// How long the answer to a query may take by UDP before a stream is tried; an update waits longer, since it should not
/// arrive twice.
const UDP_ANSWER: Duration = Duration::from_secs(2);
/// Streams that are kept for later.
const KEPT: usize = 2;
/// Requests that wait for their answers on one stream.
const PIPELINE: usize = 500;

/// The way to a server.
#[derive(Debug)]
pub(crate) struct Link {
    host: String,
    port: u16,
    tls: Option<Tls>,
    /// Bytes that a signature adds to a request, at most.
    overhead: usize,
    streams: Mutex<Vec<Stream>>,
    udp_lost: AtomicBool,
    messages: Arc<AtomicU64>,
}

/// A request with its id, ready to be sent once.
#[derive(Debug)]
struct Signed {
    octets: Vec<u8>,
    signing: Option<Signing>,
}

/// An exchange that failed.
#[derive(Debug)]
pub(crate) struct SendFailure {
    pub(crate) fault: ExchangeError,
    /// Whether a copy of the request may have arrived.
    pub(crate) sent: bool,
    /// Whether there was an earlier copy, of which nothing is known.
    pub(crate) repeated: bool,
}

impl From<ExchangeError> for SendFailure {
    fn from(fault: ExchangeError) -> Self {
        Self { sent: fault.was_sent(), fault, repeated: false }
    }
}

impl SendFailure {
    /// With what is known of an earlier copy: whether it was sent.
    fn after(self, sent: bool) -> Self {
        Self { sent: self.sent || sent, repeated: self.repeated || sent, ..self }
    }
}

impl Link {
    /// The way to a host, without a connection. `overhead` is what a signature may add to a request, in bytes; `messages` counts
    /// the requests that are sent.
    pub(crate) fn new(host: String, port: u16, tls: Option<Tls>, overhead: usize, messages: Arc<AtomicU64>) -> Self {
        let (streams, udp_lost) = (Mutex::default(), AtomicBool::new(false));
        Self { host, port, tls, overhead, streams, udp_lost, messages }
    }

    /// Host and port for messages.
    pub(crate) fn label(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// The host as it was given: a name or an address.
    #[cfg(feature = "gss-tsig")]
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Sends a request that `with` signs, and returns the answer to it, whatever its response code.
    pub(crate) async fn exchange(&self, request: &[u8], with: MaybeSigner<'_>) -> Result<Answer, SendFailure> {
        let (mut sent, mut lost) = (false, false);
        if self.takes_udp(request, with) {
            match self.by_udp(request, with).await {
                Ok(answer) if !answer.is_truncated() => return Ok(answer),
                Ok(_) => sent = true,
                Err(ExchangeError::Timeout(_)) => (sent, lost) = (true, true),
                Err(ExchangeError::Connect(_)) => {}
                Err(fault) => return Err(fault.into()),
            }
        }
        let mut answer = self.by_stream(request, with).await.map_err(|failure| failure.after(sent))?;
        // The next request need not wait again for what does not get through.
        self.udp_lost.fetch_or(lost, Ordering::Relaxed);
        answer.repeated |= sent;
        Ok(answer)
    }

    fn takes_udp(&self, request: &[u8], with: MaybeSigner<'_>) -> bool {
        let fits = request.len() + self.overhead <= UDP_MAX;
        let allowed = with.is_none_or(|signer| signer.allows_datagrams());
        fits && allowed && self.tls.is_none() && !self.udp_lost.load(Ordering::Relaxed)
    }

    async fn by_udp(&self, request: &[u8], with: MaybeSigner<'_>) -> Result<Answer, ExchangeError> {
        let address = *self.addresses().await?.first().ok_or(ExchangeError::NoAddress)?;
        let local: SocketAddr =
            if address.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
        let socket = UdpSocket::bind(local).await.map_err(ExchangeError::Connect)?;
        socket.connect(address).await.map_err(ExchangeError::Connect)?;
        let mut signed = Signed::new(request, rand::random(), with)?;
        socket.send(&signed.octets).await.map_err(ExchangeError::Connect)?;
        self.count();
        let patience = if is_query(request) { UDP_ANSWER } else { ANSWER };
        timeout(patience, receive(&socket, &mut signed)).await.unwrap_or(Err(ExchangeError::Timeout(patience)))
    }

    async fn by_stream(&self, request: &[u8], with: MaybeSigner<'_>) -> Result<Answer, SendFailure> {
        let mut repeated = false;
        if let Some(stream) = self.kept() {
            match self.on_stream(stream, request, with).await {
                // The server closed it just now: that is no answer, and one more try is worth it.
                Err(ExchangeError::Cut(_)) => repeated = true,
                done => return done.map_err(SendFailure::from),
            }
        }
        let late = |fault: ExchangeError| SendFailure::from(fault).after(repeated);
        let stream = self.connect().await.map_err(late)?;
        let mut answer = self.on_stream(stream, request, with).await.map_err(late)?;
        answer.repeated = repeated;
        Ok(answer)
    }

    async fn on_stream(
        &self,
        mut stream: Stream,
        request: &[u8],
        with: MaybeSigner<'_>,
    ) -> Result<Answer, ExchangeError> {
        let mut signed = Signed::new(request, rand::random(), with)?;
        stream.send(&signed.octets).await?;
        self.count();
        let answer = signed.check(stream.receive().await?)?;
        self.keep(stream);
        Ok(answer)
    }

    /// Sends many queries over one stream at once and returns their answers in the order of the queries. A server that
    /// closes the stream early is asked the rest on another one, as long as it answers anything.
    pub(crate) async fn exchange_all(
        &self,
        queries: &[Vec<u8>],
        with: MaybeSigner<'_>,
    ) -> Result<Vec<Answer>, ExchangeError> {
        let mut answers: Vec<Option<Answer>> = Vec::new();
        answers.resize_with(queries.len(), || None);
        loop {
            let open: Vec<usize> = answers.iter().enumerate().filter(|(_, a)| a.is_none()).map(|(i, _)| i).collect();
            let Some(chunk) = open.chunks(PIPELINE).next() else { break };
            let ended = self.pipeline(queries, chunk, &mut answers, with).await;
            let progress = chunk.iter().any(|index| answers.get(*index).is_some_and(Option::is_some));
            match ended {
                Err(ExchangeError::Cut(_)) if progress => {}
                ended => ended?,
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// Asks the queries at the positions `chunk`, and puts each answer at the same position of `answers`.
    async fn pipeline(
        &self,
        queries: &[Vec<u8>],
        chunk: &[usize],
        answers: &mut [Option<Answer>],
        with: MaybeSigner<'_>,
    ) -> Result<(), ExchangeError> {
        let stream = match self.kept() {
            Some(stream) => stream,
            None => self.connect().await?,
        };
        let (mut receiver, mut sender) = stream.split();
        let first: u16 = rand::random();
        let ids = (0..=u16::MAX).map(|i| first.wrapping_add(i));
        let asked = ids.zip(chunk).filter_map(|(id, index)| Some((id, *index, queries.get(*index)?)));
        let (mut waiting, mut requests) = (HashMap::new(), Vec::new());
        for (id, index, query) in asked {
            let signed = Signed::new(query, id, with)?;
            requests.push(signed.octets.clone());
            waiting.insert(id, (index, signed));
        }
        let sending = async {
            for request in &requests {
                sender.send(request).await?;
                self.count();
            }
            // What matters is the end of the answers.
            std::future::pending::<Result<(), ExchangeError>>().await
        };
        let receiving = async {
            while !waiting.is_empty() {
                let octets = receiver.receive().await?;
                let id = octets.first_chunk().map(|id| u16::from_be_bytes(*id)).ok_or(ExchangeError::Malformed)?;
                let (index, mut signed) = waiting.remove(&id).ok_or(ExchangeError::Mismatch)?;
                let answer = signed.check(octets)?;
                if let Some(slot) = answers.get_mut(index) {
                    *slot = Some(answer);
                }
            }
            Ok::<(), ExchangeError>(())
        };
        tokio::select! { biased; done = receiving => done?, broken = sending => broken? }
        self.keep(Stream::join(receiver, sender));
        Ok(())
    }

    /// Transfers a zone, or what changed in it since a serial number, over a stream of its own. Returns also a name outside of the zone
    /// whose records were left out, if there was any.
    pub(crate) async fn transfer(
        &self,
        zone: &DnsName,
        since: Option<u32>,
        with: MaybeSigner<'_>,
    ) -> Result<(Transferred, Option<DnsName>), ExchangeError> {
        let request = since.map_or_else(|| wire::axfr(zone), |serial| wire::ixfr(zone, serial));
        let mut stream = self.connect().await?;
        let mut signed = Signed::new(&request, rand::random(), with)?;
        stream.send(&signed.octets).await?;
        self.count();
        let mut assembly = Assembly::new(zone, since);
        loop {
            let answer = signed.check(stream.receive().await?)?;
            if answer.rcode() != Rcode::NOERROR {
                return Err(ExchangeError::Rcode { rcode: answer.rcode(), trusted: answer.trusted });
            }
            if let Some(transferred) = assembly.message(answer.records()?)? {
                signed.signing.as_ref().map_or(Ok(()), Signing::finish)?;
                self.keep(stream);
                return Ok((transferred, assembly.outside()));
            }
            turn::progress();
        }
    }

    /// Where it can be reached by a plain stream; `None` with TLS.
    #[cfg(feature = "gss-tsig")]
    pub(crate) async fn open_address(&self) -> Option<SocketAddr> {
        if self.tls.is_some() {
            return None;
        }
        self.addresses().await.ok()?.first().copied()
    }

    /// Sends a message as it is over a stream, and returns the next one that arrives there, unchecked.
    #[cfg(feature = "gss-tsig")]
    pub(crate) async fn converse(&self, message: &[u8]) -> Result<Vec<u8>, ExchangeError> {
        let mut stream = self.connect().await?;
        stream.send(message).await?;
        self.count();
        let answer = stream.receive().await?;
        self.keep(stream);
        Ok(answer)
    }

    async fn addresses(&self) -> Result<Vec<SocketAddr>, ExchangeError> {
        let looking = timeout(CONNECT, lookup_host((self.host.as_str(), self.port)));
        let found =
            looking.await.map_err(|_| ExchangeError::ResolveTimeout(CONNECT))?.map_err(ExchangeError::Resolve)?;
        let all: Vec<SocketAddr> = found.collect();
        if all.is_empty() { Err(ExchangeError::NoAddress) } else { Ok(all) }
    }

    async fn connect(&self) -> Result<Stream, ExchangeError> {
        Stream::connect(&self.addresses().await?, self.tls.as_ref()).await
    }

    fn kept(&self) -> Option<Stream> {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(mut stream) = streams.pop() {
            if stream.is_fresh() {
                return Some(stream);
            }
        }
        None
    }

    fn keep(&self, stream: Stream) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.push(stream);
        if streams.len() > KEPT {
            streams.remove(0);
        }
    }

    fn count(&self) {
        self.messages.fetch_add(1, Ordering::Relaxed);
    }
}

/// Waits for the answer among whatever arrives. What only claims to be one is passed over, since anybody can send it; if
/// nothing better comes, the time runs out.
async fn receive(socket: &UdpSocket, signed: &mut Signed) -> Result<Answer, ExchangeError> {
    let mut buffer = vec![0; usize::from(u16::MAX)];
    loop {
        let length = socket.recv(&mut buffer).await.map_err(ExchangeError::Connect)?;
        match signed.check(buffer.get(..length).unwrap_or_default().to_vec()) {
            Err(ExchangeError::Mismatch | ExchangeError::Malformed) => {}
            Err(ExchangeError::Signature(invalid)) if !matches!(invalid, Invalid::Objection { .. }) => {}
            checked => return checked,
        }
    }
}

/// Whether a second copy of the request does no harm: it is a query.
pub(crate) fn is_query(request: &[u8]) -> bool {
    Message::from_slice(request).is_ok_and(|message| message.header().opcode() == Opcode::QUERY)
}

impl Signed {
    /// A copy of `request` with this id and a signature of its own.
    fn new(request: &[u8], id: u16, with: MaybeSigner<'_>) -> Result<Self, Invalid> {
        let mut octets = request.to_vec();
        octets.splice(..2.min(octets.len()), id.to_be_bytes());
        let signing = with.map(|signer| Signing::sign(Arc::clone(signer), &mut octets, now())).transpose()?;
        Ok(Self { octets, signing })
    }

    /// Checks that `octets` answer this request, and their signature. An unsigned refusal passes as such: servers cannot
    /// sign for a key that they do not know, and PowerDNS signs no refusal at all. What became of an update is read back.
    fn check(&mut self, octets: Vec<u8>) -> Result<Answer, ExchangeError> {
        let verdict = self.signing.as_mut().map_or(Ok(true), |signing| signing.check(&octets, now()));
        let answer = Answer::new(octets, verdict == Ok(true))?;
        if !answer.answers(&self.octets) {
            return Err(ExchangeError::Mismatch);
        }
        match verdict {
            Err(Invalid::Unsigned) if answer.is_denial() => Ok(answer),
            Err(invalid) => Err(ExchangeError::Signature(invalid)),
            Ok(_) => Ok(answer),
        }
    }
}
