//! Words of a request or a title as a part of a name: of a run's id, and of its branch.

/// The most characters of a slug.
pub const SLUG_CHARS_MAX: usize = 40;

/// Returns the first words of a text, in lower case, with dashes between them.
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let dash = usize::from(!slug.is_empty());
        if slug.len() + dash + word.len() > SLUG_CHARS_MAX {
            if slug.is_empty() {
                slug.push_str(&word[..SLUG_CHARS_MAX].to_ascii_lowercase());
            }
            break;
        }
        if dash == 1 {
            slug.push('-');
        }
        slug.push_str(&word.to_ascii_lowercase());
    }
    slug
}

/// Returns a branch that has the words of a request in its name, with those of a title in their place.
pub(crate) fn retitled(branch: &str, request: &str, title: &str) -> Option<String> {
    let (old, new) = (slug(request), slug(title));
    let (before, after) = branch.split_once(&format!("-{old}-"))?;
    (!old.is_empty() && !new.is_empty() && old != new).then(|| format!("{before}-{new}-{after}"))
}
