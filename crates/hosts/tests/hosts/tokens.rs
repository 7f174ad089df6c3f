//! Where tokens come from, and to which hosts they may go.

use std::cell::RefCell;

use forge_hosts::{Address, HostError, HostTokens, KeyTracker, Kind, Known, TokenCommand, fetch};
use serde_json::json;

use crate::{
    loopback::{Host, Reply},
    world::{POINTS, World, address, kinds},
};

/// Looks for a token, and returns which variables and programs were asked, and what was sent.
fn look(
    address: &Address,
    host: &Host,
    env: impl Fn(&str) -> Option<&'static str>,
    run: impl Fn(&TokenCommand) -> Option<&'static str>,
) -> (Vec<String>, Option<String>) {
    let asked = RefCell::new(Vec::new());
    let variable = |name: &str| {
        asked.borrow_mut().push(name.to_owned());
        env(name).map(str::to_owned)
    };
    let program = |command: &TokenCommand| {
        let words = format!("{} {}", command.program, command.args.join(" "));
        asked.borrow_mut().push(words.replace(&host.name, "HOST"));
        run(command).map(str::to_owned)
    };
    let tokens = HostTokens::find(address, &variable, &program);
    let _answer = fetch(address, &tokens, &World::new().http, POINTS);
    let sent =
        host.asked().first().and_then(|asked| asked.header("authorization").map(str::to_owned));
    (asked.into_inner(), sent)
}

fn host() -> Host {
    Host::always(|| Reply::json(&json!({"number": 3, "iid": 3, "title": "Sums"})))
}

#[test]
fn variables_come_first_then_the_hosts_program_then_git() {
    let path = "/o/r/issues/3";
    let git = "git credential fill";
    for (kind, all) in [
        (
            Kind::GitHub,
            &[
                "GH_ENTERPRISE_TOKEN",
                "GITHUB_ENTERPRISE_TOKEN",
                "gh auth token --hostname HOST",
                git,
            ][..],
        ),
        (Kind::GitLab, &["GITLAB_TOKEN", "glab config get token --host HOST", git]),
        (Kind::Gitea, &["GITEA_TOKEN", git]),
    ] {
        let host = host();
        let (asked, sent) = look(&address(&host, kind, path), &host, |_| None, |_| None);
        assert_eq!((asked, sent), (all.iter().map(|&s| s.to_owned()).collect(), None), "{kind:?}");
    }
    let jira = host();
    let (asked, _) = look(&address(&jira, Kind::Jira, "/browse/AB-1"), &jira, |_| None, |_| None);
    assert_eq!(asked, ["JIRA_TOKEN"]);
    let linear = host();
    let (asked, _) =
        look(&address(&linear, Kind::Linear, "/t/issue/AB-1"), &linear, |_| None, |_| None);
    assert_eq!(asked, ["LINEAR_API_KEY"]);
}

#[test]
fn github_itself_has_its_own_variables() {
    let host = host();
    let address = Address::parse("https://github.com/o/r/issues/3", &Known::default());
    let address = address.unwrap().unwrap();
    let asked = RefCell::new(Vec::new());
    let env = |name: &str| {
        asked.borrow_mut().push(name.to_owned());
        None
    };
    let run = |command: &TokenCommand| {
        asked.borrow_mut().push(command.args.join(" "));
        None
    };
    HostTokens::find(&address, &env, &run);
    let all = ["GH_TOKEN", "GITHUB_TOKEN", "auth token --hostname github.com", "credential fill"];
    assert_eq!(*asked.borrow(), all);
    assert!(host.asked().is_empty());
}

#[test]
fn a_password_that_git_has_does_not_hide_what_is_public() {
    for (is_public, n_asked) in [(true, 2), (false, 2)] {
        let host = Host::start(move |_, asked| match asked.header("authorization") {
            None if is_public => Reply::json(&json!({"number": 3, "title": "Sums"})),
            None => Reply::new(404, ""),
            Some(_) => Reply::new(401, ""),
        });
        let address = address(&host, Kind::GitHub, "/o/r/issues/3");
        let run = |command: &TokenCommand| {
            (command.program == "git").then(|| "password=for-pushing\n".to_owned())
        };
        let tokens = HostTokens::find(&address, &|_| None, &run);
        let found = fetch(&address, &tokens, &World::new().http, POINTS);
        assert_eq!(found.is_ok(), is_public);
        assert!(is_public || matches!(found, Err(HostError::Refused { status: 401, .. })));
        assert_eq!(host.asked().len(), n_asked);
    }
    // A token that a person gave is one that they want to hear about.
    let host = Host::always(|| Reply::new(401, ""));
    World::new().fetch(&host, Kind::GitHub, "/o/r/issues/3").unwrap_err();
    assert_eq!(host.asked().len(), 1);
}

#[test]
fn the_first_token_that_is_found_is_sent() {
    let path = "/o/r/issues/3";
    let run = |command: &TokenCommand| match &*command.program {
        "gh" => Some("from-gh\n"),
        _ => panic!("{command:?} is not asked any more"),
    };
    let one = host();
    let address_of = |host: &Host| address(host, Kind::GitHub, path);
    let (_, sent) = look(&address_of(&one), &one, |_| Some(" from-variable "), run);
    assert_eq!(sent.as_deref(), Some("Bearer from-variable"));
    let two = host();
    let (_, sent) = look(&address_of(&two), &two, |_| Some(" "), run);
    assert_eq!(sent.as_deref(), Some("Bearer from-gh"));
    // What cannot stand in a header is not a token.
    let three = host();
    let (_, sent) = look(&address_of(&three), &three, |_| Some("a\r\nb: c"), |_| None);
    assert_eq!(sent, None);
}

#[test]
fn git_is_asked_without_a_terminal_and_only_its_answer_for_this_host_counts() {
    let path = "/o/r/issues/3";
    for (answer, sent) in [
        ("protocol=https\nusername=me\npassword=from-git\n", Some("Bearer from-git")),
        ("protocol=https\nhost=other.example\nusername=me\npassword=from-git\n", None),
        ("protocol=https\nusername=me\n", None),
        ("", None),
    ] {
        let host = host();
        let name = host.name.clone();
        let (_, found) = look(
            &address(&host, Kind::GitHub, path),
            &host,
            |_| None,
            |command| {
                if command.program != "git" {
                    return None;
                }
                assert_eq!(command.stdin, format!("protocol=https\nhost={name}\n\n"));
                assert!(command.variables.contains(&("GIT_TERMINAL_PROMPT", "0")));
                Some(answer)
            },
        );
        assert_eq!(found.as_deref(), sent, "{answer:?}");
    }
}

/// Returns how a token from a variable looks that may go to an address.
fn sent_to(url: &str, known: &Known<'_>) -> Option<&'static str> {
    let address = Address::parse(url, known).expect("it is an issue").expect("it is one");
    let tokens = HostTokens::find(&address, &|_| Some("from-variable".to_owned()), &|_| None);
    format!("{tokens:?}").contains("HostToken(***)").then_some("HostToken(***)")
}

#[test]
fn a_variable_is_not_sent_to_a_host_that_is_only_in_an_address() {
    // The shape of the path tells the kind, and no setting names the host.
    let cases = [("/g/p/-/issues/3", Kind::GitLab), ("/browse/AB-3", Kind::Jira)];
    for (path, kind) in cases {
        let guessed = host();
        let url = format!("http://{}{path}", guessed.name);
        let address = Address::parse(&url, &Known::default()).unwrap().unwrap();
        assert_eq!(address.kind(), kind);
        let (_, sent) = look(&address, &guessed, |_| Some("from-variable"), |_| None);
        assert_eq!(sent, None, "{kind:?}");
        // A setting, or the repository's own remote, names it.
        let remote = format!("http://{}/g/p.git", guessed.name);
        for known in [
            Known { kinds: kinds(&guessed.name, kind), ..Known::default() },
            Known { remote: Some(remote), ..Known::default() },
        ] {
            assert_eq!(sent_to(&url, &known), Some("HostToken(***)"), "{known:?}");
        }
        let jira = Known { jira: Some(format!("http://{}", guessed.name)), ..Known::default() };
        let is_sent = kind == Kind::Jira;
        assert_eq!(sent_to(&url, &jira), is_sent.then_some("HostToken(***)"), "{kind:?}");
    }
    let address = Address::parse("https://any.example/browse/AB-3", &Known::default());
    let address = address.unwrap().unwrap();
    let error = fetch(&address, &HostTokens::none(), &World::new().http, POINTS).unwrap_err();
    let next = "forge config set hosts.jira https://any.example --user, and set JIRA_TOKEN";
    assert_eq!(error.next(), next);
}

#[test]
fn a_token_is_in_no_debug_text() {
    let host = host();
    let address = address(&host, Kind::GitHub, "/o/r/issues/3");
    let tokens = HostTokens::find(&address, &|_| Some("abc-def".to_owned()), &|_| None);
    assert!(!format!("{tokens:?} {tokens:#?} {address:?}").contains("abc-def"));
}

#[test]
fn trackers_of_keys_are_those_with_a_variable() {
    let with = |names: &'static [&'static str]| {
        HostTokens::key_trackers(&|name| names.contains(&name).then(|| "x".to_owned()))
    };
    assert_eq!(with(&[]), []);
    assert_eq!(with(&["JIRA_TOKEN"]), [KeyTracker::Jira]);
    assert_eq!(with(&["LINEAR_API_KEY", "JIRA_TOKEN"]), [KeyTracker::Jira, KeyTracker::Linear]);
}
