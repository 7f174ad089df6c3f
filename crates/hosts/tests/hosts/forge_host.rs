//! A host with one repository and a fork of it, that keeps pull requests and comments as GitHub, Gitea or GitLab do.
//!
//! It loses answers after their effect, as often as a test says.

use std::sync::{Arc, Mutex};

use forge_hosts::Kind;
use serde_json::{Value, json};

use crate::loopback::{Asked, Host, Reply};

/// What the host keeps.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) pulls: Vec<Value>,
    pub(crate) comments: Vec<Value>,
    pub(crate) labels: Vec<String>,
    pub(crate) reviewers: Vec<String>,
    /// The user whose token it is, where the host tells it.
    pub(crate) user: Option<u64>,
    /// How many answers to changes are still lost after their effect.
    pub(crate) n_lost: usize,
    /// What comes instead of the answer to the next change, which has no effect.
    pub(crate) refusal: Option<Reply>,
}

pub(crate) type Shared = Arc<Mutex<Kept>>;

/// The commit of every branch.
pub(crate) const COMMIT: &str = "1111111111111111111111111111111111111111";

/// Starts a host of a kind.
pub(crate) fn start(kind: Kind, kept: Kept) -> (Host, Shared) {
    let kept = Arc::new(Mutex::new(kept));
    let shared = Arc::clone(&kept);
    let host = Host::start(move |_, asked| {
        let mut kept = shared.lock().unwrap();
        let is_change = asked.method != "GET";
        if let Some(refusal) = kept.refusal.take_if(|_| is_change) {
            return refusal;
        }
        if asked.method == "GET" && asked.path.ends_with("/user") {
            return match kept.user {
                Some(id) => Reply::json(&json!({"id": id})),
                None => Reply::new(403, r#"{"message": "Resource not accessible by integration"}"#),
            };
        }
        let reply = match kind {
            Kind::GitHub | Kind::Gitea => numbered(asked, &mut kept, kind),
            Kind::GitLab => gitlab(asked, &mut kept),
            Kind::Jira | Kind::Linear => unreachable!("they have no pull requests"),
        };
        if is_change && kept.n_lost > 0 {
            kept.n_lost -= 1;
            return Reply::lost();
        }
        reply
    });
    (host, kept)
}

fn page(all: Vec<Value>, asked: &Asked, size: usize) -> Reply {
    let number = asked.path.split("&page=").nth(1).and_then(|n| n.parse().ok()).unwrap_or(1_usize);
    let n_all = all.len();
    let all: Vec<Value> = all.into_iter().skip((number - 1) * size).take(size).collect();
    let reply = Reply::json(&json!(all));
    if n_all > number * size { reply.with("link", "<x>; rel=\"next\"") } else { reply }
}

fn numbered(asked: &Asked, kept: &mut Kept, kind: Kind) -> Reply {
    let body: Value = serde_json::from_str(&asked.body).unwrap_or(Value::Null);
    let path = asked.path.split('?').next().unwrap();
    let path = path.strip_prefix("/api/v3").or(path.strip_prefix("/api/v1")).unwrap_or(path);
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let method = &*asked.method;
    match (method, parts.as_slice()) {
        ("GET", ["repos", owner, name]) => {
            Reply::json(&json!({"full_name": format!("{owner}/{name}")}))
        }
        ("GET", ["repos", "o", "r", "pulls"]) => {
            let is_over = asked.path.contains("state=closed");
            let is_all = asked.path.contains("state=all");
            let all =
                kept.pulls.iter().filter(|one| is_all || (one["state"] == "closed") == is_over);
            page(all.cloned().collect(), asked, if kind == Kind::GitHub { 100 } else { 50 })
        }
        ("POST", ["repos", "o", "r", "pulls"]) => {
            let head = body["head"].as_str().unwrap();
            let (owner, head) = head.split_once(':').unwrap_or(("o", head));
            let is_same = |one: &&Value| one["head"]["ref"] == head && one["state"] == "open";
            if kept.pulls.iter().any(|one| is_same(&one)) {
                let words = json!({"message": "Validation Failed", "errors": [
                    {"code": "custom", "message": format!("A pull request already exists for {owner}:{head}.")}]});
                let status = if kind == Kind::GitHub { 422 } else { 409 };
                return Reply::new(status, words.to_string());
            }
            let number = kept.pulls.len() + 1;
            kept.pulls.push(json!({
                "number": number, "html_url": format!("https://git.example/o/r/pull/{number}"),
                "node_id": format!("N{number}"), "state": "open", "title": body["title"],
                "body": body["body"], "draft": body["draft"], "mergeable": true,
                "head": {"ref": head, "sha": COMMIT, "repo": {"full_name": format!("{owner}/r")}},
                "base": {"ref": body["base"]},
            }));
            Reply::json(&kept.pulls[number - 1])
        }
        ("GET" | "PATCH", ["repos", "o", "r", "pulls", n]) => {
            let pull = &mut kept.pulls[n.parse::<usize>().unwrap() - 1];
            set(pull, &body);
            Reply::json(pull)
        }
        ("PUT" | "POST", ["repos", "o", "r", "pulls", n, "merge"]) => {
            let pull = &mut kept.pulls[n.parse::<usize>().unwrap() - 1];
            if pull["merged"] == true {
                return Reply::new(405, r#"{"message": "Pull Request is not mergeable"}"#);
            }
            set(
                pull,
                &json!({"state": "closed", "merged": true, "merge_commit_sha": "2222", "way": body}),
            );
            Reply::new(200, "")
        }
        ("POST", ["repos", "o", "r", "issues", _, "labels"]) => {
            add(&mut kept.labels, &body["labels"]);
            Reply::json(&json!([]))
        }
        ("POST", ["repos", "o", "r", "pulls", _, "requested_reviewers"])
            if asked.body.contains("\"bob\"") =>
        {
            Reply::new(422, r#"{"message": "Reviews may only be requested from collaborators."}"#)
        }
        ("POST", ["repos", "o", "r", "pulls", _, "requested_reviewers"]) => {
            add(&mut kept.reviewers, &body["reviewers"]);
            add(&mut kept.reviewers, &body["team_reviewers"]);
            Reply::json(&json!({}))
        }
        ("GET", ["repos", "o", "r", "issues", _, "comments"]) => {
            page(kept.comments.clone(), asked, if kind == Kind::GitHub { 100 } else { 50 })
        }
        ("POST", ["repos", "o", "r", "issues", _, "comments"]) => {
            let id = kept.comments.len() + 1;
            let user = json!({"id": kept.user.unwrap_or(9)});
            kept.comments.push(json!({
                "id": id, "body": body["body"], "user": user, "html_url": format!("c{id}"),
            }));
            Reply::json(&kept.comments[id - 1])
        }
        ("PATCH", ["repos", "o", "r", "issues", "comments", id]) => {
            let comment = &mut kept.comments[id.parse::<usize>().unwrap() - 1];
            set(comment, &body);
            Reply::json(comment)
        }
        ("DELETE", ["repos", "o", "r", "issues", "comments", id]) => delete(kept, id),
        ("POST", ["api", "graphql"]) => {
            let id = body["variables"]["id"].as_str().unwrap();
            let n: usize = id.trim_start_matches('N').parse().unwrap();
            set(&mut kept.pulls[n - 1], &json!({"draft": false}));
            Reply::json(&json!({"data": {}}))
        }
        _ => Reply::new(404, r#"{"message": "Not Found"}"#),
    }
}

fn gitlab(asked: &Asked, kept: &mut Kept) -> Reply {
    let body: Value = serde_json::from_str(&asked.body).unwrap_or(Value::Null);
    let path = asked.path.split('?').next().unwrap();
    let parts: Vec<&str> = path.strip_prefix("/api/v4/").unwrap().split('/').collect();
    let id = |project: &str| if project == "o%2Fr" { 1 } else { 2 };
    match (&*asked.method, parts.as_slice()) {
        ("GET", ["projects", project]) => {
            let name = project.replace("%2F", "/");
            Reply::json(
                &json!({"id": id(project), "path_with_namespace": name, "merge_method": "merge"}),
            )
        }
        ("GET", ["projects", "o%2Fr", "merge_requests"]) => page(kept.pulls.clone(), asked, 100),
        ("POST", ["projects", project, "merge_requests"]) => {
            assert_eq!(body["target_project_id"], 1);
            if kept.pulls.iter().any(|one| one["state"] == "opened") {
                let words = json!({"message": ["Another open merge request already exists for this source branch: !1"]});
                return Reply::new(409, words.to_string());
            }
            let number = kept.pulls.len() + 1;
            kept.pulls.push(json!({
                "iid": number, "web_url": format!("https://git.example/o/r/-/merge_requests/{number}"),
                "state": "opened", "title": body["title"], "description": body["description"],
                "sha": COMMIT, "source_project_id": id(project), "detailed_merge_status": "mergeable",
            }));
            Reply::json(&kept.pulls[number - 1])
        }
        ("GET" | "PUT", ["projects", "o%2Fr", "merge_requests", n]) => {
            if let Some(labels) = body["add_labels"].as_str() {
                kept.labels.extend(labels.split(',').map(str::to_owned));
            }
            if let Some(ids) = body["reviewer_ids"].as_array() {
                kept.reviewers = ids.iter().map(ToString::to_string).collect();
            }
            let pull = &mut kept.pulls[n.parse::<usize>().unwrap() - 1];
            if let Some(ids) = body["reviewer_ids"].as_array() {
                pull["reviewers"] = ids.iter().map(|id| json!({"id": id})).collect();
            }
            set(pull, &body);
            if body["state_event"] == "close" {
                pull["state"] = "closed".into();
            }
            Reply::json(pull)
        }
        ("PUT", ["projects", "o%2Fr", "merge_requests", n, "merge"]) => {
            let pull = &mut kept.pulls[n.parse::<usize>().unwrap() - 1];
            if pull["state"] == "merged" {
                return Reply::new(405, r#"{"message": "405 Method Not Allowed"}"#);
            }
            set(pull, &json!({"state": "merged", "merge_commit_sha": "2222", "way": body}));
            Reply::json(pull)
        }
        ("GET", ["users"]) if asked.path.ends_with("=ada") => Reply::json(&json!([{"id": 7}])),
        ("GET", ["users"]) if asked.path.ends_with("=eve") => Reply::json(&json!([{"id": 8}])),
        ("GET", ["users"]) => Reply::json(&json!([])),
        ("GET", ["projects", "o%2Fr", "issues" | "merge_requests", _, "notes"]) => {
            page(kept.comments.clone(), asked, 100)
        }
        ("POST", ["projects", "o%2Fr", "issues" | "merge_requests", _, "notes"]) => {
            let id = kept.comments.len() + 1;
            let author = json!({"id": kept.user.unwrap_or(9)});
            kept.comments.push(json!({"id": id, "body": body["body"], "author": author}));
            Reply::json(&kept.comments[id - 1])
        }
        ("PUT", ["projects", "o%2Fr", "issues" | "merge_requests", _, "notes", id]) => {
            let comment = &mut kept.comments[id.parse::<usize>().unwrap() - 1];
            set(comment, &body);
            Reply::json(comment)
        }
        ("DELETE", ["projects", "o%2Fr", "issues", _, "notes", id]) => delete(kept, id),
        _ => Reply::new(404, r#"{"message": "404 Not found"}"#),
    }
}

fn delete(kept: &mut Kept, id: &str) -> Reply {
    let n_before = kept.comments.len();
    let id: u64 = id.parse().unwrap();
    kept.comments.retain(|one| one["id"] != id);
    Reply::new(if kept.comments.len() < n_before { 204 } else { 404 }, "")
}

fn set(value: &mut Value, fields: &Value) {
    for (key, field) in fields.as_object().into_iter().flatten() {
        value[key] = field.clone();
    }
}

fn add(all: &mut Vec<String>, names: &Value) {
    all.extend(
        names.as_array().into_iter().flatten().map(|name| name.as_str().unwrap().to_owned()),
    );
}
