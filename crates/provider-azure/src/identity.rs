//! Whom to be: a service principal with a secret or a certificate, a workload identity, a managed identity.
//!
//! In: what `azure.json` and the environment say. Out: one identity, in external-dns' order. What must hold: what is missing is named
//! with where it was looked for.

use std::fs;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret as _, SecretString};

use crate::file::Stated;

/// The variables that an identity is read from; those of workload identity are set by its admission webhook.
#[derive(Debug, Clone, Default)]
pub(crate) struct Variables {
    tenant: Option<String>,
    client: Option<String>,
    token: Option<PathBuf>,
    pub(crate) authority: Option<String>,
    /// Another host of the metadata server, as in the vendor's own clients.
    pub(crate) metadata: Option<String>,
}

impl Variables {
    /// Those of an environment.
    pub(crate) fn read(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let given = |name: &str| variable(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        Self {
            tenant: given("AZURE_TENANT_ID"),
            client: given("AZURE_CLIENT_ID"),
            token: given("AZURE_FEDERATED_TOKEN_FILE").map(PathBuf::from),
            authority: given("AZURE_AUTHORITY_HOST"),
            metadata: given("AZURE_POD_IDENTITY_AUTHORITY_HOST"),
        }
    }
}

/// Whom to be.
#[derive(Debug, Clone)]
pub(crate) enum Identity {
    /// An application and its secret.
    Secret { tenant: String, client: String, secret: SecretString },
    /// An application and a file with its certificate.
    Certificate { tenant: String, client: String, path: PathBuf },
    /// An application that trusts the tokens of a cluster.
    Workload { tenant: String, client: String, path: PathBuf },
    /// The identity of the machine, or one that is assigned to it.
    Managed { client: Option<String> },
}

impl Identity {
    /// The identity that is stated; `assigned` is the managed identity of the flag.
    ///
    /// # Errors
    /// None is, or something of it is missing.
    pub(crate) fn of(stated: Stated, variables: &Variables, assigned: Option<&str>) -> Result<Self, String> {
        let Stated { tenant, client, secret, certificate, workload, token, managed, assigned: of_file } = stated;
        let missing = |what: &str| format!("{what} is missing");
        // So the vendor's tools fill both in on machines with a managed identity.
        let real = |text: &str| !text.eq_ignore_ascii_case("msi");
        let application = client.clone().filter(|client| real(client));
        if let (Some(client), Some(secret)) = (&application, &secret)
            && real(secret.expose_secret())
        {
            let tenant = tenant.ok_or_else(|| missing("tenantId, beside aadClientId and aadClientSecret,"))?;
            return Ok(Self::Secret { tenant, client: client.clone(), secret: secret.clone() });
        }
        if let Some(path) = certificate {
            let tenant = tenant.ok_or_else(|| missing("tenantId, beside aadClientCertPath,"))?;
            let client = application.ok_or_else(|| missing("aadClientId, beside aadClientCertPath,"))?;
            return Ok(Self::Certificate { tenant, client, path });
        }
        if workload {
            let tenant = tenant.or_else(|| variables.tenant.clone());
            let client = client.or_else(|| variables.client.clone());
            let (Some(tenant), Some(client), Some(path)) = (tenant, client, token.or_else(|| variables.token.clone()))
            else {
                return Err("useWorkloadIdentityExtension: expected tenantId or AZURE_TENANT_ID, aadClientId or AZURE_CLIENT_ID, \
                            and aadFederatedTokenFile or AZURE_FEDERATED_TOKEN_FILE; the webhook of workload identity sets the variables in pods with the \
                            label azure.workload.identity/use=true"
                    .to_owned());
            };
            return Ok(Self::Workload { tenant, client, path });
        }
        if managed {
            return Ok(Self::Managed { client: assigned.map(str::to_owned).or(of_file) });
        }
        Err("no credentials provided for Azure API: expected aadClientId with aadClientSecret or aadClientCertPath, \
             useWorkloadIdentityExtension or useManagedIdentityExtension"
            .to_owned())
    }

    /// What it is, for messages, with where it was found.
    pub(crate) fn place(&self, origin: &str) -> String {
        match self {
            Self::Secret { client, .. } => format!("the client secret of {client} in {origin}"),
            Self::Certificate { client, path, .. } => {
                format!("the certificate of {client} at {}, which {origin} names,", path.display())
            }
            Self::Workload { client, path, .. } => {
                format!("the workload identity {client} with the token at {}, as {origin} has it,", path.display())
            }
            Self::Managed { client: Some(client) } => format!("the managed identity {client}, as {origin} has it,"),
            Self::Managed { client: None } => format!("the managed identity of the machine, as {origin} has it,"),
        }
    }

    /// Everything that a token is got for, as one text: another text is another token.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(crate) fn material(&self) -> Result<SecretString, String> {
        let text = match self {
            Self::Secret { tenant, client, secret } => format!("{tenant}\n{client}\n{}", secret.expose_secret()),
            Self::Certificate { tenant, client, path } | Self::Workload { tenant, client, path } => {
                format!("{tenant}\n{client}\n{}", read(path)?.expose_secret())
            }
            Self::Managed { client } => client.clone().unwrap_or_default(),
        };
        Ok(text.into())
    }
}

/// A file of credentials.
///
/// # Errors
/// It cannot be read.
pub(crate) fn read(path: &Path) -> Result<SecretString, String> {
    fs::read_to_string(path)
        .map(SecretString::from)
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file;

    fn of(text: &str, environment: &[(&str, &str)], assigned: Option<&str>) -> Result<String, String> {
        let variable =
            |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
        let identity = Identity::of(file::parse(text).unwrap().identity, &Variables::read(&variable), assigned)?;
        Ok(match identity {
            Identity::Secret { tenant, client, secret } => {
                format!("secret {tenant} {client} {}", secret.expose_secret())
            }
            Identity::Certificate { tenant, client, path } => {
                format!("certificate {tenant} {client} {}", path.display())
            }
            Identity::Workload { tenant, client, path } => format!("workload {tenant} {client} {}", path.display()),
            Identity::Managed { client } => format!("managed {client:?}"),
        })
    }

    const WEBHOOK: &[(&str, &str)] =
        &[("AZURE_TENANT_ID", "t2"), ("AZURE_CLIENT_ID", "c2"), ("AZURE_FEDERATED_TOKEN_FILE", "/token")];

    #[test]
    fn the_order_is_that_of_external_dns() {
        for (text, environment, assigned, expected) in [
            (
                r#"{"tenantId":"t","aadClientId":"c","aadClientSecret":"s","useManagedIdentityExtension":true,
                    "useWorkloadIdentityExtension":true}"#,
                &[][..],
                None,
                "secret t c s",
            ),
            (r#"{"tenantId":"t","aadClientId":"c","aadClientCertPath":"/c.pem"}"#, &[], None, "certificate t c /c.pem"),
            (
                r#"{"aadClientId":"MSI","aadClientSecret":"msi","useManagedIdentityExtension":true}"#,
                &[],
                None,
                "managed None",
            ),
            (
                r#"{"useWorkloadIdentityExtension":true,"useManagedIdentityExtension":true}"#,
                WEBHOOK,
                None,
                "workload t2 c2 /token",
            ),
            (
                r#"{"tenantId":"t","aadClientId":"c","useWorkloadIdentityExtension":true}"#,
                WEBHOOK,
                None,
                "workload t c /token",
            ),
            (r#"{"useManagedIdentityExtension":true,"userAssignedIdentityID":"u"}"#, &[], None, r#"managed Some("u")"#),
            (
                r#"{"useManagedIdentityExtension":true,"userAssignedIdentityID":"u"}"#,
                &[],
                Some("f"),
                r#"managed Some("f")"#,
            ),
        ] {
            assert_eq!(of(text, environment, assigned).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        for (text, named) in [
            ("{}", "no credentials provided for Azure API"),
            (r#"{"aadClientId":"c","aadClientSecret":"s"}"#, "tenantId"),
            (r#"{"tenantId":"t","aadClientCertPath":"/c.pem"}"#, "aadClientId"),
            (r#"{"useWorkloadIdentityExtension":true}"#, "AZURE_FEDERATED_TOKEN_FILE"),
        ] {
            let error = of(text, &[], None).unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
