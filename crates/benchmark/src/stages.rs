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
    say, spend,
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
    let StageTime { wall: ours, cpu } = one_more(times, n, |stages| match stages {
        Stages::N => spend(&mut run("one"), 0),
        Stages::Twice => spend(&mut run("two"), 0),
    })?;
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
        "14 at first",
    );
    let syncs = each(|counted| counted.syncs);
    let compared = "10 at first";
    bench.figure(
        "a no-op command stage, syncs",
        syncs,
        Unit::PerStage,
        Bound::AtMost(4.0),
        compared,
    );
    let Some(program) = &bench.spec_kit else {
        say(
            "a no-op command stage, of the time in Spec Kit: `cargo xtask bench --peers` brings it",
        );
        return Ok(());
    };
    let StageTime { wall: theirs, cpu: their_cpu } = spec_kit(program, n, times)?;
    let compared = format!(
        "a stage of Spec Kit, same machine and run: {theirs:.2} ms, {their_cpu:.2} ms of CPU, nothing synced"
    );
    let what = "a no-op command stage, of the time in Spec Kit";
    bench.figure(what, ours / theirs, Unit::Times, Bound::AtMost(0.33), compared);
    Ok(())
}

/// Which of the two runs whose difference is taken.
#[derive(Clone, Copy)]
enum Stages {
    N,
    Twice,
}

/// What one more stage takes, in milliseconds.
struct StageTime {
    wall: f64,
    cpu: f64,
}

/// Measures one more stage: the median of the differences between a run with many stages and one with twice as many. They take turns,
/// because no machine is equally fast all the time.
fn one_more(
    times: usize,
    n: u64,
    mut run: impl FnMut(Stages) -> Measured<Duration>,
) -> Measured<StageTime> {
    let (mut differences, mut cpu) = (Vec::new(), 0.0);
    for _ in 0..times {
        let mut measured = |stages: Stages| -> Measured<(f64, f64)> {
            let before = children_cpu();
            let wall = in_ms(run(stages)?);
            Ok((wall, in_ms(children_cpu().saturating_sub(before))))
        };
        let ((wall_n, cpu_n), (wall_twice, cpu_twice)) =
            (measured(Stages::N)?, measured(Stages::Twice)?);
        differences.push(wall_twice - wall_n);
        cpu += cpu_twice - cpu_n;
    }
    differences.sort_by(f64::total_cmp);
    let wall = differences[differences.len() / 2] / float(n);
    Ok(StageTime { wall, cpu: cpu / float(n * differences.len() as u64) })
}

/// Returns what one more stage takes in a workflow of Spec Kit.
fn spec_kit(program: &Path, n: u64, times: usize) -> Measured<StageTime> {
    let folder = repository()?;
    let failed = |error: std::io::Error| error.to_string();
    fs::create_dir(folder.path().join(".specify")).map_err(failed)?;
    let workflow = |name: &str, stages: u64| {
        let mut text = "schema_version: \"1.0\"\nworkflow:\n  id: \"many\"\n  name: \"Many\"\n  version: \"1.0.0\"\nsteps:\n".to_owned();
        for n in 0..stages {
            let _never_fails = writeln!(text, "  - id: s{n}\n    type: shell\n    run: \"true\"");
        }
        fs::write(folder.path().join(name), text).map_err(failed)
    };
    workflow("one.yml", n)?;
    workflow("two.yml", 2 * n)?;
    one_more(times, n, |stages| {
        let workflow = match stages {
            Stages::N => "./one.yml",
            Stages::Twice => "./two.yml",
        };
        let mut run = Command::new(program);
        spend(run.args(["workflow", "run", workflow]).current_dir(folder.path()), 0)
    })
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
