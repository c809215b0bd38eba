//! Whom to be towards the service, and how that is read anew.

use std::fmt;
use std::path::PathBuf;

use async_trait::async_trait;
use secrecy::{ExposeSecret as _, SecretString};
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_http::{Credentials, Fixed, HeaderName, Headers, header};

/// The variable that holds a token, or `file:` and the path of one.
pub(crate) const TOKEN: &str = "CF_API_TOKEN";
/// The variable that holds a global key.
pub(crate) const KEY: &str = "CF_API_KEY";
/// The variable that holds the address of the key's user.
pub(crate) const EMAIL: &str = "CF_API_EMAIL";
/// What stands before the path of a file.
const FILE: &str = "file:";

const READ: &str = "read credentials";

/// Credentials, and where they were found.
pub(crate) struct Access {
    kind: Kind,
    /// Where they were found, for messages.
    place: String,
}

enum Kind {
    Token(SecretString),
    /// Read for each request: a Secret that is mounted changes under the process.
    TokenFile(PathBuf),
    Key {
        email: SecretString,
        key: SecretString,
    },
}

/// What was found of credentials; a text that is empty counts as absent.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) token: Option<SecretString>,
    pub(crate) key: Option<SecretString>,
    pub(crate) email: Option<SecretString>,
}

impl Access {
    /// The credentials among what was found: a token before a key. `places` names where token, key and address were looked for.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] naming those places.
    pub(crate) fn of(found: Found, places: [&str; 3]) -> Result<Self> {
        let [token, key, email] = places;
        let given = |text: Option<SecretString>| {
            let text = text.map(|text| text.expose_secret().trim().to_owned());
            text.filter(|text| !text.is_empty()).map(SecretString::from)
        };
        if let Some(text) = given(found.token) {
            return Ok(match text.expose_secret().strip_prefix(FILE) {
                Some(path) => {
                    let path = PathBuf::from(path.trim());
                    Self { place: format!("the token in {} ({token})", path.display()), kind: Kind::TokenFile(path) }
                }
                None => Self { kind: Kind::Token(text), place: format!("the token of {token}") },
            });
        }
        match (given(found.key), given(found.email)) {
            (Some(secret), Some(address)) => Ok(Self {
                kind: Kind::Key { email: address, key: secret },
                place: format!("the key of {key} and {email}"),
            }),
            (Some(_), None) => Err(missing(&format!("{key} is set without {email}; expected both, or {token}"))),
            (None, Some(_)) => Err(missing(&format!("{email} is set without {key}; expected both, or {token}"))),
            (None, None) => Err(missing(&format!("there are no credentials; expected {token}, or {key} and {email}"))),
        }
    }

    /// Distinguishes accounts. A file counts by its path: its token changes.
    pub(crate) fn identity(&self) -> SecretString {
        match &self.kind {
            Kind::Token(token) => token.clone(),
            Kind::TokenFile(path) => path.display().to_string().into(),
            Kind::Key { email, .. } => email.clone(),
        }
    }

    /// Where the credentials were found, for messages.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    fn now(&self) -> Result<Headers> {
        let bearer = |token: &str| (header::AUTHORIZATION, SecretString::from(format!("Bearer {token}")));
        Ok(match &self.kind {
            Kind::Token(token) => vec![bearer(token.expose_secret())],
            Kind::TokenFile(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| {
                    denied(&format!("{} cannot be read: {error}; expected a file with a token", path.display()))
                })?;
                match text.trim() {
                    "" => return Err(denied(&format!("{} is empty; expected a token", path.display()))),
                    token => vec![bearer(token)],
                }
            }
            Kind::Key { email, key } => vec![
                (HeaderName::from_static("x-auth-email"), email.clone()),
                (HeaderName::from_static("x-auth-key"), key.clone()),
            ],
        })
    }

    /// Whether the credentials have characters that no header can have, where they can be known beforehand.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] naming where they were found.
    pub(crate) fn check(&self) -> Result<()> {
        if matches!(self.kind, Kind::TokenFile(_)) {
            return Ok(());
        }
        let headers = self.now()?;
        let fits = headers.into_iter().try_fold(Fixed::none(), |all, (name, value)| all.and(name, value));
        fits.map(drop).map_err(|_| missing(&format!("{} has characters that a header cannot have", self.place)))
    }
}

fn missing(context: &str) -> Error {
    Error::new(ErrorKind::Configuration, READ, context)
}

fn denied(context: &str) -> Error {
    Error::new(ErrorKind::Unauthorized, READ, context)
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Access({})", self.place)
    }
}

#[async_trait]
impl Credentials for Access {
    async fn headers(&self) -> Result<Headers> {
        self.now()
    }

    async fn rejected(&self, headers: &Headers) -> bool {
        let plain = |headers: &Headers| -> Vec<String> {
            headers.iter().map(|(_, value)| value.expose_secret().to_owned()).collect()
        };
        self.now().is_ok_and(|now| plain(&now) != plain(headers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACES: [&str; 3] = [TOKEN, KEY, EMAIL];

    fn found(token: &str, key: &str, email: &str) -> Found {
        let text = |text: &str| Some(SecretString::from(text));
        Found { token: text(token), key: text(key), email: text(email) }
    }

    fn plain(access: &Access) -> Vec<String> {
        access.now().unwrap().iter().map(|(name, value)| format!("{name}: {}", value.expose_secret())).collect()
    }

    #[test]
    fn a_token_goes_before_a_key() {
        let access = Access::of(found(" t0ken\n", "k3y", "a@example.com"), PLACES).unwrap();
        assert_eq!(plain(&access), ["authorization: Bearer t0ken"]);
        let access = Access::of(found("", "k3y", "a@example.com"), PLACES).unwrap();
        assert_eq!(plain(&access), ["x-auth-email: a@example.com", "x-auth-key: k3y"]);
        assert!(!format!("{access:?}").contains("k3y"), "{access:?}");
    }

    #[test]
    fn what_is_missing_is_reported_with_its_place() {
        for (given, named) in [
            (found("", "", ""), "CF_API_TOKEN"),
            (found("", "k", ""), "CF_API_EMAIL"),
            (found("", "", "e"), "CF_API_KEY"),
        ] {
            let error = Access::of(given, PLACES).unwrap_err();
            assert!(error.kind == ErrorKind::Configuration && error.context.contains(named), "{error}");
        }
        let error = Access::of(found("a\u{1}b", "", ""), PLACES).unwrap().check().unwrap_err();
        assert!(error.context.contains(TOKEN) && !error.context.contains('\u{1}'), "{error}");
    }

    #[tokio::test]
    async fn a_file_is_read_for_each_request() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let access = Access::of(found(&format!("file:{}", path.display()), "", ""), PLACES).unwrap();
        let error = access.headers().await.unwrap_err();
        assert!(error.kind == ErrorKind::Unauthorized && error.context.contains("token"), "{error}");
        std::fs::write(&path, "first\n").unwrap();
        let first = access.headers().await.unwrap();
        assert_eq!(plain(&access), ["authorization: Bearer first"]);
        assert!(!access.rejected(&first).await);
        std::fs::write(&path, "second").unwrap();
        assert!(access.rejected(&first).await);
    }
}
