//! The webhook over HTTPS on loopback, as an API server calls it.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;
use zonewright_gardener::admission::{AdmissionServer, Certificate, PATH};

struct Webhook {
    folder: TempDir,
    address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// Writes a new pair; the certificate, which is its own authority.
fn write(folder: &Path) -> CertificateDer<'static> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("the test sets it up");
    std::fs::write(folder.join("tls.crt"), made.cert.pem()).expect("the test sets it up");
    std::fs::write(folder.join("tls.key"), made.signing_key.serialize_pem()).expect("the test sets it up");
    made.cert.der().clone()
}

impl Webhook {
    async fn start() -> (Self, CertificateDer<'static>) {
        let folder = tempfile::tempdir().expect("the test sets it up");
        let trusted = write(folder.path());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("the test sets it up");
        let address = listener.local_addr().expect("the test sets it up");
        let stop = CancellationToken::new();
        let server = AdmissionServer::new(Certificate::read(folder.path()).expect("the test sets it up"));
        let task = tokio::spawn(server.serve(listener, stop.clone()));
        (Self { folder, address, stop, task }, trusted)
    }

    async fn connect(&self, trusted: &CertificateDer<'static>) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(trusted.clone()).expect("the test sets it up");
        let ring = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(ring)
            .with_safe_default_protocol_versions()
            .expect("the test sets it up");
        let config = config.with_root_certificates(roots).with_no_client_auth();
        let stream = TcpStream::connect(self.address).await.expect("the test sets it up");
        TlsConnector::from(Arc::new(config))
            .connect(ServerName::try_from("localhost").expect("the test sets it up"), stream)
            .await
    }

    /// The whole answer to a request with this head and body.
    async fn ask(&self, trusted: &CertificateDer<'static>, head: &str, body: &[u8]) -> String {
        let mut stream = self.connect(trusted).await.expect("the test sets it up");
        let length = body.len();
        let head =
            format!("{head} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.expect("the test sets it up");
        // A server that has heard enough closes.
        let _ = stream.write_all(body).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }
}

fn review(values: &[&str]) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u-1",
            "resource": { "group": "extensions.gardener.cloud", "version": "v1alpha1", "resource": "dnsrecords" },
            "operation": "CREATE",
            "object": {
                "metadata": { "name": "api", "namespace": "shoot--a" },
                "spec": {
                    "type": "aws-route53", "secretRef": { "name": "dns" }, "name": "api.example.com",
                    "recordType": "A", "values": values,
                },
            },
        },
    })
}

#[tokio::test]
async fn it_answers_reviews_and_nothing_else() {
    let (webhook, trusted) = Webhook::start().await;
    let post = format!("POST {PATH}");
    let body = |values: &[&str]| review(values).to_string().into_bytes();
    let good = webhook.ask(&trusted, &format!("{post}?timeout=5s"), &body(&["192.0.2.1"])).await;
    assert!(good.starts_with("HTTP/1.1 200") && good.contains("\"allowed\":true"), "{good}");
    assert!(good.contains("content-type: application/json"), "{good}");
    let bad = webhook.ask(&trusted, &post, &body(&["::1"])).await;
    assert!(bad.contains("\"allowed\":false") && bad.contains("spec.values[0]"), "{bad}");
    for (head, body, status, said) in [
        (format!("GET {PATH}"), "", "405", "expected POST"),
        ("POST /".to_owned(), "", "404", PATH),
        (post.clone(), "", "400", "no AdmissionReview"),
        (post.clone(), "{}", "400", "expected an AdmissionReview"),
    ] {
        let answer = webhook.ask(&trusted, &head, body.as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")) && answer.contains(said), "{head}: {answer}");
    }
    let large = webhook.ask(&trusted, &post, &vec![b' '; (8 << 20) + 1]).await;
    assert!(large.starts_with("HTTP/1.1 413"), "{large}");
    webhook.stop.cancel();
    webhook.task.await.unwrap();
}

/// A client that says nothing holds nobody up, neither while others ask nor at the end.
#[tokio::test]
async fn a_silent_client_holds_nobody_up() {
    let (webhook, trusted) = Webhook::start().await;
    let plain = TcpStream::connect(webhook.address).await.unwrap();
    let mut silent = webhook.connect(&trusted).await.unwrap();
    silent.write_all(format!("POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n").as_bytes()).await.unwrap();
    let body = review(&["192.0.2.1"]).to_string();
    let answer = webhook.ask(&trusted, &format!("POST {PATH}"), body.as_bytes()).await;
    assert!(answer.contains("\"allowed\":true"), "{answer}");
    webhook.stop.cancel();
    tokio::time::timeout(std::time::Duration::from_secs(30), webhook.task).await.unwrap().unwrap();
    drop((plain, silent));
}

/// A renewed certificate is what new connections see, without a restart.
#[tokio::test]
async fn a_renewed_certificate_is_used() {
    let (webhook, former) = Webhook::start().await;
    assert!(webhook.connect(&former).await.is_ok());
    let renewed = write(webhook.folder.path());
    let seen = async {
        while webhook.connect(&renewed).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_mins(1), seen).await.unwrap();
    assert!(webhook.connect(&former).await.is_err());
    webhook.stop.cancel();
    webhook.task.await.unwrap();
}
