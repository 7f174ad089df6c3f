//! Files that still use the old name of a key that was renamed.
//!
//! An older key is an error that names `forge doctor --fix`, which rewrites the file and keeps its comments. The
//! names are in `keys.rs`.
//!
//! Invariant: a file is rewritten only as a whole, and only if what comes out of it can be read.

use toml_edit::DocumentMut;

use super::{
    keys::RENAMED,
    layers::{Layer, LayeredSettings},
    sources::SourceFile,
    toml_text::{changed, table_at},
};
use crate::Error;

/// A settings file that uses older names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenamedKeys {
    /// The new content of the file.
    pub text: String,
    /// The old and the new names.
    pub keys: Vec<(&'static str, &'static str)>,
}

/// Rewrites a file with the names that count. Nothing, if it has no older ones.
pub fn rename_keys(layer: Layer, file: &SourceFile) -> Result<Option<RenamedKeys>, Error> {
    let mut keys = Vec::new();
    let text = changed(&file.text, |document| {
        for (old, new) in RENAMED {
            if rename(document, old, new)? {
                keys.push((*old, *new));
            }
        }
        Ok(())
    });
    let by_hand = format!("fix {} by hand", file.name);
    let text =
        text.map_err(|why| Error::usage(format!("{}: {why}", file.name), by_hand.clone()))?;
    if keys.is_empty() {
        return Ok(None);
    }
    let after = SourceFile { name: file.name.clone(), text: text.clone() };
    LayeredSettings::from_file(layer, &after)?;
    Ok(Some(RenamedKeys { text, keys }))
}

/// Renames a key, and returns whether there was something to rename.
fn rename(document: &mut DocumentMut, old: &str, new: &str) -> Result<bool, String> {
    let (table, old_word) = old.rsplit_once('.').unwrap_or(("", old));
    let new_word = match new.rsplit_once('.') {
        Some((same, word)) if same == table => word,
        Some(_) | None => unreachable!("a key that moved stays in its table"),
    };
    let Ok(Some(inner)) = table_at(document, table) else { return Ok(false) };
    if !inner.contains_key(old_word) {
        return Ok(false);
    }
    if inner.contains_key(new_word) {
        return Err(format!("it has both {old} and {new}"));
    }
    // With what stands above it; a comment belongs to its line.
    let before = inner.key(old_word).map(|key| key.leaf_decor().clone());
    let item = inner.remove(old_word).expect("it is there");
    inner.insert(new_word, item);
    if let (Some(before), Some(mut key)) = (before, inner.key_mut(new_word)) {
        *key.leaf_decor_mut() = before;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> SourceFile {
        SourceFile { name: "forge.toml".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn older_names_become_newer_ones_and_comments_stay() {
        let text = "# ours\n[verify]\ncommands = [\"make\"] # all\n# long\ntimeout = 5 # minutes\n";
        let renewed = rename_keys(Layer::Repo, &file(text)).unwrap().unwrap();
        assert_eq!(renewed.text, text.replace("timeout", "timeout_minutes"));
        assert_eq!(renewed.keys, [("verify.timeout", "verify.timeout_minutes")]);
        assert_eq!(rename_keys(Layer::Repo, &file(&renewed.text)).unwrap(), None);
        assert_eq!(rename_keys(Layer::Repo, &file("agent = \"x\"\n")).unwrap(), None);
    }

    #[test]
    fn what_would_be_wrong_is_left_to_a_person() {
        for text in ["[verify]\ntimeout = 1\ntimeout_minutes = 2\n", "verify.timeout = \"x\"\n"] {
            assert!(rename_keys(Layer::Repo, &file(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn every_old_name_is_gone_and_every_new_one_is_a_key() {
        for (old, new) in RENAMED {
            assert!(super::super::keys::SettingKey::find(old).is_none(), "{old}");
            assert!(super::super::keys::SettingKey::find(new).is_some(), "{new}");
        }
    }
}
