//! Whether the API server answers at all. In: the doubt of any number of silent watches. Out: one shared answer.
//!
//! A watch on a quiet kind may say nothing for a minute or more, so silence alone proves nothing; a stopped server looks
//! the same. One small request settles it for all watches.

use std::time::Duration;

use http::Request;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::api::Failure;
use crate::cluster::Cluster;
use crate::gate::ALIVE;

/// How long an answer serves other watches.
const SHARED_FOR: Duration = Duration::from_secs(5);
/// How long the server may take for this smallest of answers.
const LIMIT: Duration = Duration::from_secs(10);

/// The last answer, and when it came.
#[derive(Debug, Default)]
pub(crate) struct Pulse(Mutex<Option<(Instant, Result<(), String>)>>);

impl Cluster {
    /// Asks whether the API server is alive. Any answer of its own is a yes, even a refusal; a gateway's word that there
    /// is nobody behind it is a no.
    pub(crate) async fn alive(&self) -> Result<(), String> {
        // Held across the request: those who ask meanwhile share its answer.
        let mut last = self.pulse().0.lock().await;
        if let Some((at, answer)) = &*last
            && at.elapsed() < SHARED_FOR
        {
            return answer.clone();
        }
        let answer = self.ask().await;
        *last = Some((Instant::now(), answer.clone()));
        answer
    }

    async fn ask(&self) -> Result<(), String> {
        let request = Request::get(ALIVE).body(Vec::new()).map_err(|e| e.to_string())?;
        match timeout(LIMIT, self.exchange(request)).await {
            Err(_) => Err(format!("the API server does not answer GET {ALIVE} within {LIMIT:?}")),
            Ok(Err(Failure::Refused(refusal))) if !(502..=504).contains(&refusal.code) => Ok(()),
            Ok(Err(failure)) => Err(failure.to_string()),
            Ok(Ok(_)) => Ok(()),
        }
    }
}
