//! Keepers and their children, as real processes: how they end, and who is left.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::world::{
    DEADLINE, World, alive, ending, exited, is_alive, pid_in, program, transcript, until,
    until_transcript_has,
};
use forge_keeper::{
    AttemptFolder, AttemptStatus, CLAIM_LOST_EXIT, CallVariables, CallerFlaw, EndingProof,
    EndingSigner, ExitReason, Spec, Stdout, Stop, WaitingKeeper, check_caller, give_up,
    inside_attempt, look, start_knowing_keeper, sweep,
};

/// Says `ready`, and then sleeps through every gentle stop.
const IGNORES_TERM: &str = "trap '' TERM; echo ready; exec sleep 600";

#[test]
fn a_child_that_ends_well_leaves_an_ending_and_a_transcript() {
    let world = World::new();
    let (folder, ending) = world.run(&world.shell("echo out; echo err >&2; pwd; cat"));
    assert_eq!(ending.how, ExitReason::Exited { code: 0 });
    assert_eq!(ending.call, "build.T2/implement#3");
    let work = world.work();
    assert_eq!(transcript(&folder), format!("out\nerr\n{}\n", work.display()));
    assert_eq!(ending.output_bytes, transcript(&folder).len() as u64);
    assert_eq!((ending.swept, ending.transcript_cut), (0, None));
    assert!(ending.started_at_ms <= ending.ended_at_ms);
    let names: Vec<_> =
        fs::read_dir(&folder.path).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(
        names.len(),
        6,
        "nothing temporary is left, and nothing was complained of: {names:?}"
    );
}

#[test]
fn a_keeper_that_waits_for_its_step_touches_nothing_before_it_is_told() {
    let world = World::new();
    let folder = AttemptFolder::at(world.work().join("../next"));
    let start = || WaitingKeeper::start(&program(), &folder, &world.env).unwrap();
    let told = start();
    world.folder("next", &world.shell("echo late"));
    let mut keeper = told.begin(None, &[]);
    assert_eq!(ending(&folder, &mut keeper).how, ExitReason::Exited { code: 0 });
    assert_eq!(transcript(&folder), "late\n");
    fs::remove_dir_all(&folder.path).unwrap();
    // Its driver ends, and with it the pipe.
    let waiting = start();
    let pid = waiting.pid();
    assert!(waiting.is_for(&folder, &world.env) && !waiting.is_for(&folder, &[]));
    drop(waiting);
    until("it has ended", || (!is_alive(pid)).then_some(()));
    assert!(!folder.path.exists());
}

#[test]
fn an_exit_code_and_a_signal_are_told() {
    let world = World::new();
    assert_eq!(world.run(&world.shell("exit 3")).1.how, ExitReason::Exited { code: 3 });
    let world = World::new();
    assert_eq!(world.run(&world.shell("kill -9 $$")).1.how, ExitReason::Signalled { signal: 9 });
}

#[test]
fn the_child_gets_its_input_its_marks_and_exactly_the_given_environment() {
    let world = World::new().with_env("GIVEN", "yes");
    let mut spec = world.shell("cat; env; ulimit -c");
    let input = world.home.path().join("brief.md");
    fs::write(&input, "the brief\n").unwrap();
    spec.stdin = Some(input);
    let (folder, _) = world.run(&spec);
    let transcript = transcript(&folder);
    let path = folder.path.display();
    for line in [
        "the brief".to_owned(),
        "GIVEN=yes".to_owned(),
        format!("FORGE_ATTEMPT_DIR={path}"),
        format!("FORGE_INBOX={path}/inbox"),
        format!("FORGE_OUTBOX={path}/outbox"),
        "FORGE_CALL=build.T2/implement#3".to_owned(),
        "0".to_owned(),
    ] {
        assert!(transcript.lines().any(|there| there == line), "no {line} in {transcript}");
    }
    assert!(!transcript.contains("CARGO"), "the environment of the test leaked: {transcript}");
}

#[test]
fn what_cannot_start_is_told_with_its_reason() {
    let world = World::new();
    let why = |name: &str, change: &dyn Fn(&mut Spec)| {
        let mut spec = world.shell("true");
        change(&mut spec);
        let folder = world.folder(name, &spec);
        let ending = ending(&folder, &mut world.start(&folder));
        match ending.how {
            ExitReason::NotStarted { why } => why,
            other => panic!("{other:?}"),
        }
    };
    let program =
        |program: &'static str| move |spec: &mut Spec| spec.argv = vec![program.to_owned()];
    assert_eq!(why("1", &program("no-such-program")), "program `no-such-program` not found");
    assert_eq!(why("2", &program("/no/such")), "program `/no/such` not found");
    assert_eq!(why("3", &program("/etc/passwd")), "program `/etc/passwd` is not executable");
    assert_eq!(why("4", &|spec| spec.argv.clear()), "no program to run");
    let missing = why("5", &|spec| spec.dir = "/no/such/folder".into());
    assert_eq!(missing, "the working directory `/no/such/folder` does not exist");
    let missing = why("6", &|spec| spec.stdin = Some("/no/input".into()));
    assert!(missing.starts_with("cannot open its input `/no/input`"), "{missing}");
    let folder = world.folder("7", &world.shell("true"));
    fs::write(folder.attempt(), "{").unwrap();
    let ending = ending(&folder, &mut world.start(&folder));
    assert!(matches!(ending.how, ExitReason::NotStarted { why } if why.contains("attempt.json")));
}

#[test]
fn the_wall_limit_ends_a_child_that_talks_on() {
    let world = World::new();
    let mut spec = world.shell("while :; do echo tick; sleep 0.02; done");
    spec.limits.wall_ms = 300;
    spec.limits.silence_ms = 5_000;
    assert_eq!(world.run(&spec).1.how, ExitReason::TimedOut);
}

#[test]
fn the_silence_limit_ends_a_child_that_says_nothing() {
    let world = World::new();
    let mut spec = world.shell("echo a; exec sleep 600");
    spec.limits.silence_ms = 300;
    let (folder, ending) = world.run(&spec);
    assert_eq!(ending.how, ExitReason::Silent);
    assert_eq!(transcript(&folder), "a\n");
}

#[test]
fn the_output_limit_ends_a_child_and_bounds_the_transcript() {
    for stdout in [Stdout::Pipe, Stdout::UnnamedFile] {
        let world = World::new();
        let mut spec = world.spec(&["yes"]);
        spec.limits.output_bytes = 1_000_001;
        spec.stdout = stdout;
        let (folder, ending) = world.run(&spec);
        assert_eq!((ending.how, ending.output_bytes), (ExitReason::TooMuchOutput, 1_000_001));
        assert_eq!(fs::metadata(folder.transcript()).unwrap().len(), 1_000_001);
    }
}

#[test]
fn a_short_burst_over_the_limit_is_too_much_even_if_the_child_has_ended() {
    let world = World::new();
    let mut spec = world.shell("echo 123456789");
    spec.limits.output_bytes = 5;
    let (folder, ending) = world.run(&spec);
    assert_eq!((ending.how, ending.output_bytes), (ExitReason::TooMuchOutput, 5));
    assert_eq!(transcript(&folder), "12345");
}

#[test]
fn huge_output_without_a_limit_arrives_whole() {
    let world = World::new();
    let (folder, ending) = world.run(&world.shell("head -c 20000000 /dev/zero | tr '\\0' x; echo"));
    assert_eq!(ending.how, ExitReason::Exited { code: 0 });
    assert_eq!(fs::metadata(folder.transcript()).unwrap().len(), ending.output_bytes);
    assert!(ending.output_bytes > 20_000_000);
}

#[test]
fn an_unnamed_file_takes_output_and_errors_in_their_order() {
    let world = World::new();
    let mut spec = world.shell("echo one; echo two >&2; test -f /dev/stdout && echo file");
    spec.stdout = Stdout::UnnamedFile;
    let (folder, ending) = world.run(&spec);
    assert_eq!(ending.how, ExitReason::Exited { code: 0 });
    assert_eq!(transcript(&folder), "one\ntwo\nfile\n");
}

#[test]
fn an_unnamed_file_is_followed_while_it_grows() {
    let world = World::new();
    let mut spec = world.shell("echo early; while ! [ -e go ]; do sleep 0.01; done; echo late");
    spec.stdout = Stdout::UnnamedFile;
    let folder = world.folder("attempt", &spec);
    let mut keeper = world.start(&folder);
    until_transcript_has(&folder, "early\n");
    fs::write(world.work().join("go"), "").unwrap();
    ending(&folder, &mut keeper);
    assert_eq!(transcript(&folder), "early\nlate\n");
}

#[test]
fn a_gentle_stop_lets_the_child_clean_up_and_is_an_interruption() {
    let world = World::new();
    let spec =
        world.shell("trap 'echo cleaned; exit 0' TERM; echo ready; while :; do sleep 0.01; done");
    let folder = world.folder("attempt", &spec);
    let mut keeper = world.start(&folder);
    until_transcript_has(&folder, "ready");
    alive(&folder).stop(Stop::Gently).unwrap();
    assert_eq!(ending(&folder, &mut keeper).how, ExitReason::Interrupted);
    assert!(transcript(&folder).contains("cleaned"));
}

#[test]
fn a_child_that_ignores_a_gentle_stop_is_killed_after_its_grace() {
    let world = World::new();
    let mut spec = world.shell(IGNORES_TERM);
    spec.grace_ms = 400;
    let folder = world.folder("attempt", &spec);
    let mut keeper = world.start(&folder);
    until_transcript_has(&folder, "ready");
    let asked = Instant::now();
    alive(&folder).stop(Stop::Gently).unwrap();
    assert_eq!(ending(&folder, &mut keeper).how, ExitReason::Interrupted);
    assert!(asked.elapsed() >= Duration::from_millis(400));
}

#[test]
fn a_stop_at_once_waits_for_no_grace_also_after_a_gentle_one() {
    for stops in [&[Stop::AtOnce][..], &[Stop::Gently, Stop::AtOnce]] {
        let world = World::new();
        let spec = world.shell(IGNORES_TERM);
        let folder = world.folder("attempt", &spec);
        let mut keeper = world.start(&folder);
        until_transcript_has(&folder, "ready");
        let asked = Instant::now();
        for stop in stops {
            alive(&folder).stop(*stop).unwrap();
        }
        assert_eq!(ending(&folder, &mut keeper).how, ExitReason::Interrupted);
        assert!(asked.elapsed() < Duration::from_millis(spec.grace_ms / 2));
    }
}

#[test]
fn a_stop_that_comes_before_the_child_is_not_lost() {
    let world = World::new();
    let folder = world.folder("attempt", &world.shell("exec sleep 600"));
    let mut keeper = world.start(&folder);
    // The claim is there a moment before the child is.
    alive(&folder).stop(Stop::Gently).unwrap();
    assert_eq!(ending(&folder, &mut keeper).how, ExitReason::Interrupted);
}

#[test]
fn detached_grandchildren_are_dead_when_the_ending_is_there() {
    let world = World::new();
    let script = "setsid sh -c 'sleep 600; :' & nohup sleep 600 & (sleep 600 &) &";
    let (folder, ending) = world.run(&world.shell(script));
    assert_eq!(ending.how, ExitReason::Exited { code: 0 });
    assert!(ending.swept >= 3, "{ending:?}");
    assert_eq!(sweep(&folder.path).unwrap().killed, 0);
}

#[test]
fn a_grandchild_that_wipes_its_environment_dies_too() {
    let world = World::new();
    let script =
        "env -i setsid sh -c 'echo $$ > pid; exec sleep 600' & while ! [ -s pid ]; do :; done";
    let (_, ending) = world.run(&world.shell(script));
    assert_eq!(ending.swept, 1);
    assert!(!is_alive(pid_in(&world.work().join("pid"))));
}

#[test]
fn a_killed_keeper_takes_its_agent_along_and_the_rest_is_swept() {
    let world = World::new();
    let script = "setsid sh -c 'echo $$ > left; exec sleep 600' & echo $$ > main; exec sleep 600";
    let folder = world.folder("attempt", &world.shell(script));
    let mut keeper = world.start(&folder);
    let (main, left) = (pid_in(&world.work().join("main")), pid_in(&world.work().join("left")));
    keeper.kill().unwrap();
    exited(&mut keeper);
    assert!(matches!(look(&folder, &EndingProof::NotNeeded).unwrap(), AttemptStatus::Dead));
    assert!(matches!(give_up(&folder, &EndingProof::NotNeeded).unwrap(), AttemptStatus::Dead));
    until("the agent is gone", || (!is_alive(main)).then_some(()));
    assert!(is_alive(left));
    assert_eq!(sweep(&world.home.path().join("attempt2")).unwrap().killed, 0, "another's marker");
    assert!(is_alive(left));
    assert_eq!(sweep(&folder.path).unwrap().killed, 1);
    assert!(!is_alive(left));
    assert_eq!(sweep(&folder.path).unwrap().killed, 0);
}

#[test]
fn a_sweep_spares_the_caller_and_its_ancestors() {
    let world = World::new();
    let script = "sleep 600 & {} sweep \"$FORGE_ATTEMPT_DIR\"; echo survived";
    let (folder, ending) =
        world.run(&world.shell(&script.replace("{}", program().to_str().unwrap())));
    assert_eq!(ending.how, ExitReason::Exited { code: 0 });
    assert_eq!(transcript(&folder), "killed: 1\nsurvived\n");
}

#[test]
fn an_ending_does_not_need_the_driver_and_is_the_same_for_everybody_who_looks() {
    let world = World::new();
    let folder = world.folder("attempt", &world.shell("while ! [ -e go ]; do sleep 0.01; done"));
    let mut keeper = world.start(&folder);
    let followed = alive(&folder);
    let hangup = Command::new("kill").args(["-HUP", &keeper.id().to_string()]).status().unwrap();
    assert!(hangup.success());
    let end = &mut [PollFd::from_borrowed_fd(followed.as_fd().unwrap(), PollFlags::IN)];
    assert_eq!(poll(end, Some(&Timespec::default())).unwrap(), 0, "it is still running");
    fs::write(world.work().join("go"), "").unwrap();
    assert_eq!(poll(end, Some(&Timespec::try_from(DEADLINE).unwrap())).unwrap(), 1);
    let first = ending(&folder, &mut keeper);
    assert_eq!(first.how, ExitReason::Exited { code: 0 });
    assert_eq!(followed.stop(Stop::Gently).unwrap_err().raw_os_error(), Some(3), "it is gone");
    assert!(
        matches!(look(&folder, &EndingProof::NotNeeded).unwrap(), AttemptStatus::Ended(second) if second == first)
    );
    assert!(
        matches!(give_up(&folder, &EndingProof::NotNeeded).unwrap(), AttemptStatus::Ended(third) if third == first)
    );
    let mut late = world.start(&folder);
    assert_eq!(exited(&mut late).code(), Some(i32::from(CLAIM_LOST_EXIT)));
}

#[test]
fn of_many_keepers_exactly_one_runs_the_child() {
    for _ in 0..5 {
        let world = World::new();
        let folder = world.folder("attempt", &world.shell("echo ran >> ran"));
        let mut keepers: Vec<_> = (0..12).map(|_| world.start(&folder)).collect();
        let codes: Vec<_> = keepers.iter_mut().map(|keeper| exited(keeper).code()).collect();
        assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
        let lost = Some(i32::from(CLAIM_LOST_EXIT));
        assert_eq!(codes.iter().filter(|code| **code == lost).count(), 11, "{codes:?}");
        assert_eq!(fs::read_to_string(world.work().join("ran")).unwrap(), "ran\n");
    }
}

#[test]
fn either_the_keeper_or_the_one_who_gives_up_wins() {
    let mut voids = 0;
    for round in 0..40 {
        let world = World::new();
        let folder = world.folder("attempt", &world.shell("echo ran >> ran"));
        let mut keeper = world.start(&folder);
        // Spread over the time in which a keeper comes up.
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_micros(round * 100) {
            thread::yield_now();
        }
        let standing = give_up(&folder, &EndingProof::NotNeeded).unwrap();
        let code = exited(&mut keeper).code();
        let has_run = world.work().join("ran").exists();
        match standing {
            AttemptStatus::Void => {
                voids += 1;
                assert_eq!((code, has_run), (Some(i32::from(CLAIM_LOST_EXIT)), false));
                assert!(matches!(
                    look(&folder, &EndingProof::NotNeeded).unwrap(),
                    AttemptStatus::Void
                ));
            }
            AttemptStatus::Alive(_) | AttemptStatus::Ended(_) => {
                assert_eq!((code, has_run), (Some(0), true));
            }
            AttemptStatus::Unclaimed | AttemptStatus::Dead => panic!("{standing:?}"),
        }
    }
    println!("given up {voids} times of 40");
}

#[test]
fn secrets_are_in_no_file_of_the_folder_however_they_are_printed() {
    let secret = "hunter2-hunter2";
    let world = World::new().with_env("MY_TOKEN", secret).with_env("NAMED", "open sesame");
    let script = "env; echo \"again $MY_TOKEN $NAMED\" >&2; printf 'before\\nhunter2-'
        while ! [ -e go ]; do sleep 0.01; done; printf 'hunter2 after\\n'";
    let mut spec = world.shell(script);
    // The script names half of it; the attempt.json must not hold it whole either.
    spec.secrets = vec!["NAMED".to_owned()];
    let folder = world.folder("attempt", &spec);
    let mut keeper = world.start(&folder);
    until_transcript_has(&folder, "before\n");
    fs::write(world.work().join("go"), "").unwrap();
    ending(&folder, &mut keeper);
    let transcript = transcript(&folder);
    assert!(transcript.contains("MY_TOKEN=[redacted]\n"), "{transcript}");
    assert!(transcript.contains("again [redacted] [redacted]\n"), "{transcript}");
    assert!(transcript.ends_with("before\n[redacted] after\n"), "{transcript}");
    for entry in fs::read_dir(&folder.path).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read(&path).unwrap_or_default();
        for value in [secret, "open sesame"] {
            assert!(
                !text.windows(value.len()).any(|part| part == value.as_bytes()),
                "{}",
                path.display()
            );
        }
    }
}

#[test]
fn an_agent_is_inside_its_attempt_even_if_it_wipes_its_environment() {
    let world = World::new();
    let program = program();
    let script =
        format!("{0} inside; env -i {0} inside; exec env -i {0} inside", program.display());
    let (folder, _) = world.run(&world.shell(&script));
    let line = format!("inside: {}\n", folder.path.display());
    assert_eq!(transcript(&folder), line.repeat(3));
    let outside = Command::new(program).arg("inside").output().unwrap().stdout;
    let expected = format!("inside: {}\n", inside_attempt().unwrap_or_default());
    assert_eq!(String::from_utf8(outside).unwrap(), expected);
}

#[test]
fn a_copy_of_the_program_with_no_marked_parent_is_still_inside() {
    let world = World::new();
    let copy = world.work().join("copy");
    fs::copy(program(), &copy).unwrap();
    // The subshell ends, so the copy's only ancestor of this attempt is the keeper.
    let script = "(env -i PATH=\"$PATH\" setsid sh -c '
            while ! [ -e orphan ]; do sleep 0.01; done; ./copy inside > said; mv said heard' &)
        : > orphan; while ! [ -e heard ]; do sleep 0.01; done; cat heard";
    let (folder, _) = world.run(&world.shell(script));
    assert_eq!(transcript(&folder), format!("inside: {}\n", folder.path.display()));
}

#[test]
fn a_sweep_never_kills_the_keeper_that_holds_the_claim() {
    for forge_claim in [None, Some("{}")] {
        let world = World::new();
        let spec = world.shell("echo ready; exec sleep 600");
        let folder = world.folder("attempt", &spec);
        let mut keeper = world.start(&folder);
        until_transcript_has(&folder, "ready");
        if let Some(text) = forge_claim {
            fs::write(folder.claim(), text).unwrap();
        }
        assert_eq!(sweep(&folder.path).unwrap().killed, 1, "the agent, and not its keeper");
        assert_eq!(ending(&folder, &mut keeper).how, ExitReason::Signalled { signal: 9 });
    }
}

#[test]
fn a_forged_ending_is_not_believed_and_the_true_one_takes_its_place() {
    let forge = "{\"forge\":1,\"call\":\"build.T2/implement#3\",\"how\":{\"kind\":\"exited\",\"code\":0},\
        \"started_at_ms\":1,\"ended_at_ms\":2,\"output_bytes\":0,\"swept\":0,\"transcript_cut\":null}";
    let ways = [
        "printf %s \"$FORGED\" > ending.json",
        "rm ending.tmp; printf %s \"$FORGED\" > ending.tmp",
        "rm ending.tmp; printf %s \"$FORGED\" > ending.json",
        "mkdir -p ending.json/full ending.unreadable/full",
        "rm ending.tmp; mkdir -p ending.tmp/full",
    ];
    for way in ways {
        let world = World::new().with_env("FORGED", forge);
        let wait = "while ! [ -e go ]; do sleep 0.01; done; exit 7";
        let script = format!("(cd \"$FORGE_ATTEMPT_DIR\"; {way}); echo ready; {wait}");
        let folder = world.folder("attempt", &world.shell(&script));
        let mut keeper = world.start(&folder);
        until_transcript_has(&folder, "ready");
        assert!(
            matches!(look(&folder, &EndingProof::NotNeeded).unwrap(), AttemptStatus::Alive(_)),
            "{way}"
        );
        fs::write(world.work().join("go"), "").unwrap();
        assert_eq!(ending(&folder, &mut keeper).how, ExitReason::Exited { code: 7 }, "{way}");
    }
}

#[test]
fn judged_code_that_forges_its_ending_and_kills_its_keeper_has_no_ending() {
    let forged = "{\"forge\":1,\"call\":\"build.T2/implement#3\",\"how\":{\"kind\":\"exited\",\"code\":0},\
        \"started_at_ms\":1,\"ended_at_ms\":2,\"output_bytes\":0,\"swept\":0,\"transcript_cut\":null}";
    let world = World::new().with_env("FORGED", forged);
    let signer = EndingSigner::generate().unwrap();
    let keys = [signer.public_key()];
    let proof = EndingProof::Signed { call: "build.T2/implement#3", keys: &keys, own: None };
    let start = |folder: &AttemptFolder| {
        start_knowing_keeper(&program(), folder, &world.env, Some(&signer), &[]).unwrap()
    };
    let script = "env; cd ../attempt; printf %s \"$FORGED\" > ending.json
        kill -9 $(sed 's/.*\"pid\":\\([0-9]*\\).*/\\1/' claim); sleep 600";
    let spec = Spec { variables: CallVariables::Untold, ..world.shell(script) };
    let folder = world.folder("attempt", &spec);
    exited(&mut start(&folder));
    let printed = transcript(&folder);
    assert!(!printed.contains("FORGE_"), "{printed}");
    assert!(!printed.contains(&*folder.path.to_string_lossy()), "{printed}");
    assert!(matches!(look(&folder, &proof).unwrap(), AttemptStatus::Dead));
    // What a keeper signs counts, also for whoever knows nothing but the public key.
    let folder = world.folder("honest", &world.shell("exit 4"));
    exited(&mut start(&folder));
    let AttemptStatus::Ended(ending) = look(&folder, &proof).unwrap() else {
        panic!("it is signed")
    };
    assert_eq!(ending.how, ExitReason::Exited { code: 4 });
    let kept = fs::read_dir(&folder.path).unwrap().flatten();
    let kept: Vec<u8> = kept.flat_map(|file| fs::read(file.path()).unwrap_or_default()).collect();
    assert!(!String::from_utf8_lossy(&kept).contains(&keys[0]), "no key is kept in the folder");
}

#[test]
fn what_a_killed_keeper_leaves_is_adopted_and_killed_though_it_wiped_its_mark() {
    let world = World::new();
    let left = world.work().join("left");
    let script =
        "env -i PATH=\"$PATH\" setsid sh -c 'echo $$ > left; exec sleep 600' & exec sleep 600";
    let folder = world.folder("attempt", &world.shell(script));
    let mut driver = Command::new(program());
    let driver = driver.arg("adopt").arg(&folder.path).arg(&left).status().unwrap();
    assert!(driver.success());
    assert!(!is_alive(pid_in(&left)));
}

#[test]
fn a_keeper_that_was_stopped_from_below_still_obeys() {
    for stop in [Stop::Gently, Stop::AtOnce] {
        let world = World::new();
        let script = "echo ready; kill -STOP $PPID; exec sleep 600";
        let folder = world.folder("attempt", &world.shell(script));
        let mut keeper = world.start(&folder);
        until("it is stopped", || {
            let stat = fs::read_to_string(format!("/proc/{}/stat", keeper.id())).ok()?;
            stat.rsplit_once(") ")?.1.starts_with('T').then_some(())
        });
        alive(&folder).stop(stop).unwrap();
        assert_eq!(ending(&folder, &mut keeper).how, ExitReason::Interrupted);
    }
}

#[test]
fn a_process_that_hides_in_namespaces_of_its_own_gives_no_commands() {
    for way in ["unshare -r", "unshare -rpf", "unshare -rpf --mount-proc"] {
        let may = Command::new("sh").args(["-c", &format!("{way} true")]).output();
        if !may.is_ok_and(|may| may.status.success()) {
            // Past the test's own capture, so that it is always seen.
            std::io::stderr()
                .write_all(format!("NOT PROVED: `{way}` is not allowed here\n").as_bytes())
                .unwrap();
            continue;
        }
        let mut hidden = Command::new("sh");
        hidden.args(["-c", &format!("exec {way} cat")]).stdin(Stdio::piped());
        let mut hidden = hidden.spawn().unwrap();
        let found = |flaw: &dyn Fn(i32) -> bool| {
            let pids = fs::read_dir("/proc").unwrap().flatten();
            let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
            pids.into_iter().find(|pid| flaw(*pid))
        };
        let is_cat = |pid: i32| {
            let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let parent = format!(" {} ", hidden.id());
            command == b"cat\0" && (pid == hidden.id().cast_signed() || status.contains(&parent))
        };
        let pid = until("it is there", || found(&is_cat));
        let flaw = check_caller(pid, &[]).unwrap_err();
        assert!(matches!(flaw, CallerFlaw::OtherNamespace { .. }), "{way}: {flaw}");
        drop(hidden.stdin.take());
        exited(&mut hidden);
    }
}

#[test]
fn secrets_are_neither_in_the_reason_nor_in_the_log() {
    let world =
        World::new().with_env("NAMED", "open sesame").with_env("A_TOKEN", "hunter2-hunter2");
    let mut spec = world.spec(&["no-open sesame-and-hunter2-hunter2"]);
    spec.secrets = vec!["NAMED".to_owned()];
    let (_, ending) = world.run(&spec);
    let why = "program `no-[redacted]-and-[redacted]` not found".to_owned();
    assert_eq!(ending.how, ExitReason::NotStarted { why });
    let mut spec = world.spec(&[&format!("{}hunter2-hunter2", "x".repeat(1_980))]);
    spec.call = "cut#1".to_owned();
    let folder = world.folder("cut", &spec);
    let ending = crate::world::ending(&folder, &mut world.start(&folder));
    let ExitReason::NotStarted { why } = ending.how else { panic!("{ending:?}") };
    assert!(!why.contains("hunter2"), "half a secret is left: {why}");
    // What the keeper complains about goes the same way.
    let mut panicking = Command::new(program());
    panicking.arg("panic").arg(world.home.path().join("pid")).env("A_TOKEN", "promise was broken");
    let said = String::from_utf8(panicking.output().unwrap().stderr).unwrap();
    assert!(said.contains("a [redacted]") && !said.contains("broken"), "{said}");
}

#[test]
fn a_keeper_that_panics_says_so_and_leaves_no_child_alive() {
    let world = World::new();
    let file = world.home.path().join("pid");
    let output = Command::new(program()).arg("panic").arg(&file).output().unwrap();
    assert_eq!(output.status.code(), Some(70));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("a promise was broken") && said.contains("the keeper panicked"),
        "{said}"
    );
    assert!(!is_alive(fs::read_to_string(file).unwrap().parse().unwrap()));
}

#[test]
fn a_keeper_stays_small() {
    let world = World::new().with_env("A_TOKEN", &"0123456789abcdef".repeat(64));
    let script = "yes xxxxxxxxxxxxxxxx | head -c 3000000; echo ready; exec sleep 600";
    let folder = world.folder("attempt", &world.shell(script));
    let mut keeper = world.start(&folder);
    until("all of it is there", || {
        (fs::metadata(folder.transcript()).ok()?.len() > 3_000_000).then_some(())
    });
    let memory = fs::read_to_string(format!("/proc/{}/smaps_rollup", keeper.id())).unwrap();
    let private = memory.lines().find_map(|line| line.strip_prefix("Private_Dirty:")).unwrap();
    let kibibytes: u64 = private.trim().strip_suffix(" kB").unwrap().parse().unwrap();
    println!("private: {kibibytes} KiB");
    assert!(kibibytes < 3 * 1024, "{memory}");
    alive(&folder).stop(Stop::AtOnce).unwrap();
    ending(&folder, &mut keeper);
}

#[test]
fn a_folder_that_is_not_there_is_an_exit_code_and_not_a_guess() {
    let output = Command::new(program()).args(["__keep", "/no/such/folder"]).output().unwrap();
    assert_eq!(output.status.code(), Some(70));
    assert!(String::from_utf8(output.stderr).unwrap().contains("keeper: "));
}
