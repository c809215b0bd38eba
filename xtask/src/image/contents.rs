//! The files of an image, and the one layer that they are in.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use tar::{Builder, EntryType, Header};

use crate::process::capture;

/// The certificate authorities of Debian, for DNS over TLS and the APIs of providers.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// A file of the image.
struct Entry {
    /// Absolute.
    path: PathBuf,
    mode: u32,
    data: Vec<u8>,
}

/// Everything that an image holds.
pub(super) struct Contents {
    entries: Vec<Entry>,
}

impl Contents {
    /// A static program and the authorities.
    pub(super) fn of_static(program: &Path) -> Result<Self> {
        let entries = vec![entry(program, "/zonewright", 0o755)?, entry(Path::new(AUTHORITIES), AUTHORITIES, 0o644)?];
        Ok(Self { entries })
    }

    /// The same with the shared libraries that the program needs on this machine.
    pub(super) fn with_libraries(program: &Path) -> Result<Self> {
        let mut contents = Self::of_static(program)?;
        for library in libraries(program)? {
            contents.entries.push(entry(&library, &library, 0o755)?);
        }
        Ok(contents)
    }

    /// The paths of everything but the program.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.entries.iter().map(|entry| &*entry.path).filter(|path| *path != Path::new("/zonewright"))
    }

    /// The layer: sorted, owned by root, without times. It is not compressed, since the result would depend on the compressor;
    /// clients compress what they push.
    pub(super) fn layer(&self) -> Result<Vec<u8>> {
        let mut entries: Vec<&Entry> = self.entries.iter().collect();
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        let mut folders = BTreeSet::new();
        for entry in &entries {
            folders.extend(entry.path.ancestors().skip(1).filter(|folder| *folder != Path::new("/")));
        }
        let mut tar = Builder::new(Vec::new());
        for folder in folders {
            tar.append_data(&mut header(EntryType::Directory, 0o755, 0), relative(folder), &[][..])?;
        }
        for Entry { path, mode, data } in entries {
            tar.append_data(&mut header(EntryType::Regular, *mode, data.len() as u64), relative(path), &data[..])?;
        }
        Ok(tar.into_inner()?)
    }
}

fn relative(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header
}

fn entry(file: &Path, path: impl Into<PathBuf>, mode: u32) -> Result<Entry> {
    let data = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(Entry { path: path.into(), mode, data })
}

/// The files that the dynamic linker would load, itself included; none for a static program.
fn libraries(program: &Path) -> Result<BTreeSet<PathBuf>> {
    Ok(named(&capture(Command::new("ldd").arg(program))?))
}

/// What `ldd` prints: `libc.so.6 => /lib/libc.so.6 (0x...)`, and the linker by its path alone.
fn named(printed: &str) -> BTreeSet<PathBuf> {
    let path = |line: &str| {
        let file = line.split_once(" => ").map_or(line, |(_, file)| file).trim();
        let file = file.split(' ').next().unwrap_or_default();
        file.starts_with('/').then(|| PathBuf::from(file))
    };
    printed.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_read_from_ldd() {
        let printed =
            "\tlinux-vdso.so.1 (0x7ffc)\n\tlibc.so.6 => /lib/x/libc.so.6 (0x7f01)\n\t/lib64/ld.so.2 (0x7f02)\n";
        assert_eq!(named(printed), ["/lib/x/libc.so.6", "/lib64/ld.so.2"].map(PathBuf::from).into());
        assert_eq!(named("\tstatically linked\n"), BTreeSet::new());
    }

    #[test]
    fn a_layer_says_nothing_of_the_machine_and_has_its_folders_first() {
        let file = |path: &str| Entry { path: path.into(), mode: 0o644, data: path.as_bytes().to_vec() };
        let layer = |paths: [&str; 2]| Contents { entries: paths.map(file).into() }.layer().unwrap();
        let bytes = layer(["/zonewright", "/etc/ssl/x"]);
        assert_eq!(bytes, layer(["/etc/ssl/x", "/zonewright"]), "in whatever order they come");
        let mut archive = tar::Archive::new(&bytes[..]);
        let entries = archive.entries().unwrap().map(Result::unwrap);
        let told: Vec<(String, u64, u64)> = entries
            .map(|entry| {
                let header = entry.header();
                (entry.path().unwrap().display().to_string(), header.uid().unwrap(), header.mtime().unwrap())
            })
            .collect();
        let paths = ["etc", "etc/ssl", "etc/ssl/x", "zonewright"];
        assert_eq!(told, paths.map(|path| (path.to_owned(), 0, 0)));
    }
}
