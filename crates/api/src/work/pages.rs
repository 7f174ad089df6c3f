//! `forge work pages`: the pages of all records, in the folder of the user's checkout that `work.pages` names.
//!
//! Not here: what is in a page (`core::view::pages`), and the pages that a run writes (`driver::deliver`).
//!
//! Invariant: a file that Forge did not write is neither replaced nor removed.

use std::collections::BTreeMap;

use forge_core::view::pages::{INDEX, PageChanges, page_changes, page_folders, pages};
use forge_driver::{Error, context::read_blob, work_pages::page_sources};
use forge_store::journal::Journal;
use forge_workspace::CheckoutFile;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{forge::Forge, spending::Unreadable};

/// The treatment of pages that differ from their records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagesMode {
    Write,
    /// They are only named.
    Check,
}

/// The pages that were not as their records are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PagesView {
    /// The folder of all pages, from the top of the checkout.
    pub folder: String,
    /// Pages that are new or changed, from the top of the checkout.
    pub written: Vec<String>,
    /// Pages without a record.
    pub removed: Vec<String>,
    /// Files in the place of a page that Forge did not write. They are left alone.
    pub foreign: Vec<String>,
    /// Runs that could not be read. Nothing of them is in the pages.
    pub unreadable: Vec<Unreadable>,
    /// What a person should know about files of records that were taken in.
    #[serde(skip)]
    pub notes: Vec<String>,
}

impl PagesView {
    /// Returns true if all pages were as they should be.
    pub fn is_clean(&self) -> bool {
        self.written.is_empty() && self.removed.is_empty() && self.foreign.is_empty()
    }
}

impl Forge {
    /// Writes or checks the pages of all records.
    pub fn work_pages(&self, mode: PagesMode) -> Result<PagesView, Error> {
        if mode == PagesMode::Write {
            self.refuse_agents()?;
        }
        let repository = &self.home.repository;
        if repository.top.is_none() {
            let what = "a bare repository has no checkout to write pages in";
            return Err(Error::usage(what, "git clone"));
        }
        let folder = self.settings()?.work.pages.clone().ok_or_else(|| {
            let what = "no folder is set for pages";
            Error::usage(what, "forge config set work.pages docs/work")
        })?;
        let folder = String::from(folder);
        let mut notes = Vec::new();
        if let Some(mut records) = self.work_to_read()? {
            records.note_findings()?;
            notes = records.notes;
        }
        let (store, blobs) = (self.find_store()?, self.blobs()?);
        let journal = store.as_ref().map(|store| store as &dyn Journal);
        let sources = page_sources(&self.home.dir, journal, &|blob| read_blob(&blobs, blob))?;
        let there = self.pages_there(&folder)?;
        let PageChanges { write, remove, foreign } = page_changes(&there, &pages(&sources.facts));
        let whole = |path: &String| format!("{folder}/{path}");
        if mode == PagesMode::Write {
            for (path, text) in &write {
                repository.replace_checkout_file(&whole(path), text.as_bytes())?;
            }
            for path in &remove {
                repository.remove_checkout_file(&whole(path))?;
            }
        }
        let unreadable = sources.unreadable.into_iter().map(|(run, why)| Unreadable { run, why });
        Ok(PagesView {
            written: write.keys().map(whole).collect(),
            removed: remove.iter().map(whole).collect(),
            foreign: foreign.iter().map(whole).collect(),
            unreadable: unreadable.collect(),
            notes,
            folder,
        })
    }

    /// Returns the files of the checkout that may be pages, by their path in the folder.
    fn pages_there(&self, folder: &str) -> Result<BTreeMap<String, Vec<u8>>, Error> {
        let repository = &self.home.repository;
        let mut paths = vec![INDEX.to_owned()];
        for kind in page_folders() {
            let names = repository.checkout_folder(&format!("{folder}/{kind}"))?;
            paths.extend(names.into_iter().map(|name| format!("{kind}/{name}")));
        }
        let mut there = BTreeMap::new();
        for path in paths {
            match repository.checkout_file(&format!("{folder}/{path}"))? {
                CheckoutFile::Content(content) => {
                    there.insert(path, content);
                }
                CheckoutFile::Missing | CheckoutFile::Blocked => {}
            }
        }
        Ok(there)
    }
}
