//! Agents that ruin what they can reach, in every role: no ref, config, hook, stash or byte of the
//! user's changes, and the run goes on.
//!
//! [`Project::run`] compares everything of the user's before and after.

use super::{
    project::{FIND_USER, HONEST, HONEST_FILE, Project, play},
    world::{DONE, has},
};

/// Everything that git can do. A program that git starts for somebody who is no agent leaves a mark.
const GIT: &str = r#"
chmod -R u+w .
program="$HOME/program.sh"
printf '#!/bin/sh\n[ -n "$FORGE_ROLE" ] || touch "$HOME/ran"\ncat\n' > "$program"; chmod +x "$program"
# The machine's own settings are not the world's to ruin: nothing but this keeps git from writing them.
export GIT_CONFIG_SYSTEM="$HOME/system.gitconfig"
(
    echo more >> README.md; git stash; git stash; echo more >> README.md; git stash; git stash drop
    git config user.name Mallory; git config core.fileMode false
    git config --global user.name Mallory; git config --global core.hooksPath "$HOME/hooks"
    git config --global core.fsmonitor "$program"; git config --system user.name Mallory
    mkdir -p .git/hooks "$HOME/hooks"
    for hook in pre-commit commit-msg post-commit post-checkout post-index-change reference-transaction; do
        cp "$program" .git/hooks/$hook; cp "$program" "$HOME/hooks/$hook"
    done
    git config core.hooksPath .git/hooks; git config core.fsmonitor "$program"
    for key in clean smudge; do git config filter.evil.$key "$program"; done
    git config diff.external "$program"; git config core.pager "$program"; git config alias.add "!$program"
    echo '* filter=evil diff=evil merge=evil' > .git/info/attributes
    git commit --allow-empty -m mine; git commit --amend --allow-empty -m "mine again"
    git checkout -b mine; git branch -D main side forge; git tag -f v1; git tag -d v1
    git update-ref refs/heads/main HEAD; git update-ref -d refs/heads/main; git update-ref refs/stash HEAD
    git reflog expire --all --expire=now; git gc --quiet --prune=now; git prune; git repack -adq
    git worktree add ../elsewhere; git worktree add inside; git worktree prune; rm -rf inside
    git init --bare "$HOME/beside.git"; git remote add beside "$HOME/beside.git"; git push beside HEAD:main
    git remote add user "$user"; git push user HEAD:main; git push user +HEAD:refs/heads/side
    git push "$user" HEAD:refs/heads/new; git push "file://$user" +HEAD:refs/tags/v1
    git push "${user%/.git}" :refs/heads/side; git fetch user; git push --mirror user
    git init nested; cd nested; git commit --allow-empty -m nested
    git push "$user" HEAD:refs/heads/nested; git push "$user" +HEAD:refs/heads/main; cd ..; rm -rf nested
    git clone "$user" cloned; cd cloned; git commit --allow-empty -m cloned; git push origin HEAD:refs/heads/cloned
    git push --force; git push origin :side; cd ..; rm -rf cloned
    git update-index --assume-unchanged README.md; git update-index --skip-worktree notes.txt
    git sparse-checkout set none; git sparse-checkout disable
    git reset --hard; git checkout -- .
) > /dev/null 2>&1
"#;

/// What can be done to files, `.git` among them. Git is not called afterwards: it would be the
/// user's.
const FILES: &str = r#"
(
    git -c protocol.file.allow=always submodule add "${user%/.git}" sub
    rm -rf .git; ln -s "$user" .git
    mkfifo pipe; mkdir -p locked/deep; touch locked/deep/file; chmod 500 locked/deep locked
    touch special; chmod 6755 special; rm -f notes.txt; ln -s "${user%/.git}/notes.txt" notes.txt
    mkdir nested; echo "gitdir: $user" > nested/.git; touch nested/file
    rm -rf tests; ln -s "${user%/.git}/tests" tests; mkfifo .gitattributes
    perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un("socket"))'
) > /dev/null 2>&1
"#;

/// Puts right what [`FILES`] did.
const CLEAN: &str = "chmod -R u+w .; rm -rf sub .gitmodules pipe socket special nested locked tests notes.txt .gitattributes\n\
                     git checkout -q $(git rev-list HEAD | tail -n 2 | head -n 1) -- tests notes.txt; git rm -q --cached -r --ignore-unmatch sub .gitmodules";

#[test]
fn git_in_the_hands_of_every_role_reaches_nothing_of_the_users() {
    let project = Project::new();
    let rampage = format!("{FIND_USER}\n{GIT}");
    let said = project.run(&[
        play("reader", "", &rampage),
        play("writer", "", &format!("{rampage}\n{HONEST}")),
        play("reviewer", "", &rampage),
    ]);
    assert_eq!(said.code, DONE, "{said}");
    project.only_honest_work_landed(&said);
    assert!(!project.world.beside("ran").exists(), "Forge started no program of an agent's");
    let pushed = project.world.beside("beside.git/refs/heads/main");
    assert!(pushed.exists(), "the rampage got as far as it should");
    let system = project.world.beside("system.gitconfig");
    assert!(system.exists(), "the settings of all users were written, but those of this world");
}

#[test]
fn ruined_files_of_those_who_only_read_are_put_back() {
    let project = Project::new();
    let rampage = format!("{FIND_USER}\n{FILES}");
    let said = project.run(&[play("reader", "", &rampage), play("reviewer", "", &rampage)]);
    assert_eq!(said.code, DONE, "{said}");
    project.only_honest_work_landed(&said);
    let shown = project.world.ok(&["show", &project.id()]);
    has(&shown, &["it changed code, but its role only reads; discarded:"]);
}

#[test]
fn ruined_files_of_a_writer_are_found_and_sent_back() {
    let project = Project::new();
    let said = project.run(&[
        play("writer", "attempt = 1", &format!("{FIND_USER}\n{HONEST}\n{FILES}")),
        play("writer", "", CLEAN),
    ]);
    has(
        &said.out,
        &["pipe is a pipe, a socket or a device: left out", "build sent back by change check"],
    );
    assert_eq!(said.code, DONE, "{said}");
    project.only_honest_work_landed(&said);
}

#[test]
fn a_checkout_that_became_a_link_to_the_users_is_made_anew() {
    for swap in [
        "cd ..; mv tree gone; ln -s \"${user%/.git}\" tree",
        "cd ..; rm -rf tree forge.git; ln -s \"$user\" forge.git; cp -r \"${user%/.git}\" tree",
        "rm -rf .git; echo \"gitdir: $user\" > .git",
        "rm -rf .git; cp -r \"$user\" .git",
        "rm -rf .git; git init -q; git add -A; git commit -qm everything",
        "git config core.worktree \"${user%/.git}\"; echo \"$user\" > .git/commondir",
        "rm -rf .git/objects; ln -s \"$user/objects\" .git/objects",
    ] {
        let project = Project::new();
        let said = project.run(&[play(
            "writer",
            "attempt = 1",
            &format!("{FIND_USER}\n{HONEST}\n{swap}"),
        )]);
        assert_eq!(said.code, DONE, "{swap}: {said}");
        assert_eq!(project.landed_file("bin/greet.sh").as_deref(), Some(HONEST_FILE), "{swap}");
    }
}
