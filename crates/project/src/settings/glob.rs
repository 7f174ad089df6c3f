//! Paths with `*` and `**` in them, such as `tests/fixtures/**`.
//!
//! `*` stands for anything in one name, `**` for any folders, and a pattern that fits a folder stands for everything
//! below it. All other characters are themselves. Not here: whether a pattern leads out of the checkout; `values.rs`
//! refuses those.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// A set of patterns, which stands for the paths that one of them fits.
#[derive(Clone, Debug)]
pub struct PathGlobs(GlobSet);

impl PathGlobs {
    pub(super) fn new(patterns: &[String]) -> Self {
        let mut globs = GlobSetBuilder::new();
        for pattern in patterns.iter().flat_map(|pattern| folder_patterns(pattern)) {
            // A pattern that is too large stands for nothing.
            if let Ok(glob) =
                GlobBuilder::new(&pattern).literal_separator(true).backslash_escape(false).build()
            {
                globs.add(glob);
            }
        }
        Self(globs.build().unwrap_or_default())
    }

    /// Returns true if a pattern stands for a path. Both are relative to the same place.
    pub fn has(&self, path: &str) -> bool {
        self.0.is_match(names(path).collect::<Vec<_>>().join("/"))
    }
}

/// Returns a pattern in the words of `globset`: for the path itself, and for everything below it.
fn folder_patterns(pattern: &str) -> Vec<String> {
    let name = |name: &str| {
        if name == "**" {
            return name.to_owned();
        }
        let mut glob = name.split('*').map(globset::escape).collect::<Vec<_>>().join("*");
        // Stars side by side stand for what one stands for.
        while glob.contains("**") {
            glob = glob.replace("**", "*");
        }
        glob
    };
    let mut names: Vec<String> = names(pattern).map(name).collect();
    let has_names = !names.is_empty();
    while names.pop_if(|name| name == "**").is_some() {}
    match names.join("/") {
        whole if !whole.is_empty() => vec![format!("{whole}/**"), whole],
        _ if has_names => vec!["**".to_owned()],
        _ => Vec::new(),
    }
}

fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glob_matches(pattern: &str, path: &str) -> bool {
        PathGlobs::new(&[pattern.to_owned()]).has(path)
    }

    #[test]
    fn a_pattern_stands_for_what_a_person_would_think() {
        for (pattern, path) in [
            ("tests/fixtures/**", "tests/fixtures/a"),
            ("tests/fixtures/**", "tests/fixtures/a/b.txt"),
            ("tests/fixtures", "tests/fixtures/a/b.txt"),
            ("./tests//fixtures/", "tests/fixtures/a"),
            ("a.txt", "a.txt"),
            ("**/*.pem", "x.pem"),
            ("**/*.pem", "a/b/x.pem"),
            ("a/**/b", "a/b"),
            ("a/**/b", "a/x/y/b"),
            ("*", "anything/below"),
            ("**", "a/b"),
            ("a*b*c", "axbybc"),
            ("*ä*", "xäy"),
            ("a[1].txt", "a[1].txt"),
            ("a{b,c}?!\\", "a{b,c}?!\\"),
            ("a**b/c", "axb/c"),
            ("***a", "xa"),
            ("a***", "ax"),
            ("****", "x"),
            ("tests/**", "tests"),
            ("a/**/**/b", "a/b"),
        ] {
            assert!(glob_matches(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("tests/fixtures/**", "tests/other"),
            ("tests/fixtures/**", "more/tests/fixtures/a"),
            ("tests/fixtures", "tests/fixtures2"),
            ("*.pem", "a/x.pem"),
            ("a.txt", "A.txt"),
            ("a?b", "axb"),
            ("a*a", "a"),
            ("ab*ba", "aba"),
            ("a/**/b", "ab"),
            ("a/*/b", "a/b"),
            ("a**b", "a/b"),
            ("", "a"),
            (".", "a"),
        ] {
            assert!(!glob_matches(pattern, path), "{pattern} {path}");
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_time() {
        let path = vec!["a"; 2000].join("/");
        assert!(!glob_matches(&"**/a/".repeat(3000), &path));
        assert!(!glob_matches(&"*a".repeat(8000), &"a".repeat(7000)));
        assert!(!glob_matches(&format!("{}b", "*a".repeat(2000)), &"a".repeat(4000)));
    }
}
