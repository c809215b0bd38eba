//! A man in the middle: passes streams on, remembers what was said, and changes answers.
#![allow(unreachable_pub, reason = "only tests are compiled with this")]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What a man in the middle does to the answers of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgery {
    None,
    /// The signature goes, the rest stays.
    Unsigned(u8),
    /// One bit of the code is another.
    OtherCode(u8),
}

/// Opcode of a negotiation.
pub const QUERY: u8 = 0;
/// Opcode of an update.
pub const UPDATE: u8 = 5;

/// A man in the middle of streams.
pub struct Relay {
    pub address: SocketAddr,
    forgery: Arc<Mutex<Forgery>>,
    heard: Arc<Mutex<Vec<Heard>>>,
}

/// A request and the answer to it, each with its length before it.
pub type Heard = (Vec<u8>, Vec<u8>);

impl Relay {
    pub async fn start(upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (forgery, heard) = (Arc::new(Mutex::new(Forgery::None)), Arc::default());
        let shared = (Arc::clone(&forgery), Arc::clone(&heard));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (forgery, heard) = shared.clone();
                tokio::spawn(pass(client, upstream, forgery, heard));
            }
        });
        Self { address, forgery, heard }
    }

    /// What has been said so far.
    pub fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    pub fn set(&self, forgery: Forgery) {
        *self.forgery.lock().unwrap() = forgery;
    }
}

async fn pass(
    mut client: TcpStream,
    upstream: SocketAddr,
    forgery: Arc<Mutex<Forgery>>,
    heard: Arc<Mutex<Vec<Heard>>>,
) {
    let mut server = TcpStream::connect(upstream).await.unwrap();
    while let Some(request) = message(&mut client).await {
        server.write_all(&request).await.unwrap();
        let Some(mut answer) = message(&mut server).await else { return };
        heard.lock().unwrap().push((request, answer.clone()));
        let forgery = *forgery.lock().unwrap();
        forge(&mut answer, forgery);
        let _ = client.write_all(&answer).await;
    }
}

/// A message with its length before it.
async fn message(stream: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
    let length = stream.read_u16().await.ok()?;
    let mut message = vec![0; usize::from(length)];
    stream.read_exact(&mut message).await.ok()?;
    Some([&length.to_be_bytes()[..], &message].concat())
}

fn forge(answer: &mut [u8], forgery: Forgery) {
    let opcode = answer[4] >> 3 & 15;
    match forgery {
        // The signature is the only additional record.
        Forgery::Unsigned(of) if of == opcode => answer[12..14].fill(0),
        // After the code stand six octets.
        Forgery::OtherCode(of) if of == opcode => answer[answer.len() - 7] ^= 1,
        _ => {}
    }
}
