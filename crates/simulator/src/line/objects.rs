//! The objects beside the zones as one daemon process sees them: the same line, on which everything can go wrong.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{sleep, timeout};
use zonewright_core::documents::{Document, DocumentStore, Listed, Version};
use zonewright_core::{Error, ErrorKind, Result, Retry};

use super::weather::Fault;
use super::{Line, error, lock};
use crate::truth::Objects;

const WRITE: &str = "write an object";

/// A shelf at the end of a line.
#[derive(Debug)]
pub(crate) struct Cabinet(pub(crate) Arc<Line>);

/// How long the client of an API server waits for an answer.
const LIMIT: Duration = Duration::from_secs(30);

impl Cabinet {
    async fn ask(&self, operation: &'static str) -> Result<()> {
        let late = |_| error(ErrorKind::Timeout, operation, "no answer");
        timeout(LIMIT, self.0.begin(operation)).await.map_err(late)?.map(drop)
    }

    async fn write(&self, name: &str, expected: Option<&Version>, document: &Document) -> Result<Version> {
        use Fault::{CrashAfter, CrashBefore, Down, LostAnswer, LostWrite, Throttled};
        let line = &self.0;
        let dead = || error(ErrorKind::Unauthorized, WRITE, "the process is dead");
        if line.is_dead() {
            return Err(dead());
        }
        lock(&line.truth).note_attempt(line.daemon, name);
        let draw =
            line.draw(&[(5, Down), (2, Throttled), (5, LostWrite), (5, LostAnswer), (3, CrashBefore), (4, CrashAfter)]);
        line.endure(WRITE).await;
        let fail = |kind, text: &str| {
            line.tell(|| format!("writing {name} fails: {text}"));
            error(kind, WRITE, text)
        };
        match draw.fault {
            Some(Down) => return Err(fail(ErrorKind::Unavailable, "not reachable")),
            Some(Throttled) => {
                let pause = Retry::After(Duration::from_secs(1 + draw.dice % 12));
                return Err(fail(ErrorKind::Throttled, "too many requests").retry(pause));
            }
            Some(LostWrite) => return Err(fail(ErrorKind::Timeout, "lost on its way, and nobody says so")),
            Some(CrashBefore) => {
                line.die();
                return Err(dead());
            }
            _ => {}
        }
        sleep(draw.before).await;
        if line.is_dead() {
            return Err(dead());
        }
        let version = self.put(name, expected, document)?;
        sleep(draw.after).await;
        match draw.fault {
            Some(LostAnswer) => Err(fail(ErrorKind::Timeout, "the answer is lost")),
            Some(CrashAfter) => {
                line.die();
                Err(dead())
            }
            _ => Ok(version),
        }
    }

    fn put(&self, name: &str, expected: Option<&Version>, document: &Document) -> Result<Version> {
        let mut truth = lock(&self.0.truth);
        let standing = truth.objects.iter().flat_map(Objects::all).find(|(other, ..)| *other == name);
        let standing = standing.map(|(_, version, _)| Version(version.to_string()));
        if standing.as_ref() != expected {
            truth.note_settled(self.0.daemon, name);
            return Err(Error::new(ErrorKind::Conflict, WRITE, format!("{name} has changed")));
        }
        if self.0.command.is_some() {
            return Ok(Version(truth.order_object(self.0.daemon, name, Some(document.clone())).to_string()));
        }
        Ok(Version(truth.note_object(self.0.daemon, name, Some(document.clone())).to_string()))
    }
}

#[async_trait]
impl DocumentStore for Cabinet {
    async fn list(&self) -> Result<Vec<Listed>> {
        self.ask("list objects").await?;
        let truth = lock(&self.0.truth);
        let listed = |(name, version, document): (&String, u64, &Document)| Listed {
            name: name.clone(),
            version: Version(version.to_string()),
            notes: document.notes.clone(),
        };
        Ok(truth.objects.iter().flat_map(Objects::all).map(listed).collect())
    }

    async fn read(&self, name: &str) -> Result<Option<(Version, Document)>> {
        self.ask("read an object").await?;
        let mut truth = lock(&self.0.truth);
        let reader = if self.0.command.is_some() { usize::MAX } else { self.0.daemon };
        let found = truth.objects.as_mut().and_then(|objects| objects.see(reader, name));
        Ok(found.map(|(version, document)| (Version(version.to_string()), document)))
    }

    async fn create(&self, name: &str, document: &Document) -> Result<Version> {
        self.write(name, None, document).await
    }

    async fn replace(&self, name: &str, version: &Version, document: &Document) -> Result<Version> {
        self.write(name, Some(version), document).await
    }

    fn place(&self, name: &str) -> String {
        format!("object {name}")
    }
}
