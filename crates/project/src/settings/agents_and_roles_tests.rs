//! Who plays: what is refused, what is asked about, where a program lies, and what a run keeps.

use std::path::PathBuf;

use forge_agents::{AgentKind, registry};
use forge_core::event::Blob;

use super::*;
use crate::Error;

#[expect(clippy::unnecessary_wraps, reason = "a layer may be missing, and here it never is")]
fn file(name: &str, text: &str) -> Option<SourceFile> {
    Some(SourceFile { name: name.to_owned(), text: text.to_owned() })
}

fn repo(text: &str) -> Sources {
    Sources { repo: file(FILE, text), ..Sources::default() }
}

fn read(text: &str) -> Result<Settings, Error> {
    Settings::from_sources(&repo(text))
}

fn variable(name: &str, value: &str) -> Vec<(String, String)> {
    vec![(name.to_owned(), value.to_owned())]
}

const MINE: &str =
    "[agents.mine]\ncommand = [\"./tools/agent.sh\", \"--fast\"]\npass = [\"MY_KEY\"]\n";

#[test]
fn whoever_is_named_is_there_and_can_be_started_or_it_is_said_who_is_near() {
    for (text, expected, next) in [
        (
            "agent = \"cloude\"",
            "line 1: unknown agent `cloude`; did you mean `claude`?",
            "forge agents",
        ),
        ("agent = \"zzzzzzzzzzzz\"", "line 1: unknown agent `zzzzzzzzzzzz`", "forge agents"),
        (
            "\n[roles.reviewer]\nagent = \"scriptd\"",
            "line 3: unknown agent `scriptd`; did you mean `scripted`?",
            "forge agents",
        ),
        (
            "agent = \"mine\"\n[agents.mine]\nmodel = \"x\"",
            "line 1: the agent `mine` has no command",
            "agents.mine.command",
        ),
        ("agent = \"program\"", "unknown agent `program`", "forge agents"),
    ] {
        let trouble = read(text).unwrap_err();
        assert!(
            trouble.what.starts_with("forge.toml, ") && trouble.what.contains(expected),
            "{trouble}"
        );
        assert!(trouble.next.unwrap().contains(next), "{next}");
    }
    let sources = Sources { environment: variable("FORGE_AGENT", "mne"), ..repo(MINE) };
    let trouble = Settings::from_sources(&sources).unwrap_err();
    assert_eq!(trouble.what, "the variable FORGE_AGENT: unknown agent `mne`; did you mean `mine`?");
    // What is set up halfway is no trouble as long as nobody plays with it.
    for text in [
        "[agents.mine]\nmodel = \"x\"",
        "agent = \"work\"\n[agents.work]\nlike = \"claude\"",
        "agent = \"claude\"\n[roles.reviewer]\nagent = \"scripted\"",
        "agent = \"claude\"\n[agents.claude]\n",
    ] {
        read(text).expect(text);
    }
    // Only what counts must be right.
    let sources = Sources { user: file("u", "agent = \"gone\""), ..repo("agent = \"claude\"") };
    assert_eq!(Settings::from_sources(&sources).unwrap().agent.as_deref(), Some("claude"));
}

#[test]
fn a_table_is_like_its_name_or_what_it_says_or_a_program() {
    let settings = read(&format!(
        "{MINE}[agents.work]\nlike = \"claude\"\nmodel = \"opus\"\n[agents.claude]\nmodel = \"haiku\""
    ))
    .unwrap();
    let like = |name: &str| settings.agents[name].like;
    assert_eq!(like("scripted"), registry::SCRIPTED);
    assert_eq!(
        (like("claude"), like("work")),
        (AgentKind::find("claude").unwrap(), AgentKind::find("claude").unwrap())
    );
    assert_eq!(like("mine"), registry::PROGRAM);
    assert_eq!(settings.agents["claude"].model.as_deref(), Some("haiku"));
    let other = read("[agents.claude]\nlike = \"program\"\ncommand = [\"x\"]").unwrap();
    assert_eq!(other.agents["claude"].like, registry::PROGRAM);
    let nothing = Settings::default();
    assert_eq!(
        nothing.agents.keys().collect::<Vec<_>>(),
        ["claude", "codex", "gemini", "opencode", "scripted"]
    );
}

#[test]
fn an_agent_that_speaks_acp_needs_one_setting_and_no_second_one() {
    let text = "agent = \"goose\"\n[agents.goose]\nacp = [\"./goose\", \"acp\"]\n";
    let settings = read(text).unwrap();
    let goose = &settings.agents["goose"];
    assert_eq!((goose.like, goose.program_key()), (registry::ACP, "acp"));
    assert_eq!(goose.command.as_ref().unwrap(), &["./goose", "acp"]);
    let line = settings.agent_of_repository("goose").unwrap();
    assert_eq!(line, "./goose acp  # the agent goose", "a person is asked before it is started");
    let top = Some("/top".into());
    let user = Sources { user: file("u", text), top, ..Sources::default() };
    let settings = Settings::from_sources(&user).unwrap();
    assert_eq!(settings.agents["goose"].command.as_ref().unwrap(), &["/top/goose", "acp"]);
    assert_eq!(settings.agent_of_repository("goose"), None, "it is the person's own");
    let nowhere = Settings::from_sources(&Sources { top: None, ..user }).unwrap_err();
    assert!(nowhere.what.contains("agents.goose.acp is a relative path"), "{nowhere}");
    for other in ["like = \"claude\"", "command = [\"x\"]"] {
        let both = read(&format!("{text}{other}")).unwrap_err();
        assert!(both.what.contains("`agents.goose.acp` and `agents.goose."), "{both}");
    }
    // A program that happens to have this name is what it was.
    let named = read("[agents.acp]\ncommand = [\"x\"]").unwrap();
    assert_eq!(named.agents["acp"].like, registry::PROGRAM);
    assert!(read("[agents.a]\nlike = \"acp\"").is_err(), "there is one way to say it");
}

#[test]
fn values_of_tables_that_cannot_be_are_refused_with_their_line() {
    for (text, expected) in [
        (
            "[agents.a]\nlike = \"goose\"",
            "agents.a.like: \"goose\" is not a valid value; expected \"claude\" or \"codex\" or \"opencode\" or \"gemini\" or \"program\"",
        ),
        ("[agents.a]\nlike = \"scripted\"", "agents.a.like: \"scripted\" is not a valid value"),
        (
            "[agents.a]\ncommand = \"x\"",
            "agents.a.command: \"x\" is not a valid value; expected a list of a program",
        ),
        ("[agents.a]\ncommand = []", "agents.a.command: it is empty; expected"),
        ("[agents.a]\ncommand = [\"\"]", "agents.a.command: \"\" is empty"),
        ("[agents.a]\ncommand = [\"~/x\"]", "\"~/x\" is not expanded here"),
        ("[agents.a]\ncommand = [\"--x\"]", "\"--x\" is an option"),
        ("[agents.a]\ncommand = [\"x/..\"]", "\"x/..\" is a folder"),
        ("[agents.a]\ncommand = [\"x\\u0000\"]", "has a control character"),
        ("[agents.a]\nmodel = \"\"", "agents.a.model: \"\" is not a valid model name"),
        ("[agents.a]\nmodel = \"a b\"", "is not a valid model name"),
        ("[agents.a]\nmodel = \"-x\"", "is not a valid model name"),
        ("[agents.a]\nmodel = 3", "3 is not a valid value; expected the name of a model"),
        ("[agents.a]\npass = [\"A B\"]", "agents.a.pass: \"A B\" is not a valid variable name"),
        ("[agents.a]\npass = [\"1A\"]", "is not a valid variable name"),
        ("[agents.a]\npass = [\"A=B\"]", "is not a valid variable name"),
        ("[agents.a]\npass = true", "expected a list of names of variables"),
        ("[roles.r]\nagent = \"A\"", "roles.r.agent: \"A\" is not a valid agent name"),
        (
            "[roles.r]\nagent = [\"a\"]",
            "roles.r.agent: invalid type: sequence; expected \"scripted\", \"claude\", or",
        ),
        ("[secrets]\nfiles = [\"/etc/x\"]", "secrets.files: \"/etc/x\" is not relative"),
        ("[secrets]\nallow = [\"../**\"]", "secrets.allow: \"../**\" leads out"),
        ("[secrets]\nallow = \"a\"", "\"a\" is not a valid value; expected a list of paths"),
    ] {
        let trouble = read(text).unwrap_err();
        assert!(trouble.what.starts_with("forge.toml, line 2: "), "{text}: {trouble}");
        assert!(trouble.what.contains(expected), "{text}: {trouble}");
    }
    let long = format!("[agents.a]\nmodel = \"{}\"", "x".repeat(201));
    assert!(read(&long).unwrap_err().what.contains("is not a valid model name"));
}

#[test]
fn there_is_an_end_to_tables() {
    let tables = |n: usize| {
        let all: Vec<String> = (0..n)
            .map(|n| {
                format!(
                    "[roles.r{n}]
model = \"x\""
                )
            })
            .collect();
        all.join(
            "
",
        )
    };
    assert_eq!(read(&tables(256)).unwrap().roles.len(), 256);
    let trouble = read(&tables(257)).unwrap_err();
    assert!(trouble.what.contains("`roles` has more than 256 keys and tables"), "{trouble}");
}

#[test]
fn tables_of_several_layers_merge_and_each_key_has_its_own_winner() {
    let sources = Sources {
        user: file(
            "u",
            "[agents.mine]\nmodel = \"user\"\npass = [\"A\"]\n[roles.reviewer]\nmodel = \"m\"",
        ),
        local: file("l", "[agents.mine]\npass = []\n[roles.reviewer]\nagent = \"mine\""),
        environment: variable("FORGE_AGENTS_MINE_MODEL", "env"),
        flags: variable("agents.mine.like", "claude"),
        ..repo(MINE)
    };
    let settings = Settings::from_sources(&sources).unwrap();
    let mine = &settings.agents["mine"];
    assert_eq!(mine.command.as_ref().unwrap(), &["./tools/agent.sh", "--fast"]);
    assert_eq!((mine.model.as_deref(), mine.pass.len()), (Some("env"), 0));
    assert_eq!(mine.like, AgentKind::find("claude").unwrap());
    let reviewer = &settings.roles["reviewer"];
    assert_eq!((reviewer.agent.as_deref(), reviewer.model.as_deref()), (Some("mine"), Some("m")));
    let explained = settings.explain("agents.mine.pass").unwrap();
    assert_eq!(explained.row.place.as_deref(), Some("l:2"));
    assert_eq!(explained.said.len(), 3);
    assert_eq!(explained.notes, [] as [&str; 0]);
    let listed: Vec<String> = settings.list().into_iter().map(|row| row.key).collect();
    let tables: Vec<&String> = listed
        .iter()
        .filter(|key| key.starts_with("agents.") || key.starts_with("roles."))
        .collect();
    assert_eq!(
        tables,
        [
            "agents.scripted.scenario",
            "agents.mine.like",
            "agents.mine.command",
            "agents.mine.model",
            "agents.mine.pass",
            "roles.reviewer.agent",
            "roles.reviewer.model",
        ]
    );
}

#[test]
fn variables_set_tables_that_a_file_names_and_those_that_need_no_naming() {
    let of = |text: &str, name: &str, value: &str| {
        Settings::from_sources(&Sources { environment: variable(name, value), ..repo(text) })
    };
    let claude = of("", "FORGE_AGENTS_CLAUDE_MODEL", "opus").unwrap();
    assert_eq!(claude.agents["claude"].model.as_deref(), Some("opus"));
    let named =
        of("[agents.my-agent]\nmodel = \"x\"", "FORGE_AGENTS_MY_AGENT_COMMAND", "[\"a\", \"b\"]");
    assert_eq!(named.unwrap().agents["my-agent"].command.as_ref().unwrap(), &["a", "b"]);
    let role = of("[roles.Writer]\nmodel = \"x\"", "FORGE_ROLES_WRITER_AGENT", "claude").unwrap();
    assert_eq!(role.agent_for("Writer"), Some("claude"));
    for (text, name, expected) in [
        ("", "FORGE_AGENTS_MINE_MODEL", "FORGE_AGENTS_MINE_MODEL is not a setting"),
        ("", "FORGE_AGENTS_CLAUDE_MODLE", "did you mean `FORGE_AGENTS_CLAUDE_MODEL`?"),
        ("", "FORGE_AGENTS_CLAUDE", "is not a setting"),
        ("", "FORGE_ROLES_REVIEWER_AGENT", "is not a setting"),
        (
            "[agents.a-b]\nmodel = \"x\"\n[agents.a_b]\nmodel = \"x\"",
            "FORGE_AGENTS_A_B_MODEL",
            "could set `agents.a-b.model` or `agents.a_b.model`",
        ),
    ] {
        let trouble = of(text, name, "x").unwrap_err();
        assert!(trouble.what.contains(expected) && trouble.next.is_some(), "{trouble}");
    }
    // A key of a table that nobody named can be explained, and it is said what it takes.
    let explained = Settings::default().explain("agents.mine.model").unwrap();
    assert_eq!((explained.said.len(), explained.row.value), (0, None));
    assert_eq!(
        explained.notes,
        ["FORGE_AGENTS_MINE_MODEL takes effect only if a file defines this table"]
    );
}

#[test]
fn a_persons_relative_program_begins_at_their_checkout_and_the_repositorys_in_the_agents() {
    let text = format!("agent = \"mine\"\n{MINE}");
    let program = |sources: Sources| {
        let settings =
            Settings::from_sources(&Sources { top: Some("/top".into()), ..sources }).unwrap();
        settings.agents["mine"].command.clone().unwrap()
    };
    let absolute = ["/top/tools/agent.sh", "--fast"];
    assert_eq!(program(repo(&text)), ["./tools/agent.sh", "--fast"]);
    assert_eq!(program(Sources { user: file("u", &text), ..Sources::default() }), absolute);
    let local = Sources { local: file("l", &text), ..Sources::default() };
    assert_eq!(program(local.clone()), absolute);
    assert_eq!(
        program(Sources { local_is: LocalFile::InGit, ..local }),
        ["./tools/agent.sh", "--fast"]
    );
    let environment = variable("FORGE_AGENTS_MINE_COMMAND", "../x");
    assert_eq!(program(Sources { environment, ..repo(&text) }), ["/top/../x"]);
    for plain in ["agent", "/opt/agent"] {
        let environment = variable("FORGE_AGENTS_MINE_COMMAND", plain);
        assert_eq!(program(Sources { environment, ..repo(&text) }), [plain]);
    }
    // Without a checkout there is nothing that it could be relative to.
    let trouble = Settings::from_sources(&Sources { user: file("u", &text), ..Sources::default() })
        .unwrap_err();
    assert!(
        trouble.what.starts_with("u, line 3: agents.mine.command is a relative path"),
        "{trouble}"
    );
    Settings::from_sources(&Sources { user: file("u", MINE), ..Sources::default() })
        .expect("nobody plays with it");
    read(&text).expect("it begins in the agent's checkout");
}

#[test]
fn agents_that_come_with_a_repository_are_asked_about_with_what_they_get() {
    let all = format!("agent = \"mine\"\n{MINE}");
    let roles: &[&str] = &["writer", "reviewer"];
    let asked =
        |sources: &Sources| Settings::from_sources(sources).unwrap().commands_of_repository(roles);
    let line = "./tools/agent.sh --fast  # the agent mine, which gets $MY_KEY";
    let none: [&str; 0] = [];
    assert_eq!(asked(&repo(&all)), [line]);
    // Who does not play is not started.
    assert_eq!(asked(&repo(MINE)), none);
    assert_eq!(read(&all).unwrap().commands_of_repository(&[]), none);
    let one = format!("{MINE}[roles.reviewer]\nagent = \"mine\"");
    assert_eq!(asked(&repo(&one)), [line]);
    assert_eq!(read(&one).unwrap().commands_of_repository(&["writer"]), none);
    // What a person set is the person's own, and what the repository adds to it is not.
    let top = Some(PathBuf::from("/top"));
    let user = Sources { user: file("u", &all), top, ..Sources::default() };
    assert_eq!(asked(&user), none);
    let local = Sources { local: user.user.clone(), user: None, ..user.clone() };
    assert_eq!(asked(&local), none);
    assert_eq!(asked(&Sources { local_is: LocalFile::InGit, ..local }), [line]);
    let more =
        Sources { repo: file(FILE, "[agents.mine]\npass = [\"AWS_KEY\", \"B\"]"), ..user.clone() };
    assert_eq!(
        asked(&more),
        ["/top/tools/agent.sh --fast  # the agent mine, which gets $AWS_KEY, $B"]
    );
    let more = Sources { repo: file(FILE, "[agents.mine]\nlike = \"claude\""), ..user.clone() };
    assert_eq!(
        asked(&more),
        ["/top/tools/agent.sh --fast  # the agent mine, which gets your keys for Claude, $MY_KEY"]
    );
    let more = Sources { repo: file(FILE, "[agents.mine]\nmodel = \"x\""), ..user };
    assert_eq!(asked(&more), none);
    // Claude itself needs no word, and another program of its name does.
    assert_eq!(asked(&repo("agent = \"claude\"\n[agents.claude]\nmodel = \"x\"")), none);
    assert_eq!(
        asked(&repo("agent = \"claude\"\n[agents.claude]\ncommand = [\"./a b\", \"it's\"]")),
        [r"'./a b' 'it'\''s'  # the agent claude, which gets your keys for Claude"]
    );
    assert_eq!(
        asked(&repo("agent = \"claude\"\n[agents.claude]\npass = [\"X\"]")),
        ["claude  # the agent claude, which gets your keys for Claude, $X"]
    );
}

#[test]
fn a_run_keeps_those_who_play_in_it_and_nobody_else() {
    let settings = read(&format!(
        "agent = \"claude\"\n[agents.claude]\nmodel = \"sonnet\"\n{MINE}[agents.other]\ncommand = [\"x\"]\n[roles.reviewer]\nagent = \"mine\"\nmodel = \"opus\"\n[roles.writer]\nmodel = \"haiku\"\n[roles.absent]\nagent = \"other\"\n[roles.tester]\nagent = \"scripted\"\n[secrets]\nfiles = [\".env\"]\nallow = [\"fixtures/**\"]"
    ))
    .unwrap();
    let scenario = Blob("b".to_owned());
    let frozen = settings.freeze_cast(
        &["writer", "reviewer", "tester", "planner"],
        Some(&(scenario.clone(), Sessions::Kept)),
    );
    assert_eq!(frozen.agent, AgentChoice::Named { name: "claude".to_owned() });
    assert_eq!(frozen.agents.keys().collect::<Vec<_>>(), ["claude", "mine", "scripted"]);
    assert_eq!(frozen.roles.keys().collect::<Vec<_>>(), ["reviewer", "tester", "writer"]);
    let plays = |role: &str| {
        let player = frozen.who_plays(role).unwrap();
        (player.name, player.like, player.model.unwrap_or_default(), player.scenario)
    };
    let claude = |model: &str| {
        ("claude".to_owned(), AgentKind::find("claude").unwrap(), model.to_owned(), None)
    };
    assert_eq!(plays("planner"), claude("sonnet"));
    assert_eq!(plays("writer"), claude("haiku"));
    assert_eq!(plays("reviewer"), ("mine".to_owned(), registry::PROGRAM, "opus".to_owned(), None));
    assert_eq!(plays("tester").3, Some(scenario.clone()));
    let reviewer = frozen.who_plays("reviewer").unwrap();
    assert_eq!((reviewer.command.len(), reviewer.pass.len()), (2, 1));
    assert_eq!(frozen.secrets, SecretsTable::from(&settings.secrets));
    let text = serde_json::to_string(&frozen).unwrap();
    assert_eq!(serde_json::from_str::<Frozen>(&text).unwrap(), frozen);
    assert!(!text.contains("other"), "{text}");
    // Where one scenario is played by all, nobody else plays; and without roles, nobody does.
    let scripted = settings.freeze(AgentChoice::Scripted { scenario: scenario.clone() });
    assert_eq!(scripted.who_plays("reviewer").unwrap().scenario, Some(scenario));
    assert_eq!(settings.freeze_cast(&[], None).agent, AgentChoice::Nobody);
    assert_eq!(settings.freeze(AgentChoice::Nobody).who_plays("writer"), None);
    assert_eq!(Settings::default().freeze_cast(&["writer"], None).who_plays("writer"), None);
}

#[test]
fn a_model_in_the_flow_is_more_particular_than_its_role_and_yields_to_one_for_all() {
    let mut settings = read("agent = \"claude\"\n[roles.writer]\nmodel = \"haiku\"").unwrap();
    let model = |settings: &Settings, in_flow: Option<&str>| {
        let frozen = settings.freeze_cast(&["writer"], None);
        frozen.player("writer", in_flow, None).unwrap().agent.model
    };
    assert_eq!(model(&settings, None).as_deref(), Some("haiku"));
    assert_eq!(model(&settings, Some("opus")).as_deref(), Some("opus"));
    settings.use_model("sonnet").unwrap();
    assert_eq!(model(&settings, Some("opus")).as_deref(), Some("sonnet"));
    let text = serde_json::to_string(&settings.freeze_cast(&["writer"], None)).unwrap();
    assert!(text.contains(r#""flow_models":"overridden""#), "{text}");
}

#[test]
fn a_table_of_a_role_that_the_flow_does_not_have_is_noted_with_the_nearest() {
    let settings =
        read("[roles.writer]\nmodel = \"x\"\n[roles.reviwer]\nmodel = \"x\"\n[roles.zzzzzzzz]\nmodel = \"x\"")
            .unwrap();
    assert_eq!(
        settings.notes_on_roles(&["writer", "reviewer"]),
        [
            "roles.reviwer (forge.toml:4) is set, and no stage of this flow has that role; did you mean `reviewer`?",
        ]
    );
}

#[test]
fn paths_with_secrets_are_allowed_by_pattern() {
    let settings = read("[secrets]\nallow = [\"tests/fixtures/**\", \"*.pem\"]").unwrap();
    let allowed = SecretsTable::from(&settings.secrets).allowed_paths();
    assert!(allowed.has("tests/fixtures/a/b") && allowed.has("x.pem"));
    assert!(!allowed.has("src/x.pem") && !SecretsTable::default().allowed_paths().has("x.pem"));
}

#[test]
fn an_agent_that_only_takes_over_is_approved_like_one_that_plays() {
    let text =
        "agent = \"claude\"\nfallback_agents = [\"mine\"]\n[agents.mine]\ncommand = [\"./x\"]\n";
    let commands = read(text).unwrap().commands_of_repository(&["writer"]);
    assert_eq!(commands, ["./x  # the agent mine"]);
    assert!(read(text).unwrap().commands_of_repository(&[]).is_empty(), "nobody plays");
}
