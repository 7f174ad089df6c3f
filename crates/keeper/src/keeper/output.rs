//! From the child's output to the transcript: bounded chunks, redacted, counted.
//!
//! Invariant: nothing reaches the transcript but through the redactor.
//! Invariant: a transcript that cannot be written does not stop the child; it is cut, and says so.

use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Instant;

use super::monitor::Monitor;
use crate::redact::Redactor;

/// How much is read at once.
const CHUNK_BYTES: usize = 64 * 1024;
/// And before there was so much at once: most commands print little.
const FIRST_CHUNK_BYTES: usize = 4 * 1024;

/// Where the output comes from.
pub(super) enum OutputSource {
    Pipe(PipeReader),
    /// The child appends to it; we read behind it at our own offset.
    File {
        file: File,
        offset: u64,
    },
}

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
pub(super) struct ChildOutput {
    source: OutputSource,
    redactor: Redactor,
    transcript: File,
    chunk: Vec<u8>,
    redacted: Vec<u8>,
    monitor: Option<Box<dyn Monitor>>,
    /// Why the transcript is no longer written.
    cut: Option<String>,
    flow: StreamState,
}

/// A stream of the child, as its end was seen or not.
#[derive(PartialEq, Eq)]
pub(super) enum StreamState {
    Open,
    /// The child closed it.
    Closed,
}

/// All that the child prints: one way, or two if its errors are kept apart. They share a limit.
pub(super) struct ChildOutputs {
    main: ChildOutput,
    errors: Option<ChildOutput>,
    room: Room,
}

/// How much was taken in so far, and how much may be.
struct Room {
    taken: u64,
    /// Zero is no limit.
    limit: u64,
}

/// The totals of outputs that were closed.
pub(super) struct Closed {
    pub(super) bytes: u64,
    pub(super) cut: Option<String>,
}

/// Opens a file for what is printed.
pub(super) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

impl ChildOutputs {
    pub(super) const fn new(main: ChildOutput, errors: Option<ChildOutput>, limit: u64) -> Self {
        Self { main, errors, room: Room { taken: 0, limit } }
    }

    /// The descriptors to poll.
    pub(super) fn files(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        [Some(&self.main), self.errors.as_ref()]
            .into_iter()
            .flatten()
            .filter_map(ChildOutput::as_fd)
    }

    /// Takes in at most one chunk of each, without waiting.
    pub(super) fn take_in(&mut self) -> Took {
        let main = self.main.take_in(&mut self.room);
        match &mut self.errors {
            None => main,
            Some(errors) => main.or(errors.take_in(&mut self.room)),
        }
    }

    /// The same until nothing is there, but not for longer than until then.
    pub(super) fn drain(&mut self, until: Instant) -> Took {
        let main = self.main.drain(&mut self.room, until);
        match &mut self.errors {
            None => main,
            Some(errors) => main.or(errors.drain(&mut self.room, until)),
        }
    }

    /// Whether the child has told of more than it may spend.
    pub(super) fn is_over_budget(&self) -> bool {
        self.main.monitor.as_ref().is_some_and(|monitor| monitor.is_over_budget())
    }

    /// The turns of which the child told what they cost, if somebody listens.
    pub(super) fn turns(&self) -> u64 {
        self.main.monitor.as_ref().map_or(0, |monitor| monitor.turns())
    }

    /// Writes what was still held back.
    pub(super) fn close(self) -> Closed {
        let main = self.main.close();
        let errors = self.errors.and_then(ChildOutput::close);
        Closed { bytes: self.room.taken, cut: main.or(errors) }
    }
}

impl Took {
    /// What two readings found together: the one that matters more.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::TooMuch, _) | (_, Self::TooMuch) => Self::TooMuch,
            (Self::Bytes, _) | (_, Self::Bytes) => Self::Bytes,
            (Self::Nothing, _) | (_, Self::Nothing) => Self::Nothing,
            (Self::End, Self::End) => Self::End,
        }
    }
}

impl ChildOutput {
    pub(super) fn new(source: OutputSource, redactor: Redactor, transcript: File) -> Self {
        let (chunk, redacted) = (vec![0; FIRST_CHUNK_BYTES], Vec::new());
        let (monitor, cut, flow) = (None, None, StreamState::Open);
        Self { source, redactor, transcript, chunk, redacted, monitor, cut, flow }
    }

    /// Adds a reader of what is written.
    pub(super) fn with_monitor(self, monitor: Option<Box<dyn Monitor>>) -> Self {
        Self { monitor, ..self }
    }

    /// What to poll, if polling it makes sense: a file is always ready, so it is looked at instead.
    fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        match (&self.source, &self.flow) {
            (OutputSource::Pipe(reader), StreamState::Open) => Some(reader.as_fd()),
            (OutputSource::Pipe(_), StreamState::Closed) | (OutputSource::File { .. }, _) => None,
        }
    }

    /// Takes in at most one chunk, without waiting.
    fn take_in(&mut self, room: &mut Room) -> Took {
        let read = match &mut self.source {
            OutputSource::Pipe(reader) => reader.read(&mut self.chunk),
            OutputSource::File { file, offset } => match file.read_at(&mut self.chunk, *offset) {
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
            Ok(0) => {
                self.flow = StreamState::Closed;
                Took::End
            }
            Ok(read) => self.pass_on(read, room),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Took::Nothing,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Took::Nothing,
            Err(error) => {
                self.cut.get_or_insert_with(|| format!("the output cannot be read: {error}"));
                self.flow = StreamState::Closed;
                Took::End
            }
        }
    }

    /// Takes in all that is there, but not for longer than until then. Says what came last: if that
    /// is bytes, there was more, and the transcript says that it is cut.
    fn drain(&mut self, room: &mut Room, until: Instant) -> Took {
        loop {
            match self.take_in(room) {
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
            OutputSource::Pipe(reader) => {
                rustix::io::ioctl_fionread(reader).is_ok_and(|left| left > 0)
            }
            OutputSource::File { file, offset } => {
                file.metadata().map_or(true, |found| found.len() > *offset)
            }
        }
    }

    fn pass_on(&mut self, read: usize, room: &mut Room) -> Took {
        let left = if room.limit == 0 { u64::MAX } else { room.limit - room.taken };
        let taken = usize::try_from(left).unwrap_or(usize::MAX).min(read);
        room.taken += taken as u64;
        self.redactor.push(&self.chunk[..taken], &mut self.redacted);
        self.write();
        if read == self.chunk.len() {
            self.chunk.resize(CHUNK_BYTES, 0);
        }
        if taken < read { Took::TooMuch } else { Took::Bytes }
    }

    fn write(&mut self) {
        if self.cut.is_none()
            && let Err(error) = self.transcript.write_all(&self.redacted)
        {
            self.cut = Some(format!("the transcript cannot be written: {error}"));
        }
        if let Some(monitor) = &mut self.monitor {
            monitor.push(&self.redacted);
        }
        self.redacted.clear();
    }

    /// Writes what the redactor still held back. Says why it is not whole.
    fn close(mut self) -> Option<String> {
        self.redactor.finish(&mut self.redacted);
        self.write();
        self.cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alone(output: ChildOutput, limit: u64) -> ChildOutputs {
        ChildOutputs::new(output, None, limit)
    }

    #[test]
    fn a_full_disk_cuts_the_transcript_and_the_output_is_still_drained() {
        let (reader, mut writer) = io::pipe().unwrap();
        rustix::fs::fcntl_setfl(&reader, rustix::fs::OFlags::NONBLOCK).unwrap();
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let redactor = Redactor::new(Vec::new());
        let mut output = alone(ChildOutput::new(OutputSource::Pipe(reader), redactor, full), 0);
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
        for (size, is_cut) in [(3 * CHUNK_BYTES, true), (FIRST_CHUNK_BYTES, false), (0, false)] {
            let home = tempfile::tempdir().unwrap();
            let transcript = open(&home.path().join("transcript")).unwrap();
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&vec![b'a'; size]).unwrap();
            let source = OutputSource::File { file, offset: 0 };
            let mut output =
                alone(ChildOutput::new(source, Redactor::new(Vec::new()), transcript), 0);
            output.drain(Instant::now());
            let closed = output.close();
            assert_eq!(closed.cut.is_some(), is_cut, "{size}: {:?}", closed.cut);
            assert_eq!(closed.bytes, FIRST_CHUNK_BYTES.min(size) as u64);
        }
    }

    #[test]
    fn bytes_over_the_limit_are_thrown_away_and_told() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("transcript");
        let (reader, mut writer) = io::pipe().unwrap();
        let transcript = open(&path).unwrap();
        let redactor = Redactor::new(Vec::new());
        let mut output =
            alone(ChildOutput::new(OutputSource::Pipe(reader), redactor, transcript), 4);
        writer.write_all(b"abcdefgh").unwrap();
        assert!(output.take_in() == Took::TooMuch);
        assert_eq!(output.close().bytes, 4);
        assert_eq!(std::fs::read(path).unwrap(), b"abcd");
    }
}
