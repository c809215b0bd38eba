//! Credentials as a value that can change.

use std::fmt;
use std::sync::{PoisonError, RwLock};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, PROXY_AUTHORIZATION};
use http::{HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use zonewright_core::{Error, ErrorKind, Result};

/// Headers that authorise a request.
pub type Headers = Vec<(HeaderName, SecretString)>;

/// Where the headers come from that authorise a request. Asked for each attempt, so that a token that was rotated is used
/// at once. An attempt has its turn already when it asks: what has to send requests for a token sends them by another
/// [`crate::Account`].
#[async_trait]
pub trait Credentials: Send + Sync {
    /// The headers for the next attempt.
    ///
    /// # Errors
    /// There are none now; the request is not sent.
    async fn headers(&self) -> Result<Headers>;

    /// The service answered a request with these headers by 401. Whether there are others now: then the request is sent
    /// once more with them.
    async fn rejected(&self, headers: &Headers) -> bool;
}

/// Credentials that stay as they are.
pub struct Fixed(Headers);

impl Fixed {
    /// None: the service asks for nothing.
    pub fn none() -> Self {
        Self(Vec::new())
    }

    /// A bearer token (RFC 6750).
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] if it has characters that a header cannot have.
    pub fn bearer(token: &SecretString) -> Result<Self> {
        Self::of(AUTHORIZATION, format!("Bearer {}", token.expose_secret()).into())
    }

    /// Basic authentication (RFC 7617) of a user and a password, which may hold any bytes.
    ///
    /// # Errors
    /// None in practice: base64 fits a header.
    pub fn basic(user: &[u8], password: &[u8]) -> Result<Self> {
        Self::of(AUTHORIZATION, encoded(user, password))
    }

    /// One header, such as `X-API-Key`. [`Fixed::and`] adds others.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] if the value has characters that a header cannot have.
    pub fn of(name: HeaderName, value: SecretString) -> Result<Self> {
        Self::none().and(name, value)
    }

    /// The same with another header.
    ///
    /// # Errors
    /// As [`Fixed::of`].
    pub fn and(mut self, name: HeaderName, value: SecretString) -> Result<Self> {
        header_value(&name, &value)?;
        self.0.push((name, value));
        Ok(self)
    }
}

#[async_trait]
impl Credentials for Fixed {
    async fn headers(&self) -> Result<Headers> {
        Ok(self.0.clone())
    }

    async fn rejected(&self, _headers: &Headers) -> bool {
        false
    }
}

/// Credentials that can be set anew, such as by a watch on the file that holds them.
pub struct Rotating(RwLock<Headers>);

impl Rotating {
    /// These until others are set.
    pub fn new(first: Fixed) -> Self {
        Self(RwLock::new(first.0))
    }

    /// The next attempt uses these.
    pub fn set(&self, next: Fixed) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = next.0;
    }

    fn now(&self) -> Headers {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Credentials for Rotating {
    async fn headers(&self) -> Result<Headers> {
        Ok(self.now())
    }

    async fn rejected(&self, headers: &Headers) -> bool {
        let plain = |headers: &Headers| -> Vec<(HeaderName, String)> {
            headers.iter().map(|(name, value)| (name.clone(), value.expose_secret().to_owned())).collect()
        };
        plain(headers) != plain(&self.now())
    }
}

/// The value of a header for a user and a password.
pub(crate) fn encoded(user: &[u8], password: &[u8]) -> SecretString {
    format!("Basic {}", STANDARD.encode([user, b":", password].concat())).into()
}

/// Basic authentication as a header for a proxy; base64 fits a header.
pub(crate) fn basic(user: &[u8], password: &[u8]) -> Option<HeaderValue> {
    header_value(&PROXY_AUTHORIZATION, &encoded(user, password)).ok()
}

/// The value on the wire, which no log line of any library shows.
///
/// # Errors
/// [`ErrorKind::Configuration`], without the value.
pub(crate) fn header_value(name: &HeaderName, value: &SecretString) -> Result<HeaderValue> {
    let mut header = HeaderValue::from_str(value.expose_secret()).map_err(|_| {
        let context =
            format!("the value for the header {name} has characters that a header cannot have, such as a line end");
        Error::new(ErrorKind::Configuration, "read the credentials", context)
    })?;
    header.set_sensitive(true);
    Ok(header)
}

impl fmt::Debug for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl fmt::Debug for Rotating {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.now().iter().map(|(name, _)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers() {
        for (fixed, name, expected) in [
            (Fixed::bearer(&"t".into()).unwrap(), "authorization", "Bearer t"),
            (Fixed::basic(b"me", b"p@ss").unwrap(), "authorization", "Basic bWU6cEBzcw=="),
            (Fixed::of(HeaderName::from_static("x-api-key"), "k".into()).unwrap(), "x-api-key", "k"),
        ] {
            let [(found, value)] = fixed.0.as_slice() else { panic!("{fixed:?}") };
            assert_eq!((found.as_str(), value.expose_secret()), (name, expected));
            assert!(header_value(found, value).unwrap().is_sensitive());
            assert_eq!(format!("{fixed:?}"), format!("[\"{name}\"]"));
        }
    }

    #[test]
    fn a_token_with_a_line_end_is_reported_without_itself() {
        let error = Fixed::bearer(&"s3cret\n".into()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Configuration);
        assert!(error.to_string().contains("authorization") && !error.to_string().contains("s3cret"), "{error}");
    }
}
