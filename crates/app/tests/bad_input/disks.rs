//! Disks that are full, and disks that cannot be written. They are mounted for the test, which
//! takes a superuser; without one, the tests say loudly that they proved nothing.

use std::{
    fs,
    io::{self, Write as _},
    path::PathBuf,
    process::Command,
};

use super::world::{CONTENT, DONE, WAITS, WRONG, World, has};

/// A small disk on the folder of a world, until it is dropped.
struct Disk {
    on: PathBuf,
}

impl Disk {
    fn mount(world: &World, mib: u32) -> Option<Self> {
        let on = world.repo.clone();
        let size = format!("size={mib}m");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&on).status();
        if !mounted.is_ok_and(|status| status.success()) {
            // Past the test's own capture, so that it is always seen.
            let written = writeln!(io::stderr(), "NOT PROVED: no small disk can be mounted here");
            written.unwrap();
            return None;
        }
        world.make_repository();
        Some(Self { on })
    }

    fn remount(&self, how: &str) {
        let status =
            Command::new("mount").args(["-o", &format!("remount,{how}")]).arg(&self.on).status();
        assert!(status.unwrap().success());
    }

    /// Leaves so many bytes free.
    fn fill(&self, leave: u64) -> PathBuf {
        let filler = self.on.join("filler");
        let free = rustix::fs::statvfs(&self.on).unwrap();
        let bytes = (free.f_bfree * free.f_frsize).saturating_sub(leave);
        fs::write(&filler, vec![0_u8; usize::try_from(bytes).unwrap()]).unwrap();
        filler
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.on).status();
    }
}

#[test]
fn a_full_disk_loses_nothing_that_was_journaled_and_resume_finishes_when_there_is_space() {
    let world = World::new();
    let Some(disk) = Disk::mount(&world, 4) else { return };
    world.scenario(CONTENT);
    let said = world.forge(&["run", "do it"]);
    assert_eq!(said.code, WAITS, "{said}");
    let run = world.latest();
    let mut refusals = 0;
    for leave in [0, 4096, 8192, 16384, 32768, 65536] {
        let filler = disk.fill(leave);
        let question = world.view(&run)["asked"][0]["question"].as_str().map(str::to_owned);
        let before = world.records(&run);
        let args = match &question {
            Some(question) => vec!["answer", &run, question, "revise", "again"],
            None => vec!["resume", &run],
        };
        for args in [args, vec!["resume", &run]] {
            let said = world.forge(&args);
            if said.code == WRONG {
                refusals += 1;
                let error = said.err.to_lowercase();
                assert!(
                    error.contains("full") || error.contains("no space"),
                    "{leave} bytes left, {args:?}: {said}"
                );
                has(&said.err, &["free some space", "help: "]);
            }
        }
        assert!(world.records(&run) >= before, "nothing that was journaled is lost");
        // Looking works on a full disk.
        world.ok(&["status"]);
        world.ok(&["status", &run]);
        world.ok(&["log", &run]);
        fs::remove_file(filler).unwrap();
        let said = world.forge(&["resume", &run]);
        assert_eq!(said.code, WAITS, "after {leave} bytes: {said}");
    }
    assert!(refusals > 0, "the disk was full at least once");
    let view = world.view(&run);
    let question = view["asked"][0]["question"].as_str().unwrap().to_owned();
    world.ok(&["answer", &run, &question, "approve"]);
    assert_eq!(world.view(&run)["standing"], "done");
    world.ok(&["doctor"]);
}

#[test]
fn a_disk_that_fills_up_while_an_agent_works_stops_the_driver_and_nothing_else() {
    let world = World::new();
    let Some(disk) = Disk::mount(&world, 4) else { return };
    let fills = format!(
        "role = \"writer\"\nrun = \"test -e {0} || head -c 100000000 /dev/zero > {0} || true\"",
        disk.on.join("filler").display()
    );
    world.scenario(&CONTENT.replacen("role = \"writer\"", &fills, 1));
    let said = world.forge(&["run", "--auto", "do it"]);
    let ids = world.ids();
    assert_eq!(ids.len(), 1);
    let before = world.records(&ids[0]);
    assert_eq!(said.code, WRONG, "a full disk is neither a bug nor a question: {said}");
    has(&said.err, &["free some space", "help: "]);
    // Its keeper says so as well: whoever reads the ending may find room again.
    let ending = fs::read_to_string(world.attempt(&ids[0], "write#1").join("ending.json")).unwrap();
    assert!(ending.contains("\"disk_full\":true"), "{ending}");
    fs::write(disk.on.join("filler"), "").unwrap();
    assert!(world.records(&ids[0]) >= before);
    let said = world.forge(&["resume", &ids[0]]);
    assert_eq!(said.code, DONE, "nobody is asked: {said}");
    let facts = world.facts(&ids[0]);
    assert!(facts.iter().all(|fact| fact.get("question_asked").is_none()), "{facts:#?}");
    world.ok(&["doctor"]);
}

#[test]
fn a_run_that_cannot_begin_on_a_full_disk_leaves_no_run_behind() {
    let world = World::new();
    let Some(disk) = Disk::mount(&world, 2) else { return };
    world.scenario(CONTENT);
    world.commit();
    for leave in [0, 4096, 20480, 40960, 65536, 98304] {
        let filler = disk.fill(leave);
        let said = world.forge(&["run", "--auto", "do it"]);
        if said.code == WRONG {
            has(&said.err, &["free some space"]);
        }
        assert_ne!(said.code, 70, "{said}");
        fs::remove_file(filler).unwrap();
        let shown = world.forge(&["status"]);
        assert_eq!(shown.code, DONE, "after {leave} bytes: {shown}");
    }
    assert_eq!(world.forge(&["run", "--auto", "do it"]).code, DONE);
    world.ok(&["doctor"]);
}

#[test]
fn on_a_disk_that_cannot_be_written_one_can_look_and_is_told_what_to_do_for_more() {
    let world = World::new();
    let Some(disk) = Disk::mount(&world, 4) else { return };
    world.scenario(CONTENT);
    assert_eq!(world.forge(&["run", "do it"]).code, WAITS);
    let run = world.latest();
    disk.remount("ro");
    has(&world.ok(&["status"]), &["needs you"]);
    has(&world.ok(&["status", &run]), &["Is this the document you want?"]);
    has(&world.ok(&["log", &run]), &["Q1 asks"]);
    has(&world.ok(&["doctor"]), &["the journal is intact"]);
    for args in [
        vec!["run", "more of it"],
        vec!["resume", &run],
        vec!["answer", &run, "Q1", "approve"],
        vec!["pause", &run],
        vec!["doctor", "--rebuild"],
    ] {
        let said = world.refused(&args);
        has(&said, &["error: ", "writ", "help: make the folder writable"]);
    }
    disk.remount("rw");
    world.ok(&["answer", &run, "Q1", "approve"]);
    assert_eq!(world.view(&run)["standing"], "done");
}
