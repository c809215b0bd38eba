//! Tokens, and how they are got for a key.
//!
//! In: a [`Key`]. Out: a token and how long it is good. What must hold: neither a key nor a token appears in an error.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_http::oauth::{AccessToken, TokenWay, sign, signing_key};
use zonewright_http::{HeaderName, Request, header};

use crate::key::{External, Impersonation, Key, ServiceAccount, SubjectPlace, TokenSubject, User};

/// What a token is for: zones and records, and nothing else.
pub(crate) const SCOPE: &str = "https://www.googleapis.com/auth/ndev.clouddns.readwrite";
/// What a token is for by which another one is asked for.
const WIDE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// How long the statement of a service account is good.
const LIFETIME: Duration = Duration::from_hours(1);

const ASK: &str = "ask for a token";

/// A token for zones and records.
///
/// # Errors
/// There is none; `context` says why, and not for which credentials.
pub(crate) async fn fetch(way: &TokenWay, key: &Key) -> Result<AccessToken> {
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

async fn by_itself(way: &TokenWay, key: &Key, scope: &str) -> Result<AccessToken> {
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
async fn exchange(way: &TokenWay, external: &External, scope: &str) -> Result<AccessToken> {
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
async fn subject(way: &TokenWay, subject: &TokenSubject) -> Result<SecretString> {
    let (text, place) = match &subject.place {
        SubjectPlace::File(path) => {
            let place = path.display().to_string();
            let text = std::fs::read_to_string(path)
                .map_err(|error| unusable(format!("the token in {place} cannot be read: {error}")))?;
            (text, place)
        }
        SubjectPlace::Url { url, headers } => {
            let client = way.client(url)?;
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
async fn impersonate(way: &TokenWay, impersonation: &Impersonation, token: &AccessToken) -> Result<AccessToken> {
    let Impersonation { url, delegates, lifetime } = impersonation;
    let mut body = json!({ "scope": [SCOPE], "lifetime": format!("{lifetime}s") });
    if !delegates.is_empty() {
        body["delegates"] = json!(delegates);
    }
    let bearer = format!("Bearer {}", token.secret.expose_secret());
    let made = way.post(url, |request| request.json(&body).header(header::AUTHORIZATION, &bearer)).await?;
    // The answer states a time of day; what was asked for is as long as it is good.
    Ok(AccessToken { lifetime: Duration::from_secs(*lifetime), ..made })
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
    sign(&head, &claims, &signing_key(&account.key, "private_key")?)
}

fn unusable(context: String) -> Error {
    Error::new(ErrorKind::Unauthorized, ASK, context)
}
