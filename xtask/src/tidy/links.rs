//! Every relative link in a Markdown file leads to a file and, if it names one, to a heading of it.
//!
//! Not here: addresses on the web, and Markdown files that tests use as data.

use std::{
    collections::BTreeMap,
    fs,
    path::{Component, Path, PathBuf},
};

/// Folders whose Markdown files are data of tests, or not part of the repository.
const SKIPPED_FOLDERS: &[&str] = &["corpus", "node_modules", "target", "tests"];

/// The beginning and the end of a block of code.
const FENCE: &str = "```";

/// Finds all links in the documents of the repository that lead nowhere.
pub(super) fn dead(root: &Path) -> Vec<String> {
    let read = |path: &Path| {
        let path = root.join(path);
        path.exists().then(|| fs::read_to_string(path).unwrap_or_default())
    };
    let mut problems = Vec::new();
    for path in markdown_files(root) {
        let path = path.strip_prefix(root).unwrap_or(&path);
        let text = read(path).unwrap_or_default();
        problems.extend(dead_in(path, &text, &read));
    }
    problems
}

/// Finds the links in one document that lead nowhere. `read` returns the text of a file of the repository, which may
/// be empty, or nothing if there is no such file or folder.
fn dead_in(path: &Path, text: &str, read: &dyn Fn(&Path) -> Option<String>) -> Vec<String> {
    let mut problems = Vec::new();
    for (line, target) in links(text) {
        let (file, heading) = target.split_once('#').unwrap_or((&target, ""));
        let found = if file.is_empty() {
            Some(text.to_owned())
        } else {
            let folder = path.parent().unwrap_or(Path::new(""));
            normalized(&folder.join(file)).and_then(|file| read(&file))
        };
        let why = match found {
            None => "leads to no file",
            Some(text) if !heading.is_empty() && !has_heading(&text, heading) => {
                "leads to no heading"
            }
            Some(_) => continue,
        };
        problems.push(format!("{}:{line}: `{target}` {why}", path.display()));
    }
    problems
}

/// Returns the targets of all links that are no addresses, each with its line. Code has none.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in lines_without_code(text) {
        // Every other part is between two backticks.
        let prose: String = line.split('`').step_by(2).collect();
        for rest in prose.split("](").skip(1) {
            let Some((target, _)) = rest.split_once(')') else { continue };
            let target = target.split_whitespace().next().unwrap_or_default();
            let is_address = target.contains("://") || target.starts_with("mailto:");
            if !target.is_empty() && !is_address {
                found.push((number, target.to_owned()));
            }
        }
    }
    found
}

/// Returns true if a document has a heading with this anchor. Of headings with the same text all but the first are numbered.
fn has_heading(text: &str, anchor: &str) -> bool {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (_, line) in lines_without_code(text) {
        let title = line.trim_start_matches('#');
        let level = line.len() - title.len();
        if !(1..=6).contains(&level) || !title.starts_with(' ') {
            continue;
        }
        let slug = slug(title);
        let n = seen.entry(slug.clone()).or_default();
        let own = if *n == 0 { slug } else { format!("{slug}-{n}") };
        *n += 1;
        if own == anchor {
            return true;
        }
    }
    false
}

/// Returns the anchor that GitHub makes of a heading.
fn slug(title: &str) -> String {
    let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Returns the lines outside of blocks of code, each with its number.
fn lines_without_code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with(FENCE);
        is_code ^= is_fence;
        (!is_fence && !is_code).then_some((index + 1, line))
    })
}

/// Returns a path without `.` and `..`, or nothing if it leaves the repository.
fn normalized(path: &Path) -> Option<PathBuf> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name),
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.into_iter().collect())
}

/// Returns all Markdown files below a folder, sorted.
fn markdown_files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if path.is_dir() && !name.starts_with('.') && !SKIPPED_FOLDERS.contains(&&*name) {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The problems of `docs/a.md` with this text, beside `README.md` and `docs/b.md`.
    fn problems(text: &str) -> Vec<String> {
        let read = |path: &Path| match path.to_str()? {
            "README.md" => Some("# Top\n\n## Test it\n".to_owned()),
            "docs" => Some(String::new()),
            "docs/b.md" => Some(
                "## check = \"changes\"\n\n```sh\n# code\n```\n\n## `x` y\n\n## Two\n\n## Two\n"
                    .to_owned(),
            ),
            _ => None,
        };
        dead_in(Path::new("docs/a.md"), text, &read)
    }

    #[test]
    fn a_link_to_nowhere_is_refused_with_its_line() {
        assert_eq!(
            problems("# A\n\n[b](b.md) and [c](c.md)\n![picture](pictures/a.svg)\n"),
            [
                "docs/a.md:3: `c.md` leads to no file",
                "docs/a.md:4: `pictures/a.svg` leads to no file"
            ]
        );
        assert_eq!(problems("[up](../../b.md)"), ["docs/a.md:1: `../../b.md` leads to no file"]);
        assert_eq!(problems("[b](b.md#three)"), ["docs/a.md:1: `b.md#three` leads to no heading"]);
        assert_eq!(problems("[b](b.md#code)"), ["docs/a.md:1: `b.md#code` leads to no heading"]);
        assert_eq!(problems("# A\n[own](#b)"), ["docs/a.md:2: `#b` leads to no heading"]);
    }

    #[test]
    fn a_link_to_a_file_a_folder_or_a_heading_is_right() {
        let right = "# A\n[own](#a) [b](b.md) [`b`](./b.md#check--changes) [y](b.md#x-y) [two](b.md#two-1)\n\
                     [top](../README.md#test-it) [folder](../docs) [web](https://example.org/x#y)\n";
        assert_eq!(problems(right), [] as [&str; 0]);
    }

    #[test]
    fn code_has_no_links() {
        assert_eq!(problems("`[x](y)`\n\n```text\n[x](y)\n```\n"), [] as [&str; 0]);
    }
}
