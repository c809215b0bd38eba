//! Whom to be towards the service, and how that is read anew.
//!
//! Application Default Credentials, in the vendor's order: the file of a variable, the file of the vendor's tool, the metadata server.
//! A file is read for each request, so that one that changes counts at once; its token is kept until shortly before its end.
//!
//! <https://cloud.google.com/docs/authentication/application-default-credentials>

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ring::digest::{SHA256, digest};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::Mutex;
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_http::{Credentials, Fixed, Headers, header};

use crate::key;
use crate::metadata::Metadata;
use crate::token::{Token, Way, fetch};

/// The variable that names a file.
pub(crate) const FILE: &str = "GOOGLE_APPLICATION_CREDENTIALS";
/// The variable that names the folder of the vendor's tool.
const FOLDER: &str = "CLOUDSDK_CONFIG";
/// The file of the vendor's tool.
const WELL_KNOWN: &str = "application_default_credentials.json";
/// A token is asked for anew so long before its end, or half its life if that is shorter.
const BEFORE: Duration = Duration::from_secs(225);

const READ: &str = "read credentials";

/// Credentials, and where they were found.
pub(crate) struct Access {
    source: Source,
    /// Where they were found, for messages.
    place: String,
    way: Way,
    metadata: Arc<Metadata>,
    held: Mutex<Option<Held>>,
}

enum Source {
    Token(SecretString),
    Text(SecretString),
    File(PathBuf),
    Metadata,
}

/// A token that is in use.
struct Held {
    token: SecretString,
    /// Of what it was got for.
    digest: Vec<u8>,
    fresh_until: Instant,
    good_until: Instant,
}

impl Access {
    /// The credentials of a Secret, else those of the environment.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] if what a Secret holds cannot be used, naming the key.
    pub(crate) fn find(
        secrets: &BTreeMap<String, SecretString>,
        variable: &dyn Fn(&str) -> Option<String>,
        way: Way,
        metadata: Arc<Metadata>,
    ) -> Result<Self> {
        let secret = |key: &str| secrets.get(key).filter(|text| !text.expose_secret().trim().is_empty());
        let (source, place) = if let Some(token) = secret("accessToken") {
            let token = SecretString::from(token.expose_secret().trim());
            let place = "the Secret's accessToken".to_owned();
            let unusable = || missing(&format!("{place} has characters that a header cannot have"));
            Fixed::bearer(&token).map_err(|_| unusable())?;
            (Source::Token(token), place)
        } else if let Some(text) = secret("credentials") {
            let place = "the Secret's credentials".to_owned();
            key::parse(text.expose_secret()).map_err(|why| missing(&format!("{place}: {why}")))?;
            (Source::Text(text.clone()), place)
        } else {
            default(variable, &metadata)
        };
        Ok(Self { source, place, way, metadata, held: Mutex::default() })
    }

    /// What tells accounts apart. A file counts by its path: its content changes.
    pub(crate) fn identity(&self) -> SecretString {
        match &self.source {
            Source::Token(text) | Source::Text(text) => text.clone(),
            Source::File(path) => path.display().to_string().into(),
            Source::Metadata => self.metadata.host().into(),
        }
    }

    /// Where they were found, for messages.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// The text that a token is got for; empty where there is none.
    fn text(&self) -> Result<SecretString> {
        match &self.source {
            Source::Text(text) | Source::Token(text) => Ok(text.clone()),
            Source::Metadata => Ok(SecretString::from("")),
            Source::File(path) => std::fs::read_to_string(path).map(SecretString::from).map_err(|error| {
                Error::new(ErrorKind::Unauthorized, READ, format!("{} cannot be read: {error}", self.place))
            }),
        }
    }

    async fn token(&self) -> Result<SecretString> {
        let text = self.text()?;
        if let Source::Token(token) = &self.source {
            return Ok(token.clone());
        }
        let of = digest(&SHA256, text.expose_secret().as_bytes()).as_ref().to_vec();
        let mut held = self.held.lock().await;
        let same = held.as_ref().filter(|held| held.digest == of);
        if let Some(held) = same.filter(|held| Instant::now() < held.fresh_until) {
            return Ok(held.token.clone());
        }
        match self.ask(&text).await {
            Ok(Token { secret, lifetime }) => {
                let (now, early) = (Instant::now(), BEFORE.min(lifetime / 2));
                let fresh = lifetime.saturating_sub(early);
                *held = Some(Held {
                    token: secret.clone(),
                    digest: of,
                    fresh_until: now + fresh,
                    good_until: now + lifetime,
                });
                Ok(secret)
            }
            // Whoever gives tokens is away for a while; the one at hand is still good.
            Err(error) => match same.filter(|held| Instant::now() < held.good_until) {
                Some(held) if error.kind != ErrorKind::Unauthorized => Ok(held.token.clone()),
                _ => Err(error),
            },
        }
    }

    async fn ask(&self, text: &SecretString) -> Result<Token> {
        let asked = match &self.source {
            Source::Metadata => self.metadata.token().await,
            _ => match key::parse(text.expose_secret()) {
                Ok(key) => fetch(&self.way, &key).await,
                Err(why) => Err(Error::new(ErrorKind::Unauthorized, READ, why)),
            },
        };
        asked.map_err(|error| {
            // Whatever refuses a key refuses the credentials.
            let refused = matches!(
                error.kind,
                ErrorKind::Invalid
                    | ErrorKind::NotFound
                    | ErrorKind::Conflict
                    | ErrorKind::Unsupported
                    | ErrorKind::Configuration
            );
            let kind = if refused { ErrorKind::Unauthorized } else { error.kind };
            let context = format!("{}: {}", self.place, error.context);
            Error::new(kind, READ, context).retry(error.retry)
        })
    }
}

/// Application Default Credentials.
fn default(variable: &dyn Fn(&str) -> Option<String>, metadata: &Metadata) -> (Source, String) {
    let given = |name: &str| variable(name).filter(|text| !text.trim().is_empty());
    if let Some(path) = given(FILE) {
        return (Source::File(PathBuf::from(path.trim())), format!("the credentials in {} ({FILE})", path.trim()));
    }
    let folder = given(FOLDER).map(PathBuf::from);
    let folder = folder.or_else(|| given("HOME").map(|home| PathBuf::from(home).join(".config/gcloud")));
    let path = folder.map(|folder| folder.join(WELL_KNOWN));
    if let Some(path) = path.clone().filter(|path| path.is_file()) {
        let place = format!("the credentials in {}", path.display());
        return (Source::File(path), place);
    }
    let looked = path.map_or_else(String::new, |path| format!(", {} is not there", path.display()));
    let place = format!("the service account of the metadata server {} ({FILE} is not set{looked})", metadata.host());
    (Source::Metadata, place)
}

fn missing(context: &str) -> Error {
    Error::new(ErrorKind::Configuration, READ, context)
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Access({})", self.place)
    }
}

#[async_trait]
impl Credentials for Access {
    async fn headers(&self) -> Result<Headers> {
        let token = self.token().await?;
        Ok(vec![(header::AUTHORIZATION, format!("Bearer {}", token.expose_secret()).into())])
    }

    async fn rejected(&self, headers: &Headers) -> bool {
        let bearer = |token: &SecretString| format!("Bearer {}", token.expose_secret());
        let is_used = |token: &SecretString| headers.iter().any(|(_, value)| value.expose_secret() == bearer(token));
        let mut held = self.held.lock().await;
        if held.as_ref().is_some_and(|held| is_used(&held.token)) {
            *held = None;
        }
        drop(held);
        self.token().await.is_ok_and(|token| !is_used(&token))
    }
}

#[cfg(test)]
#[path = "credentials_tests.rs"]
mod tests;
