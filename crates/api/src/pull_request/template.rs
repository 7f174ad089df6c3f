//! The pull-request template of a repository, and a text put into it.
//!
//! Not here: templates among which a person chooses, and forms.
//!
//! Invariant: every line of the template stays, in its order.

/// The usual places of GitHub, GitLab, Gitea and Forgejo, the best one first.
const PLACES: &[&str] = &[
    ".github/pull_request_template.md",
    ".github/PULL_REQUEST_TEMPLATE.md",
    ".gitlab/merge_request_templates/Default.md",
    ".gitlab/merge_request_templates/default.md",
    ".forgejo/pull_request_template.md",
    ".forgejo/PULL_REQUEST_TEMPLATE.md",
    ".gitea/pull_request_template.md",
    ".gitea/PULL_REQUEST_TEMPLATE.md",
    "pull_request_template.md",
    "PULL_REQUEST_TEMPLATE.md",
    "docs/pull_request_template.md",
    "docs/PULL_REQUEST_TEMPLATE.md",
];

/// Words of a heading below which one says what was done.
const FITTING: &[&str] =
    &["description", "summary", "overview", "what", "proposed change", "changes made"];

/// Returns the template of a repository, whose files `read` returns.
pub(super) fn find(read: impl Fn(&str) -> Option<String>) -> Option<String> {
    PLACES.iter().find_map(|path| read(path)).filter(|text| !text.trim().is_empty())
}

/// Puts a text below the first heading that fits, or at the end. A comment or a block of code that the template leaves open
/// ends there, so that it hides nothing.
pub(super) fn fill(template: &str, text: &str) -> String {
    let template = &closed(template);
    let lines: Vec<&str> = template.lines().collect();
    let mut fence = Fence::Outside;
    let place = lines.iter().position(|line| {
        fence = fence.after(line);
        fence == Fence::Outside && heading(line).is_some_and(|(_, words)| is_fitting(words))
    });
    let Some(place) = place else { return format!("{}\n\n{text}", template.trim_end()) };
    let level = heading(lines[place]).map_or(1, |(level, _)| level);
    let (above, below) = (lines[..=place].join("\n"), lines[place + 1..].join("\n"));
    let below = below.trim_start_matches('\n');
    format!("{above}\n\n{}\n\n{below}", demoted(text.trim(), level - 1)).trim_end().to_owned()
}

/// Returns a template without an open end.
fn closed(template: &str) -> String {
    let (mut fence, mut opening) = (Fence::Outside, "");
    for line in template.lines() {
        let next = fence.after(line);
        if next != fence {
            opening = line.trim_start();
        }
        fence = next;
    }
    let end = match fence {
        Fence::Outside => return template.to_owned(),
        Fence::Comment => "-->",
        Fence::Code => {
            let mark = opening.chars().next().unwrap_or('`');
            &opening[..opening.len() - opening.trim_start_matches(mark).len()]
        }
    };
    format!("{}\n{end}\n", template.trim_end())
}

/// Whether a line is in a block of code or a comment, where `#` is no heading.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fence {
    Outside,
    Code,
    Comment,
}

impl Fence {
    fn after(self, line: &str) -> Self {
        let is_code = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        match self {
            Self::Outside if is_code => Self::Code,
            Self::Code if is_code => Self::Outside,
            // What is not found is before everything.
            Self::Outside if line.rfind("<!--") > line.rfind("-->") => Self::Comment,
            Self::Comment if line.rfind("-->") > line.rfind("<!--") => Self::Outside,
            Self::Outside | Self::Code | Self::Comment => self,
        }
    }
}

/// Returns the level of a heading and its words.
fn heading(line: &str) -> Option<(usize, &str)> {
    let words = line.trim_start_matches('#');
    let level = line.len() - words.len();
    ((1..=6).contains(&level) && words.starts_with(' ')).then(|| (level, words.trim()))
}

fn is_fitting(words: &str) -> bool {
    let words = words.to_lowercase();
    words == "changes" || FITTING.iter().any(|fitting| words.contains(fitting))
}

/// Returns a text whose headings are some levels lower.
fn demoted(text: &str, by: usize) -> String {
    let mut fence = Fence::Outside;
    let lines = text.lines().map(|line| {
        fence = fence.after(line);
        match heading(line) {
            Some((level, words)) if fence == Fence::Outside => {
                format!("{} {words}", "#".repeat((level + by).min(6)))
            }
            Some(_) | None => line.to_owned(),
        }
    });
    lines.collect::<Vec<String>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_goes_below_the_first_heading_that_fits_with_lower_headings() {
        let template = "<!--\n## Description\n-->\n## Type of change\n\n- [ ] fix\n\n### What does this do?\n<!-- say it -->\n\n## Checklist\n- [ ] tests\n";
        let filled = fill(template, "## Request\n\n> it\n\n```\n# code\n```\n");
        assert_eq!(
            filled,
            "<!--\n## Description\n-->\n## Type of change\n\n- [ ] fix\n\n### What does this do?\n\n#### Request\n\n> it\n\n```\n# code\n```\n\n<!-- say it -->\n\n## Checklist\n- [ ] tests"
        );
    }

    #[test]
    fn a_text_goes_to_the_end_where_no_heading_fits() {
        assert_eq!(fill("## Checklist\n- [ ] a\n\n", "## R\n"), "## Checklist\n- [ ] a\n\n## R\n");
    }

    #[test]
    fn a_comment_or_a_block_of_code_that_is_left_open_hides_nothing_of_forge() {
        for (template, filled) in [
            ("# A\n<!-- say why", "# A\n<!-- say why\n-->\n\nIt.\n"),
            ("# A\n<!-- x --> <!-- y", "# A\n<!-- x --> <!-- y\n-->\n\nIt.\n"),
            ("# A\n````sh\nmake\n", "# A\n````sh\nmake\n````\n\nIt.\n"),
            ("# Summary\n\n# B\n~~~\nx", "# Summary\n\nIt.\n\n# B\n~~~\nx\n~~~"),
            ("# A\n<!-- x -->\n", "# A\n<!-- x -->\n\nIt.\n"),
        ] {
            assert_eq!(fill(template, "It.\n"), filled, "{template}");
        }
    }

    #[test]
    fn an_empty_template_is_none() {
        let read = |path: &str| (path == "PULL_REQUEST_TEMPLATE.md").then(|| " \n".to_owned());
        assert_eq!(find(read), None);
        assert_eq!(
            find(|path| path.starts_with(".gitea").then(|| "x".to_owned())),
            Some("x".to_owned())
        );
    }
}
