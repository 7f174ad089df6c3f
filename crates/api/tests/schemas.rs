//! The published schemas in `docs/schemas/` are those of the types. `cargo xtask schemas` lets this test write them.

use std::{fs, path::Path};

use forge_api::{
    accounts::AccountRow,
    agents::{check::Probed, list::AgentRow},
    doctor::{HealthFinding, Salvaged},
    gate::GateCheck,
    phases::FrictionSummary,
    spending::SpendingView,
    start::DryRun,
    watch::{Briefing, events::UnitEvent},
    work::{ImportPlan, PagesView, WorkFinding, WorkLine, WorkView},
};
use forge_core::view::{LogLine, PhaseEvent, ResultView, RunLine, RunRow, RunView, SummaryView};
use forge_driver::{deliver::Offer, notify::notice::Notice, projection::StateFile};
use forge_project::{
    catalog::FlowRow,
    settings::{Explained, SettingRow},
};

/// The variable that asks for writing instead of comparing.
const WRITE: &str = "FORGE_WRITE_SCHEMAS";

/// All schemas, by file name.
fn all() -> Vec<(&'static str, String)> {
    let mut schemas = forge_api::schemas();
    schemas.push(("status.schema.json", schemars::schema_for!(Vec<RunRow>)));
    schemas.push(("status-run.schema.json", schemars::schema_for!(RunView)));
    schemas.push(("state.schema.json", schemars::schema_for!(StateFile)));
    schemas.push(("delivery.schema.json", schemars::schema_for!(Offer)));
    schemas.push(("doctor.schema.json", schemars::schema_for!(Vec<HealthFinding>)));
    schemas.push(("doctor-salvage.schema.json", schemars::schema_for!(Salvaged)));
    schemas.push(("flow.schema.json", schemars::schema_for!(Vec<FlowRow>)));
    schemas.push(("config.schema.json", schemars::schema_for!(Vec<SettingRow>)));
    schemas.push(("config-explain.schema.json", schemars::schema_for!(Explained)));
    schemas.push(("show.schema.json", schemars::schema_for!(ResultView)));
    schemas.push(("summary.schema.json", schemars::schema_for!(SummaryView)));
    schemas.push(("log.schema.json", schemars::schema_for!(LogLine)));
    schemas.push(("run-dry.schema.json", schemars::schema_for!(DryRun)));
    schemas.push(("run.schema.json", schemars::schema_for!(RunLine)));
    schemas.push(("stats.schema.json", schemars::schema_for!(SpendingView)));
    schemas.push(("accounts.schema.json", schemars::schema_for!(Vec<AccountRow>)));
    schemas.push(("agents.schema.json", schemars::schema_for!(Vec<AgentRow>)));
    schemas.push(("agents-check.schema.json", schemars::schema_for!(Probed)));
    schemas.push(("watch.schema.json", schemars::schema_for!(UnitEvent)));
    schemas.push(("brief.schema.json", schemars::schema_for!(Briefing)));
    schemas.push(("notify.schema.json", schemars::schema_for!(Notice)));
    schemas.push(("record.schema.json", schemars::schema_for!(WorkView)));
    schemas.push(("records.schema.json", schemars::schema_for!(Vec<WorkLine>)));
    schemas.push(("gate-check.schema.json", schemars::schema_for!(GateCheck)));
    schemas.push(("import.schema.json", schemars::schema_for!(ImportPlan)));
    schemas.push(("work-check.schema.json", schemars::schema_for!(Vec<WorkFinding>)));
    schemas.push(("work-pages.schema.json", schemars::schema_for!(PagesView)));
    schemas.push(("log-phases.schema.json", schemars::schema_for!(PhaseEvent)));
    schemas.push(("stats-friction.schema.json", schemars::schema_for!(FrictionSummary)));
    let text = |schema: &schemars::Schema| {
        serde_json::to_string_pretty(schema).expect("a schema can be written") + "\n"
    };
    schemas.iter().map(|(name, schema)| (*name, text(schema))).collect()
}

#[test]
fn the_published_schemas_are_those_of_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
    for (name, text) in all() {
        let path = folder.join(name);
        if std::env::var_os(WRITE).is_some() {
            fs::write(&path, &text).expect("a schema can be written");
        }
        let published = fs::read_to_string(&path).unwrap_or_default();
        assert!(published == text, "{name} is behind: run `cargo xtask schemas`");
    }
}
