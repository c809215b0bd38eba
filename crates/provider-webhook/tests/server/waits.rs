//! Slow callers, callers that hang up, and the order to stop.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use zonewright_provider_webhook::server::Times;

use crate::site::{Answer, Setting, Site, until};

const CREATE: &str = r#"{"create":[{"dnsName":"a.example.test","targets":["192.0.2.1"],"recordType":"A"}]}"#;

/// As long as nothing is wrong, no test waits for it.
const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_body_that_does_not_come_is_given_up() {
    let times = Times { read: Some(Duration::from_millis(50)), ..Times::default() };
    let site = Site::start(Setting { times, ..Setting::default() }).await;
    let mut stream = TcpStream::connect(site.address).await.unwrap();
    stream
        .write_all(b"POST /records HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 9\r\n\r\n{")
        .await
        .unwrap();
    let answer = tokio::time::timeout(LONG, Answer::read(&mut stream)).await.unwrap();
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("--webhook-provider-read-timeout"), "{answer:?}");
}

#[tokio::test]
async fn connections_are_kept_for_the_idle_time_and_closed_after_it() {
    let times = Times { idle: Some(Duration::from_millis(50)), header: Some(LONG), ..Times::default() };
    let site = Site::start(Setting { times, ..Setting::default() }).await;
    let mut stream = TcpStream::connect(site.address).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut text = String::new();
    tokio::time::timeout(LONG, stream.read_to_string(&mut text)).await.expect("it is closed").unwrap();
    assert_eq!(text.matches("HTTP/1.1 200").count(), 2, "{text}");
}

#[tokio::test]
async fn a_head_that_does_not_come_is_given_up() {
    let times = Times { header: Some(Duration::from_millis(50)), idle: Some(LONG), ..Times::default() };
    let site = Site::start(Setting { times, ..Setting::default() }).await;
    let mut stream = TcpStream::connect(site.address).await.unwrap();
    stream.write_all(b"GET / HT").await.unwrap();
    let mut bytes = Vec::new();
    let closed = tokio::time::timeout(LONG, stream.read_to_end(&mut bytes)).await;
    assert!(closed.is_ok(), "it stays open");
}

#[tokio::test]
async fn a_change_goes_on_when_its_caller_hangs_up() {
    let site = Site::usual().await;
    let all = site.behind.calls.forget_permits(usize::MAX);
    // A connection that is to be kept: the server looks whether it still stands while it works.
    let mut stream = TcpStream::connect(site.address).await.unwrap();
    let request = format!("POST /records HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{CREATE}", CREATE.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    site.behind.begun.acquire().await.unwrap().forget();
    drop(stream);
    // Another answer: by then the server has seen that the first caller is gone.
    assert_eq!(site.ask("GET", "/records", "").await.status, 200);
    assert!(site.stands().is_empty());
    site.behind.calls.add_permits(all);
    until("the record to stand", || site.stands().len() == 1).await;
}

#[tokio::test]
async fn the_order_to_stop_waits_for_what_has_begun() {
    let site = Site::usual().await;
    let all = site.behind.calls.forget_permits(usize::MAX);
    let mut stream = site.send("POST", "/records", CREATE).await;
    site.behind.begun.acquire().await.unwrap().forget();
    site.stop.cancel();
    until("no new callers", || std::net::TcpStream::connect(site.address).is_err()).await;
    assert!(!site.task.is_finished(), "a change is under way");
    site.behind.calls.add_permits(all);
    assert_eq!(Answer::read(&mut stream).await.status, 204);
    tokio::time::timeout(LONG, site.served.task).await.expect("it ends").unwrap();
}

#[tokio::test]
async fn the_order_to_stop_does_not_wait_for_the_silent() {
    let site = Site::usual().await;
    let mut silent = TcpStream::connect(site.address).await.unwrap();
    silent.write_all(b"GET / HT").await.unwrap();
    site.stop.cancel();
    tokio::time::timeout(LONG, site.served.task).await.expect("it ends").unwrap();
}
