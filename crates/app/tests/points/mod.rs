//! Where the flow `feature` needs a person: each of its fifteen points, answered in every way that it can
//! be, through the commands that a person uses.
//!
//! Read `project.rs` (a small project, who plays what in it, and how its questions are answered), then the
//! modules. `begins`: before a run exists. `design`, `tasks`: the two checkpoints. `building`: what goes wrong with a task. `ending`: the last
//! look, and the summary. `unproved`: a project without checks. `reviewers`: what judges may say. `words`: what a person
//! says reaches whom it is for. `sees`: what can be looked at before one answers. `several`: more than one person. `terminal`: the same at a real terminal. `sequences`: what happens when, as snapshots.
//! `ways`: the same answer by keys, by pipes, from a second process. `answered`: every question, each of its answers, in each of these ways. `chosen`: the same
//! for what is refused or chosen before a run exists. `table`: which test shows the other points from where; it fails where a cell has none.

use crate::world;

mod answered;
mod begins;
mod building;
mod chosen;
mod design;
mod ending;
mod project;
mod reviewers;
mod sees;
mod sequences;
mod several;
mod table;
mod tasks;
mod terminal;
mod unproved;
mod ways;
mod words;
