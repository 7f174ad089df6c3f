//! The mark of a text that is made once at a host, by which it is found again.
//!
//! What a mark names is the caller's.
//!
//! Invariant: a hidden mark is a comment of HTML that cannot end early.

/// The mark of one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextMark {
    name: String,
    line: String,
}

/// How a text carries its mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkForm {
    /// A comment that readers do not see, before the text.
    Hidden,
    /// The first line, where nothing can be hidden.
    FirstLine,
}

impl TextMark {
    /// Makes the mark `forge:OWNER:PURPOSE`, and the first line for where nothing can be hidden.
    pub fn new(owner: &str, purpose: &str, line: &str) -> Self {
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        let plain = |text: &str| -> String {
            let text: String = text.chars().filter(is_plain).collect();
            // Two dashes could end the comment.
            text.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
        };
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        Self { name: format!("{}:{}", plain(owner), plain(purpose)), line }
    }

    /// Says whether a text begins with the mark.
    pub(crate) fn is_of(&self, text: &str, form: MarkForm) -> bool {
        match form {
            MarkForm::Hidden => text.trim_start().starts_with(&self.hidden()),
            MarkForm::FirstLine => {
                text.trim_start().lines().next().map(str::trim) == Some(&*self.line)
            }
        }
    }

    /// Returns a text that begins with the mark.
    pub(crate) fn before(&self, text: &str, form: MarkForm) -> String {
        match form {
            MarkForm::Hidden => format!("{}\n{text}", self.hidden()),
            MarkForm::FirstLine => format!("{}\n\n{text}", self.line),
        }
    }

    /// Says whether a text has the hidden mark anywhere.
    pub fn is_in(&self, text: &str) -> bool {
        text.contains(&self.hidden())
    }

    /// Returns a text that ends with the hidden mark.
    pub(crate) fn after(&self, text: &str) -> String {
        format!("{}\n\n{}\n", text.trim_end(), self.hidden())
    }

    fn hidden(&self) -> String {
        format!("<!-- forge:{} -->", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_mark_cannot_end_early_and_counts_at_the_beginning_only() {
        let mark = TextMark::new("20261119-a--b-->-x", "summary", "Forge  run x");
        assert_eq!(mark.hidden(), "<!-- forge:20261119-a-b-x:summary -->");
        let text = mark.before("Done.", MarkForm::Hidden);
        assert!(mark.is_of(&text, MarkForm::Hidden));
        assert!(!mark.is_of(&format!("> {text}"), MarkForm::Hidden), "a quotation is another's");
        let text = mark.before("Done.", MarkForm::FirstLine);
        assert_eq!(text, "Forge run x\n\nDone.");
        assert!(mark.is_of(&text, MarkForm::FirstLine));
        assert!(!mark.is_of("Forge run xy", MarkForm::FirstLine));
    }
}
