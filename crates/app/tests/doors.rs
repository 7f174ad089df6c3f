//! The doors, used as a person, a script and a second terminal use them: the real program in a
//! real repository, with a real process for every agent.
//!
//! `goes`: a run from its start to each of its ends. `holds`: pause, stop, limits, money.
//! `together`: several doors at once, and agents who try to be one. `reads`: what can be looked
//! at. `mends`: what a person does by hand. `shapes`: what a flow can say. `code`: what is looked
//! at before code lands. `lands`: conflicts, branches and other runs. `settings`: what is set, and
//! by whom. `agents`: who is there, and who answers. `starts` and `asked`: before a run exists.
//! `stats`: what was spent. `watch`: one agent's stream. `live`: the screen at a real terminal.
//! `brief`: what an agent was told. `fixes`: what the doctor mends.
//! `unnamed`: commands that name no run. `notify`: who is told elsewhere. `rendered`: Markdown and
//! pagers. `pages`: completions and manual pages. `looks`: how it all looks, as snapshots. `reviewed`: holes that a reviewer found once.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where it stands")]

mod world;

#[path = "doors/agents.rs"]
mod agents;
#[path = "doors/asked.rs"]
mod asked;
#[path = "doors/brief.rs"]
mod brief;
#[path = "doors/code.rs"]
mod code;
#[path = "doors/fixes.rs"]
mod fixes;
#[path = "doors/goes.rs"]
mod goes;
#[path = "doors/holds.rs"]
mod holds;
#[path = "doors/lands.rs"]
mod lands;
#[path = "doors/live.rs"]
mod live;
#[path = "doors/looks.rs"]
mod looks;
#[path = "doors/mends.rs"]
mod mends;
#[path = "doors/notify.rs"]
mod notify;
#[path = "doors/pages.rs"]
mod pages;
#[path = "doors/reads.rs"]
mod reads;
#[path = "doors/rendered.rs"]
mod rendered;
#[path = "doors/reviewed.rs"]
mod reviewed;
#[path = "doors/settings.rs"]
mod settings;
#[path = "doors/shapes.rs"]
mod shapes;
#[path = "doors/starts.rs"]
mod starts;
#[path = "doors/stats.rs"]
mod stats;
#[path = "doors/together.rs"]
mod together;
#[path = "doors/unnamed.rs"]
mod unnamed;
#[path = "doors/watch.rs"]
mod watch;
