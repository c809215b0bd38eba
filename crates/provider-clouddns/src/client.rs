//! The service: requests at the pace of the project.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;
use zonewright_core::catalog::ProviderConfig;
use zonewright_core::{ErrorKind, Result};
use zonewright_http::{
    AccountLimits, Accounts, Client, Connection, Delivery, Failure, Patience, Proxies, Request, RequestTimes,
    StatusCode,
};

use crate::config::Config;
use crate::credentials::Access;
use crate::error::explain;
use crate::metadata::Metadata;
use crate::operation::permission;

/// The service as one user of one project.
#[derive(Debug)]
pub(crate) struct Service {
    client: Client,
    access: Arc<Access>,
    metadata: Arc<Metadata>,
    /// As stated, else as the metadata server says at the first request.
    project: OnceCell<String>,
}

impl Service {
    /// Connections by the proxies of the environment and the authorities of the system.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] if one of them cannot be used, or the address is none.
    pub(crate) fn new(from: &ProviderConfig, config: &Config) -> Result<Self> {
        let connection = Connection { proxies: Proxies::from_env()?, ..Connection::default() };
        let limits = AccountLimits { rate: config.pace.rate(), concurrency: None };
        let access = config.access.clone();
        let account = from.shared.get::<Accounts>().of("clouddns", &access.identity(), limits);
        let patience = from.shared.get::<Patience>();
        let client = Client::builder(&config.base)?
            .connection(connection)
            .account(account)
            .shared_credentials(access.clone())
            .explain(explain)
            .timeout(patience.timeout())
            .retry(patience.retry())
            .times(RequestTimes::clone(&from.shared.get()))
            .build()?;
        let project = OnceCell::new_with(config.project.clone());
        Ok(Self { client, access, metadata: config.metadata.clone(), project })
    }

    /// The project whose zones these are.
    ///
    /// # Errors
    /// It is not stated, and the metadata server does not give it.
    async fn project(&self) -> Result<&String> {
        self.project.get_or_try_init(|| self.metadata.project()).await
    }

    /// Sends a request below a project and reads its answer.
    ///
    /// # Errors
    /// There is no good answer. Where the credentials are refused, the error says where they were found.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        operation: &'static str,
        request: Request,
    ) -> Result<T, Failure> {
        let project = match self.project().await {
            Ok(project) => project,
            Err(error) => return Err(Failure::new(error, Delivery::NotSent)),
        };
        let request = request.set("project", project);
        self.client.json(operation, &request).await.map_err(|failure| self.placed(operation, failure))
    }

    /// A refusal of the credentials says where they were found, and which permission they need.
    fn placed(&self, operation: &str, mut failure: Failure) -> Failure {
        let place = self.access.place();
        if failure.error.kind != ErrorKind::Unauthorized {
            return failure;
        }
        if !failure.error.context.contains(place) {
            failure.error.context = format!("{}; asked with {place}", failure.error.context);
        }
        if let Some(permission) = permission(operation).filter(|_| failure.status == Some(StatusCode::FORBIDDEN)) {
            failure.error.context = format!("{}; expected the permission {permission}", failure.error.context);
        }
        failure
    }
}
