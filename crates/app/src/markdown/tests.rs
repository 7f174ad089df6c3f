//! What people see of Markdown.

use super::*;

const PAGE: &str = "\
# A title with `code`

Some **bold** and *slanted* words, a [link](https://example.org) and snake_case_names
that go on in the next line, so that there is something to break.

- one
- two, which is long enough that it has to be broken somewhere in its middle
  - inner
1. first
2. second
- [x] done
- [ ] open

> quoted words
> of somebody

```rust
fn main() {}   // a long line of code is never broken, whatever the width of the screen is
```

| task | what | state |
|---|:---:|---|
| T1 | something that is too long for its column, and is broken in it | done |
| T2 | short | **open** |

---

2 * 3 * 4 = 24 and a_b and `a ** b` and \\*not slanted\\* and **open
";

#[test]
fn a_page_without_colours() {
    insta::assert_snapshot!("plain", render(PAGE, 60, Colours::No));
}

#[test]
fn a_page_with_colours() {
    insta::assert_snapshot!("coloured", render(PAGE, 60, Colours::Yes).replace('\x1b', "^"));
}

#[test]
fn no_line_but_code_is_wider_than_the_width_and_no_word_is_lost() {
    let text = PAGE.replace("```", "");
    for width in [20, 33, 60, 80, 200] {
        let page = render(&text, width, Colours::Yes);
        let words: Vec<&str> = page.split_whitespace().collect();
        for line in page.lines() {
            let is_one_word = line.split_whitespace().count() <= 2;
            assert!(visible(line) <= width || is_one_word, "{width}: {line}");
        }
        // In the narrowest table, long words are broken.
        let break_word = if width < 30 { "somet" } else { "column," };
        for word in ["title", break_word, "screen", "24", "inner", "somebody"] {
            assert!(words.iter().any(|found| found.contains(word)), "{width}: {word} in {page}");
        }
    }
}

#[test]
fn what_is_written_so_that_it_makes_no_tag_is_shown_as_it_was_meant() {
    assert!(render("if a &lt;= b\n", 30, Colours::No).contains("if a <= b"));
}

#[test]
fn whatever_comes_in_it_ends_and_loses_no_letter() {
    let bits = [
        "**", "*", "_", "`", "```", "[", "](", ")", "|", "\n", "- ", "# ", "> ", "a", " ", "\\",
        "ä", "1. ", "|-|", "&", "&lt;",
    ];
    // A fixed walk through all pairs and triples.
    for one in bits {
        for two in bits {
            for three in bits {
                let text = format!("x{one}{two}{three}y{two}\n{one}z");
                let page = render(&text, 30, Colours::No);
                for letter in ["x", "y", "z"] {
                    let is_in_fence = text.contains("```");
                    assert!(page.contains(letter) || is_in_fence, "{text:?}: {page:?}");
                }
            }
        }
    }
}

const FIGURES: &str = "\
| phase | stage | attempts | calls | time | tokens | cost |
|---|---|--:|--:|--:|--:|--:|
| understanding | requirements | 1 | 2 | 12 s | 1,204 | <$0.01 |
| building | build/implement: T1-a-task-with-a-long-name | 12 | 31 | 1 h 12 min | 1,204,118 | $12.0030 |
| the end | final-verification | 1 | 2 | 59 s | 9 | <$0.01 |
| all | | 14 | 35 | 1 h 13 min | 1,205,331 | ≥ $12.0090 |
";

#[test]
fn a_table_of_figures_fits_where_there_is_room_for_its_numbers_and_no_number_is_cut() {
    for width in [200, 80, 60] {
        let table = render(FIGURES, width, Colours::No);
        assert!(table.lines().all(|line| visible(line) <= width), "{width}:\n{table}");
        for number in ["│ 1 h 12 min │", "│ 1,204,118 │", "│ ≥ $12.0090", "│ <$0.01", "│ 12 "]
        {
            assert!(table.contains(number), "{width}: {number}\n{table}");
        }
        if width < 200 {
            insta::assert_snapshot!(format!("figures-{width}"), table);
        }
    }
    // Where the numbers alone are wider, they stay whole.
    assert!(render(FIGURES, 30, Colours::No).contains("│ 1 h 12 min │"));
}
