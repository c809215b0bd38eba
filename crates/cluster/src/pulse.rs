//! Whether the API server answers at all. In: the doubt of any number of silent watches. Out: one shared answer.
//!
//! A watch on a quiet kind may say nothing for a minute or more, so silence alone proves nothing; a stopped server looks
//! the same. One small request settles it for all watches.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

/// How long an answer serves other watches.
const SHARED_FOR: Duration = Duration::from_secs(5);
/// How long the server may take for this smallest of answers.
const LIMIT: Duration = Duration::from_secs(10);

/// The last answer, and when it came.
#[derive(Debug, Default)]
pub(crate) struct Pulse(Mutex<Option<(Instant, Result<(), String>)>>);

impl Pulse {
    /// The answer of a moment ago, or else that of `ask`, which is given up after a while. `what` is asked, for the message.
    ///
    /// # Errors
    /// What the answer says, or that none came.
    pub(crate) async fn shared(&self, what: &str, ask: impl Future<Output = Result<(), String>>) -> Result<(), String> {
        // Held across the request: those who ask meanwhile share its answer.
        let mut last = self.0.lock().await;
        if let Some((at, answer)) = &*last
            && at.elapsed() < SHARED_FOR
        {
            return answer.clone();
        }
        let late = |_| Err(format!("the API server does not answer {what} within {LIMIT:?}"));
        let answer = timeout(LIMIT, ask).await.unwrap_or_else(late);
        *last = Some((Instant::now(), answer.clone()));
        answer
    }
}
