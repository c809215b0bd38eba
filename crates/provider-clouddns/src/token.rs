//! Tokens, and how they are got for a key.
//!
//! In: a [`Key`]. Out: a token and how long it is good. Requests for tokens go by clients of their own, each with its own account: the
//! request that waits for a token has its turn in the service's account already. What must hold: neither a key nor a token appears in
//! an error.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use zonewright_core::shared::Shared;
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_http::{
    Answer, Client, Connection, Explanation, HeaderName, Method, Patience, Proxies, Repeat, Request, RequestTimes,
    RetryPolicy, header,
};

use crate::key::{External, Impersonation, Key, ServiceAccount, Subject, SubjectPlace, User};

/// What a token is for: zones and records, and nothing else.
pub(crate) const SCOPE: &str = "https://www.googleapis.com/auth/ndev.clouddns.readwrite";
/// What a token is for by which another one is asked for.
const WIDE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// How long a token is good where nobody says it.
const LIFETIME: Duration = Duration::from_hours(1);

const ASK: &str = "ask for a token";

/// A token.
#[derive(Debug)]
pub(crate) struct Token {
    pub(crate) secret: SecretString,
    /// From now on.
    pub(crate) lifetime: Duration,
}

/// How requests for tokens are sent: as those of the service are.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    proxies: Proxies,
    timeout: Duration,
    retry: RetryPolicy,
    times: RequestTimes,
}

impl Way {
    /// By the proxies of the environment.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] if one of them cannot be used.
    pub(crate) fn of(shared: &Shared) -> Result<Self> {
        let patience = shared.get::<Patience>();
        Ok(Self {
            proxies: Proxies::from_env()?,
            timeout: patience.timeout(),
            retry: patience.retry(),
            times: RequestTimes::clone(&shared.get()),
        })
    }

    /// A client for one address. It is made anew for each token, which is once an hour.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] if it cannot be used.
    pub(crate) fn client(&self, url: &str, proxies: Proxies) -> Result<Client> {
        Client::builder(url)?
            .connection(Connection { proxies, ..Connection::default() })
            .explain(explain)
            .timeout(self.timeout)
            .retry(self.retry)
            .times(self.times.clone())
            .build()
    }

    async fn post(&self, url: &str, request: impl FnOnce(Request) -> Request) -> Result<Token> {
        // A second token does no harm.
        let request = request(Request::new(Method::POST, "")).repeat(Repeat::Idempotent);
        let answer = self.client(url, self.proxies.clone())?.send(ASK, &request).await?;
        read_token(ASK, &answer)
    }

    async fn form(&self, url: &str, fields: &[(&str, &str)], user: Option<&(String, SecretString)>) -> Result<Token> {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.post(url, |request| {
            let request = request.body("application/x-www-form-urlencoded", body);
            match user {
                Some((name, secret)) => {
                    let pair = STANDARD.encode(format!("{name}:{}", secret.expose_secret()));
                    request.header(header::AUTHORIZATION, &format!("Basic {pair}"))
                }
                None => request,
            }
        })
        .await
    }
}

/// What an answer without a token says, in either of two forms.
fn explain(answer: &Answer) -> Option<Explanation> {
    let body: Value = answer.json().ok()?;
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let message = match body.get("error")? {
        Value::String(code) => match text(body.get("error_description")) {
            Some(said) => format!("{said} ({code})"),
            None => code.clone(),
        },
        error => text(error.get("message"))?,
    };
    Some(Explanation { message, ..Explanation::default() })
}

/// Reads a token out of an answer.
///
/// # Errors
/// [`ErrorKind::Protocol`] if there is none. Nothing of the answer is shown.
pub(crate) fn read_token(operation: &'static str, answer: &Answer) -> Result<Token> {
    #[derive(Deserialize)]
    struct Body {
        #[serde(alias = "accessToken")]
        access_token: String,
        #[serde(default)]
        expires_in: Option<u64>,
    }
    let body: Option<Body> = answer.json().ok();
    let body = body.filter(|body| !body.access_token.trim().is_empty());
    let body = body.ok_or_else(|| Error::new(ErrorKind::Protocol, operation, "the answer has no token"))?;
    Ok(Token {
        secret: body.access_token.trim().to_owned().into(),
        lifetime: body.expires_in.map_or(LIFETIME, Duration::from_secs),
    })
}

/// A token for zones and records.
///
/// # Errors
/// There is none; `context` says why, and not for which credentials.
pub(crate) async fn fetch(way: &Way, key: &Key) -> Result<Token> {
    match key {
        Key::Impersonated(source, impersonation) => {
            let token = by_itself(way, source, WIDE).await?;
            impersonate(way, impersonation, &token).await
        }
        Key::External(External { impersonation: Some(impersonation), .. }) => {
            let token = by_itself(way, key, WIDE).await?;
            impersonate(way, impersonation, &token).await
        }
        key => by_itself(way, key, SCOPE).await,
    }
}

async fn by_itself(way: &Way, key: &Key, scope: &str) -> Result<Token> {
    match key {
        Key::ServiceAccount(account) => {
            let assertion = assertion(account, scope, SystemTime::now()).map_err(unusable)?;
            let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
            let fields = [("grant_type", grant), ("assertion", assertion.expose_secret())];
            way.form(&account.token_uri, &fields, None).await
        }
        Key::User(user) => {
            let User { client_id, client_secret, refresh_token, token_uri } = user;
            let fields = [
                ("grant_type", "refresh_token"),
                ("client_id", client_id),
                ("client_secret", client_secret.expose_secret()),
                ("refresh_token", refresh_token.expose_secret()),
            ];
            way.form(token_uri, &fields, None).await
        }
        Key::External(external) => exchange(way, external, scope).await,
        Key::Impersonated(..) => Err(unusable("credentials stand in for others that do so themselves".to_owned())),
    }
}

/// Exchanges the token of another issuer (RFC 8693).
async fn exchange(way: &Way, external: &External, scope: &str) -> Result<Token> {
    let subject = subject(way, &external.subject).await?;
    let fields = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
        ("audience", &external.audience),
        ("scope", scope),
        ("subject_token_type", &external.token_type),
        ("subject_token", subject.expose_secret()),
    ];
    way.form(&external.token_url, &fields, external.client.as_ref()).await
}

/// The token of another issuer.
async fn subject(way: &Way, subject: &Subject) -> Result<SecretString> {
    let (text, place) = match &subject.place {
        SubjectPlace::File(path) => {
            let place = path.display().to_string();
            let text = std::fs::read_to_string(path)
                .map_err(|error| unusable(format!("the token in {place} cannot be read: {error}")))?;
            (text, place)
        }
        SubjectPlace::Url { url, headers } => {
            let client = way.client(url, way.proxies.clone())?;
            let mut request = Request::get("");
            for (name, value) in headers {
                let name = HeaderName::from_bytes(name.as_bytes())
                    .map_err(|_| unusable("a header of its credential_source has no possible name".to_owned()))?;
                request = request.header(name, value);
            }
            let answer = client.send("read the token of another issuer", &request).await?;
            (String::from_utf8_lossy(&answer.body).into_owned(), client.address())
        }
    };
    let token = match &subject.field {
        None => Some(text.trim().to_owned()),
        Some(field) => {
            let value: Option<Value> = serde_json::from_str(&text).ok();
            value.as_ref().and_then(|value| value.get(field)?.as_str()).map(|token| token.trim().to_owned())
        }
    };
    let token = token.filter(|token| !token.is_empty());
    token.map(SecretString::from).ok_or_else(|| {
        let what = subject.field.as_ref().map_or_else(String::new, |field| format!(" in a field {field}"));
        unusable(format!("{place} holds no token{what}"))
    })
}

/// A token of the service account in whose place requests are made.
async fn impersonate(way: &Way, impersonation: &Impersonation, token: &Token) -> Result<Token> {
    let Impersonation { url, lifetime } = impersonation;
    let body = json!({ "scope": [SCOPE], "lifetime": format!("{lifetime}s") });
    let bearer = format!("Bearer {}", token.secret.expose_secret());
    let made = way.post(url, |request| request.json(&body).header(header::AUTHORIZATION, &bearer)).await?;
    // The answer states a time of day; what was asked for is as long as it is good.
    Ok(Token { lifetime: Duration::from_secs(*lifetime), ..made })
}

/// The signed statement that one is a service account (RFC 7523).
///
/// # Errors
/// The key is none.
fn assertion(account: &ServiceAccount, scope: &str, now: SystemTime) -> Result<SecretString, String> {
    let seconds = now.duration_since(UNIX_EPOCH).map(|since| since.as_secs()).unwrap_or_default();
    let mut head = json!({ "alg": "RS256", "typ": "JWT" });
    if let Some(id) = &account.key_id {
        head["kid"] = json!(id);
    }
    let claims = json!({
        "iss": account.email,
        "scope": scope,
        "aud": account.token_uri,
        "iat": seconds,
        "exp": seconds + LIFETIME.as_secs(),
    });
    let mut text =
        format!("{}.{}", URL_SAFE_NO_PAD.encode(head.to_string()), URL_SAFE_NO_PAD.encode(claims.to_string()));
    let key = key_pair(account)?;
    let mut signature = vec![0; key.public().modulus_len()];
    let signed = key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature);
    signed.map_err(|_| "its private_key cannot sign".to_owned())?;
    text.push('.');
    text.push_str(&URL_SAFE_NO_PAD.encode(signature));
    Ok(text.into())
}

fn key_pair(account: &ServiceAccount) -> Result<RsaKeyPair, String> {
    let wrong = || "its private_key is not understood; expected an RSA key in PEM form".to_owned();
    let der = PrivateKeyDer::from_pem_slice(account.key.expose_secret().as_bytes()).map_err(|_| wrong())?;
    match der {
        PrivateKeyDer::Pkcs8(der) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()),
        PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()),
        _ => return Err(wrong()),
    }
    .map_err(|_| wrong())
}

fn unusable(context: String) -> Error {
    Error::new(ErrorKind::Unauthorized, ASK, context)
}
