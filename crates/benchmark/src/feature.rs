//! A `feature` at S with three tasks and scripted agents: what it starts, how often it waits for the disk, and what it costs.
//!
//! The demo beside it is one at M, of which two tasks are revised.

use std::process::Command;

use crate::measurement::{
    Bench, Bound, Measured, Unit, children_cpu, counted, float, in_ms, spend,
};

const SCENARIO: &str = include_str!("feature-scenario.toml");

pub(crate) fn measure(bench: &Bench) -> Measured {
    let files = [
        ("scenario.toml", SCENARIO),
        ("forge.toml", "[verify]\ncommands = [\"sh test.sh\"]\n"),
        ("test.sh", "for test in tests/*.sh; do sh $test || exit 1; done\n"),
        ("tests/one.sh", "test -e README.md\n"),
        ("README.md", "A project.\n"),
    ];
    let folder = bench.project("feature", &files)?;
    let words = [
        "run",
        "--effort",
        "S",
        "--auto",
        "--yes",
        "--scenario",
        "scenario.toml",
        "three small files",
    ];
    let run = || bench.forge(folder.path(), &words);
    let before = children_cpu();
    let wall = spend(&mut run(), 0)?;
    let cpu = children_cpu().saturating_sub(before);
    let what = |of: &str| format!("feature at S, three tasks, {of}");
    bench.figure(
        &what("wall"),
        wall.as_secs_f64(),
        Unit::Seconds,
        Bound::None,
        "no time of agents",
    );
    let compared = "driver, keepers, git, agents and checks together";
    bench.figure(&what("CPU"), cpu.as_secs_f64(), Unit::Seconds, Bound::AtMost(1.0), compared);
    let counted_run = counted(&run())?;
    let bound = Bound::AtMost(250.0);
    let compared = "883 before keepers, jobs and git were cut down";
    bench.figure(&what("processes"), float(counted_run.processes), Unit::Count, bound, compared);
    bench.figure(
        &what("syncs"),
        float(counted_run.syncs),
        Unit::Count,
        Bound::AtMost(200.0),
        "565 then",
    );
    let mut demo = Command::new(&bench.forge);
    demo.args(["demo", "--fast"]);
    let wall = spend(&mut demo, 0)?;
    bench.figure("the demo, wall", in_ms(wall), Unit::Ms, Bound::None, "1,830 ms then");
    let counted_demo = counted(&demo)?;
    bench.figure(
        "the demo, programs",
        float(counted_demo.programs),
        Unit::Count,
        Bound::None,
        "1,695 then",
    );
    bench.figure(
        "the demo, syncs",
        float(counted_demo.syncs),
        Unit::Count,
        Bound::None,
        "821 then",
    );
    Ok(())
}
