//! The image that `cargo xtask image` writes: two of the same program are the same, its documents are those of the OCI, and what
//! is unpacked runs as another user. The program is that of these tests with its libraries, so that nothing is built once more.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use oci_spec::image::{Arch, Descriptor, Digest, ImageConfiguration, ImageIndex, ImageManifest, MediaType};
use sha2::{Digest as _, Sha256};

/// The user of the image.
const USER: &str = "65532";

fn succeeded(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The tasks of the workspace: the program that runs these tests, if one does, since cargo lets others wait while it builds.
fn tasks() -> Command {
    if let Some(task) = std::env::var_os("ZONEWRIGHT_XTASK") {
        return Command::new(task);
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["run", "--quiet", "--locked", "--package", "xtask", "--"]);
    cargo
}

/// Writes the image of a program.
fn write(program: &Path, out: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    succeeded(tasks().current_dir(root).args(["image", "--binary"]).arg(program).arg("--out").arg(out));
}

/// Every file of a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(
                    path.strip_prefix(folder).expect("a file below it").to_owned(),
                    fs::read(&path).expect("a file"),
                );
            }
        }
    }
    found
}

fn blob(layout: &Path, digest: &Digest) -> PathBuf {
    layout.join("blobs/sha256").join(digest.digest())
}

/// Every blob has the name of its content.
fn check_digests(files: &BTreeMap<PathBuf, Vec<u8>>) {
    let blobs = files.iter().filter_map(|(path, bytes)| Some((path.strip_prefix("blobs/sha256").ok()?, bytes)));
    let mut seen = 0;
    for (name, bytes) in blobs {
        assert_eq!(name, Path::new(&format!("{:x}", Sha256::digest(bytes))));
        seen += 1;
    }
    assert!(seen >= 6, "{seen}");
}

/// Runs the program of an unpacked image as the user of the image; nothing but the image is there for it.
fn run(folder: &Path, arguments: &[&str]) -> Output {
    let root = succeeded(Command::new("id").arg("-u")).stdout.starts_with(b"0\n");
    let mut command = if root {
        let mut chroot = Command::new("chroot");
        chroot.arg(format!("--userspec={USER}:{USER}"));
        chroot
    } else {
        let mut unshare = Command::new("unshare");
        unshare.args([&format!("--map-user={USER}"), &format!("--map-group={USER}"), "--root"]);
        unshare
    };
    // The programs that enter the image are found by this path; nothing else of the environment goes along.
    let command = command.arg(folder).arg("/zonewright").args(arguments).env_clear();
    succeeded(command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"))
}

#[test]
fn an_image_is_the_same_twice_and_runs_as_another_user() {
    let dir = tempfile::tempdir().unwrap();
    let (program, layout, again) = (dir.path().join("program"), dir.path().join("layout"), dir.path().join("again"));
    // The symbols of a test build are larger than all the rest.
    succeeded(Command::new("strip").arg("-o").arg(&program).arg(env!("CARGO_BIN_EXE_zonewright")));
    write(&program, &layout);
    write(&program, &again);
    let all = files(&layout);
    assert!(all == files(&again), "two images of one program differ");
    check_digests(&all);

    let index = ImageIndex::from_file(layout.join("index.json")).unwrap();
    let [image, bill] = index.manifests().as_slice() else { panic!("{index:?}") };
    let name = image.annotations().as_ref().and_then(|all| all.get("org.opencontainers.image.ref.name"));
    assert_eq!(name.map(String::as_str), Some(env!("CARGO_PKG_VERSION")));
    let manifest = ImageManifest::from_file(blob(&layout, image.digest())).unwrap();
    let config = ImageConfiguration::from_file(blob(&layout, manifest.config().digest())).unwrap();
    assert!([Arch::Amd64, Arch::ARM64].contains(config.architecture()), "{config:?}");
    let run_as = config.config().as_ref().and_then(|config| config.user().clone());
    assert_eq!(run_as, Some(format!("{USER}:{USER}")));
    let [layer] = manifest.layers().as_slice() else { panic!("{manifest:?}") };
    assert_eq!(layer.media_type(), &MediaType::ImageLayer);
    assert_eq!(config.rootfs().diff_ids().as_slice(), [layer.digest().to_string()]);

    // The bill of materials refers to the image.
    let referrer = ImageManifest::from_file(blob(&layout, bill.digest())).unwrap();
    assert_eq!(referrer.subject().as_ref().map(Descriptor::digest), Some(image.digest()));
    let text = fs::read(blob(&layout, referrer.layers()[0].digest())).unwrap();
    let text: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let named = |name: &str| text["components"].as_array().unwrap().iter().any(|component| component["name"] == name);
    for name in ["tokio", "rustls", "rust-std", "ca-certificates"] {
        assert!(named(name), "{name} is not in {text}");
    }

    let root = dir.path().join("root");
    fs::create_dir(&root).unwrap();
    succeeded(
        Command::new("tar")
            .args(["--extract", "--preserve-permissions", "--file"])
            .arg(blob(&layout, layer.digest()))
            .arg("--directory")
            .arg(&root),
    );
    let authorities = fs::read_to_string(root.join("etc/ssl/certs/ca-certificates.crt")).unwrap();
    assert!(authorities.matches("BEGIN CERTIFICATE").count() > 50);
    fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let version = run(&root, &["--version"]);
    let version = String::from_utf8_lossy(&[version.stdout, version.stderr].concat()).into_owned();
    assert!(version.contains(env!("CARGO_PKG_VERSION")), "{version}");
    // More of it than its first line: the libraries and the tables are there.
    let roles = run(&root, &["rbac", "--source=service"]);
    assert!(String::from_utf8_lossy(&roles.stdout).contains("kind: ClusterRole"), "{roles:?}");
}
