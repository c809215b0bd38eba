//! Keys of a role for the token of a workload identity.
//!
//! In: a role, and a file with a token. Out: temporary keys. What must hold: the file is read each time, since whoever issues tokens
//! writes it anew; the token appears in no message.
//!
//! <https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html>

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use aws_config::SdkConfig;
use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, Result, future};

/// How a session is named in the account's log.
const SESSION: &str = "zonewright";

/// Takes a role by a token.
#[derive(Debug)]
pub(crate) struct WebIdentity {
    client: aws_sdk_sts::Client,
    role: String,
    path: PathBuf,
}

impl WebIdentity {
    /// For the role of this ARN, with the token in this file.
    pub(crate) fn new(config: &SdkConfig, role: &str, path: &Path) -> Self {
        Self { client: aws_sdk_sts::Client::new(config), role: role.to_owned(), path: path.to_owned() }
    }

    async fn take(&self) -> Result {
        let token = std::fs::read_to_string(&self.path).map_err(CredentialsError::invalid_configuration)?;
        let request = self.client.assume_role_with_web_identity().role_arn(&self.role).role_session_name(SESSION);
        let answer = request.web_identity_token(token.trim()).send().await.map_err(CredentialsError::provider_error)?;
        let keys = answer.credentials.ok_or_else(|| CredentialsError::unhandled("the answer holds no keys"))?;
        let end = SystemTime::try_from(keys.expiration).ok();
        let token = Some(keys.session_token);
        Ok(Credentials::new(keys.access_key_id, keys.secret_access_key, token, end, "a workload identity"))
    }
}

impl ProvideCredentials for WebIdentity {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(self.take())
    }
}
