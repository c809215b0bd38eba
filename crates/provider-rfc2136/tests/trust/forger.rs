//! Somebody between the provider and a server, who answers updates in the server's name and without its key.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

/// UPDATE in the header of a message, and the bit that says that it is an answer (RFC 1035 4.1.1).
const UPDATE: u8 = 5;
const ANSWER: u8 = 0x80;

/// A relay in front of a server, UDP and TCP on one port. Every update is answered with an unsigned refusal.
pub(super) struct Forger {
    pub(super) address: SocketAddr,
    passes: Arc<AtomicBool>,
    held: Arc<Mutex<Option<Vec<Vec<u8>>>>>,
    server: SocketAddr,
}

impl Forger {
    /// Answers updates with the response code `rcode`; they do not reach the server.
    pub(super) async fn start(server: SocketAddr, rcode: u8) -> Self {
        let (tcp, udp) = loop {
            let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
            if let Ok(udp) = UdpSocket::bind(tcp.local_addr().unwrap()).await {
                break (tcp, udp);
            }
        };
        let (address, passes) = (tcp.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
        let held = Arc::default();
        tokio::spawn(datagrams(udp, server, rcode, passes.clone(), Arc::clone(&held)));
        let forged = passes.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = tcp.accept().await {
                tokio::spawn(stream(client, server, rcode, forged.clone()));
            }
        });
        Self { address, passes, held, server }
    }

    /// From now on updates by UDP are kept, and not answered.
    pub(super) fn hold(&self) {
        *self.held.lock().unwrap() = Some(Vec::new());
    }

    /// Lets go what was kept, and waits until the server has answered it.
    pub(super) async fn let_go(&self) {
        let held = self.held.lock().unwrap().take().unwrap();
        assert!(!held.is_empty(), "nothing came by UDP");
        for request in held {
            let upstream = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            upstream.send_to(&request, self.server).await.unwrap();
            upstream.recv(&mut [0; 512]).await.unwrap();
        }
    }

    /// From now on updates do reach the server, and the answer is forged all the same.
    pub(super) fn pass(&self) {
        self.passes.store(true, Ordering::SeqCst);
    }
}

/// The unsigned answer to an update with this response code; `None` to anything else.
fn forged(request: &[u8], rcode: u8) -> Option<Vec<u8>> {
    let id = request.get(..2)?;
    let is_update = request.get(2)? >> 3 & 15 == UPDATE;
    is_update.then(|| [id, &[ANSWER | UPDATE << 3, rcode, 0, 0, 0, 0, 0, 0, 0, 0]].concat())
}

async fn datagrams(
    socket: UdpSocket,
    server: SocketAddr,
    rcode: u8,
    passes: Arc<AtomicBool>,
    held: Arc<Mutex<Option<Vec<Vec<u8>>>>>,
) {
    let mut buffer = vec![0; 65_535];
    while let Ok((length, client)) = socket.recv_from(&mut buffer).await {
        let request = buffer[..length].to_vec();
        let lie = forged(&request, rcode);
        if lie.is_some()
            && let Some(held) = held.lock().unwrap().as_mut()
        {
            held.push(request);
            continue;
        }
        if let Some(lie) = lie.as_ref().filter(|_| !passes.load(Ordering::SeqCst)) {
            socket.send_to(lie, client).await.unwrap();
            continue;
        }
        let upstream = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        upstream.send_to(&request, server).await.unwrap();
        let length = upstream.recv(&mut buffer).await.unwrap();
        let answer = lie.unwrap_or_else(|| buffer[..length].to_vec());
        socket.send_to(&answer, client).await.unwrap();
    }
}

async fn stream(mut client: TcpStream, server: SocketAddr, rcode: u8, passes: Arc<AtomicBool>) {
    let mut upstream = TcpStream::connect(server).await.unwrap();
    while let Some(request) = framed(&mut client).await {
        let lie = forged(&request, rcode);
        if lie.is_none() || passes.load(Ordering::SeqCst) {
            send(&mut upstream, &request).await;
        }
        let answer = match lie {
            Some(lie) => {
                if passes.load(Ordering::SeqCst) {
                    framed(&mut upstream).await;
                }
                lie
            }
            // One answer for each question is enough here: no zone is large.
            None => framed(&mut upstream).await.unwrap(),
        };
        send(&mut client, &answer).await;
    }
}

async fn framed(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let length = stream.read_u16().await.ok()?;
    let mut message = vec![0; usize::from(length)];
    stream.read_exact(&mut message).await.ok()?;
    Some(message)
}

async fn send(stream: &mut TcpStream, message: &[u8]) {
    stream.write_u16(u16::try_from(message.len()).unwrap()).await.unwrap();
    stream.write_all(message).await.unwrap();
}
