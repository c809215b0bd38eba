//! What `zonewright migrate` prints works when it is pasted: from typical Deployments of external-dns to a plan, and then to the records.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use zonewright_fakes::dynamodb::{DynamoDb, Schema};
use zonewright_fakes::route53::Route53;
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::KubeApi;

use crate::cluster::{Space, shared};
use crate::daemon::{command, state_folder, text};
use crate::site::{OWNER, Site, ZONE};
use crate::{needs, webhook_server};

/// A Deployment of external-dns with these arguments, in a file.
struct Deployment {
    folder: TempDir,
    /// What its pod has in the environment.
    environment: Vec<(String, String)>,
}

impl Deployment {
    fn new(space: &Space<'_>, arguments: &[String]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut file = String::from(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: external-dns, namespace: dns}\nspec:\n  template:\n    spec:\n      \
             containers:\n        - name: external-dns\n          image: registry.k8s.io/external-dns/external-dns:v0.22.0\n          \
             args:\n",
        );
        let common = ["--source=service".to_owned(), "--policy=sync".to_owned(), format!("--namespace={}", space.name)];
        for argument in common.iter().chain(arguments) {
            writeln!(file, "            - {argument}").expect("a text takes every line");
        }
        std::fs::write(folder.path().join("deployment.yaml"), file).expect("a file");
        Self { folder, environment: vec![("KUBECONFIG".to_owned(), text(&space.kubeconfig()))] }
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The command that is printed under a heading, as it stands there.
    #[track_caller]
    fn printed(&self, heading: &str) -> String {
        let file = format!("--from={}", text(&self.folder.path().join("deployment.yaml")));
        let output = command(&["migrate", &file]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8(output.stdout).expect("a text");
        let found = printed.split("\n\n").find_map(|block| block.strip_prefix(heading));
        found.unwrap_or_else(|| panic!("no {heading:?} in\n{printed}")).trim().to_owned()
    }

    /// Pastes a command, with what is added to its end; returns its exit status, and what it said.
    fn pasted(&self, heading: &str, further: &str) -> (Option<i32>, String) {
        let program = Path::new(env!("CARGO_BIN_EXE_zonewright"));
        let folder = program.parent().expect("a program stands in a folder");
        let output = Command::new("/bin/sh")
            .args(["-c", &format!("{} {further} 2>&1", self.printed(heading))])
            .env_clear()
            .env("PATH", folder)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .output()
            .expect("a shell runs");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Looks, and then takes over: what is planned stands afterwards, and a second look shows nothing to do.
    #[track_caller]
    fn moves(&self, stands: impl Fn() -> Vec<String>, expected: &[&str]) {
        const LOOK: &str = "# Look first; nothing is written:\n";
        const RUN: &str = "# Then stop external-dns, and run:\n";
        let before = stands();
        let (status, said) = self.pasted(LOOK, "");
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains("1 to create, 0 to update, 0 to delete"), "{said}");
        assert_eq!(stands(), before, "a plan writes nothing");
        let (state, place) = state_folder();
        let (status, said) = self.pasted(RUN, &format!("--once --metrics-address=127.0.0.1:0 --state-dir={place}"));
        assert_eq!(status, Some(0), "{said}");
        assert_eq!(stands(), expected);
        let (status, said) = self.pasted(LOOK, "");
        assert_eq!(status, Some(0), "{said}");
        drop(state);
    }
}

/// A cluster with one Service that asks for `web` in the zone.
fn cluster(kube: &KubeApi) -> Space<'_> {
    let space = Space::new(kube);
    space.balancer("web", &format!("web.{ZONE}"), &["192.0.2.1"]);
    space
}

#[test]
fn from_dynamic_updates_with_claims_in_texts() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = cluster(&kube);
    let deployment = Deployment::new(
        &space,
        &[
            "--provider=rfc2136".to_owned(),
            "--rfc2136-host=127.0.0.1".to_owned(),
            format!("--rfc2136-port={}", site.dns.addr().port()),
            format!("--rfc2136-zone={ZONE}"),
            "--rfc2136-tsig-axfr".to_owned(),
            format!("--rfc2136-tsig-keyname={}", site.key.name),
            "--rfc2136-tsig-secret-alg=hmac-sha256".to_owned(),
            format!("--rfc2136-tsig-secret={}", site.key.secret),
            format!("--txt-owner-id={OWNER}"),
            "--txt-prefix=edns-".to_owned(),
        ],
    );
    let deployment = deployment.with("EXTERNAL_DNS_RFC2136_TSIG_SECRET", &site.key.secret);
    deployment.moves(|| site.ours(), &["web 0 A 192.0.2.1"]);
    assert!(site.claims().iter().all(|claim| claim.starts_with("edns-a-web ")), "{:?}", site.claims());
}

#[test]
fn from_route_53_with_claims_in_a_table() {
    zonewright_testkit::require!(KubeApi::TOOLS);
    let kube = shared();
    let (space, route53, table) = (cluster(&kube), Route53::start(), DynamoDb::start());
    table.create_table("external-dns", Schema::hash("k", "S"));
    let zone = route53.add_zone("000000000001", ZONE, false, &[]);
    let deployment = Deployment::new(
        &space,
        &[
            "--provider=aws".to_owned(),
            "--aws-zone-type=public".to_owned(),
            format!("--domain-filter={ZONE}"),
            "--registry=dynamodb".to_owned(),
            "--dynamodb-table=external-dns".to_owned(),
            "--dynamodb-region=eu-central-1".to_owned(),
            format!("--txt-owner-id={OWNER}"),
        ],
    );
    let deployment = deployment
        .with("AWS_ENDPOINT_URL_ROUTE_53", &route53.url())
        .with("AWS_ENDPOINT_URL_DYNAMODB", &table.url())
        .with("AWS_ACCESS_KEY_ID", "AKIDFAKE")
        .with("AWS_SECRET_ACCESS_KEY", "s3cr3t-of-the-key")
        .with("AWS_EC2_METADATA_DISABLED", "true");
    let records = || {
        let sets = route53.sets(&zone).into_iter().filter(|set| !["SOA", "NS"].contains(&set.kind.as_str()));
        sets.map(|set| format!("{} {} {}", set.name, set.kind, set.values.join(" "))).collect()
    };
    deployment.moves(records, &["web.shop.test. A 192.0.2.1"]);
    assert_eq!(table.items("external-dns").len(), 1);
}

#[test]
fn from_a_webhook_beside_it() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = cluster(&kube);
    let server = webhook_server::serving(&site).start();
    let deployment = Deployment::new(
        &space,
        &[
            "--provider=webhook".to_owned(),
            format!("--webhook-provider-url=http://{}", webhook_server::address(&server)),
            format!("--domain-filter={ZONE}"),
            format!("--txt-owner-id={OWNER}"),
        ],
    );
    deployment.moves(|| site.ours(), &["web 0 A 192.0.2.1"]);
}
