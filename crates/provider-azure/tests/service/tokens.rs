//! Each way to a token, at the service on loopback that the vendor's own library gets them from.

use std::fs;
use std::path::PathBuf;

use crate::common::{GROUP, SUBSCRIPTION, ZONE, config};
use serde_json::{Value, json};
use tempfile::TempDir;
use zonewright_core::ErrorKind;
use zonewright_core::catalog::FlagValue;
use zonewright_core::error::Denied;
use zonewright_core::error::Result;
use zonewright_core::provider::Provider as _;
use zonewright_fakes::azure::{AzureDns as Service, Kind};
use zonewright_provider_azure::AzureDns;

const SECRET: &str = "app-s3cret";
/// A certificate with its key, made for these tests alone.
const CERTIFICATE: &str = include_str!("../common/certificate.pem");

/// The service with one zone, and a folder for files.
struct Site {
    service: Service,
    folder: TempDir,
}

impl Site {
    fn new() -> Self {
        let service = Service::start();
        service.add_zone(Kind::Public, SUBSCRIPTION, GROUP, ZONE);
        Self { service, folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// `azure.json` with these fields.
    fn azure_json(&self, fields: &Value) -> PathBuf {
        let url = self.service.url();
        let mut file = json!({
            "cloud": "AzureStackCloud", "activeDirectoryAuthorityHost": url, "resourceManagerEndpoint": url,
        });
        file.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.file("azure.json", &file.to_string())
    }

    /// A provider with this file, in a pod whose webhook has set variables.
    fn build(&self, fields: &Value, given: &[(&'static str, FlagValue)]) -> Result<AzureDns> {
        let path = self.azure_json(fields);
        let file = ("azure-config-file", FlagValue::Text(path.display().to_string()));
        let given: Vec<_> = given.iter().cloned().chain([file]).collect();
        let token = self.folder.path().join("token").display().to_string();
        let variable = |name: &str| match name {
            "AZURE_TENANT_ID" => Some("tenant".to_owned()),
            "AZURE_CLIENT_ID" => Some("pod".to_owned()),
            "AZURE_FEDERATED_TOKEN_FILE" => Some(token.clone()),
            "AZURE_POD_IDENTITY_AUTHORITY_HOST" => Some(self.service.url()),
            _ => None,
        };
        AzureDns::with_variables(&config(&[], &given), false, &variable)
    }

    fn provider(&self, fields: &Value) -> AzureDns {
        self.build(fields, &[]).unwrap()
    }

    fn asked(&self, operation: &str) -> usize {
        self.service.calls().get(operation).copied().unwrap_or(0)
    }
}

fn principal(secret: &str) -> Value {
    json!({ "tenantId": "tenant", "aadClientId": "app", "aadClientSecret": secret })
}

async fn serves(provider: &AzureDns) {
    let zones = provider.zones().await.unwrap();
    assert_eq!(zones.iter().map(|zone| zone.name.as_str()).collect::<Vec<_>>(), [ZONE]);
}

/// The credentials lead to nothing, and the error says which they are and why.
async fn refused(provider: &AzureDns, said: &[&str]) {
    let error = provider.zones().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unauthorized, "{error}");
    let text = error.to_string();
    assert!(said.iter().all(|part| text.contains(part)), "{text}");
    assert!(!text.contains("s3cret") && !text.contains("PRIVATE KEY"), "{text}");
}

#[tokio::test]
async fn a_secret_is_shown_once_an_hour_and_may_change() {
    let site = Site::new();
    site.service.allow_secret("tenant", "app", SECRET);
    let provider = site.provider(&principal(SECRET));
    serves(&provider).await;
    serves(&provider).await;
    assert_eq!(site.asked("Token"), 1, "a token is kept while it is good");
    // A token that the service takes no more is followed by another one, without a restart.
    site.service.expire_minted();
    serves(&provider).await;
    assert_eq!(site.asked("Token"), 2);
    // So is a file that changes.
    site.azure_json(&principal("old-s3cret"));
    refused(&provider, &["the client secret of app in", "azure.json", "AADSTS7000215"]).await;
    site.azure_json(&principal(SECRET));
    serves(&provider).await;
    site.azure_json(&json!({ "tenantId": "nobody", "aadClientId": "app", "aadClientSecret": SECRET }));
    refused(&provider, &["AADSTS90002"]).await;
    site.file("azure.json", "{ \"aadClientSecret\": \"s3cret\"");
    refused(&provider, &["azure.json", "no JSON"]).await;
}

#[tokio::test]
async fn a_certificate_signs() {
    let site = Site::new();
    let path = site.file("app.pem", CERTIFICATE);
    let fields = json!({ "tenantId": "tenant", "aadClientId": "app", "aadClientCertPath": path });
    let provider = site.provider(&fields);
    refused(&provider, &["the certificate of app at", "app.pem", "AADSTS"]).await;
    site.service.allow_certificate("tenant", "app", CERTIFICATE);
    serves(&provider).await;
    site.service.expire_minted();
    let key = CERTIFICATE.find("-----BEGIN PRIVATE").unwrap();
    for (content, said) in [("no PEM", "expected one with its private key"), (&CERTIFICATE[..key], "private key")] {
        site.file("app.pem", content);
        let error = provider.zones().await.unwrap_err();
        assert!(error.kind == ErrorKind::Unauthorized && error.to_string().contains(said), "{error}");
    }
    fs::remove_file(&path).unwrap();
    refused(&provider, &["app.pem", "cannot be read"]).await;
}

/// The token of a workload identity may be in a file that `azure.json` names, as Kubernetes' cloud provider has it.
#[tokio::test]
async fn a_file_of_a_token_may_be_named() {
    let site = Site::new();
    site.service.allow_federated("tenant", "app", "named");
    let path = site.file("named-token", "named");
    let fields = json!({
        "tenantId": "tenant", "aadClientId": "app", "useFederatedWorkloadIdentityExtension": true,
        "aadFederatedTokenFile": path,
    });
    let provider = site.provider(&fields);
    serves(&provider).await;
    site.file("named-token", "another");
    let error = provider.zones().await.unwrap_err();
    assert!(error.to_string().contains("named-token"), "{error}");
    assert_eq!(error.why_denied(), Some(Denied::Credentials));
}

/// A projected token that is written anew counts at once.
#[tokio::test]
async fn a_pod_has_an_identity() {
    let site = Site::new();
    site.service.allow_federated("tenant", "pod", "projected");
    site.file("token", "projected\n");
    let provider = site.provider(&json!({ "useWorkloadIdentityExtension": true }));
    serves(&provider).await;
    site.file("token", "next");
    refused(&provider, &["the workload identity pod", "with the token at", "AADSTS"]).await;
    site.service.allow_federated("tenant", "pod", "next");
    serves(&provider).await;
    site.file("token", " ");
    refused(&provider, &["is empty"]).await;
}

#[tokio::test]
async fn a_machine_has_identities() {
    let site = Site::new();
    let managed = json!({ "useManagedIdentityExtension": true });
    refused(&site.provider(&managed), &["the managed identity of the machine", "azure.json"]).await;
    site.service.set_machine(Some(&[]));
    serves(&site.provider(&managed)).await;
    site.service.set_machine(Some(&["assigned", "flagged"]));
    let assigned = json!({ "useManagedIdentityExtension": true, "userAssignedIdentityID": "assigned" });
    serves(&site.provider(&assigned)).await;
    let flag = |id: &str| [("azure-user-assigned-identity-client-id", FlagValue::Text(id.to_owned()))];
    serves(&site.build(&assigned, &flag("flagged")).unwrap()).await;
    let unknown = site.build(&assigned, &flag("unknown")).unwrap();
    refused(&unknown, &["the managed identity unknown", "Identity not found"]).await;
}

#[test]
fn what_is_missing_is_reported_at_the_start() {
    let site = Site::new();
    for (fields, named) in [
        (json!({}), "no credentials provided for Azure API"),
        (json!({ "aadClientId": "app", "aadClientSecret": SECRET }), "tenantId"),
        (json!({ "cloud": "Moon", "useManagedIdentityExtension": true }), "unknown cloud name"),
    ] {
        let error = site.build(&fields, &[]).unwrap_err();
        assert!(error.kind == ErrorKind::Configuration && error.to_string().contains(named), "{error}");
        assert!(error.to_string().contains("azure.json") && !error.to_string().contains("s3cret"), "{error}");
    }
}
