//! Words that users read: strings of the product, help texts, documents and roles are in the words of the field.
//!
//! Not here: what only developers read (assertions, names, comments), and what is in backticks, braces or blocks of code.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::source::{Crate, File};

/// Crates whose strings no user reads.
const NOT_SHOWN: &[&str] = &["benchmark", "fuzz", "scripted-model", "xtask"];

/// Calls whose strings are for developers.
const FOR_DEVELOPERS: &[&str] = &[
    "expect",
    "panic",
    "unreachable",
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "reason",
];

/// Phrases that the field does not use, and what it says instead.
const PHRASES: &[(&str, &str)] = &[
    ("nobody", "say what happens instead"),
    ("somebody", "say which program or person"),
    ("whoever", "those who"),
    ("anew", "again"),
    ("mend", "fix"),
    ("mends", "fixes"),
    ("mended", "fixed"),
    ("go on", "continue"),
    ("goes on", "continues"),
    ("went on", "continued"),
    ("take up", "resume"),
    ("taken up", "resumed"),
    ("is no", "is not a"),
    ("are no", "are not"),
    ("lies in", "is in"),
    ("lie in", "are in"),
    ("plays", "runs as"),
    ("played by", "run by"),
    ("told", "reported"),
    ("drives", "runs"),
    ("driven", "running"),
    ("parked", "out of budget"),
    ("escalated", "needs attention"),
    ("waived", "overridden"),
    ("give up", "reject"),
    ("given up", "rejected"),
    ("landed", "merged"),
    ("lands", "merges"),
    ("looked at", "checked"),
    ("looks again", "runs again"),
    ("surroundings", "environment"),
    ("shipped", "default"),
    ("is whole", "is intact"),
    ("wants changes", "requests changes"),
];

/// Words after which a phrase is plain English: "there is no …".
const FINE_AFTER: &[&str] = &["there"];
/// Words before which it is: "is no longer".
const FINE_BEFORE: &[&str] = &["longer", "more"];

/// Finds foreign phrases in what users read of a crate.
pub(super) fn foreign(all: &Crate) -> Vec<String> {
    if NOT_SHOWN.contains(&all.name.as_str()) {
        return Vec::new();
    }
    let files = all.production();
    files
        .flat_map(|file| {
            in_source(file, is_help(&all.name, file)).into_iter().map(|(line, what)| {
                format!("{}: src/{}:{line}: {what}", all.name, file.path.display())
            })
        })
        .collect()
}

/// Finds foreign phrases in a document.
pub(super) fn in_document(text: &str) -> Vec<(usize, String)> {
    let mut is_code = false;
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            found.extend(phrases(line).into_iter().map(|what| (number + 1, what)));
        }
    }
    found
}

/// The readers of the doc comments of a file.
#[derive(Clone, Copy)]
enum Comments {
    /// Texts of the settings.
    Shown,
    /// Those without a full stop are texts of `--help`.
    Help,
    ForDevelopers,
}

fn is_help(name: &str, file: &File) -> Comments {
    let path = file.path.display().to_string();
    match (name, path.as_str()) {
        ("project", "settings/types.rs") => Comments::Shown,
        ("app", path) if path.starts_with("cli/") => Comments::Help,
        _ => Comments::ForDevelopers,
    }
}

fn in_source(file: &File, comments: Comments) -> Vec<(usize, String)> {
    let tests = file.test_lines();
    let tokens: TokenStream = file.text.parse().expect("it was parsed before");
    let mut found = Vec::new();
    strings(tokens, comments, &mut found);
    found.retain(|(line, _)| !tests.iter().any(|lines| lines.contains(line)));
    let found = found.into_iter();
    found
        .flat_map(|(line, text)| phrases(&text).into_iter().map(move |what| (line, what)))
        .collect()
}

/// Collects the strings that users may read, with their lines.
fn strings(tokens: TokenStream, comments: Comments, found: &mut Vec<(usize, String)>) {
    let mut before: Vec<String> = Vec::new();
    for token in tokens {
        let is_for_developers = before.iter().any(|word| FOR_DEVELOPERS.contains(&word.as_str()));
        match token {
            TokenTree::Group(group) => {
                let first = group.stream().into_iter().next();
                let is_comment = group.delimiter() == Delimiter::Bracket
                    && first.is_some_and(|first| first.to_string() == "doc");
                let ends = || group.stream().to_string().trim_end_matches('"').ends_with('.');
                let is_skipped = is_for_developers
                    || match comments {
                        Comments::Shown => false,
                        Comments::Help => is_comment && ends(),
                        Comments::ForDevelopers => is_comment,
                    };
                if !is_skipped {
                    strings(group.stream(), comments, found);
                }
                before.clear();
            }
            TokenTree::Literal(literal) => {
                let line = literal.span().start().line;
                if let (false, Ok(text)) =
                    (is_for_developers, syn::parse_str::<syn::LitStr>(&literal.to_string()))
                {
                    found.push((line, text.value()));
                }
                before.clear();
            }
            TokenTree::Ident(word) => before = vec![word.to_string()],
            TokenTree::Punct(punct) if ['!', '='].contains(&punct.as_char()) => {}
            TokenTree::Punct(_) => before.clear(),
        }
    }
}

/// Finds the foreign phrases of a text.
fn phrases(text: &str) -> Vec<String> {
    if !text.contains(' ') {
        return Vec::new();
    }
    let text = without_code(text).to_lowercase();
    let words: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric() && c != '-')
        .filter(|word| !word.is_empty())
        .collect();
    let mut found = Vec::new();
    for (phrase, instead) in PHRASES {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        let is_foreign = words.windows(phrase.len()).enumerate().any(|(at, window)| {
            let before = at.checked_sub(1).map(|before| words[before]);
            let after = words.get(at + phrase.len());
            window == phrase.as_slice()
                && !before.is_some_and(|before| FINE_AFTER.contains(&before))
                && !after.is_some_and(|after| FINE_BEFORE.contains(after))
        });
        if is_foreign {
            found.push(format!("`{}` (say: {instead})", phrase.join(" ")));
        }
    }
    found
}

/// Removes what is in backticks and in braces.
fn without_code(text: &str) -> String {
    let outside = |text: &str, open: char, close: char| -> String {
        let mut is_inside = false;
        let kept = text.chars().filter(|c| {
            let was_inside = is_inside;
            is_inside = if is_inside { *c != close } else { *c == open };
            !was_inside && !is_inside
        });
        kept.collect()
    };
    outside(&outside(text, '`', '`'), '{', '}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    #[test]
    fn a_phrase_that_the_field_does_not_use_is_refused_where_users_read_it() {
        let text = "fn f() {\n    say(\"nobody drives this run\");\n    x.expect(\"nobody is here\");\n\
            assert!(true, \"it goes on\");\n    say(\"there is no run, and it is no longer one\");\n\
            say(\"the gate `waived` of {driven}\");\n}\n/// It goes on.\nfn g() {}\n\
            #[cfg(test)]\nmod tests {\n    const A: &str = \"mend it anew\";\n}\n";
        let files = source::parse(vec![("x.rs".into(), text.to_owned())]).unwrap();
        let lines = |comments| -> Vec<usize> {
            in_source(&files[0], comments).into_iter().map(|(line, _)| line).collect()
        };
        assert_eq!(lines(Comments::ForDevelopers), [2, 2]);
        assert_eq!(lines(Comments::Shown), [2, 2, 8]);
        assert_eq!(lines(Comments::Help), [2, 2], "it ends with a full stop");
    }

    #[test]
    fn documents_are_read_without_their_code() {
        let text = "It goes on, `goes on`.\n\n```text\nnobody goes on\n```\n\nfine\n";
        let found: Vec<usize> = in_document(text).into_iter().map(|(line, _)| line).collect();
        assert_eq!(found, [1]);
    }
}
