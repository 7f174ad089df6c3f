//! Errors of a command line, in the words of all other errors: what is wrong, and a command that helps.
//!
//! Not here: validation of what was parsed.
//!
//! Invariant: only the command line is looked at. A suggested command keeps the words that were typed.

use std::{cmp::Reverse, error::Error as _, ffi::OsString};

use clap::{
    Arg, Command,
    error::{ContextKind, ContextValue, ErrorKind},
};
use forge_api::{Error, start::quoted};
use forge_core::work::{FieldRule, WorkKind, rule_by_label};

/// The command that takes a request.
const RUN: &str = "run";

/// Names that people know from other programs, and the command that does it here.
const COMMAND_HABITS: [(&str, &str); 29] = [
    ("accept", "approve"),
    ("begin", "run"),
    ("checkout", "open"),
    ("continue", "resume"),
    ("cost", "stats"),
    ("create", "run"),
    ("delete", "clean"),
    ("deny", "reject"),
    ("exec", "run"),
    ("follow", "attach"),
    ("history", "log"),
    ("kill", "stop"),
    ("login", "agents"),
    ("new", "run"),
    ("path", "open"),
    ("prompt", "brief"),
    ("ps", "status"),
    ("push", "pr"),
    ("remove", "clean"),
    ("review", "show"),
    ("revert", "undo"),
    ("rm", "clean"),
    ("settings", "config"),
    ("skip", "override"),
    ("start", "run"),
    ("tail", "log"),
    ("usage", "stats"),
    ("waive", "override"),
    ("yes", "approve"),
];

/// Flags that people know from other programs, and the one that does it here, where the command has it.
const FLAG_HABITS: [(&str, &str); 7] = [
    ("--tail", "-n"),
    ("--limit", "-n"),
    ("--no-color", "--color=never"),
    ("--colour", "--color"),
    ("--confirm", "--yes"),
    ("--size", "--effort"),
    ("--max-cost", "--budget"),
];

/// Flags by which people ask `forge run` to show what it does.
const LIVE_FLAGS: [&str; 5] = ["--watch", "--follow", "--tail", "--attach", "--live"];

/// A word of so many letters may be the beginning of a longer one.
const PREFIX_MIN: usize = 3;

/// Converts an error of clap.
pub(crate) fn usage_error(error: &clap::Error, args: &[OsString], cli: &Command) -> Error {
    if let Some(refusal) = unquoted_request(error, args, cli) {
        return refusal;
    }
    let line = CommandLine::parse(args, cli);
    let invalid = |kind| strings(error, kind).into_iter().next().unwrap_or_default();
    let kind = error.kind();
    if kind == ErrorKind::InvalidSubcommand {
        line.unknown_command(&invalid(ContextKind::InvalidSubcommand))
    } else if kind == ErrorKind::UnknownArgument {
        line.unknown_argument(&invalid(ContextKind::InvalidArg))
    } else if kind == ErrorKind::MissingRequiredArgument {
        let missing = strings(error, ContextKind::InvalidArg);
        let missing: Vec<String> =
            missing.iter().map(|argument| argument.replace(['<', '>'], "")).collect();
        let what = format!("`{}` needs {}", line.name(), missing.join(" and "));
        line.missing_value(&missing)
            .unwrap_or_else(|| Error::usage(what, line.with_missing(&missing)))
    } else if [ErrorKind::InvalidValue, ErrorKind::ValueValidation].contains(&kind) {
        let argument = invalid(ContextKind::InvalidArg);
        let value = invalid(ContextKind::InvalidValue);
        let reason = error.source().map(ToString::to_string);
        line.invalid_value(&argument, &value, &strings(error, ContextKind::ValidValue), reason)
    } else if kind == ErrorKind::ArgumentConflict {
        let one = flag_name(&invalid(ContextKind::InvalidArg)).to_owned();
        let what = match strings(error, ContextKind::PriorArg).first() {
            Some(other) if flag_name(other) == one => format!("`{one}` is given twice"),
            Some(other) => format!("`{one}` cannot be used with `{}`", flag_name(other)),
            None => format!("`{one}` cannot be used here"),
        };
        Error::usage(what, line.without(&one))
    } else {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        Error::usage(first.trim_start_matches("error: ").to_owned(), line.help())
    }
}

/// A command line, as far as it names a command.
struct CommandLine<'a> {
    /// The words, as a shell would read them back.
    words: Vec<String>,
    /// The innermost command that is named.
    command: &'a Command,
    /// The names of the commands, from the outermost on.
    path: Vec<&'a str>,
}

impl<'a> CommandLine<'a> {
    fn parse(args: &[OsString], cli: &'a Command) -> Self {
        let words: Vec<String> =
            args.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        let (mut command, mut path) = (cli, Vec::new());
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            if ["-C", "--color"].contains(&word.as_str()) {
                rest.next();
            } else if !word.starts_with('-') {
                let Some(found) = command.find_subcommand(word) else { break };
                command = found;
                path.push(found.get_name());
            }
        }
        Self { words, command, path }
    }

    /// Returns the name of the command, as it is called.
    fn name(&self) -> String {
        ["forge"].iter().chain(&self.path).copied().collect::<Vec<&str>>().join(" ")
    }

    /// Returns the command that prints the help.
    fn help(&self) -> String {
        format!("{} --help", self.name())
    }

    /// Returns the same command line with the names of what is missing at its end.
    fn with_missing(&self, missing: &[String]) -> String {
        let words = self.words.iter().map(|word| quoted(word));
        let missing = missing.iter().map(|name| match name.trim_end_matches("...") {
            // What has several words is typed between quotes.
            text @ ("TITLE" | "WHY" | "WORDS") => format!("\"{text}\""),
            name => name.to_owned(),
        });
        let all: Vec<String> = words.chain(missing).collect();
        format!("forge {}", all.join(" "))
    }

    /// Returns the same command line with another word in place of the first such.
    fn with_replaced(&self, wrong: &str, right: &str) -> String {
        let mut is_replaced = false;
        let words = self.words.iter().map(|word| {
            let value =
                word.strip_prefix(wrong).filter(|rest| rest.is_empty() || rest.starts_with('='));
            match value {
                Some(value) if !is_replaced => {
                    is_replaced = true;
                    format!(
                        "{right}{}",
                        if value.is_empty() { String::new() } else { quoted(value) }
                    )
                }
                _ => quoted(word),
            }
        });
        let words: Vec<String> = words.collect();
        format!("forge {}", words.join(" "))
    }

    /// Returns the same command line without the last such flag, if it has no value; else the command that prints the help.
    fn without(&self, flag: &str) -> String {
        let has_value = |known: &Arg| {
            known.get_long() == flag.strip_prefix("--") && known.get_action().takes_values()
        };
        let Some(place) = self.words.iter().rposition(|word| word == flag) else {
            return self.help();
        };
        if self.command.get_arguments().any(has_value) {
            return self.help();
        }
        let rest = self.words[..place].iter().chain(&self.words[place + 1..]);
        let rest: Vec<String> = rest.map(|word| quoted(word)).collect();
        format!("forge {}", rest.join(" "))
    }

    fn unknown_command(&self, wrong: &str) -> Error {
        if ["update", "upgrade"].contains(&wrong) && self.path.is_empty() && self.words.len() == 1 {
            return Error::usage(
                format!(
                    "unknown command `{wrong}`: a new version is installed with cargo, in the source of Forge"
                ),
                "cargo install --path crates/app",
            );
        }
        if let (["bug" | "feature"], "block" | "unblock") = (self.path.as_slice(), wrong) {
            let kind = self.path[0];
            let id = self.words.iter().skip_while(|word| *word != wrong).nth(1);
            let id = id.map_or_else(|| "ID".to_owned(), |id| quoted(id));
            let what =
                format!("a {kind} has no state `blocked`: only sprints and tasks can be blocked");
            return Error::usage(
                what,
                format!("forge {kind} show {id}   # the states that may follow"),
            );
        }
        let name = [&self.path[..], &[wrong]].concat().join(" ");
        let names =
            self.command.get_subcommands().filter(|command| !command.is_hide_set()).flat_map(
                |command| [command.get_name()].into_iter().chain(command.get_all_aliases()),
            );
        let habit = || {
            let found = COMMAND_HABITS.iter().find(|(habit, _)| *habit == wrong)?;
            self.command.find_subcommand(found.1).map(Command::get_name)
        };
        if let Some(near) = habit().or_else(|| nearest(wrong, names)) {
            let path = [&self.path[..], &[near]].concat().join(" ");
            let what = format!("unknown command `{name}`; did you mean `{path}`?");
            return Error::usage(what, self.with_replaced(wrong, near));
        }
        if wrong == "quick" && self.path.is_empty() && self.words.len() > 1 {
            let request: Vec<&str> = self.words[1..].iter().map(String::as_str).collect();
            let what = "unknown command `quick`; it is a flag";
            return Error::usage(what, format!("forge --quick {}", quoted(&request.join(" "))));
        }
        let is_request = self.path.is_empty()
            && self.words.len() > 1
            && self.words.iter().all(|word| !word.starts_with('-'));
        let help = if is_request {
            format!("forge {}", quoted(&self.words.join(" ")))
        } else if self.path.is_empty() && self.words.len() == 1 {
            format!("{}\n   or: forge \"{name} …\"", self.help())
        } else {
            self.help()
        };
        let known: Vec<&str> = self
            .command
            .get_subcommands()
            .filter(|command| !command.is_hide_set() && !self.path.is_empty())
            .map(Command::get_name)
            .collect();
        let known = match known.as_slice() {
            [] => String::new(),
            known => format!("; known: {}", known.join(", ")),
        };
        Error::usage(format!("unknown command `{name}`{known}"), help)
    }

    fn unknown_argument(&self, wrong: &str) -> Error {
        if !wrong.starts_with('-') {
            let what = format!("unexpected argument `{wrong}` for `{}`", self.name());
            return Error::usage(what, self.help());
        }
        // Several words that begin with a dash are a text.
        let is_text = |word: &String| word.starts_with(wrong) && word.contains(' ');
        if let Some(place) = self.words.iter().position(is_text) {
            let mut words: Vec<String> = self.words.iter().map(|word| quoted(word)).collect();
            words.insert(place, "--".to_owned());
            let what = format!("`{}` begins like a flag; write `--` before it", self.words[place]);
            return Error::usage(what, format!("forge {}", words.join(" ")));
        }
        let flags: Vec<String> = self
            .command
            .get_arguments()
            .flat_map(|flag| {
                let long = flag.get_long().map(|long| format!("--{long}"));
                long.into_iter().chain(flag.get_short().map(|short| format!("-{short}")))
            })
            .chain(["--quiet", "--verbose", "--color", "--help"].map(str::to_owned))
            .chain(self.path.is_empty().then(|| "--version".to_owned()))
            .collect();
        let run = self.command.find_subcommand(RUN);
        let is_of_run = |run: &Command| {
            let long = wrong.strip_prefix("--");
            run.get_arguments().any(|flag| flag.get_long().is_some() && flag.get_long() == long)
        };
        if run.is_some_and(is_of_run) {
            let words: Vec<String> = self.words.iter().map(|word| quoted(word)).collect();
            let what = format!("`{wrong}` is a flag of `forge run`");
            return Error::usage(what, format!("forge run {}", words.join(" ")));
        }
        if self.path == [RUN] && LIVE_FLAGS.contains(&wrong) {
            let what = format!("unknown flag `{wrong}`; `forge run` shows the run anyway");
            return Error::usage(what, self.without(wrong));
        }
        let habit = FLAG_HABITS.iter().find(|(habit, flag)| {
            let flag = flag.split('=').next();
            // `-n` says how many lines in the log, and something else in others.
            let is_known = flags.iter().any(|known| Some(known.as_str()) == flag);
            *habit == wrong && is_known && (flag != Some("-n") || self.path == ["log"])
        });
        let long = flags.iter().map(String::as_str).filter(|flag| flag.starts_with("--"));
        let near = habit.map(|(_, flag)| *flag).or_else(|| nearest(wrong, long));
        if let Some(near) = near {
            let what = format!("unknown flag `{wrong}`; did you mean `{near}`?");
            let mut help = self.with_replaced(wrong, near);
            if near == "-n" && help.ends_with(near) {
                help.push_str(" 20");
            }
            return Error::usage(what, help);
        }
        if let Some(field) = self.field_of_record(wrong) {
            let what = format!("unknown flag `{wrong}`; fields have no dashes: `{field}=VALUE`");
            return Error::usage(what, self.help());
        }
        Error::usage(format!("unknown flag `{wrong}` for `{}`", self.name()), self.help())
    }

    /// Returns the field of a record that a flag names, where fields can be set.
    fn field_of_record(&self, flag: &str) -> Option<&'static str> {
        let [kind, "new" | "set"] = self.path.as_slice() else { return None };
        let kind = WorkKind::ALL.into_iter().find(|known| known.as_str() == *kind)?;
        let name = flag.strip_prefix("--")?.split('=').next()?;
        rule_by_label(kind, name).filter(|rule| rule.is_settable()).map(FieldRule::label)
    }

    /// Returns what is said where one argument is missing that takes only some values.
    fn missing_value(&self, missing: &[String]) -> Option<Error> {
        let [name] = missing else { return None };
        let is_meant = |argument: &&Arg| {
            argument.get_value_names().is_some_and(|names| names.iter().any(|one| one == name))
        };
        let argument = self.command.get_arguments().find(is_meant)?;
        let values: Vec<String> =
            argument.get_possible_values().iter().map(|one| one.get_name().to_owned()).collect();
        let what = format!("`{}` needs {name}; use {}", self.name(), one_of(&values)?);
        Some(Error::usage(what, format!("{} {}", self.name(), values[0])))
    }

    /// Returns a flag as it was typed, which may be its short form.
    fn typed_flag(&self, flag: &str) -> String {
        let has_long = |argument: &&Arg| argument.get_long() == flag.strip_prefix("--");
        let argument = self.command.get_arguments().find(has_long);
        let short = argument.and_then(Arg::get_short).map(|short| format!("-{short}"));
        let is_typed =
            |name: &String| self.words.iter().any(|word| word.starts_with(name.as_str()));
        short
            .filter(|short| is_typed(short) && !is_typed(&flag.to_owned()))
            .unwrap_or(flag.to_owned())
    }

    fn invalid_value(
        &self,
        argument: &str,
        value: &str,
        valid: &[String],
        reason: Option<String>,
    ) -> Error {
        let flag = flag_name(argument);
        if value.is_empty() {
            return Error::usage(format!("`{flag}` needs a value"), self.help());
        }
        let mut what = format!("`{value}` is not a valid {}", self.typed_flag(flag));
        if let Some(all) = one_of(valid) {
            what = format!("{what}; use {all}");
        } else if let Some(reason) = reason {
            let reason = reason.replace("invalid digit found in string", NOT_A_NUMBER);
            let joint = if reason.starts_with(USE) { ";" } else { ":" };
            what = format!("{what}{joint} {reason}");
        }
        match nearest(value, valid.iter().map(String::as_str)) {
            Some(near) => {
                let fixed =
                    self.with_replaced(&format!("{flag}={value}"), &format!("{flag}={near}"));
                let same = self.with_replaced(value, near);
                let is_joined = self.words.iter().any(|word| *word == format!("{flag}={value}"));
                Error::usage(what, if is_joined { fixed } else { same })
            }
            None => match valid.first() {
                Some(first) => Error::usage(what, self.with_replaced(value, first)),
                None if what.ends_with(NOT_A_NUMBER) => {
                    Error::usage(what, self.with_replaced(value, "50"))
                }
                None => match what.rsplit_once(SUCH_AS) {
                    Some((_, example)) => {
                        Error::usage(what.clone(), self.with_replaced(value, example))
                    }
                    None => Error::usage(what, self.help()),
                },
            },
        }
    }
}

/// The beginning of a reason that says what to use instead, and what is before an example at its end.
const USE: &str = "use ";
const SUCH_AS: &str = ", such as ";

/// Why a value is not valid where a number is expected.
const NOT_A_NUMBER: &str = "it is not a number";

/// Returns an error that puts the request of `forge run` into quotes, if that is what clap stumbled over.
fn unquoted_request(error: &clap::Error, args: &[OsString], cli: &Command) -> Option<Error> {
    let word = strings(error, ContextKind::InvalidArg).into_iter().next()?;
    let is_word = error.kind() == ErrorKind::UnknownArgument && !word.starts_with('-');
    if !is_word || args.get(1)? != RUN {
        return None;
    }
    let run = cli.find_subcommand(RUN)?;
    let takes_value = |word: &str| {
        let name = word.trim_start_matches('-');
        let is_named = |flag: &Arg| {
            flag.get_long() == Some(name)
                || flag.get_short().is_some_and(|one| name == one.to_string())
        };
        run.get_arguments().any(|flag| is_named(flag) && flag.get_action().takes_values())
    };
    let (mut command, mut request) = (vec!["forge run".to_owned()], Vec::new());
    let mut words = args[2..].iter().map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        if word == "--" {
            request.extend(words.by_ref());
        } else if word.starts_with('-') && word.len() > 1 {
            command.push(quoted(&word));
            if takes_value(&word) {
                command.extend(words.next().map(|value| quoted(&value)));
            }
        } else {
            request.push(word);
        }
    }
    command.push(quoted(&request.join(" ")));
    let what = format!("the request came as {} arguments; put it in quotes", request.len());
    Some(Error::usage(what, command.join(" ")))
}

/// Returns values as a person says them: `bash, fish or zsh`.
fn one_of(values: &[String]) -> Option<String> {
    let [others @ .., last] = values else { return None };
    let others = others.join(", ");
    Some(if others.is_empty() { last.clone() } else { format!("{others} or {last}") })
}

/// Returns the name of a flag, as clap describes it: `--color <WHEN>`.
fn flag_name(argument: &str) -> &str {
    let name = argument.split([' ', '=']).next().unwrap_or(argument);
    name.trim_end_matches('.').trim_matches(['<', '>', '[', ']'])
}

fn strings(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(one)) => vec![one.clone()],
        Some(ContextValue::Strings(several)) => several.clone(),
        _ => Vec::new(),
    }
}

/// Returns the word that was probably meant: one that begins like that, or that differs in at most a third of its letters.
pub(super) fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let length = wrong.trim_start_matches('-').chars().count();
    let most = (length / 3).max(1);
    let near = known.filter_map(|known| {
        let distance = strsim::osa_distance(wrong, known);
        let is_other = !(length >= PREFIX_MIN && known.starts_with(wrong));
        let is_near = distance <= most || !is_other;
        // Of two that are equally near the longer one is meant: letters are left out more often than mistaken.
        is_near.then_some((is_other, distance, Reverse(known.len()), known))
    });
    near.min().map(|(.., known)| known)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::Cli;

    /// Returns what is said about a command line, and the command that helps.
    fn refused(words: &[&str]) -> (String, String) {
        let args: Vec<OsString> = ["forge"].iter().chain(words).map(OsString::from).collect();
        let error = Cli::command().try_get_matches_from(&args).expect_err("it is refused");
        let refusal = usage_error(&error, &args, &Cli::command());
        (refusal.what, refusal.next.expect("every error helps"))
    }

    #[test]
    fn what_was_probably_meant_is_suggested_with_the_words_that_were_typed() {
        for (typed, what, help) in [
            (&["stauts", "oqmd"][..], "did you mean `status`?", "forge status oqmd"),
            (&["staus"], "did you mean `status`?", "forge status"),
            (&["-Z"], "unknown flag `-Z` for `forge`", "forge --help"),
            (&["quick", "fix", "it"], "it is a flag", "forge --quick 'fix it'"),
            (&["--quick", "improve"], "a flag of `forge run`", "forge run --quick improve"),
            (&["lgo"], "did you mean `log`?", "forge log"),
            (&["statu"], "did you mean `status`?", "forge status"),
            (&["compl", "zsh"], "did you mean `completions`?", "forge completions zsh"),
            (&["start", "add a flag"], "did you mean `run`?", "forge run 'add a flag'"),
            (&["-C", "..", "ps"], "did you mean `status`?", "forge -C .. status"),
            (&["config", "gett", "agent"], "did you mean `config get`?", "forge config get agent"),
            (&["status", "--jsno"], "did you mean `--json`?", "forge status --json"),
            (
                &["run", "--budgt=2.50", "count the lines"],
                "did you mean `--budget`?",
                "forge run --budget=2.50 'count the lines'",
            ),
            (
                &["status", "--no-color"],
                "did you mean `--color=never`?",
                "forge status --color=never",
            ),
            (
                &["status", "--color", "nevr"],
                "use auto, always or never",
                "forge status --color never",
            ),
            (
                &["status", "--color=nevr"],
                "use auto, always or never",
                "forge status --color=never",
            ),
        ] {
            let (said, helps) = refused(typed);
            assert!(said.contains(what), "{typed:?}: {said}");
            assert_eq!(helps, help, "{typed:?}");
        }
    }

    #[test]
    fn what_is_near_to_nothing_gets_the_help_of_its_command() {
        for (typed, what, help) in [
            (
                &["publish"][..],
                "unknown command `publish`",
                "forge --help\n   or: forge \"publish …\"",
            ),
            (
                &["update"],
                "unknown command `update`: a new version is installed with cargo, in the source of Forge",
                "cargo install --path crates/app",
            ),
            (
                &["run", "--watch", "add it"],
                "`forge run` shows the run anyway",
                "forge run 'add it'",
            ),
            (
                &["config", "xyzzy"],
                "unknown command `config xyzzy`; known: get, list, explain, set, unset, edit, path, schema, allow",
                "forge config --help",
            ),
            (&["gate", "T01"], "unknown command `gate T01`; known: check", "forge gate --help"),
            (
                &["status", "--web"],
                "unknown flag `--web` for `forge status`",
                "forge status --help",
            ),
            (
                &["status", "a", "b"],
                "unexpected argument `b` for `forge status`",
                "forge status --help",
            ),
            (
                &["stats", "--days", "0"],
                "`0` is not a valid --days; use a number of days, such as 7",
                "forge stats --days 7",
            ),
            (&["log", "-n", "x"], "`x` is not a valid -n: it is not a number", "forge log -n 50"),
            (
                &["-q", "-v", "status"],
                "`--quiet` cannot be used with `--verbose`",
                "forge status --help",
            ),
            (&["log", "--follow", "--follow"], "`--follow` is given twice", "forge log --follow"),
            (
                &["watch", "--raw", "--json"],
                "`--raw` cannot be used with `--json`",
                "forge watch --json",
            ),
            (
                &["log", "--lines", "x"],
                "`x` is not a valid --lines: it is not a number",
                "forge log --lines 50",
            ),
            (
                &["completions"],
                "`forge completions` needs SHELL; use bash, zsh, fish, elvish or powershell",
                "forge completions bash",
            ),
            (&["revise", "-o csv"], "write `--` before it", "forge revise -- '-o csv'"),
            (&["status", "--color"], "`--color` needs a value", "forge status --help"),
            (
                &["config", "set"],
                "`forge config set` needs KEY and VALUE",
                "forge config set KEY VALUE",
            ),
        ] {
            let (said, helps) = refused(typed);
            assert!(said.contains(what), "{typed:?}: {said}");
            assert_eq!(helps, help, "{typed:?}");
        }
    }

    #[test]
    fn a_request_without_quotes_is_shown_with_them() {
        let (said, helps) = refused(&["run", "--effort", "S", "count", "the", "lines"]);
        assert!(said.contains("put it in quotes"), "{said}");
        assert_eq!(helps, "forge run --effort S 'count the lines'");
    }
}
