//! More than 200 good and bad settings, and the verdict on each: accepted or refused, which key and line, the values
//! and their winners, and whether the published schema accepts the file.
//!
//! The verdicts are a snapshot that was recorded before the settings became serde types. What a case is made of is
//! here; the snapshot repeats only its beginning.

use std::fmt::Write as _;

use forge_core::event::Blob;
use forge_project::settings::{
    AgentChoice, FILE, LocalFile, Sessions, Settings, SourceFile, Sources, schema,
};
use serde_json::Value as Json;

/// The roles of the flow that the cases are held against.
const ROLES: &[&str] = &["writer", "reviewer"];

/// Each key with three values: one that is fine, one more, and one that breaks its rule.
const KEYS: &[(&str, &str, &str, &str)] = &[
    ("agent", "\"claude\"", "\"scripted\"", "\"Claude\""),
    ("flow", "\"my_flow-2\"", "\"feature\"", "\"my flow\""),
    ("coherence", "\"off\"", "true", "\"yes\""),
    ("agents_md", "\"off\"", "false", "\"AGENTS.md\""),
    ("limits.at_once", "1", "0x10", "257"),
    ("limits.budget", "\"2.50\"", "\"0.000001\"", "\"much\""),
    ("limits.unpriced_calls", "60", "1", "0"),
    ("limits.call_budget", "\"1\"", "\"2.5\"", "\"-1\""),
    ("limits.wall_minutes", "1440", "1", "1441"),
    ("limits.silence_minutes", "7", "+7", "0"),
    ("limits.output_mib", "4096", "1_000", "4097"),
    ("limits.handoff_threshold", "100", "1", "101"),
    ("fallback_agents", "[\"claude\"]", "[]", "[\"gone\"]"),
    ("review", "\"other-vendor\"", "\"as-set\"", "\"other\""),
    ("prices", "[\"m input=1 output=2.5\"]", "[]", "[\"m input=1\"]"),
    ("agents.scripted.scenario", "\"a.toml\"", "\"/b/c.toml\"", "\"\""),
    ("agents.mine.like", "\"claude\"", "\"program\"", "\"scripted\""),
    ("agents.mine.command", "[\"/a b\", '--c']", "[\"x\"]", "[\"~/x\"]"),
    ("agents.mine.model", "\"opus\"", "\"a[1m]\"", "\"a b\""),
    ("agents.mine.pass", "[\"A\", \"_b\"]", "[]", "[\"A\", \"1B\"]"),
    ("roles.writer.agent", "\"scripted\"", "\"claude\"", "\"gone\""),
    ("roles.writer.model", "\"haiku\"", "\"x/y:z\"", "\"-x\""),
    ("secrets.files", "[\".env\"]", "[]", "[\"a\", \"/etc/x\"]"),
    ("secrets.allow", "[\"tests/**\"]", "[\"*.pem\", \"a/*/b\"]", "[\"../**\"]"),
    ("workspace.setup", "[\"npm ci\"]", "[\"a \\\"b\\\"\", 'c']", "[\"\"]"),
    ("workspace.setup_inputs", "[\"a/b\", \".env\"]", "[]", "[\"a\\u0000\"]"),
    ("workspace.copy", "[\"./x\"]", "[\"..x\"]", "[\"a/../../b\"]"),
    ("workspace.cache", "[\"target\"]", "[\".github\"]", "[\"a/.GIT\"]"),
    ("workspace.claims", "\"defer\"", "\"block\"", "\"wait\""),
    ("workspace.root", "\"../checkouts\"", "\"/b/c\"", "\" \""),
    ("verify.commands", "[\"make\"]", "[]", "[\"a\\u202eb\"]"),
    ("verify.timeout_minutes", "5", "1440", "0"),
    ("verify.output_mib", "16", "4096", "99999999999999999999"),
    ("verify.pass", "[\"A\", \"_b\"]", "[]", "[\"A\", \"1B\"]"),
    ("verify.final", "\"cached\"", "\"pristine\"", "\"Cached\""),
    ("land.branch", "\"a/{run}/b\"", "\"work\"", "\"{date}\""),
    ("land.record", "\"none\"", "\"summary\"", "\"nothing\""),
    ("effort.story_points", "\"points\"", "\"customfield_10016\"", "\"\""),
    ("hosts.github", "[\"git.example.com\"]", "[]", "[\"a/b\"]"),
    ("hosts.gitlab", "[\"a:8443\"]", "[]", "[\"-a\"]"),
    ("hosts.gitea", "[\"a\", \"b.c\"]", "[]", "[\"a:0\"]"),
    ("hosts.jira", "\"https://a.b/c\"", "\"http://localhost:1\"", "\"http://a.b\""),
    ("hosts.keys", "\"jira\"", "\"linear\"", "\"github\""),
    ("notify.command", "[\"mail\"]", "[\"/a b\", '--c']", "[]"),
    (
        "notify.webhook",
        "\"https://me:secret@example.org/T0\"",
        "\"http://127.0.0.1:8080\"",
        "\"ftp://example.org\"",
    ),
    ("notify.bell", "false", "\"on\"", "\"true\""),
    ("notify.desktop", "true", "\"off\"", "1"),
    (
        "pipelines.short.phases",
        "[\"implement\", \"commit\"]",
        "[\"plan\", \"approve role=x max_iterations=1 on_revision=plan model=m\"]",
        "[\"implement x=1\"]",
    ),
    ("architecture", "[\"docs/architecture\"]", "[]", "[\"../docs\"]"),
    ("work.pages", "\"docs/work\"", "\"pages\"", "\"docs/../..\""),
    ("pull_request.open", "\"at-end\"", "\"on-request\"", "\"always\""),
    ("pull_request.comment", "\"at-end\"", "\"on-request\"", "true"),
    ("pull_request.draft", "\"open-notes\"", "\"always\"", "\"sometimes\""),
    ("pull_request.labels", "[\"by forge\"]", "[]", "[\"a,b\"]"),
    ("pull_request.reviewers", "[\"ada\", \"corp/core\"]", "[]", "[\"a b\"]"),
    ("pull_request.closes_issue", "false", "\"on\"", "\"true\""),
    ("pull_request.merge", "\"squash\"", "\"rebase\"", "\"fast\""),
    ("push.remote", "\"fork\"", "\"a/b\"", "\"--x\""),
    ("work.escalated", "\"halt\"", "\"continue\"", "\"hold\""),
    ("agents.mine.acp", "[\"goose\", 'acp']", "[\"x\"]", "[]"),
    ("roles.writer.tier", "\"heavy\"", "\"max\"", "\"strong\""),
    ("roles.writer.effort", "\"low\"", "\"xhigh\"", "\"hardest\""),
    ("tiers.heavy.agent", "\"scripted\"", "\"claude\"", "\"gone\""),
    ("tiers.light.model", "\"haiku\"", "\"x/y:z\"", "\"-x\""),
    ("tiers.max.effort", "\"max\"", "\"high\"", "3"),
    ("tiers.standard.thinking", "\"adaptive\"", "\"disabled\"", "\"on\""),
];

/// Values of every type of TOML; most keys accept one type.
const TYPES: &[&str] =
    &["3", "1.5", "true", "\"a b\"", "[1]", "[]", "{ a = 1 }", "2026-01-01", "[[\"a\"]]", "-1"];

/// Whole files for the layer of the repository.
const FILES: &[&str] = &[
    "",
    "# only a comment",
    "agent = \"scripted\"\n[limits]\nbudgt = \"2\"\n",
    "[limts]\n",
    "\nbudget = \"2\"\n",
    "limits.bdget = \"2\"\n",
    "limits = { at_one = 2 }\n",
    "limits = { at_once = 2, budget = \"1\" }\n",
    "\"limits.budget\" = \"2\"\n",
    "[agents.claude]\ncomand = []\n",
    "[agents.scripted]\ncommand = []\n",
    "[agents.scripted]\nlike = \"claude\"\n",
    "[agents.mine]\nscenario = \"a\"\n",
    "[agents.mine.more]\n",
    "[agents.mine]\n",
    "[agents.Mine]\n",
    "agents.\"a.b\".command = []\n",
    "agents.mine = 3\n",
    "agents = 3\n",
    "agents.scripted = \"x\"\n",
    "[roles.reviewer]\nmodl = \"x\"\n",
    "[roles.\"a b\"]\n",
    "[roles.Reviewer]\nmodel = \"x\"\n",
    "[role.reviewer]\n",
    "[secrets]\nfile = []\n",
    "[guarded]\nextra = []\n",
    "[[verify]]\ncommands = []\n",
    "limits = 3\n",
    "# one\n# two\n[verify]\n\ncommand = []\n[zzz]\n",
    "[verify]\ntimeout = 5\n",
    "[verify]\noutput_max = 5\n",
    "verify.timeout = 5\nverify.timeout_minutes = 6\n",
    "timeout_minutes = 5\n",
    "agent = \"scripted",
    "agent",
    "= 1",
    "\"\" = 1",
    "[]",
    "\r",
    "\u{0}",
    "[limits]\n[limits]\n",
    "agent = \"x\"\nagent = \"y\"",
    "limits.budget = \"1\"\n[limits]\nat_once = 1",
    "limits.budget = \"1\"\nlimits = { at_once = 1 }\n",
    "[verify]\ncommands = [\n\"a\",\n3]",
    "[verify]\ncommands = [\n\"a\",\n\"\"]",
    "[verify]\ncommands = \"cargo test\"",
    "[workspace]\n\ncopy = [\"a\",\n  \"../b\"]",
    "[workspace]\ncopy = [\".\"]",
    "[workspace]\ncopy = [\"\"]",
    "[zzz]\na = 1\n[limits]\nat_once = 0\n",
    "[limits]\nat_once = 0\nbudget = 3\n[zzz]\n",
    "[limits]\nat_once = \"8\"",
    "[limits]\nat_once = 1.5",
    "[land]\nbranch = \"a b\"",
    "[land]\nbranch = \"a..b\"",
    "[land]\nbranch = \"HEAD\"",
    "[land]\nbranch = \"@\"",
    "[land]\nbranch = \"{run}.lock\"",
    "[land]\nbranch = \"\"",
    "agent = \"cloude\"",
    "agent = \"codex\"",
    "agent = \"program\"",
    "agent = \"mine\"\n[agents.mine]\nmodel = \"x\"",
    "agent = \"mine\"\n[agents.mine]\ncommand = [\"./tools/agent.sh\", \"--fast\"]\npass = [\"MY_KEY\"]",
    "agent = \"codex\"\n[agents.codex]\ncommand = [\"codex\"]",
    "agent = \"work\"\n[agents.work]\nlike = \"claude\"\n[agents.work-2]\nmodel = \"x\"",
    "agent = \"claude\"\n[roles.reviewer]\nagent = \"scripted\"\n[roles.writer]\nmodel = \"haiku\"",
    "agent = \"claude\"\n[agents.claude]\ncommand = [\"./a b\", \"it's\"]",
    "agent = \"claude\"\n[agents.claude]\nlike = \"program\"",
    "\n[roles.reviewer]\nagent = \"scriptd\"",
    "[agents.a]\ncommand = []",
    "[agents.a]\ncommand = [\"\"]",
    "[agents.a]\ncommand = [\"--x\"]",
    "[agents.a]\ncommand = [\"x/..\"]",
    "[agents.a]\ncommand = [\"x\", \"--y\", \"~\"]",
    "[agents.a]\nmodel = \"\"",
    "[agents.a]\nlike = \"codex\"",
    "[agents.a]\npass = [\"A=B\"]",
    "[roles.r]\nagent = [\"a\"]",
    "[roles.reviwer]\nmodel = \"x\"",
    "[notify]\nwebhook = \"https://\"",
    "[notify]\nwebhook = \"https://:80/T0\"",
    "[notify]\nwebhook = \"https://a b/T0\"",
    "[notify]\ncommand = [\"./tell.sh\", \"a b\"]\nwebhook = \"https://example.org/hook?x=1\"",
    "\u{feff}[limits]\r\nat_once = 0x3\r\nbudget = '2'\r\n",
    "[ \"limits\" ] # here\n'at_once' = 3\nbudget = \"\"\"2\"\"\"",
    "[workspace]\nsetup = [\"npm ci\"]\n[verify]\ncommands = [\"npm test\"]",
];

/// The variables and flags of one case: a name and its words.
const WORDS: &[(&str, &str)] = &[
    ("limits.at_once", "0"),
    ("limits.at_once", " 7 "),
    ("limits.at_once", "many"),
    ("limits.budget", "much"),
    ("limits.budget", "5"),
    ("limits.atonce", "1"),
    ("limits", "1"),
    ("coherence", "true"),
    ("coherence", "false"),
    ("notify.bell", "yes"),
    ("verify.commands", "cargo test"),
    ("verify.commands", "[]"),
    ("verify.commands", "[\"a\", 'b \"c\"']"),
    ("verify.commands", "[ -f x ] && y"),
    ("verify.commands", "[1]"),
    ("verify.commands", " "),
    ("agents.claude.command", "./a --fast"),
    ("agents.claude.command", "[]"),
    ("agents.claude.command", "claude"),
    ("agents.claude.modle", "x"),
    ("agents.mine.model", "x"),
    ("agents.Mine.model", "x"),
    ("agents.scripted.command", "x"),
    ("roles.a.b.agent", "x"),
    ("roles.writer.agent", "claude"),
    ("notify.webhook", "ftp://example.org/T0"),
    ("notify.webhook", "https://example.org/T0"),
    ("land.branch", "a b"),
    ("workspace.copy", "../x"),
    ("workspace.root", "/x"),
    ("budget", "1"),
    ("", "1"),
    ("agent", "mne"),
    ("workspace.claims", "wait"),
];

/// A case: what it is called, and what is read.
struct Case {
    name: String,
    sources: Sources,
}

#[expect(clippy::unnecessary_wraps, reason = "a layer may be missing, and here it never is")]
fn file(name: &str, text: &str) -> Option<SourceFile> {
    Some(SourceFile { name: name.to_owned(), text: text.to_owned() })
}

fn repo(text: &str) -> Sources {
    Sources { repo: file(FILE, text), top: Some("/top".into()), ..Sources::default() }
}

fn pair(name: &str, value: &str) -> Vec<(String, String)> {
    vec![(name.to_owned(), value.to_owned())]
}

/// The name with two of its letters exchanged, or the last one gone.
fn misspelled(key: &str) -> String {
    let (table, word) = key.rsplit_once('.').map_or(("", key), |(table, word)| (table, word));
    let mut letters: Vec<char> = word.chars().collect();
    if letters.len() > 4 {
        letters.swap(1, 2);
    } else {
        letters.pop();
    }
    let word: String = letters.into_iter().collect();
    if table.is_empty() { word } else { format!("{table}.{word}") }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: String, sources: Sources| cases.push(Case { name, sources });
    for (position, (key, good, better, bad)) in KEYS.iter().enumerate() {
        for (what, value) in [("good", good), ("bad", bad)] {
            add(format!("{what} {key} = {value}"), repo(&format!("{key} = {value}\n")));
        }
        let wrong = TYPES[position % TYPES.len()];
        add(format!("type {key} = {wrong}"), repo(&format!("# x\n{key} = {wrong}\n")));
        let typo = misspelled(key);
        add(format!("typo {typo} = {good}"), repo(&format!("\n{typo} = {good}\n")));
        let layers = Sources {
            user: file("/c/config.toml", &format!("# u\n{key} = {good}\n")),
            local: file("/r/forge.local.toml", &format!("{key} = {better}\n")),
            ..repo(&if *key == "workspace.root" {
                String::new()
            } else {
                format!("\n\n{key} = {good}\n")
            })
        };
        add(format!("layers {key}"), layers.clone());
        let in_git = Sources { local_is: LocalFile::InGit, user: None, ..layers };
        add(format!("local file in git {key}"), in_git);
    }
    for (position, (key, ..)) in KEYS.iter().enumerate() {
        let wrong = TYPES[(position * 3 + 4) % TYPES.len()];
        let user = file("/c/config.toml", &format!("{key} = {wrong}\n"));
        add(format!("user {key} = {wrong}"), Sources { user, repo: None, ..repo("") });
    }
    for text in FILES {
        add(format!("file {text:?}"), repo(text));
    }
    for (key, words) in WORDS {
        let flags = pair(key, words);
        add(format!("flag {key}={words}"), Sources { flags, ..repo("") });
        let variable = format!("FORGE_{}", key.to_ascii_uppercase().replace(['.', '-'], "_"));
        let environment = pair(&variable, words);
        add(
            format!("variable {variable}={words}"),
            Sources { environment, ..repo("[verify]\ncommands = [\"make\"]") },
        );
    }
    let many = |n: usize| {
        (0..n).map(|n| format!("[roles.r{n}]\nmodel = \"x\"\n")).collect::<Vec<String>>().concat()
    };
    add("256 roles".to_owned(), repo(&many(256)));
    add("257 roles".to_owned(), repo(&many(257)));
    let entries = |n: usize| format!("workspace.setup = [{}]", vec!["\"x\""; n].join(","));
    add("256 entries".to_owned(), repo(&entries(256)));
    add("257 entries".to_owned(), repo(&entries(257)));
    let long = |n: usize| format!("workspace.setup = [\"{}\"]", "x".repeat(n));
    add("a long text".to_owned(), repo(&long(16 * 1024)));
    add("a text that is too long".to_owned(), repo(&long(16 * 1024 + 1)));
    add("a long number".to_owned(), repo(&format!("limits.at_once = {}", "9".repeat(1000))));
    add("a long word".to_owned(), repo(&format!("agent = \"{}\"", "x".repeat(1000))));
    add("a long key".to_owned(), repo(&format!("{} = 1", "x".repeat(1000))));
    add("a deep key".to_owned(), repo(&format!("{} = 1", vec!["limits"; 1000].join("."))));
    add("a large file".to_owned(), repo(&"#".repeat(1024 * 1024 + 1)));
    let two = Sources {
        environment: pair("FORGE_AGENTS_A_B_MODEL", "x"),
        ..repo("[agents.a-b]\nmodel = \"x\"\n[agents.a_b]\nmodel = \"x\"")
    };
    add("a variable of two tables".to_owned(), two);
    let nowhere = Sources {
        user: file("u", "agent = \"mine\"\nagents.mine.command = [\"./x\"]"),
        ..Sources::default()
    };
    add("a relative program without a checkout".to_owned(), nowhere.clone());
    add("a relative program".to_owned(), Sources { top: Some("/top".into()), ..nowhere });
    let all = Sources {
        user: file(
            "u",
            "agent = \"gone\"\nlimits.budget = \"1\"\n[agents.mine]\nmodel = \"user\"\npass = [\"A\"]",
        ),
        local: file(
            "l",
            "agent = \"mine\"\n[agents.mine]\npass = []\n[roles.reviewer]\nagent = \"claude\"",
        ),
        environment: pair("FORGE_AGENTS_MINE_MODEL", "env"),
        flags: [pair("limits.budget", "3"), pair("limits.budget", "4")].concat(),
        ..repo(
            "[agents.mine]\ncommand = [\"./tools/agent.sh\"]\n[verify]\ncommands = [\"a\", \"b\"]",
        )
    };
    add("all layers".to_owned(), all);
    cases
}

/// Cuts a text that is only there to be recognized.
fn shortened(text: &str) -> String {
    if text.chars().nth(300).is_none() {
        return text.to_owned();
    }
    text.chars().take(100).chain(['…']).collect()
}

/// What the published schema says about a file, if it is TOML at all.
fn by_schema(schema: &jsonschema::Validator, text: &str) -> Option<bool> {
    let table: toml::Table = toml::from_str(text.trim_start_matches('\u{feff}')).ok()?;
    let json = serde_json::to_value(table).expect("TOML can be written as JSON");
    Some(schema.is_valid(&json))
}

/// What is in `ours` and not in `shipped`, key by key.
fn differing(ours: &Json, shipped: &Json) -> Json {
    let (Some(ours), Some(shipped)) = (ours.as_object(), shipped.as_object()) else {
        return ours.clone();
    };
    let others = ours.iter().filter(|(key, value)| shipped.get(*key) != Some(value));
    Json::Object(others.map(|(key, value)| (key.clone(), value.clone())).collect())
}

fn verdict(sources: &Sources, text: &mut String) {
    match Settings::from_sources(sources) {
        Err(error) => {
            let _ = writeln!(text, "  refused: {}", shortened(&error.what));
            let _ = writeln!(text, "  next: {}", error.next.unwrap_or_default());
        }
        Ok(settings) => {
            let rows = settings.list();
            let shipped = Settings::default().list();
            for row in rows.iter().filter(|row| !shipped.contains(row)).take(8) {
                let value = row.value.as_ref().map(ToString::to_string).unwrap_or_default();
                let place = row.place.as_deref().unwrap_or("nowhere");
                let layer = row.layer.map(|layer| format!(" {layer:?}")).unwrap_or_default();
                let _ = writeln!(text, "  {} = {} ({place}{layer})", row.key, shortened(&value));
                for said in settings.explain(&row.key).expect("it is listed").said.iter().skip(1) {
                    let _ = writeln!(
                        text,
                        "    over {} ({} {:?})",
                        shortened(&said.value.to_string()),
                        said.place,
                        said.layer
                    );
                }
            }
            for note in settings.notes().into_iter().chain(settings.notes_on_roles(ROLES)) {
                let _ = writeln!(text, "  note: {note}");
            }
            for command in settings.commands_of_repository(ROLES) {
                let _ = writeln!(text, "  asks: {}", shortened(&command));
            }
            let scenario = (Blob("b".to_owned()), Sessions::Kept);
            let json = |frozen| serde_json::to_value(frozen).expect("it can be written");
            let none = json(Settings::default().freeze(AgentChoice::Nobody));
            let kept = differing(&json(settings.freeze_cast(ROLES, Some(&scenario))), &none);
            let _ = writeln!(text, "  keeps: {}", shortened(&kept.to_string()));
        }
    }
}

#[test]
fn the_verdict_on_every_case_stays() {
    let schema = serde_json::to_value(schema()).expect("a schema is JSON");
    let schema = jsonschema::validator_for(&schema).expect("it is a schema");
    let cases = cases();
    assert!(cases.len() > 200, "{}", cases.len());
    let mut text = String::new();
    for case in &cases {
        let _ = writeln!(text, "{}", shortened(&case.name));
        verdict(&case.sources, &mut text);
        if let Some(is_valid) =
            case.sources.repo.as_ref().and_then(|file| by_schema(&schema, &file.text))
        {
            let _ = writeln!(text, "  schema: {}", if is_valid { "accepts" } else { "refuses" });
        }
    }
    insta::assert_snapshot!("settings_corpus", text);
}
