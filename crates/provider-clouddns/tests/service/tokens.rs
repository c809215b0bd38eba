//! Each way to a token, at the service on loopback that the vendor's own library gets them from.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{PROJECT, config};
use serde_json::{Value, json};
use tempfile::TempDir;
use zonewright_core::ErrorKind;
use zonewright_core::provider::Provider as _;
use zonewright_fakes::clouddns::{CloudDns as Service, Kind};
use zonewright_provider_clouddns::CloudDns;

const EMAIL: &str = "dns@shop.iam.gserviceaccount.com";
const AUDIENCE: &str = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/k";
const KEY: &str = include_str!("../common/key.pem");
const PUBLIC: &str = include_str!("../common/key.pub.pem");

/// The service with one zone, and a folder for files.
struct Site {
    service: Service,
    folder: TempDir,
}

impl Site {
    fn new() -> Self {
        let service = Service::start();
        service.add_zone(PROJECT, "shop-zone", "shop.test.", Kind::Public);
        Self { service, folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    fn credentials(&self, content: &Value) -> PathBuf {
        self.file("credentials.json", &content.to_string())
    }

    /// A provider with these credentials; the metadata server's without.
    fn provider(&self, credentials: Option<&Path>) -> CloudDns {
        let mut settings = config(&self.service.url(), "", &[]);
        let _ = settings.credentials.remove("accessToken");
        let variable = |name: &str| match name {
            "GOOGLE_APPLICATION_CREDENTIALS" => credentials.map(|path| path.display().to_string()),
            "GCE_METADATA_HOST" => Some(self.service.url().trim_start_matches("http://").to_owned()),
            _ => None,
        };
        CloudDns::with_variables(&settings, &variable).unwrap()
    }

    fn account(&self, email: &str) -> Value {
        json!({
            "type": "service_account", "project_id": PROJECT, "private_key_id": "1", "private_key": KEY, "client_email": email,
            "token_uri": format!("{}/token", self.service.url()),
        })
    }

    fn federated(&self, token: &Path, impersonated: Option<&str>) -> Value {
        let mut content = json!({
            "type": "external_account", "audience": AUDIENCE, "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "token_url": format!("{}/v1/token", self.service.url()), "credential_source": { "file": token },
        });
        if let Some(email) = impersonated {
            let url = self.service.url();
            content["service_account_impersonation_url"] =
                json!(format!("{url}/v1/projects/-/serviceAccounts/{email}:generateAccessToken"));
        }
        content
    }
}

async fn serves(provider: &CloudDns) {
    let zones = provider.zones().await.unwrap();
    assert_eq!(zones.iter().map(|zone| zone.name.as_str()).collect::<Vec<_>>(), ["shop.test"]);
}

/// The credentials lead to nothing, and the error says which they are and why.
async fn refused(provider: &CloudDns, said: &[&str]) {
    let error = provider.zones().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unauthorized, "{error}");
    let text = error.to_string();
    assert!(said.iter().all(|part| text.contains(part)), "{text}");
    assert!(!text.contains("PRIVATE KEY") && !text.contains("refresh-s3cret"), "{text}");
}

#[tokio::test]
async fn a_service_account_signs_for_itself() {
    let site = Site::new();
    let path = site.credentials(&site.account(EMAIL));
    let provider = site.provider(Some(&path));
    refused(&provider, &["credentials.json", "GOOGLE_APPLICATION_CREDENTIALS", "account not found"]).await;
    site.service.allow_service_account(EMAIL, PUBLIC);
    serves(&provider).await;
    serves(&provider).await;
    assert_eq!(site.service.calls()["Token"], 2, "a token is kept while it is good");
    // A token that the service takes no more is followed by another one, without a restart.
    site.service.expire_minted();
    serves(&provider).await;
    assert_eq!(site.service.calls()["Token"], 3);
    // So is a file that changes.
    site.credentials(&site.account("other@shop.iam.gserviceaccount.com"));
    refused(&provider, &["account not found"]).await;
}

#[tokio::test]
async fn a_user_has_logged_in() {
    let site = Site::new();
    site.service.allow_user("id", "client-s3cret", "refresh-s3cret");
    let user = |refresh: &str| {
        let uri = format!("{}/token", site.service.url());
        json!({
            "type": "authorized_user", "client_id": "id", "client_secret": "client-s3cret", "refresh_token": refresh,
            "token_uri": uri,
        })
    };
    let path = site.credentials(&user("refresh-s3cret"));
    serves(&site.provider(Some(&path))).await;
    site.credentials(&user("revoked"));
    refused(&site.provider(Some(&path)), &["credentials.json", "Bad Request (invalid_grant)"]).await;
}

/// Whoever gives tokens cannot be reached: the error says whom, and what came in between.
#[tokio::test]
async fn a_token_endpoint_out_of_reach_is_reported_with_its_cause() {
    let site = Site::new();
    let mut account = site.account(EMAIL);
    account["token_uri"] = json!("http://127.0.0.1:1/token");
    let error = site.provider(Some(&site.credentials(&account))).zones().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable, "{error}");
    let text = error.chain();
    assert!(["credentials.json", "127.0.0.1:1", "refused"].iter().all(|part| text.contains(part)), "{text}");
}

#[tokio::test]
async fn a_machine_has_an_account() {
    let site = Site::new();
    site.service.set_machine(Some(PROJECT));
    serves(&site.provider(None)).await;
    assert!(site.service.calls()["Metadata"] > 0);
}

/// A projected token that is written anew counts at once.
#[tokio::test]
async fn another_issuers_token_is_exchanged() {
    let site = Site::new();
    site.service.allow_federated(AUDIENCE, "projected");
    let token = site.file("token", "projected");
    let path = site.credentials(&site.federated(&token, None));
    let provider = site.provider(Some(&path));
    serves(&provider).await;
    site.file("token", "next");
    site.service.expire_minted();
    refused(&provider, &["credentials.json"]).await;
    refused(&provider, &["credentials.json", "invalid_grant"]).await;
    site.service.allow_federated(AUDIENCE, "next");
    serves(&provider).await;
}

#[tokio::test]
async fn and_a_service_account_is_taken_on() {
    let site = Site::new();
    site.service.allow_federated(AUDIENCE, "projected");
    let token = site.file("token", "projected");
    let path = site.credentials(&site.federated(&token, Some(EMAIL)));
    let provider = site.provider(Some(&path));
    refused(&provider, &["iam.serviceAccounts.getAccessToken"]).await;
    site.service.allow_impersonation(EMAIL);
    serves(&provider).await;
}

/// The accounts between are named as the file names them.
#[tokio::test]
async fn a_service_account_is_taken_on_by_way_of_others() {
    const BETWEEN: &str = "projects/-/serviceAccounts/between@shop.iam.gserviceaccount.com";
    let site = Site::new();
    site.service.allow_service_account("ci@shop.iam.gserviceaccount.com", PUBLIC);
    site.service.allow_delegation(EMAIL, &[BETWEEN]);
    let impersonated = |delegates: Value| {
        let url = site.service.url();
        json!({
            "type": "impersonated_service_account",
            "service_account_impersonation_url": format!("{url}/v1/projects/-/serviceAccounts/{EMAIL}:generateAccessToken"),
            "source_credentials": site.account("ci@shop.iam.gserviceaccount.com"),
            "delegates": delegates,
        })
    };
    serves(&site.provider(Some(&site.credentials(&impersonated(json!([BETWEEN])))))).await;
    let provider = site.provider(Some(&site.credentials(&impersonated(json!([])))));
    refused(&provider, &["iam.serviceAccounts.getAccessToken"]).await;
    let provider = site.provider(Some(&site.credentials(&impersonated(json!("one")))));
    refused(&provider, &["delegates", "expected a list of texts"]).await;
}
