//! The help: commands in groups, examples, exit codes, and the difference between `-h` and `--help`.
//!
//! Not here: the text about one command or flag, which is beside its definition.
//!
//! Invariant: every command that is not hidden is in one group and has an example, and every example can be parsed.

use std::{ffi::OsString, fmt::Write as _};

use clap::{Args, Command};
use forge_core::work::WorkKind;

use super::record;

/// Print the help of a command
#[derive(Args)]
pub(crate) struct HelpArgs {
    /// Name the command, such as `run` or `config set`
    command: Vec<String>,
}

impl HelpArgs {
    /// Returns the command line that prints the same.
    pub(crate) fn command_line(self) -> Vec<OsString> {
        let words = ["forge".to_owned()].into_iter().chain(self.command);
        words.chain(["--help".to_owned()]).map(OsString::from).collect()
    }
}

/// The amount of help that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HelpLength {
    /// `-h`: what there is.
    Short,
    /// `--help`: examples and exit codes, too.
    Full,
}

impl HelpLength {
    pub(crate) fn from_args(args: &[OsString]) -> Self {
        let mut flags = args.iter().take_while(|word| *word != "--");
        if flags.any(|word| word == "-h") { Self::Short } else { Self::Full }
    }
}

/// The commands, by what a person wants.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Start", &["run", "resume", "demo", "init"]),
    ("Follow", &["status", "attach", "log", "show", "watch", "brief", "stats"]),
    (
        "Decide",
        &[
            "approve", "revise", "reject", "retry", "override", "answer", "pause", "stop",
            "abandon", "edit", "rewind",
        ],
    ),
    ("Take over", &["diff", "open", "merge", "pr", "undo", "clean"]),
    ("Plan", &["feature", "sprint", "task", "bug", "work", "verdict", "gate", "import", "hook"]),
    (
        "Set up",
        &[
            "agents",
            "accounts",
            "config",
            "flow",
            "doctor",
            "completions",
            "man",
            "help",
            "version",
        ],
    ),
];

/// The flags that every command takes, and those of `forge` itself.
const OPTIONS: &str = "  -C DIR             Run as if started in DIR
  -q, --quiet        Print results and errors only
  -v, --verbose      Print more; -vv prints everything
      --color WHEN   Colour the output: auto, always or never
  -h, --help         Print help; --help prints examples, too
  -V, --version      Print the version";

const NOTES: &str = "\
Name a run by its short id, or by any unique beginning of its long id.
Without a name, a command takes the only run that fits, or asks.

Exit codes:
    0  done                          4  blocked, or failed repeatedly
    1  failed                        5  paused, out of budget or rate-limited
    2  usage or environment error   70  internal error
    3  needs you                   130  interrupted";

/// The end of the help of each command.
const GLOBAL: &str = "All commands take -C, -q, -v and --color; see forge --help.";

/// An example or more for each command.
const EXAMPLES: [(&str, &[&str]); 72] = [
    (
        "forge",
        &[
            "forge run \"add CSV export\"    start a run, and approve its design when it asks",
            "forge status                  what is running, what needs you",
            "forge diff; forge merge       see the result, and merge it",
        ],
    ),
    ("abandon", &["forge abandon oqmd", "forge abandon oqmd --yes"]),
    ("accounts", &["forge accounts", "forge accounts check work"]),
    ("agents", &["forge agents", "forge agents check claude", "forge agents use claude"]),
    ("answer", &["forge answer Q1 approve", "forge answer oqmd Q2 revise \"keep the old flag\""]),
    ("approve", &["forge approve", "forge approve oqmd --no-resume"]),
    ("attach", &["forge attach oqmd"]),
    ("brief", &["forge brief T2", "forge brief oqmd design --inbox request.md"]),
    ("clean", &["forge clean", "forge clean --force --older-than 30d"]),
    ("completions", &["forge completions zsh"]),
    (
        "config",
        &["forge config list", "forge config get limits.budget", "forge config edit --user"],
    ),
    ("demo", &["forge demo"]),
    ("diff", &["forge diff", "forge diff oqmd --stat"]),
    ("doctor", &["forge doctor", "forge doctor --fix"]),
    ("edit", &["forge edit oqmd design.md --why \"name the file format\""]),
    ("flow", &["forge flow list", "forge flow show feature"]),
    ("help", &["forge help run"]),
    ("init", &["forge init --dry-run", "forge init"]),
    ("log", &["forge log", "forge log oqmd -f", "forge log -v -n 50", "forge log oqmd --phases"]),
    ("man", &["forge man", "forge man --dir /usr/local/share/man/man1"]),
    ("merge", &["forge merge", "forge merge oqmd --yes", "forge merge oqmd --local"]),
    ("open", &["forge open", "forge open oqmd T2", "cd \"$(forge open --print)\""]),
    ("override", &["forge override oqmd checks \"the test is wrong; fixed in the next change\""]),
    ("pause", &["forge pause"]),
    ("pr", &["forge pr", "forge pr oqmd --draft", "forge pr oqmd --print"]),
    ("reject", &["forge reject -m \"not needed any more\""]),
    ("resume", &["forge resume", "forge resume oqmd --budget 20"]),
    ("retry", &["forge retry", "forge retry oqmd -m \"the network is back\""]),
    ("revise", &["forge revise \"keep the old flag\"", "forge revise oqmd \"use a table\""]),
    ("rewind", &["forge rewind oqmd design"]),
    (
        "run",
        &[
            "forge run \"add CSV export\"",
            "forge run --quick \"fix the typo in the README\"",
            "forge run -F request.md --budget 5",
        ],
    ),
    ("show", &["forge show", "forge show design.md", "forge show oqmd summary.md"]),
    ("stats", &["forge stats", "forge stats --by stage --days 7", "forge stats friction"]),
    ("status", &["forge status", "forge status oqmd", "forge status --watch"]),
    ("stop", &["forge stop", "forge cancel oqmd"]),
    ("watch", &["forge watch T2"]),
    ("feature", &["forge feature new \"CSV export\"", "forge feature list"]),
    ("sprint", &["forge sprint new \"First release\"", "forge sprint show ACME-S01"]),
    ("task", &["forge task new \"Parse the header\" sprint=ACME-S01", "forge task list"]),
    ("bug", &["forge bug new \"Empty file crashes\" severity=major", "forge bug list"]),
    ("gate", &["forge gate check ACME-S01-T01 implement"]),
    (
        "gate check",
        &["forge gate check ACME-S01-T01 implement", "forge gate check oqmd T2/implement --json"],
    ),
    ("undo", &["forge undo oqmd", "forge undo oqmd --yes"]),
    ("verdict", &["forge verdict ACME-S01-T01 review-code", "forge verdict oqmd T2/review"]),
    (
        "hook",
        &[
            "forge hook write",
            "forge hook allow .forge/work/tasks/ACME-S01-T01.json --why \"it moves\"",
        ],
    ),
    ("import", &["forge import", "forge import ../old --write"]),
    ("work", &["forge work check", "forge work write ACME-S01-T01"]),
    ("feature new", &["forge feature new \"CSV export\" requirements+=\"quotes are kept\""]),
    ("sprint new", &["forge sprint new \"First release\" feature=FEAT-001"]),
    ("task new", &["forge task new \"Parse the header\" sprint=ACME-S01 size=M writes=src/csv"]),
    ("bug new", &["forge bug new \"Empty file crashes\" severity=major"]),
    ("work check", &["forge work check", "forge work check --json"]),
    ("hook write", &["forge hook write"]),
    ("hook allow", &["forge hook allow .forge/work/tasks/A-S01-T01.json --why \"renamed\""]),
    ("work pages", &["forge work pages", "forge work pages --check"]),
    ("work write", &["forge work write ACME-S01-T01"]),
    ("stats friction", &["forge stats friction", "forge stats friction oqmd --json"]),
    ("flow list", &["forge flow list"]),
    ("flow show", &["forge flow show feature"]),
    ("flow check", &["forge flow check .forge/flows/release.toml"]),
    ("accounts check", &["forge accounts check work"]),
    ("agents check", &["forge agents check claude"]),
    ("agents use", &["forge agents use claude"]),
    ("config get", &["forge config get limits.budget"]),
    ("config list", &["forge config list"]),
    ("config explain", &["forge config explain verify.commands"]),
    ("config set", &["forge config set limits.budget 5 --user"]),
    ("config unset", &["forge config unset limits.budget --user"]),
    ("config edit", &["forge config edit --user"]),
    ("config path", &["forge config path --local"]),
    ("config schema", &["forge config schema"]),
    ("config allow", &["forge config allow"]),
];

/// Adds to the definitions of the commands what their help has besides.
pub(crate) fn with_help(cli: Command, length: HelpLength) -> Command {
    let cli = WorkKind::ALL.into_iter().fold(cli, |cli, kind| {
        cli.mut_subcommand(kind.as_str(), |command| record::with_kind(command, kind))
    });
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{}\n\n{}\n{OPTIONS}{{after-help}}",
        groups(&cli),
        heading("Options"),
    );
    let cli =
        cli.help_template(template).override_usage("forge \"REQUEST\"\n       forge [COMMAND]");
    match length {
        HelpLength::Short => cli.mut_subcommands(|command| {
            command.after_help(GLOBAL).mut_subcommands(|inner| {
                // Fields and states of records are part of what there is.
                let notes = inner.get_after_help().map(ToString::to_string);
                let texts = notes.into_iter().chain([GLOBAL.to_owned()]);
                inner.after_help(texts.collect::<Vec<String>>().join("\n\n"))
            })
        }),
        HelpLength::Full => {
            let root = format!("{}\n\n{NOTES}", examples("forge").unwrap_or_default());
            cli.after_help(root).mut_subcommands(|command| {
                let name = command.get_name().to_owned();
                with_examples(command, &name).mut_subcommands(|inner| {
                    let name = format!("{name} {}", inner.get_name());
                    with_examples(inner, &name)
                })
            })
        }
    }
}

/// Adds the examples of a command, its notes, and the options that all commands have.
fn with_examples(command: Command, name: &str) -> Command {
    let notes = command.get_after_help().map(ToString::to_string);
    let texts = examples(name).into_iter().chain(notes).chain([GLOBAL.to_owned()]);
    command.after_help(texts.collect::<Vec<String>>().join("\n\n"))
}

/// Formats all groups, each command with its line.
fn groups(cli: &Command) -> String {
    let command = |name: &str| cli.find_subcommand(name).expect("a group names commands");
    let names = |name: &str| {
        let aliases = command(name).get_visible_aliases().map(str::to_owned);
        [name.to_owned()].into_iter().chain(aliases).collect::<Vec<String>>().join(", ")
    };
    let all = || GROUPS.iter().flat_map(|(_, commands)| commands.iter());
    let width = all().map(|name| names(name).len()).max().unwrap_or_default();
    let mut text = String::new();
    for (title, commands) in GROUPS {
        let _ = write!(text, "\n{}", heading(title));
        for name in commands {
            let about = command(name).get_about().map(ToString::to_string).unwrap_or_default();
            let _ = write!(text, "\n  {:<width$}  {about}", names(name));
        }
        text.push('\n');
    }
    text.trim_end().to_owned()
}

fn heading(title: &str) -> String {
    let style = clap::builder::Styles::styled();
    let style = style.get_header();
    format!("{style}{title}:{style:#}")
}

fn examples(command: &str) -> Option<String> {
    let lines = match EXAMPLES.iter().find(|(name, _)| *name == command) {
        Some((_, lines)) => lines.join("\n  "),
        None => record_example(command)?,
    };
    Some(format!("{}\n  {lines}", heading("Examples")))
}

/// The kinds of records, each with an id, a state and a field.
const RECORDS: [(&str, &str, &str, &str); 4] = [
    ("feature", "FEAT-001", "active", "title=\"CSV export and import\""),
    ("sprint", "ACME-S01", "active", "goal=\"users can export\""),
    ("task", "ACME-S01-T01", "planned", "size=M dependencies+=ACME-S01-T02"),
    ("bug", "ACME-BUG-001", "triaged", "rootCauseCategory=validation"),
];

/// Makes the example of what all kinds of records have: `task show`, `bug move`.
fn record_example(command: &str) -> Option<String> {
    let (kind, inner) = command.split_once(' ')?;
    let (_, id, state, field) = RECORDS.iter().find(|(known, ..)| *known == kind)?;
    let rest = match inner {
        "list" => String::new(),
        "show" | "retire" => format!(" {id}"),
        "set" => format!(" {id} {field}"),
        "move" => format!(" {id} {state}"),
        "block" => format!(" {id} \"waits for the licence\""),
        "unblock" => format!(" {id} \"the licence is here\""),
        _ => return None,
    };
    Some(format!("forge {kind} {inner}{rest}"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::Cli;

    fn visible() -> Vec<String> {
        let cli = Cli::command();
        let visible = cli.get_subcommands().filter(|command| !command.is_hide_set());
        visible.map(|command| command.get_name().to_owned()).collect()
    }

    #[test]
    fn every_command_is_in_one_group_and_has_an_example() {
        let mut grouped: Vec<&str> =
            GROUPS.iter().flat_map(|(_, commands)| commands.iter().copied()).collect();
        grouped.sort_unstable();
        let mut known = visible();
        known.sort_unstable();
        assert_eq!(grouped, known);
        let cli = Cli::command();
        let inner = cli.get_subcommands().flat_map(|command| {
            let name = command.get_name();
            command.get_subcommands().map(move |inner| format!("{name} {}", inner.get_name()))
        });
        let without: Vec<String> = visible()
            .into_iter()
            .chain(inner)
            .filter(|command| command != "version" && examples(command).is_none())
            .collect();
        assert!(without.is_empty(), "{without:?} have no example");
    }

    #[test]
    fn every_example_can_be_parsed() {
        let written = EXAMPLES.iter().filter(|(name, _)| *name != "forge");
        let written = written.map(|(name, lines)| ((*name).to_owned(), lines.join("\n")));
        let inner = ["list", "show", "set", "move", "retire", "block", "unblock"];
        let made = RECORDS.iter().flat_map(|(kind, ..)| {
            let holds = ["sprint", "task"].contains(kind);
            let inner = inner.into_iter().take(if holds { 7 } else { 5 });
            inner.map(move |inner| format!("{kind} {inner}"))
        });
        let made = made.map(|command| {
            let line = record_example(&command).unwrap();
            (command, line)
        });
        for (command, lines) in written.chain(made) {
            for line in lines.lines() {
                let line = line.strip_prefix("cd \"$(").map_or(line, |l| l.trim_end_matches(")\""));
                let mut quoted = line.split('"').enumerate();
                let words: Vec<String> = quoted
                    .by_ref()
                    .flat_map(|(n, part)| {
                        let words: Vec<String> = if n % 2 == 1 {
                            vec![part.to_owned()]
                        } else {
                            part.split_whitespace().map(str::to_owned).collect()
                        };
                        words
                    })
                    .collect();
                let parsed = Cli::command().try_get_matches_from(&words);
                assert!(parsed.is_ok(), "{command}: {line}: {}", parsed.unwrap_err());
            }
        }
    }

    #[test]
    fn the_short_help_has_no_examples_and_the_full_one_has() {
        let help = |length, command: &str| {
            let mut cli = with_help(Cli::command(), length);
            match command {
                "" => cli.render_help().to_string(),
                command => {
                    let found = cli.find_subcommand_mut(command).expect("the command exists");
                    found.render_help().to_string()
                }
            }
        };
        for command in ["", "run", "diff"] {
            assert!(!help(HelpLength::Short, command).contains("Examples:"), "{command}");
            assert!(help(HelpLength::Full, command).contains("Examples:"), "{command}");
        }
        for length in [HelpLength::Short, HelpLength::Full] {
            for command in visible().iter().map(String::as_str).chain([""]) {
                for line in help(length, command).lines() {
                    assert!(line.chars().count() <= 80, "{command}: {line}");
                }
            }
        }
    }

    #[test]
    fn a_line_of_help_begins_with_a_verb_and_has_no_dialect() {
        const AVOIDED: [&str; 10] = [
            " anew",
            " mend",
            "goes on",
            "whoever",
            "nobody",
            "plays",
            " is no ",
            "take it over",
            "take up",
            "told",
        ];
        let mut cli = with_help(Cli::command(), HelpLength::Full);
        cli.build();
        for command in cli.get_subcommands_mut() {
            let name = command.get_name().to_owned();
            let help = command.render_help().to_string().to_lowercase();
            for avoided in AVOIDED {
                assert!(!help.contains(avoided), "`{avoided}` in the help of {name}:\n{help}");
            }
        }
    }
}
