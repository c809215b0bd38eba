//! The folder of zone files: one `NAME.zone` for each zone, replaced in one step.
//!
//! In: a zone's name, or its text. Out: the zone as the file has it, with a stamp that shows whether another writer changed
//! the file since. A file that cannot be read, or that another writer has changed since it was read, is never overwritten.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use zonewright_core::DnsName;
use zonewright_core::error::{Error, ErrorKind, Result};

use crate::zonefile::FileError;

const SUFFIX: &str = ".zone";
/// A file that was changed a shorter time ago may be being written.
pub(crate) const AT_REST: Duration = Duration::from_secs(1);
/// How often a file is read that changes meanwhile.
const READS: usize = 3;

/// Distinguishes one writing of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
}

impl Stamp {
    fn of(metadata: &fs::Metadata) -> Self {
        Self { modified: metadata.modified().ok(), length: metadata.len() }
    }

    /// Whether the file was left alone for a while. A time in the future says nothing.
    pub(crate) fn is_at_rest(&self) -> bool {
        let age = self.modified.and_then(|modified| SystemTime::now().duration_since(modified).ok());
        age.is_some_and(|age| age >= AT_REST)
    }
}

/// A folder of zone files.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The folder at `path`, created if it is not there.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        fs::create_dir_all(path).map_err(|e| failed("open folder of zone files", path, e))?;
        Ok(Self { path: path.to_owned() })
    }

    /// The zones that have a file.
    pub(crate) fn zones(&self) -> Result<Vec<DnsName>> {
        let fail = |e| failed("list folder of zone files", &self.path, e);
        let mut zones = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(fail)? {
            let name = entry.map_err(fail)?.file_name();
            zones.extend(name.to_str().and_then(zone_of));
        }
        zones.sort();
        Ok(zones)
    }

    /// The text of a zone's file and its stamp, which was the same before and after; `None` if there is no file.
    pub(crate) fn read(&self, zone: &DnsName) -> Result<Option<(String, Stamp)>> {
        let path = self.file(zone);
        for _ in 0..READS {
            let Some(stamp) = self.stamp(zone)? else { return Ok(None) };
            let bytes = fs::read(&path).map_err(|e| failed("read zone file", &path, e))?;
            if self.stamp(zone)? == Some(stamp) {
                let invalid =
                    |_| Error::new(ErrorKind::Invalid, "read zone file", format!("{}: not UTF-8", path.display()));
                return String::from_utf8(bytes).map_err(invalid).map(|text| Some((text, stamp)));
            }
        }
        Err(self.being_written(zone, "read zone file"))
    }

    /// The stamp of a zone's file; `None` if there is no file.
    pub(crate) fn stamp(&self, zone: &DnsName) -> Result<Option<Stamp>> {
        let path = self.file(zone);
        match fs::metadata(&path) {
            Ok(metadata) => Ok(Some(Stamp::of(&metadata))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(failed("read zone file", &path, e)),
        }
    }

    /// Replaces a zone's file, if it still has the stamp `known`, or is still not there.
    ///
    /// # Errors
    /// It cannot be written, or another writer changed it; it is as it was.
    pub(crate) fn write(&self, zone: &DnsName, text: &str, known: Option<Stamp>) -> Result<Option<Stamp>> {
        let path = self.file(zone);
        let fresh = path.with_extension("zone-new");
        let fail = |e| failed("write zone file", &path, e);
        let written = fs::File::create(&fresh).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            Ok(Stamp::of(&file.metadata()?))
        });
        let stamp = written.map_err(fail)?;
        if self.stamp(zone)? != known {
            // What is left behind is written anew the next time.
            let _ = fs::remove_file(&fresh);
            return Err(self.being_written(zone, "write zone file"));
        }
        fs::rename(&fresh, &path).map_err(fail)?;
        Ok(Some(stamp))
    }

    /// Another program is at work on a zone's file.
    pub(crate) fn being_written(&self, zone: &DnsName, operation: &'static str) -> Error {
        let context =
            format!("{}: another program is writing it; it is read when it is at rest", self.file(zone).display());
        Error::new(ErrorKind::Unavailable, operation, context)
    }

    /// What a file says is wrong with it.
    pub(crate) fn broken(&self, zone: &DnsName, error: &FileError) -> String {
        format!("{}: {error}", self.file(zone).display())
    }

    fn file(&self, zone: &DnsName) -> PathBuf {
        self.path.join(file_of(zone))
    }
}

fn failed(operation: &'static str, path: &Path, error: io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, operation, path.display().to_string()).caused_by(error)
}

/// The file name of a zone: what cannot stand in one (`/` of RFC 2317 names, the lone dot of the root) as `%XX`.
fn file_of(zone: &DnsName) -> String {
    let text = if zone.is_root() { "%2e".to_owned() } else { zone.as_str().replace('%', "%25").replace('/', "%2f") };
    text + SUFFIX
}

fn zone_of(file: &str) -> Option<DnsName> {
    let text = file.strip_suffix(SUFFIX)?.replace("%2e", ".").replace("%2f", "/").replace("%25", "%");
    DnsName::parse(&text).ok().filter(|zone| file_of(zone) == file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_and_back() {
        for (zone, file) in [
            ("example.test", "example.test.zone"),
            ("0/25.2.0.192.in-addr.arpa", "0%2f25.2.0.192.in-addr.arpa.zone"),
            (".", "%2e.zone"),
            ("a%2f.test", "a%252f.test.zone"),
            ("xn--bcher-kva.test", "xn--bcher-kva.test.zone"),
        ] {
            let name = DnsName::parse(zone).unwrap();
            assert_eq!(file_of(&name), file);
        }
        assert_eq!(zone_of("example.test.zone"), DnsName::parse("example.test").ok());
        assert_eq!(zone_of("0%2f25.2.0.192.in-addr.arpa.zone"), DnsName::parse("0/25.2.0.192.in-addr.arpa").ok());
        assert_eq!(zone_of("%2e.zone"), Some(DnsName::root()));
        for other in ["example.test", "example.test.zone-new", "Example.test.zone", ".zone", "a..b.zone", "notes.txt"] {
            assert_eq!(zone_of(other), None, "{other}");
        }
    }

    #[test]
    fn a_file_is_replaced_and_stamped() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(&place.path().join("inner")).unwrap();
        let zone = DnsName::parse("example.test").unwrap();
        assert!(folder.read(&zone).unwrap().is_none());
        let first = folder.write(&zone, "one\n", None).unwrap();
        assert_eq!(
            folder.read(&zone).unwrap().map(|(text, stamp)| (text, Some(stamp))),
            Some(("one\n".to_owned(), first))
        );
        assert_eq!(folder.stamp(&zone).unwrap(), first);
        assert_ne!(folder.write(&zone, "three\n", first).unwrap(), first);
        assert_eq!(folder.zones().unwrap(), [zone]);
    }

    #[test]
    fn what_another_writer_has_changed_is_not_replaced() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        let zone = DnsName::parse("example.test").unwrap();
        let first = folder.write(&zone, "one\n", None).unwrap();
        fs::write(folder.file(&zone), "theirs\n").unwrap();
        for known in [first, None] {
            assert_eq!(folder.write(&zone, "two\n", known).unwrap_err().kind, ErrorKind::Unavailable);
        }
        assert_eq!(fs::read_to_string(folder.file(&zone)).unwrap(), "theirs\n");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "nothing else is left in the folder");
    }

    #[test]
    fn a_file_is_at_rest_a_second_after_its_last_change() {
        let ago = |age: Duration| Stamp { modified: SystemTime::now().checked_sub(age), length: 1 };
        assert!(!ago(Duration::ZERO).is_at_rest());
        assert!(ago(AT_REST).is_at_rest());
        let ahead = Stamp { modified: Some(SystemTime::now() + Duration::from_hours(1)), length: 1 };
        assert!(!ahead.is_at_rest());
    }
}
