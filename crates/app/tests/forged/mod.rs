//! Agents that ruin what they can reach, and agents that forge: whole stories with the real program.
//!
//! `project`: the small project, what the user has to lose, and what must hold afterwards.
//! `rampage`: git and files as weapons. `checks`: tests, checks and settings that are bent.
//! `checkouts`: files that are changed where nobody should. `folders`: forged endings, results and
//! orders in the folders of calls. `history`: commits and refs that are moved.
//!
//! An agent runs as the user, so one that knows the path of the user's repository and sets out to
//! write there cannot be stopped without a sandbox. What is proved is that nothing which an agent does
//! in what it was given, or with the paths that it finds there, counts as evidence.

use crate::world;

mod checkouts;
mod checks;
mod folders;
mod history;
mod project;
mod rampage;
