//! What the engine does, told as stories in a simulated world. Start with `world`.

mod law;
mod world;

mod failures;
mod feature;
mod flows;
mod holds;
mod journal;
mod landing;
mod lists;
mod milestone;
mod money;
mod people;
mod reading;
mod rounds;
mod sprint;
mod time;
mod views;
