use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::PathBuf;

#[cfg(target_os = "linux")]
use zonewright_testkit::tools;

use super::*;

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(what: &str) -> Self {
        let path = std::env::temp_dir().join(format!("zonewright-journal-{what}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn journal(&self, file_size: u64, files: usize) -> FolderJournal {
        FolderJournal::new(&self.0, "me", FolderLimits { file_size, files })
    }

    fn files(&self) -> BTreeSet<String> {
        let names = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    fn file(&self, number: u64) -> PathBuf {
        self.0.join(format!("me-{number:06}.jsonl"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn put(journal: &FolderJournal, lines: &[&str]) -> Result<()> {
    journal.append(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>()).await
}

async fn pieces(journal: &FolderJournal) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut visit = |piece: &[u8]| {
        pieces.push(String::from_utf8(piece.to_vec()).unwrap());
        ControlFlow::Continue(())
    };
    journal.read(&mut visit).await.unwrap();
    pieces
}

#[tokio::test]
async fn lines_go_to_files_the_newest_is_read_first_and_the_oldest_given_up() {
    let folder = Folder::new("rotation");
    let journal = folder.journal(10, 3);
    assert!(pieces(&journal).await.is_empty() && !folder.0.exists(), "reading makes nothing");
    fs::create_dir_all(&folder.0).unwrap();
    for foreign in ["you-000009.jsonl", "me-000008.txt", "me-x.jsonl"] {
        fs::write(folder.0.join(foreign), "theirs\n").unwrap();
    }
    put(&journal, &["1234", "56"]).await.unwrap();
    put(&journal, &["a", "b"]).await.unwrap();
    assert_eq!(pieces(&journal).await, ["a\nb\n", "1234\n56\n"], "what does not fit goes to the next");
    put(&journal, &["longer than a file may be"]).await.unwrap();
    assert_eq!(pieces(&journal).await[0], "longer than a file may be\n", "one piece is never split");
    put(&journal, &["c"]).await.unwrap();
    assert_eq!(pieces(&journal).await, ["c\n", "longer than a file may be\n", "a\nb\n"]);
    let files = folder.files();
    assert!(["you-000009.jsonl", "me-000008.txt", "me-x.jsonl"].iter().all(|name| files.contains(*name)), "{files:?}");

    // Another process goes on where this one was.
    let journal = folder.journal(10, 3);
    put(&journal, &["d"]).await.unwrap();
    assert_eq!(pieces(&journal).await[0], "c\nd\n");
    let mut seen = 0;
    let mut visit = |_: &[u8]| {
        seen += 1;
        ControlFlow::Break(())
    };
    journal.read(&mut visit).await.unwrap();
    assert_eq!(seen, 1, "reading can be broken off");
}

/// A journal is as large as its limits say, and whoever reads it needs little more room than a piece.
#[tokio::test]
async fn a_large_file_is_read_from_its_end_on_in_pieces_of_whole_lines() {
    let folder = Folder::new("large");
    let journal = folder.journal(8 << 20, 3);
    let line = |letter: &str, length: usize| letter.repeat(length);
    let mut all: Vec<String> = (0..3_000).map(|number| format!("{number} {}", line("a", number))).collect();
    let piece = usize::try_from(PIECE).unwrap();
    // Longer than a piece, as long as one with its line break, and ones that end where a piece begins.
    all.extend([line("b", 3 * piece), line("c", piece - 1), line("d", piece), "e".to_owned(), line("f", piece - 3)]);
    put(&journal, &all.iter().map(String::as_str).collect::<Vec<_>>()).await.unwrap();
    let mut pieces = pieces(&journal).await;
    assert!(pieces.len() > 17, "{}", pieces.len());
    assert!(pieces.iter().all(|text| text.ends_with('\n')));
    let holds_long = |text: &str| text.contains(['b', 'c', 'd']);
    assert!(pieces.iter().all(|text| text.len() <= piece || holds_long(text)));
    pieces.reverse();
    assert!(pieces.concat() == all.iter().flat_map(|line| [line, "\n"]).collect::<String>());
}

#[tokio::test]
async fn two_writers_go_on_where_the_other_was() {
    let folder = Folder::new("two");
    let (daemon, command) = (folder.journal(10, 9), folder.journal(10, 9));
    put(&daemon, &["1234"]).await.unwrap();
    put(&command, &["abcdef"]).await.unwrap();
    // The command went on to the next file: the daemon follows, so that the order of reading is that of writing.
    put(&daemon, &["5"]).await.unwrap();
    put(&command, &["b"]).await.unwrap();
    put(&daemon, &["6"]).await.unwrap();
    assert_eq!(pieces(&command).await, ["b\n6\n", "abcdef\n5\n", "1234\n"].map(str::to_owned));
    assert_eq!(pieces(&daemon).await, pieces(&command).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_that_meet_lose_tear_and_reorder_nothing() {
    let folder = Folder::new("meet");
    let writers = (0..4).map(|writer| {
        // Each is a process of its own.
        let journal = folder.journal(400, 1_000);
        tokio::spawn(async move {
            for number in 0..50 {
                put(&journal, &[&format!("{writer} {number:02} a"), &format!("{writer} {number:02} b")]).await.unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let mut all = pieces(&folder.journal(400, 1_000)).await;
    all.reverse();
    let text = all.concat();
    for writer in 0..4 {
        let expected: Vec<String> =
            (0..50).flat_map(|number| ["a", "b"].map(|part| format!("{writer} {number:02} {part}"))).collect();
        let own = text.lines().filter(|line| line.starts_with(&writer.to_string())).collect::<Vec<_>>();
        assert_eq!(own, expected, "writer {writer}");
    }
    assert_eq!(text.lines().count(), 400);
}

#[tokio::test]
async fn a_writer_that_stands_still_is_an_error_and_not_the_end() {
    let folder = Folder::new("still");
    let mut journal = folder.journal(100, 3);
    journal.place.patience = Duration::from_millis(20);
    put(&journal, &["one"]).await.unwrap();
    let other = File::open(folder.0.join("me.lock")).unwrap();
    other.lock().unwrap();
    let error = put(&journal, &["two"]).await.unwrap_err();
    assert!(error.chain().contains("another process has kept") && error.chain().contains("me.lock"), "{error:?}");
    drop(other);
    put(&journal, &["three"]).await.unwrap();
    assert_eq!(pieces(&journal).await, ["one\nthree\n"]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_folder_that_is_read_only_is_an_error_and_can_still_be_read() {
    let folder = Folder::new("readonly");
    let Some(mounted) = Mounted::on(&folder, "a_folder_that_is_read_only") else { return };
    let journal = folder.journal(100, 3);
    put(&journal, &["one"]).await.unwrap();
    let again = std::process::Command::new("mount").args(["-o", "remount,ro"]).arg(&folder.0).status();
    assert!(again.unwrap().success(), "whoever may mount may mount again");
    for journal in [&journal, &folder.journal(100, 3)] {
        let error = put(journal, &["two"]).await.unwrap_err();
        assert!(error.chain().contains("Read-only file system"), "{error:?}");
    }
    assert_eq!(pieces(&journal).await, ["one\n"]);
    drop(journal);
    drop(mounted);
}

#[tokio::test]
async fn a_torn_line_stays_alone() {
    let folder = Folder::new("torn");
    put(&folder.journal(100, 3), &["one", "two"]).await.unwrap();
    let whole = fs::read(folder.file(1)).unwrap();
    fs::write(folder.file(1), &whole[..whole.len() - 2]).unwrap();
    let journal = folder.journal(100, 3);
    put(&journal, &["three"]).await.unwrap();
    assert_eq!(pieces(&journal).await, ["one\ntw\nthree\n"]);
}

#[tokio::test]
async fn a_folder_that_is_removed_is_made_again() {
    let folder = Folder::new("removed");
    let journal = folder.journal(100, 3);
    put(&journal, &["one"]).await.unwrap();
    fs::remove_dir_all(&folder.0).unwrap();
    put(&journal, &["two"]).await.unwrap();
    assert_eq!(pieces(&journal).await, ["two\n"]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_is_an_error_and_what_was_written_stays_whole() {
    let folder = Folder::new("full");
    let journal = folder.journal(100, 3);
    put(&journal, &["one"]).await.unwrap();
    // The next file lies on a device that is always full.
    std::os::unix::fs::symlink("/dev/full", folder.file(2)).unwrap();
    let error = put(&folder.journal(100, 3), &["two"]).await.unwrap_err();
    assert!(error.chain().contains("No space left on device") && error.chain().contains("journal-full"), "{error:?}");
    fs::remove_file(folder.file(2)).unwrap();
    put(&journal, &["three"]).await.unwrap();
    assert_eq!(pieces(&journal).await, ["one\nthree\n"]);
}

/// Ends a file system, also where the test fails.
#[cfg(target_os = "linux")]
struct Mounted(PathBuf);

#[cfg(target_os = "linux")]
impl Mounted {
    /// One of 64 KiB; only the administrator may make it, and without the right to, `test` is reported as skipped.
    fn on(folder: &Folder, test: &str) -> Option<Self> {
        fs::create_dir_all(&folder.0).unwrap();
        let arguments = ["-t", "tmpfs", "-o", "size=64k", "tmpfs"];
        let status = std::process::Command::new("mount").args(arguments).arg(&folder.0).status();
        if status.is_ok_and(|status| status.success()) {
            return Some(Self(folder.0.clone()));
        }
        tools::tell(&format!("journal::{test}"), "no right to mount a file system");
        None
    }
}

#[cfg(target_os = "linux")]
impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_disk_that_fills_up_loses_nothing_that_was_confirmed() {
    let folder = Folder::new("tmpfs");
    let Some(mounted) = Mounted::on(&folder, "a_disk_that_fills_up") else { return };
    let journal = folder.journal(1 << 20, 3);
    let line = "x".repeat(999);
    // Another process writes to the same file; what fails here must not cut off what was confirmed there.
    put(&journal, &["begin"]).await.unwrap();
    put(&folder.journal(1 << 20, 3), &["theirs"]).await.unwrap();
    let mut confirmed = 0;
    while put(&journal, &[&format!("{confirmed:03}{line}"), "end"]).await.is_ok() {
        confirmed += 1;
        assert!(confirmed < 100, "the disk never fills up");
    }
    let text = pieces(&journal).await.concat();
    let whole = text.lines().filter(|line| line.len() == 1_002).count();
    assert_eq!((whole, text.lines().count()), (confirmed, 2 * confirmed + 2), "no part of what failed");
    assert!(text.starts_with("begin\ntheirs\n"));
    // Room again: it goes on.
    let shorter = fs::OpenOptions::new().write(true).open(folder.file(1)).unwrap();
    shorter.set_len(13 + 1_007 * 10).unwrap();
    put(&journal, &["after"]).await.unwrap();
    assert!(pieces(&journal).await.concat().ends_with("end\nafter\n"));
    drop((shorter, journal));
    drop(mounted);
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_an_error_of_its_place() {
    let folder = Folder::new("blocked");
    fs::write(&folder.0, "a file").unwrap();
    let journal = FolderJournal::new(folder.0.join("journal"), "me", FolderLimits::default());
    let error = put(&journal, &["one"]).await.unwrap_err();
    assert_eq!((error.kind, error.operation), (ErrorKind::Unavailable, "write the journal"));
    assert!(error.context.contains("blocked"), "{error}");
    let mut visit = |_: &[u8]| ControlFlow::Continue(());
    assert!(journal.read(&mut visit).await.is_err());
    fs::remove_file(&folder.0).unwrap();
}
