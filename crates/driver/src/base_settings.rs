//! The settings that hold for a run from one commit: the person's layers, and the repository's as it
//! is in that commit.

use forge_project::{
    catalog::text_at,
    settings::{FILE, FILE_BYTES_MAX, Settings, SourceFile, Sources},
};
use forge_workspace::Repository;

use crate::Error;

/// Reads the settings for a run that starts from `base`.
pub fn settings_at(repository: &Repository, base: Option<&str>) -> Result<Settings, Error> {
    Ok(Settings::from_sources(&sources_at(repository, base)?)?)
}

/// Gathers the layers for a run that starts from `base`.
pub fn sources_at(repository: &Repository, base: Option<&str>) -> Result<Sources, Error> {
    let mut sources = Sources::personal(repository.top.as_deref())?;
    if let Some(base) = base {
        let text = text_at(repository, base, FILE, FILE_BYTES_MAX)?;
        sources.repo = text.map(|text| SourceFile { name: FILE.to_owned(), text });
    }
    Ok(sources)
}
