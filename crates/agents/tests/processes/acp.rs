//! Agents that speak ACP, under a keeper: one that behaves, and many that do not.

use std::fs;
use std::path::Path;

use crate::world::{World, alive, ending, program, transcript, until_transcript_has};
use forge_agents::{
    AgentEnd, CodeAccess, Earlier, ErrorClass, Launch, Price, Session, StreamSummary, TokenCounts,
    TurnRequest, Use, read_transcript, registry,
};
use forge_keeper::{AttemptFolder, Ending, ExitReason, Spec, Stop};

/// What is asked of an agent.
struct Asked {
    mode: &'static str,
    access: CodeAccess,
    resume: Option<&'static str>,
    model: Option<&'static str>,
}

fn asked(mode: &'static str) -> Asked {
    Asked { mode, access: CodeAccess::Writes, resume: None, model: None }
}

fn spec(world: &World, asked: &Asked) -> Spec {
    let own = program().to_string_lossy().into_owned();
    let command = [own.clone(), "__peer".to_owned(), asked.mode.to_owned()];
    let nowhere = Path::new("/");
    let Launch { argv, stdout, stderr, .. } = registry::ACP.start(&TurnRequest {
        command: &command,
        model: asked.model,
        effort: None,
        thinking: None,
        session: asked.resume.map_or(Session::New("unused"), Session::Resume),
        access: asked.access,
        dir: nowhere,
        inbox: nowhere,
        outbox: nowhere,
        tmp: None,
        schema: None,
        cap_micros: None,
    });
    let brief = world.home.path().join("brief.md");
    fs::write(&brief, "do it now").unwrap();
    let words = registry::ACP.spoken_to_by().into_iter().map(str::to_owned);
    let argv = std::iter::once(own).chain(words).chain(argv).collect();
    Spec { argv, stdin: Some(brief), stdout, stderr, ..world.spec(&[]) }
}

struct Turn {
    world: World,
    folder: AttemptFolder,
    ending: Ending,
    summary: StreamSummary,
    end: AgentEnd,
}

fn judged(world: World, folder: AttemptFolder, ending: Ending) -> Turn {
    let printed = transcript(&folder);
    let summary = read_transcript(registry::ACP, printed.as_bytes(), &Earlier::default());
    let end = summary.end(Some(&ending.how), "");
    Turn { world, folder, ending, summary, end }
}

fn turn(asked: &Asked) -> Turn {
    let world = World::new();
    let folder = world.folder("attempt", &spec(&world, asked));
    fs::create_dir_all(folder.inbox()).unwrap();
    fs::write(folder.inbox().join("request.md"), "the request").unwrap();
    let ending = ending(&folder, &mut world.start(&folder));
    judged(world, folder, ending)
}

fn failed(turn: &Turn) -> (ErrorClass, &str) {
    match &turn.end {
        AgentEnd::Failed { class, what } => (*class, what),
        other => panic!("{other:?}: {}", transcript(&turn.folder)),
    }
}

#[test]
fn an_agent_does_its_turn_by_all_means_of_the_protocol() {
    let done = turn(&asked("good"));
    assert_eq!(done.end, AgentEnd::Done, "{}", transcript(&done.folder));
    assert_eq!(done.ending.how, ExitReason::Exited { code: 0 });
    assert_eq!(fs::read_to_string(done.world.work().join("made.txt")).unwrap(), "made\n");
    assert_eq!(
        fs::read_to_string(done.folder.outbox().join("seen.txt")).unwrap(),
        "42\nmade.txt\n"
    );
    let summary = done.summary;
    assert_eq!(summary.session.as_deref(), Some("s-1"));
    assert_eq!(summary.version.as_deref(), Some("7.1"));
    assert_eq!(summary.said_last.as_deref(), Some("I got 3 words. the request"));
    let used = Use {
        provider: "acp".to_owned(),
        model: "unknown".to_owned(),
        tokens: TokenCounts { input: 30, output: 4, ..TokenCounts::default() },
        cost: Price::Reported(500_000),
    };
    assert_eq!(summary.uses(), [used]);
    assert_eq!(summary.denied, [] as [&str; 0]);
}

#[test]
fn who_only_looks_may_not_write_code_and_it_is_said_what_was_refused() {
    let done = turn(&Asked { access: CodeAccess::Reads, ..asked("good") });
    assert_eq!(done.end, AgentEnd::Done);
    assert!(!done.world.work().join("made.txt").exists());
    assert_eq!(fs::read_to_string(done.folder.outbox().join("seen.txt")).unwrap(), "42\n");
    assert_eq!(done.summary.denied, ["edit: Write made.txt"]);
}

#[test]
fn a_session_goes_on_or_is_gone() {
    let done = turn(&Asked { resume: Some("s-1"), ..asked("good") });
    assert_eq!(done.end, AgentEnd::Done);
    assert_eq!(done.summary.session.as_deref(), Some("s-1"));
    let gone = turn(&Asked { resume: Some("s-2"), ..asked("good") });
    assert_eq!(gone.end, AgentEnd::SessionGone);
    assert_eq!(gone.summary.uses(), [], "nothing was asked of a model");
}

#[test]
fn what_is_wrong_before_the_prompt_costs_nothing_and_is_said() {
    for (mode, class, words) in [
        ("old", ErrorClass::Unusable, "speaks version 0 of the Agent Client Protocol"),
        ("rubbish", ErrorClass::Unusable, "this is not the Agent Client Protocol"),
        (
            "dies-1",
            ErrorClass::Unusable,
            "before it answered initialize: exit code 3\npeer: cannot go on",
        ),
        ("dies-2", ErrorClass::Unusable, "before it answered session/new"),
        ("login", ErrorClass::Auth, "Key (set PEER_KEY)"),
    ] {
        let turn = turn(&asked(mode));
        let (found, what) = failed(&turn);
        assert_eq!(found, class, "{mode}: {what}");
        assert!(what.contains(words), "{mode}: {what}");
        assert_eq!(turn.summary.uses(), [], "{mode}");
    }
    let turn = turn(&Asked { model: Some("large"), ..asked("good") });
    assert_eq!(failed(&turn).0, ErrorClass::NoModel);
    assert_eq!(turn.summary.uses(), []);
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let world = World::new();
    let mut spec = spec(&world, &asked("good"));
    let place = spec.argv.iter().position(|word| word == "--").unwrap() + 1;
    spec.argv[place] = "/nowhere/agent".to_owned();
    let (folder, ending) = world.run(&spec);
    let turn = judged(world, folder, ending);
    let (class, what) = failed(&turn);
    assert_eq!(class, ErrorClass::Unusable);
    assert!(what.starts_with("cannot run `/nowhere/agent`: "), "{what}");
}

#[test]
fn who_breaks_off_in_the_turn_is_told_by_how_and_has_an_unknown_price() {
    for (mode, class, words) in [
        ("dies-3", ErrorClass::Unknown, "before it answered session/prompt: exit code 3"),
        ("dies-4", ErrorClass::Unknown, "exit code 3"),
        ("dies-7", ErrorClass::Unknown, "exit code 3"),
        ("giant", ErrorClass::Tooling, "a message of more than"),
        ("deaf", ErrorClass::Tooling, "does not read what is sent to it"),
    ] {
        let turn = turn(&asked(mode));
        let (found, what) = failed(&turn);
        assert_eq!(found, class, "{mode}: {what}");
        assert!(what.contains(words), "{mode}: {what}");
        assert_eq!(turn.summary.uses()[0].cost, Price::Missing, "{mode}");
        assert_eq!(turn.ending.left_over, 0);
    }
}

#[test]
fn answers_that_come_twice_and_a_banner_change_nothing() {
    for mode in ["twice", "banner"] {
        let done = turn(&asked(mode));
        assert_eq!(done.end, AgentEnd::Done, "{mode}: {}", transcript(&done.folder));
        assert_eq!(done.summary.uses()[0].cost, Price::Reported(500_000));
    }
}

#[test]
fn nothing_outside_is_read_or_written_and_no_command_starts_there() {
    let done = turn(&asked("outside"));
    assert_eq!(done.end, AgentEnd::Done);
    assert_eq!(done.summary.said_last.as_deref(), Some("-32602 -32602 -32602 -32602 -32602"));
    assert!(!done.folder.inbox().join("x").exists());
    assert!(!done.world.home.path().join("x").exists());
}

#[test]
fn who_never_answers_is_stopped_by_the_limits_of_the_call() {
    for mode in ["mute-1", "mute-3"] {
        let world = World::new();
        let mut spec = spec(&world, &asked(mode));
        (spec.limits.silence_ms, spec.grace_ms) = (300, 10_000);
        let (_, ending) = world.run(&spec);
        assert_eq!(ending.how, ExitReason::Silent, "{mode}");
    }
}

#[test]
fn a_turn_that_is_stopped_is_cancelled_in_the_conversation() {
    let world = World::new();
    let folder = world.folder("attempt", &spec(&world, &asked("patient")));
    let mut keeper = world.start(&folder);
    until_transcript_has(&folder, "\"alive\"");
    alive(&folder).stop(Stop::Gently).unwrap();
    let ending = ending(&folder, &mut keeper);
    assert_eq!(ending.how, ExitReason::Interrupted);
    let turn = judged(world, folder, ending);
    assert_eq!(turn.end, AgentEnd::Interrupted);
    let printed = transcript(&turn.folder);
    assert!(printed.contains(r#""type":"ended","class":"stopped""#), "{printed}");
}
