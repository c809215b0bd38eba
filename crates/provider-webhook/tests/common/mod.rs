//! A peer that enforces the protocol, counts its calls, and misbehaves where a test asks for it.

#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};
use zonewright_core::catalog::{FlagValue, ProviderConfig, Settings};
use zonewright_core::provider::{Listing, Provider, Read};
use zonewright_core::shared::Shared;
use zonewright_core::zone::InstanceId;
use zonewright_core::{DnsName, RData, RecordSet, RecordType, Ttl, Zone};
use zonewright_provider_webhook::{ENTRY, Webhook};

pub(crate) const MEDIA: &str = "application/external.dns.webhook+json;version=1";

/// Name, type and set identifier.
pub(crate) type Key = (String, String, String);

/// What the peer is and does.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) records: BTreeMap<Key, Value>,
    pub(crate) filter: Value,
    /// An answer instead of the right one: by request, e.g. `GET /records`.
    pub(crate) answers: BTreeMap<&'static str, Answer>,
    /// Names beginning so are refused with this status.
    pub(crate) bad: Option<(&'static str, u16)>,
    /// Whether what comes before the bad record is done all the same.
    pub(crate) sloppy: bool,
    /// What comes back from POST /adjustendpoints, made of what was sent.
    pub(crate) adjust: Option<fn(Value) -> Value>,
    /// Number of requests.
    pub(crate) calls: BTreeMap<String, usize>,
    /// Bodies of POST /records and POST /adjustendpoints.
    pub(crate) applied: Vec<Value>,
    pub(crate) adjusted: Vec<Value>,
    /// Headers of the last request.
    pub(crate) headers: BTreeMap<String, String>,
}

/// A scripted answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
    /// Whether the request is carried out all the same.
    pub(crate) obeys: bool,
}

/// An answer with the media type of the protocol.
pub(crate) fn answer(status: u16, body: &str) -> Answer {
    with_media(status, MEDIA, body)
}

pub(crate) fn with_media(status: u16, media: &str, body: &str) -> Answer {
    Answer { status, headers: vec![("content-type", media.to_owned())], body: body.to_owned(), obeys: false }
}

/// A running peer.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) url: String,
    script: Arc<Mutex<Script>>,
}

impl Peer {
    /// Starts on a free port of the loopback interface.
    pub(crate) async fn start() -> Self {
        let script = Arc::new(Mutex::new(Script { filter: json!({}), ..Script::default() }));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new().fallback(serve).with_state(script.clone());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, script }
    }

    pub(crate) fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    pub(crate) fn says(&self, request: &'static str, answer: Answer) {
        self.script().answers.insert(request, answer);
    }

    pub(crate) fn calls(&self, request: &str) -> usize {
        self.script().calls.get(request).copied().unwrap_or(0)
    }

    /// Puts an endpoint in place as it stands.
    pub(crate) fn holds(&self, endpoint: Value) {
        self.script().records.insert(key(&endpoint), endpoint);
    }

    pub(crate) fn provider(&self) -> Webhook {
        Webhook::new(&config(&self.url, &[])).unwrap()
    }
}

/// The flags of the provider with their defaults, and these in place of them.
pub(crate) fn config(url: &str, flags: &[(&'static str, FlagValue)]) -> ProviderConfig {
    let mut settings = Settings::default();
    for spec in ENTRY.flags {
        let value = match spec.name {
            "webhook-provider-max-body-size" => FlagValue::Int(spec.default.parse().unwrap()),
            name if name.ends_with("timeout") => {
                let seconds = spec.default.strip_suffix('s').unwrap().parse().unwrap();
                FlagValue::Duration { length: Duration::from_secs(seconds), negative: false }
            }
            _ => FlagValue::Text(spec.default.to_owned()),
        };
        settings.set(spec.name, value, false);
    }
    settings.set("webhook-provider-url", FlagValue::Text(url.to_owned()), true);
    for (name, value) in flags {
        settings.set(name, value.clone(), true);
    }
    ProviderConfig {
        instance: InstanceId::from("default"),
        settings,
        credentials: BTreeMap::new(),
        shared: Shared::default(),
    }
}

fn text<'v>(endpoint: &'v Value, field: &str) -> &'v str {
    endpoint.get(field).and_then(Value::as_str).unwrap_or("")
}

pub(crate) fn key(endpoint: &Value) -> Key {
    (
        text(endpoint, "dnsName").to_owned(),
        text(endpoint, "recordType").to_owned(),
        text(endpoint, "setIdentifier").to_owned(),
    )
}

async fn serve(State(script): State<Arc<Mutex<Script>>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let what = format!("{} {}", head.method, head.uri.path());
    let header = |name: &str| head.headers.get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
    let mut script = script.lock().unwrap();
    *script.calls.entry(what.clone()).or_default() += 1;
    script.headers =
        head.headers.iter().map(|(k, v)| (k.to_string(), String::from_utf8_lossy(v.as_bytes()).into_owned())).collect();
    let scripted = script.answers.get(what.as_str()).cloned();
    if let Some(answer) = &scripted
        && !answer.obeys
    {
        return respond(answer);
    }
    let right = script.act(&what, &header("accept"), &header("content-type"), &body);
    respond(&scripted.unwrap_or(right))
}

fn respond(answer: &Answer) -> Response {
    let mut response = Response::builder().status(StatusCode::from_u16(answer.status).unwrap());
    for (name, value) in &answer.headers {
        response = response.header(*name, value);
    }
    response.body(Body::from(answer.body.clone())).unwrap()
}

fn plain(status: u16, body: &str) -> Answer {
    with_media(status, "text/plain", body)
}

impl Script {
    fn act(&mut self, what: &str, accept: &str, content: &str, body: &[u8]) -> Answer {
        let posted = || serde_json::from_slice::<Value>(body).map_err(|error| plain(400, &error.to_string()));
        match what {
            "GET /" | "GET /records" | "POST /adjustendpoints" if accept != MEDIA => plain(406, "wrong Accept"),
            "POST /adjustendpoints" | "POST /records" if content != MEDIA => plain(415, "wrong Content-Type"),
            "POST /records" if !accept.is_empty() => plain(400, "this request has no Accept"),
            "GET /" => answer(200, &self.filter.to_string()),
            "GET /records" => answer(200, &self.records.values().cloned().collect::<Value>().to_string()),
            "POST /adjustendpoints" => match posted() {
                Ok(asked) => {
                    self.adjusted.push(asked.clone());
                    answer(200, &self.adjust.map_or(asked.clone(), |adjust| adjust(asked)).to_string())
                }
                Err(answer) => answer,
            },
            "POST /records" => match posted() {
                Ok(changes) => {
                    self.applied.push(changes.clone());
                    match self.change(&changes) {
                        Ok(()) => Answer { status: 204, ..Answer::default() },
                        Err((status, problem)) => plain(status, &problem),
                    }
                }
                Err(answer) => answer,
            },
            _ => plain(404, "no such route"),
        }
    }

    /// All or nothing, unless it is sloppy. What is deleted or updated must stand as stated, what is created must not stand.
    fn change(&mut self, changes: &Value) -> Result<(), (u16, String)> {
        let list = |name: &str| changes.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
        let (old, new) = (list("updateOld"), list("updateNew"));
        if old.len() != new.len() {
            return Err((400, "updateOld and updateNew are not pairs".to_owned()));
        }
        let mut records = self.records.clone();
        let before = self.records.clone();
        let done = (|| {
            for endpoint in list("delete") {
                self.check_bad(&endpoint)?;
                take(&mut records, &endpoint)?;
            }
            for (from, to) in old.iter().zip(new) {
                self.check_bad(&to)?;
                take(&mut records, from)?;
                if key(from) != key(&to) && records.contains_key(&key(&to)) {
                    return Err((409, format!("{:?} is there", key(&to))));
                }
                records.insert(key(&to), stored(to));
            }
            for endpoint in list("create") {
                self.check_bad(&endpoint)?;
                if records.insert(key(&endpoint), stored(endpoint.clone())).is_some() {
                    return Err((409, format!("{:?} is there already", key(&endpoint))));
                }
            }
            Ok(())
        })();
        self.records = if done.is_ok() || self.sloppy { records } else { before };
        done
    }

    fn check_bad(&self, endpoint: &Value) -> Result<(), (u16, String)> {
        match self.bad {
            Some((name, status)) if text(endpoint, "dnsName").starts_with(name) => {
                Err((status, format!("{name} cannot be stored")))
            }
            _ => Ok(()),
        }
    }
}

/// Takes out what stands, if it is as stated.
fn take(records: &mut BTreeMap<Key, Value>, stated: &Value) -> Result<(), (u16, String)> {
    let found = records.remove(&key(stated)).ok_or((409, format!("{:?} is not there", key(stated))))?;
    let ttl = |endpoint: &Value| endpoint.get("recordTTL").and_then(Value::as_i64).unwrap_or(0);
    let alike = read(&found).data == read(stated).data
        && found.get("providerSpecific") == stated.get("providerSpecific")
        && (ttl(stated) == 0 || ttl(stated) == ttl(&found));
    if alike { Ok(()) } else { Err((409, format!("{found} stands, not {stated}"))) }
}

/// A provider keeps no labels.
fn stored(mut endpoint: Value) -> Value {
    endpoint.as_object_mut().unwrap().remove("labels");
    endpoint
}

/// An endpoint as a set, read apart from the code under test.
pub(crate) fn read(endpoint: &Value) -> RecordSet {
    let rtype: RecordType = text(endpoint, "recordType").parse().unwrap();
    let targets = endpoint.get("targets").and_then(Value::as_array).cloned().unwrap_or_default();
    let data = targets.iter().map(|target| RData::parse(rtype, target.as_str().unwrap()).unwrap());
    let ttl = endpoint.get("recordTTL").and_then(Value::as_u64).unwrap_or(0);
    let name = DnsName::parse(text(endpoint, "dnsName")).unwrap();
    RecordSet::simple(name, rtype, Ttl::from_secs(ttl.try_into().unwrap()), data)
}

/// `name TYPE [ttl=N] target target ...`; a blank inside of a target is written as `_`.
pub(crate) fn set(line: &str) -> RecordSet {
    let mut words = line.split(' ');
    let name = DnsName::parse(words.next().unwrap()).unwrap();
    let rtype: RecordType = words.next().unwrap().parse().unwrap();
    let (mut ttl, mut data) = (Some(Ttl::ZERO), Vec::new());
    for word in words {
        match word.strip_prefix("ttl=") {
            Some(seconds) => ttl = Ttl::from_secs(seconds.parse().unwrap()),
            None => data.push(RData::parse(rtype, &word.replace('_', " ")).unwrap()),
        }
    }
    RecordSet::simple(name, rtype, ttl, data)
}

pub(crate) async fn zone(provider: &dyn Provider) -> Zone {
    provider.zones().await.unwrap().remove(0)
}

/// What a full listing gives, one line a set.
pub(crate) async fn listed(provider: &dyn Provider) -> Vec<String> {
    let zone = zone(provider).await;
    match provider.records(&zone, Read::All).await.unwrap() {
        Listing::Full { sets, token: None } => sets.iter().map(ToString::to_string).collect(),
        other => panic!("{other:?}"),
    }
}
