//! Four clouds in one process: each has the names, and credentials that one of them refuses hold up no other.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use zonewright_fakes::azure::{self, AzureDns};
use zonewright_fakes::clouddns::{self, CloudDns};
use zonewright_fakes::cloudflare::{Cloudflare, Plan, TOKEN};
use zonewright_fakes::route53::Route53;
use zonewright_testkit::{KubeApi, require};

use crate::clouds::{Cloud, ZONE};
use crate::cluster::{Space, shared};
use crate::daemon::{CommandLine, text};
use crate::site::OWNER;
use crate::{LATER, until};

/// The instances, in alphabetical order.
const INSTANCES: [&str; 4] = ["azure", "cloudflare", "google", "route53"];

/// The services, each with a zone of one name.
struct Clouds {
    azure: AzureDns,
    cloudflare: Cloudflare,
    google: CloudDns,
    route53: Route53,
    zones: [String; 4],
    folder: tempfile::TempDir,
}

impl Clouds {
    fn start() -> Self {
        let (azure, cloudflare) = (AzureDns::start(), Cloudflare::start());
        let (google, route53) = (CloudDns::start(), Route53::start());
        azure.allow_secret("tenant", "app", "app-s3cret");
        google.allow_user("id", "client-s3cret", "refresh-s3cret");
        let zones = [
            azure.add_zone(azure::Kind::Public, "sub-1", "shop", ZONE),
            cloudflare.add_zone(ZONE, Plan::Pro),
            google.add_zone("shop", "shop-zone", "shop.test.", clouddns::Kind::Public),
            route53.add_zone("000000000001", ZONE, false, &[]),
        ];
        let clouds = Self { azure, cloudflare, google, route53, zones, folder: tempfile::tempdir().expect("a folder") };
        INSTANCES.iter().for_each(|instance| clouds.give(instance, true));
        clouds
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the credentials of an instance: those that are good, or others.
    fn give(&self, instance: &str, good: bool) {
        let write = |name: &str, content: &str| fs::write(self.path(name), content).expect("the credentials");
        match instance {
            "azure" => {
                let (url, secret) = (self.azure.url(), if good { "app-s3cret" } else { "revoked" });
                let content = json!({
                    "cloud": "AzureStackCloud", "tenantId": "tenant", "subscriptionId": "sub-1", "resourceGroup": "shop",
                    "aadClientId": "app", "aadClientSecret": secret, "activeDirectoryAuthorityHost": url,
                    "resourceManagerEndpoint": url,
                });
                write("azure.json", &content.to_string());
                self.azure.expire_minted();
            }
            "cloudflare" => {
                let token = if good { TOKEN.to_owned() } else { "WRNG".repeat(10) };
                write("cloudflare", &token);
            }
            "google" => {
                let content = json!({
                    "type": "authorized_user", "client_id": "id", "client_secret": "client-s3cret",
                    "refresh_token": if good { "refresh-s3cret" } else { "revoked" },
                    "token_uri": format!("{}/token", self.google.url()),
                });
                write("google.json", &content.to_string());
                self.google.expire_minted();
            }
            _ => {
                let id = if good { "AKIDFAKE" } else { "AKIDWRONG" };
                write("aws", &format!("[default]\naws_access_key_id = {id}\naws_secret_access_key = s3cr3t-of-{id}\n"));
                if good {
                    self.route53.allow_key("AKIDFAKE", "000000000001");
                } else {
                    self.route53.expire("AKIDFAKE");
                }
            }
        }
    }

    fn line(&self, space: &Space<'_>) -> CommandLine {
        let settings = self.path("settings.yaml");
        let entry = |name: &str, kind: &str, flags: &str| {
            format!("- name: {name}\n  type: {kind}\n  domain-filter: [{ZONE}]\n  flags:\n{flags}")
        };
        let azure_json = text(&self.path("azure.json"));
        let entries = [
            entry("azure", "azure", &format!("    azure-config-file: \"{azure_json}\"\n    azure-api-qps: 100\n")),
            entry("cloudflare", "cloudflare", "    cloudflare-api-qps: 100\n    batch-change-interval: 0s\n"),
            entry("google", "google", "    google-project: shop\n    google-api-qps: 100\n"),
            entry("route53", "aws", "    aws-api-qps: 100\n    aws-batch-change-interval: 0s\n"),
        ];
        fs::write(&settings, format!("providers:\n{}", entries.concat())).expect("the settings file");
        let line = CommandLine::default()
            .args(&["--policy=sync", "--source=service", "--metrics-address=127.0.0.1:0", "--interval=2s"])
            .arg(format!("--txt-owner-id={OWNER}"))
            .arg("--txt-prefix=claims.")
            .arg(format!("--config={}", text(&settings)))
            .arg(format!("--state-dir={}", space.state_dir()))
            .env("CLOUDFLARE_BASE_URL", &self.cloudflare.url())
            .env("CF_API_TOKEN", &format!("file:{}", text(&self.path("cloudflare"))))
            .env("CLOUDSDK_API_ENDPOINT_OVERRIDES_DNS", &self.google.url())
            .env("GOOGLE_APPLICATION_CREDENTIALS", &text(&self.path("google.json")))
            .env("AWS_ENDPOINT_URL", &self.route53.url())
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_SHARED_CREDENTIALS_FILE", &text(&self.path("aws")));
        space.read_by(line)
    }

    fn addresses(&self, name: &str) -> [Vec<String>; 4] {
        let [azure, cloudflare, google, route53] = &self.zones;
        [
            self.azure.addresses(azure, name),
            self.cloudflare.addresses(cloudflare, name),
            self.google.addresses(google, name),
            self.route53.addresses(route53, name),
        ]
    }

    /// Waits until the name has this address at all clouds, but for one.
    #[track_caller]
    fn serve(&self, name: &str, address: &str, but: Option<usize>) {
        let has = |at: usize, found: &Vec<String>| Some(at) == but || *found == [address];
        until(&format!("{name} {address}"), LATER, || {
            self.addresses(name).iter().enumerate().all(|(at, found)| has(at, found))
        });
    }
}

/// Each in turn loses its credentials: it says where they were found, the others serve a new address, and it follows when it has
/// good ones again, without a restart.
#[test]
fn refused_credentials_pause_their_own_instance_alone() {
    require!(KubeApi::TOOLS);
    let (kube, clouds) = (shared(), Clouds::start());
    let space = Space::new(&kube);
    space.balancer("web", "web.shop.test", &["192.0.2.1"]);
    let daemon = clouds.line(&space).start();
    daemon.ready();
    clouds.serve("web.shop.test", "192.0.2.1", None);
    let places = ["azure.json", "cloudflare", "google.json", "the default credentials"];
    for (at, (instance, place)) in INSTANCES.into_iter().zip(places).enumerate() {
        clouds.give(instance, false);
        let (before, address) = (format!("192.0.2.{}", 1 + at), format!("192.0.2.{}", 2 + at));
        space.reached_at("services", "web", &[&address]);
        clouds.serve("web.shop.test", &address, Some(at));
        daemon.unready(&[&format!("{instance}/{ZONE}"), place], LATER);
        assert_eq!(clouds.addresses("web.shop.test")[at], [before], "{instance}");
        let body = daemon.page("/readyz").1;
        for other in INSTANCES.iter().filter(|other| **other != instance) {
            assert!(!body.contains(&format!("{other}/{ZONE}")), "{other} waits for {instance}:\n{body}");
        }
        clouds.give(instance, true);
        clouds.serve("web.shop.test", &address, None);
    }
    daemon.ready_within(LATER);
    let log = daemon.terminate().log;
    assert!(!log.contains("s3cret") && !log.contains("s3cr3t") && !log.contains(TOKEN), "a secret is in the log");
}
