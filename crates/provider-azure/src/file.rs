//! What `azure.json` says, the file of Kubernetes' cloud provider for Azure that external-dns reads too.
//!
//! In: a text. Out: where the zones are, and whom to be. What must hold: keys in any case of letters, unknown ones left alone; no text
//! of the file appears in an error.
//!
//! <https://cloud-provider-azure.sigs.k8s.io/install/configs/>

use std::path::PathBuf;

use secrecy::SecretString;
use serde_json::{Map, Value};

use crate::cloud::Cloud;

/// The content of the file.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) cloud: Cloud,
    /// Whether the file names it.
    pub(crate) names_cloud: bool,
    pub(crate) subscription: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) identity: Stated,
}

/// Whom to be, as far as the file says it.
#[derive(Debug)]
pub(crate) struct Stated {
    pub(crate) tenant: Option<String>,
    /// The application.
    pub(crate) client: Option<String>,
    pub(crate) secret: Option<SecretString>,
    /// A file with a certificate and its key.
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) workload: bool,
    /// A file with the token of a workload identity, in place of the environment's.
    pub(crate) token: Option<PathBuf>,
    pub(crate) managed: bool,
    /// The client id of a managed identity.
    pub(crate) assigned: Option<String>,
}

/// The fields of an object by their names in lower case.
struct Fields(Map<String, Value>);

impl Fields {
    fn text(&self, key: &str) -> Result<Option<String>, String> {
        match self.0.get(&key.to_ascii_lowercase()) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
            Some(_) => Err(format!("{key}: expected a text")),
        }
    }

    fn is(&self, key: &str) -> Result<bool, String> {
        match self.0.get(&key.to_ascii_lowercase()) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(yes)) => Ok(*yes),
            Some(_) => Err(format!("{key}: expected true or false")),
        }
    }
}

/// Reads the file's text.
///
/// # Errors
/// Which field is wrong, and what was expected.
pub(crate) fn parse(text: &str) -> Result<File, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| {
        // The message of serde_json may quote the text; the place is enough.
        format!("it is no JSON ({:?} at line {} column {})", error.classify(), error.line(), error.column())
    })?;
    let Value::Object(object) = value else { return Err("expected a JSON object".to_owned()) };
    let fields = Fields(object.into_iter().map(|(key, value)| (key.to_ascii_lowercase(), value)).collect());
    let identity = Stated {
        tenant: fields.text("tenantId")?,
        client: fields.text("aadClientId")?,
        secret: fields.text("aadClientSecret")?.map(SecretString::from),
        certificate: fields.text("aadClientCertPath")?.map(PathBuf::from),
        workload: fields.is("useWorkloadIdentityExtension")? || fields.is("useFederatedWorkloadIdentityExtension")?,
        token: fields.text("aadFederatedTokenFile")?.map(PathBuf::from),
        managed: fields.is("useManagedIdentityExtension")?,
        assigned: fields.text("userAssignedIdentityID")?,
    };
    Ok(File {
        cloud: cloud(&fields)?,
        names_cloud: fields.text("cloud")?.is_some(),
        subscription: fields.text("subscriptionId")?,
        group: fields.text("resourceGroup")?,
        identity,
    })
}

/// The cloud that the file names.
fn cloud(fields: &Fields) -> Result<Cloud, String> {
    let name = fields.text("cloud")?.unwrap_or_default();
    if !Cloud::is_custom(&name) {
        return Cloud::named(&name).ok_or_else(|| {
            "cloud: unknown cloud name; expected AzureCloud, AzurePublicCloud, AzureUSGovernmentCloud, AzureChinaCloud or \
             AzureStackCloud"
                .to_owned()
        });
    }
    let address = |key: &str| {
        let text = fields.text(key)?;
        text.map(|url| url.trim_end_matches('/').to_owned())
            .ok_or_else(|| format!("{key}: is missing; AzureStackCloud has no address of its own"))
    };
    let endpoint = address("resourceManagerEndpoint")?;
    Ok(Cloud {
        authority: address("activeDirectoryAuthorityHost")?,
        audience: fields.text("resourceManagerAudience")?.unwrap_or_else(|| endpoint.clone()),
        endpoint,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_in_any_case_and_unknown_ones_left_alone() {
        let file = parse(
            r#"{ "Cloud": "AzureUSGovernment", "TENANTID": "t", "subscriptionid": "s", "resourceGroup": " g ",
                 "aadClientId": "c", "aadClientSecret": "x", "location": "westeurope", "vmType": 3,
                 "useManagedIdentityExtension": true, "userAssignedIdentityID": "" }"#,
        )
        .unwrap();
        assert_eq!(file.cloud.endpoint, "https://management.usgovcloudapi.net");
        assert_eq!((file.subscription.as_deref(), file.group.as_deref()), (Some("s"), Some("g")));
        let Stated { tenant, client, secret, certificate, workload, token: _, managed, assigned } = file.identity;
        assert_eq!((tenant.as_deref(), client.as_deref(), secret.is_some()), (Some("t"), Some("c"), true));
        assert_eq!((certificate, workload, managed, assigned), (None, false, true, None));
    }

    #[test]
    fn a_cloud_of_ones_own() {
        let text = r#"{ "cloud": "AzureStackCloud", "activeDirectoryAuthorityHost": "https://login.local/",
            "resourceManagerEndpoint": "https://arm.local/", "resourceManagerAudience": "https://arm.audience" }"#;
        let cloud = parse(text).unwrap().cloud;
        assert_eq!((cloud.authority.as_str(), cloud.endpoint.as_str()), ("https://login.local", "https://arm.local"));
        assert_eq!(cloud.scope(), "https://arm.audience/.default");
    }

    #[test]
    fn what_is_wrong_is_named_without_the_text() {
        for (text, named) in [
            ("", "no JSON"),
            (r#"{"aadClientSecret": "s3cret""#, "line 1"),
            ("[]", "object"),
            (r#"{"cloud":"s3cret"}"#, "unknown cloud name"),
            (r#"{"cloud":"AzureStackCloud"}"#, "resourceManagerEndpoint"),
            (r#"{"tenantId":["s3cret"]}"#, "tenantId: expected a text"),
            (r#"{"useManagedIdentityExtension":"s3cret"}"#, "useManagedIdentityExtension"),
        ] {
            let error = parse(text).map(drop).unwrap_err();
            assert!(error.contains(named) && !error.contains("s3cret"), "{text}: {error}");
        }
    }
}
