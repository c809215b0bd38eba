//! The HTTP client of all providers.
//!
//! In: [`Request`]s of a provider. Out: [`Answer`]s, or a [`Failure`] that says what went wrong and whether the request may
//! have been carried out. The single request is the unit of pace, retry and time: each attempt has a time-out, waits for its
//! turn in the [`Account`] whose credentials it uses, asks [`Credentials`] for its headers, and is repeated only where that
//! is safe. Providers map and send; they never pause and never repeat.
//!
//! ```no_run
//! # async fn example() -> zonewright_core::Result<()> {
//! use zonewright_http::{Account, Client, Fixed, Page, PageLimits, Pages, Request};
//!
//! let client = Client::builder("https://api.example.com/v4")?
//!     .account(Account::unlimited("example"))
//!     .credentials(Fixed::bearer(&"token".into())?)
//!     .build()?;
//! let mut pages = Pages::new(PageLimits::default());
//! let zones: Vec<serde_json::Value> = pages
//!     .rest("list zones", |cursor: Option<String>| {
//!         let mut request = Request::get("/zones").query("per_page", 50);
//!         if let Some(cursor) = cursor {
//!             request = request.query("cursor", cursor);
//!         }
//!         let client = &client;
//!         async move {
//!             let items: Vec<serde_json::Value> = client.json("list zones", &request).await?;
//!             Ok(Page { items, next: None })
//!         }
//!     }, |progress| tracing::debug!(?progress))
//!     .await?;
//! # drop(zones); Ok(())
//! # }
//! ```
//!
//! What must hold: no header, credential or query appears in an error, a log line or a `Debug` text; nothing is sent twice
//! that may have been carried out, unless it is idempotent; every body has a bound.

mod account;
mod answer;
mod builder;
mod client;
mod connection;
mod connector;
mod credentials;
mod error;
mod metrics;
pub mod oauth;
mod pages;
mod patience;
mod proxy;
mod redact;
mod request;
mod retry;
mod status;
#[cfg(feature = "testing")]
pub mod testing;

mod tls;
mod transport;

pub use account::{Account, AccountLimits, Accounts, Permit, Rate};
pub use answer::Answer;
pub use builder::{ClientBuilder, USER_AGENT};
pub use client::Client;
pub use connection::Connection;
pub use credentials::{Credentials, Fixed, Headers, Rotating};
pub use error::{Delivery, Failure, TransportCause, TransportError};
pub use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
pub use metrics::{RequestLabels, RequestTimes};
pub use pages::{Page, PageLimits, Pages, Progress, log_slow};
pub use patience::Patience;
pub use proxy::Proxies;
pub use redact::{shortened, shown, without};
pub use request::{Repeat, Request, Share};
pub use retry::RetryPolicy;
pub use status::{AnswerExplanation, Explain, kind_of};

pub use tls::{Tls, TlsError};
pub use transport::{BodyLimits, Outgoing, Transport};
pub use url::Url;
