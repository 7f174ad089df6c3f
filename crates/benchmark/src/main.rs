//! The figures that Forge is held to, each beside what it is compared with.
//!
//! `cargo xtask bench` builds Forge, its examples and this program for release and starts this program, whose only argument is the folder
//! of the built programs. A package of its own, because it needs Forge's crates and `xtask` must not.
//!
//! Machines are noisy, so everything is measured in one run, next to something that does not
//! depend on us: starting `true`, the disk's own fsync, or the bound that we promise. A program
//! that does not end as it should was not measured, and then the whole task fails.

mod measurement;
mod side_by_side;

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use forge_core::{
    Effect, Input, Report, Run, decide,
    event::{Approvals, Detail, Limits, Outcome, Person, Receipt, Ruling, Start},
    item::Item,
    money::Spent,
    verdict::Verdict,
    wanted,
};
use forge_store::{
    journal::{RunLock, Store},
    records::row,
};

use measurement::{Measured, commit_and_approve, line, repository, say, spend, traced};

const RUNS: usize = 10_000;
const FACTS: u64 = 100_000;
/// So many items make about that many facts in the long run.
const ITEMS: usize = 2_857;
const STAGES: usize = 100;
const AGENTS: usize = 200;

fn main() -> ExitCode {
    let Some(release) = std::env::args_os().nth(1).map(PathBuf::from) else {
        say("forge-benchmark FOLDER: the folder of the programs that were built for release");
        return ExitCode::from(2);
    };
    say(&format!("{:<58} {:>14}   compared with", "what", "figure"));
    let forge = release.join("forge");
    let parts: &[(&str, &dyn Fn() -> Measured)] = &[
        ("binary", &|| binary(&forge)),
        ("decisions", &|| example(&release.join("examples/decision_time"))),
        ("streams", &|| example(&release.join("examples/stream_speed"))),
        // First what makes few files: a file system that has just lost many is slow to make new ones.
        ("stages", &|| stages(&forge)),
        ("demo", &|| demo(&forge)),
        ("agents", &|| agents(&forge)),
        ("side by side", &|| side_by_side::measure(&forge)),
        ("resume", &|| resume(&forge)),
        ("status", &|| status(&forge)),
    ];
    let mut code = ExitCode::SUCCESS;
    for (name, measure) in parts {
        if let Err(problem) = measure() {
            say(&format!("{name}: NOT MEASURED: {problem}"));
            code = ExitCode::FAILURE;
        }
    }
    code
}

/// What a program says that waits for a person.
const WAITS: i32 = 3;

fn binary(forge: &Path) -> Measured {
    let size = fs::metadata(forge).map_err(|error| error.to_string())?.len();
    line("binary", &format!("{:.1} MB", float(size) / 1e6), "at most 30 MB");
    let idle = median(21, || spend(&mut Command::new("true"), 0))?;
    let version = median(21, || spend(Command::new(forge).arg("--version"), 0))?;
    line("forge --version", &ms(version), &format!("at most 5 ms; `true` takes {}", ms(idle)));
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn float(n: u64) -> f64 {
    n as f64
}

fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

fn median(times: usize, mut measure: impl FnMut() -> Measured<Duration>) -> Measured<Duration> {
    let mut all = (0..times).map(|_| measure()).collect::<Measured<Vec<Duration>>>()?;
    all.sort();
    Ok(all[all.len() / 2])
}

/// Runs a program that prints its own lines.
fn example(program: &Path) -> Measured {
    let shown = program.display();
    let output = Command::new(program).output().map_err(|error| format!("{shown}: {error}"))?;
    say(String::from_utf8_lossy(&output.stdout).trim_end());
    if output.status.success() { Ok(()) } else { Err(format!("{shown}: {}", output.status)) }
}

/// Returns the same repository once more, for something that changes it.
fn copy_of(folder: &Path) -> Measured<tempfile::TempDir> {
    let copy = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut cp = Command::new("cp");
    cp.arg("-a").arg(folder.join(".")).arg(copy.path());
    match cp.status() {
        Ok(status) if status.success() => Ok(copy),
        Ok(status) => Err(format!("{cp:?} ended with {status}")),
        Err(error) => Err(format!("{cp:?} cannot be started: {error}")),
    }
}

fn home(folder: &Path) -> PathBuf {
    folder.join(".git/forge")
}

/// Returns how long the disk takes to keep one small write.
fn fsync_time(folder: &Path) -> Measured<Duration> {
    let path = folder.join("fsync");
    let mut file = fs::File::create(&path).expect("a file can be made");
    let time = median(51, || {
        let began = Instant::now();
        file.write_all(&[7; 512]).and_then(|()| file.sync_data()).expect("the disk takes a write");
        Ok(began.elapsed())
    });
    let _ = fs::remove_file(path);
    time
}

fn start(flow: &str, text: &str) -> Start {
    Start {
        request: "measure".to_owned(),
        flow: flow.to_owned(),
        texts: BTreeMap::from([(flow.to_owned(), text.to_owned())]),
        format: 1,
        params: BTreeMap::new(),
        approvals: Approvals::ByPeople,
        limits: Limits { budget: None, call_budget: None, at_once: 8, unpriced_calls: None },
        settings: None,
        roles: BTreeMap::new(),
        instructions: None,
        base: None,
        base_branch: None,
        branch: None,
        onto: None,
        chosen: BTreeMap::new(),
        source: None,
        detail: Detail::Plain,
        coherence: None,
        ending_key: None,
        version: "bench".to_owned(),
        by: Person { who: "bench".to_owned(), channel: "cli".to_owned() },
    }
}

/// `forge status` with many runs.
fn status(forge: &Path) -> Measured {
    let folder = repository();
    let dir = home(folder.path());
    let mut store = Store::open(&dir).expect("a journal can be made");
    let flow = "name = 'm'\n[[stage]]\nname = 'a'\ngates = [{ human = 'Good?' }]\n";
    for n in 0..RUNS {
        let id = format!("20260101-measure-{n:06}-aaaa");
        let input = Input::Command(forge_core::Command::Start(Box::new(start("m", flow))));
        let record = decide(&Run::new(), 1_000 + n as u64, &input).expect("the flow is right");
        let mut run = Run::new();
        run.apply_record(&record);
        let body = serde_json::to_string(&record.facts).expect("facts can be written");
        let lock = RunLock::acquire(&dir, &id).expect("nobody holds it");
        store.begin_run(lock, record.at, &body, &row(&id, &run)).expect("a run can be begun");
    }
    drop(store);
    let git = median(11, || {
        spend(
            Command::new("git").args(["rev-parse", "--git-common-dir"]).current_dir(folder.path()),
            0,
        )
    })?;
    let time =
        median(11, || spend(Command::new(forge).arg("status").current_dir(folder.path()), 0))?;
    let compared = format!("at most 20 ms; two calls of git in it take {}", ms(git * 2));
    line(&format!("forge status with {RUNS} runs"), &ms(time), &compared);
    for (what, more) in [("forge stats", None), ("forge stats --days 1", Some("--days=1"))] {
        let mut command = Command::new(forge);
        command.arg("stats").args(more).current_dir(folder.path());
        let time = median(3, || spend(&mut command, 0))?;
        line(&format!("{what} with {RUNS} runs"), &ms(time), "that of forge status");
    }
    Ok(())
}

/// Taking up a run with many facts that waits for a person.
fn resume(forge: &Path) -> Measured {
    let folder = repository();
    let id = "20260101-long-aaaa";
    let facts = long_run(folder.path(), id);
    if facts.abs_diff(FACTS) > FACTS / 20 {
        return Err(format!("the long run has {facts} facts: choose other `ITEMS`"));
    }
    let command = |folder: &Path, word: &str| {
        let mut command = Command::new(forge);
        command.args([word, id]).current_dir(folder);
        command
    };
    let time = median(3, || spend(&mut command(folder.path(), "status"), 0))?;
    let what = format!("reading and folding a run with {facts} facts");
    line(&what, &ms(time), "at most 1000 ms (forge status RUN, whole process)");
    // These two write, so each of them has a repository that nobody has touched.
    let on_a_copy = |word: &str, expected: i32| {
        median(3, || {
            let copy = copy_of(folder.path())?;
            spend(&mut command(copy.path(), word), expected)
        })
    };
    let time = on_a_copy("resume", WAITS)?;
    let what = format!("resume of a run with {facts} facts");
    line(&what, &ms(time), "at most 1000 ms (forge resume RUN, to its question)");
    let time = on_a_copy("stop", 0)?;
    line("taking it over and stopping it", &ms(time), "at most 1000 ms");
    Ok(())
}

/// Makes a run that goes over many items, up to its last question. Returns its number of facts.
fn long_run(folder: &Path, id: &str) -> u64 {
    let dir = home(folder);
    let mut store = Store::open(&dir).expect("a journal can be made");
    let flow = "name = 'long'\n[[stage]]\nname = 'plan'\nagent = 'planner'\nlist = 'tasks'\n\
        [[stage]]\nname = 'tasks'\neach = 'tasks'\nat_once = 8\nitems_max = 3000\n\
        [[stage.stage]]\nname = 'one'\ncommand = 'true'\ngates = [{ command = 'true' }]\n\
        [[stage.stage]]\nname = 'two'\ncommand = 'true'\ngates = [{ command = 'true' }]\n\
        [[stage.stage]]\nname = 'three'\ncommand = 'true'\ngates = [{ command = 'true' }]\n\
        [[stage.stage]]\nname = 'four'\ncommand = 'true'\ngates = [{ command = 'true' }]\n\
        [[stage.stage]]\nname = 'five'\ncommand = 'true'\ngates = [{ command = 'true' }]\n\
        [[stage.stage]]\nname = 'six'\ncommand = 'true'\ngates = [{ command = 'true' }]\n\
        [[stage.stage]]\nname = 'seven'\ncommand = 'true'\ngates = [{ command = 'true' }]\n\
        [[stage]]\nname = 'end'\ngates = [{ human = 'Good?' }]\n";
    let mut start = start("long", flow);
    start.roles.insert("planner".to_owned(), forge_core::event::Blob("0".repeat(64)));
    let mut run = Run::new();
    let mut input = Input::Command(forge_core::Command::Start(Box::new(start)));
    let mut writer = None;
    loop {
        let record = decide(&run, run.now() + 1, &input).expect("the flow is right");
        run.apply_record(&record);
        let body = serde_json::to_string(&record.facts).expect("facts can be written");
        let row = row(id, &run);
        match &mut writer {
            None => {
                let lock = RunLock::acquire(&dir, id).expect("nobody holds it");
                writer = Some(store.begin_run(lock, record.at, &body, &row).expect("it begins"));
            }
            Some(writer) => {
                store.append(writer, record.at, &body, &row, &[]).expect("the disk takes it");
            }
        }
        match wanted(&run).into_iter().find_map(answer) {
            Some(next) => input = next,
            None => return run.n_facts(),
        }
    }
}

fn answer(effect: Effect) -> Option<Input> {
    let receipt = Receipt::from_spent(Spent::NOTHING);
    match effect {
        Effect::Work { attempt, .. } => {
            let lists = if attempt.unit.stage == "plan" {
                let item = |n| Item {
                    id: format!("T{n}"),
                    writes: vec![format!("p{n}")],
                    ..Item::default()
                };
                vec![("tasks".to_owned(), (0..ITEMS).map(item).collect())]
            } else {
                Vec::new()
            };
            let outcome = Outcome::Done;
            Some(Input::Report(Report::Worked { attempt, outcome, lists, receipt }))
        }
        Effect::Judge { judgement, .. } => {
            let ruling = Ruling::Verdict(Verdict::Pass { findings: Vec::new() });
            Some(Input::Report(Report::Judged { judgement, ruling, receipt }))
        }
        Effect::Ask { .. } | Effect::Wake { .. } => None,
    }
}

/// Returns what a command stage that does nothing costs.
fn stages(forge: &Path) -> Measured {
    let folder = repository();
    let flows = folder.path().join(".forge/flows");
    fs::create_dir_all(&flows).expect("a folder can be made");
    let mut text = "name = 'noop'\n".to_owned();
    for n in 0..STAGES {
        let _ = write!(text, "[[stage]]\nname = 's{n}'\ncommand = 'true'\n");
    }
    fs::write(flows.join("noop.toml"), text).expect("a file can be written");
    commit_and_approve(folder.path(), forge, "noop")?;
    let go = || {
        let mut command = Command::new(forge);
        command.args(["run", "--flow", "noop", "measure"]).current_dir(folder.path());
        command
    };
    let n = u32::try_from(STAGES).unwrap_or(1);
    let before = children_cpu();
    let wall = spend(&mut go(), 0)? / n;
    let cpu = children_cpu().saturating_sub(before) / n;
    let disk = fsync_time(folder.path())?;
    line("a no-op command stage, CPU", &ms(cpu), "at most 3 ms (driver, keeper, launch and sh)");
    line(
        "a no-op command stage, wall",
        &ms(wall),
        &format!("one fsync of this disk takes {}", ms(disk)),
    );
    let (programs, syncs) = traced(&go())?;
    let each = |n: u64| format!("{:.2}", float(n) / float(STAGES as u64));
    line(
        "a no-op command stage, programs",
        &each(programs),
        "at most 4 (keeper, launch, sh, true)",
    );
    line("a no-op command stage, fsyncs", &each(syncs), "at most 6");
    Ok(())
}

/// The demo is a feature with three tasks, two of them revised; its agents are shell scripts.
fn demo(forge: &Path) -> Measured {
    let mut command = Command::new(forge);
    command.args(["demo", "--fast"]);
    let before = children_cpu();
    let wall = spend(&mut command, 0)?;
    let cpu = children_cpu().saturating_sub(before);
    let (programs, syncs) = traced(&command)?;
    line("the demo, wall", &ms(wall), "-");
    line("the demo, CPU of Forge, git, agents and checks", &ms(cpu), "-");
    line("the demo, programs", &programs.to_string(), "1,695 with a keeper for each job");
    line("the demo, fsyncs", &syncs.to_string(), "821 with a keeper for each job");
    Ok(())
}

/// Returns the time that our children, and theirs, have spent so far.
fn children_cpu() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .map(|(_, rest)| rest.split_whitespace().collect())
        .unwrap_or_default();
    let ticks =
        |n: usize| fields.get(n).and_then(|text| text.parse::<u64>().ok()).unwrap_or_default();
    Duration::from_millis((ticks(13) + ticks(14)) * 10)
}

/// Many agents at once.
fn agents(forge: &Path) -> Measured {
    let folder = repository();
    let dot = folder.path().join(".forge");
    fs::create_dir_all(dot.join("flows")).expect("a folder can be made");
    fs::create_dir_all(dot.join("roles")).expect("a folder can be made");
    let flow = format!(
        "name = 'many'\n[[stage]]\nname = 'plan'\nagent = 'planner'\nlist = 'tasks'\n\
         [[stage]]\nname = 'tasks'\neach = 'tasks'\nat_once = {AGENTS}\nitems_max = {AGENTS}\n\
         [[stage.stage]]\nname = 'one'\nagent = 'worker'\n"
    );
    let items: Vec<String> =
        (0..AGENTS).map(|n| format!("{{ id = 'T{n}', title = 't', writes = ['p{n}'] }}")).collect();
    let scenario = format!(
        "scenario = 1\n[[play]]\nrole = 'planner'\nresult = {{ lists = {{ tasks = [{}] }} }}\n\
         [[play]]\nrole = 'worker'\nsay = ['at work']\nhang = true\n",
        items.join(", ")
    );
    let write = |path: PathBuf, text: &str| fs::write(path, text).expect("a file can be written");
    write(dot.join("flows/many.toml"), &flow);
    write(dot.join("roles/planner.md"), "Plan.");
    write(dot.join("roles/worker.md"), "Work.");
    write(folder.path().join("scenario.toml"), &scenario);
    write(folder.path().join("forge.toml"), &format!("[limits]\nat_once = {AGENTS}\n"));
    commit_and_approve(folder.path(), forge, "many")?;
    let mut driver = Command::new(forge)
        .args(["run", "--flow", "many", "--scenario", "scenario.toml", "measure"])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("forge can be started");
    let marker = folder.path().display().to_string();
    let began = Instant::now();
    let mut keepers = Vec::new();
    while keepers.len() < AGENTS && began.elapsed() < Duration::from_mins(1) {
        std::thread::sleep(Duration::from_millis(200));
        keepers = processes("__keep", &marker);
    }
    std::thread::sleep(Duration::from_secs(1));
    let started = began.elapsed();
    let all: Vec<u32> = keepers.iter().copied().chain([driver.id()]).collect();
    let before: u64 = all.iter().map(|pid| ticks(*pid)).sum();
    let watched = Duration::from_secs(5);
    std::thread::sleep(watched);
    let idle = all.iter().map(|pid| ticks(*pid)).sum::<u64>().saturating_sub(before) * 10;
    line(
        &format!("{} agents under way, started in", keepers.len()),
        &format!("{:.1} s", started.as_secs_f64()),
        "-",
    );
    let resident = memory(driver.id(), "Rss:");
    line("driver, resident", &mib(resident), "at most 100 MiB");
    let mut private: Vec<u64> = keepers
        .iter()
        .map(|pid| memory(*pid, "Private_Clean:") + memory(*pid, "Private_Dirty:"))
        .collect();
    private.sort_unstable();
    line(
        "a keeper, private (largest)",
        &mib(private.last().copied().unwrap_or_default()),
        "at most 3 MiB",
    );
    let share = float(idle) / float(u64::try_from(watched.as_millis()).unwrap_or(1)) * 100.0;
    line("driver and keepers when idle", &format!("{share:.1} %"), "at most 10 % of a core");
    // Every run's id begins with its year.
    let abandoned = spend(Command::new(forge).args(["abandon", "2"]).current_dir(folder.path()), 0);
    if abandoned.is_err() {
        let _ = driver.kill();
    }
    let _ = driver.wait();
    abandoned?;
    if keepers.len() < AGENTS {
        return Err(format!("only {} of {AGENTS} agents came up", keepers.len()));
    }
    if private.first().is_none_or(|least| *least == 0) || resident == 0 {
        return Err("the memory of a process cannot be read".to_owned());
    }
    Ok(())
}

fn mib(kib: u64) -> String {
    format!("{:.1} MiB", float(kib) / 1024.0)
}

/// Processes with both texts in their command line.
fn processes(word: &str, other: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains(word) && line.contains(other)
    })
    .collect()
}

fn ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .map(|(_, rest)| rest.split_whitespace().collect())
        .unwrap_or_default();
    let ticks =
        |n: usize| fields.get(n).and_then(|text| text.parse::<u64>().ok()).unwrap_or_default();
    ticks(11) + ticks(12)
}

fn memory(pid: u32, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.trim().trim_end_matches("kB").trim().parse().unwrap_or_default()
}
