//! The client against real servers on loopback: TLS, proxies, cut and slow answers, connections that are kept.

use std::time::Duration;

use crate::common::{Certified, Server, connect_proxy, cutting, forwarding_proxy, socks_proxy};
use zonewright_core::ErrorKind;
use zonewright_http::{
    Client, ClientBuilder, Connection, Delivery, Failure, Fixed, Method, Proxies, Request, RetryPolicy, StatusCode, Tls,
};

fn builder(base: &str) -> ClientBuilder {
    Client::builder(base).unwrap().retry(RetryPolicy::ONCE)
}

async fn get(client: &Client, path: &'static str) -> Result<String, Failure> {
    let answer = client.send("get", &Request::get(path)).await?;
    Ok(String::from_utf8(answer.body.to_vec()).unwrap())
}

fn through(proxy: &str, variable: &'static str) -> Connection {
    let proxy = proxy.to_owned();
    let proxies = Proxies::of(move |name| (name == variable).then(|| proxy.clone())).unwrap();
    Connection { proxies, ..Connection::default() }
}

#[tokio::test]
async fn what_is_sent_is_what_was_asked_for() {
    let server = Server::plain().await;
    let client = builder(&format!("{}/base?t=1", server.url())).credentials(Fixed::bearer(&"tok3n".into()).unwrap());
    let client = client.header(zonewright_http::header::ACCEPT, "application/json").build().unwrap();
    let request = Request::new(Method::POST, "/z/{id}").set("id", "a/b").query("p", 2).json(&[1, 2]);
    let answer = client.send("post", &request).await.unwrap();
    let said = String::from_utf8(answer.body.to_vec()).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(said, "POST /base/z/a%2Fb?t=1&p=2 [1,2]");
    for (name, value) in [
        ("user-agent", format!("zonewright/{version}")),
        ("authorization", "Bearer tok3n".to_owned()),
        ("accept", "application/json".to_owned()),
        ("content-type", "application/json".to_owned()),
    ] {
        assert_eq!(server.header(name), Some(value), "{name}");
    }
}

#[tokio::test]
async fn nothing_is_added_to_what_was_asked_for() {
    let server = Server::plain().await;
    get(&builder(&server.url()).build().unwrap(), "/x").await.unwrap();
    assert_eq!(server.headers(), ["host", "user-agent"]);
}

#[tokio::test]
async fn connections_are_kept() {
    let server = Server::plain().await;
    let client = builder(&server.url()).build().unwrap();
    for _ in 0..5 {
        get(&client, "/x").await.unwrap();
    }
    assert_eq!((server.requests(), server.connections()), (5, 1));
}

#[tokio::test]
async fn http_2_is_spoken_where_the_server_does() {
    let certified = Certified::new();
    let server = Server::tls(&certified, None).await;
    let tls = Tls { authorities: Some(certified.authority()), ..Tls::default() };
    let client = builder(&server.url()).connection(Connection { tls, ..Connection::default() }).build().unwrap();
    let both = futures_join(get(&client, "/a"), get(&client, "/b")).await;
    assert_eq!(both, ("GET /a ".to_owned(), "GET /b ".to_owned()));
    get(&client, "/c").await.unwrap();
    assert_eq!(server.version(), "HTTP/2.0");
}

async fn futures_join(
    a: impl Future<Output = Result<String, Failure>>,
    b: impl Future<Output = Result<String, Failure>>,
) -> (String, String) {
    let (a, b) = tokio::join!(a, b);
    (a.unwrap(), b.unwrap())
}

#[tokio::test]
async fn an_authority_of_ones_own_is_trusted_and_no_other() {
    let (certified, strange) = (Certified::new(), Certified::new());
    let server = Server::tls(&certified, None).await;
    let with =
        |tls: Tls| builder(&server.url()).connection(Connection { tls, ..Connection::default() }).build().unwrap();
    let own = with(Tls { authorities: Some(certified.authority()), ..Tls::default() });
    assert_eq!(get(&own, "/x").await.unwrap(), "GET /x ");
    for tls in [Tls { authorities: Some(strange.authority()), ..Tls::default() }, Tls::default()] {
        let failure = get(&with(tls), "/x").await.unwrap_err();
        assert_eq!((failure.error.kind, failure.delivery), (ErrorKind::Unavailable, Delivery::NotSent));
        let chain = failure.error.chain();
        assert!(chain.contains("TLS failed") && chain.contains("certificate"), "{chain}");
    }
    let anyone = with(Tls { skip_verify: true, ..Tls::default() });
    assert_eq!(get(&anyone, "/x").await.unwrap(), "GET /x ");
}

#[tokio::test]
async fn a_client_certificate_is_shown() {
    let (certified, own, strange) = (Certified::new(), Certified::new(), Certified::new());
    let server = Server::tls(&certified, Some(&own)).await;
    let with = |identity| {
        let tls = Tls { authorities: Some(certified.authority()), identity, ..Tls::default() };
        builder(&server.url()).connection(Connection { tls, ..Connection::default() }).build().unwrap()
    };
    let client = with(Some((own.authority(), own.key())));
    assert_eq!(get(&client, "/x").await.unwrap(), "GET /x ");
    for identity in [None, Some((strange.authority(), strange.key()))] {
        get(&with(identity), "/x").await.unwrap_err();
    }
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn https_goes_through_a_proxy_by_connect() {
    let certified = Certified::new();
    let server = Server::tls(&certified, None).await;
    let (proxy, seen) = connect_proxy(server.address(), "200 OK").await;
    let tls = Tls { authorities: Some(certified.authority()), ..Tls::default() };
    let connection = Connection { tls, ..through(&format!("http://me:p%40ss@{proxy}"), "HTTPS_PROXY") };
    // The name is known to the proxy alone.
    let base = format!("https://zonewright.test:{}", server.address().port());
    let client = builder(&base).connection(connection).credentials(Fixed::bearer(&"tok3n".into()).unwrap());
    assert_eq!(get(&client.build().unwrap(), "/x").await.unwrap(), "GET /x ");
    let asked = seen.lock().unwrap().clone();
    assert!(asked[0].starts_with(&format!("CONNECT zonewright.test:{} ", server.address().port())), "{asked:?}");
    let asked = asked[0].to_lowercase();
    assert!(asked.contains("proxy-authorization: basic bwu6cebzcw=="), "{asked}");
    assert!(!asked.contains("tok3n"), "the service's credentials are not the proxy's: {asked}");
}

#[tokio::test]
async fn a_proxy_that_refuses_is_no_connection() {
    let certified = Certified::new();
    let (proxy, _) = connect_proxy("127.0.0.1:1".parse().unwrap(), "403 Forbidden").await;
    let tls = Tls { authorities: Some(certified.authority()), ..Tls::default() };
    let connection = Connection { tls, ..through(&format!("http://me:s3cret@{proxy}"), "HTTPS_PROXY") };
    let client = builder("https://zonewright.test").connection(connection).build().unwrap();
    let failure = client.send("post", &Request::new(Method::POST, "/x")).await.unwrap_err();
    assert_eq!((failure.error.kind, failure.delivery), (ErrorKind::Unavailable, Delivery::NotSent));
    let shown = format!("{failure:?} {}", failure.error.chain());
    assert!(shown.contains("cannot connect") && !shown.contains("s3cret"), "{shown}");
}

#[tokio::test]
async fn http_goes_through_a_proxy_by_the_whole_address_and_loopback_does_not() {
    let server = Server::plain().await;
    let (proxy, seen) = forwarding_proxy().await;
    let connection = through(&format!("http://me:pass@{proxy}"), "http_proxy");
    let client = builder("http://zonewright.test:81").connection(connection.clone()).build().unwrap();
    assert_eq!(get(&client, "/x").await.unwrap(), "by proxy");
    assert!(seen.lock().unwrap()[0].starts_with("GET http://zonewright.test:81/x "), "{seen:?}");
    assert!(seen.lock().unwrap()[0].contains("proxy-authorization: Basic bWU6cGFzcw=="), "{seen:?}");
    let direct = builder(&server.url()).connection(connection).build().unwrap();
    assert_eq!(get(&direct, "/x").await.unwrap(), "GET /x ");
    assert_eq!(seen.lock().unwrap().len(), 1);
    assert_eq!(server.header("proxy-authorization"), None);
}

#[tokio::test]
async fn a_proxy_may_be_spoken_to_by_tls() {
    let (certified, server) = (Certified::new(), Server::plain().await);
    // It is a server like any other here: plain requests come to it with the whole address.
    let proxy = Server::tls(&certified, None).await;
    let tls = Tls { authorities: Some(certified.authority()), ..Tls::default() };
    let connection = Connection { tls, ..through(&proxy.url(), "HTTP_PROXY") };
    let client = builder("http://zonewright.test").connection(connection).build().unwrap();
    assert_eq!(get(&client, "/x").await.unwrap(), "GET /x ");
    assert_eq!((proxy.requests(), server.requests(), proxy.version().as_str()), (1, 0, "HTTP/1.1"));
}

#[tokio::test]
async fn a_server_that_takes_connections_and_no_tls_is_no_connection() {
    let certified = Certified::new();
    let silent = cutting("", false).await.replace("http://", "https://");
    let tls = Tls { authorities: Some(certified.authority()), ..Tls::default() };
    let connection = Connection { tls, connect_timeout: Duration::from_millis(80), ..Connection::default() };
    let client = builder(&silent).connection(connection).build().unwrap();
    let failure = client.send("post", &Request::new(Method::POST, "/x")).await.unwrap_err();
    assert_eq!((failure.error.kind, failure.delivery), (ErrorKind::Unavailable, Delivery::NotSent));
    assert!(failure.error.chain().contains("no connection within 0.08 s"), "{}", failure.error.chain());
}

#[tokio::test]
async fn a_socks_proxy_is_used_too() {
    let server = Server::plain().await;
    let proxy = socks_proxy(server.address()).await;
    let client = builder("http://192.0.2.1").connection(through(&format!("socks5://{proxy}"), "HTTP_PROXY"));
    assert_eq!(get(&client.build().unwrap(), "/x").await.unwrap(), "GET /x ");
}

#[tokio::test]
async fn nobody_there_is_no_connection() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let client = builder(&format!("http://{address}/?token=s3cret")).build().unwrap();
    let failure = client.send("post", &Request::new(Method::POST, "/x")).await.unwrap_err();
    assert_eq!((failure.error.kind, failure.delivery), (ErrorKind::Unavailable, Delivery::NotSent));
    let shown = format!("{failure:?} {}", failure.error.chain());
    assert!(shown.contains("refused") && !shown.contains("s3cret"), "{shown}");
}

#[tokio::test]
async fn a_cut_or_garbled_answer_leaves_open_what_was_done() {
    for bytes in [
        "",
        "HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n[",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 204 No Con",
        "garbage\r\n\r\n",
    ] {
        let client = builder(&cutting(bytes, true).await).build().unwrap();
        let failure =
            client.send("post", &Request::new(Method::POST, "/x").query("token", "s3cret")).await.unwrap_err();
        assert_eq!((failure.error.kind, failure.delivery), (ErrorKind::Unavailable, Delivery::Unknown), "{bytes:?}");
        assert!(failure.error.context.contains("the connection broke"), "{failure}");
        assert!(!failure.error.chain().contains("s3cret"), "{failure}");
    }
}

#[tokio::test]
async fn of_a_refusal_the_beginning_is_enough() {
    let client = builder(&cutting("HTTP/1.1 409 Conflict\r\ncontent-length: 50\r\n\r\nis there", true).await);
    let failure = client.build().unwrap().send("post", &Request::new(Method::POST, "/x")).await.unwrap_err();
    assert_eq!((failure.status, failure.delivery), (Some(StatusCode::CONFLICT), Delivery::Refused));
    assert!(failure.error.context.contains("is there"), "{failure}");
}

#[tokio::test]
async fn a_slow_answer_ends_at_the_time_out() {
    for bytes in ["", "HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n["] {
        let client = builder(&cutting(bytes, false).await).timeout(Duration::from_millis(80)).build().unwrap();
        let failure = get(&client, "/x").await.unwrap_err();
        assert_eq!((failure.error.kind, failure.delivery), (ErrorKind::Timeout, Delivery::Unknown), "{bytes:?}");
    }
}

#[tokio::test]
async fn an_endless_body_ends_at_the_limit() {
    let server = Server::plain().await;
    let client = builder(&server.url()).limit(Some(1000)).build().unwrap();
    let failure = get(&client, "/endless").await.unwrap_err();
    assert!(failure.error.context.contains("larger than 1000 bytes"), "{failure}");
    for (limit, fits) in [("GET /x ".len(), true), ("GET /x ".len() - 1, false)] {
        let client = builder(&server.url()).limit(Some(limit)).build().unwrap();
        assert_eq!(get(&client, "/x").await.is_ok(), fits, "{limit}");
    }
    let failure = get(&client, "/endless-refusal").await.unwrap_err();
    assert_eq!(failure.status, Some(StatusCode::BAD_REQUEST));
}

#[tokio::test]
async fn a_kept_connection_that_the_server_closed_is_no_failure() {
    let server = Server::plain().await;
    let client = builder(&server.url()).build().unwrap();
    get(&client, "/x").await.unwrap();
    server.close_connections().await;
    let answer = client.send("post", &Request::new(Method::POST, "/x")).await.unwrap();
    assert_eq!(answer.body, "POST /x ");
    assert_eq!(server.connections(), 2);
}
