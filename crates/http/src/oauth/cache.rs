//! A token that is in use.

use std::future::Future;
use std::time::{Duration, Instant};

use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;
use zonewright_core::{ErrorKind, Result};

use super::{AccessToken, LONGEST};
use crate::credentials::Headers;

/// A token is asked for anew so long before its end, or half its life if that is shorter.
const BEFORE: Duration = Duration::from_secs(225);

/// Keeps a token until shortly before its end, and as long as what it was got for stays the same. One request for a token at a time.
#[derive(Default)]
pub struct TokenCache(Mutex<Option<Held>>);

struct Held {
    token: SecretString,
    /// Of what it was got for.
    digest: Vec<u8>,
    fresh_until: Instant,
    good_until: Instant,
}

impl TokenCache {
    /// The token that was got for `text`, else a new one. Where whoever gives tokens is away for a while, the one at hand serves to its
    /// end.
    ///
    /// # Errors
    /// There is no token.
    pub async fn get<F>(&self, text: &SecretString, ask: impl FnOnce() -> F) -> Result<SecretString>
    where
        F: Future<Output = Result<AccessToken>>,
    {
        let of = Sha256::digest(text.expose_secret()).to_vec();
        let mut held = self.0.lock().await;
        let same = held.as_ref().filter(|held| held.digest == of);
        if let Some(held) = same.filter(|held| Instant::now() < held.fresh_until) {
            return Ok(held.token.clone());
        }
        match ask().await {
            Ok(AccessToken { secret, lifetime }) => {
                let lifetime = lifetime.min(LONGEST);
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
            Err(error) => match same.filter(|held| Instant::now() < held.good_until) {
                Some(held) if error.kind != ErrorKind::Unauthorized => Ok(held.token.clone()),
                _ => Err(error),
            },
        }
    }

    /// Forgets the token that a refused request carried.
    pub async fn rejected(&self, headers: &Headers) {
        let mut held = self.0.lock().await;
        if held.as_ref().is_some_and(|held| is_bearer(headers, &held.token)) {
            *held = None;
        }
    }
}

/// Whether a request carried this token.
pub(crate) fn is_bearer(headers: &Headers, token: &SecretString) -> bool {
    let bearer = format!("Bearer {}", token.expose_secret());
    headers.iter().any(|(_, value)| value.expose_secret() == bearer)
}

impl std::fmt::Debug for TokenCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenCache")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use zonewright_core::Error;

    use super::*;

    fn token(text: &str, seconds: u64) -> AccessToken {
        AccessToken { secret: text.to_owned().into(), lifetime: Duration::from_secs(seconds) }
    }

    #[tokio::test]
    async fn a_token_is_kept_as_long_as_it_is_good_and_its_key_the_same() {
        let (cache, asked) = (TokenCache::default(), AtomicUsize::new(0));
        let get = async |key: &str| {
            let asked = asked.fetch_add(1, Ordering::Relaxed);
            let got = cache.get(&key.into(), || async move { Ok(token(&format!("t{asked}"), 3_600)) }).await;
            got.unwrap().expose_secret().to_owned()
        };
        assert_eq!([get("a").await, get("a").await, get("b").await, get("b").await], ["t0", "t0", "t2", "t2"]);
        let carried = |text: &str| vec![(http::header::AUTHORIZATION, format!("Bearer {text}").into())];
        cache.rejected(&carried("t0")).await;
        assert_eq!(get("b").await, "t2");
        cache.rejected(&carried("t2")).await;
        assert_eq!(get("b").await, "t5");
    }

    #[tokio::test]
    async fn a_token_that_is_said_to_be_good_for_ever_is_taken() {
        let cache = TokenCache::default();
        let got = cache.get(&"key".into(), || async { Ok(token("t", u64::MAX)) }).await.unwrap();
        assert_eq!(got.expose_secret(), "t");
    }

    /// Whoever gives tokens may be away for a while: a token is good for longer than until it is renewed.
    #[tokio::test]
    async fn a_token_that_is_still_good_bridges_an_outage() {
        let cache = TokenCache::default();
        let fail = |kind| move || async move { Err(Error::new(kind, "ask", "no")) };
        let key = SecretString::from("key");
        assert!(cache.get(&key, fail(ErrorKind::Unavailable)).await.is_err());
        cache.get(&key, || async { Ok(token("old", 600)) }).await.unwrap();
        if let Some(held) = cache.0.lock().await.as_mut() {
            held.fresh_until = Instant::now();
        }
        assert_eq!(cache.get(&key, fail(ErrorKind::Unavailable)).await.unwrap().expose_secret(), "old");
        assert!(cache.get(&key, fail(ErrorKind::Unauthorized)).await.is_err());
        assert!(cache.get(&"other".into(), fail(ErrorKind::Unavailable)).await.is_err());
        if let Some(held) = cache.0.lock().await.as_mut() {
            held.good_until = Instant::now();
        }
        assert!(cache.get(&key, fail(ErrorKind::Unavailable)).await.is_err());
    }
}
