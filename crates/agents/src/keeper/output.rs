//! From the child's output to the transcript: bounded chunks, redacted, counted.
//!
//! Invariant: nothing reaches the transcript but through the redactor.
//! Invariant: a transcript that cannot be written does not stop the child; it is cut, and says so.

use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::time::Instant;

use crate::folder::AttemptFolder;
use crate::redact::Redactor;

/// How much is read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// Where the output comes from.
pub(super) enum Source {
    Pipe(PipeReader),
    /// The child appends to it; we read behind it at our own offset.
    File {
        file: File,
        offset: u64,
    },
}

/// What one reading found.
#[derive(PartialEq, Eq)]
pub(super) enum Took {
    Bytes,
    /// Bytes came which are over the limit. They are thrown away.
    TooMuch,
    /// Nothing is there now.
    Nothing,
    /// Nothing will ever come again.
    End,
}

/// The way of the output.
pub(super) struct Output {
    source: Source,
    redactor: Redactor,
    transcript: File,
    chunk: Box<[u8]>,
    redacted: Vec<u8>,
    /// How many bytes were taken in so far.
    taken: u64,
    /// How many may be. Zero is no limit.
    limit: u64,
    /// Why the transcript is no longer written.
    cut: Option<String>,
}

/// What is left to say at the end.
pub(super) struct Closed {
    pub(super) bytes: u64,
    pub(super) cut: Option<String>,
}

pub(super) fn open_transcript(folder: &AttemptFolder) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(folder.transcript())
}

impl Output {
    pub(super) fn new(source: Source, redactor: Redactor, transcript: File, limit: u64) -> Self {
        let chunk = vec![0; CHUNK_BYTES].into_boxed_slice();
        let redacted = Vec::with_capacity(CHUNK_BYTES);
        Self { source, redactor, transcript, chunk, redacted, taken: 0, limit, cut: None }
    }

    /// What to poll, if polling it makes sense: a file is always ready, so it is looked at instead.
    pub(super) fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.source {
            Source::Pipe(reader) => Some(reader.as_fd()),
            Source::File { .. } => None,
        }
    }

    /// Takes in at most one chunk, without waiting.
    pub(super) fn take_in(&mut self) -> Took {
        let read = match &mut self.source {
            Source::Pipe(reader) => reader.read(&mut self.chunk),
            Source::File { file, offset } => match file.read_at(&mut self.chunk, *offset) {
                // The end of a growing file is not the end.
                Ok(0) => Err(io::ErrorKind::WouldBlock.into()),
                Ok(read) => {
                    *offset += read as u64;
                    Ok(read)
                }
                Err(error) => Err(error),
            },
        };
        match read {
            Ok(0) => Took::End,
            Ok(read) => self.pass_on(read),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Took::Nothing,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Took::Nothing,
            Err(error) => {
                self.cut.get_or_insert_with(|| format!("the output cannot be read: {error}"));
                Took::End
            }
        }
    }

    /// Takes in all that is there, but not for longer than until then. Says what came last: if that
    /// is bytes, there was more, and the transcript says that it is cut.
    pub(super) fn drain(&mut self, until: Instant) -> Took {
        loop {
            match self.take_in() {
                Took::Bytes if Instant::now() < until => {}
                Took::Bytes if self.has_more() => {
                    let why = "there was more output than could be taken in after the end";
                    self.cut.get_or_insert_with(|| why.to_owned());
                    return Took::Bytes;
                }
                Took::Bytes => return Took::Nothing,
                last @ (Took::TooMuch | Took::Nothing | Took::End) => return last,
            }
        }
    }

    /// Whether more is there to be taken in, as far as one can tell.
    fn has_more(&self) -> bool {
        match &self.source {
            Source::Pipe(reader) => rustix::io::ioctl_fionread(reader).is_ok_and(|left| left > 0),
            Source::File { file, offset } => {
                file.metadata().map_or(true, |found| found.len() > *offset)
            }
        }
    }

    fn pass_on(&mut self, read: usize) -> Took {
        let room = if self.limit == 0 { u64::MAX } else { self.limit - self.taken };
        let taken = usize::try_from(room).unwrap_or(usize::MAX).min(read);
        self.taken += taken as u64;
        self.redactor.push(&self.chunk[..taken], &mut self.redacted);
        self.write();
        if taken < read { Took::TooMuch } else { Took::Bytes }
    }

    fn write(&mut self) {
        if self.cut.is_none()
            && let Err(error) = self.transcript.write_all(&self.redacted)
        {
            self.cut = Some(format!("the transcript cannot be written: {error}"));
        }
        self.redacted.clear();
    }

    /// Writes what the redactor still held back, and makes the transcript durable.
    pub(super) fn close(mut self) -> Closed {
        self.redactor.finish(&mut self.redacted);
        self.write();
        if let Err(error) = self.transcript.sync_all() {
            self.cut.get_or_insert_with(|| format!("the transcript cannot be synced: {error}"));
        }
        Closed { bytes: self.taken, cut: self.cut }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_cuts_the_transcript_and_the_output_is_still_drained() {
        let (reader, mut writer) = io::pipe().unwrap();
        rustix::fs::fcntl_setfl(&reader, rustix::fs::OFlags::NONBLOCK).unwrap();
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let redactor = Redactor::new(Vec::new());
        let mut output = Output::new(Source::Pipe(reader), redactor, full, 0);
        for _ in 0..3 {
            writer.write_all(b"a line\n").unwrap();
            assert!(output.take_in() == Took::Bytes);
        }
        assert!(output.take_in() == Took::Nothing);
        drop(writer);
        assert!(output.take_in() == Took::End);
        let closed = output.close();
        assert_eq!(closed.bytes, 21);
        assert!(closed.cut.unwrap().contains("No space left"));
    }

    #[test]
    fn a_drain_that_runs_out_of_time_cuts_the_transcript_and_one_that_does_not_is_whole() {
        for (size, is_cut) in [(3 * CHUNK_BYTES, true), (CHUNK_BYTES, false), (0, false)] {
            let home = tempfile::tempdir().unwrap();
            let transcript = open_transcript(&AttemptFolder::at(home.path())).unwrap();
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&vec![b'a'; size]).unwrap();
            let source = Source::File { file, offset: 0 };
            let mut output = Output::new(source, Redactor::new(Vec::new()), transcript, 0);
            output.drain(Instant::now());
            let closed = output.close();
            assert_eq!(closed.cut.is_some(), is_cut, "{size}: {:?}", closed.cut);
            assert_eq!(closed.bytes, CHUNK_BYTES.min(size) as u64);
        }
    }

    #[test]
    fn bytes_over_the_limit_are_thrown_away_and_told() {
        let home = tempfile::tempdir().unwrap();
        let folder = AttemptFolder::at(home.path());
        let (reader, mut writer) = io::pipe().unwrap();
        let transcript = open_transcript(&folder).unwrap();
        let redactor = Redactor::new(Vec::new());
        let mut output = Output::new(Source::Pipe(reader), redactor, transcript, 4);
        writer.write_all(b"abcdefgh").unwrap();
        assert!(output.take_in() == Took::TooMuch);
        assert_eq!(output.close().bytes, 4);
        assert_eq!(std::fs::read(folder.transcript()).unwrap(), b"abcd");
    }
}
