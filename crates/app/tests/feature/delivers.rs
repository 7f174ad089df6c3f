//! What there is when the flow is done: the branch, the record, the last commit.

use crate::project::{Project, REQUEST};
use crate::world::has;

#[test]
fn a_request_becomes_a_verified_branch_a_record_and_a_last_commit() {
    let project = Project::new("");
    let world = &project.world;
    let run = project.done("M", &[]);
    let branch = Project::branch(&run);

    // The code of both tasks, and a last commit that only keeps the run.
    assert_eq!(world.git(&["show", &format!("{branch}:src/greet")]), "hello");
    assert_eq!(world.git(&["show", &format!("{branch}:src/part")]), "goodbye");
    let last = world.git(&["diff", "--name-only", &format!("{branch}~1"), &branch]);
    let folder = format!(".forge/runs/{run}/");
    assert!(last.lines().all(|path| path.starts_with(&folder)), "{last}");

    // What was delivered is the commit below it, with its evidence.
    let delivered = project.deliveries(&run);
    assert_eq!(delivered.len(), 1);
    let below = world.git(&["rev-parse", &format!("{branch}~1")]);
    assert_eq!(delivered[0]["commit"], below.as_str());
    assert_eq!(world.git(&["rev-parse", &format!("refs/forge/{run}/delivered")]), below);
    assert_eq!(delivered[0]["title"], REQUEST);
    assert_eq!(delivered[0]["evidence"][0]["colour"], "green");
    assert_eq!(delivered[0]["waived"], serde_json::Value::Null);
    let story = world.story(&run).join("\n");
    has(&story, &["verify: nothing to land", "review: nothing to land", "record landed as"]);
}
