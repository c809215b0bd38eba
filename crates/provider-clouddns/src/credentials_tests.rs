use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Mutex as Lock;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::{Value, json};
use zonewright_core::shared::Shared;
use zonewright_http::Patience;

use super::*;

/// An RSA key made for these tests alone.
const KEY: &str = include_str!("../tests/common/key.pem");
/// Its public half.
const PUBLIC: &str = include_str!("../tests/common/key.pub.pem");

/// The bytes of the public half as PKCS#1 has them: what comes before them in the file says that it is an RSA key.
fn public() -> Vec<u8> {
    let lines: String = PUBLIC.lines().filter(|line| !line.starts_with("-----")).collect();
    STANDARD.decode(lines).unwrap().split_off(24)
}

/// Whoever gives tokens: answers each request by its number and text.
struct Server {
    url: String,
    requests: Arc<Lock<Vec<String>>>,
}

impl Server {
    fn start(answer: impl Fn(usize, &str) -> (u16, Value) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Lock::new(Vec::new()));
        let seen = requests.clone();
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let Ok(mut stream) = stream else { return };
                let text = request(&mut stream);
                let (status, body) = answer(number, &text);
                seen.lock().unwrap().push(text);
                let body = body.to_string();
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status} x\r\nmetadata-flavor: Google\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
                );
                let _ = stream.write_all(format!("{head}{body}").as_bytes());
            }
        });
        Self { url, requests }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Head and body of one request.
fn request(stream: &mut std::net::TcpStream) -> String {
    let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let seen = String::from_utf8_lossy(&text).to_ascii_lowercase();
        if let Some((head, body)) = seen.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
            if body.len() >= length {
                return String::from_utf8(text).unwrap();
            }
        }
        match stream.read(&mut buffer).unwrap() {
            0 => return String::from_utf8(text).unwrap(),
            count => text.extend(buffer.iter().take(count)),
        }
    }
}

fn token(text: &str) -> (u16, Value) {
    (200, json!({ "access_token": text, "expires_in": 3600, "token_type": "Bearer" }))
}

fn way() -> TokenWay {
    let shared = Shared::default();
    shared.get::<Patience>().set(Duration::from_secs(2), Duration::from_millis(1));
    TokenWay::of(&shared).unwrap()
}

fn find(secrets: &[(&str, &str)], environment: &[(&str, &str)]) -> Result<Access> {
    let secrets = secrets.iter().map(|(key, text)| ((*key).to_owned(), SecretString::from(*text))).collect();
    let variable =
        |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
    let metadata = Arc::new(Metadata::new(variable(crate::metadata::HOST), way()));
    Access::find(&secrets, &variable, way(), metadata)
}

/// Credentials of a Secret's key.
fn with_key(key: &Value) -> Access {
    find(&[("credentials", &key.to_string())], &[]).unwrap()
}

async fn bearer(access: &Access) -> Result<String> {
    let headers = access.headers().await?;
    Ok(headers[0].1.expose_secret().to_owned())
}

fn account(url: &str) -> Value {
    json!({
        "type": "service_account", "client_email": "dns@shop.test", "private_key_id": "k1", "private_key": KEY,
        "token_uri": format!("{url}/token"),
    })
}

/// The fields of a form.
fn form(request: &str) -> Vec<(String, String)> {
    let body = request.split_once("\r\n\r\n").unwrap().1;
    form_urlencoded::parse(body.as_bytes()).into_owned().collect()
}

fn field(request: &str, name: &str) -> String {
    form(request).into_iter().find(|(key, _)| key == name).map(|(_, value)| value).unwrap_or_default()
}

#[tokio::test]
async fn a_service_account_signs_and_keeps_its_token() {
    let server = Server::start(|number, _| token(&format!("t{number}")));
    let access = with_key(&account(&server.url));
    assert_eq!(bearer(&access).await.unwrap(), "Bearer t0");
    assert_eq!(bearer(&access).await.unwrap(), "Bearer t0", "asked for once");
    let asked = &server.requests()[0];
    assert_eq!(field(asked, "grant_type"), "urn:ietf:params:oauth:grant-type:jwt-bearer");
    let assertion = field(asked, "assertion");
    let (signed, signature) = assertion.rsplit_once('.').unwrap();
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public());
    key.verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
    let part = |at: usize| -> Value {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(signed.split('.').nth(at).unwrap()).unwrap()).unwrap()
    };
    assert_eq!(part(0), json!({ "alg": "RS256", "typ": "JWT", "kid": "k1" }));
    let claims = part(1);
    assert_eq!((&claims["iss"], &claims["scope"]), (&json!("dns@shop.test"), &json!(crate::token::SCOPE)));
    assert_eq!(claims["aud"], json!(format!("{}/token", server.url)));
    assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 3_600);
}

#[tokio::test]
async fn a_token_that_is_refused_is_asked_for_anew() {
    let server = Server::start(|number, _| token(&format!("t{number}")));
    let access = with_key(&account(&server.url));
    let first = access.headers().await.unwrap();
    assert!(access.rejected(&first).await, "there is another one");
    assert_eq!(bearer(&access).await.unwrap(), "Bearer t1");
    assert!(access.rejected(&first).await, "that of before is no longer in use");
    assert_eq!(server.requests().len(), 2);
    let fixed = find(&[("accessToken", " s3cret\n")], &[]).unwrap();
    let headers = fixed.headers().await.unwrap();
    assert_eq!(bearer(&fixed).await.unwrap(), "Bearer s3cret");
    assert!(!fixed.rejected(&headers).await);
}

#[tokio::test]
async fn a_user_gives_a_refresh_token() {
    let server = Server::start(|_, _| token("u"));
    let access = with_key(&json!({
        "type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "r/1",
        "token_uri": server.url,
    }));
    assert_eq!(bearer(&access).await.unwrap(), "Bearer u");
    let asked = &server.requests()[0];
    assert_eq!((field(asked, "grant_type"), field(asked, "refresh_token")), ("refresh_token".into(), "r/1".into()));
}

#[tokio::test]
async fn a_token_of_another_issuer_is_exchanged_and_stands_in_for_an_account() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    std::fs::write(&path, r#"{"id":"first"}"#).unwrap();
    let server = Server::start(|number, asked| match asked.lines().next().unwrap() {
        line if line.contains("/sts") => token("federated"),
        _ => (200, json!({ "accessToken": format!("a{number}"), "expireTime": "2036-01-01T00:00:00Z" })),
    });
    let access = with_key(&json!({
        "type": "external_account", "audience": "//iam/pool", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": format!("{}/sts", server.url),
        "service_account_impersonation_url": format!("{}/iam", server.url),
        "credential_source": { "file": path, "format": { "type": "json", "subject_token_field_name": "id" } },
    }));
    assert_eq!(bearer(&access).await.unwrap(), "Bearer a1");
    std::fs::write(&path, r#"{"id":"second"}"#).unwrap();
    let first = access.headers().await.unwrap();
    assert!(access.rejected(&first).await);
    let asked = server.requests();
    let subjects: Vec<String> = [0, 2].map(|at| field(&asked[at], "subject_token")).into();
    assert_eq!(subjects, ["first", "second"], "the file is read for each token");
    assert_eq!(field(&asked[0], "scope"), "https://www.googleapis.com/auth/cloud-platform");
    assert!(
        asked[1].contains("authorization: Bearer federated") && asked[1].contains(crate::token::SCOPE),
        "{}",
        asked[1]
    );
}

#[tokio::test]
async fn a_token_of_another_issuer_may_come_from_an_address() {
    let server = Server::start(|_, asked| match asked.lines().next().unwrap() {
        line if line.contains("/subject") => (200, json!("raw")),
        _ => token("federated"),
    });
    let access = with_key(&json!({
        "type": "external_account", "audience": "a", "subject_token_type": "t",
        "token_url": format!("{}/sts", server.url),
        "credential_source": { "url": format!("{}/subject", server.url), "headers": { "X-Who": "me" } },
    }));
    assert_eq!(bearer(&access).await.unwrap(), "Bearer federated");
    let asked = server.requests();
    assert!(asked[0].contains("x-who: me"), "{}", asked[0]);
    assert_eq!(
        (field(&asked[1], "subject_token"), field(&asked[1], "scope")),
        ("\"raw\"".into(), crate::token::SCOPE.into())
    );
}

#[tokio::test]
async fn the_metadata_server_comes_last() {
    let server = Server::start(|_, _| token("m"));
    let host = server.url.trim_start_matches("http://").to_owned();
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".config/gcloud");
    let text = home.path().display().to_string();
    let environment = [("HOME", text.as_str()), (crate::metadata::HOST, &host)];
    let access = find(&[], &environment).unwrap();
    assert_eq!(bearer(&access).await.unwrap(), "Bearer m");
    assert!(server.requests()[0].to_ascii_lowercase().contains("metadata-flavor: google"));
    assert!(access.place().contains(FILE) && access.place().contains(WELL_KNOWN), "{}", access.place());
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(WELL_KNOWN), account(&server.url).to_string()).unwrap();
    let access = find(&[], &environment).unwrap();
    assert!(access.place().ends_with(WELL_KNOWN), "{}", access.place());
    let named = [environment.as_slice(), &[(FILE, "/nowhere/key.json")]].concat();
    let error = bearer(&find(&[], &named).unwrap()).await.unwrap_err();
    assert!(error.kind == ErrorKind::Unauthorized && error.context.contains("/nowhere/key.json"), "{error}");
}

#[tokio::test]
async fn a_file_that_changes_counts_at_once() {
    let server = Server::start(|number, _| token(&format!("t{number}")));
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().display().to_string();
    std::fs::write(&path, account(&server.url).to_string()).unwrap();
    let access = find(&[], &[(FILE, &path)]).unwrap();
    assert_eq!(bearer(&access).await.unwrap(), "Bearer t0");
    let mut other = account(&server.url);
    other["private_key_id"] = json!("k2");
    std::fs::write(&path, other.to_string()).unwrap();
    assert_eq!(bearer(&access).await.unwrap(), "Bearer t1");
    std::fs::write(&path, "{").unwrap();
    let error = bearer(&access).await.unwrap_err();
    assert!(error.kind == ErrorKind::Unauthorized && error.context.contains(&path), "{error}");
}

#[tokio::test]
async fn a_refusal_says_whose_it_is_and_shows_no_secret() {
    let server =
        Server::start(|_, _| (400, json!({ "error": "invalid_grant", "error_description": "account not found" })));
    let error = bearer(&with_key(&account(&server.url))).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unauthorized);
    for said in ["the Secret's credentials", "account not found", "invalid_grant"] {
        assert!(error.context.contains(said), "{error}");
    }
    let leaky = Server::start(|_, _| (200, json!({ "token": "s3cret" })));
    let error = bearer(&with_key(&account(&leaky.url))).await.unwrap_err();
    assert!(error.kind == ErrorKind::Protocol && !error.to_string().contains("s3cret"), "{error}");
    let mut broken = account(&server.url);
    broken["private_key"] = json!("-----BEGIN PRIVATE KEY-----\ns3cret\n-----END PRIVATE KEY-----\n");
    let error = bearer(&with_key(&broken)).await.unwrap_err();
    assert!(error.context.contains("private_key") && !error.to_string().contains("s3cret"), "{error}");
}

#[test]
fn what_a_secret_holds_is_checked_at_once() {
    for (secrets, named) in [
        ([("credentials", "{")], "the Secret's credentials"),
        ([("credentials", r#"{"type":"s3cret"}"#)], "service_account"),
        ([("accessToken", "s3cret\u{1}")], "the Secret's accessToken"),
    ] {
        let error = find(&secrets, &[]).unwrap_err();
        assert!(error.kind == ErrorKind::Configuration && error.context.contains(named), "{error}");
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
}
