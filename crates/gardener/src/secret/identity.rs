//! Secrets of workload identities: a token that Gardener renews, and what it is good for.
//!
//! In: a Secret with `token`, and `config` or the keys beside it. Out: a login whose provider reads the token from a file. What must hold:
//! the file is of this Secret alone, so that nobody gets at an account by naming its role; and nothing in the Secret says which file or
//! address is read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use secrecy::SecretString;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::kinds::{CLIENT, SUBSCRIPTION, SpecHints, TENANT, in_project, in_subscription, json_of, of_zone};
use super::{Login, SecretValues, WorkloadToken, hex};

/// Where Google exchanges tokens, and where a service account is impersonated.
const EXCHANGE: &str = "https://sts.googleapis.com/v1/token";
const IMPERSONATION: &str = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/";
/// What is taken over of credentials of type `external_account`.
const TAKEN: [&str; 6] =
    ["type", "audience", "subject_token_type", "token_url", "service_account_impersonation_url", "universe_domain"];

/// A workload identity.
pub(super) struct Identity<'s> {
    secret: &'s SecretValues,
    token: WorkloadToken,
    /// What stands under `config`.
    config: Value,
}

impl<'s> Identity<'s> {
    /// The identity of a Secret, if it has a token.
    ///
    /// # Errors
    /// Its `config` is no JSON.
    pub(super) fn of(secret: &'s SecretValues, wanted: SpecHints<'_>) -> Result<Option<Self>, String> {
        let Some((token, (folder, place))) = secret.secret(&["token"]).zip(wanted.tokens) else { return Ok(None) };
        let config = secret.first(&["config"]).map_or(Ok(Value::Null), |text| json_of("config", text))?;
        let name = hex(&Sha256::digest(place.as_bytes()));
        Ok(Some(Self { secret, token: WorkloadToken { path: folder.join(name), text: token }, config }))
    }

    /// The value of a key, or of the field of `config` that is its first name.
    fn needed(&self, keys: &[&str]) -> Result<String, String> {
        let field = || keys.first().and_then(|key| self.config[*key].as_str()).map(str::trim);
        let value = self.secret.first(keys).or_else(field).filter(|value| !value.is_empty());
        let missing = || format!("the Secret has a token, and neither {} nor a config with it", keys.join(" nor "));
        value.map(str::to_owned).ok_or_else(missing)
    }

    fn path(&self) -> PathBuf {
        self.token.path.clone()
    }

    /// A role, which is given for the token.
    ///
    /// # Errors
    /// No role is named.
    pub(super) fn route53(self, region: (String, SecretString)) -> Result<Login, String> {
        let path = self.path().display().to_string();
        let credentials = BTreeMap::from([
            ("roleARN".to_owned(), self.needed(&["roleARN"])?.into()),
            ("webIdentityTokenFile".to_owned(), path.into()),
            region,
        ]);
        Ok(Login { credentials, token: Some(self.token), ..Login::default() })
    }

    /// An application that trusts the tokens.
    ///
    /// # Errors
    /// Which id is missing.
    pub(super) fn azure(self, cloud: Option<&str>, wanted: SpecHints<'_>) -> Result<Login, String> {
        let subscription = of_zone(wanted, self.needed(SUBSCRIPTION)?);
        let file = json!({
            "cloud": cloud,
            "subscriptionId": subscription,
            "tenantId": self.needed(TENANT)?,
            "aadClientId": self.needed(CLIENT)?,
            "useWorkloadIdentityExtension": true,
            "aadFederatedTokenFile": self.path().display().to_string(),
        });
        Ok(Login { token: Some(self.token), ..in_subscription(&file, subscription) })
    }

    /// Credentials of type `external_account`, whose token is exchanged.
    ///
    /// # Errors
    /// What of them is missing or must not be.
    pub(super) fn clouddns(self, wanted: SpecHints<'_>) -> Result<Login, String> {
        const KEY: &str = "credentialsConfig";
        let stated = self.secret.first(&[KEY]).map(|text| json_of(KEY, text)).transpose()?;
        let (stated, project) = match (stated, &self.config) {
            (Some(stated), _) => (stated, None),
            (None, config) if config[KEY].is_object() => (config[KEY].clone(), config["projectID"].as_str()),
            (None, config) => (config.clone(), None),
        };
        let project = self.secret.first(&["projectID"]).or(project);
        let credentials = external(&stated, &self.path()).map_err(|why| format!("{KEY}: {why}"))?;
        let login = in_project(credentials.to_string().into(), wanted, project, "the Secret has no projectID")?;
        Ok(Login { token: Some(self.token), ..login })
    }
}

/// Credentials that read the token from this file, whatever they named.
fn external(stated: &Value, path: &Path) -> Result<Value, String> {
    if stated["type"] != "external_account" {
        return Err("expected credentials of type external_account".to_owned());
    }
    if stated["token_url"] != EXCHANGE {
        return Err(format!("token_url: expected {EXCHANGE}"));
    }
    let fits = |url: &str| url.starts_with(IMPERSONATION) && url.ends_with(":generateAccessToken");
    if !stated["service_account_impersonation_url"].as_str().is_none_or(fits) {
        return Err(format!("service_account_impersonation_url: expected {IMPERSONATION}EMAIL:generateAccessToken"));
    }
    let mut taken: Map<String, Value> =
        TAKEN.iter().filter_map(|key| Some(((*key).to_owned(), stated.get(*key)?.clone()))).collect();
    taken.insert("credential_source".to_owned(), json!({ "file": path, "format": { "type": "text" } }));
    Ok(taken.into())
}
