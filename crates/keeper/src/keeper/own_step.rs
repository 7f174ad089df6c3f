//! A step that the driver does itself, in its own process: claimed and ended exactly as under a keeper.
//!
//! Only for work that can be killed at any moment and repeated: it does not outlive the driver. Nothing is
//! redacted here: what a program of strangers prints belongs under a keeper. Nothing is written down of what is to be done: nobody
//! else does it, and its ending says it.
//!
//! Invariant: until its ending is written, the claim is locked; a driver that dies leaves it free.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;

use super::ending::{EndingOutlasts, is_full, now_ms, write_once};
use crate::attempt::claim::{self, Claiming};
use crate::attempt::dir::{AttemptFolder, Ending, ExitReason, FORMAT};
use crate::attempt::ending_signature::EndingSigner;
use crate::processes;
use crate::variables::MARK_VARIABLE;

/// A step that this process has claimed.
pub struct OwnStep {
    folder: AttemptFolder,
    call: String,
    claim: File,
    started_at_ms: u64,
}

impl OwnStep {
    /// Makes the folder of a step and claims it; none, if somebody else was first or it was given up.
    pub fn claim(folder: &AttemptFolder, call: String) -> io::Result<Option<Self>> {
        DirBuilder::new().recursive(true).mode(0o700).create(&folder.path)?;
        let Claiming::Won(claim) = claim::claim(folder)? else { return Ok(None) };
        Ok(Some(Self { folder: folder.clone(), call, claim, started_at_ms: now_ms() }))
    }

    /// The variable that marks every process of the step, so that it can be swept.
    pub fn mark(&self) -> (&'static str, String) {
        (MARK_VARIABLE, processes::mark(&self.folder.path))
    }

    /// Writes down how it ended and what it made, signed, and lets go of it.
    pub fn end(
        mut self,
        how: ExitReason,
        result: Option<String>,
        outlasts: EndingOutlasts,
        signer: Option<&EndingSigner>,
    ) -> io::Result<()> {
        let mut ending = Ending {
            forge: FORMAT,
            call: std::mem::take(&mut self.call),
            how,
            started_at_ms: self.started_at_ms,
            ended_at_ms: now_ms().max(self.started_at_ms),
            output_bytes: 0,
            swept: 0,
            transcript_cut: None,
            left_over: 0,
            disk_full: is_full(&self.folder.path),
            kept: None,
            result,
            signature: None,
        };
        if let Some(signer) = signer {
            signer.sign(&self.folder, &mut ending);
        }
        write_once(&self.folder, &mut None, &serde_json::to_vec(&ending)?, outlasts)
    }
}

impl Drop for OwnStep {
    /// Lets go of it. Closing the file would not do: a process that is being started has it open for a moment.
    fn drop(&mut self) {
        let _it_was_locked = self.claim.unlock();
    }
}
