//! The service: requests at the pace that Azure Resource Manager allows.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use zonewright_core::catalog::ProviderConfig;
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_http::{
    Account, AccountLimits, Accounts, Answer, Client, Connection, Failure, Method, Patience, Permit, Proxies, Rate,
    Repeat, Request, RequestTimes, RetryPolicy, Share,
};

use crate::config::Config;
use crate::credentials::Access;
use crate::error::explain;

/// Requests of one account that are under way at once.
pub(crate) const CONCURRENCY: u32 = 10;

/// Writes a second that Resource Manager allows one principal in one subscription, and how many more may go at once after a quiet
/// time; deletes, which it counts apart, are counted with them here.
///
/// <https://learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling>
pub(crate) const WRITES_A_SECOND: u32 = 10;
const WRITES_AT_ONCE: u32 = 20;

/// The limits of both kinds of requests, for so many writes a second; 0 is without limit. Reads are allowed two and a half times as
/// often, and ten times as many of them at once.
fn limits(writes: u32) -> [AccountLimits; 2] {
    let reads = writes.saturating_mul(5).div_ceil(2);
    let at_once = writes.saturating_mul(WRITES_AT_ONCE);
    [(reads, reads.saturating_mul(10)), (writes, at_once)].map(|(requests, burst)| {
        let rate = NonZeroU32::new(requests).zip(NonZeroU32::new(burst));
        let rate = rate.map(|(requests, burst)| Rate { requests, period: Duration::from_secs(1), burst });
        AccountLimits { rate, concurrency: NonZeroU32::new(CONCURRENCY) }
    })
}

/// How many changes are under way at once, of all zones: no more than are written in a second, so that a write goes soon after the reading
/// that it rests on.
fn changes_at_once(writes: u32) -> AccountLimits {
    let most = if writes == 0 { CONCURRENCY } else { writes.min(CONCURRENCY) };
    AccountLimits { rate: None, concurrency: NonZeroU32::new(most) }
}

/// What is read. The DNS service counts each by itself (500 in five minutes), and once there were too many of one, that one alone rests.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Subject {
    /// Zones, and their lists.
    Zones,
    /// Pages of a zone.
    Pages,
    /// Single record sets.
    Sets,
}

/// The service as one principal.
#[derive(Debug)]
pub(crate) struct Service {
    /// One for each [`Subject`], in their order.
    reads: [Client; 3],
    writes: Client,
    /// The account of the writes, and the longest pause of it that is waited for.
    pace: (Account, Duration),
    changes: Account,
    access: Arc<Access>,
}

impl Service {
    /// Connections by the proxies of the environment and the authorities of the system.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] if one of them cannot be used, or the address is none.
    pub(crate) fn new(from: &ProviderConfig, config: &Config) -> Result<Self> {
        let connection = Connection { proxies: Proxies::from_env()?, ..Connection::default() };
        let access = config.access.clone();
        let patience = from.shared.get::<Patience>();
        let retry = RetryPolicy { attempts: config.attempts, ..patience.retry() };
        let accounts = from.shared.get::<Accounts>();
        let account = access.account();
        let client = |account: Account| {
            Client::builder(&config.endpoint)?
                .connection(connection.clone())
                .account(account)
                .shared_credentials(access.clone())
                .explain(explain)
                .timeout(patience.timeout())
                .retry(retry)
                .times(RequestTimes::clone(&from.shared.get()))
                .build()
        };
        let [reads, writes] = limits(config.qps);
        let concurrency = reads.concurrency;
        let sets = accounts.of("azure-reads", &account, reads);
        let part = |what| client(accounts.part(&sets, what, concurrency));
        let reads = [part("zones")?, part("pages")?, client(sets.clone())?];
        let pace = (accounts.of("azure-writes", &account, writes), retry.longest);
        let writes = client(pace.0.clone())?;
        let changes = accounts.of("azure-changes", &account, changes_at_once(config.qps));
        Ok(Self { reads, writes, pace, changes, access })
    }

    /// Waits until a change may begin; it is under way until what comes of this is dropped.
    pub(crate) async fn turn(&self) -> Option<Permit> {
        // Nobody pauses this account.
        self.changes.admit(Share::Full, Duration::ZERO).await.ok()
    }

    /// Waits until a write may go, where the service has asked for a pause. Returns whether that was to be waited for.
    pub(crate) async fn rested(&self) -> bool {
        let (account, longest) = &self.pace;
        account.rested(*longest).await.is_ok()
    }

    /// Reads something.
    ///
    /// # Errors
    /// There is no good answer. Where the credentials are refused, the error says where they were found.
    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        subject: Subject,
        operation: &'static str,
        request: &Request,
    ) -> Result<T, Failure> {
        self.reads(subject).json(operation, request).await.map_err(|failure| self.placed(failure))
    }

    /// Reads the page that a link leads to.
    ///
    /// # Errors
    /// As [`Service::read`]; the link leads elsewhere.
    pub(crate) async fn follow<T: DeserializeOwned>(
        &self,
        subject: Subject,
        operation: &'static str,
        (link, template): (&str, &'static str),
        share: Share,
    ) -> Result<T> {
        let url = self.reads(subject).link(operation, link)?;
        Ok(self.read(subject, operation, &Request::link(Method::GET, url, template).share(share)).await?)
    }

    fn reads(&self, subject: Subject) -> &Client {
        let [zones, pages, sets] = &self.reads;
        match subject {
            Subject::Zones => zones,
            Subject::Pages => pages,
            Subject::Sets => sets,
        }
    }

    /// Sends a write that states what stands. It is not repeated where it may have been carried out.
    ///
    /// # Errors
    /// As [`Service::read`].
    pub(crate) async fn write(&self, operation: &'static str, request: Request) -> Result<Answer, Failure> {
        let request = request.repeat(Repeat::IfNotCarriedOut);
        self.writes.send(operation, &request).await.map_err(|failure| self.placed(failure))
    }

    /// A refusal of the credentials says where they were found.
    fn placed(&self, mut failure: Failure) -> Failure {
        let place = &self.access.place;
        if failure.error.kind == ErrorKind::Unauthorized && !failure.error.context.contains(place) {
            failure.error.context = format!("{}; asked with {place}", failure.error.context);
        }
        failure
    }
}

/// An error about an answer that cannot be what was asked for.
pub(crate) fn wrong(operation: &'static str, text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Protocol, operation, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_are_paced_apart() {
        let shown =
            |writes| limits(writes).map(|limits| limits.rate.map(|rate| (rate.requests.get(), rate.burst.get())));
        // As the service documents its buckets.
        assert_eq!(shown(WRITES_A_SECOND), [Some((25, 250)), Some((10, 200))]);
        assert_eq!(shown(1), [Some((3, 30)), Some((1, 20))]);
        assert_eq!(shown(0), [None, None]);
    }
}
