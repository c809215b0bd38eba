//! Whom to be towards the service, and how that is read anew.
//!
//! `azure.json` and the files that it names are read for each request, so that one that changes counts at once; the token is kept until
//! shortly before its end.

use std::fmt;
use std::path::PathBuf;

use async_trait::async_trait;
use secrecy::{ExposeSecret as _, SecretString};
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_http::oauth::{TokenCache, refused_at};
use zonewright_http::{Credentials, Headers, header};

use crate::file;
use crate::identity::{Identity, Variables, read};
use crate::token::Issuers;

pub(crate) const READ: &str = "read credentials";

/// Where credentials are stated.
pub(crate) enum Source {
    /// A token as it is.
    Token(SecretString),
    /// The text of `azure.json`.
    Text(SecretString),
    /// `azure.json`.
    File(PathBuf),
}

impl Source {
    /// Its name in messages.
    pub(crate) fn origin(&self) -> String {
        match self {
            Self::Token(_) => "the Secret's accessToken".to_owned(),
            Self::Text(_) => "the Secret's azure.json".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// The text of `azure.json`.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn text(&self) -> Result<SecretString, String> {
        match self {
            Self::Token(_) => Ok(SecretString::from("{}")),
            Self::Text(text) => Ok(text.clone()),
            Self::File(path) => read(path),
        }
    }
}

/// Credentials, and where they were found.
pub(crate) struct Access {
    pub(crate) source: Source,
    pub(crate) variables: Variables,
    /// The managed identity of the flag.
    pub(crate) assigned: Option<String>,
    pub(crate) issuers: Issuers,
    /// Where they were found, for messages.
    pub(crate) place: String,
    held: TokenCache,
}

impl Access {
    /// Credentials of this source.
    ///
    /// # Errors
    /// What it says cannot be used; a sentence.
    pub(crate) fn new(
        source: Source,
        variables: Variables,
        assigned: Option<String>,
        issuers: Issuers,
    ) -> Result<Self, String> {
        let place = source.origin();
        let mut access = Self { source, variables, assigned, issuers, place, held: TokenCache::default() };
        if !matches!(access.source, Source::Token(_)) {
            access.place = access.identity()?.place(&access.place);
        }
        Ok(access)
    }

    /// Distinguishes accounts. A file counts by its path: its content changes.
    pub(crate) fn account(&self) -> SecretString {
        match &self.source {
            Source::Token(text) | Source::Text(text) => text.clone(),
            Source::File(path) => path.display().to_string().into(),
        }
    }

    /// The identity that is stated now.
    fn identity(&self) -> Result<Identity, String> {
        let text = self.source.text()?;
        let file = file::parse(text.expose_secret()).map_err(|why| format!("{}: {why}", self.source.origin()))?;
        Identity::of(file.identity, &self.variables, self.assigned.as_deref())
            .map_err(|why| format!("{}: {why}", self.source.origin()))
    }

    async fn token(&self) -> Result<SecretString> {
        if let Source::Token(token) = &self.source {
            return Ok(token.clone());
        }
        let unusable = |why| Error::new(ErrorKind::Unauthorized, READ, why);
        let identity = self.identity().map_err(unusable)?;
        let material = identity.material().map_err(|why| unusable(format!("{}: {why}", self.place)))?;
        let ask = || async {
            let asked = self.issuers.fetch(&identity).await;
            asked.map_err(|error| refused_at(&identity.place(&self.source.origin()), READ, error))
        };
        self.held.get(&material, ask).await
    }
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
