//! Many calls at once: how soon they are under way, and what driver and keepers need while the agents think.

use std::{
    fs,
    path::Path,
    process::{Child, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use crate::measurement::{Bench, Bound, Measured, Unit, float, spend};

pub(crate) fn measure(bench: &Bench) -> Measured {
    let n = bench.sized(10, 1_000);
    let folder = project(bench, n)?;
    let words = ["run", "--flow", "many", "--scenario", "scenario.toml", "measure"];
    let mut run = bench.forge(folder.path(), &words);
    let mut driver = run
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let measured = under_way(bench, folder.path(), &driver, n);
    // Every run's id begins with its year.
    let abandoned = spend(&mut bench.forge(folder.path(), &["abandon", "--yes", "2"]), 0);
    if abandoned.is_err() {
        let _ = driver.kill();
    }
    let _ = driver.wait();
    measured.and(abandoned.map(drop))
}

fn project(bench: &Bench, n: usize) -> Measured<tempfile::TempDir> {
    let flow = format!(
        "name = 'many'\n[[stage]]\nname = 'plan'\nagent = 'planner'\nlist = 'tasks'\n\
         [[stage]]\nname = 'tasks'\neach = 'tasks'\nat_once = {n}\nitems_max = {n}\n\
         [[stage.stage]]\nname = 'one'\nagent = 'worker'\n"
    );
    let items: Vec<String> =
        (0..n).map(|n| format!("{{ id = 'T{n}', title = 't', writes = ['p{n}'] }}")).collect();
    let scenario = format!(
        "scenario = 1\n[[play]]\nrole = 'planner'\nresult = {{ lists = {{ tasks = [{}] }} }}\n\
         [[play]]\nrole = 'worker'\nsay = ['at work']\nhang = true\n",
        items.join(", ")
    );
    let settings = format!("[limits]\nat_once = {n}\nbudget = \"none\"\n");
    let files = [
        (".forge/flows/many.toml", flow.as_str()),
        (".forge/roles/planner.md", "Plan."),
        (".forge/roles/worker.md", "Work."),
        ("scenario.toml", scenario.as_str()),
        ("forge.toml", settings.as_str()),
    ];
    bench.project("many", &files)
}

fn under_way(bench: &Bench, folder: &Path, driver: &Child, n: usize) -> Measured {
    let marker = folder.display().to_string();
    let began = Instant::now();
    let mut keepers = Vec::new();
    while keepers.len() < n && began.elapsed() < Duration::from_mins(2) {
        sleep(Duration::from_millis(100));
        keepers = processes("__keep", &marker);
    }
    let started = began.elapsed().as_secs_f64();
    if keepers.len() < n {
        return Err(format!("only {} of {n} agents came up", keepers.len()));
    }
    let compared = "256 at once were the limit at first";
    let what = format!("{n} agents under way, after");
    bench.figure(&what, started, Unit::Seconds, Bound::None, compared);
    // Until the last one has said something.
    sleep(bench.sized(Duration::from_millis(200), Duration::from_secs(3)));
    let all: Vec<u32> = keepers.iter().copied().chain([driver.id()]).collect();
    let spent = || all.iter().map(|pid| ticks(*pid)).sum::<u64>() * 10;
    let (before, watched) =
        (spent(), bench.sized(Duration::from_millis(300), Duration::from_secs(10)));
    sleep(watched);
    let idle = float(spent().saturating_sub(before)) / (watched.as_secs_f64() * 10.0);
    let resident = memory(driver.id(), "Rss:");
    let private =
        keepers.iter().map(|pid| memory(*pid, "Private_Clean:") + memory(*pid, "Private_Dirty:"));
    let private: Vec<u64> = private.collect();
    let largest = private.iter().max().copied().unwrap_or(0);
    if private.contains(&0) || resident == 0 {
        return Err("the memory of a process cannot be read".to_owned());
    }
    let mib = |kib: u64| float(kib) / 1024.0;
    let compared = format!("its keepers together: {:.0} MiB", mib(private.iter().sum()));
    bench.figure("driver, resident", mib(resident), Unit::Mib, Bound::AtMost(50.0), compared);
    let what = "a keeper, private memory (largest)";
    let smallest = private.iter().min().copied().unwrap_or(0);
    let compared = format!("the smallest: {:.1} MiB", mib(smallest));
    bench.figure(what, mib(largest), Unit::Mib, Bound::AtMost(1.0), compared);
    let compared = "of one core, while no agent says anything";
    bench.figure(
        "driver and keepers when idle",
        idle,
        Unit::Percent,
        Bound::AtMost(10.0),
        compared,
    );
    Ok(())
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
    let rest = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    let fields: Vec<u64> = rest.split_whitespace().map(|text| text.parse().unwrap_or(0)).collect();
    fields.get(11..13).map_or(0, |ticks| ticks.iter().sum())
}

fn memory(pid: u32, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.trim().trim_end_matches("kB").trim().parse().unwrap_or_default()
}
