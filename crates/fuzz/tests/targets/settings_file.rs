//! Settings: what is accepted also fulfils the published schema, and is the same when it is shown and read again.

use std::sync::LazyLock;

use forge_fuzz::FuzzTarget;
use forge_project::settings::{FILE, Layer, SettingRow, Settings, SourceFile, Sources, schema};

use crate::toml_text::written;

static SCHEMA: LazyLock<jsonschema::Validator> =
    LazyLock::new(|| jsonschema::validator_for(&serde_json::to_value(schema()).unwrap()).unwrap());

#[test]
fn settings_that_are_accepted_read_the_same_as_they_are_shown() {
    let tokens = &[
        "agent = \"claude\"\n",
        "[limits]\n",
        "at_once = 3\n",
        "budget = \"2.50\"\n",
        "[agents.mine]\n",
        "command = [\"./x\", \"-y\"]\n",
        "like = \"program\"\n",
        "model = \"opus\"\n",
        "pass = [\"KEY\"]\n",
        "[roles.writer]\n",
        "[secrets]\n",
        "allow = [\"tests/**\"]\n",
        "files = [\".env\"]\n",
        "[verify]\n",
        "commands = [\"make\"]\n",
        "timeout_minutes = 5\n",
        "final = \"cached\"\n",
        "[land]\n",
        "branch = \"a/{run}\"\n",
        "record = \"none\"\n",
        "[workspace]\n",
        "root = \"../x\"\n",
        "claims = \"defer\"\n",
        "[notify]\n",
        "webhook = \"https://a.b/c\"\n",
        "bell = true\n",
        "coherence = \"off\"\n",
        "{run}",
        "\"\"\"",
        "'''",
    ];
    FuzzTarget { name: "settings-file", check, tokens, bytes_max: 16 * 1024 }.run();
}

fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let settings = match read(text) {
        Ok(settings) => settings,
        Err(error) => return assert!(!error.is_empty(), "an error says something"),
    };
    let plain = text.trim_start_matches('\u{feff}');
    let table: toml::Table = toml::from_str(plain).expect("what is accepted is TOML");
    let json = serde_json::to_value(&table).unwrap();
    assert!(SCHEMA.is_valid(&json), "accepted against the schema: {json}");
    let in_form = read(&written(&table));
    assert_eq!(in_form.map(|settings| values(&settings)), Ok(values(&settings)), "in another form");
    // A secret address is not shown, so it cannot be read again.
    let is_shown =
        |row: &&SettingRow| row.layer == Some(Layer::Repo) && row.key != "notify.webhook";
    let rows = settings.list();
    let shown: String = rows
        .iter()
        .filter(is_shown)
        .filter_map(|row| row.value.as_ref().map(|value| format!("{} = {value}\n", row.key)))
        .collect();
    let again = read(&shown).unwrap_or_else(|error| panic!("{error}\nof what is shown:\n{shown}"));
    for row in rows.iter().filter(is_shown) {
        let same = again.list().into_iter().find(|other| other.key == row.key);
        assert_eq!(same.and_then(|row| row.value), row.value, "{}", row.key);
    }
}

fn read(text: &str) -> Result<Settings, String> {
    let repo = Some(SourceFile { name: FILE.to_owned(), text: text.to_owned() });
    let sources = Sources { repo, top: Some("/top".into()), ..Sources::default() };
    Settings::from_sources(&sources).map_err(|error| error.what)
}

fn values(settings: &Settings) -> Vec<(String, Option<String>)> {
    let rows = settings.list().into_iter();
    rows.map(|row| (row.key, row.value.map(|value| value.to_string()))).collect()
}
