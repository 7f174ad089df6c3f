//! `forge config set` and `unset`: change one value of a settings file, and leave all else as it
//! is.
//!
//! Not here: which file a person means, which the command line says, and what the value means.
//!
//! Invariant: a file is replaced as a whole, by rename, and only by a text that was read again
//! and is right. Comments, order and line ends stay.
//! Invariant: settings that were right before are right afterwards, all layers together.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use toml_edit::{Array, Item, Table, TableLike};

use super::{
    keys::SettingKey,
    layers::{Layer, LayeredSettings},
    read_value::from_words,
    resolve::{Settings, is_personal},
    sources::{FILE, LOCAL_FILE, SourceFile, Sources, USER_FILE},
    toml_text::{changed, table_at},
    values::Value,
};
use crate::{Error, personal_dirs, refuse_agents};

/// A file that is changed, and what the other layers say.
#[derive(Clone, Debug)]
pub struct EditedFile {
    path: PathBuf,
    layer: Layer,
    /// Nothing, if the layers cannot be read.
    around: Option<Sources>,
}

/// A change that was made to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingChange {
    /// The path of the key.
    pub key: String,
    /// What the file says now, as it may be shown. Nothing, if it was taken out.
    pub value: Option<Value>,
    /// Whether the file existed before the edit.
    pub file_existed: bool,
}

impl EditedFile {
    /// Chooses the repository's file, in this checkout.
    pub fn repo(top: &Path) -> Self {
        Self { path: top.join(FILE), layer: Layer::Repo, around: Sources::read(Some(top)).ok() }
    }

    /// Chooses the person's file in this checkout.
    pub fn local(top: &Path) -> Self {
        Self {
            path: top.join(LOCAL_FILE),
            layer: Layer::Local,
            around: Sources::read(Some(top)).ok(),
        }
    }

    /// Chooses the person's file for all repositories.
    pub fn user(top: Option<&Path>) -> Result<Self, Error> {
        let path = personal_dirs::config_dir()?.join(USER_FILE);
        Ok(Self { path, layer: Layer::User, around: Sources::read(top).ok() })
    }

    /// Chooses the file in which a person makes an agent their own: the user's, unless only this checkout knows it.
    pub fn for_agent(settings: &Settings, top: Option<&Path>, name: &str) -> Result<Self, Error> {
        let said = settings.explain(&format!("agents.{name}.command")).map(|key| key.said);
        let said = said.unwrap_or_default();
        let is_of_user = said.iter().any(|said| said.layer <= Layer::User);
        match top {
            Some(top) if !said.is_empty() && !is_of_user => Ok(Self::local(top)),
            Some(_) | None => Self::user(top),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets a key. Agents are refused.
    pub fn set(&self, key: &str, words: &str) -> Result<SettingChange, Error> {
        refuse_agents()?;
        let key = SettingKey::parse(key)?;
        if is_personal(&key.path) && self.layer == Layer::Repo {
            let what = format!("{} is a personal setting, so {FILE} cannot have it", key.path);
            let words = if words.contains(char::is_whitespace) { "VALUE" } else { words };
            let next = format!("forge config set --local {} {words}", key.path);
            return Err(Error::usage(what, next));
        }
        let value = from_words(&key, words).map_err(|flaw| {
            Error::usage(flaw.what, format!("forge config explain {}", key.path))
        })?;
        self.change(&key, Some(value))
    }

    /// Takes a key out. Agents are refused.
    pub fn unset(&self, key: &str) -> Result<SettingChange, Error> {
        refuse_agents()?;
        self.change(&SettingKey::parse(key)?, None)
    }

    fn change(&self, key: &SettingKey, value: Option<Value>) -> Result<SettingChange, Error> {
        let path = &self.path;
        let found = SourceFile::read(path)?;
        let file_existed = found.is_some();
        let text = found.map(|file| file.text).unwrap_or_default();
        let changed = match &value {
            Some(value) => with(&text, &key.path, value),
            None => without(&text, &key.path),
        };
        let name = path.display().to_string();
        let read = |file: &SourceFile| LayeredSettings::from_file(self.layer, file);
        let before = SourceFile { name: name.clone(), text };
        if value.is_none() && read(&before)?.winner(&key.path).is_none() {
            let what = format!("`{}` is not set in {}", key.path, path.display());
            return Err(Error::usage(what, format!("forge config explain {}", key.path)));
        }
        let text = changed.map_err(|why| {
            let by_hand = if value.is_some() { "set" } else { "remove" };
            let what = format!("{}: {why}", path.display());
            Error::usage(what, format!("{by_hand} {} in {} by hand", key.path, path.display()))
        })?;
        let after = SourceFile { name, text };
        let layers = read(&after)?;
        let is_read = layers.winner(&key.path).map(|winner| &winner.value);
        assert_eq!(is_read, value.as_ref(), "what is set is read");
        self.refuse_worse(&after, key, value.as_ref())?;
        // A file that says nothing any more would only have to be committed.
        if value.is_none() && after.text.trim().is_empty() {
            fs::remove_file(path).map_err(|error| Error::file(path, &error))?;
        } else {
            replace(path, &after.text).map_err(|error| Error::file(path, &error))?;
        }
        let value = value.map(|value| key.without_secret(&value));
        Ok(SettingChange { key: key.path.clone(), value, file_existed })
    }

    /// Refuses what would make settings wrong. Those that are wrong already can be corrected one after the other.
    fn refuse_worse(
        &self,
        after: &SourceFile,
        key: &SettingKey,
        value: Option<&Value>,
    ) -> Result<(), Error> {
        let Some(mut sources) = self.around.clone() else { return Ok(()) };
        if Settings::from_sources(&sources).is_err() {
            return Ok(());
        }
        match self.layer {
            Layer::User => sources.user = Some(after.clone()),
            Layer::Repo => sources.repo = Some(after.clone()),
            Layer::Local => sources.local = Some(after.clone()),
            Layer::Shipped | Layer::Environment | Layer::Flags => {
                unreachable!("only files are changed")
            }
        }
        let settings = Settings::from_sources(&sources)?;
        // Another layer may win now, and not later.
        let names_agent = key.path.rsplit('.').next() == Some("agent");
        match value {
            Some(value) if names_agent => {
                settings.check_agent(value.to_string().trim_matches('"'), &key.path)
            }
            Some(_) => settings.refuse_misspelt_agent(key),
            None => Ok(()),
        }
    }
}

/// Returns the text with one value set.
fn with(text: &str, path: &str, value: &Value) -> Result<String, String> {
    let mut new = match value {
        Value::Text(text) => toml_edit::Value::from(text.as_str()),
        Value::Count(count) => {
            toml_edit::Value::from(i64::try_from(*count).expect("a count is small"))
        }
        Value::List(list) => toml_edit::Value::from(list.iter().collect::<Array>()),
    };
    let (tables, name) = path.rsplit_once('.').unwrap_or(("", path));
    changed(text, |document| {
        let top = tables.split('.').next().unwrap_or_default();
        // What stands at the end of the file stays before a table that is added there.
        let end = document.trailing().as_str().unwrap_or_default().to_owned();
        let is_added = !top.is_empty() && !document.contains_key(top) && !end.trim().is_empty();
        let mut table: &mut dyn TableLike = document.as_table_mut();
        for word in tables.split('.').filter(|word| !word.is_empty()) {
            let item = table.entry(word).or_insert_with(|| {
                // A table that only holds tables needs no line of its own.
                let mut table = Table::new();
                table.set_implicit(true);
                Item::Table(table)
            });
            table = item.as_table_like_mut().ok_or_else(|| format!("`{word}` is not a table"))?;
        }
        match table.get_mut(name) {
            Some(Item::Value(old)) => {
                // The comment behind a value belongs to the line, and stays.
                *new.decor_mut() = old.decor().clone();
                *old = new;
            }
            Some(Item::None | Item::Table(_) | Item::ArrayOfTables(_)) => {
                return Err(format!("`{path}` is a table"));
            }
            None => {
                table.insert(name, Item::Value(new));
            }
        }
        if is_added {
            document.set_trailing("");
            let item = tables.split('.').fold(document.as_item_mut(), |item, word| &mut item[word]);
            if let Some(table) = item.as_table_mut() {
                table.decor_mut().set_prefix(format!("{end}\n"));
            }
        }
        Ok(())
    })
}

/// Returns the text with one value taken out, and its table if that is empty then and no comment is at it.
fn without(text: &str, path: &str) -> Result<String, String> {
    let (tables, name) = path.rsplit_once('.').unwrap_or(("", path));
    let missing = || format!("`{path}` is not set in this file");
    changed(text, |document| {
        let table = table_at(document, tables)?.ok_or_else(missing)?;
        match table.get(name) {
            Some(Item::Value(_)) => {
                table.remove(name);
                let is_bare = |item: &Item| {
                    let table = item.as_table();
                    table.is_some_and(|table| {
                        let before = table.decor().prefix().and_then(|prefix| prefix.as_str());
                        table.is_empty() && before.is_none_or(|text| text.trim().is_empty())
                    })
                };
                if !tables.contains('.') && document.get(tables).is_some_and(is_bare) {
                    document.remove(tables);
                }
                Ok(())
            }
            Some(Item::Table(_) | Item::ArrayOfTables(_)) => Err(format!("`{path}` is a table")),
            Some(Item::None) | None => Err(missing()),
        }
    })
}

/// Replaces a file. One behind a link stays where it is.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = if path.is_symlink() { fs::canonicalize(path)? } else { path.to_owned() };
    let folder = path.parent().expect("a file lies in a folder");
    fs::create_dir_all(folder)?;
    let scratch: PathBuf = folder.join(format!(".forge-{}.tmp", std::process::id()));
    let written = write(&path, &scratch, text);
    if written.is_err() {
        let _ = fs::remove_file(&scratch);
    }
    written?;
    File::open(folder)?.sync_all()
}

fn write(path: &Path, scratch: &Path, text: &str) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).open(scratch)?;
    match fs::metadata(path) {
        Ok(meta) => file.set_permissions(meta.permissions())?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(scratch, path)
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{examples, keys_with},
        *,
    };

    fn file(path: &Path) -> EditedFile {
        EditedFile { path: path.to_owned(), layer: Layer::Repo, around: Some(Sources::default()) }
    }

    fn edited(text: &str, path: &str, words: &str) -> String {
        with(text, path, &from_words(&SettingKey::find(path).unwrap(), words).unwrap()).unwrap()
    }

    #[test]
    fn comments_order_and_line_ends_stay() {
        let text = "# mine\n\n[limits] # all\n  budget = \"2\"   # dollars\n\n# eight\nat_once = 8\n\n[verify]\ncommands = [\n  \"a\", # first\n]\n";
        assert_eq!(
            edited(text, "limits.budget", "3"),
            text.replace("\"2\"   # dollars", "\"3\"   # dollars")
        );
        assert_eq!(edited(text, "limits.at_once", "9"), text.replace("at_once = 8", "at_once = 9"));
        let crlf = text.replace('\n', "\r\n");
        assert_eq!(
            edited(&crlf, "limits.at_once", "9"),
            crlf.replace("at_once = 8", "at_once = 9"),
            "Windows line ends"
        );
        let bom = format!("\u{feff}{text}");
        assert_eq!(edited(&bom, "limits.at_once", "9"), bom.replace("at_once = 8", "at_once = 9"));
    }

    #[test]
    fn a_key_that_is_not_there_is_put_into_its_table_however_that_is_written() {
        for (text, key, words, expected) in [
            ("", "agent", "scripted", "agent = \"scripted\"\n"),
            ("", "limits.at_once", "3", "[limits]\nat_once = 3\n"),
            (
                "agent = \"scripted\"\n\n# [limits]\n# at_once = 2\n",
                "limits.at_once",
                "3",
                "agent = \"scripted\"\n\n# [limits]\n# at_once = 2\n\n[limits]\nat_once = 3\n",
            ),
            (
                "",
                "agents.scripted.scenario",
                "a.toml",
                "[agents.scripted]\nscenario = \"a.toml\"\n",
            ),
            (
                "[limits]\nbudget = \"1\"\n\n[land]\n",
                "limits.at_once",
                "3",
                "[limits]\nbudget = \"1\"\nat_once = 3\n\n[land]\n",
            ),
            (
                "limits.budget = \"1\"\n",
                "limits.at_once",
                "3",
                "limits.budget = \"1\"\nlimits.at_once = 3\n",
            ),
            (
                "limits = { budget = \"1\" }\n",
                "limits.at_once",
                "3",
                "limits = { budget = \"1\" , at_once = 3 }\n",
            ),
            ("[limits]\n", "agent", "scripted", "agent = \"scripted\"\n[limits]\n"),
            (
                "",
                "verify.commands",
                "[\"a\", 'b \"c\"']",
                "[verify]\ncommands = [\"a\", 'b \"c\"']\n",
            ),
        ] {
            assert_eq!(edited(text, key, words), expected);
        }
    }

    /// Returns all keys, and those of some tables.
    fn every_key() -> Vec<SettingKey> {
        keys_with("[agents.claude]\n[agents.my-own]\n[roles.r_1]")
    }

    #[test]
    fn what_is_set_is_read_again_for_every_key_in_every_file() {
        let files = [
            "",
            "# only a comment",
            "agent = \"scripted\"",
            "[limits]\nat_once = 2\n[agents.scripted]\nscenario = \"x\"\n[workspace]\nsetup = []\n",
            "limits.at_once = 2\nagents.scripted.scenario = \"x\"\nverify = { final = \"cached\" }",
            "agents = { scripted = { scenario = \"x\" } }\r\n[land]\r\nbranch = \"x\"\r\n",
            "[agents.claude]\nmodel = \"x\" # m\n[agents.my-own]\n[roles]\nr_1 = { agent = \"claude\" }\n",
            "[agents]\n[agents.scripted]\n[limits]\n[workspace]\n[verify]\n[land]\n",
        ];
        for text in files {
            let read = |text: &str| {
                let file = SourceFile { name: "f".to_owned(), text: text.to_owned() };
                LayeredSettings::from_file(Layer::Repo, &file).expect("what was right stays right")
            };
            let before = read(text);
            for key in every_key() {
                let path = &key.path;
                for words in examples(path) {
                    let value = from_words(&key, words).unwrap();
                    let after = read(&with(text, path, &value).unwrap());
                    assert_eq!(after.winner(&key.path).map(|said| &said.value), Some(&value));
                    let again = without(&with(text, path, &value).unwrap(), path).unwrap();
                    assert_eq!(read(&again).winner(&key.path), None, "and it can be taken out");
                    for other in every_key().into_iter().filter(|other| other.path != key.path) {
                        let of = |layers: &LayeredSettings| {
                            layers.winner(&other.path).map(|said| said.value.clone())
                        };
                        assert_eq!(of(&before), of(&after), "{other:?} stays as it was");
                    }
                }
            }
        }
    }

    #[test]
    fn a_file_that_is_set_is_made_kept_whole_and_kept_behind_its_link() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/config.toml");
        let change = file(&path).set("limits.at_once", "3").unwrap();
        assert_eq!((change.key.as_str(), change.file_existed), ("limits.at_once", false));
        let link = folder.path().join("link.toml");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(file(&link).set("limits.at_once", "4").unwrap().file_existed);
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "[limits]\nat_once = 4\n");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left");
    }

    #[test]
    fn what_would_be_wrong_is_refused_and_the_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.toml");
        for (text, key, words, expected) in [
            ("agent = ", "limits.at_once", "3", "line 1"),
            ("a = 1\n", "limits.at_once", "3", "unknown key `a`"),
            ("limits = 3\n", "limits.at_once", "3", "`limits` is not a table"),
            ("[agent]\n", "agent", "scripted", "`agent` is a table"),
            ("", "limits.at_once", "0", "limits.at_once: 0 is not a valid value"),
            ("", "limits.at_onc", "3", "did you mean `limits.at_once`?"),
            ("", "budget", "3", "did you mean `limits.budget`?"),
            ("", "", "3", "unknown key ``"),
            ("", "agents.mine.comand", "3", "did you mean `agents.mine.command`?"),
            (
                "",
                "agents.Mine.command",
                "3",
                "is not a valid agent name: at most 40 lower-case letters",
            ),
            ("", "agents.scripted.command", "3", "unknown key `agents.scripted.command`"),
            ("", "agents.mine", "3", "unknown key `agents.mine`"),
            ("", "roles.a.b.agent", "3", "is not a valid role name: at most 40 letters"),
            ("", "agents.mine.command", "./a --fast", "expected a list of a program and its"),
            ("", "agents.mine.command", "[]", "agents.mine.command: it is empty; expected"),
            ("", "agent", "mine", "line 1: unknown agent `mine`"),
            ("", "workspace.root", "../x", "is a personal setting"),
            ("", "agents.cluade.model", "x", "unknown agent `cluade`; did you mean `claude`?"),
        ] {
            fs::write(&path, text).unwrap();
            let trouble = file(&path).set(key, words).unwrap_err();
            assert!(trouble.what.contains(expected), "{trouble}");
            assert!(trouble.next.is_some());
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        // A wrong value can be set right.
        fs::write(&path, "[limits]\nat_once = 0\n").unwrap();
        file(&path).set("limits.at_once", "3").unwrap();
    }

    #[test]
    fn what_is_taken_out_is_gone_and_the_rest_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.toml");
        let text = "# ours\r\n[limits]\r\nat_once = 3 # few\r\nbudget = \"2\"\r\n\r\n[agents.mine]\r\nmodel = \"x\"\r\n";
        fs::write(&path, text).unwrap();
        let change = file(&path).unset("limits.at_once").unwrap();
        assert_eq!((change.key.as_str(), change.value), ("limits.at_once", None));
        let left = text.replace("at_once = 3 # few\r\n", "");
        assert_eq!(fs::read_to_string(&path).unwrap(), left);
        file(&path).unset("agents.mine.model").unwrap();
        let left = left.replace("model = \"x\"\r\n", "");
        assert_eq!(fs::read_to_string(&path).unwrap(), left);
        for (key, expected) in [
            ("limits.at_once", "`limits.at_once` is not set in"),
            ("agents.other.model", "`agents.other.model` is not set in"),
            ("limits.at_onc", "did you mean `limits.at_once`?"),
            ("limits", "`limits` is a table; name one of its keys: "),
        ] {
            let trouble = file(&path).unset(key).unwrap_err();
            assert!(trouble.what.contains(expected) && trouble.next.is_some(), "{trouble}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), left);
        fs::write(&path, "limits = { at_once = 3, budget = \"1\" }\nverify.final = \"cached\"")
            .unwrap();
        file(&path).unset("limits.at_once").unwrap();
        file(&path).unset("verify.final").unwrap();
        let left = fs::read_to_string(&path).unwrap();
        assert!(left.contains("budget") && !left.contains("final"), "{left}");
    }

    #[test]
    fn what_was_right_with_the_other_layers_stays_right_with_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.toml");
        let of =
            |name: &str, text: &str| SourceFile { name: name.to_owned(), text: text.to_owned() };
        let local = "[agents.mine]\ncommand = [\"/x\"]\n";
        let sources = Sources { local: Some(of("l", local)), ..Sources::default() };
        let file = |sources: &Sources| EditedFile { around: Some(sources.clone()), ..file(&path) };
        // Another layer has set it up.
        file(&sources).set("agent", "mine").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "agent = \"mine\"\n");
        fs::write(&path, "agent = \"own\"\n[agents.own]\ncommand = [\"x\"]\n").unwrap();
        let before = fs::read_to_string(&path).unwrap();
        let sources = Sources { repo: Some(of("r", &before)), ..Sources::default() };
        let trouble = file(&sources).unset("agents.own.command").unwrap_err();
        assert!(trouble.what.contains("unknown agent `own`"), "{trouble}");
        assert_eq!(fs::read_to_string(&path).unwrap(), before);
        // What is wrong already may be mended in any order.
        let wrong = Sources { user: Some(of("u", "agent = \"gone\"")), ..Sources::default() };
        file(&wrong).set("agent", "later").unwrap();
    }
}
