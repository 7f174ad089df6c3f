//! Reading the journal: taking up a run with many facts, and listing many runs.

use std::{path::Path, process::Command};

use crate::{
    long_run,
    measurement::{Bench, Bound, Measured, Unit, in_ms, median, repository, spend},
};

/// What a program says that waits for a person.
const WAITS: i32 = 3;

/// Taking up a run with many facts that waits for a person.
pub(crate) fn resume(bench: &Bench) -> Measured {
    resume_after(bench, bench.sized(1_000, 100_000), 200.0)
}

/// The same with more.
pub(crate) fn resume_million(bench: &Bench) -> Measured {
    resume_after(bench, bench.sized(2_000, 1_000_000), 1_500.0)
}

fn resume_after(bench: &Bench, facts: usize, most_ms: f64) -> Measured {
    let folder = repository()?;
    let made = made_in_memory(&folder.path().join(".git/forge"), facts)?;
    let call = |folder: &Path, word: &str| bench.forge(folder, &[word, long_run::ID]);
    // Its files are up to date, as those of a run are whose driver was killed.
    spend(&mut call(folder.path(), "status"), 0)?;
    // Each of them writes, and so has a repository that nobody has touched.
    let on_a_copy = |word: &str, expected: i32| {
        median(3, || {
            let copy = tempfile::tempdir().map_err(|error| error.to_string())?;
            spend(Command::new("cp").arg("-a").arg(folder.path().join(".")).arg(copy.path()), 0)?;
            spend(&mut Command::new("sync"), 0)?;
            spend(&mut call(copy.path(), word), expected)
        })
    };
    let time = on_a_copy("resume", WAITS)?;
    let what = format!("resume of a run with {made} facts");
    let compared = "the whole process, to its question";
    bench.figure(&what, in_ms(time), Unit::Ms, Bound::AtMost(most_ms), compared);
    let compared = format!("its resume: {:.0} ms", in_ms(time));
    let time = on_a_copy("status", 0)?;
    bench.figure("forge status of it", in_ms(time), Unit::Ms, Bound::None, &compared);
    let time = on_a_copy("stop", 0)?;
    bench.figure("taking it over and stopping it", in_ms(time), Unit::Ms, Bound::None, &compared);
    Ok(())
}

/// Makes the long run where a sync costs nothing, if there is such a place, and puts it there.
fn made_in_memory(home: &Path, facts: usize) -> Measured<u64> {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let folder = folder.map_err(|error| error.to_string())?;
    let made = long_run::long_run(&folder.path().join("forge"), facts);
    spend(Command::new("cp").arg("-a").arg(folder.path().join("forge")).arg(home), 0)?;
    Ok(made)
}

/// Listing many runs.
pub(crate) fn status(bench: &Bench) -> Measured {
    let folder = repository()?;
    let runs = bench.sized(200, 10_000);
    long_run::many_runs(&folder.path().join(".git/forge"), runs);
    let mut git = Command::new("git");
    git.args(["rev-parse", "--git-common-dir"]).current_dir(folder.path());
    let git = median(11, || spend(&mut git, 0))?;
    let figure = |words: &[&str], times: usize, bound, compared: &str| -> Measured {
        let time = median(times, || spend(&mut bench.forge(folder.path(), words), 0))?;
        let what = format!("forge {} with {runs} runs", words.join(" "));
        bench.figure(&what, in_ms(time), Unit::Ms, bound, compared);
        Ok(())
    };
    let compared = format!("one call of git: {:.2} ms", in_ms(git));
    figure(&["status"], 11, Bound::AtMost(15.0), &compared)?;
    figure(&["stats"], 3, Bound::None, &compared)?;
    figure(&["stats", "--days=1"], 3, Bound::None, &compared)
}
