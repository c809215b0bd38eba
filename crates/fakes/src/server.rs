//! A plain HTTP server on a free port of loopback, on a thread of its own: its clock is real whatever the test does with the
//! clock of its own runtime, and tests without a runtime can use it too.

use std::net::SocketAddr;
use std::thread::JoinHandle;

use axum::Router;
use tokio::sync::oneshot;

/// A running server; it ends when it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves `router` until it is dropped.
    ///
    /// # Panics
    /// If loopback has no free port or the system gives no thread: a test cannot go on without.
    pub fn start(router: Router) -> Self {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
        listener.set_nonblocking(true).expect("a listener can be made non-blocking");
        let address = listener.local_addr().expect("a bound listener has an address");
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || serve(listener, router, stopped));
        Self { address, stop: Some(stop), thread: Some(thread) }
    }

    /// Where it listens, as `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

fn serve(listener: std::net::TcpListener, router: Router, stopped: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("the system gives a test one more runtime");
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).expect("the listener is non-blocking");
        tokio::select! {
            served = async { axum::serve(listener, router).await } => served.expect("a bound listener serves"),
            _ = stopped => {}
        }
    });
}

impl Drop for Server {
    fn drop(&mut self) {
        // The other end is gone only if the thread has ended.
        let _ = self.stop.take().map(|stop| stop.send(()));
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            eprintln!("the server at {} panicked", self.address);
        }
    }
}
