//! The suite that every provider passes, and the program as a user runs it.

use std::fs;
use std::path::Path;
use std::process::Command;

use async_trait::async_trait;
use provider_file::FileProvider;
use zonewright_conformance::provider::Harness;
use zonewright_core::catalog::{FlagValue, ProviderConfig, Settings};
use zonewright_core::provider::{Listing, Provider, Read};
use zonewright_core::shared::Shared;
use zonewright_core::zone::InstanceId;
use zonewright_core::{RecordSet, Ttl, Zone};

/// A provider with one zone, and the folder of its file.
struct Folder {
    provider: FileProvider,
    zone: Zone,
    folder: tempfile::TempDir,
}

async fn harness() -> Option<Folder> {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("example.test.zone"), "example.test 300 NS ns.example.test\n").expect("a file");
    let mut settings = Settings::default();
    settings.set("file-folder", FlagValue::Text(folder.path().display().to_string()), true);
    let (instance, credentials) = (InstanceId::from("file"), Default::default());
    let provider = FileProvider::new(&ProviderConfig { instance, settings, credentials, shared: Shared::default() });
    let zone = provider.zones().await.expect("zones").remove(0);
    Some(Folder { provider, zone, folder })
}

#[async_trait]
impl Harness for Folder {
    fn provider(&self) -> &dyn Provider {
        &self.provider
    }

    fn zone(&self) -> &Zone {
        &self.zone
    }

    /// With an editor, so to speak.
    async fn insert(&self, set: RecordSet) {
        let path = self.folder.path().join("example.test.zone");
        let (name, rtype) = (&set.key.name, format!(" {} ", set.key.rtype));
        let text = fs::read_to_string(&path).expect("the zone");
        let others = text.lines().filter(|line| !(line.starts_with(&format!("{name} ")) && line.contains(&rtype)));
        let ttl = set.ttl.map_or(300, Ttl::secs);
        let lines = set.data.as_records().iter().map(|data| format!("{name} {ttl}{rtype}{data}"));
        let lines: Vec<String> = others.map(str::to_owned).chain(lines).collect();
        fs::write(&path, lines.join("\n") + "\n").expect("the zone");
    }

    async fn dump(&self) -> Vec<RecordSet> {
        match self.provider.records(&self.zone, Read::All).await {
            Ok(Listing::Full { sets, .. }) => sets,
            other => panic!("expected the zone, got {other:?}"),
        }
    }
}

zonewright_conformance::provider_suite!(harness);

const SERVICE: &str = r#"
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
  uid: "1"
  annotations:
    external-dns.kubernetes.io/hostname: www.example.test
spec:
  type: LoadBalancer
status:
  loadBalancer:
    ingress:
      - ip: 192.0.2.7
"#;

/// One pass over a folder of manifests; returns the zone file.
fn pass(folder: &Path) -> String {
    let status = Command::new(env!("CARGO_BIN_EXE_provider-file"))
        .current_dir(folder)
        .args(["--provider=file", "--file-folder=zones", "--source=service", "--manifests=objects"])
        .args(["--policy=sync", "--once", "--state-dir=state", "--metrics-address="])
        .status();
    assert!(status.expect("the program runs").success());
    fs::read_to_string(folder.join("zones/example.test.zone")).expect("the zone")
}

#[test]
fn a_service_comes_and_goes() {
    const EMPTY: &str = "example.test 300 NS ns.example.test.\nold.example.test 60 A 192.0.2.99\n";
    let folder = tempfile::tempdir().expect("a folder");
    let (zone, object) = (folder.path().join("zones/example.test.zone"), folder.path().join("objects/web.yaml"));
    for file in [&zone, &object] {
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    }
    fs::write(&zone, EMPTY).expect("a zone");
    fs::write(&object, SERVICE).expect("an object");
    let text = pass(folder.path());
    assert!(
        text.contains("www.example.test 300 A 192.0.2.7\n") && text.contains("a-www.example.test 300 TXT"),
        "{text}"
    );
    fs::remove_file(&object).expect("the object goes");
    assert_eq!(pass(folder.path()), EMPTY);
}
