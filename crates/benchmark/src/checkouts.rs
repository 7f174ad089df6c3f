//! Opening checkouts of many files, beside `git worktree add`, and what a second checkout pays for a set-up that the first one made.
//!
//! Times are those of the steps, as their endings have them.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::measurement::{
    Bench, Bound, Measured, Unit, commit, float, in_ms, repository, spend, write_files,
};

const FLOW: &str = "name = 'two'\n\
    [[stage]]\nname = 'plan'\nagent = 'planner'\nlist = 'tasks'\n\
    [[stage]]\nname = 'build'\neach = 'tasks'\nat_once = 1\n\
    [[stage.stage]]\nname = 'implement'\nagent = 'implementer'\ngates = [{ check = 'changes' }]\n\
    [[stage.stage]]\nname = 'again'\nagent = 'implementer'\ngates = [{ check = 'changes' }, { verify = true }, { land = true }]\n";
const SCENARIO: &str = "scenario = 1\n\
    [[play]]\nrole = 'planner'\nresult = { lists = { tasks = [{ id = 'T1', writes = ['T1'] }, { id = 'T2', after = ['T1'], writes = ['T2'] }] } }\n\
    [[play]]\nrole = 'implementer'\nrun = 'item=${FORGE_CALL%%/*}; echo made >> \"${item#*.}\"'\n";
const ROLES: [(&str, &str); 2] = [
    (".forge/roles/planner.md", "Plan.\n"),
    (".forge/roles/implementer.md", "+++\ncode = \"writes\"\n+++\nBuild it.\n"),
];

pub(crate) fn measure(bench: &Bench) -> Measured {
    open(bench)?;
    set_up(bench)
}

/// A checkout of many files.
fn open(bench: &Bench) -> Measured {
    let folder = repository()?;
    let n = bench.sized(200, 10_000);
    many_files(&folder.path().join("src"), n, 2_000)?;
    let path = folder.path();
    write_project(path, "")?;
    commit(path)?;
    let mut worktree = Command::new("git");
    worktree.args(["worktree", "add", "--quiet", "--detach"]).arg(path.join(".git/beside"));
    let git = in_ms(spend(worktree.current_dir(path), 0)?);
    let steps = run(bench, path)?;
    let opened: Vec<f64> = steps
        .iter()
        .filter(|step| step.call.starts_with("build.T") && step.name == "open")
        .map(|step| step.ms)
        .collect();
    let [first, again, second, ..] = opened[..] else {
        return Err(format!("{} checkouts were opened", opened.len()));
    };
    let compared = format!("`git worktree add`: {git:.0} ms");
    let times = |what: &str, ms: f64, most: Bound| {
        let what = format!("{n} files, {what}");
        bench.figure(&what, ms, Unit::Ms, Bound::None, &compared);
        bench.figure(&format!("{what}, of git's time"), ms / git, Unit::Times, most, &compared);
    };
    times("opening a checkout", first, Bound::AtMost(2.0));
    times("opening it again", again, Bound::AtMost(0.5));
    times("opening a second one", second, Bound::AtMost(2.0));
    Ok(())
}

/// A set-up that leaves many files, as `npm ci` does.
fn set_up(bench: &Bench) -> Measured {
    let folder = repository()?;
    let path = folder.path();
    let (n, bytes) = (bench.sized(50, 10_000), 20_000);
    let source = tempfile::tempdir().map_err(|error| error.to_string())?;
    many_files(source.path(), n, bytes)?;
    let copy = format!("cp -r {} node_modules", source.path().display());
    write_project(
        path,
        &format!("[workspace]\nsetup = [\"{copy}\"]\nsetup_inputs = [\"package-lock.json\"]\n"),
    )?;
    fs::write(path.join("package-lock.json"), "{}\n").map_err(|error| error.to_string())?;
    fs::write(path.join(".gitignore"), "node_modules\n").map_err(|error| error.to_string())?;
    commit(path)?;
    let steps = run(bench, path)?;
    let reused = |step: &&Step| step.call.starts_with("build.T2") && step.name.contains("reuse");
    let ms = steps.iter().find(reused).map(|step| step.ms);
    let ms = ms.ok_or("the set-up was not reused")?;
    let does_clone = spend(
        Command::new("cp")
            .arg("--reflink=always")
            .arg(path.join(".gitignore"))
            .arg(path.join(".git/clone")),
        0,
    )
    .is_ok();
    let (most, how) = if does_clone { (1.0, "clones") } else { (3.0, "copies") };
    let what = format!("set-up of a second checkout, {} MB", n * bytes / 1_000_000);
    let first = steps.iter().filter(|step| step.name.contains("setup"));
    let first = first.map(|step| step.ms).fold(0.0, f64::max);
    let compared = format!("this file system {how}; the command itself: {:.2} s", first / 1e3);
    bench.figure(&what, ms / 1e3, Unit::Seconds, Bound::AtMost(most), compared);
    Ok(())
}

fn many_files(folder: &Path, n: usize, bytes: usize) -> Measured {
    for n in 0..n {
        let folder = folder.join(format!("d{}", n / 100));
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(folder.join(format!("f{n}")), format!("{n:bytes$}\n")))
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn write_project(folder: &Path, settings: &str) -> Measured {
    let settings = format!("[verify]\ncommands = [\"true\"]\n{settings}");
    let files = [
        (".forge/flows/two.toml", FLOW),
        ("scenario.toml", SCENARIO),
        ("forge.toml", &settings),
        ROLES[0],
        ROLES[1],
    ];
    write_files(folder, &files)
}

/// A step that has ended.
struct Step {
    call: String,
    name: String,
    started: u64,
    ms: f64,
}

/// Runs the flow, and returns its steps in the order in which they were started.
fn run(bench: &Bench, folder: &Path) -> Measured<Vec<Step>> {
    spend(&mut bench.forge(folder, &["config", "allow", "--flow", "two"]), 0)?;
    let words = ["run", "--flow", "two", "--scenario", "scenario.toml", "--auto", "measure"];
    spend(&mut bench.forge(folder, &words), 0)?;
    let mut steps = Vec::new();
    collect(&folder.join(".git/forge/attempts"), &mut steps)?;
    steps.sort_by_key(|step| step.started);
    Ok(steps)
}

fn collect(folder: &Path, steps: &mut Vec<Step>) -> Measured {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            collect(&path, steps)?;
        } else if path.ends_with("ending.json") {
            let text = fs::read_to_string(&path).map_err(failed)?;
            let ending: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
            let number = |name: &str| ending[name].as_u64().unwrap_or_default();
            let started = number("started_at_ms");
            let ms = float(number("ended_at_ms").saturating_sub(started));
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let call = ending["call"].as_str().unwrap_or_default().to_owned();
            steps.push(Step { call, name, started, ms });
        }
    }
    Ok(())
}
