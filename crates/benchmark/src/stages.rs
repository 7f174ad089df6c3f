//! What one more command stage costs that does nothing, here and in Spec Kit's workflows.
//!
//! It is the difference between a run with many stages and one with twice as many, so that neither what a start costs nor what an end costs
//! is in it.

use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use crate::measurement::{
    Bench, Bound, Counted, Measured, Unit, children_cpu, counted, float, in_ms, median, repository,
    spend,
};

pub(crate) fn measure(bench: &Bench) -> Measured {
    let n = bench.sized(5, 50);
    let flow = |name: &str, stages: u64| {
        let mut text = format!("name = '{name}'\n");
        for n in 0..stages {
            let _never_fails = write!(text, "[[stage]]\nname = 's{n}'\ncommand = 'true'\n");
        }
        text
    };
    let (one, two) = (flow("one", n), flow("two", 2 * n));
    let files = [(".forge/flows/one.toml", one.as_str()), (".forge/flows/two.toml", two.as_str())];
    let folder = bench.project("one", &files)?;
    spend(&mut bench.forge(folder.path(), &["config", "allow", "--flow", "two"]), 0)?;
    let run = |name: &str| bench.forge(folder.path(), &["run", "--flow", name, "measure"]);
    let times = bench.sized(1, 9);
    let wall = |name: &str| -> Measured<(Duration, Duration)> {
        let before = children_cpu();
        let wall = median(times, || spend(&mut run(name), 0))?;
        Ok((wall, children_cpu().saturating_sub(before) / u32::try_from(times).unwrap_or(1)))
    };
    let ((one, one_cpu), (two, two_cpu)) = (wall("one")?, wall("two")?);
    let each = |one: Duration, two: Duration| in_ms(two.saturating_sub(one)) / float(n);
    let (ours, cpu) = (each(one, two), each(one_cpu, two_cpu));
    let disk = format!("one fsync of this disk: {:.2} ms", in_ms(fsync_time(folder.path())?));
    bench.figure("a no-op command stage, wall", ours, Unit::Ms, Bound::None, disk);
    let compared = "driver, keeper and sh together";
    bench.figure("a no-op command stage, CPU", cpu, Unit::Ms, Bound::AtMost(4.0), compared);
    let (one, two) = (counted(&run("one"))?, counted(&run("two"))?);
    let each = |of: fn(&Counted) -> u64| float(of(&two) - of(&one)) / float(n);
    let processes = each(|counted| counted.processes);
    let programs = each(|counted| counted.programs);
    let compared = "keeper and sh";
    bench.figure(
        "a no-op command stage, programs",
        programs,
        Unit::PerStage,
        Bound::AtMost(3.0),
        compared,
    );
    bench.figure(
        "a no-op command stage, processes",
        processes,
        Unit::PerStage,
        Bound::AtMost(3.0),
        "-",
    );
    let syncs = each(|counted| counted.syncs);
    bench.figure("a no-op command stage, syncs", syncs, Unit::PerStage, Bound::AtMost(4.0), "-");
    if let Some(program) = &bench.spec_kit {
        let theirs = spec_kit(program, n, times)?;
        let compared =
            format!("a stage of Spec Kit, same machine and run: {theirs:.2} ms, nothing synced");
        let what = "a no-op command stage, of the time in Spec Kit";
        bench.figure(what, ours / theirs, Unit::Times, Bound::AtMost(0.33), compared);
    }
    Ok(())
}

/// Returns the milliseconds of one more stage in a workflow of Spec Kit.
fn spec_kit(program: &Path, n: u64, times: usize) -> Measured<f64> {
    let folder = repository()?;
    let failed = |error: std::io::Error| error.to_string();
    fs::create_dir(folder.path().join(".specify")).map_err(failed)?;
    let wall = |stages: u64| {
        let mut text = "schema_version: \"1.0\"\nworkflow:\n  id: \"many\"\n  name: \"Many\"\n  version: \"1.0.0\"\nsteps:\n".to_owned();
        for n in 0..stages {
            let _never_fails = writeln!(text, "  - id: s{n}\n    type: shell\n    run: \"true\"");
        }
        fs::write(folder.path().join("many.yml"), text).map_err(failed)?;
        let mut run = Command::new(program);
        run.args(["workflow", "run", "./many.yml"]).current_dir(folder.path());
        median(times, || spend(&mut run, 0))
    };
    let (one, two) = (wall(n)?, wall(2 * n)?);
    Ok(in_ms(two.saturating_sub(one)) / float(n))
}

/// Returns how long the disk takes to keep one small write.
fn fsync_time(folder: &Path) -> Measured<Duration> {
    let failed = |error: std::io::Error| error.to_string();
    let path = folder.join("fsync");
    let mut file = fs::File::create(&path).map_err(failed)?;
    let time = median(51, || {
        let began = Instant::now();
        file.write_all(&[7; 512]).and_then(|()| file.sync_data()).map_err(failed)?;
        Ok(began.elapsed())
    });
    fs::remove_file(path).map_err(failed)?;
    time
}
