//! The three questions of the protocol, and what an answer must be to be believed.
//!
//! In: nothing, or endpoints. Out: the domain filter, the records, the endpoints as the peer would have them. What a
//! peer does against the protocol is either reported and read all the same, or a [`ExchangeError`]; nothing is half believed.

use serde::de::DeserializeOwned;
use zonewright_core::Error;
use zonewright_core::filter::{DomainFilter, FilterError};

use crate::Webhook;
use crate::client::{Answer, Route};
use crate::error::ExchangeError;
use crate::media::{MEDIA_TYPE, Media};
use crate::view::PeerListing;
use crate::wire::{self, Endpoint, Filter, List};

impl Webhook {
    /// Asks for media type, version and domain filter.
    pub(crate) async fn negotiate(&self) -> Result<DomainFilter, Error> {
        let filter = self.negotiation().await.map_err(|fault| self.error("negotiate", fault))?;
        self.state().filter = Some(filter.clone());
        Ok(filter)
    }

    async fn negotiation(&self) -> Result<DomainFilter, ExchangeError> {
        let answer = self.client.send(Route::Negotiate, None, &self.log).await?;
        if !answer.status.is_success() {
            return Err(answer.unexpected(200));
        }
        match Media::of(answer.media.as_deref()) {
            Media::Exact => {}
            Media::Similar => self.misspelled(&answer, "GET of its address"),
            Media::Version(version) => return Err(ExchangeError::Version(version.to_owned())),
            Media::Other => return Err(ExchangeError::Media(answer.media)),
        }
        let filter: Filter = body(&answer)?;
        if filter.outdated {
            self.log.once(
                "filters",
                "gives its domain filter under the key `filters`",
                "has `include`, `exclude`, `regexInclude` and `regexExclude`",
                "`filters` is not looked at, as in external-dns: give --domain-filter",
            );
        }
        domain_filter(&filter).map_err(ExchangeError::Filter)
    }

    /// The records that the peer lists.
    pub(crate) async fn list(&self) -> Result<PeerListing, ExchangeError> {
        let answer = self.client.send(Route::Records, None, &self.log).await?;
        self.expect(&answer, "GET /records")?;
        Ok(PeerListing::of(body::<List>(&answer)?, &self.log))
    }

    /// What an answer with a body must be.
    fn expect(&self, answer: &Answer, what: &str) -> Result<(), ExchangeError> {
        if answer.status.as_u16() != 200 {
            return Err(answer.unexpected(200));
        }
        match Media::of(answer.media.as_deref()) {
            Media::Exact => Ok(()),
            Media::Similar | Media::Other => {
                self.misspelled(answer, what);
                Ok(())
            }
            Media::Version(version) => Err(ExchangeError::Version(version.to_owned())),
        }
    }

    fn misspelled(&self, answer: &Answer, what: &str) {
        let media =
            answer.media.as_ref().map_or_else(|| "no Content-Type".to_owned(), |m| format!("Content-Type {m:?}"));
        self.log.once(
            &format!("media type of {what}"),
            &format!("answered {what} with {media}"),
            &format!("has {MEDIA_TYPE:?}"),
            "the body is read all the same, since it is what it should be",
        );
    }

    /// What the peer makes of the endpoints; the endpoints themselves where it does not know the question.
    pub(crate) async fn adjusted(&self, asked: Vec<Endpoint>) -> Result<Vec<Endpoint>, ExchangeError> {
        let request = serde_json::to_vec(&asked).unwrap_or_default();
        let answer = self.client.send(Route::Adjust, Some(request), &self.log).await?;
        if matches!(answer.status.as_u16(), 404 | 405 | 501) {
            self.log.once(
                "no adjustendpoints",
                &format!("answered POST /adjustendpoints with {}: it does not know it and is very old", answer.status),
                "has it",
                "endpoints are taken as they are; what the provider changes by itself is updated again and again",
            );
            return Ok(asked);
        }
        self.expect(&answer, "POST /adjustendpoints")?;
        Ok(body::<List>(&answer)?.endpoints)
    }
}

/// The body of an answer.
fn body<T: DeserializeOwned>(answer: &Answer) -> Result<T, ExchangeError> {
    wire::read(&answer.body).map_err(|error| {
        let begins = String::from_utf8_lossy(&answer.body).chars().take(80).collect();
        ExchangeError::Body { status: answer.status.as_u16(), begins, error }
    })
}

/// The filter in force. The error is what is wrong with it.
fn domain_filter(filter: &Filter) -> Result<DomainFilter, String> {
    let plain = !filter.include.is_empty() || !filter.exclude.is_empty();
    let regex = !filter.regex_include.is_empty() || !filter.regex_exclude.is_empty();
    if plain && regex {
        return Err("it has both lists and regular expressions; expected one of the two".to_owned());
    }
    DomainFilter::new(&filter.include, &filter.exclude, &filter.regex_include, &filter.regex_exclude).map_err(
        |FilterError::Regex { flag, pattern, source }| {
            let key = if flag == "regex-domain-filter" { "regexInclude" } else { "regexExclude" };
            format!("{key} {pattern:?} is no regular expression in RE2 syntax: {source}")
        },
    )
}
