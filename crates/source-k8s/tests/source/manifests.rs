//! The manifests feed on a real folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use zonewright_core::source::{SeenKinds, Source};
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::source::K8sSource;

use crate::support::{Engine, options};

/// Whatever is waited for comes within this time, on the slowest machine.
const DEADLINE: Duration = Duration::from_secs(20);

/// A folder, the feed on it, and an engine that takes over what changed as soon as it is woken.
struct Lab {
    dir: TempDir,
    source: Arc<K8sSource>,
    engine: Engine,
    /// Every object that went, and whether with a tombstone.
    gone: Vec<(String, bool)>,
    tasks: JoinSet<()>,
}

impl Lab {
    /// A feed on a folder that holds `files` from the beginning.
    async fn with(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let place = Place(dir.path().to_owned());
        for (name, text) in files {
            place.write(name, text);
        }
        let (source, tasks) = K8sSource::manifests(dir.path(), options(), &SeenKinds::default()).unwrap();
        let mut lab = Self { dir, source, engine: Engine::default(), gone: Vec::new(), tasks };
        lab.until("the first reading", |lab| lab.source.evidence().is_settled()).await;
        lab
    }

    fn place(&self) -> Place {
        Place(self.dir.path().to_owned())
    }

    /// Waits for wake-ups, and takes over what they report, until `condition` holds.
    async fn until(&mut self, what: &str, condition: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        loop {
            self.gone.extend(self.engine.take(self.source.take(false)));
            if condition(self) {
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let woken = timeout(left, self.source.changed()).await;
            assert!(woken.is_ok(), "no wake-up: waited in vain for {what}; {:?}", self.engine.endpoints());
        }
    }

    async fn until_endpoints(&mut self, expected: &[&str]) {
        self.until(&format!("{expected:?}"), |lab| lab.engine.endpoints() == expected).await;
    }

    /// Waits until the faults, which wake nobody, are as expected.
    async fn until_faults(&self, expected: &[&str]) {
        let deadline = Instant::now() + DEADLINE;
        while self.faults() != expected {
            assert!(Instant::now() < deadline, "expected {expected:?}, found {:?}", self.faults());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Rewrites `web.yaml` a few times; returns the shortest time in which a change was taken over.
    async fn fastest_pick_up(&mut self, place: &Place) -> Duration {
        let mut fastest = Duration::MAX;
        for last in 1..=9 {
            let address = format!("198.51.100.{last}");
            let start = Instant::now();
            place.write("web.yaml", &service("web", &address));
            self.until_endpoints(&[&format!("web.example.com A {address}")]).await;
            // The first may have met a poll by chance; each later one comes right after a reading.
            if last > 1 {
                fastest = fastest.min(start.elapsed());
            }
        }
        fastest
    }

    fn faults(&self) -> Vec<String> {
        let prefix = format!("{}/", self.dir.path().display());
        self.source.faults().iter().map(|fault| fault.to_string().replace(&prefix, "")).collect()
    }

    fn doubted(&self) -> Option<u64> {
        self.source.evidence().kinds[&Kind::Service.id()].doubted
    }

    fn is_evidence(&self) -> bool {
        self.source.evidence().kinds[&Kind::Service.id()].is_evidence()
    }
}

#[derive(Clone)]
struct Place(PathBuf);

impl Place {
    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).unwrap();
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
    }
}

fn service(name: &str, address: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: {name}\n  annotations:\n    \
         external-dns.kubernetes.io/hostname: {name}.example.com\nspec:\n  type: LoadBalancer\nstatus:\n  \
         loadBalancer:\n    ingress:\n    - ip: {address}\n"
    )
}

fn many(names: &[&str]) -> String {
    let documents: Vec<String> = names.iter().map(|name| service(name, "192.0.2.1")).collect();
    documents.join("---\n")
}

const WEB: &str = "web.example.com A 192.0.2.1";

#[tokio::test]
async fn files_are_read_at_the_start() {
    let json = r#"{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": "j"}, "spec": {"rules": [{"host": "j.example.com"}]},
        "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}}]}"#;
    let hidden = service("hidden", "192.0.2.1");
    let mut lab = Lab::with(&[
        ("web.yaml", &service("web", "192.0.2.1")),
        ("two.yml", &many(&["a", "b"])),
        ("deep/er/list.json", json),
        (".hidden.yaml", &hidden),
        (".git/x.yaml", &hidden),
        ("web.yaml~", &hidden),
        (".web.yaml.swp", "\0\0"),
        ("README.md", "# not a manifest"),
        ("other.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"),
    ])
    .await;
    lab.until_endpoints(&["a.example.com A 192.0.2.1", "b.example.com A 192.0.2.1", "j.example.com A 192.0.2.7", WEB])
        .await;
    assert!(lab.is_evidence());
    assert_eq!(lab.faults(), [""; 0]);
    let unread = lab.source.unread_objects();
    let unread: Vec<_> = unread.iter().map(|one| (one.line, &*one.api_version, &*one.kind)).collect();
    assert_eq!(unread, [(1, "v1", "ConfigMap")]);
    let object = &lab.engine.objects.keys().next().unwrap().1;
    assert_eq!((&*object.namespace, object.uid.is_empty()), ("default", true));
}

#[tokio::test]
async fn an_empty_folder_is_complete() {
    let lab = Lab::with(&[]).await;
    assert!(lab.is_evidence());
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_an_error() {
    let error = K8sSource::manifests(Path::new("no/such/folder"), options(), &SeenKinds::default()).unwrap_err();
    assert!(error.to_string().contains("--manifests no/such/folder: expected a folder that can be read"), "{error}");
}

#[tokio::test]
async fn changes_are_taken_up() {
    let mut lab = Lab::with(&[("web.yaml", &service("web", "192.0.2.1"))]).await;
    let place = lab.place();
    lab.until_endpoints(&[WEB]).await;

    place.write("web.yaml", &service("web", "192.0.2.2"));
    lab.until_endpoints(&["web.example.com A 192.0.2.2"]).await;

    place.write("new/folder/n.yaml", &service("n", "192.0.2.3"));
    lab.until_endpoints(&["n.example.com A 192.0.2.3", "web.example.com A 192.0.2.2"]).await;

    place.rename("web.yaml", "renamed.yaml");
    place.write(".tmp.1", &service("n", "192.0.2.4"));
    place.rename(".tmp.1", "new/folder/n.yaml");
    lab.until_endpoints(&["n.example.com A 192.0.2.4", "web.example.com A 192.0.2.2"]).await;
    assert_eq!(lab.gone, [], "an object whose file was renamed was never gone");

    place.remove("renamed.yaml");
    lab.until_endpoints(&["n.example.com A 192.0.2.4"]).await;
    assert_eq!(lab.gone, [("Service default/web".to_owned(), false)]);
}

#[tokio::test]
async fn a_change_is_taken_up_at_once() {
    let mut lab = Lab::with(&[("web.yaml", &service("web", "192.0.2.99"))]).await;
    let place = lab.place();
    let fastest = lab.fastest_pick_up(&place).await;
    assert!(fastest < Duration::from_millis(100), "the fastest of eight took {fastest:?}");
}

#[tokio::test]
async fn a_burst_of_writes_ends_in_the_last() {
    let mut lab = Lab::with(&[]).await;
    let place = lab.place();
    for last in 1..=200 {
        place.write("web.yaml", &service("web", &format!("192.0.2.{last}")));
    }
    lab.until_endpoints(&["web.example.com A 192.0.2.200"]).await;
}

#[tokio::test]
async fn garbage_leaves_the_last_good_content_in_force() {
    let mut lab = Lab::with(&[("web.yaml", &many(&["web", "other"]))]).await;
    let place = lab.place();
    let other = "other.example.com A 192.0.2.1";
    lab.until_endpoints(&[other, WEB]).await;

    place.write("web.yaml", "---\nkind: [\n");
    lab.until_faults(&["web.yaml:2: unclosed bracket '['"]).await;
    lab.until_endpoints(&[other, WEB]).await;
    assert!(lab.is_evidence(), "what the file held is known");
    assert_eq!(lab.source.errors().failures, 1);

    place.write("web.yaml", &format!("{}---\nkind: Service\n", service("web", "192.0.2.2")));
    lab.until_endpoints(&[other, "web.example.com A 192.0.2.2"]).await;
    lab.until_faults(&["web.yaml:14: `apiVersion` is missing"]).await;

    place.write("web.yaml", &service("web", "192.0.2.2"));
    lab.until_endpoints(&["web.example.com A 192.0.2.2"]).await;
    lab.until_faults(&[]).await;
}

#[tokio::test]
async fn what_was_never_readable_is_a_hole_in_the_view() {
    let mut lab = Lab::with(&[("bad.yaml", "kind: ["), ("web.yaml", &service("web", "192.0.2.1"))]).await;
    lab.until_endpoints(&[WEB]).await;
    assert!(!lab.is_evidence(), "bad.yaml may hold anything");
    lab.place().remove("bad.yaml");
    lab.until("the view to be whole", Lab::is_evidence).await;
    lab.place().write("bad.yaml", &service("bad", "192.0.2.1"));
    lab.until_endpoints(&["bad.example.com A 192.0.2.1", WEB]).await;
    assert!(lab.is_evidence());
}

#[tokio::test]
async fn of_two_files_with_one_object_the_first_by_name_wins() {
    let mut lab =
        Lab::with(&[("b.yaml", &service("web", "192.0.2.2")), ("a.yaml", &service("web", "192.0.2.1"))]).await;
    lab.until_endpoints(&[WEB]).await;
    lab.until_faults(&[&format!(
        "b.yaml:1: Service default/web is also in {}/a.yaml:1, which is used",
        lab.dir.path().display()
    )
    .replace(&format!("{}/", lab.dir.path().display()), "")])
        .await;
    assert!(lab.is_evidence());
    lab.place().remove("a.yaml");
    lab.until_endpoints(&["web.example.com A 192.0.2.2"]).await;
    assert_eq!(lab.gone, []);
}

#[tokio::test]
async fn a_folder_that_is_away_deletes_nothing() {
    let mut lab = Lab::with(&[("m/web.yaml", &service("web", "192.0.2.1"))]).await;
    let root = lab.dir.path().join("m");
    let (source, tasks) = K8sSource::manifests(&root, options(), &SeenKinds::default()).unwrap();
    (lab.source, lab.tasks) = (source, tasks);
    lab.engine = Engine::default();
    lab.until_endpoints(&[WEB]).await;

    fs::rename(&root, lab.dir.path().join("away")).unwrap();
    lab.until("the view to be stale", |lab| !lab.is_evidence()).await;
    assert_eq!(lab.engine.endpoints(), [WEB]);
    assert_eq!(lab.gone, []);

    fs::create_dir(&root).unwrap();
    fs::write(root.join("web.yaml"), service("web", "192.0.2.5")).unwrap();
    lab.until_endpoints(&["web.example.com A 192.0.2.5"]).await;
    lab.until("the view to be fresh", Lab::is_evidence).await;
}

#[tokio::test]
async fn another_folder_in_its_place_is_watched() {
    let mut lab = Lab::with(&[]).await;
    let root = lab.dir.path().join("m");
    fs::create_dir(&root).unwrap();
    (lab.source, lab.tasks) = K8sSource::manifests(&root, options(), &SeenKinds::default()).unwrap();
    lab.until("the first reading", |lab| lab.source.evidence().is_settled()).await;
    fs::rename(&root, lab.dir.path().join("away")).unwrap();
    fs::create_dir(&root).unwrap();
    let fastest = lab.fastest_pick_up(&Place(root)).await;
    assert!(fastest < Duration::from_millis(500), "the new folder is polled, not watched: {fastest:?}");
}

#[tokio::test]
async fn an_emptied_folder_is_doubted() {
    let mut lab = Lab::with(&[("all.yaml", &many(&["a", "b", "c"])), ("web.yaml", &service("web", "192.0.2.1"))]).await;
    lab.until("four", |lab| lab.engine.endpoints().len() == 4).await;
    lab.place().remove("all.yaml");
    lab.until_endpoints(&[WEB]).await;
    assert!(lab.is_evidence());

    let mut lab = Lab::with(&[("all.yaml", &many(&["a", "b", "c"]))]).await;
    lab.until("three", |lab| lab.engine.endpoints().len() == 3).await;
    lab.place().remove("all.yaml");
    lab.until_endpoints(&[]).await;
    assert!(!lab.is_evidence());
    assert_eq!(lab.doubted(), Some(1), "it may be accepted for what is shown with it");
    lab.place().write("web.yaml", &service("web", "192.0.2.1"));
    lab.until("an object", Lab::is_evidence).await;
    assert_eq!(lab.doubted(), None);
}

/// Whoever writes a file anew truncates it first, and may be long in writing, or die.
#[tokio::test]
async fn a_truncated_file_is_not_an_empty_one() {
    let mut lab = Lab::with(&[("web.yaml", &service("web", "192.0.2.1"))]).await;
    let place = lab.place();
    lab.until_endpoints(&[WEB]).await;
    place.write("web.yaml", "");
    let why = "what it last held stays in force; expected objects, or a comment in a file that is to hold none";
    lab.until_faults(&[&format!("web.yaml: the file is empty; {why}")]).await;
    lab.until_endpoints(&[WEB]).await;
    assert!(lab.is_evidence(), "what the file held is known");
    place.write("web.yaml", &service("web", "192.0.2.2"));
    lab.until_endpoints(&["web.example.com A 192.0.2.2"]).await;
    lab.until_faults(&[]).await;
    place.write("web.yaml", "# none now\n");
    lab.until_endpoints(&[]).await;
    place.write("web.yaml", &service("web", "192.0.2.1"));
    lab.until_endpoints(&[WEB]).await;
    place.remove("web.yaml");
    lab.until_endpoints(&[]).await;
}

/// Kubernetes mounts a ConfigMap as links through `..data`, which it swaps with one rename.
#[cfg(unix)]
#[tokio::test]
async fn a_mounted_config_map() {
    use std::os::unix::fs::symlink;

    let dir = tempfile::tempdir().unwrap();
    let place = Place(dir.path().to_owned());
    place.write("..2026_1/web.yaml", &service("web", "192.0.2.1"));
    symlink("..2026_1", place.path("..data")).unwrap();
    symlink("..data/web.yaml", place.path("web.yaml")).unwrap();
    symlink(".", place.path("loop")).unwrap();
    let (source, tasks) = K8sSource::manifests(dir.path(), options(), &SeenKinds::default()).unwrap();
    let mut lab = Lab { dir, source, engine: Engine::default(), gone: Vec::new(), tasks };
    lab.until_endpoints(&[WEB]).await;
    assert_eq!(lab.faults(), [""; 0]);

    place.write("..2026_2/web.yaml", &service("web", "192.0.2.2"));
    symlink("..2026_2", place.path("..data_tmp")).unwrap();
    place.rename("..data_tmp", "..data");
    lab.until_endpoints(&["web.example.com A 192.0.2.2"]).await;
    assert_eq!(lab.gone, []);
}

/// What it leads to may be a folder on another disk, which is away.
#[cfg(unix)]
#[tokio::test]
async fn a_link_that_leads_nowhere_takes_nothing_away() {
    let outside = tempfile::tempdir().unwrap();
    let there = outside.path().join("there");
    fs::create_dir(&there).unwrap();
    fs::write(there.join("web.yaml"), service("web", "192.0.2.1")).unwrap();
    let mut lab = Lab::with(&[]).await;
    let place = lab.place();
    std::os::unix::fs::symlink(&there, place.path("x")).unwrap();
    lab.until_endpoints(&[WEB]).await;

    fs::rename(&there, outside.path().join("away")).unwrap();
    lab.until("the view to be stale", |lab| !lab.is_evidence()).await;
    lab.until_endpoints(&[WEB]).await;
    assert!(lab.faults()[0].starts_with("x: cannot be read: "), "{:?}", lab.faults());

    fs::rename(outside.path().join("away"), &there).unwrap();
    lab.until("the view to be fresh", Lab::is_evidence).await;
    assert_eq!(lab.gone, []);

    place.remove("x");
    lab.until_endpoints(&[]).await;
    lab.until("the view to be fresh", Lab::is_evidence).await;
}
