//! The source of a crate as the guards see it: parsed files, each with its module and with which of its lines are tests.
//!
//! Tests are `*tests.rs`, folders named `tests`, and whatever is declared below `#[cfg(test)]`.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "items of Rust are not our enum, and there will be more"
)]

use std::{
    collections::BTreeSet,
    fs,
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

use syn::spanned::Spanned as _;

use crate::repository::files_below;

/// The names of modules from the root of a crate down. The root itself has none.
pub(super) type ModulePath = Vec<String>;

/// One crate of the workspace.
pub(super) struct Crate {
    /// The name of its folder.
    pub(super) name: String,
    pub(super) folder: PathBuf,
    /// All files below `src`.
    pub(super) files: Vec<File>,
}

/// One file below `src`.
pub(super) struct File {
    /// Relative to `src`.
    pub(super) path: PathBuf,
    pub(super) module: ModulePath,
    pub(super) text: String,
    pub(super) syntax: syn::File,
    /// True if it is compiled for tests only.
    pub(super) is_test: bool,
}

impl Crate {
    /// Reads a crate. The error names the file that cannot be parsed.
    pub(super) fn read(folder: &Path) -> Result<Self, String> {
        let src = folder.join("src");
        let mut files = Vec::new();
        for path in files_below(&src, "rs") {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let path = path.strip_prefix(&src).expect("it was found there").to_owned();
            files.push((path, text));
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let files = parse(files).map_err(|problem| format!("{name}: {problem}"))?;
        Ok(Self { name, folder: folder.to_owned(), files })
    }

    /// Without the files that are tests.
    pub(super) fn production(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| !file.is_test)
    }
}

/// Parses the files of one crate, given by their paths below `src`.
pub(super) fn parse(files: Vec<(PathBuf, String)>) -> Result<Vec<File>, String> {
    let has_library = files.iter().any(|(path, _)| path == Path::new("lib.rs"));
    let mut parsed = Vec::new();
    for (path, text) in files {
        let syntax = syn::parse_file(&text)
            .map_err(|error| format!("{} cannot be parsed: {error}", path.display()))?;
        let module = module_path(&path, has_library);
        let is_test = is_named_as_test(&path);
        parsed.push(File { path, module, text, syntax, is_test });
    }
    let tests: BTreeSet<ModulePath> = parsed.iter().flat_map(test_modules).collect();
    for file in &mut parsed {
        file.is_test |= tests.iter().any(|module| file.module.starts_with(module));
    }
    Ok(parsed)
}

/// The module that a file is. A program beside a library is a module of its own, which nothing uses.
fn module_path(path: &Path, has_library: bool) -> ModulePath {
    let mut names: ModulePath = path
        .with_extension("")
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    let is_root = match names.last().map(String::as_str) {
        Some("lib") => names.len() == 1,
        Some("main") => names.len() == 1 && !has_library,
        Some("mod") => true,
        Some(_) | None => false,
    };
    if is_root {
        names.pop();
    }
    names
}

fn is_named_as_test(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let in_folder = path.parent().is_some_and(|parent| parent.iter().any(|name| name == "tests"));
    in_folder
        || ["test", "tests"].iter().any(|end| stem == *end || stem.ends_with(&format!("_{end}")))
}

/// Modules in files of their own that are only declared for tests.
fn test_modules(file: &File) -> Vec<ModulePath> {
    let items = file.syntax.items.iter();
    let modules = items.filter_map(|item| match item {
        syn::Item::Mod(module) if is_for_tests(&module.attrs) && module.content.is_none() => {
            Some(module.ident.to_string())
        }
        _ => None,
    });
    modules.map(|name| [file.module.clone(), vec![name]].concat()).collect()
}

/// Whether an item is only compiled for tests.
pub(super) fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test")
    })
}

/// The attributes of an item.
pub(super) fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::ExternCrate(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::ForeignMod(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::TraitAlias(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Union(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

impl File {
    /// The lines of items that are only compiled for tests, counted from one.
    pub(super) fn test_lines(&self) -> Vec<RangeInclusive<usize>> {
        let items = self.syntax.items.iter().filter(|item| is_for_tests(attributes(item)));
        items.map(|item| item.span().start().line..=item.span().end().line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(all: &[(&str, &str)]) -> Vec<File> {
        parse(all.iter().map(|(path, text)| (path.into(), (*text).to_owned())).collect()).unwrap()
    }

    #[test]
    fn modules_are_named_by_their_files() {
        for (path, has_library, module) in [
            ("lib.rs", true, ""),
            ("main.rs", false, ""),
            ("main.rs", true, "main"),
            ("a.rs", true, "a"),
            ("a/b.rs", true, "a::b"),
            ("a/mod.rs", true, "a"),
        ] {
            assert_eq!(module_path(Path::new(path), has_library).join("::"), module, "{path}");
        }
    }

    #[test]
    fn tests_are_known_by_name_and_by_declaration() {
        let files = files(&[
            ("lib.rs", "mod a; #[cfg(test)] mod replay; #[cfg(unix)] mod b;"),
            ("a.rs", "fn f() {}\n#[cfg(test)]\nmod tests {\n    fn t() {}\n}\n"),
            ("a/tests.rs", ""),
            ("b.rs", ""),
            ("io_tests.rs", ""),
            ("contests.rs", ""),
            ("replay.rs", "mod more;"),
            ("replay/more.rs", ""),
        ]);
        let tests: Vec<&Path> =
            files.iter().filter(|file| file.is_test).map(|file| file.path.as_path()).collect();
        let expected = ["a/tests.rs", "io_tests.rs", "replay.rs", "replay/more.rs"];
        assert_eq!(tests, expected.map(Path::new));
        assert_eq!(files[1].test_lines(), [2..=5]);
    }
}
