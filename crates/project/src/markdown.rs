//! The beginning of a Markdown text: its title, its first paragraph, its first sentence.
//!
//! Not here: anything else of Markdown. A paragraph ends at an empty line, and headings are passed over.

/// Returns the words of the first heading.
pub fn title(text: &str) -> Option<&str> {
    let title = text.lines().find_map(|line| line.strip_prefix('#'))?;
    Some(title.trim_start_matches('#').trim()).filter(|title| !title.is_empty())
}

/// Returns the first paragraph that is no heading, on one line.
pub fn first_paragraph(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let lines = lines.skip_while(|line| line.is_empty() || line.starts_with('#'));
    let words = lines.take_while(|line| !line.is_empty() && !line.starts_with('#'));
    words.collect::<Vec<&str>>().join(" ")
}

/// Returns the first sentence of the first paragraph.
pub fn first_sentence(text: &str) -> String {
    let paragraph = first_paragraph(text);
    let end = [". ", "! ", "? "].iter().filter_map(|end| paragraph.find(end)).min();
    end.map_or(paragraph.clone(), |end| paragraph[..=end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_known_by_its_title_and_how_it_begins() {
        let text = "\n# The store\n\n## Purpose\nIt keeps records.\nEach has v1.2 rows! More.\n\nThe rest.\n";
        assert_eq!(title(text), Some("The store"));
        assert_eq!(first_paragraph(text), "It keeps records. Each has v1.2 rows! More.");
        assert_eq!(first_sentence(text), "It keeps records.");
        assert_eq!(first_sentence("No end"), "No end");
        assert_eq!(first_sentence("Is it é? Yes."), "Is it é?");
        assert_eq!((title("no heading"), title("##")), (None, None));
        assert_eq!(
            (first_paragraph("# Only a title\n"), first_sentence("")),
            (String::new(), String::new())
        );
    }
}
