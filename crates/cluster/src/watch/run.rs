//! The life of a watch: list, follow, and after each end the decision how to go on.

use std::time::Duration;

use kube::core::Request;
use kube::core::params::WatchParams;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout};

use super::discovery::{self, KindAvailability};
use super::lines::Lines;
use super::wire::{Line, Unfit};
use super::{Backoff, End, Lists, State, WatchEvent, Watcher};
use crate::api::{Failure, Refusal, uncompressed, unreachable};

/// How long the server is asked to keep a watch open, in seconds; less than the five minutes after which many proxies cut.
const LIFE: u32 = 290;
/// A watch that ends this long before its time did not end by itself.
const EARLY: Duration = Duration::from_secs(10);
/// A watch that lived this long was a success: the next failure is the first.
const ALIVE: Duration = Duration::from_secs(5);
/// How long the answer to a resumed watch may take; it comes from the server's memory.
const OPENING: Duration = Duration::from_secs(10);
/// How long the answer to a streaming list may take, where `--kube-api-request-timeout` does not say less.
const OPENING_LIST: Duration = Duration::from_secs(30);
/// After this much silence the server is asked whether it is alive, again and again.
const SILENCE: Duration = Duration::from_secs(10);
/// After this many silences in a row (80 s) the connection itself is doubted, since bookmarks come every minute: a new one is
/// opened from the same version. A server that has just started sends the first only after two minutes; a request too many
/// for each kind is the whole cost.
const SILENCES: u32 = 8;
/// After this many silences (30 s) a streaming list is given up: the next attempt lists in pages.
const SILENCES_IN_LIST: u32 = 3;

impl<T: DeserializeOwned + Send> Watcher<'_, T> {
    pub(super) async fn run(mut self) {
        loop {
            let end = match self.round().await {
                Ok(()) => End::Planned,
                Err(end) => end,
            };
            match self.after(end).await {
                Ok(pause) => sleep(pause).await,
                Err(_) => return,
            }
        }
    }

    /// One connection: ends with the reason, `Ok` for an end in good order.
    async fn round(&mut self) -> Result<(), End> {
        if let Some(version) = self.version.clone() {
            if self.doubt && !self.is_same_history(&version).await? {
                return Err(End::Expired(format!("the server's history ends before version {version}")));
            }
            return self.follow(&version).await;
        }
        if self.lists == Lists::Streamed {
            self.lists = Lists::PagedOnce;
            match self.open_list().await? {
                Some(lines) => return self.list_and_follow(lines).await,
                None => self.lists = Lists::Paged,
            }
        }
        self.stream_again();
        self.list_pages().await?;
        match self.version.clone() {
            Some(version) => self.follow(&version).await,
            None => Err(End::lost("the list has no resource version")),
        }
    }

    fn stream_again(&mut self) {
        if self.lists == Lists::PagedOnce {
            self.lists = Lists::Streamed;
        }
    }

    /// A streaming list; `None` if the server has none, or does not allow it.
    async fn open_list(&mut self) -> Result<Option<Lines>, End> {
        let limit = self.cluster.request_timeout().map_or(OPENING_LIST, |limit| limit.min(OPENING_LIST));
        match self.request(true, "", limit).await {
            Ok(lines) => Ok(Some(lines)),
            // 400 and 422: the feature is off or unknown. 403: listing may be allowed all the same.
            Err(failure) if matches!(failure.code(), Some(400 | 403 | 422)) => Ok(None),
            Err(failure) => Err(self.end_of("watch", failure).await),
        }
    }

    async fn list_and_follow(&mut self, mut lines: Lines) -> Result<(), End> {
        let opened = Instant::now();
        self.report(WatchEvent::Begin).await?;
        loop {
            let Some(line) = self.hear(&mut lines, SILENCES_IN_LIST).await? else {
                return Err(End::lost("the server ended a streaming list before its end"));
            };
            match line {
                Line::Present { object, .. } => {
                    self.report(object.map_or_else(Unfit::event, WatchEvent::Listed)).await?;
                }
                Line::Gone { key, .. } => self.report(WatchEvent::Deleted(key)).await?,
                Line::Bookmark { initial_events_end: false, .. } => {}
                Line::Bookmark { version, .. } => {
                    self.version = Some(version);
                    break;
                }
                Line::Error(refusal) => return Err(self.end_of_event(refusal).await),
            }
        }
        self.stream_again();
        self.report(WatchEvent::Done).await?;
        self.opened().await?;
        self.hear_out(lines, opened).await
    }

    async fn follow(&mut self, version: &str) -> Result<(), End> {
        match self.request(false, version, OPENING).await {
            Ok(lines) => {
                self.opened().await?;
                self.hear_out(lines, Instant::now()).await
            }
            Err(failure) => Err(self.end_of("watch", failure).await),
        }
    }

    /// Reports every change until the connection ends.
    async fn hear_out(&mut self, mut lines: Lines, opened: Instant) -> Result<(), End> {
        let end = loop {
            match self.hear(&mut lines, SILENCES).await {
                Ok(Some(line)) => {
                    if let Err(end) = self.change(line).await {
                        break Err(end);
                    }
                }
                Ok(None) => break ended(opened.elapsed()),
                Err(end) => break Err(end),
            }
        };
        if opened.elapsed() >= ALIVE {
            self.backoff.reset();
        }
        end
    }

    async fn change(&mut self, line: Line<T>) -> Result<(), End> {
        let (version, event) = match line {
            Line::Present { object, version } => (version, Some(object.map_or_else(Unfit::event, WatchEvent::Applied))),
            Line::Gone { key, version } => (version, Some(WatchEvent::Deleted(key))),
            Line::Bookmark { version, .. } => (version, None),
            Line::Error(refusal) => return Err(self.end_of_event(refusal).await),
        };
        if let Some(event) = event {
            self.report(event).await?;
        }
        // Only after the event was taken: a version runs ahead of no event.
        if !version.is_empty() {
            self.version = Some(version);
        }
        Ok(())
    }

    /// The next line. While there is none, the server is asked every [`SILENCE`] whether it is alive; after `silences` of
    /// them the connection counts as ended.
    async fn hear(&mut self, lines: &mut Lines, silences: u32) -> Result<Option<Line<T>>, End> {
        for _ in 0..silences {
            if let Ok(line) = timeout(SILENCE, lines.next()).await {
                return parse(line?);
            }
            tokio::select! {
                biased;
                line = lines.next() => return parse(line?),
                alive = self.cluster.alive() => alive.map_err(End::lost)?,
            }
        }
        if self.version.is_some() {
            Err(End::Planned)
        } else {
            Err(End::lost("a streaming list fell silent before its end"))
        }
    }

    async fn request(&self, list: bool, version: &str, limit: Duration) -> Result<Lines, Failure> {
        let params = WatchParams {
            label_selector: self.spec.label_selector.clone(),
            field_selector: self.spec.field_selector.clone(),
            timeout: Some(LIFE),
            bookmarks: true,
            send_initial_events: list,
        };
        let request = Request::new(self.spec.path()).watch(&params, version).map_err(|e| unreachable(&e))?;
        match timeout(limit, self.cluster.exchange(uncompressed(request))).await {
            Ok(response) => Ok(Lines::new(response?.into_body())),
            Err(_) => Err(Failure::Unreachable(format!("the watch did not open within {limit:?}"))),
        }
    }

    /// What a failed request means for the watch.
    pub(super) async fn end_of(&self, verb: &'static str, failure: Failure) -> End {
        let text = failure.to_string();
        match &failure {
            Failure::Refused(refusal) if refusal.is_expired() => End::Expired(text),
            Failure::Refused(refusal) if refusal.code == 403 => End::Forbidden { verb, text: refusal.message.clone() },
            Failure::Refused(refusal) if refusal.code == 404 => {
                match discovery::verdict(self.cluster, &self.spec).await {
                    Ok(KindAvailability::Denied(denial)) => End::Denied(denial),
                    Ok(KindAvailability::OtherVersion(text)) => End::OtherVersion(text),
                    Ok(KindAvailability::ClusterScoped) if self.spec.namespaced => End::ClusterScoped,
                    Ok(_) => End::lost(format!("{text}, though its discovery lists the kind")),
                    Err(other) => End::lost(format!("{text}; its discovery: {other}")),
                }
            }
            _ => End::Lost { text, retry_after: failure.retry_after() },
        }
    }

    async fn end_of_event(&self, refusal: Refusal) -> End {
        self.end_of("watch", Failure::Refused(Box::new(refusal))).await
    }

    /// Reports the end of a connection to the sink, and returns how long to wait before the next.
    async fn after(&mut self, end: End) -> Result<Duration, End> {
        self.doubt = !matches!(end, End::Planned);
        match end {
            End::Closed => Err(End::Closed),
            End::Planned => Ok(Duration::ZERO),
            End::ClusterScoped => {
                tracing::debug!(kind = %self.spec, "cluster-scoped, so its objects are in no namespace");
                self.spec.namespaced = false;
                self.stream_again();
                Ok(Duration::ZERO)
            }
            End::Expired(text) => {
                self.version = None;
                self.lost(text).await?;
                Ok(self.backoff.next(None))
            }
            End::Lost { text, retry_after } => {
                self.lost(text).await?;
                Ok(self.backoff.next(retry_after))
            }
            End::Denied(text) => {
                tracing::debug!(kind = %self.spec, text, "kind not known");
                self.version = None;
                self.stream_again();
                self.not_open();
                self.report(WatchEvent::Denied { text }).await?;
                Ok(Backoff::hopeless())
            }
            End::OtherVersion(text) => {
                tracing::debug!(kind = %self.spec, text, "kind served in another version");
                self.version = None;
                self.stream_again();
                self.not_open();
                self.report(WatchEvent::OtherVersion { text }).await?;
                Ok(Backoff::hopeless())
            }
            End::Forbidden { verb, text } => {
                tracing::debug!(kind = %self.spec, verb, text, "right missing");
                self.version = None;
                self.not_open();
                self.report(WatchEvent::Forbidden { verb, text }).await?;
                Ok(if verb == "list" { self.backoff.rightless() } else { Backoff::hopeless() })
            }
        }
    }

    async fn lost(&mut self, text: String) -> Result<(), End> {
        match (self.state, self.complained) {
            (State::Open, _) => tracing::warn!(kind = %self.spec, text, "watch lost"),
            (State::Lost(_), false) => tracing::warn!(kind = %self.spec, text, "cannot be listed and watched yet"),
            (State::Lost(_), true) => tracing::debug!(kind = %self.spec, text, "watch still lost"),
        }
        self.complained = true;
        let since = self.not_open();
        self.report(WatchEvent::Lost { since, text }).await
    }

    /// Since when the view is not fresh.
    fn not_open(&mut self) -> Instant {
        let since = match self.state {
            State::Open => Instant::now(),
            State::Lost(since) => since,
        };
        self.state = State::Lost(since);
        since
    }

    async fn opened(&mut self) -> Result<(), End> {
        if self.state == State::Open {
            return Ok(());
        }
        self.state = State::Open;
        self.complained = false;
        tracing::debug!(kind = %self.spec, "watch open");
        self.report(WatchEvent::Open).await
    }

    pub(super) async fn report(&self, event: WatchEvent<T>) -> Result<(), End> {
        self.sink.send(event).await.map_err(|_| End::Closed)
    }
}

fn parse<T: DeserializeOwned>(line: Option<Vec<u8>>) -> Result<Option<Line<T>>, End> {
    line.map(|line| Line::parse(&line)).transpose().map_err(End::lost)
}

/// What a clean end of the stream means after this time.
fn ended(life: Duration) -> Result<(), End> {
    if life + EARLY >= Duration::from_secs(u64::from(LIFE)) {
        return Ok(());
    }
    Err(End::lost(format!("the server ended the watch after {} s", life.as_secs())))
}
