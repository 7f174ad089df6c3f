//! The programs that play beside Claude Code, and how each finds its model.

use std::fs;

use crate::stage::{API_KEY, Player};

/// Codex. One answer of the model costs $0.0071 with it: 1100 tokens, 200 of the cache, and 50 that it says.
pub(crate) static CODEX: Player = Player {
    name: "codex",
    found_by: ("FORGE_TEST_CODEX", "codex-0.166.0"),
    model: "gpt-5.5",
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
