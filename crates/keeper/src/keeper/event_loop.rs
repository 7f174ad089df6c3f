//! The poll loop: one child, its output, its limits, and the signals that stop it.
//!
//! Invariant: the first reason to stop is the one that is told; a later one can only hasten it.
//! Invariant: nothing in here waits for longer than the next deadline.

use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitStatus, kill_process_group};

use super::descendants::{self, Killed, Reaped};
use super::log::Log;
use super::output::{ChildOutputs, StreamState, Took};
use super::signals::{self, SignalPipes};
use crate::attempt::dir::{ExitReason, Spec, Stdout};
use crate::attempt::keeper_handle::Stop;

/// How often an unnamed file is looked at.
const FILE_LOOK_EVERY: Duration = Duration::from_millis(50);
/// Between two rounds of killing.
const KILL_AGAIN_AFTER: Duration = Duration::from_millis(100);
/// A child that lives this long after being killed hangs in the kernel, and is left behind.
const DYING_TIME_MAX: Duration = Duration::from_secs(30);
/// How many chunks are taken in before signals and limits are looked at again.
const CHUNKS_AT_ONCE_MAX: usize = 16;
/// A turn may be under way when the child is told that it is over its budget. Who tells of one more
/// goes on as before, and is killed.
const TURNS_AFTER_BUDGET_MAX: u64 = 1;
/// After everybody is dead: a stranger who holds the pipe open cannot keep us for longer.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(2);
/// A poll waits at most this long, whatever the deadlines are.
const WAIT_MAX: Duration = Duration::from_secs(3600);

/// What is to be said of a child that is gone.
pub(super) struct ChildOutcome {
    pub(super) how: ExitReason,
    pub(super) output_bytes: u64,
    pub(super) swept: u32,
    pub(super) left_over: u32,
    pub(super) transcript_cut: Option<String>,
}

pub(super) struct EventLoop<'a> {
    spec: &'a Spec,
    main: i32,
    outputs: ChildOutputs,
    signals: SignalPipes,
    log: &'a Log,
    started: Instant,
    /// When the child last printed something.
    last_output: Instant,
    /// Output wakes the loop up while it is open.
    flow: StreamState,
    stopping: Option<Stopping>,
}

/// The child is to end.
struct Stopping {
    why: ExitReason,
    /// The turns that it had told of until then.
    turns: u64,
    /// From then on it is killed, again and again.
    kill_at: Instant,
    /// Then it is left behind.
    leave_at: Instant,
}

impl<'a> EventLoop<'a> {
    pub(super) fn new(
        spec: &'a Spec,
        main: i32,
        outputs: ChildOutputs,
        signals: SignalPipes,
        log: &'a Log,
    ) -> Self {
        let now = Instant::now();
        let (started, last_output) = (now, now);
        let (flow, stopping) = (StreamState::Open, None);
        Self { spec, main, outputs, signals, log, started, last_output, flow, stopping }
    }

    /// Stays with the child until it and everybody below it are gone.
    pub(super) fn until_the_end(mut self) -> ChildOutcome {
        let status = self.until_main_ends().unwrap_or_else(|error| {
            self.log.complain(&format!("cannot watch the child: {error}"));
            None
        });
        let Killed { killed: swept, left_over } = self.sweep();
        self.drain();
        let how = match (self.stopping, status) {
            (Some(stopping), _) => stopping.why,
            (None, Some(status)) => how(status),
            (None, None) => ExitReason::Interrupted,
        };
        let closed = self.outputs.close();
        ChildOutcome {
            how,
            output_bytes: closed.bytes,
            swept,
            left_over,
            transcript_cut: closed.cut,
        }
    }

    fn until_main_ends(&mut self) -> io::Result<Option<WaitStatus>> {
        loop {
            self.wait(self.next_wake())?;
            signals::came(&self.signals.child);
            match descendants::reap(Some(self.main))? {
                Reaped::Main(status) => return Ok(Some(status)),
                Reaped::Nobody => return Ok(None),
                Reaped::Others => {}
            }
            if signals::came(&self.signals.int) {
                self.stop(ExitReason::Interrupted, Stop::AtOnce)?;
            }
            if signals::came(&self.signals.term) {
                self.stop(ExitReason::Interrupted, Stop::Gently)?;
            }
            self.take_in()?;
            self.hold_to_limits()?;
            if self.kill_if_due()? == Patience::Lost {
                return Ok(None);
            }
        }
    }

    fn take_in(&mut self) -> io::Result<()> {
        for _ in 0..CHUNKS_AT_ONCE_MAX {
            match self.outputs.take_in() {
                Took::Bytes => self.last_output = Instant::now(),
                Took::TooMuch => {
                    self.last_output = Instant::now();
                    self.stop(ExitReason::TooMuchOutput, Stop::AtOnce)?;
                }
                Took::Nothing | Took::End => break,
            }
            self.hold_to_budget()?;
        }
        Ok(())
    }

    fn hold_to_budget(&mut self) -> io::Result<()> {
        if !self.outputs.is_over_budget() {
            return Ok(());
        }
        let has_gone_on = self.stopping.as_ref().is_some_and(|stopping| {
            stopping.why == ExitReason::OverBudget
                && self.outputs.turns() - stopping.turns > TURNS_AFTER_BUDGET_MAX
        });
        self.stop(ExitReason::OverBudget, if has_gone_on { Stop::AtOnce } else { Stop::Gently })
    }

    fn hold_to_limits(&mut self) -> io::Result<()> {
        let now = Instant::now();
        if self.wall_end().is_some_and(|end| now >= end) {
            self.stop(ExitReason::TimedOut, Stop::Gently)?;
        }
        if self.silence_end().is_some_and(|end| now >= end) {
            self.stop(ExitReason::Silent, Stop::Gently)?;
        }
        Ok(())
    }

    fn wall_end(&self) -> Option<Instant> {
        after(self.started, self.spec.limits.wall_ms)
    }

    fn silence_end(&self) -> Option<Instant> {
        after(self.last_output, self.spec.limits.silence_ms)
    }

    /// Begins to stop the child, or hastens it.
    fn stop(&mut self, why: ExitReason, stop: Stop) -> io::Result<()> {
        let now = Instant::now();
        let grace = match stop {
            Stop::Gently => Duration::from_millis(self.spec.grace_ms),
            Stop::AtOnce => Duration::ZERO,
        };
        let kill_at = now + grace.min(WAIT_MAX);
        if let Some(stopping) = &mut self.stopping {
            if stop == Stop::AtOnce && stopping.kill_at > now {
                stopping.kill_at = now;
                stopping.leave_at = now + DYING_TIME_MAX;
            }
            return Ok(());
        }
        let (turns, leave_at) = (self.outputs.turns(), kill_at + DYING_TIME_MAX);
        self.stopping = Some(Stopping { why, turns, kill_at, leave_at });
        if stop == Stop::Gently {
            // One by one and not by group, so that nobody hears it twice: many programs take the
            // second time for "never mind cleaning up".
            descendants::signal_everybody(Signal::TERM)?;
        }
        Ok(())
    }

    fn kill_if_due(&mut self) -> io::Result<Patience> {
        let now = Instant::now();
        let Some(stopping) = &mut self.stopping else { return Ok(Patience::Left) };
        if now < stopping.kill_at {
            return Ok(Patience::Left);
        }
        if now >= stopping.leave_at {
            self.log.complain("the child cannot be killed, and is left behind");
            return Ok(Patience::Lost);
        }
        stopping.kill_at = now + KILL_AGAIN_AFTER;
        let group = Pid::from_raw(self.main).expect("a child has a pid");
        // It has no group of its own before it has made one.
        let _ = kill_process_group(group, Signal::KILL);
        descendants::signal_everybody(Signal::KILL)?;
        Ok(Patience::Left)
    }

    fn next_wake(&self) -> Duration {
        let now = Instant::now();
        let deadlines = match &self.stopping {
            Some(stopping) => [Some(stopping.kill_at), None],
            None => [self.wall_end(), self.silence_end()],
        };
        let longest = match self.spec.stdout {
            Stdout::Pipe => WAIT_MAX,
            Stdout::UnnamedFile => FILE_LOOK_EVERY,
        };
        let next = deadlines.into_iter().flatten().min();
        next.map_or(longest, |next| next.saturating_duration_since(now).min(longest))
    }

    /// Waits until a signal or output is there, or the time is up.
    fn wait(&self, timeout: Duration) -> io::Result<()> {
        let timeout = Timespec::try_from(timeout).expect("an hour fits into a timespec");
        let mut descriptors = vec![
            PollFd::new(&self.signals.term, PollFlags::IN),
            PollFd::new(&self.signals.int, PollFlags::IN),
            PollFd::new(&self.signals.child, PollFlags::IN),
        ];
        if self.flow == StreamState::Open {
            let files = self.outputs.files();
            descriptors.extend(files.map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN)));
        }
        match poll(&mut descriptors, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn sweep(&mut self) -> Killed {
        // Whatever is in the pipe now is no reason to wake up.
        self.flow = StreamState::Closed;
        descendants::kill_everybody(self.log, || {
            if let Err(error) = self.wait(KILL_AGAIN_AFTER) {
                self.log.complain(&format!("cannot wait: {error}"));
            }
            signals::came(&self.signals.child);
            signals::came(&self.signals.term);
            signals::came(&self.signals.int);
        })
    }

    /// Takes in what the dead have left.
    fn drain(&mut self) {
        let until = Instant::now() + DRAIN_TIME_MAX;
        match self.outputs.drain(until) {
            Took::Bytes | Took::Nothing | Took::End => {}
            Took::TooMuch => {
                let (kill_at, leave_at) = (until, until);
                let (why, turns) = (ExitReason::TooMuchOutput, self.outputs.turns());
                self.stopping.get_or_insert(Stopping { why, turns, kill_at, leave_at });
            }
        }
    }
}

/// Whether a child that is being killed is still waited for.
#[derive(PartialEq, Eq)]
enum Patience {
    Left,
    Lost,
}

/// Zero means that it never comes.
fn after(instant: Instant, ms: u64) -> Option<Instant> {
    if ms == 0 { None } else { instant.checked_add(Duration::from_millis(ms)) }
}

fn how(status: WaitStatus) -> ExitReason {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => ExitReason::Exited { code },
        (None, Some(signal)) => ExitReason::Signalled { signal },
        (None, None) => unreachable!("a reaped child has exited or was signalled"),
    }
}
