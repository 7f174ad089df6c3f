//! The commands, used as a person, a script and a second terminal use them: the real program in a
//! real repository, with a real process for every agent.
//!
//! `goes`: a run from its start to each of its ends. `holds`: pause, stop, limits, money.
//! `together`: several processes at once, and agents who try to be one. `reads`: what can be looked
//! at. `edits`: what a person changes. `shapes`: what a flow can say. `code`: what is looked
//! at before code lands. `lands`: conflicts, branches and other runs. `settings`: what is set, and
//! by whom. `agents`: who is there, and who answers. `starts` and `asked`: before a run exists.
//! `records`: features, sprints, tasks and bugs, and their files. `imports`: what other systems left. `issues`: what trackers say. `hooks`: what agents write into them. `record_pages`: what people read of them. `stats`: what was spent. `watch`: one
//! agent's stream. `live`: the screen at a real terminal. `brief`: what an agent is given. `brief_blocks`: what a flow can leave out of it, skills, retries, models.
//! `fixes`: what the doctor repairs.
//! `unnamed`: commands that name no run. `decides`: one answer, one command. `takes`: what a person does with a result. `notify`: notifications. `rendered`: Markdown and
//! pagers. `pages`: completions and manual pages. `looks`: how it all looks, as snapshots. `reviewed`: holes that a reviewer found once.
//!
//! `feature`: the flow `feature` from a request to a delivered branch. `points`: where it needs a person. `projects`: small projects in five
//! languages. `screens`: many items on a real terminal.
//!
//! Not here: what goes wrong outside (`faults`), agents of every kind (`agents`), the real Claude Code (`claude`). Few programs, because each is
//! linked and has its own copy of `world`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where it stands")]

mod feature;
mod points;
mod projects;
mod screens;
mod world;

#[path = "commands/agents.rs"]
mod agents;
#[path = "commands/asked.rs"]
mod asked;
#[path = "commands/brief.rs"]
mod brief;
#[path = "commands/brief_blocks.rs"]
mod brief_blocks;
#[path = "commands/code.rs"]
mod code;
#[path = "commands/decides.rs"]
mod decides;
#[path = "commands/delivers.rs"]
mod delivers;
#[path = "commands/edits.rs"]
mod edits;
#[path = "commands/fixes.rs"]
mod fixes;
#[path = "commands/gates.rs"]
mod gates;
#[path = "commands/goes.rs"]
mod goes;
#[path = "commands/holds.rs"]
mod holds;
#[path = "commands/hooks.rs"]
mod hooks;
#[path = "commands/imports.rs"]
mod imports;
#[path = "commands/issues.rs"]
mod issues;
#[path = "commands/lands.rs"]
mod lands;
#[path = "commands/live.rs"]
mod live;
#[path = "commands/looks.rs"]
mod looks;
#[path = "commands/notify.rs"]
mod notify;
#[path = "commands/pages.rs"]
mod pages;
#[path = "commands/pull_requests.rs"]
mod pull_requests;
#[path = "commands/reads.rs"]
mod reads;
#[path = "commands/record_pages.rs"]
mod record_pages;
#[path = "commands/record_runs.rs"]
mod record_runs;
#[path = "commands/records.rs"]
mod records;
#[path = "commands/rendered.rs"]
mod rendered;
#[path = "commands/reviewed.rs"]
mod reviewed;
#[path = "commands/settings.rs"]
mod settings;
#[path = "commands/shapes.rs"]
mod shapes;
#[path = "commands/starts.rs"]
mod starts;
#[path = "commands/stats.rs"]
mod stats;
#[path = "commands/takes.rs"]
mod takes;
#[path = "commands/together.rs"]
mod together;
#[path = "commands/undo.rs"]
mod undo;
#[path = "commands/unnamed.rs"]
mod unnamed;
#[path = "commands/watch.rs"]
mod watch;
