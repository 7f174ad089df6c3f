//! The programs that play beside Claude Code, and how each finds its model.

use std::fs;

use serde_json::json;

use crate::stage::{API_KEY, Player};

/// Codex. One answer of the model costs $0.0071 with it: 1100 tokens, 200 of the cache, and 50 that it says.
pub(crate) static CODEX: Player = Player {
    name: "codex",
    found_by: ("FORGE_TEST_CODEX", "codex-0.166.0"),
    model: "gpt-5.5",
    remembers: &["mkfifo", "I begin."],
    equip: |world, url| {
        // Its own provider asks by a socket of another kind, and again for long.
        let settings = format!(
            "model = \"gpt-5.4\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\n\
             name = \"scripted\"\nbase_url = \"{url}/v1\"\nwire_api = \"responses\"\n\
             env_key = \"OPENAI_API_KEY\"\nrequest_max_retries = 1\nstream_max_retries = 1\n"
        );
        let folder = world.beside(".codex");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.toml"), settings).unwrap();
        vec![("OPENAI_API_KEY", API_KEY.to_owned())]
    },
};

/// opencode. It is told what a million tokens of its model cost.
pub(crate) static OPENCODE: Player = Player {
    name: "opencode",
    found_by: ("FORGE_TEST_OPENCODE", "opencode-1.18.33"),
    model: "scripted/model-1",
    remembers: &["mkfifo", "I begin."],
    equip: |world, url| {
        let model = json!({
            "tool_call": true, "limit": {"context": 200_000, "output": 8192},
            "cost": {"input": 3, "output": 15, "cache_read": 0.3},
        });
        let provider = json!({
            "npm": "@ai-sdk/openai-compatible", "models": {"model-1": model},
            "options": {"baseURL": format!("{url}/v1"), "apiKey": "{env:OPENCODE_API_KEY}"},
        });
        let settings = json!({
            // It writes this into a file that has it not.
            "$schema": "https://opencode.ai/config.json",
            "model": "scripted/model-1", "small_model": "scripted/model-1",
            "provider": {"scripted": provider},
        });
        let folder = world.beside(".config/opencode");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("opencode.json"), settings.to_string()).unwrap();
        // In a new home it would ask the registry of npm for its plugins; a tool of the agent would be offline, too.
        fs::write(world.beside(".npmrc"), "offline=true\n").unwrap();
        vec![("OPENCODE_API_KEY", API_KEY.to_owned())]
    },
};

/// Gemini CLI.
pub(crate) static GEMINI: Player = Player {
    name: "gemini",
    found_by: ("FORGE_TEST_GEMINI", "gemini-cli-0.61.0"),
    model: "gemini-2.5-pro",
    // A tool is kept when it has ended.
    remembers: &["I begin."],
    equip: |world, url| {
        // It would tell its vendor that it was used.
        let settings = json!({
            "privacy": {"usageStatisticsEnabled": false},
            "security": {"auth": {"selectedType": "gemini-api-key"}},
        });
        let folder = world.beside(".gemini");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
        vec![("GEMINI_API_KEY", API_KEY.to_owned()), ("GOOGLE_GEMINI_BASE_URL", url.to_owned())]
    },
};
