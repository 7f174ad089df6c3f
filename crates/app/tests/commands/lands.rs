//! Landing: two that change the same place, the branch and who else uses it, and other runs.

use crate::{
    code::{CHECKED, count, landed, notes, project},
    goes::UNTIL_GO,
    world::{DONE, WAITS, World, finish, has},
};

/// Waits for a file in the home of the world, as an agent does.
fn until_there(name: &str) -> String {
    format!("while [ ! -e $HOME/{name} ]; do sleep 0.02; done")
}

fn touch(world: &World, name: &str) {
    std::fs::write(world.beside(name), "").unwrap();
}

/// Tables side by side over the same list: their items are not kept apart, so they can collide.
fn side_by_side(tables: &[&str]) -> String {
    let table = |name: &&str| {
        format!(
            "[[stage]]\nname = \"{name}\"\nafter = [\"plan\"]\neach = \"tasks\"\n\
             [[stage.stage]]\nname = \"make\"\nagent = \"worker\"\n\
             gates = [{{ check = \"changes\" }}, {{ verify = true }}, {{ land = true }}]\n"
        )
    };
    let plan = "[[stage]]\nname = \"plan\"\nagent = \"planner\"\nlist = \"tasks\"\n".to_owned();
    tables.iter().map(table).fold(plan, |flow, table| flow + &table)
}

/// A plan with one task, then what is played.
fn tasks(plays: &str) -> String {
    format!(
        "[[play]]\nrole = \"planner\"\nresult = {{ lists = {{ tasks = [{{ id = \"T1\", title = \"one\" }}] }} }}\n{plays}"
    )
}

/// A play: who, at which attempt, and what they do.
fn play(unit: &str, attempt: u32, run: &str) -> String {
    format!("[[play]]\nunit = \"{unit}.T1/make\"\nattempt = {attempt}\nrun = '''{run}'''\n")
}

/// A file with two places that are far apart.
const LINES: &str = "first\n2\n3\n4\n5\n6\n7\n8\n9\nlast\n";

#[test]
fn of_two_that_change_the_same_place_the_second_comes_back_once_with_both_sides() {
    let world = project(CHECKED);
    world.write("src/lines.txt", LINES);
    world.git(&["add", "src"]);
    world.git(&["commit", "--quiet", "-m", "lines"]);
    world.flow("both", &side_by_side(&["left", "right"]));
    let plays = [
        play("left", 1, &format!("{}; sed -i 's/first/left/' src/lines.txt", until_there("right"))),
        play(
            "right",
            1,
            &format!("touch $HOME/right; sed -i 's/first/right/' src/lines.txt; {UNTIL_GO}"),
        ),
        play(
            "right",
            2,
            "cp src/lines.txt $HOME/marked; sed -i -e '/^[<=>|]/d' -e 's/^left$/left and right/' -e '/^right$/d' -e '/^first$/d' src/lines.txt",
        ),
    ];
    world.scenario(&tasks(&plays.concat()));
    let mut running = world.start(&["run", "--flow", "both", "do it"]);
    running.until_says("T1 make merged as");
    let run = world.latest();
    world.go();
    let said = running.end();
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["T1 make sent back, it conflicts with merged work", "T1 make merged as"]);
    let brief = world.brief(&run, "right.T1/make#2");
    has(
        &brief,
        &[
            "src/lines.txt",
            "merged meanwhile:",
            "this change:",
            "> left",
            "> right",
            "These files have conflict markers",
        ],
    );
    let marked = std::fs::read_to_string(world.beside("marked")).unwrap();
    has(&marked, &["<<<<<<<", "left", "right", ">>>>>>>"]);
    assert_eq!(landed(&world, &run, "src/lines.txt").lines().next(), Some("left and right"));
    assert_eq!(count(&world, &run, "landed"), 2);
    let again = world.story(&run).iter().any(|line| line.contains("left.T1/make#2"));
    assert!(!again, "what landed is not done again: {said}");
}

#[test]
fn what_does_not_land_twice_is_put_before_a_person() {
    let world = project(CHECKED);
    world.write("src/lines.txt", LINES);
    world.git(&["add", "src"]);
    world.git(&["commit", "--quiet", "-m", "lines"]);
    world.flow("three", &side_by_side(&["left", "middle", "right"]));
    let both = "sed -i -e 's/first/right/' -e 's/last/right/' src/lines.txt";
    let resolved = "sed -i -e '/^[<=>|]/d' -e '/^left$/d' -e '/^first$/d' src/lines.txt";
    let plays = [
        play(
            "left",
            1,
            &format!(
                "{}; {}; sed -i 's/first/left/' src/lines.txt",
                until_there("m"),
                until_there("r")
            ),
        ),
        play(
            "middle",
            1,
            &format!(
                "touch $HOME/m; sed -i 's/last/middle/' src/lines.txt; {}",
                until_there("go-middle")
            ),
        ),
        play("right", 1, &format!("touch $HOME/r; {both}; {}", until_there("go-right"))),
        play("right", 2, &format!("{resolved}; touch $HOME/resolved; {}", until_there("go-again"))),
    ];
    world.scenario(&tasks(&plays.concat()));
    let mut running = world.start(&["run", "--flow", "three", "do it"]);
    running.until_says("T1 make merged as");
    touch(&world, "go-right");
    running.until_says("T1 make (attempt 2) started");
    // It must have its checkout before anything else lands.
    crate::world::until("the second try", || world.beside("resolved").exists().then_some(()));
    touch(&world, "go-middle");
    running.until_says("T1 make merged as");
    touch(&world, "go-again");
    let said = running.end();
    assert_eq!(said.code, WAITS, "{said}");
    has(
        &said.out,
        &[
            "This change conflicted twice with work that was merged meanwhile",
            "merged meanwhile:",
            "middle",
            "right",
        ],
    );
    let run = world.latest();
    assert_eq!(count(&world, &run, "landed"), 2, "neither of the others is lost");
    has(&world.refused(&["answer", &run, "Q1", "approve"]), &["error: ", "help: "]);
}

#[test]
fn two_that_are_green_alone_and_red_together_do_not_land_together() {
    let world = project(
        "[verify]\ncommands = [\"! test -e src/left || ! test -e src/right || test -e src/both || { echo not together; exit 1; }\"]",
    );
    world.flow("both", &side_by_side(&["left", "right"]));
    let plays = [
        play("left", 1, &format!("{}; echo l > src/left", until_there("right"))),
        play("right", 1, &format!("touch $HOME/right; echo r > src/right; {UNTIL_GO}")),
        play("right", 2, "test -e src/left && echo b > src/both"),
    ];
    world.scenario(&tasks(&plays.concat()));
    let mut running = world.start(&["run", "--flow", "both", "do it"]);
    running.until_says("T1 make merged as");
    world.go();
    let said = running.end();
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();
    has(&said.out, &["T1 make: checks passed", "T1 make sent back, it conflicts with merged work"]);
    has(&world.brief(&run, "right.T1/make#2"), &["not together"]);
    assert_eq!(landed(&world, &run, "src/both"), "b");
    assert_eq!(count(&world, &run, "landed"), 2);
}

/// Two items, one after the other, the second of which waits.
fn one_after_the_other(settings: &str) -> World {
    let world = project(&format!("{CHECKED}\n{settings}"));
    world.flow(
        "two",
        "[[stage]]\nname = \"plan\"\nagent = \"planner\"\nlist = \"tasks\"\n\
         [[stage]]\nname = \"build\"\neach = \"tasks\"\n\
         [[stage.stage]]\nname = \"make\"\nagent = \"worker\"\n\
         gates = [{ check = \"changes\" }, { verify = true }, { land = true }]\n",
    );
    world.scenario(&format!(
        "[[play]]\nrole = \"planner\"\nresult = {{ lists = {{ tasks = [{{ id = \"T1\", title = \"one\", writes = [\"src/b.txt\"] }}, {{ id = \"T2\", title = \"two\", after = [\"T1\"], writes = [\"src/c.txt\"] }}] }} }}\n\
         [[play]]\nunit = \"build.T1/make\"\nfiles = {{ \"src/b.txt\" = \"b\\n\" }}\n\
         [[play]]\nfiles = {{ \"src/c.txt\" = \"c\\n\" }}\nrun = \"{UNTIL_GO}\"\n"
    ));
    world
}

#[test]
fn a_base_that_has_moved_on_is_told_with_what_both_change() {
    let world = one_after_the_other("");
    let mut running = world.start(&["run", "--flow", "two", "do it"]);
    running.until_says("T1 make merged as");
    let run = world.latest();
    world.write("src/c.txt", "mine\n");
    world.git(&["add", "src/c.txt"]);
    world.git(&["commit", "--quiet", "-m", "mine"]);
    world.go();
    let said = running.end();
    assert_eq!(said.code, DONE, "{said}");
    has(
        &notes(&world, &run),
        &["`main` has moved on by one commit since the run started, and both change src/c.txt"],
    );
    assert_eq!(landed(&world, &run, "src/c.txt"), "c", "the run goes on from where it began");
    assert_eq!(world.git(&["show", "main:src/c.txt"]), "mine");
}

#[test]
fn a_branch_that_the_user_has_checked_out_is_left_alone_and_told() {
    let world = one_after_the_other("[land]\nbranch = \"result\"");
    world.commit();
    world.git(&["checkout", "--quiet", "-b", "result"]);
    let before = world.git(&["rev-parse", "result"]);
    world.go();
    let said = world.run("two", &["--branch", "new"]);
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();
    has(&said.out, &["`result` is checked out in", "so it is left alone"]);
    assert_eq!(world.git(&["rev-parse", "result"]), before);
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    let head = format!("refs/forge/{run}/head");
    assert_eq!(world.git(&["show", &format!("{head}:src/c.txt")]), "c");
    // The command that is told brings the result in.
    world.git(&["merge", "--quiet", &head]);
    assert!(world.repo.join("src/c.txt").exists());
}

#[test]
fn a_branch_on_which_the_user_committed_is_left_alone_and_told() {
    let world = one_after_the_other("");
    let mut running = world.start(&["run", "--flow", "two", "do it"]);
    running.until_says("T1 make merged as");
    let run = world.latest();
    let branch = format!("refs/heads/forge/{run}");
    let tree = format!("{branch}^{{tree}}");
    // The refs follow the facts: the branch may come a moment later than what is told.
    crate::world::until("the branch", || {
        (!world.git(&["for-each-ref", &branch]).is_empty()).then_some(())
    });
    let mine = world.git(&["commit-tree", "-p", &branch, "-m", "mine", &tree]);
    world.git(&["update-ref", &branch, &mine]);
    world.go();
    let said = running.end();
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["was moved to", "by another program, so it is left alone"]);
    assert_eq!(world.git(&["rev-parse", &branch]), mine);
    let head = format!("refs/forge/{run}/head:src/c.txt");
    assert_eq!(world.git(&["show", &head]), "c");
}

/// A run at work, and another one in the same repository with this way to treat claims.
fn two_runs(claims: &str) -> (World, crate::world::Running, crate::world::Running) {
    let world = project(CHECKED);
    world.scenario(&format!(
        "[[play]]\nfiles = {{ \"src/b.txt\" = \"b\\n\" }}\nrun = \"{UNTIL_GO}\"\n"
    ));
    let mut first = world.start(&["run", "--flow", "one", "the first"]);
    first.until_says("build started");
    let mut command = world.command(&["run", "--flow", "one", "the second"]);
    let second = crate::world::Running::of(command.env("FORGE_WORKSPACE_CLAIMS", claims));
    (world, first, second)
}

#[test]
fn another_run_that_is_unfinished_is_named_once_before_anything_is_spent() {
    let (world, first, mut second) = two_runs("warn");
    second.until_says("build started");
    world.go();
    assert_eq!(first.end().code, DONE);
    let said = second.end();
    assert_eq!(said.code, DONE, "it is only told: {said}");
    let id = |name: &str| {
        let run = world.ids().into_iter().find(|id| id.contains(name)).unwrap();
        crate::unnamed::short(&run).to_owned()
    };
    let note = format!(
        "note: {} (running) is unfinished; its result may conflict with this run",
        id("the-first")
    );
    has(&said.err, &[&note]);
    for told in [said.out, world.ok(&["log", &id("the-second"), "-vv"])] {
        assert!(!told.contains("unfinished"), "{told}");
    }
}

#[test]
fn a_run_that_defers_waits_until_the_other_is_through() {
    let (world, first, mut second) = two_runs("defer");
    has(&second.until_says("build waits"), &["may change the same files"]);
    let waiting = world.ids().into_iter().find(|id| id.contains("the-second")).unwrap();
    assert_eq!(world.agents_started(&waiting), 0);
    world.go();
    assert_eq!(first.end().code, DONE);
    let said = second.end();
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(world.agents_started(&waiting), 1);
}

#[test]
fn runs_that_defer_and_start_together_never_wait_for_each_other() {
    let world = project(CHECKED);
    world.flow(
        "planned",
        "[[stage]]\nname = \"plan\"\nagent = \"planner\"\nwrites = [\"PLAN.md\"]\n\
         [[stage]]\nname = \"build\"\nagent = \"worker\"\n\
         gates = [{ check = \"changes\" }, { verify = true }, { land = true }]\n",
    );
    world.scenario(&format!(
        "[[play]]\nunit = \"plan\"\nrun = \"{UNTIL_GO}\"\nartifacts = {{ \"PLAN.md\" = \"so\\n\" }}\n\
         [[play]]\nfiles = {{ \"src/b.txt\" = \"b\\n\" }}\n"
    ));
    let start = |request: &str| {
        let mut command = world.command(&["run", "--flow", "planned", request]);
        crate::world::Running::of(command.env("FORGE_WORKSPACE_CLAIMS", "defer"))
    };
    let mut all = ["the first", "the second", "the third"].map(start);
    for run in &mut all {
        run.until_says("plan started");
    }
    world.go();
    for said in all.map(crate::world::Running::end) {
        assert_eq!(said.code, DONE, "{said}");
    }
    for run in world.ids() {
        assert_eq!(world.agents_started(&run), 2, "a wait is no attempt");
        let facts = world.facts(&run);
        let at = |name: &str| facts.iter().filter(|fact| fact.get(name).is_some()).count();
        assert_eq!(at("paths_claimed"), 1, "{facts:#?}");
        assert!(at("paths_taken") <= 2, "{facts:#?}");
    }
}

#[test]
fn a_run_that_blocks_asks_a_person_and_goes_on_when_told() {
    let (world, first, second) = two_runs("block");
    let said = second.end();
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["The work is blocked: ", "may change the same files", "retry"]);
    world.go();
    assert_eq!(first.end().code, DONE);
    let run = world.ids().into_iter().find(|id| id.contains("the-second")).unwrap();
    world.ok(&["answer", &run, "Q1", "retry"]);
    let said = finish(&mut world.command(&["resume", &run]));
    assert_eq!(said.code, DONE, "{said}");
}
