//! Circles of modules inside a crate, and how many floors it has.
//!
//! A path counts for the file that *defines* what it names: `use` lines, and the `pub use` of faces, are followed to the end. `mod` and
//! `pub use` themselves count for nothing, and neither do tests. Not seen: methods, fields, and names inside strings of attributes.
//!
//! A floor is one file of the longest chain of files in which each uses the next. Files in one circle stand on one floor.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "items of Rust are not our enum, and there will be more"
)]

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::source::{Crate, File, ModulePath, attributes, is_for_tests};

/// How long a chain of `pub use` may be.
const HOPS_MAX: usize = 16;

/// Which file of a crate uses which, by their paths below `src`.
pub(super) struct Uses {
    edges: BTreeMap<String, BTreeSet<String>>,
}

impl Uses {
    /// Reads what the production files of a crate use of each other.
    pub(super) fn of_crate(all: &Crate) -> Self {
        let files: Vec<&File> = all.production().collect();
        Self::of_files(&files)
    }

    fn of_files(files: &[&File]) -> Self {
        let mut scopes = BTreeMap::new();
        for file in files {
            add_scope(&mut scopes, &shown(file), file.module.clone(), &file.syntax.items);
        }
        for file in files {
            // Also without a `mod` that was read: `#[cfg]` on it changes nothing here.
            if let Some((name, parent)) = file.module.split_last()
                && let Some(scope) = scopes.get_mut(parent)
            {
                scope.modules.insert(name.clone());
            }
        }
        let mut edges = BTreeMap::new();
        for file in files {
            let own = shown(file);
            let mut paths =
                Paths { scopes: &scopes, module: file.module.clone(), found: BTreeSet::new() };
            paths.items(&file.syntax.items);
            paths.found.remove(&own);
            edges.insert(own, paths.found);
        }
        Self { edges }
    }

    /// Sets of files that use each other in a circle.
    pub(super) fn circles(&self) -> Vec<Vec<&str>> {
        let components = self.components();
        components.into_iter().filter(|component| component.len() > 1).collect()
    }

    /// The longest chain from the top down, one file for each floor.
    pub(super) fn longest_chain(&self) -> Vec<&str> {
        // A component comes after all that it uses.
        let mut chains: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for component in self.components() {
            let used = component.iter().flat_map(|file| &self.edges[*file]);
            let below = used.filter_map(|file| chains.get(file.as_str())).max_by_key(|c| c.len());
            let below = below.cloned().unwrap_or_default();
            for file in component {
                chains.insert(file, [vec![file], below.clone()].concat());
            }
        }
        chains.into_values().max_by_key(Vec::len).unwrap_or_default()
    }

    /// Strongly connected components (Tarjan), each after all that it uses, sorted inside.
    fn components(&self) -> Vec<Vec<&str>> {
        let mut search = Search::over(&self.edges);
        for file in self.edges.keys() {
            if !search.index.contains_key(file.as_str()) {
                search.visit(file);
            }
        }
        search.done
    }
}

fn shown(file: &File) -> String {
    file.path.display().to_string()
}

/// The meaning of a name in a module, besides that of a module below it, which may have the same name.
enum Name {
    /// A type, a function and the like, defined here.
    Item,
    /// Another path, by a `use`.
    Import(Vec<String>),
}

/// All names of one module.
struct Scope {
    /// The file that has it.
    file: String,
    names: BTreeMap<String, Name>,
    /// Modules directly below.
    modules: BTreeSet<String>,
    /// Paths of `use path::*`.
    globs: Vec<Vec<String>>,
}

type Scopes = BTreeMap<ModulePath, Scope>;

fn add_scope(scopes: &mut Scopes, file: &str, module: ModulePath, items: &[syn::Item]) {
    let (names, modules, globs) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
    let mut scope = Scope { file: file.to_owned(), names, modules, globs };
    for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
        match item {
            syn::Item::Use(item) => {
                for (path, name) in leaves(&item.tree) {
                    if name == "*" {
                        scope.globs.push(path);
                    } else {
                        scope.names.insert(name, Name::Import(path));
                    }
                }
            }
            syn::Item::Mod(item) => {
                let name = item.ident.to_string();
                if let Some((_, items)) = &item.content {
                    let inner = [module.clone(), vec![name.clone()]].concat();
                    add_scope(scopes, file, inner, items);
                }
                scope.modules.insert(name);
            }
            _ => {
                scope.names.extend(defined(item).map(|name| (name, Name::Item)));
            }
        }
    }
    scopes.insert(module, scope);
}

/// The name that an item defines.
fn defined(item: &syn::Item) -> Option<String> {
    let name = match item {
        syn::Item::Const(item) => &item.ident,
        syn::Item::Enum(item) => &item.ident,
        syn::Item::Fn(item) => &item.sig.ident,
        syn::Item::Macro(item) => item.ident.as_ref()?,
        syn::Item::Static(item) => &item.ident,
        syn::Item::Struct(item) => &item.ident,
        syn::Item::Trait(item) => &item.ident,
        syn::Item::Type(item) => &item.ident,
        syn::Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// All paths of a `use`, each with the name that it gets here; `*` for all names.
pub(super) fn leaves(tree: &syn::UseTree) -> Vec<(Vec<String>, String)> {
    fn add(tree: &syn::UseTree, before: &[String], all: &mut Vec<(Vec<String>, String)>) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => add(&path.tree, &with(&path.ident), all),
            syn::UseTree::Name(name) if name.ident == "self" => {
                all.extend(before.last().map(|name| (before.to_vec(), name.clone())));
            }
            syn::UseTree::Name(name) => all.push((with(&name.ident), name.ident.to_string())),
            syn::UseTree::Rename(name) if name.ident == "self" => {
                all.push((before.to_vec(), name.rename.to_string()));
            }
            syn::UseTree::Rename(name) => all.push((with(&name.ident), name.rename.to_string())),
            syn::UseTree::Glob(_) => all.push((before.to_vec(), "*".to_owned())),
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| add(tree, before, all));
            }
        }
    }
    let mut all = Vec::new();
    add(tree, &[], &mut all);
    all
}

/// The end of a path.
#[derive(PartialEq, Eq)]
enum Found {
    Module(ModulePath),
    /// Something that this file defines.
    Item(String),
}

/// The meaning that is preferred of a name that has two.
#[derive(Clone, Copy)]
enum Prefer {
    Item,
    Module,
}

/// Follows a path from a module on. Nothing, if it leads out of the crate.
fn resolve(
    scopes: &Scopes,
    module: &[String],
    path: &[String],
    last: Prefer,
    hops: usize,
) -> Option<Found> {
    let (first, mut rest) = path.split_first()?;
    let prefer = |rest: &[String]| if rest.is_empty() { last } else { Prefer::Module };
    let mut at = match first.as_str() {
        "crate" => Vec::new(),
        "self" => module.to_vec(),
        "super" => module.split_last()?.1.to_vec(),
        name => match look_up(scopes, module, name, prefer(rest), hops)? {
            Found::Module(module) => module,
            item @ Found::Item(_) => return Some(item),
        },
    };
    while let Some((name, others)) = rest.split_first() {
        rest = others;
        if name == "super" {
            at.pop()?;
            continue;
        }
        match look_up(scopes, &at, name, prefer(rest), hops) {
            Some(Found::Module(module)) => at = module,
            Some(item @ Found::Item(_)) => return Some(item),
            // Made by a macro, perhaps.
            None => return scopes.get(&at).map(|scope| Found::Item(scope.file.clone())),
        }
    }
    Some(Found::Module(at))
}

/// Follows one name of a path from a module on.
fn look_up(
    scopes: &Scopes,
    module: &[String],
    name: &str,
    prefer: Prefer,
    hops: usize,
) -> Option<Found> {
    let hops = hops.checked_sub(1)?;
    let scope = scopes.get(module)?;
    let below = || {
        let inner = [module, &[name.to_owned()]].concat();
        let is_there = scope.modules.contains(name) && scopes.contains_key(&inner);
        is_there.then_some(Found::Module(inner))
    };
    let named = || match scope.names.get(name)? {
        Name::Item => Some(Found::Item(scope.file.clone())),
        Name::Import(path) if path.len() == 1 && path[0] == name => None,
        Name::Import(path) => resolve(scopes, module, path, prefer, hops),
    };
    let by_glob = || {
        scope.globs.iter().find_map(|glob| {
            match resolve(scopes, module, glob, Prefer::Module, hops)? {
                Found::Module(other) if other != module => {
                    look_up(scopes, &other, name, prefer, hops)
                }
                Found::Module(_) | Found::Item(_) => None,
            }
        })
    };
    let own = match prefer {
        Prefer::Item => named().or_else(below),
        Prefer::Module => below().or_else(named),
    };
    own.or_else(by_glob)
}

/// Collects the files that the code of one file uses.
struct Paths<'a> {
    scopes: &'a Scopes,
    module: ModulePath,
    found: BTreeSet<String>,
}

impl Paths<'_> {
    fn items(&mut self, items: &[syn::Item]) {
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            match item {
                syn::Item::Use(item) => self.import(item),
                syn::Item::Mod(item) => {
                    if let Some((_, items)) = &item.content {
                        self.module.push(item.ident.to_string());
                        self.items(items);
                        self.module.pop();
                    }
                }
                _ => self.visit_item(item),
            }
        }
    }

    fn import(&mut self, item: &syn::ItemUse) {
        if matches!(item.vis, syn::Visibility::Inherited) {
            for (path, _) in leaves(&item.tree).into_iter().filter(|(_, name)| name != "*") {
                // Of a name that is a module, too, it is the module that is imported.
                if let Some(Found::Item(file)) = self.find(&path, Prefer::Module) {
                    self.found.insert(file);
                }
            }
        }
    }

    fn add(&mut self, path: &[String]) {
        if let Some(Found::Item(file)) = self.find(path, Prefer::Item) {
            self.found.insert(file);
        }
    }

    fn find(&self, path: &[String], last: Prefer) -> Option<Found> {
        resolve(self.scopes, &self.module, path, last, HOPS_MAX)
    }

    /// Paths inside macros, which are not parsed: names with `::` between them.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let (mut colons, mut is_method) = (0, false);
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.end_path(&mut path);
                    }
                    if !is_method {
                        path.push(name.to_string());
                    }
                    (colons, is_method) = (0, false);
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' && !path.is_empty() => colons += 1,
                other => {
                    self.end_path(&mut path);
                    colons = 0;
                    is_method = matches!(&other, TokenTree::Punct(mark) if mark.as_char() == '.');
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.end_path(&mut path);
    }

    fn end_path(&mut self, path: &mut Vec<String>) {
        if !path.is_empty() {
            self.add(path);
            path.clear();
        }
    }
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        if path.leading_colon.is_none() {
            self.add(&names);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.visit_path(&item.path);
        self.tokens(item.tokens.clone());
    }

    /// Inside a function.
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.import(item);
    }

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
}

/// The state of Tarjan's search.
struct Search<'a> {
    edges: &'a BTreeMap<String, BTreeSet<String>>,
    index: BTreeMap<&'a str, usize>,
    low: BTreeMap<&'a str, usize>,
    stack: Vec<&'a str>,
    done: Vec<Vec<&'a str>>,
}

impl<'a> Search<'a> {
    fn over(edges: &'a BTreeMap<String, BTreeSet<String>>) -> Self {
        let (index, low) = (BTreeMap::new(), BTreeMap::new());
        Self { edges, index, low, stack: Vec::new(), done: Vec::new() }
    }

    fn visit(&mut self, file: &'a str) {
        let number = self.index.len();
        self.index.insert(file, number);
        self.low.insert(file, number);
        self.stack.push(file);
        for next in &self.edges[file] {
            let reached = match self.index.get(next.as_str()) {
                None => {
                    self.visit(next);
                    self.low[next.as_str()]
                }
                Some(number) if self.stack.contains(&next.as_str()) => *number,
                Some(_) => continue,
            };
            let low = self.low[file].min(reached);
            self.low.insert(file, low);
        }
        if self.low[file] == number {
            let at = self.stack.iter().position(|other| *other == file).expect("it was pushed");
            let mut component = self.stack.split_off(at);
            component.sort_unstable();
            self.done.push(component);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    fn uses(all: &[(&str, &str)]) -> Uses {
        let all = all.iter().map(|(path, text)| (path.into(), (*text).to_owned())).collect();
        let files = source::parse(all).unwrap();
        let production: Vec<&File> = files.iter().filter(|file| !file.is_test).collect();
        Uses::of_files(&production)
    }

    #[test]
    fn two_files_that_use_each_other_are_a_circle() {
        let uses = uses(&[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B; pub struct A(B);"),
            ("b.rs", "use crate::c; pub struct B; fn f() { c::g() }"),
            ("c.rs", "pub fn g() { let _ = crate::a::A; }"),
        ]);
        assert_eq!(uses.circles(), [["a.rs", "b.rs", "c.rs"]]);
        assert_eq!(uses.longest_chain().len(), 1);
    }

    #[test]
    fn a_path_counts_for_the_file_that_defines_the_item() {
        let uses = uses(&[
            ("lib.rs", "mod x; mod user; pub use x::Type;"),
            ("x.rs", "mod inner; mod other; pub use inner::{Type, self as renamed};"),
            ("x/inner.rs", "pub struct Type; impl Type { pub fn new() {} }"),
            ("x/other.rs", "use super::Type; fn f(_: Type) {}"),
            ("user.rs", "use crate::Type; fn f() { crate::x::renamed::Type::new(); Type::new(); }"),
        ]);
        assert_eq!(uses.circles(), [] as [Vec<&str>; 0], "a face is not used");
        assert_eq!(uses.edges["user.rs"], BTreeSet::from(["x/inner.rs".to_owned()]));
        assert_eq!(uses.edges["x/other.rs"], BTreeSet::from(["x/inner.rs".to_owned()]));
        assert_eq!(uses.edges["x.rs"], BTreeSet::new());
        assert_eq!(uses.longest_chain().len(), 2);
    }

    #[test]
    fn a_parent_that_is_face_and_content_is_a_circle_with_its_child() {
        let uses = uses(&[
            ("lib.rs", "mod a;"),
            ("a.rs", "mod b; pub use b::make; pub struct Shared; fn f() { make(); }"),
            ("a/b.rs", "use super::Shared; pub fn make() -> Shared { Shared }"),
        ]);
        assert_eq!(uses.circles(), [["a.rs", "a/b.rs"]]);
    }

    #[test]
    fn macros_and_globs_are_looked_into_and_tests_are_not() {
        let uses = uses(&[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "fn f() { println!(\"{}\", crate::b::g(1)); x.c::<u8>(); }"),
            ("b.rs", "use crate::c::*; pub fn g(_: u8) -> Kind { Kind }"),
            ("c.rs", "pub struct Kind; #[cfg(test)] mod tests { use crate::a::f; fn t() { f() } }"),
            ("c/tests.rs", "use crate::a::f;"),
        ]);
        assert_eq!(uses.edges["a.rs"], BTreeSet::from(["b.rs".to_owned()]));
        assert_eq!(uses.edges["b.rs"], BTreeSet::from(["c.rs".to_owned()]));
        assert_eq!(uses.circles(), [] as [Vec<&str>; 0]);
        assert_eq!(uses.longest_chain(), ["a.rs", "b.rs", "c.rs"]);
    }

    #[test]
    fn a_module_and_a_function_may_have_the_same_name() {
        let uses = uses(&[
            ("main.rs", "mod a; mod b; fn a() { b::go() }"),
            ("a.rs", "pub fn run() {}"),
            ("b.rs", "use crate::a; pub fn go() { a::run() }"),
        ]);
        assert_eq!(uses.edges["main.rs"], BTreeSet::from(["b.rs".to_owned()]));
        assert_eq!(uses.edges["b.rs"], BTreeSet::from(["a.rs".to_owned()]));
    }

    #[test]
    fn names_of_other_crates_and_of_oneself_lead_nowhere() {
        let uses = uses(&[
            ("lib.rs", "mod toml; use serde; use serde::Serialize; fn f() { std::fs::read(); }"),
            (
                "toml.rs",
                "use toml::Table; use super::toml as own; fn f(_: Table, _: own::Table) {}",
            ),
        ]);
        assert_eq!(uses.circles(), [] as [Vec<&str>; 0]);
    }
}
