//! Flows: a flow means the same in whatever form of TOML it is written, and its limits hold.

use std::collections::BTreeMap;

use forge_core::flow::{Flow, Stage};
use forge_fuzz::FuzzTarget;

use crate::toml_text::written;

const NAME: &str = "feature";
/// The most calls that a count of them is believed to need time for.
const DEPTH_MAX: usize = 64;

#[test]
fn a_flow_means_the_same_in_any_form_of_toml() {
    let tokens = &[
        "[[stage]]\n",
        "name = \"a\"\n",
        "after = [\"a\"]\n",
        "agent = \"implementer\"\n",
        "command = \"make\"\n",
        "deliver = \"branch\"\n",
        "each = \"tasks\"\n",
        "[[stage.stage]]\n",
        "[[stage.gates]]\n",
        "gates = []\n",
        "rounds = 3\n",
        "misses = 2\n",
        "at_once = 4\n",
        "list = \"tasks\"\n",
        "when = { param = \"effort\", is = [\"M\"] }\n",
        "budget = \"2.50\"\n",
        "[params.effort]\n",
        "exhausted = \"ask\"\n",
        "items_max = 10\n",
        "gates_first = true\n",
        "coherence = \"x\"\n",
        "reads = [\"a.md\"]\n",
        "writes = [\"b.md\"]\n",
        "flow = \"change\"\n",
        "check = \"verify\"\n",
        "by = \"reviewer\"\n",
        "manual = { param = \"mode\", is = [\"manual\"] }\n",
    ];
    FuzzTarget { name: "flow-file", check, tokens, bytes_max: 16 * 1024 }.run();
}

fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let uses = Flow::uses(NAME, text);
    let flow = match parsed(text) {
        Ok(flow) => flow,
        Err(error) => return assert!(!error.is_empty(), "an error says something"),
    };
    assert!(uses.is_ok(), "a flow that can be read can be asked for what it uses: {uses:?}");
    let table: toml::Table = toml::from_str(text).expect("what is accepted is TOML");
    let again = parsed(&written(&table));
    assert_eq!(again.as_ref(), Ok(&flow), "in another form");
    flow.calls_max();
    assert!(depth(&flow.stages) <= DEPTH_MAX);
    for role in flow.roles() {
        assert!(!role.is_empty() && !role.contains('/'), "no path is built from {role:?}");
    }
}

fn parsed(text: &str) -> Result<Flow, String> {
    let texts = BTreeMap::from([(NAME.to_owned(), text.to_owned())]);
    Flow::parse(NAME, &texts).map_err(|error| error.to_string())
}

fn depth(stages: &[Stage]) -> usize {
    stages.iter().map(|stage| 1 + depth(stage.inner())).max().unwrap_or_default()
}
