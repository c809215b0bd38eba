//! How a token is got for an identity.
//!
//! <https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow>,
//! <https://learn.microsoft.com/entra/identity-platform/certificate-credentials>,
//! <https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token>

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_http::oauth::{AccessToken, TokenWay, read_token, sign, signing_key};
use zonewright_http::{HeaderName, Request};

use crate::cloud::Cloud;
use crate::identity::{Identity, read};

/// Where every machine has its metadata server.
const METADATA: &str = "http://169.254.169.254";
/// The version of its interface.
const VERSION: &str = "2018-02-01";
/// Whoever asks says so, lest it is asked by mistake through a form or a redirection.
const ASKED: HeaderName = HeaderName::from_static("metadata");
/// How long the statement of a certificate is good.
const GOOD: Duration = Duration::from_mins(10);

/// Where tokens are given.
#[derive(Debug)]
pub(crate) struct Issuers {
    pub(crate) cloud: Cloud,
    /// In place of the cloud's, for workload identity.
    pub(crate) authority: Option<String>,
    /// In place of the usual address of metadata servers.
    pub(crate) metadata: Option<String>,
    pub(crate) way: TokenWay,
}

impl Issuers {
    /// A token for requests of Azure Resource Manager.
    ///
    /// # Errors
    /// There is none; `context` says why, and not for which credentials.
    pub(crate) async fn fetch(&self, identity: &Identity) -> Result<AccessToken> {
        match identity {
            Identity::Secret { tenant, client, secret } => {
                let secret = [("client_secret", secret.expose_secret())];
                self.ask(&address(&self.cloud.authority, tenant), client, &secret).await
            }
            Identity::Certificate { tenant, client, path } => {
                let url = address(&self.cloud.authority, tenant);
                let statement = statement(path, client, &url, SystemTime::now()).map_err(unusable)?;
                self.assert(&url, client, &statement).await
            }
            Identity::Workload { tenant, client, path } => {
                let token = read(path).map_err(unusable)?.expose_secret().trim().to_owned();
                if token.is_empty() {
                    return Err(unusable(format!("{} is empty", path.display())));
                }
                let authority = self.authority.as_ref().unwrap_or(&self.cloud.authority);
                self.assert(&address(authority, tenant), client, &token.into()).await
            }
            Identity::Managed { client } => self.managed(client.as_deref()).await,
        }
    }

    async fn assert(&self, url: &str, client: &str, assertion: &SecretString) -> Result<AccessToken> {
        let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
        let fields = [("client_assertion_type", kind), ("client_assertion", assertion.expose_secret())];
        self.ask(url, client, &fields).await
    }

    async fn ask(&self, url: &str, client: &str, proof: &[(&str, &str)]) -> Result<AccessToken> {
        let scope = self.cloud.scope();
        let who = [("grant_type", "client_credentials"), ("client_id", client), ("scope", &scope)];
        let fields: Vec<(&str, &str)> = who.iter().chain(proof).copied().collect();
        self.way.form(url, &fields, None).await
    }

    async fn managed(&self, client: Option<&str>) -> Result<AccessToken> {
        const READ: &str = "read token";
        let host = self.metadata.as_deref().unwrap_or(METADATA).trim_end_matches('/');
        let mut request = Request::get("/metadata/identity/oauth2/token")
            .query("api-version", VERSION)
            .query("resource", &self.cloud.audience)
            .header(ASKED, "true");
        if let Some(client) = client {
            request = request.query("client_id", client);
        }
        let answer = self.way.direct(host)?.send(READ, &request).await?;
        read_token(READ, &answer)
    }
}

/// Where a tenant gives tokens.
fn address(authority: &str, tenant: &str) -> String {
    format!("{}/{tenant}/oauth2/v2.0/token", authority.trim_end_matches('/'))
}

/// The signed statement that one is an application (RFC 7523).
///
/// # Errors
/// The file holds no certificate with its key.
fn statement(path: &Path, client: &str, url: &str, now: SystemTime) -> Result<SecretString, String> {
    let file = || format!("the file {}", path.display());
    let pem = read(path)?;
    let certificate = CertificateDer::from_pem_slice(pem.expose_secret().as_bytes()).map_err(|_| {
        format!(
            "{} holds no certificate in PEM form; expected one with its private key (a .pfx file is converted by `openssl \
             pkcs12 -in FILE.pfx -out FILE.pem -nodes`)",
            file()
        )
    })?;
    let key = signing_key(&pem, "private key").map_err(|why| format!("{}: {why}", file()))?;
    let thumbprint = digest(&SHA1_FOR_LEGACY_USE_ONLY, &certificate);
    let head = json!({ "alg": "RS256", "typ": "JWT", "x5t": URL_SAFE_NO_PAD.encode(thumbprint) });
    let now = now.duration_since(UNIX_EPOCH).map(|since| since.as_secs()).unwrap_or_default();
    let id = format!("{:032x}", rand::random::<u128>());
    let claims = json!({
        "aud": url, "iss": client, "sub": client, "jti": id, "iat": now, "nbf": now, "exp": now + GOOD.as_secs(),
    });
    sign(&head, &claims, &key).map_err(|why| format!("{}: {why}", file()))
}

fn unusable(context: String) -> Error {
    Error::new(ErrorKind::Unauthorized, "ask for a token", context)
}
