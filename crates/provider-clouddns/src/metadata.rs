//! The metadata server of a machine or pod of Google's: its project, and tokens of its service account.
//!
//! <https://cloud.google.com/compute/docs/metadata/overview>,
//! <https://cloud.google.com/kubernetes-engine/docs/concepts/workload-identity>

use zonewright_core::{Error, ErrorKind, Result};
use zonewright_http::oauth::{AccessToken, TokenWay, read_token};
use zonewright_http::{Answer, Failure, HeaderName, Request};

use crate::token::SCOPE;

/// The variable that names another host, as in the vendor's own clients.
pub(crate) const HOST: &str = "GCE_METADATA_HOST";
/// The host of every such server.
const DEFAULT: &str = "metadata.google.internal";
/// Whoever asks says so, lest another server is asked by mistake; the server answers with the same.
const FLAVOUR: HeaderName = HeaderName::from_static("metadata-flavor");
const GOOGLE: &str = "Google";

/// The metadata server.
#[derive(Debug)]
pub(crate) struct Metadata {
    host: String,
    way: TokenWay,
}

impl Metadata {
    pub(crate) fn new(host: Option<String>, way: TokenWay) -> Self {
        Self { host: host.unwrap_or_else(|| DEFAULT.to_owned()), way }
    }

    /// Where it is, for messages.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The id of the project.
    ///
    /// # Errors
    /// It does not answer: then the flag has to say it.
    pub(crate) async fn project(&self) -> Result<String> {
        const READ: &str = "read project id";
        let request = Request::get("/computeMetadata/v1/project/project-id");
        let explained = |mut error: Error| {
            let said = error.context;
            error.context = format!(
                "--google-project is not set, and the metadata server does not give the project: {said}; expected \
                 --google-project"
            );
            error
        };
        let answer = self.ask(READ, request).await.map_err(|failure| explained(failure.error))?;
        let project = String::from_utf8_lossy(&answer.body).trim().to_owned();
        let is_id = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:".contains(&byte);
        if project.is_empty() || !project.bytes().all(is_id) {
            return Err(explained(Error::new(ErrorKind::Protocol, READ, "its answer is no id of a project")));
        }
        Ok(project)
    }

    /// A token of the machine's or pod's service account.
    ///
    /// # Errors
    /// There is none.
    pub(crate) async fn token(&self) -> Result<AccessToken> {
        const READ: &str = "read token";
        let request =
            Request::get("/computeMetadata/v1/instance/service-accounts/default/token").query("scopes", SCOPE);
        let answer = self.ask(READ, request).await?;
        read_token(READ, &answer)
    }

    async fn ask(&self, operation: &'static str, request: Request) -> Result<Answer, Failure> {
        let failed = |error| Failure::new(error, zonewright_http::Delivery::NotSent);
        let client = self.way.direct(&format!("http://{}", self.host)).map_err(failed)?;
        let answer = client.send(operation, &request.header(FLAVOUR, GOOGLE)).await?;
        if answer.header(&FLAVOUR).as_deref() != Some(GOOGLE) {
            let text = format!("{} answered, and is no metadata server of Google's", self.host);
            return Err(failed(Error::new(ErrorKind::Protocol, operation, text)));
        }
        Ok(answer)
    }
}
