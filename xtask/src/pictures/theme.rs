//! The colours of terminals: themes that people use, and the 256 colours that no theme changes.

/// Red, green, blue.
pub(super) type Rgb = [u8; 3];

/// The colours of a terminal.
pub(super) struct Theme {
    pub(super) name: &'static str,
    pub(super) text: Rgb,
    pub(super) background: Rgb,
}

/// The themes for which `app/src/palette.rs` proves a contrast.
pub(super) const THEMES: [Theme; 8] = [
    theme("xterm white", [0, 0, 0], [255, 255, 255]),
    theme("xterm black", [229, 229, 229], [0, 0, 0]),
    theme("Solarized Dark", [131, 148, 150], [0, 43, 54]),
    theme("Solarized Light", [101, 123, 131], [253, 246, 227]),
    theme("Ubuntu", [255, 255, 255], [48, 10, 36]),
    theme("GitHub Dark", [230, 237, 243], [13, 17, 23]),
    theme("VS Code Dark", [204, 204, 204], [30, 30, 30]),
    theme("Dracula", [248, 248, 242], [40, 42, 54]),
];

const fn theme(name: &'static str, text: Rgb, background: Rgb) -> Theme {
    Theme { name, text, background }
}

impl Theme {
    /// Returns the colour that text has.
    pub(super) fn resolve(&self, colour: vt100::Color) -> Rgb {
        match colour {
            vt100::Color::Default => self.text,
            vt100::Color::Idx(index) => cube(index),
            vt100::Color::Rgb(red, green, blue) => [red, green, blue],
        }
    }
}

/// Returns a colour of the cube of 6×6×6 that follows the first sixteen.
fn cube(index: u8) -> Rgb {
    let at = index.checked_sub(16).filter(|at| *at < 216).expect("Forge uses no colour of a theme");
    [at / 36, at / 6 % 6, at % 6].map(|level| if level == 0 { 0 } else { 55 + 40 * level })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_themes_are_those_whose_contrast_the_app_proves() {
        let path = crate::repository::root().join("crates/app/src/palette.rs");
        let palette = std::fs::read_to_string(path).unwrap();
        for Theme { name, text, background } in &THEMES {
            let row = format!("({name:?}, {text:?}, {background:?})");
            assert!(palette.contains(&row), "{row}");
        }
        assert!(palette.contains(&format!("; {}] = [", THEMES.len())));
    }

    #[test]
    fn colours_of_the_cube_are_those_of_xterm() {
        assert_eq!(THEMES[0].resolve(vt100::Color::Idx(28)), [0, 135, 0]);
        assert_eq!(THEMES[0].resolve(vt100::Color::Idx(231)), [255, 255, 255]);
        assert_eq!(THEMES[0].resolve(vt100::Color::Default), [0, 0, 0]);
    }
}
