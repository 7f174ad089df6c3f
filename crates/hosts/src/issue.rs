//! An issue with what people said about it, and the request that a run makes of it.
//!
//! How an issue of one tracker is read is in the file of that tracker.
//!
//! Invariant: an issue has a title. What it says is in the request word for word.

use std::fmt::Write as _;

use serde_json::Value;

use crate::kind::Kind;

/// The most bytes of the text of an issue.
pub const ISSUE_BODY_BYTES_MAX: usize = 1024 * 1024;
/// The most comments of an issue that are kept.
pub const COMMENTS_MAX: usize = 100;
/// The most bytes of all comments that are kept.
pub const COMMENTS_BYTES_MAX: usize = 1024 * 1024;

/// An issue, as far as a run cares.
#[derive(Clone, Debug, PartialEq)]
pub struct Issue {
    pub tracker: Kind,
    /// Its address for people, or its name where that is not known.
    pub source: String,
    /// Its short name, as `#12` or `PROJ-123`.
    pub key: String,
    pub title: String,
    pub body: String,
    pub labels: Vec<String>,
    /// The newest comments of people, the oldest of them first.
    pub comments: Vec<Comment>,
    /// How many older comments were left out.
    pub n_comments_left_out: u64,
    /// Its story points, if they say anything.
    pub points: Option<f64>,
}

/// One thing that a person said about an issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    pub author: String,
    /// The time as the tracker writes it, which begins with year, month and day.
    pub at: String,
    pub text: String,
}

impl Issue {
    /// Returns the request that an issue is: its words, where it comes from, and what people said about it.
    pub fn request_text(&self) -> String {
        let mut text = format!("# {}\n\n", self.title);
        if !self.body.is_empty() {
            let _ = write!(text, "{}\n\n", self.body);
        }
        let _ = writeln!(text, "Issue: {}", self.source);
        if !self.labels.is_empty() {
            let _ = writeln!(text, "Labels: {}", self.labels.join(", "));
        }
        if !self.comments.is_empty() {
            text.push_str("\nComments:\n\n");
        }
        for comment in &self.comments {
            let date = comment.at.get(..10).unwrap_or(&comment.at);
            let _ = writeln!(text, "- {}, {date}: {}", comment.author, indented(&comment.text));
        }
        text
    }
}

impl Comment {
    /// Makes a comment, unless it says nothing.
    pub(crate) fn new(author: Option<&str>, at: Option<&str>, text: &str) -> Option<Self> {
        let author = author.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        let author = if author.is_empty() { "unknown".to_owned() } else { author };
        let text = text.trim().to_owned();
        let at = at.unwrap_or_default().trim().to_owned();
        (!text.is_empty()).then_some(Self { author, at, text })
    }
}

/// The newest comments, gathered from the newest to the oldest, within the limits of their number and size.
#[derive(Default)]
pub(crate) struct NewestComments {
    newest_first: Vec<Comment>,
    n_bytes: usize,
    n_left_out: u64,
}

impl NewestComments {
    /// Takes the next older comment, or counts it.
    pub(crate) fn push(&mut self, comment: Comment) {
        if self.is_full() || self.n_bytes + comment.text.len() > COMMENTS_BYTES_MAX {
            self.n_left_out += 1;
            // Nothing older either, or there would be a gap.
            self.n_bytes = COMMENTS_BYTES_MAX;
        } else {
            self.n_bytes += comment.text.len();
            self.newest_first.push(comment);
        }
    }

    /// Counts comments that were not even read.
    pub(crate) fn leave_out(&mut self, n: u64) {
        self.n_left_out += n;
    }

    pub(crate) fn is_full(&self) -> bool {
        self.newest_first.len() == COMMENTS_MAX || self.n_bytes >= COMMENTS_BYTES_MAX
    }

    /// Gives an issue its comments, the oldest first.
    pub(crate) fn into_issue(mut self, issue: &mut Issue) {
        self.newest_first.reverse();
        issue.comments = self.newest_first;
        issue.n_comments_left_out = self.n_left_out;
    }
}

/// Returns the text at a key without the space around it.
pub(crate) fn text_at<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str).map(str::trim)
}

/// Returns the list at a key, or an empty one.
pub(crate) fn list_at<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice)
}

/// Returns the title of an issue, which must have one.
pub(crate) fn title_at(value: &Value, key: &str, named: &str) -> Result<String, String> {
    let title = text_at(value, key).unwrap_or_default();
    if title.is_empty() { Err(format!("the issue has no `{named}`")) } else { Ok(title.to_owned()) }
}

/// Returns the labels in a list: texts, or objects with a name.
pub(crate) fn label_names(labels: &[Value]) -> Vec<String> {
    let names = labels.iter().filter_map(|label| label.get("name").unwrap_or(label).as_str());
    names.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Returns points, if they say anything: a number above zero.
pub(crate) fn points(value: Option<&Value>) -> Option<f64> {
    value?.as_f64().filter(|points| points.is_finite() && *points > 0.0)
}

/// Returns a text whose second and later lines begin below the words of a list item.
fn indented(text: &str) -> String {
    let mut lines = text.lines();
    let mut all = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        all.push('\n');
        if !line.trim().is_empty() {
            all.push_str("  ");
            all.push_str(line);
        }
    }
    all
}
