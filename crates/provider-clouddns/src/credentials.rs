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

use async_trait::async_trait;
use secrecy::{ExposeSecret as _, SecretString};
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_http::oauth::{AccessToken, TokenCache, TokenWay, refused_at};
use zonewright_http::{Credentials, Fixed, Headers, header};

use crate::key;
use crate::metadata::Metadata;
use crate::token::fetch;

/// The variable that names a file.
pub(crate) const FILE: &str = "GOOGLE_APPLICATION_CREDENTIALS";
/// The variable that names the folder of the vendor's tool.
const FOLDER: &str = "CLOUDSDK_CONFIG";
/// The file of the vendor's tool.
const WELL_KNOWN: &str = "application_default_credentials.json";
const READ: &str = "read credentials";

/// Credentials, and where they were found.
pub(crate) struct Access {
    source: Source,
    /// Where they were found, for messages.
    place: String,
    way: TokenWay,
    metadata: Arc<Metadata>,
    held: TokenCache,
}

enum Source {
    Token(SecretString),
    Text(SecretString),
    File(PathBuf),
    Metadata,
}

impl Access {
    /// The credentials of a Secret, else those of the environment.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] if what a Secret holds cannot be used, naming the key.
    pub(crate) fn find(
        secrets: &BTreeMap<String, SecretString>,
        variable: &dyn Fn(&str) -> Option<String>,
        way: TokenWay,
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
        Ok(Self { source, place, way, metadata, held: TokenCache::default() })
    }

    /// Distinguishes accounts. A file counts by its path: its content changes.
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
        self.held.get(&text, || self.ask(&text)).await
    }

    async fn ask(&self, text: &SecretString) -> Result<AccessToken> {
        let asked = match &self.source {
            Source::Metadata => self.metadata.token().await,
            _ => match key::parse(text.expose_secret()) {
                Ok(key) => fetch(&self.way, &key).await,
                Err(why) => Err(Error::new(ErrorKind::Unauthorized, READ, why)),
            },
        };
        asked.map_err(|error| refused_at(&self.place, READ, error))
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
        self.held.rejected(headers).await;
        let Ok(token) = self.token().await else { return false };
        let bearer = format!("Bearer {}", token.expose_secret());
        headers.iter().all(|(_, value)| value.expose_secret() != bearer)
    }
}

#[cfg(test)]
#[path = "credentials_tests.rs"]
mod tests;
