//! Paths with `*` and `**` in them, such as `tests/fixtures/**`.
//!
//! `*` stands for anything in one name, `**` for any folders, and a pattern that fits a folder
//! stands for everything below it. All other characters are themselves. Not here: whether a
//! pattern leads out of the checkout; `value.rs` refuses those.
//!
//! Invariant: the time to compare is at most the length of the pattern times that of the path.

/// Returns true if a pattern stands for a path. Both are relative to the same place.
pub(super) fn glob_matches(pattern: &str, path: &str) -> bool {
    let names = |text: &'_ str| -> Vec<String> {
        let is_name = |name: &&str| !name.is_empty() && *name != ".";
        text.split('/').filter(is_name).map(str::to_owned).collect()
    };
    let path = names(path);
    // For each beginning of the path: whether the pattern, as far as it was looked at, fits it.
    let mut fits: Vec<bool> = (0..=path.len()).map(|n_names| n_names == 0).collect();
    let mut has_names = false;
    for part in names(pattern) {
        has_names = true;
        if part == "**" {
            for n_names in 1..fits.len() {
                fits[n_names] |= fits[n_names - 1];
            }
        } else {
            for n_names in (1..fits.len()).rev() {
                fits[n_names] = fits[n_names - 1] && fits_name(&part, &path[n_names - 1]);
            }
            fits[0] = false;
        }
    }
    has_names && fits.into_iter().any(|fits| fits)
}

/// Returns true if a pattern without folders stands for a name.
fn fits_name(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(last) = parts.next_back() else { return pattern == name };
    let Some(mut rest) = name.strip_prefix(first).and_then(|rest| rest.strip_suffix(last)) else {
        return false;
    };
    // The first place at which a part is found leaves most room for the next one.
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

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
