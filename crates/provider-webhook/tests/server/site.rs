//! A server in front of zones, and a caller that speaks plain HTTP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use zonewright_core::capability::{Capability, Preconditions};
use zonewright_core::change::{Group, Outcome};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::interpret::Interpretation;
use zonewright_core::options::{OptionReader, OptionTable};
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::zone::{InstanceId, ZoneId};
use zonewright_core::{DnsName, Error, ErrorKind, RecordSet, Result, Zone};
use zonewright_engine::layer::Layers;
use zonewright_provider_local::{Local, LocalConfig};
use zonewright_provider_webhook::server::{ServedNames, Server, Serving, Times};

/// What a test changes of the usual.
pub(crate) struct Setting {
    pub(crate) zones: Vec<&'static str>,
    pub(crate) include: Vec<&'static str>,
    pub(crate) times: Times,
    pub(crate) limit: Option<usize>,
    pub(crate) dry_run: bool,
    /// The provider takes no preconditions, and does whatever it is asked.
    pub(crate) naive: bool,
}

impl Default for Setting {
    fn default() -> Self {
        let (zones, include) = (vec!["example.test"], Vec::new());
        Self { zones, include, times: Times::default(), limit: None, dry_run: false, naive: false }
    }
}

/// A server in front of any provider.
pub(crate) struct Served {
    pub(crate) server: Arc<Server>,
    pub(crate) address: SocketAddr,
    pub(crate) stop: CancellationToken,
    pub(crate) task: JoinHandle<()>,
}

/// A running server in front of the embedded DNS server.
pub(crate) struct Site {
    pub(crate) local: Arc<Local>,
    pub(crate) behind: Arc<Behind>,
    pub(crate) served: Served,
}

impl std::ops::Deref for Site {
    type Target = Served;

    fn deref(&self) -> &Served {
        &self.served
    }
}

impl Served {
    /// A provider as it is, in the usual layers.
    pub(crate) async fn start(provider: Arc<dyn Provider>, options: OptionReader) -> Self {
        Self::with(provider, options, &Setting::default()).await
    }

    async fn with(provider: Arc<dyn Provider>, options: OptionReader, setting: &Setting) -> Self {
        let layers = Layers { dry_run: setting.dry_run, attempts: 1, ..Layers::new(InstanceId::from("local")) };
        let include: Vec<String> = setting.include.iter().map(|text| (*text).to_owned()).collect();
        let server = Server::new(Serving {
            provider: layers.around(provider, &Arc::default()),
            options,
            scope: ServedNames::new(&include, &[], "", "").unwrap(),
            times: setting.times,
            limit: setting.limit,
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let task = tokio::spawn(server.clone().serve(listener, stop.clone()));
        Self { server, address, stop, task }
    }

    pub(crate) async fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let mut stream = self.send(method, path, body).await;
        Answer::read(&mut stream).await
    }

    /// Sends a request, and does not wait for the answer.
    pub(crate) async fn send(&self, method: &str, path: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}", body.len());
        stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).await.unwrap();
        stream
    }
}

impl Site {
    pub(crate) async fn usual() -> Self {
        Self::start(Setting::default()).await
    }

    pub(crate) async fn start(setting: Setting) -> Self {
        let config = LocalConfig::with_zones(setting.zones.iter().copied()).unwrap();
        let local = Local::start(config).await.unwrap();
        let behind = Arc::new(Behind {
            local: local.clone(),
            naive: setting.naive,
            broken: std::sync::atomic::AtomicBool::new(false),
            calls: Semaphore::new(1_000),
            begun: Semaphore::new(0),
        });
        let provider: Arc<dyn Provider> = behind.clone();
        let served = Served::with(provider, OptionTable::NONE.into(), &setting).await;
        Self { local, behind, served }
    }

    /// What stands in the first zone below its apex, one line a set.
    pub(crate) fn stands(&self) -> Vec<String> {
        let zone = DnsName::parse("example.test").unwrap();
        let sets = self.local.dump(&zone).unwrap();
        sets.iter().filter(|set| set.key.name != zone).map(ToString::to_string).collect()
    }

    /// Another writer puts a set in place.
    pub(crate) fn holds(&self, line: &str) {
        self.local.insert(&DnsName::parse("example.test").unwrap(), crate::common::set(line)).unwrap();
    }

    /// POST /records with this body.
    pub(crate) async fn post(&self, body: &str) -> Answer {
        self.ask("POST", "/records", body).await
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) media: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) async fn read(stream: &mut TcpStream) -> Self {
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
        let media = head.lines().find_map(|line| line.strip_prefix("content-type: ")).unwrap_or_default();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, media: media.to_owned(), body: body.to_owned() }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }

    /// `name kind` of each refusal.
    pub(crate) fn refused(&self) -> Vec<String> {
        let json = self.json();
        let word = |refusal: &Value, key: &str| refusal.get(key).unwrap().as_str().unwrap().to_owned();
        let refused = json.get("refused").unwrap().as_array().unwrap();
        refused.iter().map(|one| format!("{} {}", word(one, "dnsName"), word(one, "kind"))).collect()
    }
}

/// The embedded server with faults.
pub(crate) struct Behind {
    local: Arc<Local>,
    naive: bool,
    /// Whether every reading fails.
    pub(crate) broken: std::sync::atomic::AtomicBool,
    /// Each change takes one; a test that holds them all back holds changes back.
    pub(crate) calls: Semaphore,
    /// One more for each change that has begun.
    pub(crate) begun: Semaphore,
}

impl Behind {
    fn fault(&self) -> Result<()> {
        if self.broken.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Unavailable, "list zones", "the back end is away"));
        }
        Ok(())
    }
}

#[async_trait]
impl Provider for Behind {
    fn capability(&self, zone: Option<&Zone>) -> Capability {
        let preconditions = if self.naive { Preconditions::None } else { Preconditions::Any };
        Capability { preconditions, ..self.local.capability(zone) }
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        self.fault()?;
        self.local.zones().await
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        self.local.zone(id).await
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        self.fault()?;
        self.local.records(zone, read).await
    }

    fn interpret(&self, zone: &Zone, endpoint: &Endpoint) -> Interpretation {
        self.local.interpret(zone, endpoint)
    }

    async fn adjust(&self, zone: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        match self.fault() {
            Ok(()) => self.local.adjust(zone, sets).await,
            Err(error) => Adjustment::unknown(sets, &error),
        }
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        self.begun.add_permits(1);
        let _call = self.calls.acquire().await.unwrap();
        if !self.naive {
            return self.local.apply(zone, groups).await;
        }
        // Another call has time to come between.
        tokio::task::yield_now().await;
        for change in groups.iter().flat_map(Group::changes) {
            let _ = self.local.remove(&zone.name, change.key());
            if let Some(to) = change.to() {
                self.local.insert(&zone.name, to.clone()).unwrap();
            }
        }
        groups.iter().map(|_| Outcome::Applied).collect()
    }

    async fn served(&self, zone: &Zone) -> Result<Option<bool>> {
        self.local.served(zone).await
    }
}

/// Waits until the closure says yes.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.unwrap_or_else(|_| panic!("{what}"));
}
