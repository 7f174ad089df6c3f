//! Takes secrets out of whole texts and files.
//!
//! JSON is redacted string by string, so that it stays JSON whatever a secret takes with it.
//!
//! Invariant: a file is either as it was or without its secrets, never half of it.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Seek as _, Write},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use rustix::fs::OFlags;
use serde_json::Value;

use super::redactor::Redactor;

/// Larger JSON is redacted like any other text, in bytes.
const JSON_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// A larger file is left as it is, in bytes: nothing of that size is ever taken in.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How much of a file is read at once, in bytes.
const CHUNK_BYTES: usize = 64 * 1024;

impl Redactor {
    /// A whole text without its secrets.
    pub fn clean(&mut self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        self.push(text, &mut out);
        self.finish(&mut out);
        out
    }

    /// The same for JSON, which stays JSON. What is none is taken for a text.
    pub fn clean_json(&mut self, text: &[u8]) -> Vec<u8> {
        let Ok(mut value) = serde_json::from_slice::<Value>(text) else { return self.clean(text) };
        match self.clean_value(&mut value) {
            Was::Clean => text.to_vec(),
            Was::Changed => serde_json::to_vec(&value).expect("JSON can be written"),
        }
    }

    fn clean_value(&mut self, value: &mut Value) -> Was {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => Was::Clean,
            Value::String(text) => {
                let clean = self.clean(text.as_bytes());
                if clean == text.as_bytes() {
                    return Was::Clean;
                }
                *text = String::from_utf8_lossy(&clean).into_owned();
                Was::Changed
            }
            Value::Array(values) => values.iter_mut().map(|value| self.clean_value(value)).sum(),
            Value::Object(entries) => {
                let old = std::mem::take(entries);
                let mut was = Was::Clean;
                for (name, mut value) in old {
                    // The name tells something about a value that is a text.
                    let told = value.as_str().and_then(|text| self.told_by(&name, text));
                    if let Some(told) = told {
                        value = Value::String(told);
                        was = Was::Changed;
                    }
                    was = [was, self.clean_value(&mut value)].into_iter().sum();
                    let clean = String::from_utf8_lossy(&self.clean(name.as_bytes())).into_owned();
                    if clean != name {
                        was = Was::Changed;
                    }
                    entries.insert(clean, value);
                }
                was
            }
        }
    }

    /// What is left of a value with this name, if the name makes it a secret.
    fn told_by(&mut self, name: &str, text: &str) -> Option<String> {
        let line = format!("\"{name}\":\"{text}\"");
        let clean = self.clean(line.as_bytes());
        let is_told = clean == format!("\"{name}\":\"[redacted]\"").into_bytes();
        is_told.then(|| "[redacted]".to_owned())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Was {
    Clean,
    Changed,
}

impl std::iter::Sum for Was {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        // All are looked at: each look cleans.
        all.fold(Self::Clean, |one, other| if other == Self::Changed { other } else { one })
    }
}

/// Takes the secrets out of a regular file, if it has any. No link is followed.
pub(crate) fn clean_file(path: &Path, redactor: &mut Redactor) -> io::Result<()> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if metadata.len() > FILE_BYTES_MAX {
        return Ok(());
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".redacted");
    let beside = path.with_file_name(name);
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    let was = if is_json && metadata.len() <= JSON_BYTES_MAX {
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let clean = redactor.clean_json(&text);
        if clean == text {
            Was::Clean
        } else {
            new_file(&beside)?.write_all(&clean)?;
            Was::Changed
        }
    } else {
        // Most files have none: they are only read.
        let was = clean_stream(&mut file, &mut io::sink(), redactor)?;
        if was == Was::Changed {
            file.rewind()?;
            clean_stream(&mut file, &mut new_file(&beside)?, redactor)?;
        }
        was
    };
    match was {
        Was::Clean => Ok(()),
        Was::Changed => {
            fs::set_permissions(&beside, metadata.permissions())?;
            fs::rename(&beside, path)
        }
    }
}

/// A new file in place of whatever lies there. The agent had the folder, so that may be a link or a pipe.
fn new_file(path: &Path) -> io::Result<File> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path)?,
        Ok(_) => fs::remove_file(path)?,
        Err(_) => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Writes what is left of a file; whether something was taken out.
fn clean_stream(file: &mut File, to: &mut impl Write, redactor: &mut Redactor) -> io::Result<Was> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut clean = Vec::new();
    let before = redactor.marks;
    loop {
        let n = file.read(&mut chunk)?;
        if n == 0 {
            redactor.finish(&mut clean);
            to.write_all(&clean)?;
            return Ok(if redactor.marks == before { Was::Clean } else { Was::Changed });
        }
        redactor.push(&chunk[..n], &mut clean);
        to.write_all(&clean)?;
        clean.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> String {
        String::from_utf8(Redactor::new([b"correct horse".to_vec()]).clean_json(text.as_bytes()))
            .unwrap()
    }

    #[test]
    fn json_stays_json_whatever_a_secret_takes_with_it() {
        let begins =
            r#"{"a":"-----BEGIN RSA PRIVATE KEY-----\nMIIE","b":[1,"correct horse"],"c":null}"#;
        assert_eq!(json(begins), r#"{"a":"[redacted]","b":[1,"[redacted]"],"c":null}"#);
        let told = r#"{"api_key":"a1b2c3d4e5f6g7h8","correct horse":true}"#;
        assert_eq!(json(told), r#"{"[redacted]":true,"api_key":"[redacted]"}"#);
        let clean = "{ \"spaces\" : \"stay\" }\n";
        assert_eq!(json(clean), clean);
        assert_eq!(json("{ broken correct horse"), "{ broken [redacted]");
    }

    #[test]
    fn a_file_loses_its_secrets_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let mut redactor = Redactor::new([b"correct horse".to_vec()]);
        let long = format!("{} correct horse", "text\n".repeat(50_000));
        for (name, text, clean) in [
            ("a.json", r#"{"a":"correct horse"}"#, r#"{"a":"[redacted]"}"#),
            ("b.md", "nothing", "nothing"),
            ("c.md", long.as_str(), &long.replace("correct horse", "[redacted]")),
        ] {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            clean_file(&path, &mut redactor).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), clean);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
        // What lies where the clean one is to be written is not followed, and nobody waits for it.
        let (secret, aim) = (folder.path().join("d.md"), folder.path().join("aim"));
        fs::write(&aim, "mine").unwrap();
        std::os::unix::fs::symlink(&aim, folder.path().join("d.md.redacted")).unwrap();
        fs::write(&secret, "correct horse").unwrap();
        clean_file(&secret, &mut redactor).unwrap();
        assert_eq!(fs::read_to_string(&secret).unwrap(), "[redacted]");
        assert_eq!(fs::read_to_string(&aim).unwrap(), "mine");
        let huge = folder.path().join("huge");
        File::create(&huge).unwrap().set_len(1 << 40).unwrap();
        clean_file(&huge, &mut redactor).unwrap();
        fs::remove_file(huge).unwrap();
        std::os::unix::fs::symlink("b.md", folder.path().join("link")).unwrap();
        assert!(clean_file(&folder.path().join("link"), &mut redactor).is_err());
    }
}
