//! The layers together: who wins, what is refused and where, and hostile files.

use std::fmt::Write as _;

use forge_core::money::Money;

use super::resolve::is_personal;
use super::{
    keys::{SettingKey, hint},
    layers::LayeredSettings,
    read_value::{check, from_words},
    *,
};
use crate::Error;

#[expect(clippy::unnecessary_wraps, reason = "a layer may be missing, and here it never is")]
fn file(name: &str, text: &str) -> Option<SourceFile> {
    Some(SourceFile { name: name.to_owned(), text: text.to_owned() })
}

fn read(text: &str) -> Result<Settings, Error> {
    Settings::from_sources(&Sources { repo: file(FILE, text), ..Sources::default() })
}

fn fixed_keys() -> impl Iterator<Item = SettingKey> {
    keys_with("").into_iter()
}

/// Returns all keys, with those of the tables that a file names.
pub(super) fn keys_with(tables: &str) -> Vec<SettingKey> {
    SettingKey::all(&toml::from_str(tables).unwrap())
}

fn pair(name: &str, value: &str) -> Vec<(String, String)> {
    vec![(name.to_owned(), value.to_owned())]
}

#[test]
fn an_unknown_key_names_its_line_and_the_nearest_right_one() {
    for (text, line, expected) in [
        ("agent = \"scripted\"\n[limits]\nbudgt = \"2\"\n", 3, "did you mean `limits.budget`?"),
        ("[limts]\n", 1, "unknown key `limts`; did you mean `limits`?"),
        ("\nbudget = \"2\"\n", 2, "did you mean `limits.budget`?"),
        ("limits.bdget = \"2\"\n", 1, "did you mean `limits.budget`?"),
        ("limits = { at_one = 2 }\n", 1, "did you mean `limits.at_once`?"),
        ("\"limits.budget\" = \"2\"\n", 1, "unknown key `\"limits.budget\"`"),
        (
            "[agents.claude]\ncomand = []\n",
            2,
            "unknown key `agents.claude.comand`; did you mean `agents.claude.command`?",
        ),
        ("[agents.scripted]\ncommand = []\n", 2, "unknown key `agents.scripted.command`"),
        ("[agents.mine]\nscenario = \"a\"\n", 2, "unknown key `agents.mine.scenario`"),
        ("[agents.mine.more]\n", 1, "unknown key `agents.mine.more`"),
        ("[agents.Mine]\n", 1, "\"Mine\" is not a valid agent name: at most 40 lower-case"),
        ("agents.\"a.b\".command = []\n", 1, "\"a.b\" is not a valid agent name"),
        ("agents.mine = 3\n", 1, "`agents.mine` is a table, and not a value"),
        ("[roles.reviewer]\nmodl = \"x\"\n", 2, "did you mean `roles.reviewer.model`?"),
        ("[roles.\"a b\"]\n", 1, "\"a b\" is not a valid role name"),
        ("[role.reviewer]\n", 1, "unknown key `role`; did you mean `roles`?"),
        ("[secrets]\nfile = []\n", 2, "did you mean `secrets.files`?"),
        ("[guarded]\nextra = []\n", 1, "unknown key `guarded`"),
        ("[[verify]]\ncommands = []\n", 1, "`verify` is a table"),
        ("limits = 3\n", 1, "`limits` is a table"),
        ("# one\n# two\n[verify]\n\ncommand = []\n[zzz]\n", 5, "did you mean `verify.commands`?"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.what.starts_with(&format!("forge.toml, line {line}: ")), "{error}");
        assert!(error.what.contains(expected), "{error}");
        assert_eq!(error.next.as_deref(), Some("forge config edit"));
    }
}

#[test]
fn a_value_that_cannot_be_names_its_line_and_what_it_may_be() {
    for (text, line, expected) in [
        (
            "[limits]\nat_once = 0",
            2,
            "limits.at_once: 0 is not a valid value; expected a whole number",
        ),
        ("[limits]\nat_once = -1", 2, "limits.at_once: -1 is not a valid value; expected"),
        ("[limits]\nat_once = 1025", 2, "between 1 and 1024"),
        ("[limits]\nat_once = 1.5", 2, "limits.at_once: 1.5 is not a valid value"),
        ("[limits]\nat_once = \"8\"", 2, "limits.at_once: \"8\" is not a valid value"),
        ("[limits]\nbudget = \"much\"", 2, "limits.budget: \"much\" is not an amount"),
        ("[limits]\nbudget = 3", 2, "3 is not a valid value; expected an amount"),
        ("agent = \"claudius\"", 1, "unknown agent `claudius`"),
        ("agent = 3", 1, "agent: 3 is not a valid value; expected \"scripted\""),
        ("agent = \"scripted", 1, ""),
        ("[verify]\ncommands = \"cargo test\"", 2, "expected a list of commands"),
        ("[verify]\ncommands = [\n\"a\",\n3]", 4, "verify.commands: invalid type: integer `3`"),
        ("[verify]\ncommands = [\n\"a\",\n\"\"]", 2, "verify.commands: \"\" is empty"),
        (
            "[verify]\nfinal = true",
            2,
            "verify.final: wanted string or table; expected \"pristine\" or \"cached\"",
        ),
        ("[verify]\ntimeout_minutes = 1441", 2, "between 1 and 1440"),
        (
            "[verify]\noutput_mib = 2026-01-01",
            2,
            "verify.output_mib: 2026-01-01 is not a valid value",
        ),
        (
            "[workspace]\nclaims = { a = 1 }",
            2,
            "workspace.claims: wanted exactly 1 element, found 0 elements; expected",
        ),
        ("[workspace]\n\ncopy = [\"a\",\n  \"../b\"]", 3, "\"../b\" leads out"),
        ("[workspace]\ncache = [\".git\"]", 2, "\".git\" is git's own"),
        ("[workspace]\nsetup_inputs = [\"/etc/passwd\"]", 2, "is not relative"),
        ("[land]\nbranch = \"a b\"", 2, "land.branch: \"a b\" is not a valid branch name"),
        ("[land]\nbranch = \"{date}\"", 2, "in braces that is not {run}"),
        ("agent = \"x\"\nagent = \"y\"", 2, "duplicate"),
        ("limits.budget = \"1\"\n[limits]\nat_once = 1", 2, ""),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.what.starts_with(&format!("forge.toml, line {line}: ")), "{text}: {error}");
        assert!(error.what.contains(expected), "{error}");
    }
}

#[test]
fn what_is_wrong_in_a_layer_names_that_layer() {
    let wrong = "\n[limits]\nat_once = 0\n";
    for sources in [
        Sources { user: file("/c/config.toml", wrong), ..Sources::default() },
        Sources { repo: file("forge.toml", wrong), ..Sources::default() },
        Sources { local: file("/r/forge.local.toml", wrong), ..Sources::default() },
    ] {
        let files = [&sources.user, &sources.repo, &sources.local];
        let name = &files.into_iter().flatten().next().unwrap().name;
        let error = Settings::from_sources(&sources).unwrap_err();
        assert!(
            error
                .what
                .starts_with(&format!("{name}, line 3: limits.at_once: 0 is not a valid value")),
            "{error}"
        );
    }
    let environment = pair("FORGE_LIMITS_AT_ONCE", "0");
    let error = Settings::from_sources(&Sources { environment, ..Sources::default() }).unwrap_err();
    assert!(
        error.what.starts_with("the variable FORGE_LIMITS_AT_ONCE: limits.at_once: "),
        "{error}"
    );
    let flags = pair("limits.at_once", "0");
    let error = Settings::from_sources(&Sources { flags, ..Sources::default() }).unwrap_err();
    assert!(error.what.starts_with("limits.at_once: 0 is not a valid value"), "{error}");
    let flags = pair("limits.atonce", "1");
    let error = Settings::from_sources(&Sources { flags, ..Sources::default() }).unwrap_err();
    assert_eq!(error.what, "unknown key `limits.atonce`; did you mean `limits.at_once`?");
}

#[test]
fn a_variable_that_sets_nothing_is_an_error_with_the_nearest() {
    let of = |name: &str| {
        Settings::from_sources(&Sources { environment: pair(name, "5"), ..Sources::default() })
    };
    assert_eq!(of("FORGE_LIMITS_BUDGET").unwrap().limits.budget(), Money::parse("5"));
    let error = of("FORGE_LIMIT_BUDGET").unwrap_err();
    assert!(error.what.contains("FORGE_LIMIT_BUDGET is not a setting"), "{error}");
    assert!(error.what.contains("did you mean `FORGE_LIMITS_BUDGET`?"), "{error}");
    assert!(of("FORGE_").is_err() && of("FORGE_LIMITS").is_err());
}

#[test]
fn no_layer_at_all_is_what_is_shipped() {
    let settings = read("").unwrap();
    assert_eq!(settings.limits, Settings::default().limits);
    assert_eq!(u32::from(settings.limits.at_once), 8);
    assert_eq!(settings.limits.budget(), Money::parse("10"));
    assert_eq!(settings.verify.commands, None);
    assert_eq!(&*settings.land.branch, "forge/{words}-{id}");
    assert_eq!(settings.notes(), [] as [&str; 0]);
    assert_eq!(settings.commands_of_repository(&[]), [] as [&str; 0]);
}

#[test]
fn tables_merge_and_lists_replace() {
    let settings = Settings::from_sources(&Sources {
        user: file(
            "u",
            "[limits]\nat_once = 2\nbudget = \"1\"\n[workspace]\ncopy = [\"a\", \"b\"]",
        ),
        repo: file("r", "[limits]\nat_once = 3\n[workspace]\ncopy = [\"c\"]"),
        ..Sources::default()
    })
    .unwrap();
    assert_eq!(u32::from(settings.limits.at_once), 3);
    assert_eq!(settings.limits.budget(), Money::parse("1"));
    assert_eq!(settings.freeze(AgentChoice::Nobody).copy, ["c"]);
}

#[test]
fn no_checks_by_word_is_not_the_same_as_no_word() {
    let none = read("[verify]\ncommands = []").unwrap();
    assert_eq!(none.verify.commands, Some(Vec::new()));
    assert_eq!(none.freeze(AgentChoice::Nobody).verify.from, VerifyFrom::Settings);
    let notes = none.notes().join("\n");
    assert!(notes.contains("(forge.toml:2)") && notes.contains("every result is unverified"));
    assert_eq!(read("").unwrap().freeze(AgentChoice::Nobody).verify.from, VerifyFrom::Nothing);
}

#[test]
fn checks_that_a_personal_layer_takes_away_are_named() {
    let sources = |words: &str| Sources {
        repo: file(FILE, "[verify]\ncommands = [\"make test\", \"make lint\"]"),
        environment: pair("FORGE_VERIFY_COMMANDS", words),
        ..Sources::default()
    };
    let notes = Settings::from_sources(&sources("make test")).unwrap().notes();
    assert_eq!(
        notes,
        [
            "FORGE_VERIFY_COMMANDS leaves out `make lint` of verify.commands, which forge.toml:2 asks for"
        ]
    );
    let more = "[\"make lint\", \"make test\", \"more\"]";
    assert_eq!(Settings::from_sources(&sources(more)).unwrap().notes(), [] as [&str; 0]);
    assert_eq!(Settings::from_sources(&sources("[]")).unwrap().notes().len(), 2);
    // Below the repository nobody can take anything away.
    let user = Settings::from_sources(&Sources {
        user: file("u", "[verify]\ncommands = [\"x\"]"),
        repo: file(FILE, "[verify]\ncommands = [\"y\"]"),
        ..Sources::default()
    });
    assert_eq!(user.unwrap().notes(), [] as [&str; 0]);
}

#[test]
fn a_branch_that_all_runs_would_share_is_noted() {
    let notes = read("[land]\nbranch = \"work\"").unwrap().notes();
    assert!(notes[0].contains("land.branch is \"work\" for every run"), "{notes:?}");
}

#[test]
fn only_the_commands_that_came_with_the_repository_need_a_word() {
    let text = "[workspace]\nsetup = [\"npm ci\"]\n[verify]\ncommands = [\"npm test\"]";
    assert_eq!(read(text).unwrap().commands_of_repository(&[]), ["npm ci", "npm test"]);
    let of =
        |sources: Sources| Settings::from_sources(&sources).unwrap().commands_of_repository(&[]);
    let none: [&str; 0] = [];
    assert_eq!(of(Sources { user: file("u", text), ..Sources::default() }), none);
    let local = Sources { local: file("l", text), ..Sources::default() };
    assert_eq!(of(local.clone()), none);
    // Who commits a local file does not get round being asked about.
    let in_git = Sources { local_is: LocalFile::InGit, ..local };
    assert_eq!(of(in_git.clone()), ["npm ci", "npm test"]);
    assert!(
        Settings::from_sources(&in_git).unwrap().notes()[0].contains("forge.local.toml is in git")
    );
    // What a person set over it is the person's.
    let over = Sources {
        repo: file(FILE, text),
        environment: pair("FORGE_VERIFY_COMMANDS", "true"),
        ..Sources::default()
    };
    assert_eq!(of(over), ["npm ci"]);
}

#[test]
fn a_hostile_file_is_answered_with_words() {
    let long = "x".repeat(300_000);
    let most = usize::try_from(FILE_BYTES_MAX).unwrap();
    let many: String = (0..100_000).fold(String::new(), |mut text, n| {
        let _ = writeln!(text, "k{n}=1");
        text
    });
    for text in [
        "#".repeat(most + 1),
        format!("agent = \"{long}\""),
        format!("{long} = 1"),
        format!("{} = 1", vec!["a"; 100_000].join(".")),
        format!("[{}]", vec!["a"; 100_000].join(".")),
        format!("{} = 1", vec!["limits"; 100_000].join(".")),
        format!("agent = {}{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("agent = {}", "{a=".repeat(100_000)),
        format!("[limits]\nat_once = {}", "9".repeat(100_000)),
        many,
        "agent = \"a\u{0}b\"".to_owned(),
        "\u{0}".to_owned(),
        "agent".to_owned(),
        "= 1".to_owned(),
        "\"\" = 1".to_owned(),
        "\r".to_owned(),
        "[]".to_owned(),
        "[limits]\n[limits]\n".to_owned(),
        "limits.budget = \"1\"\nlimits = { at_once = 1 }\n".to_owned(),
        "limits = { at_once = 1 }\nlimits.budget = \"1\"\n".to_owned(),
    ] {
        let start: String = text.chars().take(40).collect();
        let error = read(&text).expect_err(&start);
        assert!(error.what.starts_with("forge.toml"), "{start}: {error}");
        assert!(error.what.len() < 600, "{start}: {} bytes", error.what.len());
    }
}

#[test]
fn every_way_to_write_toml_says_the_same() {
    let expected = read("[limits]\nat_once = 3\nbudget = \"2\"").unwrap().limits.clone();
    for text in [
        "limits.at_once = 3\nlimits.budget = \"2\"",
        "limits = { at_once = 3, budget = \"2\" }",
        "\u{feff}[limits]\r\nat_once = 0x3\r\nbudget = '2'\r\n",
        "[ \"limits\" ] # here\n'at_once' = 3\nbudget = \"\"\"2\"\"\"",
        "[limits]\nat_once = +3\nbudget = \"\\u0032\"",
    ] {
        assert_eq!(read(text).unwrap().limits, expected, "{text}");
    }
    let settings = read("\r\n\r\n[limits]\r\nat_once = 3\r\n").unwrap();
    let explained = settings.explain("limits.at_once").unwrap();
    assert_eq!(explained.row.place.as_deref(), Some("forge.toml:4"));
}

/// Numbers that look like chance and are always the same.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n
    }

    /// Some keys with values that they may have, as plain words.
    fn words(&mut self) -> Vec<(SettingKey, String)> {
        let mut words = Vec::new();
        for key in every_key() {
            if self.below(3) == 0 {
                let examples = examples(&key.path);
                words.push((key, examples[self.below(examples.len())].to_owned()));
            }
        }
        words
    }
}

/// Returns all keys, and those of a table that needs no naming by a file. Without `like`, because a
/// program cannot be started without a command.
fn every_key() -> Vec<SettingKey> {
    let mut keys = keys_with("[agents.claude]");
    keys.retain(|key| key.path != "agents.claude.like");
    keys
}

/// Words that each key accepts, by the beginning or the end of its path.
const EXAMPLES: &[(&str, &[&str])] = &[
    (".like", &["claude", "program"]),
    ("notify.command", &["mail", "[\"/a b\", '--c']"]),
    (".command", &["claude", "[\"/a b\", '--c']"]),
    (".acp", &["goose", "[\"goose\", 'acp']"]),
    (".model", &["opus", "a[1m]"]),
    (".tier", &["light", "max"]),
    (".effort", &["low", "xhigh"]),
    (".thinking", &["adaptive", "disabled"]),
    (".phases", &["[]", "[\"implement\", \"review-code max_iterations=2\", \"commit\"]"]),
    (".pass", &["[]", "A_KEY", "[\"A\", \"_b\"]"]),
    ("agents.scripted.scenario", &["a.toml", "/b/c.toml"]),
    ("handoff_threshold", &["1", "90"]),
    ("fallback_agents", &["[]", "claude", "[\"scripted\", \"claude\"]"]),
    ("review", &["as-set", "other-vendor"]),
    ("prices", &["[]", "[\"gpt-5 input=1.25 output=10\"]"]),
    (".env", &["[]", "[\"A=~/x\", \"B=$C\"]"]),
    (".expires", &["2027-03-01"]),
    ("agent", &["scripted", "claude"]),
    ("flow", &["feature", "my_flow-2"]),
    ("coherence", &["on", "off"]),
    ("agents_md", &["on", "off"]),
    ("architecture", &["[\"docs/architecture\", \"ARCHITECTURE.md\"]"]),
    ("budget", &["1", "2.50", "0.000001"]),
    ("at_once", &["1", "7", "256"]),
    ("unpriced_calls", &["1", "60"]),
    ("_minutes", &["1", "7", "256"]),
    ("_mib", &["1", "7", "256"]),
    ("secrets.files", &["[]", ".env"]),
    ("secrets.allow", &["[]", "tests/**"]),
    ("workspace.setup", &["[]", "make", "[\"a \\\"b\\\"\", 'c']"]),
    ("verify.commands", &["[]", "make", "[\"a \\\"b\\\"\", 'c']"]),
    ("setup_inputs", &["[]", "target", "[\"a/b\", \".env\"]"]),
    ("workspace.copy", &["[]", "target", "[\"a/b\", \".env\"]"]),
    ("workspace.cache", &["[]", "target", "[\"a/b\", \".env\"]"]),
    ("workspace.claims", &["warn", "defer", "block"]),
    ("workspace.root", &["../checkouts", "/b/c"]),
    ("verify.final", &["pristine", "cached"]),
    ("land.branch", &["forge/{run}", "x", "a/{words}/{id}"]),
    ("land.record", &["all", "summary", "none"]),
    ("effort.story_points", &["customfield_10016", "points"]),
    ("hosts.github", &["[]", "git.example.com"]),
    ("hosts.gitlab", &["[]", "git.example.com:8443"]),
    ("hosts.gitea", &["[]", "[\"a\", \"b.c\"]"]),
    ("hosts.jira", &["https://jira.example.com", "http://127.0.0.1:80/jira"]),
    ("hosts.keys", &["jira", "linear"]),
    ("pull_request.open", &["on-request", "at-end"]),
    ("pull_request.comment", &["on-request", "at-end"]),
    ("pull_request.draft", &["never", "open-notes", "always"]),
    ("pull_request.labels", &["[]", "[\"by forge\", \"x\"]"]),
    ("pull_request.reviewers", &["[]", "[\"ada\", \"corp/core\"]"]),
    ("pull_request.closes_issue", &["on", "off"]),
    ("pull_request.merge", &["merge", "squash", "rebase"]),
    ("push.remote", &["fork", "my.fork"]),
    ("work.pages", &["docs/work", "pages"]),
    ("work.engineering", &["docs/engineering"]),
    ("work.escalated", &["continue", "halt"]),
    ("notify.webhook", &["https://example.org", "http://127.0.0.1:8080"]),
    ("notify.bell", &["on", "off"]),
    ("notify.desktop", &["on", "off"]),
];

pub(super) fn examples(path: &str) -> &'static [&'static str] {
    let found = EXAMPLES.iter().find(|(part, _)| path.ends_with(part));
    found.map_or_else(|| panic!("{path} has no examples"), |(_, words)| *words)
}

fn toml(words: &[(SettingKey, String)]) -> String {
    words.iter().fold(String::new(), |mut text, (key, words)| {
        let _ = writeln!(text, "{} = {}", key.path, from_words(key, words).unwrap());
        text
    })
}

/// Reads a field out of the tree, without the layers that it came from.
fn field(settings: &Settings, path: &str) -> Option<serde_json::Value> {
    let tree = serde_json::to_value(&**settings).unwrap();
    let value = path.split('.').try_fold(&tree, |tree, word| tree.get(word))?;
    (!value.is_null()).then(|| value.clone())
}

#[test]
fn the_highest_layer_that_speaks_wins_and_explain_names_it_and_settings_use_it() {
    let mut chance = Chance(1);
    let mut won = [0_usize; 6];
    for _ in 0..300 {
        let mut layers: Vec<Vec<(SettingKey, String)>> = (0..5).map(|_| chance.words()).collect();
        // Only a person may say it.
        layers[1].retain(|(key, _)| !is_personal(&key.path));
        // It goes with neither `like` nor `command`.
        for words in &mut layers {
            words.retain(|(key, _)| key.path.rsplit('.').next() != Some("acp"));
        }
        let named = |words: &[(SettingKey, String)], name: fn(&SettingKey) -> String| {
            words.iter().map(|(key, words)| (name(key), words.clone())).collect()
        };
        let settings = Settings::from_sources(&Sources {
            user: file("user", &toml(&layers[0])),
            repo: file("repo", &toml(&layers[1])),
            local: file("local", &toml(&layers[2])),
            local_is: LocalFile::Personal,
            top: None,
            environment: named(&layers[3], SettingKey::variable),
            models: vec![],
            flags: named(&layers[4], |key| key.path.clone()),
        })
        .unwrap();
        for key in every_key() {
            let above = [Layer::User, Layer::Repo, Layer::Local, Layer::Environment, Layer::Flags];
            let said = |words: &Vec<(SettingKey, String)>| {
                words.iter().position(|(said, _)| said.path == key.path)
            };
            let speaks = layers.iter().enumerate().rfind(|(_, words)| said(words).is_some());
            let expected = speaks.map(|(layer, words)| {
                (above[layer], from_words(&key, &words[said(words).unwrap()].1).unwrap())
            });
            let expected = expected.or_else(|| Some((Layer::Shipped, key.row.shipped.clone()?)));
            let explained = settings.explain(&key.path).unwrap();
            assert_eq!(explained.row.layer, expected.as_ref().map(|(layer, _)| *layer));
            assert_eq!(explained.row.value, expected.as_ref().map(|(_, value)| value.clone()));
            let used = expected.clone().map(|(_, value)| match value {
                Value::Text(text) if key.path.ends_with("budget") => {
                    Money::parse(&text).unwrap().to_decimal().into()
                }
                value @ (Value::Text(_) | Value::Count(_) | Value::List(_)) => {
                    serde_json::to_value(value).unwrap()
                }
            });
            assert_eq!(field(&settings, &key.path), used);
            let n_speaking = layers.iter().filter(|words| said(words).is_some()).count();
            let n_shipped = usize::from(key.row.shipped.is_some());
            assert_eq!(explained.said.len(), n_speaking + n_shipped, "nobody is left out");
            assert!(explained.said.iter().rev().is_sorted_by_key(|said| said.layer));
            if let (Some((_, words)), Some(file)) =
                (speaks, explained.said.first().and_then(|said| said.file.clone()))
            {
                let place = format!("{file}:{}", said(words).unwrap() + 1);
                assert_eq!(explained.row.place.as_deref(), Some(place.as_str()));
            }
            if let Some((layer, _)) = expected {
                won[layer as usize] += 1;
            }
        }
    }
    assert!(won.iter().all(|n| *n > 50), "every layer wins now and then: {won:?}");
}

#[test]
fn it_does_not_matter_which_layers_are_put_together_first() {
    let mut chance = Chance(2);
    for _ in 0..200 {
        let mut read = |layer| {
            let text = toml(&chance.words());
            LayeredSettings::from_file(layer, &SourceFile { name: "f".to_owned(), text }).unwrap()
        };
        let (a, b, c) = (read(Layer::User), read(Layer::Repo), read(Layer::Local));
        let left = a.clone().under(b.clone()).under(c.clone());
        let right = a.clone().under(b.clone().under(c.clone()));
        assert_eq!(left, right);
        assert_eq!(LayeredSettings::default().under(a.clone()), a);
        assert_eq!(a.clone().under(LayeredSettings::default()), a);
        if let (Some(mine), Some(yours)) = (a.winner("limits.at_once"), c.winner("limits.at_once"))
        {
            assert_ne!(mine, yours, "the place is part of what is said");
        }
    }
}

#[test]
fn the_example_in_the_documents_is_right_and_has_every_key() {
    let page = include_str!("../../../../docs/reference/settings.md");
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let settings = read(example).unwrap();
    // What only a person may say is not in an example of the repository's file.
    for key in fixed_keys().filter(|key| !is_personal(&key.path)) {
        let said = settings.explain(&key.path).unwrap().said;
        assert_eq!(said[0].layer, Layer::Repo, "the example says nothing about {}", key.path);
        if matches!(shipped_of(&said), Some(Value::Count(_))) {
            assert_eq!(
                Some(&said[0].value),
                shipped_of(&said),
                "{} is not what is shipped",
                key.path
            );
        }
    }
}

#[test]
fn where_checkouts_lie_is_not_for_a_repository_to_say() {
    let trouble = read("[workspace]\nroot = \"../checkouts\"\n").unwrap_err();
    assert_eq!(
        trouble.what,
        "forge.toml, line 2: workspace.root is a personal setting, not one of a repository"
    );
    assert!(trouble.next.unwrap().contains("forge.local.toml"));
}

/// Finds the shipped value in a list of layers.
fn shipped_of(said: &[SaidRow]) -> Option<&Value> {
    said.iter().find(|said| said.layer == Layer::Shipped).map(|said| &said.value)
}

#[test]
fn every_key_is_found_by_its_path_and_no_two_share_a_path_or_a_variable() {
    let mut variables: Vec<String> = fixed_keys().map(|key| key.variable()).collect();
    variables.sort();
    variables.dedup();
    assert_eq!(variables.len(), fixed_keys().count());
    for key in fixed_keys() {
        assert_eq!(SettingKey::find(&key.path).unwrap().path, key.path);
        assert!(check(&key.path, "{}").is_err(), "{key:?} is a value, and cannot be a table, too");
        let row = key.row.meaning();
        assert!(!row.about.is_empty() && !row.may_be.is_empty(), "{} has no doc", key.path);
    }
    for table in ["limits", "agents.scripted", "roles.Writer"] {
        assert_eq!(check(table, "{}"), Ok(()));
    }
    for table in ["limit", "agents.Mine"] {
        assert!(check(table, "{}").is_err(), "{table}");
    }
    assert!(
        SettingKey::find("agents.*.like").is_none()
            && SettingKey::find("agents.scripted.like").is_none()
    );
}

#[test]
fn a_key_in_the_wrong_table_is_found_in_the_right_one() {
    for (path, meant) in [
        ("budget", "limits.budget"),
        ("limits.budgt", "limits.budget"),
        ("limts", "limits"),
        ("role", "roles"),
        ("agents.mine.modl", "agents.mine.model"),
        ("agents.scripted.modl", "agents.scripted.scenario"),
    ] {
        assert_eq!(hint(path), format!("; did you mean `{meant}`?"));
    }
    assert_eq!(hint("zzzzzzzzzzzz"), "");
    assert_eq!(hint(""), "");
}

#[test]
fn what_is_shipped_is_what_a_person_could_have_written() {
    for key in fixed_keys() {
        if let Some(value) = key.row.shipped.clone() {
            let words = match &value {
                Value::Text(text) => text.clone(),
                Value::Count(_) | Value::List(_) => value.to_string(),
            };
            assert_eq!(from_words(&key, &words), Ok(value), "{key:?}");
        }
    }
}
