//! The tools that an agent uses, as far as it has told: in parts, and again when it asks for a permission.
//!
//! Not here: whether it gets the permission (`policy`).

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::lines::AcpLine;
use super::wire::{AskedPermission, PermissionOption, ToolFields, ToolKind, read};
use crate::signal::{first_line, truncate};

/// The most tools that are remembered.
pub(super) const TOOLS_MAX: usize = 1_000;
/// The most files of one tool.
const LOCATIONS_MAX: usize = 50;
/// The most characters of a text.
const TEXT_CHARACTERS_MAX: usize = 500;

/// All tools of a session, the last ones last.
#[derive(Debug, Default)]
pub(super) struct KnownTools {
    pub(super) tools: Vec<KnownTool>,
}

/// A tool that the agent uses.
#[derive(Debug)]
pub(super) struct KnownTool {
    fields: ToolFields,
    /// A tool is printed once.
    is_told: bool,
}

/// A permission that is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PermissionRequest {
    pub(super) kind: ToolKind,
    /// Files that it is about, as far as they are told.
    pub(super) paths: Vec<PathBuf>,
    /// For people.
    pub(super) title: String,
    pub(super) options: Vec<PermissionOption>,
}

impl KnownTools {
    /// Hears of a tool, and says what is to be printed. It is told once, when it is known what it is about.
    pub(super) fn hear(&mut self, fields: ToolFields) -> AcpLine {
        let known = self.know(fields);
        let fields = &known.fields;
        let is_under_way = fields.status.as_deref().is_some_and(|status| status != "pending");
        let has_details = !fields.locations.is_empty()
            || fields.raw_input.as_object().is_some_and(|input| !input.is_empty());
        if known.is_told || !(is_under_way || has_details) {
            return AcpLine::Alive;
        }
        known.is_told = true;
        let place = fields.locations.first().map(|one| one.path.display().to_string());
        let about = fields.title.clone().or(place).unwrap_or_default();
        let name = fields.kind.unwrap_or_default().as_str().to_owned();
        AcpLine::UsedTool { name, about: first_line(&about) }
    }

    /// Reads a request for a permission, with what is known of its tool.
    pub(super) fn permission(&mut self, asked: AskedPermission) -> PermissionRequest {
        let mut paths: Vec<PathBuf> = Vec::new();
        for content in asked.tool_call["content"].as_array().into_iter().flatten() {
            if content["type"] == "diff" {
                paths.extend(content["path"].as_str().map(PathBuf::from));
            }
        }
        let fields = &self.know(read(asked.tool_call)).fields;
        // Who shows a change of a file wants to make it.
        let is_change = fields.kind.unwrap_or_default() == ToolKind::Other && !paths.is_empty();
        paths.extend(fields.locations.iter().map(|one| one.path.clone()));
        PermissionRequest {
            kind: if is_change { ToolKind::Edit } else { fields.kind.unwrap_or_default() },
            paths,
            title: first_line(fields.title.as_deref().unwrap_or_default()),
            options: asked.options,
        }
    }

    /// Puts what is told of a tool to what is known of it.
    fn know(&mut self, new: ToolFields) -> &mut KnownTool {
        let same = |known: &KnownTool| known.fields.tool_call_id == new.tool_call_id;
        let place = self.tools.iter().rposition(same).unwrap_or_else(|| {
            if self.tools.len() == TOOLS_MAX {
                self.tools.remove(0);
            }
            let tool_call_id = new.tool_call_id.clone();
            let fields = ToolFields { tool_call_id, ..ToolFields::default() };
            self.tools.push(KnownTool { fields, is_told: false });
            self.tools.len() - 1
        });
        let known = &mut self.tools[place];
        let fields = &mut known.fields;
        let short = |text: String| truncate(&text, TEXT_CHARACTERS_MAX);
        fields.title = new.title.map(short).or(fields.title.take());
        fields.kind = new.kind.or(fields.kind);
        fields.status = new.status.map(short).or(fields.status.take());
        if !new.locations.is_empty() {
            fields.locations = new.locations;
            fields.locations.truncate(LOCATIONS_MAX);
        }
        if let Some(input) = new.raw_input.as_object() {
            // Whether there is any is all that is asked of it.
            fields.raw_input =
                if input.is_empty() { Value::Object(Map::new()) } else { json!({"is": "there"}) };
        }
        known
    }
}
