//! Pull requests of every host that has them: opened once, updated, merged, closed, and all that can be in the way.

use forge_hosts::{
    Ends, HostError, HostTokens, HostedRepository, Kind, Known, MergeMethod, MergeObstacle,
    Mergeability, OfferChange, OfferedPullRequest, PullRequestEnd, PullRequestForm,
    PullRequestState, PullRequestTags, PullRequestText, PullRequests, TextMark,
};
use serde_json::json;

use crate::{
    forge_host::{COMMIT, Kept, start},
    loopback::{Host, Reply},
    world::{World, assert_hides_the_token, kinds, no_program, variables},
};

const HOSTS: [Kind; 3] = [Kind::GitHub, Kind::GitLab, Kind::Gitea];

fn repository(host: &Host, kind: Kind) -> HostedRepository {
    let known = Known { kinds: kinds(&host.name, kind), ..Known::default() };
    let remote = format!("http://{}/o/r.git", host.name);
    HostedRepository::parse(&remote, &known).unwrap().unwrap()
}

fn ends(head_project: &str) -> Ends {
    Ends {
        head_project: head_project.to_owned(),
        head: "forge/x".to_owned(),
        base: "main".to_owned(),
    }
}

fn text(title: &str, form: PullRequestForm) -> PullRequestText {
    PullRequestText { title: title.to_owned(), body: "What and why.".to_owned(), form }
}

fn mark() -> TextMark {
    TextMark::new("20261119-x-abcd", "pull-request", "Forge run abcd")
}

/// Does something with the pull requests of a host.
fn with<T>(host: &Host, kind: Kind, act: impl FnOnce(&PullRequests<'_>) -> T) -> T {
    let (world, repository) = (World::new(), repository(host, kind));
    let tokens = HostTokens::find_for(&repository, &variables, &no_program);
    act(&PullRequests::new(&repository, &tokens, &world.http).unwrap())
}

fn offer(
    host: &Host,
    kind: Kind,
    head_project: &str,
    text: &PullRequestText,
) -> Result<OfferedPullRequest, HostError> {
    with(host, kind, |all| {
        let tags = PullRequestTags::default();
        all.offer(&ends(head_project), text, &mark(), &tags, &|_| true)
    })
}

fn is_draft(state: &PullRequestState) -> bool {
    matches!(state, PullRequestState::Open { form: PullRequestForm::Draft, .. })
}

#[test]
fn a_pull_request_is_opened_once_and_updated_the_second_time() {
    for kind in HOSTS {
        let (host, kept) = start(kind, Kept::default());
        let first = offer(&host, kind, "o/r", &text("One", PullRequestForm::Ready)).unwrap();
        assert_eq!((first.change, first.pull_request.number), (OfferChange::Opened, 1), "{kind:?}");
        assert_eq!(first.pull_request.head_commit, COMMIT);
        let second = offer(&host, kind, "o/r", &text("Two", PullRequestForm::Ready)).unwrap();
        assert_eq!((second.change, second.pull_request.number), (OfferChange::Updated, 1));
        let kept = kept.lock().unwrap();
        assert_eq!(kept.pulls.len(), 1, "{kind:?}");
        assert_eq!(kept.pulls[0]["title"], "Two");
        let body = kept.pulls[0].get("body").or(kept.pulls[0].get("description")).unwrap();
        assert_eq!(body, "What and why.\n\n<!-- forge:20261119-x-abcd:pull-request -->\n");
    }
}

#[test]
fn answers_that_are_lost_after_the_effect_make_nothing_twice() {
    for kind in HOSTS {
        for n_lost in 1..=3 {
            let (host, kept) = start(kind, Kept { n_lost, ..Kept::default() });
            let offered = offer(&host, kind, "o/r", &text("One", PullRequestForm::Ready)).unwrap();
            assert_eq!(offered.change, OfferChange::Opened, "{kind:?}");
            assert_eq!(kept.lock().unwrap().pulls.len(), 1);
            // A lost answer to an update is an error, and the next try finds what is there.
            while kept.lock().unwrap().n_lost > 0 {
                offer(&host, kind, "o/r", &text("Two", PullRequestForm::Ready)).unwrap_err();
            }
            let again = offer(&host, kind, "o/r", &text("Two", PullRequestForm::Ready)).unwrap();
            assert_eq!(again.change, OfferChange::Updated);
            assert_eq!(kept.lock().unwrap().pulls.len(), 1);
        }
    }
}

#[test]
fn a_branch_of_a_fork_is_offered_to_the_repository_that_it_is_a_fork_of() {
    for kind in HOSTS {
        let (host, kept) = start(kind, Kept::default());
        // The same branch of the repository itself is another one.
        offer(&host, kind, "o/r", &text("Own", PullRequestForm::Ready)).unwrap();
        kept.lock().unwrap().pulls[0]["state"] = "closed".into();
        let offered = offer(&host, kind, "me/r", &text("Fork", PullRequestForm::Ready)).unwrap();
        assert_eq!(
            (offered.change, offered.pull_request.number),
            (OfferChange::Opened, 2),
            "{kind:?}"
        );
        let again = offer(&host, kind, "me/r", &text("Fork", PullRequestForm::Ready)).unwrap();
        assert_eq!((again.change, again.pull_request.number), (OfferChange::Updated, 2));
        let made = host.asked().into_iter().rfind(|asked| asked.method == "POST").unwrap();
        match kind {
            Kind::GitLab => assert!(made.path.starts_with("/api/v4/projects/me%2Fr/"), "{made:?}"),
            Kind::GitHub | Kind::Gitea | Kind::Jira | Kind::Linear => {
                assert!(made.body.contains("\"me:forge/x\""), "{made:?}");
            }
        }
    }
}

#[test]
fn a_draft_stays_one_until_it_is_marked_ready() {
    for kind in HOSTS {
        let (host, kept) = start(kind, Kept::default());
        let made = offer(&host, kind, "o/r", &text("One", PullRequestForm::Draft)).unwrap();
        match kind {
            // These compute it from the title.
            Kind::Gitea => kept.lock().unwrap().pulls[0]["draft"] = true.into(),
            Kind::GitLab => {
                kept.lock().unwrap().pulls[0]["detailed_merge_status"] = "draft_status".into();
            }
            Kind::GitHub | Kind::Jira | Kind::Linear => assert!(is_draft(&made.pull_request.state)),
        }
        offer(&host, kind, "o/r", &text("Two", PullRequestForm::Ready)).unwrap();
        let refused = with(&host, kind, |all| all.merge(1, COMMIT, MergeMethod::Merge));
        let Err(HostError::NotMergeable { obstacle: MergeObstacle::Draft, .. }) = refused else {
            panic!("{kind:?}: {refused:?}")
        };
        with(&host, kind, |all| all.mark_ready(1)).unwrap();
        let kept = kept.lock().unwrap();
        assert_eq!(kept.pulls[0]["title"], "Two", "{kind:?}");
        assert!(kind != Kind::GitHub || kept.pulls[0]["draft"] == false);
    }
}

#[test]
fn labels_and_reviewers_are_added_when_it_is_opened_and_what_is_refused_of_them_is_said() {
    for kind in HOSTS {
        let (host, kept) = start(kind, Kept::default());
        let tags =
            PullRequestTags { labels: vec!["auto".to_owned()], reviewers: vec!["ada".to_owned()] };
        let ready = text("One", PullRequestForm::Ready);
        let offer =
            || with(&host, kind, |all| all.offer(&ends("o/r"), &ready, &mark(), &tags, &|_| true));
        assert_eq!(offer().unwrap().flaws, []);
        offer().unwrap();
        let kept = kept.lock().unwrap();
        assert_eq!((kept.labels.len(), kept.reviewers.len()), (1, 1), "{kind:?}");
    }
}

#[test]
fn a_reviewer_whom_the_host_refuses_does_not_keep_the_others_away() {
    for kind in HOSTS {
        let (host, kept) = start(kind, Kept::default());
        let reviewers = ["ada", "bob", "eve"].map(str::to_owned).to_vec();
        let tags = PullRequestTags { reviewers, ..PullRequestTags::default() };
        let ready = text("One", PullRequestForm::Ready);
        let offered =
            with(&host, kind, |all| all.offer(&ends("o/r"), &ready, &mark(), &tags, &|_| true));
        let flaws = offered.unwrap().flaws;
        assert_eq!(flaws.len(), 1, "{kind:?}: {flaws:?}");
        let why = if kind == Kind::GitLab { "knows no user bob" } else { "from collaborators" };
        assert!(flaws[0].what().contains(why), "{flaws:?}");
        assert_eq!(kept.lock().unwrap().reviewers.len(), 2, "{kind:?}");
    }
}

#[test]
fn a_text_that_a_person_edited_is_left_as_it_is() {
    for kind in HOSTS {
        let (host, kept) = start(kind, Kept::default());
        offer(&host, kind, "o/r", &text("One", PullRequestForm::Ready)).unwrap();
        let two = text("Two", PullRequestForm::Ready);
        let tags = PullRequestTags::default();
        let offered =
            with(&host, kind, |all| all.offer(&ends("o/r"), &two, &mark(), &tags, &|_| false));
        assert_eq!(offered.unwrap().change, OfferChange::LeftAsEdited, "{kind:?}");
        assert_eq!(kept.lock().unwrap().pulls[0]["title"], "One");
    }
}

#[test]
fn the_text_of_a_pull_request_without_the_mark_is_left_as_it_is() {
    for kind in HOSTS {
        let (host, kept) = start(kind, Kept::default());
        offer(&host, kind, "o/r", &text("One", PullRequestForm::Ready)).unwrap();
        for key in ["body", "description"] {
            kept.lock().unwrap().pulls[0][key] = "My own words.".into();
        }
        let offered = offer(&host, kind, "o/r", &text("Two", PullRequestForm::Ready)).unwrap();
        assert_eq!(offered.change, OfferChange::LeftAsItIs);
        assert_eq!(kept.lock().unwrap().pulls[0]["title"], "One");
    }
}

#[test]
fn a_pull_request_that_was_closed_or_merged_is_not_opened_a_second_time() {
    for kind in HOSTS {
        for (state, end) in [("closed", PullRequestEnd::Closed), ("merged", PullRequestEnd::Merged)]
        {
            let (host, kept) = start(kind, Kept::default());
            offer(&host, kind, "o/r", &text("One", PullRequestForm::Ready)).unwrap();
            let gitlab = kind == Kind::GitLab;
            let word = if gitlab { state } else { "closed" };
            kept.lock().unwrap().pulls[0]["state"] = word.into();
            kept.lock().unwrap().pulls[0]["merged"] = (state == "merged").into();
            let error =
                offer(&host, kind, "o/r", &text("Two", PullRequestForm::Ready)).unwrap_err();
            assert!(
                matches!(&error, HostError::Over { end: found, .. } if *found == end),
                "{error:?}"
            );
            assert_eq!(kept.lock().unwrap().pulls.len(), 1);
        }
    }
}

#[test]
fn only_the_commit_that_was_meant_is_merged_and_a_lost_answer_is_looked_up() {
    for kind in HOSTS {
        let (host, kept) = start(kind, Kept::default());
        offer(&host, kind, "o/r", &text("One", PullRequestForm::Ready)).unwrap();
        let merge =
            |commit: &str| with(&host, kind, |all| all.merge(1, commit, MergeMethod::Squash));
        let Err(HostError::NotMergeable { obstacle: MergeObstacle::OtherCommit, .. }) =
            merge("3333")
        else {
            panic!("another commit is never merged")
        };
        kept.lock().unwrap().n_lost = 1;
        for _ in 0..2 {
            let merged = merge(COMMIT).unwrap();
            let commit = Some("2222".to_owned());
            assert_eq!(merged.state, PullRequestState::Merged { commit }, "{kind:?}");
        }
        let way = kept.lock().unwrap().pulls[0]["way"].to_string();
        assert!(way.contains(COMMIT) && way.contains("squash"), "{way}");
    }
}

#[test]
fn what_is_in_the_way_of_a_merge_is_said() {
    for (kind, fields, obstacle) in [
        (Kind::GitHub, json!({"mergeable_state": "dirty"}), MergeObstacle::Conflicts),
        (Kind::GitHub, json!({"mergeable_state": "behind"}), MergeObstacle::Behind),
        (
            Kind::GitHub,
            json!({"mergeable_state": "blocked"}),
            MergeObstacle::Protected { words: String::new() },
        ),
        (Kind::Gitea, json!({"mergeable": false}), MergeObstacle::NotReady),
        (Kind::GitLab, json!({"detailed_merge_status": "conflict"}), MergeObstacle::Conflicts),
        (
            Kind::GitLab,
            json!({"detailed_merge_status": "ci_must_pass"}),
            MergeObstacle::Protected { words: "ci must pass".to_owned() },
        ),
    ] {
        let (host, kept) = start(kind, Kept::default());
        offer(&host, kind, "o/r", &text("One", PullRequestForm::Ready)).unwrap();
        for (key, value) in fields.as_object().unwrap() {
            kept.lock().unwrap().pulls[0][key] = value.clone();
        }
        let found = with(&host, kind, |all| all.get(1)).unwrap();
        let PullRequestState::Open { merging, .. } = found.state else { panic!("it is open") };
        assert_eq!(merging, Mergeability::Blocked(obstacle), "{kind:?}");
        let error = with(&host, kind, |all| all.merge(1, COMMIT, MergeMethod::Merge)).unwrap_err();
        assert!(error.what().contains("cannot be merged: "), "{error}");
    }
    // A rule that only the merge itself meets.
    let (host, kept) = start(Kind::GitHub, Kept::default());
    offer(&host, Kind::GitHub, "o/r", &text("One", PullRequestForm::Ready)).unwrap();
    let words = "At least 1 approving review is required by reviewers with write access.";
    kept.lock().unwrap().refusal = Some(Reply::new(405, json!({"message": words}).to_string()));
    let error =
        with(&host, Kind::GitHub, |all| all.merge(1, COMMIT, MergeMethod::Merge)).unwrap_err();
    assert!(error.what().contains("At least 1 approving review"), "{error}");
    for (kind, status, words, obstacle) in [
        (Kind::Gitea, 409, "merge conflict", MergeObstacle::NotReady),
        (Kind::Gitea, 405, "", MergeObstacle::NotReady),
        (Kind::Gitea, 409, "head out of date", MergeObstacle::OtherCommit),
        (Kind::GitHub, 409, "Head branch was modified", MergeObstacle::OtherCommit),
    ] {
        let (host, kept) = start(kind, Kept::default());
        offer(&host, kind, "o/r", &text("One", PullRequestForm::Ready)).unwrap();
        kept.lock().unwrap().refusal = Some(Reply::new(status, words));
        let error = with(&host, kind, |all| all.merge(1, COMMIT, MergeMethod::Merge)).unwrap_err();
        assert!(
            matches!(&error, HostError::NotMergeable { obstacle: found, .. } if *found == obstacle),
            "{kind:?}: {error:?}"
        );
    }
    let (host, kept) = start(Kind::GitLab, Kept::default());
    offer(&host, Kind::GitLab, "o/r", &text("One", PullRequestForm::Ready)).unwrap();
    kept.lock().unwrap().refusal = Some(Reply::new(401, r#"{"message": "401 Unauthorized"}"#));
    let error =
        with(&host, Kind::GitLab, |all| all.merge(1, COMMIT, MergeMethod::Merge)).unwrap_err();
    assert!(matches!(error, HostError::Forbidden { .. }), "the token is right: {error:?}");
    // GitLab merges by rebase only where the project does.
    let (host, _) = start(Kind::GitLab, Kept::default());
    offer(&host, Kind::GitLab, "o/r", &text("One", PullRequestForm::Ready)).unwrap();
    let error =
        with(&host, Kind::GitLab, |all| all.merge(1, COMMIT, MergeMethod::Rebase)).unwrap_err();
    assert!(error.what().ends_with("does not merge by rebase"), "{error}");
}

#[test]
fn only_an_open_pull_request_with_the_mark_is_closed_and_once() {
    for kind in HOSTS {
        let (host, kept) = start(kind, Kept::default());
        offer(&host, kind, "o/r", &text("One", PullRequestForm::Ready)).unwrap();
        let close = || with(&host, kind, |all| all.close(1, &mark())).unwrap().state;
        let bodies = ["body", "description"].map(|key| kept.lock().unwrap().pulls[0][key].take());
        assert!(matches!(close(), PullRequestState::Open { .. }), "{kind:?}: it is another's");
        for (key, body) in ["body", "description"].into_iter().zip(bodies) {
            kept.lock().unwrap().pulls[0][key] = body;
        }
        kept.lock().unwrap().refusal = Some(Reply::new(503, ""));
        assert_eq!((close(), close()), (PullRequestState::Closed, PullRequestState::Closed));
        assert_eq!(kept.lock().unwrap().pulls[0]["state"], "closed");
        let changes = host.asked().into_iter().filter(|asked| asked.body.contains("close"));
        assert_eq!(changes.count(), 2, "{kind:?}: one was refused");
    }
}

/// Offers to a GitHub that refuses the creation like this.
fn refused(reply: Reply) -> HostError {
    let (host, kept) = start(Kind::GitHub, Kept { refusal: Some(reply), ..Kept::default() });
    let error =
        offer(&host, Kind::GitHub, "o/r", &text("One", PullRequestForm::Ready)).unwrap_err();
    assert_hides_the_token(&error);
    assert_eq!(kept.lock().unwrap().pulls.len(), 0);
    error
}

#[test]
fn what_a_host_refuses_is_an_error_with_its_words_and_a_fix() {
    let errors = |message: &str| {
        json!({"message": "Validation Failed", "errors": [{"message": message}]}).to_string()
    };
    let error = refused(Reply::new(422, errors("No commits between main and forge/x")));
    assert!(matches!(error, HostError::NoCommits { .. }), "{error:?}");
    assert_eq!(error.next(), "git log main..forge/x");
    let error = refused(Reply::new(422, errors("Draft pull requests are not supported")));
    assert!(error.what().contains("Draft pull requests are not supported"), "{error}");
    let error = refused(Reply::new(
        403,
        r#"{"message": "Resource not accessible by personal access token"}"#,
    ));
    assert!(matches!(error, HostError::Forbidden { .. }), "{error:?}");
    assert!(error.next().starts_with("let the token write pull requests"), "{}", error.next());
    let sso = "required; url=https://github.com/orgs/o/sso?authorization_request=A";
    let error = refused(Reply::new(403, "").with("x-github-sso", sso));
    assert!(matches!(error, HostError::Refused { sso: Some(_), .. }), "{error:?}");
    for status in [301, 307, 308] {
        let error = refused(Reply::new(status, "").with("location", "/repositories/1/pulls"));
        assert!(matches!(error, HostError::Renamed { to: None, .. }), "{error:?}");
    }
    let error = refused(Reply::new(401, r#"{"message": "Bad credentials"}"#));
    assert!(matches!(error, HostError::Refused { status: 401, .. }), "{error:?}");
    let error = refused(Reply::new(404, r#"{"message": "Not Found"}"#));
    assert!(matches!(error, HostError::NotFound { .. }), "{error:?}");
    let error = refused(Reply::new(403, "").with("retry-after", "3600"));
    assert!(matches!(error, HostError::Limited { .. }), "{error:?}");
}

#[test]
fn a_second_limit_is_waited_for_before_a_change_and_a_failure_is_looked_up() {
    for (reply, slept) in [
        (Reply::new(403, "secondary rate limit").with("retry-after", "7"), vec![7]),
        (Reply::new(502, "<html>Bad gateway</html>"), vec![1]),
        (Reply::new(503, "").with("retry-after", "7"), vec![1]),
        (Reply::new(200, "<html>Sign in</html>").with("content-type", "text/html"), vec![1]),
    ] {
        let (host, kept) = start(Kind::GitHub, Kept { refusal: Some(reply), ..Kept::default() });
        let (world, repository) = (World::new(), repository(&host, Kind::GitHub));
        let tokens = HostTokens::find_for(&repository, &variables, &no_program);
        let all = PullRequests::new(&repository, &tokens, &world.http).unwrap();
        let ready = text("One", PullRequestForm::Ready);
        let tags = PullRequestTags::default();
        all.offer(&ends("o/r"), &ready, &mark(), &tags, &|_| true).unwrap();
        assert_eq!(*world.slept.borrow(), slept);
        assert_eq!(kept.lock().unwrap().pulls.len(), 1);
    }
}

#[test]
fn a_repository_with_another_name_is_said_before_anything_is_made() {
    for (kind, key) in [(Kind::GitHub, "full_name"), (Kind::GitLab, "path_with_namespace")] {
        let host = Host::always(move || Reply::json(&json!({"id": 1, key: "o/new"})));
        let error = offer(&host, kind, "o/r", &text("One", PullRequestForm::Ready)).unwrap_err();
        assert!(error.what().ends_with(" is now o/new"), "{error}");
        assert!(host.asked().iter().all(|asked| asked.method == "GET"));
    }
}

#[test]
fn a_remote_is_a_repository_in_every_form_of_its_address() {
    let known = || Known { kinds: kinds("code.example:8443", Kind::Gitea), ..Known::default() };
    for (remote, kind, host, project) in [
        ("https://github.com/o/r.git", Kind::GitHub, "github.com", "o/r"),
        ("https://me:secret@github.com/o/r", Kind::GitHub, "github.com", "o/r"),
        ("git@github.com:o/r.git", Kind::GitHub, "github.com", "o/r"),
        ("ssh://git@ssh.github.com:443/o/r.git", Kind::GitHub, "github.com", "o/r"),
        ("ssh://git@gitlab.com/g/s/r.git", Kind::GitLab, "gitlab.com", "g/s/r"),
        ("git@code.example:o/r.git", Kind::Gitea, "code.example:8443", "o/r"),
        ("ssh://git@code.example:2222/o/r", Kind::Gitea, "code.example:8443", "o/r"),
    ] {
        let found = HostedRepository::parse(remote, &known()).unwrap().unwrap();
        assert_eq!(
            (found.kind(), found.host(), found.project()),
            (kind, host, project),
            "{remote}"
        );
    }
    for remote in ["/srv/git/r.git", "../r", "file:///srv/r.git"] {
        assert_eq!(HostedRepository::parse(remote, &known()), None, "{remote}");
    }
    let error = HostedRepository::parse("git@work:o/r.git", &known()).unwrap().unwrap_err();
    assert!(error.next().contains("hosts.gitea work --user"), "{}", error.next());
    assert!(HostedRepository::parse("https://x.atlassian.net/o/r", &known()).unwrap().is_err());
}

#[test]
fn nothing_is_asked_without_a_token() {
    let host = Host::always(|| Reply::new(500, ""));
    let repository = repository(&host, Kind::Gitea);
    let (tokens, world) = (HostTokens::none(), World::new());
    let error = PullRequests::new(&repository, &tokens, &world.http).err().unwrap();
    assert!(matches!(error, HostError::NoToken { .. }), "{error:?}");
    assert_eq!(error.next(), "set GITEA_TOKEN");
    assert!(host.asked().is_empty());
}

#[test]
fn an_issue_is_of_a_repository_if_host_and_names_are_the_same() {
    let known = Known { kinds: kinds("code.example:8443", Kind::Gitea), ..Known::default() };
    for (remote, page, number) in [
        ("git@github.com:O/r.git", "https://github.com/o/r/issues/12", Some(12)),
        ("https://gitlab.com/g/s/r", "https://gitlab.com/g/s/r/-/issues/7", Some(7)),
        ("git@code.example:o/r", "https://code.example:8443/o/r/issues/3", Some(3)),
        ("git@github.com:o/r.git", "https://github.com/o/other/issues/12", None),
        ("git@github.com:o/r.git", "https://git.example/o/r/issues/12", None),
        ("git@github.com:o/r.git", "https://x.atlassian.net/browse/AB-1", None),
        ("git@github.com:o/r.git", "#12", None),
        ("/srv/o/r.git", "https://github.com/o/r/issues/12", None),
    ] {
        assert_eq!(known.issue_number(remote, page), number, "{remote} {page}");
    }
}
