//! Draws the screen of a terminal as a window in SVG.
//!
//! No font is embedded. Every run of characters has its place and its length, so columns are straight with any font.
//!
//! Invariant: what cannot be drawn, a background or inverse text, is refused and not left out.

use super::theme::{Rgb, Theme};

/// Sizes in pixels. A character of a monospace font is three fifths as wide as it is high.
const CELL_WIDTH: u32 = 9;
const CELL_HEIGHT: u32 = 20;
const FONT_SIZE: u32 = 15;
/// From the top of a cell to the line on which characters stand.
const BASELINE: u32 = 15;
const PADDING: u32 = 12;
const BAR_HEIGHT: u32 = 32;
/// Where windows of a sheet are put into the next row.
const SHEET_WIDTH_MAX: u32 = 2800;
const SHEET_GAP: u32 = 16;

/// A window of which only the outermost element is still to be written.
pub(super) struct Window {
    width: u32,
    height: u32,
    elements: String,
}

/// Characters of one row that look the same, with nothing but single spaces between them.
#[derive(Debug, PartialEq, Eq)]
struct Run {
    column: u16,
    n_columns: u16,
    text: String,
    style: Style,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Style {
    colour: vt100::Color,
    is_bold: bool,
    /// Other characters often come from another font, with another width.
    is_ascii: bool,
}

impl Window {
    /// Draws the first rows of a screen.
    pub(super) fn draw(screen: &vt100::Screen, n_rows: u16, theme: &Theme, title: &str) -> Self {
        let width = u32::from(screen.size().1.get()) * CELL_WIDTH + 2 * PADDING;
        let height = u32::from(n_rows) * CELL_HEIGHT + BAR_HEIGHT + PADDING;
        let (text, background) = (hex(theme.text), hex(theme.background));
        let frame = format!(
            "<rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"{background}\" stroke=\"#808080\"/>\n\
             <g fill=\"#808080\"><circle cx=\"20\" cy=\"16\" r=\"5\"/><circle cx=\"38\" cy=\"16\" r=\"5\"/><circle cx=\"56\" cy=\"16\" r=\"5\"/></g>\n\
             <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"{FONT_SIZE}\" fill=\"{text}\">\n\
             <text x=\"{}\" y=\"21\" text-anchor=\"middle\" fill=\"#808080\">{}</text>\n",
            width - 1,
            height - 1,
            width / 2,
            escape(title),
        );
        let mut elements = vec![frame];
        let (row, column) = screen.cursor_position();
        if !screen.hide_cursor() && row < n_rows {
            let (x, y) = (left(column), top(row));
            elements.push(format!(
                "<rect x=\"{x}\" y=\"{y}\" width=\"{CELL_WIDTH}\" height=\"{CELL_HEIGHT}\" opacity=\"0.5\"/>\n"
            ));
        }
        for row in 0..n_rows {
            elements.extend(runs(screen, row).iter().map(|run| run.element(row, theme)));
        }
        elements.push("</g>\n".to_owned());
        Self { width, height, elements: elements.concat() }
    }

    /// Returns the file of one window. The title is for those who cannot see it.
    pub(super) fn to_file(&self, title: &str) -> String {
        let Self { width, height, elements } = self;
        let title = escape(title);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
             <title>{title}</title>\n{elements}</svg>\n"
        )
    }
}

/// Returns a file with many windows of the same size.
pub(super) fn sheet(windows: &[Window]) -> String {
    let Some(Window { width, height, .. }) = windows.first() else { return String::new() };
    let (width, height) = (width + SHEET_GAP, height + SHEET_GAP);
    let per_row = (SHEET_WIDTH_MAX / width).max(1);
    let mut elements = String::new();
    for (at, window) in (0..).zip(windows) {
        let (x, y) = (at % per_row * width, at / per_row * height);
        elements.extend([
            &*format!("<g transform=\"translate({x} {y})\">\n"),
            &window.elements,
            "</g>\n",
        ]);
    }
    let n_rows = u32::try_from(windows.len()).expect("a sheet is small").div_ceil(per_row);
    let (width, height) = (per_row * width, n_rows * height);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\">\n{elements}</svg>\n"
    )
}

fn runs(screen: &vt100::Screen, row: u16) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for column in 0..screen.size().1.get() {
        let cell = screen.cell(row, column).expect("the screen has this cell");
        let has_ground = cell.inverse() || cell.bgcolor() != vt100::Color::Default;
        assert!(!has_ground, "{row}:{column}: Forge has no backgrounds, see palette.rs of the app");
        let text = cell.contents();
        if text.trim().is_empty() {
            continue;
        }
        let n_columns = if cell.is_wide() { 2 } else { 1 };
        let style =
            Style { colour: cell.fgcolor(), is_bold: cell.bold(), is_ascii: text.is_ascii() };
        match runs.last_mut() {
            Some(run) if run.style == style && column - run.end() <= 1 => {
                run.text += &" ".repeat(usize::from(column - run.end()));
                run.text += text;
                run.n_columns = column + n_columns - run.column;
            }
            _ => runs.push(Run { column, n_columns, text: text.to_owned(), style }),
        }
    }
    runs
}

impl Run {
    fn end(&self) -> u16 {
        self.column + self.n_columns
    }

    fn element(&self, row: u16, theme: &Theme) -> String {
        let (x, y) = (left(self.column), top(row) + BASELINE);
        let length = u32::from(self.n_columns) * CELL_WIDTH;
        let bold = if self.style.is_bold { " font-weight=\"bold\"" } else { "" };
        let colour = match theme.resolve(self.style.colour) {
            colour if colour == theme.text => String::new(),
            colour => format!(" fill=\"{}\"", hex(colour)),
        };
        let text = escape(&self.text);
        format!(
            "<text x=\"{x}\" y=\"{y}\" textLength=\"{length}\" lengthAdjust=\"spacingAndGlyphs\"{bold}{colour}>{text}</text>\n"
        )
    }
}

fn left(column: u16) -> u32 {
    PADDING + u32::from(column) * CELL_WIDTH
}

fn top(row: u16) -> u32 {
    BAR_HEIGHT + u32::from(row) * CELL_HEIGHT
}

fn hex([red, green, blue]: Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Escapes what XML would take for its own. A terminal has no control characters in its cells.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use super::*;
    use crate::pictures::theme::THEMES;

    fn screen(text: &str) -> vt100::Screen {
        let cells = |n| NonZeroU16::new(n).unwrap();
        let mut parser = vt100::Parser::new(cells(2), cells(20), 0);
        parser.process(text.as_bytes());
        parser.screen().clone()
    }

    /// Returns place, width and text of the runs in the first row.
    fn placed(text: &str) -> Vec<(u16, u16, String)> {
        let runs = runs(&screen(text), 0);
        runs.into_iter().map(|run| (run.column, run.n_columns, run.text)).collect()
    }

    #[test]
    fn every_word_stands_in_its_column_whatever_the_font_of_symbols_and_wide_characters() {
        let run = |column, n_columns, text: &str| (column, n_columns, text.to_owned());
        assert_eq!(placed(" a bc   d"), [run(1, 4, "a bc"), run(8, 1, "d")]);
        assert_eq!(placed("a ✓ b"), [run(0, 1, "a"), run(2, 1, "✓"), run(4, 1, "b")]);
        assert_eq!(placed("限制 x"), [run(0, 4, "限制"), run(5, 1, "x")]);
        assert_eq!(placed("a\x1b[1mb"), [run(0, 1, "a"), run(1, 1, "b")]);
        let file = Window::draw(&screen("  \x1b[1;38;5;28mx"), 1, &THEMES[0], "t").to_file("T");
        let x = "<text x=\"30\" y=\"47\" textLength=\"9\" lengthAdjust=\"spacingAndGlyphs\" font-weight=\"bold\" fill=\"#008700\">x</text>";
        assert!(file.contains(x), "{file}");
    }

    #[test]
    fn text_is_never_taken_for_a_tag() {
        let file = Window::draw(&screen("<b> & </b>"), 1, &THEMES[0], "<t>").to_file("a & b");
        assert!(file.contains(">&lt;b&gt; &amp; &lt;/b&gt;<"), "{file}");
        assert!(file.contains(">&lt;t&gt;<") && file.contains("<title>a &amp; b<"), "{file}");
    }

    #[test]
    #[should_panic(expected = "Forge has no backgrounds")]
    fn what_cannot_be_drawn_is_refused() {
        let _window = Window::draw(&screen("\x1b[7mx"), 1, &THEMES[0], "");
    }

    #[test]
    fn a_sheet_has_as_many_windows_beside_each_other_as_fit() {
        let (text, white) = (screen("x"), &THEMES[0]);
        let windows: Vec<Window> = (0..20).map(|_| Window::draw(&text, 2, white, "")).collect();
        let sheet = sheet(&windows);
        // Each is 204 wide and 84 high, with a gap of 16.
        assert!(sheet.contains("width=\"2640\" height=\"200\""), "{sheet}");
        assert_eq!(sheet.matches("translate(220 ").count(), 2);
        assert!(sheet.contains("translate(1540 100)") && !sheet.contains("translate(2640 "));
    }
}
