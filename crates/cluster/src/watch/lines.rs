//! The body of a watch, line by line. In: pieces as they arrive. Out: whole lines; an end in the middle of a line is an
//! error, since the event in it was lost.

use http_body_util::BodyExt;
use kube::client::Body;

use super::End;
use crate::api::{Failure, unreachable};

/// No object is longer: etcd takes 1.5 MB by default, and JSON of it is at most a few times that.
const LONGEST: usize = 64 << 20;
/// A buffer that one large object made is given back after it.
const KEPT: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Lines {
    body: Body,
    buffer: Vec<u8>,
    /// Start of what was not handed out yet.
    start: usize,
    /// Up to here there is no line end.
    searched: usize,
}

impl Lines {
    pub(super) fn new(body: Body) -> Self {
        Self { body, buffer: Vec::new(), start: 0, searched: 0 }
    }

    /// The next line without its end; `None` where the body ends after a whole line. Safe to drop while it waits: nothing
    /// that arrived is lost.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, End> {
        loop {
            if let Some(line) = self.take() {
                return Ok(Some(line));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => self.append(frame.data_ref().map(AsRef::as_ref).unwrap_or_default())?,
                Some(Err(error)) => return Err(broken(&error)),
                None if self.buffer.len() > self.start => {
                    return Err(End::lost("the watch was cut in the middle of an event"));
                }
                None => return Ok(None),
            }
        }
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        let rest = self.buffer.get(self.searched..).unwrap_or_default();
        let Some(length) = rest.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            return None;
        };
        let end = self.searched + length;
        let line = self.buffer.get(self.start..end).unwrap_or_default().to_vec();
        self.start = end + 1;
        self.searched = self.start;
        Some(line)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), End> {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        if self.buffer.is_empty() && self.buffer.capacity() > KEPT {
            self.buffer = Vec::new();
        }
        if self.buffer.len() + bytes.len() > LONGEST {
            return Err(End::lost(format!("an event of the watch is longer than {LONGEST} bytes")));
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }
}

fn broken(error: &kube::Error) -> End {
    match unreachable(error) {
        Failure::Unreachable(text) => End::lost(format!("the watch broke: {text}")),
        other => End::lost(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines that come out of these pieces, and how it ended.
    async fn read(pieces: &[&str]) -> (Vec<String>, Result<(), String>) {
        let pieces: Vec<_> = pieces.iter().map(|piece| (*piece).to_owned().into_bytes()).collect();
        let mut lines = Lines::new(crate::fake::body(pieces).await);
        let mut out = Vec::new();
        loop {
            match lines.next().await {
                Ok(Some(line)) => out.push(String::from_utf8(line).unwrap()),
                Ok(None) => return (out, Ok(())),
                Err(End::Lost { text, .. }) => return (out, Err(text)),
                Err(other) => panic!("{other:?}"),
            }
        }
    }

    #[tokio::test]
    async fn lines_come_whole_however_they_arrive() {
        let expected = ["one".to_owned(), "two".to_owned(), String::new(), "three".to_owned()];
        for pieces in [
            &["one\ntwo\n\nthree\n"][..],
            &["o", "ne\nt", "wo", "\n", "\nthree\n"],
            &["one\n", "two\n\n", "", "three", "\n"],
        ] {
            assert_eq!(read(pieces).await, (expected.to_vec(), Ok(())), "{pieces:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn cuts_make_no_difference(lines in proptest::collection::vec("[a-z]{0,9}", 0..9), size in 1_usize..12) {
            let text = lines.iter().flat_map(|line| [line, "\n"]).collect::<String>();
            let pieces: Vec<_> = text.as_bytes().chunks(size).map(|piece| std::str::from_utf8(piece).unwrap()).collect();
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            proptest::prop_assert_eq!(runtime.block_on(read(&pieces)), (lines, Ok(())));
        }
    }

    #[tokio::test]
    async fn a_line_without_its_end_is_lost() {
        let (lines, end) = read(&["one\ntw"]).await;
        assert_eq!(lines, ["one"]);
        assert!(end.unwrap_err().contains("in the middle of an event"));
    }
}
