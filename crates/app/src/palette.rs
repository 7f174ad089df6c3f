//! The colours of Forge on a terminal.
//!
//! Text has the default colours of the terminal, bold where it matters. Colour is only on symbols, bars and the signs of
//! a diff, and a word or a sign beside it says the same.
//!
//! The colours are fixed ones of the 256, because a theme gives the first sixteen any value: green on white and grey on
//! Solarized Dark cannot be read. These have a contrast of at least 3 on the backgrounds of all common themes.

/// A colour with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hue {
    /// Done, added.
    Green,
    /// Needs a person, waits.
    Yellow,
    /// Failed, removed.
    Red,
    /// Running.
    Blue,
}

impl Hue {
    /// Returns the number of the colour among the 256.
    pub(crate) const fn index(self) -> u8 {
        match self {
            Self::Green => 28,
            Self::Yellow => 136,
            Self::Red => 196,
            Self::Blue => 32,
        }
    }

    /// Returns the escape sequence of the colour.
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::Green => "\x1b[38;5;28m",
            Self::Yellow => "\x1b[38;5;136m",
            Self::Red => "\x1b[38;5;196m",
            Self::Blue => "\x1b[38;5;32m",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Hue;

    /// Name, foreground and background of themes that people use.
    const THEMES: [(&str, [u8; 3], [u8; 3]); 8] = [
        ("xterm white", [0, 0, 0], [255, 255, 255]),
        ("xterm black", [229, 229, 229], [0, 0, 0]),
        ("Solarized Dark", [131, 148, 150], [0, 43, 54]),
        ("Solarized Light", [101, 123, 131], [253, 246, 227]),
        ("Ubuntu", [255, 255, 255], [48, 10, 36]),
        ("GitHub Dark", [230, 237, 243], [13, 17, 23]),
        ("VS Code Dark", [204, 204, 204], [30, 30, 30]),
        ("Dracula", [248, 248, 242], [40, 42, 54]),
    ];
    const CONTRAST_MIN: f64 = 3.0;

    /// Returns a colour of the cube of 6×6×6 that follows the first sixteen.
    fn cube(index: u8) -> [u8; 3] {
        let at = index.checked_sub(16).filter(|at| *at < 216).expect("no theme changes it");
        [at / 36, at / 6 % 6, at % 6].map(|level| if level == 0 { 0 } else { 55 + 40 * level })
    }

    /// Returns the relative luminance, as WCAG 2 defines it.
    fn luminance(colour: [u8; 3]) -> f64 {
        let [red, green, blue] = colour.map(|part| {
            let part = f64::from(part) / 255.0;
            if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    fn contrast(one: [u8; 3], other: [u8; 3]) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn every_colour_can_be_seen_on_the_background_of_every_theme() {
        for (theme, text, background) in THEMES {
            assert!(contrast(text, background) >= CONTRAST_MIN, "text on {theme}");
            for hue in [Hue::Green, Hue::Yellow, Hue::Red, Hue::Blue] {
                let contrast = contrast(cube(hue.index()), background);
                assert!(contrast >= CONTRAST_MIN, "{hue:?} on {theme}: {contrast:.2}");
                assert_eq!(hue.code(), format!("\x1b[38;5;{}m", hue.index()));
            }
        }
        // What was used before is refused: bright black of Solarized Dark on its background, green on white.
        assert!(contrast([0, 43, 54], [0, 43, 54]) < CONTRAST_MIN);
        assert!(contrast([0, 205, 0], [255, 255, 255]) < CONTRAST_MIN);
    }
}
