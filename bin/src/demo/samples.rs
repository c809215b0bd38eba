//! The folder that the demo reads: a given one, or one of its own with samples.
//!
//! What must hold: a file that is there already is never written over, and nothing is ever written to or taken from a folder that
//! was given.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use zonewright_core::{Error, ErrorKind, Result};

/// The folder that is made where none is given.
const FOLDER: &str = "zonewright-demo";

/// The sample manifests.
const SAMPLES: [(&str, &str); 3] = [
    ("web.yaml", include_str!("../../demo/web.yaml")),
    ("shop.yaml", include_str!("../../demo/shop.yaml")),
    ("broken.yaml", include_str!("../../demo/broken.yaml")),
];

/// The file whose loss is a mass delete.
const WORKERS: &str = "workers.yaml";

/// So many Services stand in it: more than the brake allows.
pub(super) const WORKER_COUNT: usize = 24;

/// The folder of manifests.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    path: PathBuf,
    is_own: bool,
}

impl Folder {
    /// The folder to read: the given one, or a new one with samples.
    ///
    /// # Errors
    /// It cannot be made or written to.
    pub(super) fn open(given: &str) -> Result<Self> {
        if !given.is_empty() {
            return Ok(Self { path: PathBuf::from(given), is_own: false });
        }
        Self::with_samples(PathBuf::from(FOLDER))
            .map_err(|error| Error::new(ErrorKind::Configuration, "make the demo's folder", FOLDER).caused_by(error))
    }

    fn with_samples(path: PathBuf) -> io::Result<Self> {
        std::fs::create_dir_all(&path)?;
        let folder = Self { path, is_own: true };
        for (name, text) in SAMPLES {
            folder.add(name, text)?;
        }
        folder.add(WORKERS, &workers())?;
        Ok(folder)
    }

    fn add(&self, name: &str, text: &str) -> io::Result<()> {
        let file = self.path.join(name);
        if file.exists() { Ok(()) } else { std::fs::write(file, text) }
    }

    /// The path of the folder with the manifests.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file to edit first.
    pub(super) fn example(&self) -> PathBuf {
        let web = self.path.join("web.yaml");
        if web.exists() { web } else { self.path.clone() }
    }

    /// Takes away the file with many objects.
    ///
    /// # Errors
    /// A sentence that says why it cannot be done.
    pub(super) fn lose_workers(&self) -> std::result::Result<PathBuf, String> {
        let file = self.path.join(WORKERS);
        if !self.is_own {
            return Err(format!("{} is a folder of yours: delete many objects from it by hand", self.path.display()));
        }
        match std::fs::remove_file(&file) {
            Ok(()) => Ok(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(format!("{} is away already; r puts it back", file.display()))
            }
            Err(error) => Err(format!("{} cannot be deleted: {error}", file.display())),
        }
    }

    /// Puts the file with many objects back, if it is away.
    ///
    /// # Errors
    /// A sentence that says why it cannot be done.
    pub(super) fn restore_workers(&self) -> std::result::Result<PathBuf, String> {
        let file = self.path.join(WORKERS);
        if !self.is_own || file.exists() {
            return Err("To refuse a plan for good, put back what was taken out of the manifests".to_owned());
        }
        std::fs::write(&file, workers()).map_err(|error| format!("{} cannot be written: {error}", file.display()))?;
        Ok(file)
    }
}

/// Many Services of one shape.
fn workers() -> String {
    let mut text = String::from(
        "# Many Services at once. Without this file all their records would go together: the brake holds such a plan.\n",
    );
    for number in 1..=WORKER_COUNT {
        // Writing into a string cannot fail.
        let _ = write!(
            text,
            "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: worker-{number:02}\n  namespace: batch\n  \
             annotations:\n    external-dns.kubernetes.io/hostname: worker-{number:02}.demo.test\nspec:\n  \
             type: LoadBalancer\nstatus:\n  loadBalancer:\n    ingress:\n      - ip: 198.51.100.{number}\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_stays_and_what_is_lost_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("web.yaml"), "mine").unwrap();
        let folder = Folder::with_samples(dir.path().to_owned()).unwrap();
        assert_eq!(std::fs::read_to_string(folder.example()).unwrap(), "mine");
        assert!(folder.restore_workers().is_err(), "it is there");
        let lost = folder.lose_workers().unwrap();
        assert!(!lost.exists() && folder.lose_workers().is_err());
        assert_eq!(folder.restore_workers().unwrap(), lost);
        assert_eq!(std::fs::read_to_string(lost).unwrap().matches("kind: Service").count(), WORKER_COUNT);
    }

    #[test]
    fn nothing_is_written_to_a_given_folder() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(&dir.path().display().to_string()).unwrap();
        assert!(folder.lose_workers().is_err() && folder.restore_workers().is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        assert_eq!(folder.example(), dir.path());
    }
}
