//! How many lines each crate has.
//!
//! Production is `src` without tests, split into code, comments (lines that begin with `//`) and blank lines. Tests are `*tests.rs`, items
//! below `#[cfg(test)]`, and the folders `tests` and `examples`. Only Rust is counted.

use std::fs;

use super::source::{Crate, File};
use crate::repository::files_below;

/// Lines of one crate, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    code: usize,
    comments: usize,
    blank: usize,
    tests: usize,
}

impl Lines {
    pub(super) fn of_crate(all: &Crate) -> Self {
        let mut lines = Self::default();
        for file in &all.files {
            lines.add_file(file);
        }
        for folder in ["tests", "examples"] {
            let files = files_below(&all.folder.join(folder), "rs");
            let texts = files.iter().map(|file| fs::read_to_string(file).unwrap_or_default());
            lines.tests += texts.map(|text| text.lines().count()).sum::<usize>();
        }
        lines
    }

    fn add_file(&mut self, file: &File) {
        let tests = file.test_lines();
        for (number, line) in (1..).zip(file.text.lines()) {
            let line = line.trim();
            if file.is_test || tests.iter().any(|range| range.contains(&number)) {
                self.tests += 1;
            } else if line.is_empty() {
                self.blank += 1;
            } else if line.starts_with("//") {
                self.comments += 1;
            } else {
                self.code += 1;
            }
        }
    }
}

/// A table of all crates and their sum.
pub(super) fn table(crates: &[Crate]) -> String {
    let mut sum = Lines::default();
    let mut text = row("", ["production", "code", "comments", "blank", "tests"].map(str::to_owned));
    for all in crates {
        let lines = Lines::of_crate(all);
        text += &figures(&all.name, lines);
        sum = Lines {
            code: sum.code + lines.code,
            comments: sum.comments + lines.comments,
            blank: sum.blank + lines.blank,
            tests: sum.tests + lines.tests,
        };
    }
    text + &figures("in all", sum)
        + "production is code, comments and blank lines of src without tests;\n\
           tests are inline tests, *tests.rs, and the folders tests and examples; only Rust is counted"
}

fn figures(name: &str, lines: Lines) -> String {
    let Lines { code, comments, blank, tests } = lines;
    let all = [code + comments + blank, code, comments, blank, tests];
    row(name, all.map(|n| n.to_string()))
}

fn row(name: &str, [production, code, comments, blank, tests]: [String; 5]) -> String {
    format!("{name:<16}{production:>12}{code:>10}{comments:>10}{blank:>10}{tests:>10}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    #[test]
    fn lines_are_counted_by_what_they_are() {
        let text = "//! X.\n\nfn f() {} // y\n/// Z.\nfn g() {}\n#[cfg(test)]\nmod tests {\n\n}\n";
        let files =
            vec![("lib.rs".into(), text.to_owned()), ("a_tests.rs".into(), "\n\n".to_owned())];
        let files = source::parse(files).unwrap();
        let lines =
            Lines::of_crate(&Crate { name: "x".to_owned(), folder: "/nowhere".into(), files });
        assert_eq!(lines, Lines { code: 2, comments: 2, blank: 1, tests: 6 });
    }
}
