//! A journal in a folder: files of JSON lines, the oldest given up when there are too many.
//!
//! In and out: lines. Files are `PREFIX-NUMBER.jsonl`, the numbers grow. What must hold: a line that was confirmed is on
//! the disk, whole; after a failure, or a crash in the middle of one, the next line begins on a line of its own. Several
//! processes may write, the daemon and commands: each append locks `PREFIX.lock` and goes to the newest file as it is then, so
//! that none loses, tears or reorders the lines of another.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::store::{JournalStore, Visitor};

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderLimits {
    /// A file that holds so many bytes is followed by the next.
    pub file_size: u64,
    /// So many files are kept.
    pub files: usize,
}

impl Default for FolderLimits {
    /// Ten files of 8 MiB.
    fn default() -> Self {
        Self { file_size: 8 << 20, files: 10 }
    }
}

/// A journal in a folder.
#[derive(Debug)]
pub struct FolderJournal {
    place: JournalFolder,
    limits: FolderLimits,
    /// One append of this process at a time; the lock keeps others away.
    turn: Arc<Mutex<()>>,
}

#[derive(Debug, Clone)]
struct JournalFolder {
    folder: PathBuf,
    prefix: String,
    /// How long the lock may be away.
    patience: Duration,
}

#[derive(Debug)]
struct Current {
    file: File,
    number: u64,
}

const EXTENSION: &str = "jsonl";

/// How long another process may keep the lock. An append takes milliseconds; one that stands still must not hold us up for ever.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pause between two looks at the lock.
const LOOK: Duration = Duration::from_millis(5);

impl FolderJournal {
    /// The journal of files that begin with `prefix` in `folder`. Nothing is made before something is appended.
    pub fn new(folder: impl Into<PathBuf>, prefix: &str, limits: FolderLimits) -> Self {
        let place = JournalFolder { folder: folder.into(), prefix: prefix.to_owned(), patience: PATIENCE };
        Self { place, limits, turn: Arc::default() }
    }

    fn error(&self, operation: &'static str, source: io::Error) -> Error {
        Error::new(ErrorKind::Unavailable, operation, self.place()).caused_by(source)
    }
}

impl JournalFolder {
    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{}-{number:06}.{EXTENSION}", self.prefix))
    }

    fn number(&self, path: &Path) -> Option<u64> {
        if path.extension()? != EXTENSION {
            return None;
        }
        path.file_stem()?.to_str()?.strip_prefix(&self.prefix)?.strip_prefix('-')?.parse().ok()
    }

    /// The numbers of all files, in order. A folder that is not there holds none.
    fn numbers(&self) -> io::Result<Vec<u64>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut numbers = Vec::new();
        for entry in entries {
            numbers.extend(self.number(&entry?.path()));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Opens the file of a number for appending.
    fn open(&self, number: u64) -> io::Result<Current> {
        let file = OpenOptions::new().read(true).append(true).create(true).open(self.path(number))?;
        Ok(Current { file, number })
    }

    /// The newest file, as it is now: another process may have gone on to it.
    fn newest(&self) -> io::Result<Current> {
        let number = self.numbers()?.last().copied();
        let current = self.open(number.unwrap_or(1))?;
        if number.is_none() {
            self.sync();
        }
        Ok(current)
    }

    /// Keeps other writers away until the file that comes back is dropped. Where the file system knows no locks, nothing does.
    fn lock(&self) -> io::Result<File> {
        let path = self.folder.join(format!("{}.lock", self.prefix));
        let file = match OpenOptions::new().append(true).create(true).open(&path) {
            // Made by a command of another user: to lock it, reading is enough.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(&path)?,
            file => file?,
        };
        let until = Instant::now() + self.patience;
        loop {
            match file.try_lock() {
                Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(LOOK),
                Err(TryLockError::WouldBlock) => {
                    let text =
                        format!("another process has kept {} locked for {} s", path.display(), PATIENCE.as_secs());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, text));
                }
                Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => return Err(error),
                Ok(()) | Err(TryLockError::Error(_)) => return Ok(file),
            }
        }
    }

    /// Makes the names of new files durable, where the file system can.
    fn sync(&self) {
        // A folder that cannot be opened as a file is none that has to be.
        let _ = File::open(&self.folder).and_then(|folder| folder.sync_all());
    }

    fn drop_old(&self, keep: usize) -> io::Result<()> {
        let numbers = self.numbers()?;
        let surplus = numbers.len().saturating_sub(keep);
        for number in numbers.into_iter().take(surplus) {
            fs::remove_file(self.path(number))?;
        }
        Ok(())
    }
}

/// Makes a folder that others do not see into.
fn make(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn last_byte(file: &mut File) -> io::Result<u8> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last[0])
}

/// Puts what a crash tore off on a line of its own. Returns the length.
fn mend(file: &mut File) -> io::Result<u64> {
    let length = file.seek(SeekFrom::End(0))?;
    if length > 0 && last_byte(file)? != b'\n' {
        file.write_all(b"\n")?;
        return Ok(length + 1);
    }
    Ok(length)
}

/// Appends to the newest file, or to the next one if that is full.
fn append(place: &JournalFolder, limits: FolderLimits, text: &[u8]) -> io::Result<()> {
    make(&place.folder)?;
    let _lock = place.lock()?;
    let mut current = place.newest()?;
    let mut length = mend(&mut current.file)?;
    if length > 0 && length + u64::try_from(text.len()).unwrap_or(u64::MAX) > limits.file_size {
        // Room is made first: a full disk may have it then.
        place.drop_old(limits.files.max(2) - 1)?;
        current = place.open(current.number + 1)?;
        place.sync();
        length = 0;
    }
    let written = current.file.write_all(text).and_then(|()| current.file.sync_data());
    if written.is_err() {
        // What was written of it must not stay: it was not confirmed. Where that fails too, the rest ends up on a line of its
        // own.
        let _ = current.file.set_len(length);
    }
    written
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

/// How much of a file is read at a time, in bytes; more where a line is longer.
const PIECE: u64 = 256 << 10;

/// A file that is read from its end on.
#[derive(Debug)]
struct Backwards {
    file: File,
    /// Where what was not read yet ends.
    end: u64,
}

impl Backwards {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let end = file.metadata()?.len();
        Ok(Self { file, end })
    }

    /// The lines before those that were read; `None` where there are none.
    fn piece(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut size = PIECE;
        while self.end > 0 {
            let start = self.end.saturating_sub(size);
            let mut text = Vec::new();
            self.file.seek(SeekFrom::Start(start))?;
            (&self.file).take(self.end - start).read_to_end(&mut text)?;
            // The first line may have begun before.
            let cut = if start == 0 { Some(0) } else { text.iter().position(|byte| *byte == b'\n').map(|at| at + 1) };
            match cut.filter(|cut| *cut < text.len()) {
                Some(cut) => {
                    self.end = start + cut as u64;
                    text.drain(..cut);
                    return Ok(Some(text));
                }
                // Another process has taken back what it could not write whole.
                None if text.is_empty() => self.end = start,
                None => size *= 2,
            }
        }
        Ok(None)
    }
}

#[async_trait]
impl JournalStore for FolderJournal {
    async fn append(&self, lines: &[String]) -> Result<()> {
        let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        let (place, limits, turn) = (self.place.clone(), self.limits, self.turn.clone());
        let work = move || {
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            append(&place, limits, text.as_bytes())
        };
        blocking(work).await.map_err(|error| self.error("write the journal", error))
    }

    async fn read(&self, visit: &mut Visitor<'_>) -> Result<()> {
        let numbers = self.place.numbers().map_err(|error| self.error("read the journal", error))?;
        for number in numbers.into_iter().rev() {
            let path = self.place.path(number);
            let mut file = match blocking(move || Backwards::open(&path)).await {
                Ok(file) => file,
                // Given up meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(self.error("read the journal", error)),
            };
            loop {
                let read = blocking(move || file.piece().map(|piece| (file, piece))).await;
                let (rest, piece) = read.map_err(|error| self.error("read the journal", error))?;
                let Some(piece) = piece else { break };
                if visit(&piece).is_break() {
                    return Ok(());
                }
                file = rest;
            }
        }
        Ok(())
    }

    fn outcomes_wait(&self) -> bool {
        false
    }

    fn place(&self) -> String {
        self.place.folder.display().to_string()
    }
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
