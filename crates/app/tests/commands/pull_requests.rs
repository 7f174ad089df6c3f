//! Pull requests that are opened, updated and merged at a host of our own on 127.0.0.1, with pushes to bare repositories.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    path::PathBuf,
    process::Command,
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};

use crate::{
    code::{CHECKED, project},
    takes::{branch, done},
    unnamed::short,
    world::{DONE, Said, WAITS, WRONG, World, finish, has},
};

pub(crate) const WORK: &str = "[[play]]\nrole = \"worker\"\nrun = \"echo two >> src/a.txt\"\nresult = { summary = \"done\" }\n";

/// What a Gitea keeps.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) pulls: Vec<Value>,
    pub(crate) comments: Vec<Value>,
    /// Paths of everything but questions.
    pub(crate) changes: Vec<String>,
    /// Called before and after the effect of everything but a question.
    pub(crate) watch: Option<Watch>,
    /// Called after a comment was posted.
    pub(crate) after_comment: Option<AfterComment>,
    labels: Vec<Value>,
    /// Answers that are lost after their effect.
    pub(crate) n_lost: usize,
    /// Changes that the host fails to do.
    pub(crate) n_failing: usize,
    /// Bare repositories by the owner of the branch.
    bare: Vec<(&'static str, PathBuf)>,
}

type AfterComment = Box<dyn FnOnce(&mut Kept) + Send>;
type Watch = Box<dyn FnMut(&str, Moment) + Send>;

/// When something is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Before,
    After,
}

pub(crate) type Shared = Arc<Mutex<Kept>>;

/// Starts a Gitea with the repository `o/r`. Returns its address without the scheme.
pub(crate) fn gitea() -> (String, Shared) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let name = listener.local_addr().unwrap().to_string();
    let kept = Shared::default();
    let (shared, own) = (Arc::clone(&kept), name.clone());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut head, mut line) = (String::new(), String::new());
            while stream.read_line(&mut line).unwrap_or(0) > 2 {
                head.push_str(&std::mem::take(&mut line));
            }
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.trim().parse::<usize>().ok())?
            });
            let mut body = vec![0; length.unwrap_or(0)];
            stream.read_exact(&mut body).unwrap();
            let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
            let mut words = head.split([' ', '?']);
            let (method, path) =
                (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let mut kept = shared.lock().unwrap();
            if method != "GET" && kept.n_failing > 0 {
                kept.n_failing -= 1;
                let _ = write!(stream.get_mut(), "HTTP/1.1 500 X\r\nConnection: close\r\n\r\n");
                continue;
            }
            let change = (method != "GET").then(|| format!("{method} {path}"));
            let mut watch = kept.watch.take();
            let mut tell = |moment| {
                if let (Some(watch), Some(change)) = (&mut watch, &change) {
                    watch(change, moment);
                }
            };
            tell(Moment::Before);
            let answer = answer(&mut kept, &own, method, path.trim_start_matches("/api/v1"), &body);
            tell(Moment::After);
            kept.watch = watch;
            if let Some(change) = change {
                kept.changes.push(change);
                if kept.n_lost > 0 {
                    kept.n_lost -= 1;
                    continue;
                }
            }
            let status = if answer.is_some() { "200 OK" } else { "404 Not Found" };
            let text = answer.unwrap_or_else(|| json!({"message": "not found"})).to_string();
            let _ = write!(
                stream.get_mut(),
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
                text.len()
            );
        }
    });
    (name, kept)
}

fn answer(kept: &mut Kept, own: &str, method: &str, path: &str, body: &Value) -> Option<Value> {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    Some(match (method, parts.as_slice()) {
        ("GET", ["repos", "o", "r"]) => json!({"full_name": "o/r"}),
        ("GET", ["repos", "o", "r", "pulls"]) => json!(kept.pulls),
        ("POST", ["repos", "o", "r", "pulls"]) => {
            let number = kept.pulls.len() + 1;
            let label = body["head"].as_str().unwrap();
            let (owner, head) = label.split_once(':').unwrap_or(("o", label));
            let (_, bare) = kept.bare.iter().find(|(name, _)| *name == owner)?;
            let name = format!("refs/heads/{head}");
            let commit =
                Command::new("git").arg("-C").arg(bare).args(["rev-parse", &name]).output();
            let commit = String::from_utf8(commit.unwrap().stdout).unwrap().trim().to_owned();
            kept.pulls.push(json!({
                "number": number, "html_url": format!("http://{own}/o/r/pulls/{number}"), "state": "open",
                "title": body["title"], "body": body["body"], "mergeable": true,
                "head": {"ref": head, "sha": commit, "repo": {"full_name": format!("{owner}/r")}},
                "base": {"ref": body["base"]},
            }));
            kept.pulls[number - 1].clone()
        }
        ("GET" | "PATCH", ["repos", "o", "r", "pulls", n]) => {
            let pull = &mut kept.pulls[n.parse::<usize>().unwrap() - 1];
            for (key, value) in body.as_object().into_iter().flatten() {
                pull[key] = value.clone();
            }
            pull.clone()
        }
        ("POST", ["repos", "o", "r", "pulls", n, "merge"]) => {
            let pull = &mut kept.pulls[n.parse::<usize>().unwrap() - 1];
            assert_eq!(pull["head"]["sha"], body["head_commit_id"]);
            if pull["queued"] == true {
                return Some(Value::Null);
            }
            pull["state"] = "closed".into();
            pull["merged"] = true.into();
            pull["merge_commit_sha"] = "0123456789abcdef0123456789abcdef01234567".into();
            pull["way"] = body["Do"].clone();
            Value::Null
        }
        ("POST", ["repos", "o", "r", "issues", _, "labels"]) => {
            kept.labels.push(body["labels"].clone());
            json!([])
        }
        ("GET", ["user"]) => json!({"id": 9}),
        ("DELETE", ["repos", "o", "r", "issues", "comments", id]) => {
            let id: u64 = id.parse().unwrap();
            kept.comments.retain(|comment| comment["id"] != id);
            Value::Null
        }
        ("GET", ["repos", "o", "r", "issues", "12"]) => json!({
            "number": 12, "title": "Add a line", "body": "To the text.", "comments": 0,
            "html_url": format!("http://{own}/o/r/issues/12"),
        }),
        ("GET", ["repos", "o", "r", "issues", _, "comments"]) => json!(kept.comments),
        ("POST", ["repos", "o", "r", "issues", _, "comments"]) => {
            let id = kept.comments.len() + 1;
            kept.comments.push(json!({"id": id, "body": body["body"], "user": {"id": 9}}));
            if let Some(then) = kept.after_comment.take() {
                then(kept);
            }
            kept.comments[id - 1].clone()
        }
        ("PATCH", ["repos", "o", "r", "issues", "comments", id]) => {
            let comment = &mut kept.comments[id.parse::<usize>().unwrap() - 1];
            comment["body"] = body["body"].clone();
            comment.clone()
        }
        _ => return None,
    })
}

/// Adds a remote at the host, whose pushes go to a bare repository.
pub(crate) fn remote(world: &World, host: &str, kept: &Shared, name: &str, owner: &'static str) {
    let bare = world.beside(&format!("{name}.git"));
    world.git(&["init", "--quiet", "--bare", bare.to_str().unwrap()]);
    world.git(&["remote", "add", name, &format!("http://{host}/{owner}/r.git")]);
    world.git(&["config", &format!("remote.{name}.pushurl"), bare.to_str().unwrap()]);
    kept.lock().unwrap().bare.push((owner, bare));
}

/// Names the host in the settings of the person, with more settings.
pub(crate) fn name_host(world: &World, host: &str, more: &str) {
    let file = world.user_file();
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, format!("[hosts]\ngitea = [\"{host}\"]\n{more}")).unwrap();
}

pub(crate) fn forge(world: &World, args: &[&str]) -> Said {
    finish(world.command(args).env("GITEA_TOKEN", "a-token-of-mine-4711"))
}

/// A project with a run that is done, and its remote at a host.
pub(crate) fn at_host(more: &str) -> (World, String, Shared) {
    let (world, run) = done(CHECKED);
    let (host, kept) = gitea();
    remote(&world, &host, &kept, "origin", "o");
    name_host(&world, &host, more);
    (world, run, kept)
}

#[test]
fn a_pull_request_is_opened_after_a_yes_and_updated_the_second_time() {
    let (world, run, kept) = at_host("[pull_request]\nlabels = [\"automated\"]\n");
    let said = forge(&world, &["pr"]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &["needs your yes", "help: forge pr"]);
    let branch = branch(&world, &run);
    has(
        &said.out,
        &[
            &format!("$ git push -u origin refs/heads/{branch}:"),
            &format!("o/r: {branch} into main"),
        ],
    );
    assert!(kept.lock().unwrap().changes.is_empty());
    let said = forge(&world, &["pr", "--yes"]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["Opened http://127.0.0.1:", "/o/r/pulls/1"]);
    let said = forge(&world, &["pr", "--yes"]);
    has(&said.out, &["Updated http://127.0.0.1:", "/o/r/pulls/1"]);
    let kept = kept.lock().unwrap();
    assert_eq!(kept.pulls.len(), 1);
    assert_eq!(
        (&kept.pulls[0]["base"]["ref"], &kept.labels),
        (&json!("main"), &vec![json!(["automated"])])
    );
    let body = kept.pulls[0]["body"].as_str().unwrap();
    has(body, &["## Verification\n", &format!("<!-- forge:{run}:pull-request -->")]);
    let head = world.git(&["rev-parse", &branch]);
    assert_eq!(kept.pulls[0]["head"]["sha"], head.trim(), "what was pushed is the result");
}

#[test]
fn a_text_that_a_person_edited_stays_and_one_whose_line_ends_the_host_changed_is_updated() {
    let (world, run, kept) = at_host("");
    assert_eq!(forge(&world, &["pr", "--yes"]).code, DONE);
    let body = kept.lock().unwrap().pulls[0]["body"].as_str().unwrap().to_owned();
    kept.lock().unwrap().pulls[0]["body"] = format!("{}  ", body.replace('\n', "\r\n")).into();
    has(&forge(&world, &["pr", "--yes"]).out, &["Updated http://127.0.0.1:"]);
    kept.lock().unwrap().pulls[0]["body"] = format!("My words.\n\n{body}").into();
    let said = forge(&world, &["pr", "--yes"]);
    has(&said.out, &["Its text was edited, and stays as it is; forge pr --print shows Forge's."]);
    assert_eq!(kept.lock().unwrap().pulls[0]["body"], format!("My words.\n\n{body}"));
    // Where it is not known what Forge wrote, its mark is enough, as before.
    fs::remove_file(world.place().join("runs").join(&run).join("pull-request.json")).unwrap();
    has(&forge(&world, &["pr", "--yes"]).out, &["Updated http://127.0.0.1:"]);
}

#[test]
fn a_lost_answer_opens_no_second_pull_request() {
    let (world, _, kept) = at_host("");
    kept.lock().unwrap().n_lost = 1;
    has(&forge(&world, &["pr", "--yes"]).out, &["Opened http://127.0.0.1:", "/o/r/pulls/1"]);
    assert_eq!(kept.lock().unwrap().pulls.len(), 1);
}

#[test]
fn a_pull_request_that_is_over_or_for_another_branch_now_is_neither_merged_there_nor_here() {
    let (world, run, kept) = at_host("");
    assert_eq!(forge(&world, &["pr", "--yes"]).code, DONE);
    let main = world.git(&["rev-parse", "main"]);
    for (key, value, why) in [
        (
            "base",
            json!({"ref": "production"}),
            "is for `production` now, and the run is for `main`",
        ),
        ("state", "closed".into(), "was closed: http://127.0.0.1:"),
        ("merged", true.into(), "is merged already: http://127.0.0.1:"),
    ] {
        kept.lock().unwrap().pulls[0][key] = value;
        let said = forge(&world, &["merge", &run, "--yes"]);
        assert_eq!(said.code, WRONG, "{said}");
        has(&said.err, &[why, &format!("or: forge merge {} --local", short(&run))]);
        assert!(!kept.lock().unwrap().changes.iter().any(|one| one.ends_with("/merge")));
        if key == "base" {
            kept.lock().unwrap().pulls[0][key] = json!({"ref": "main"});
        }
    }
    assert_eq!(world.git(&["rev-parse", "main"]), main);
}

#[test]
fn a_merge_that_a_host_accepts_and_does_not_do_is_not_said_to_be_done() {
    let (world, run, kept) = at_host("");
    assert_eq!(forge(&world, &["pr", "--yes"]).code, DONE);
    kept.lock().unwrap().pulls[0]["queued"] = true.into();
    let said = forge(&world, &["merge", &run, "--yes"]);
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.err, &["the host accepted the merge of", "but has not merged it yet"]);
}

#[test]
fn another_pull_request_of_the_same_branches_is_neither_made_ready_nor_merged_as_that_of_the_run() {
    let (world, run, kept) = at_host("");
    assert_eq!(forge(&world, &["pr", "--yes", "--draft"]).code, DONE);
    let title = {
        let mut kept = kept.lock().unwrap();
        kept.pulls[0]["body"] = "What a person wrote.".into();
        kept.pulls[0]["draft"] = true.into();
        kept.pulls[0]["title"].clone()
    };
    fs::remove_file(world.place().join("runs").join(&run).join("pull-request.json")).unwrap();
    let said = forge(&world, &["pr", "--yes", "--ready"]);
    has(&said.out, &["Its text is not of this run, and stays as it is."]);
    assert_eq!(kept.lock().unwrap().pulls[0]["title"], title);
    has(&forge(&world, &["merge", &run, "--yes"]).out, &["Merged into main"]);
}

#[test]
fn a_branch_that_begins_like_a_forced_push_is_pushed_as_a_branch() {
    let world = project(&format!("{CHECKED}\n[land]\nbranch = \"+main\"\n"));
    world.scenario(WORK);
    assert_eq!(world.run("one", &[]).code, DONE);
    let (host, kept) = gitea();
    remote(&world, &host, &kept, "origin", "o");
    name_host(&world, &host, "");
    let bare = world.beside("origin.git");
    world.git(&["push", "--quiet", bare.to_str().unwrap(), "main"]);
    let theirs = world.git(&["ls-remote", bare.to_str().unwrap(), "refs/heads/main"]);
    forge(&world, &["pr", "--yes"]);
    assert_eq!(world.git(&["ls-remote", bare.to_str().unwrap(), "refs/heads/main"]), theirs);
    has(&world.git(&["ls-remote", bare.to_str().unwrap()]), &["refs/heads/+main"]);
}

#[test]
fn without_a_token_or_a_known_host_the_text_is_printed_and_nothing_is_pushed() {
    let (world, run, kept) = at_host("");
    let said = world.forge(&["pr", "--yes"]);
    assert_eq!(said.code, WRONG, "{said}");
    has(
        &said.err,
        &["there is no token for 127.0.0.1:", "so nothing was pushed", "set GITEA_TOKEN"],
    );
    has(&said.err, &["\nNext:\n  git push -u origin "]);
    assert!(said.out.starts_with("# "), "{said}");
    world.git(&["remote", "set-url", "origin", world.beside("origin.git").to_str().unwrap()]);
    let said = forge(&world, &["pr", "--yes"]);
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.err, &["the remote `origin` is not at a host that Forge knows"]);
    assert!(kept.lock().unwrap().changes.is_empty());
    let pushed = world.git(&["ls-remote", "--heads", world.beside("origin.git").to_str().unwrap()]);
    assert!(!pushed.contains(&branch(&world, &run)), "{pushed}");
}

#[test]
fn a_fork_of_the_persons_settings_is_pushed_to_and_a_repository_cannot_name_one() {
    let (world, run, kept) = at_host("[push]\nremote = \"fork\"\n");
    has(
        &world.refused(&["pr"]),
        &["push.remote is `fork`, but there is no such remote", "git remote add fork URL"],
    );
    let host = fs::read_to_string(world.user_file()).unwrap();
    let host = host.split('"').nth(1).unwrap().to_owned();
    remote(&world, &host, &kept, "fork", "me");
    let said = forge(&world, &["pr", "--yes"]);
    assert_eq!(said.code, DONE, "{said}");
    let branch = branch(&world, &run);
    has(
        &said.out,
        &[&format!("$ git push -u fork refs/heads/{branch}:"), &format!("me/r:{branch} into main")],
    );
    assert_eq!(kept.lock().unwrap().pulls[0]["head"]["repo"]["full_name"], "me/r");
    has(
        &world.git(&["ls-remote", "--heads", world.beside("fork.git").to_str().unwrap()]),
        &[&branch],
    );
    let settings = fs::read_to_string(world.repo.join("forge.toml")).unwrap();
    world.write("forge.toml", format!("{settings}\n[push]\nremote = \"origin\"\n"));
    has(&world.refused(&["pr"]), &["push.remote is a personal setting, not one of a repository"]);
}

#[test]
fn a_run_from_an_issue_closes_it_in_the_template_of_the_repository_and_comments_there_once() {
    let world = project(CHECKED);
    world.scenario(WORK);
    world.write(".github/PULL_REQUEST_TEMPLATE.md", "## Description\n\n## Checklist\n- [ ] docs\n");
    world.git(&["add", ".github"]);
    world.git(&["commit", "--quiet", "-m", "a template"]);
    let (host, kept) = gitea();
    remote(&world, &host, &kept, "origin", "o");
    name_host(&world, &host, "");
    let said = forge(&world, &["run", "--flow", "one", &format!("http://{host}/o/r/issues/12")]);
    assert_eq!(said.code, DONE, "{said}");
    for what in ["Commented at the issue", "Updated the comment at the issue"] {
        let said = forge(&world, &["pr", "--yes", "--comment"]);
        assert_eq!(said.code, DONE, "{said}");
        has(&said.out, &[what]);
        // A person wrote into it.
        let mut kept = kept.lock().unwrap();
        let text = kept.comments[0]["body"].as_str().unwrap().to_owned();
        kept.comments[0]["body"] = format!("{text}\nNice.").into();
    }
    let kept = kept.lock().unwrap();
    let body = kept.pulls[0]["body"].as_str().unwrap();
    assert!(body.starts_with("## Description\n\n### Request\n"), "{body}");
    has(body, &["\n\nCloses #12\n\n## Checklist\n- [ ] docs\n\n<!-- forge:"]);
    assert_eq!(kept.comments.len(), 1);
    let comment = kept.comments[0]["body"].as_str().unwrap();
    has(comment, &[&format!("Pull request: http://{host}/o/r/pulls/1")]);
}

#[test]
fn a_run_without_an_issue_has_nowhere_to_comment() {
    let (world, _, _) = at_host("");
    let said = forge(&world, &["pr", "--yes", "--comment"]);
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.err, &["did not come from an issue, so there is nowhere to comment"]);
}

#[test]
fn a_draft_is_opened_by_setting_or_flag_and_made_ready_by_a_flag() {
    let (world, _, kept) = at_host("[pull_request]\ndraft = \"always\"\n");
    has(&forge(&world, &["pr", "--yes"]).out, &["draft pull request at 127.0.0.1:"]);
    let title = kept.lock().unwrap().pulls[0]["title"].as_str().unwrap().to_owned();
    assert!(title.starts_with("WIP: "), "{title}");
    kept.lock().unwrap().pulls[0]["draft"] = true.into();
    assert_eq!(forge(&world, &["pr", "--yes", "--ready"]).code, DONE);
    assert_eq!(format!("WIP: {}", kept.lock().unwrap().pulls[0]["title"].as_str().unwrap()), title);
    has(&world.refused(&["pr", "--ready", "--draft"]), &["--draft", "--ready"]);
}

#[test]
fn an_open_pull_request_is_merged_at_its_host_after_a_yes_and_counts_as_merged() {
    let (world, run, kept) = at_host("[pull_request]\nmerge = \"squash\"\n");
    assert_eq!(forge(&world, &["pr", "--yes"]).code, DONE);
    let id = short(&run);
    let said = forge(&world, &["merge", &run]);
    assert_eq!(said.code, WAITS, "{said}");
    has(
        &said.err,
        &["merging a pull request needs your yes", &format!("help: forge merge {id} --yes")],
    );
    has(&said.out, &["/o/r/pulls/1 (squash)"]);
    has(&forge(&world, &["clean", "-v"]).all(), &["Nothing to clean.", "its result is not merged"]);
    kept.lock().unwrap().n_lost = 1;
    let said = forge(&world, &["merge", &run, "--yes"]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["Merged http://127.0.0.1:", "/o/r/pulls/1 (0123456)."]);
    assert_eq!(kept.lock().unwrap().pulls[0]["way"], "squash");
    assert!(!world.git(&["log", "--oneline", "main"]).contains("pull"), "the user's branch stays");
    has(&forge(&world, &["clean"]).out, &["would free", id, "its pull request is merged:"]);
    // It is remembered, also where the host cannot be reached any more.
    world.git(&["remote", "remove", "origin"]);
    has(&forge(&world, &["clean"]).out, &["its pull request is merged:"]);
}

#[test]
fn open_findings_are_named_before_a_pull_request_is_merged() {
    let world = project(CHECKED);
    let tests = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn f() {\n        assert_eq!(1, 1);\n        assert_eq!(2, 2);\n    }\n}\n";
    world.write("src/lib.rs", tests);
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "tests"]);
    world.scenario("[[play]]\nrole = \"worker\"\nrun = \"sed -i '/2, 2/d' src/lib.rs\"\nresult = { summary = \"done\" }\n");
    assert_eq!(world.run("one", &[]).code, WAITS);
    let run = world.latest();
    assert_eq!(world.forge(&["approve", &run]).code, DONE);
    let (host, kept) = gitea();
    remote(&world, &host, &kept, "origin", "o");
    name_host(&world, &host, "");
    assert_eq!(forge(&world, &["pr", &run, "--yes"]).code, DONE);
    let said = forge(&world, &["merge", &run]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["/o/r/pulls/1 (merge commit)", "Warning: 1 critical finding open."]);
}

#[test]
fn a_pull_request_with_other_commits_is_not_merged_and_the_result_can_still_be_merged_here() {
    let (world, run, kept) = at_host("");
    assert_eq!(forge(&world, &["pr", "--yes"]).code, DONE);
    kept.lock().unwrap().pulls[0]["head"]["sha"] =
        "3333333333333333333333333333333333333333".into();
    let said = forge(&world, &["merge", &run, "--yes"]);
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.err, &["it has another commit than the result of the run"]);
    has(&forge(&world, &["merge", &run, "--yes", "--local"]).out, &["Merged into main"]);
}

#[test]
fn a_closed_pull_request_is_not_opened_a_second_time() {
    let (world, _, kept) = at_host("");
    assert_eq!(forge(&world, &["pr", "--yes"]).code, DONE);
    kept.lock().unwrap().pulls[0]["state"] = "closed".into();
    let said = forge(&world, &["pr", "--yes"]);
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.err, &["/o/r/pulls/1 is closed", "help: open it again at http://"]);
    assert_eq!(kept.lock().unwrap().pulls.len(), 1);
}
