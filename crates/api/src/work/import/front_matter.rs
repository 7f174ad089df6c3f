//! Front matter of Markdown files, in the part of YAML that the third predecessor writes: `key: value`, lists and maps by
//! indentation or in brackets, quoted texts, and blocks after `|` and `>`.
//!
//! Not here: anchors, tags, several documents and other YAML. A line that is none of the above is refused with its number.

/// A value. Texts keep what they say: nothing is read as a number or a date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FrontValue {
    Text(String),
    List(Vec<FrontValue>),
    Map(Vec<(String, FrontValue)>),
}

/// Values can be in each other so deep.
const DEPTH_MAX: usize = 8;

/// A line that says something.
struct FrontLine {
    number: usize,
    indent: usize,
    text: String,
}

/// Divides a file into its front matter and the rest. A file without any has an empty map.
pub(super) fn parse(text: &str) -> Result<(FrontValue, String), String> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let Some(rest) = text.strip_prefix("---\n") else {
        return Ok((FrontValue::Map(Vec::new()), text));
    };
    let (head, body) = match rest.split_once("\n---\n") {
        Some(parts) => parts,
        None => match rest.strip_suffix("\n---") {
            Some(head) => (head, ""),
            None => return Err("line 1: the front matter has no end".to_owned()),
        },
    };
    let mut lines = Vec::new();
    for (number, line) in (2..).zip(head.lines()) {
        let text = line.trim_start_matches(' ');
        if text.starts_with('\t') {
            return Err(format!("line {number}: is indented with a tab"));
        }
        let indent = line.len() - text.len();
        lines.push(FrontLine { number, indent, text: text.trim_end().to_owned() });
    }
    let mut reader = FrontReader { lines, at: 0 };
    reader.skip_empty();
    let value = match reader.lines.get(reader.at) {
        None => FrontValue::Map(Vec::new()),
        Some(_) => reader.block(0)?,
    };
    match reader.lines.get(reader.at) {
        Some(line) => Err(line.wrong("is not indented like the lines before it")),
        None if matches!(value, FrontValue::Map(_)) => Ok((value, body.to_owned())),
        None => Err("line 2: is not `key: value`".to_owned()),
    }
}

impl FrontValue {
    /// Returns the value of a key of a map.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns the keys and values of a map.
    pub(super) fn entries(&self) -> &[(String, Self)] {
        match self {
            Self::Map(entries) => entries,
            Self::Text(_) | Self::List(_) => &[],
        }
    }

    /// Returns a text that is not empty.
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(text),
            Self::Text(_) | Self::List(_) | Self::Map(_) => None,
        }
    }

    /// Returns the text of a key.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Self::as_text)
    }

    /// Returns the entries of a list; a text that is not empty is a list of one.
    pub(super) fn list(&self) -> Option<&[Self]> {
        match self {
            Self::List(entries) => Some(entries),
            Self::Text(text) if text.is_empty() => Some(&[]),
            Self::Text(_) => Some(std::slice::from_ref(self)),
            Self::Map(_) => None,
        }
    }

    /// Returns the texts of a list. An entry such as `name: what it does` is a text.
    pub(super) fn texts(&self) -> Option<Vec<String>> {
        let text = |entry: &Self| match entry {
            Self::Text(text) => Some(text.clone()),
            Self::Map(entries) => match entries.as_slice() {
                [(key, Self::Text(text))] => Some(format!("{key}: {text}")),
                _ => None,
            },
            Self::List(_) => None,
        };
        self.list()?.iter().map(text).collect()
    }
}

impl FrontLine {
    fn wrong(&self, rule: &str) -> String {
        format!("line {}: {rule}", self.number)
    }

    fn is_entry(&self) -> bool {
        self.text == "-" || self.text.starts_with("- ")
    }
}

struct FrontReader {
    lines: Vec<FrontLine>,
    at: usize,
}

impl FrontReader {
    fn skip_empty(&mut self) {
        while self
            .lines
            .get(self.at)
            .is_some_and(|line| line.text.is_empty() || line.text.starts_with('#'))
        {
            self.at += 1;
        }
    }

    /// Returns the next line that says something.
    fn next(&mut self) -> Option<&FrontLine> {
        self.skip_empty();
        self.lines.get(self.at)
    }

    /// Reads a list or a map whose first line is the next one.
    fn block(&mut self, depth: usize) -> Result<FrontValue, String> {
        let first = self.next().expect("a block has a line");
        if depth > DEPTH_MAX {
            return Err(first.wrong("is too deep"));
        }
        let (indent, is_list) = (first.indent, first.is_entry());
        if is_list { self.list(indent, depth) } else { self.map(indent, depth) }
    }

    fn list(&mut self, indent: usize, depth: usize) -> Result<FrontValue, String> {
        let mut entries = Vec::new();
        while self.next().is_some_and(|line| line.indent == indent && line.is_entry()) {
            let line = &mut self.lines[self.at];
            let rest = line.text[1..].trim_start().to_owned();
            if key(&rest).is_some() && !rest.starts_with(['"', '\'', '[', '{']) {
                // Its first key is where the rest of the map is indented to.
                line.indent += line.text.len() - rest.len();
                line.text = rest;
                entries.push(self.block(depth + 1)?);
                continue;
            }
            entries.push(self.value(&rest, indent, depth)?);
        }
        Ok(FrontValue::List(entries))
    }

    fn map(&mut self, indent: usize, depth: usize) -> Result<FrontValue, String> {
        let mut entries: Vec<(String, FrontValue)> = Vec::new();
        while let Some(line) = self.next().filter(|line| line.indent == indent) {
            let Some((name, rest)) = key(&line.text) else {
                return Err(line.wrong("is not `key: value`"));
            };
            if entries.iter().any(|(known, _)| known == name) {
                return Err(line.wrong(&format!("has `{name}` for the second time")));
            }
            let (name, rest) = (name.to_owned(), rest.to_owned());
            let value = self.value(&rest, indent, depth)?;
            entries.push((name, value));
        }
        Ok(FrontValue::Map(entries))
    }

    /// Reads what is after a key or a dash, on its line or below it.
    fn value(&mut self, rest: &str, indent: usize, depth: usize) -> Result<FrontValue, String> {
        let number = self.lines[self.at].number;
        self.at += 1;
        if let ("|" | "|-" | ">" | ">-", join) =
            (rest, if rest.starts_with('|') { "\n" } else { " " })
        {
            let mut texts = Vec::new();
            let mut own = None;
            while let Some(line) = self.lines.get(self.at) {
                if !line.text.is_empty() && line.indent <= indent {
                    break;
                }
                let own = *own.get_or_insert(line.indent);
                texts.push(format!("{}{}", " ".repeat(line.indent.saturating_sub(own)), line.text));
                self.at += 1;
            }
            return Ok(FrontValue::Text(texts.join(join).trim().to_owned()));
        }
        if !rest.is_empty() {
            return inline(rest).map_err(|rule| format!("line {number}: {rule}"));
        }
        let is_in_list = self.is_in_list(indent);
        let is_below = self.next().is_some_and(|line| {
            line.indent > indent || (line.indent == indent && line.is_entry() && !is_in_list)
        });
        if is_below { self.block(depth + 1) } else { Ok(FrontValue::Text(String::new())) }
    }

    /// Returns true if the line before the next value is an entry of a list at this place, too.
    fn is_in_list(&self, indent: usize) -> bool {
        self.lines[..self.at]
            .iter()
            .rev()
            .find(|line| !line.text.is_empty())
            .is_some_and(|line| line.indent == indent && line.is_entry())
    }
}

/// Divides `key: value`. A key is one word.
fn key(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once(':')?;
    let is_name = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    let is_value = rest.is_empty() || rest.starts_with(' ');
    (is_name && is_value).then(|| (name, rest.trim()))
}

/// Reads a value that is on one line.
fn inline(text: &str) -> Result<FrontValue, String> {
    let mut rest = text;
    let value = if text.starts_with(['[', '{', '"', '\'']) {
        flow(&mut rest, 0)?
    } else {
        rest = "";
        FrontValue::Text(text.to_owned())
    };
    let rest = rest.trim();
    if rest.is_empty() || rest.starts_with('#') {
        return Ok(value);
    }
    Err(format!("has `{rest}` after the value"))
}

/// Reads a value in brackets or quotes, or a plain one inside of brackets.
fn flow(rest: &mut &str, depth: usize) -> Result<FrontValue, String> {
    if depth > DEPTH_MAX {
        return Err("is too deep".to_owned());
    }
    *rest = rest.trim_start();
    match rest.chars().next() {
        Some(open @ ('[' | '{')) => {
            let close = if open == '[' { ']' } else { '}' };
            let (mut list, mut map) = (Vec::new(), Vec::new());
            *rest = rest[1..].trim_start();
            while !rest.starts_with(close) {
                if open == '{' {
                    let (name, after) = key_in_braces(rest)?;
                    *rest = after;
                    map.push((name, flow(rest, depth + 1)?));
                } else {
                    list.push(flow(rest, depth + 1)?);
                }
                *rest = rest.trim_start();
                match rest.strip_prefix(',') {
                    Some(after) => *rest = after.trim_start(),
                    None if rest.starts_with(close) => {}
                    None => return Err(format!("needs `{close}`")),
                }
            }
            *rest = &rest[1..];
            Ok(if open == '[' { FrontValue::List(list) } else { FrontValue::Map(map) })
        }
        Some(quote @ ('"' | '\'')) => quoted(rest, quote).map(FrontValue::Text),
        Some(_) | None => {
            let end = rest.find([',', ']', '}']).unwrap_or(rest.len());
            let (text, after) = rest.split_at(end);
            *rest = after;
            Ok(FrontValue::Text(text.trim().to_owned()))
        }
    }
}

fn key_in_braces(rest: &str) -> Result<(String, &str), String> {
    let mut after = rest;
    let name = if let Some(quote @ ('"' | '\'')) = rest.chars().next() {
        quoted(&mut after, quote)?
    } else {
        let end = rest.find(':').ok_or("needs `:` after a key")?;
        after = &rest[end..];
        rest[..end].trim().to_owned()
    };
    let after = after.trim_start().strip_prefix(':').ok_or("needs `:` after a key")?;
    Ok((name, after))
}

fn quoted(rest: &mut &str, quote: char) -> Result<String, String> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' if quote == '"' => match chars.next().map(|(_, c)| c) {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some(c @ ('"' | '\\' | '/')) => text.push(c),
                other => {
                    return Err(format!("has an unknown escape `\\{}`", other.unwrap_or_default()));
                }
            },
            c if c == quote => {
                if quote == '\'' && chars.peek().is_some_and(|(_, c)| *c == '\'') {
                    chars.next();
                    text.push('\'');
                    continue;
                }
                *rest = &rest[at + 1..];
                return Ok(text);
            }
            c => text.push(c),
        }
    }
    Err(format!("needs a closing `{quote}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> FrontValue {
        parse(&format!("---\n{text}\n---\nrest\n")).unwrap().0
    }

    #[test]
    fn what_the_third_predecessor_writes_is_read() {
        let read = head(
            "id: T01\ndepends: [T02, \"T03\"]\nwrites:\n  - src/a.rs\n  - src/b.rs\n\n# a comment\nmust_haves:\n  truths:\n  - \"it's: quoted\"\n  - name: plain\n  artifacts:\n    - path: src/a.rs\n      provides: the parser\n      min_lines: 20\n    - { path: b, provides: 'c, ''d''' }\n  key_links: []\nempty:\nlong: >\n  one\n  two\nkept: |\n  a\n    b\nlast: x",
        );
        let text = |text: &str| FrontValue::Text(text.to_owned());
        assert_eq!(read.get("depends"), Some(&FrontValue::List(vec![text("T02"), text("T03")])));
        assert_eq!(read.get("writes").unwrap().texts().unwrap(), ["src/a.rs", "src/b.rs"]);
        let must = read.get("must_haves").unwrap();
        assert_eq!(must.get("truths").unwrap().texts().unwrap(), ["it's: quoted", "name: plain"]);
        let artifacts = must.get("artifacts").unwrap().list().unwrap();
        assert_eq!(artifacts[0].text("provides"), Some("the parser"));
        assert_eq!(artifacts[1].text("provides"), Some("c, 'd'"));
        assert_eq!(must.get("key_links").unwrap().list(), Some(&[][..]));
        assert_eq!(read.get("empty").unwrap().list(), Some(&[][..]));
        assert_eq!((read.text("long"), read.text("kept")), (Some("one two"), Some("a\n  b")));
        assert_eq!(read.text("last"), Some("x"));
    }

    #[test]
    fn lines_of_windows_and_a_mark_at_the_beginning_change_nothing() {
        let (read, body) = parse("\u{feff}---\r\nid: T01\r\n---\r\nrest\r\n").unwrap();
        assert_eq!((read.text("id"), body.as_str()), (Some("T01"), "rest\n"));
        assert_eq!(parse("no head\n").unwrap().1, "no head\n");
    }

    #[test]
    fn no_text_makes_it_fail_or_last() {
        let letters: Vec<char> = "-:[]{}\"' \n\n#|>a,\\é\tk".chars().collect();
        let mut chance: u64 = 7;
        for _ in 0..20_000 {
            let mut text = "---\n".to_owned();
            for _ in 0..24 {
                chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                text.push(letters[(chance >> 33) as usize % letters.len()]);
            }
            let _ = parse(&format!("{text}\n---\n"));
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_line() {
        for (text, rule) in [
            ("id: T01\nno key", "line 3: is not `key: value`"),
            ("id: T01\n   deep: x", "line 3: is not indented"),
            ("id: [T01", "line 2: needs `]`"),
            ("id: \"T01", "line 2: needs a closing `\"`"),
            ("id: \"T01\" x", "line 2: has `x` after the value"),
            ("id: a\nid: b", "line 3: has `id` for the second time"),
            ("\tid: a", "line 2: is indented with a tab"),
            ("- a", "line 2: is not `key: value`"),
            ("a: [[[[[[[[[[[[x]]]]]]]]]]]]", "line 2: is too deep"),
        ] {
            let found = parse(&format!("---\n{text}\n---\n")).unwrap_err();
            assert!(found.starts_with(rule), "{text}: {found}");
        }
        assert!(parse("---\nid: a\n").unwrap_err().contains("has no end"));
    }
}
