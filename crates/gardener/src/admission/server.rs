//! The listener: as many connections as there are turns, each served by itself.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::certificate::Certificate;
use super::connection;

/// Connections at one time. An API server needs a few; the rest is for those that hold one and say nothing.
const CONNECTIONS: usize = 256;
/// How long answers that are under way may take after the order to stop.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(3);
/// Pause after the system refused a connection, for want of file descriptors say.
const BREATH: Duration = Duration::from_millis(100);

/// The webhook over HTTPS.
#[derive(Debug)]
pub struct AdmissionServer {
    certificate: Certificate,
}

impl AdmissionServer {
    /// A server with this certificate.
    pub fn new(certificate: Certificate) -> Self {
        Self { certificate }
    }

    /// Answers until the order to stop; then what has begun is carried to its end.
    pub async fn serve(self, listener: TcpListener, stop: CancellationToken) {
        let (tasks, turns) = (TaskTracker::new(), Arc::new(Semaphore::new(CONNECTIONS)));
        let accept = async {
            loop {
                // It is never closed; without a turn the connection waits in the system's queue.
                let Ok(turn) = turns.clone().acquire_owned().await else { return };
                let stream = accepted(&listener).await;
                let (config, stop) = (self.certificate.current(), stop.clone());
                tasks.spawn(async move {
                    connection::serve(stream, config, stop).await;
                    drop(turn);
                });
            }
        };
        tokio::select! {
            () = accept => {}
            () = self.certificate.follow(stop.clone()) => {}
        }
        tasks.close();
        let _ = tokio::time::timeout(SHUTDOWN_GRACE, tasks.wait()).await;
    }
}

async fn accepted(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}
