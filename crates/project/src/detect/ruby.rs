//! Ruby: rspec, rake or rails, through bundler where there is a Gemfile.

use super::project_folder::{CommandWords, Findings, ProjectFolder};

pub(super) fn detect(place: &ProjectFolder) -> Findings {
    let mut findings = Findings::default();
    let has_gemfile = place.exists("Gemfile");
    let rakefile = place.first_existing(&["Rakefile", "rakefile", "Rakefile.rb"]);
    if !has_gemfile && rakefile.is_none() && !place.exists(".rspec") {
        return findings;
    }
    let bundle = if has_gemfile { "bundle exec " } else { "" };
    let spec = place.own_paths().find(|path| path.ends_with("_spec.rb"));
    let rails =
        place.exists("bin/rails") && place.own_paths().any(|path| path.ends_with("_test.rb"));
    let rake_signs: &[CommandWords] = &[&["rake", "test"], &["rake"]];
    if let Some(first) = spec {
        let file = place.first_existing(&[".rspec", "spec/spec_helper.rb"]).unwrap_or(first);
        let why = "there are _spec.rb files";
        findings.add_check(&format!("{bundle}rspec"), why, file, &[&["rspec"], &["rake", "spec"]]);
    }
    if rails {
        let signs: &[CommandWords] = &[&["rails", "test"]];
        findings.add_check("bin/rails test", "there is bin/rails, with tests", "bin/rails", signs);
    } else if let Some(file) = rakefile {
        let text = place.read(file).unwrap_or_default();
        if has_task(&text, "test") {
            let why = format!("{file} has a task `test`");
            findings.add_check(&format!("{bundle}rake test"), &why, file, rake_signs);
        }
    }
    if has_gemfile && !findings.checks.is_empty() {
        findings.add_setup("bundle install", "there is a Gemfile", "Gemfile");
        findings.add_setup_inputs(place, &["Gemfile", "Gemfile.lock"]);
        let gemspecs = place.file_names().filter(|name| name.ends_with(".gemspec"));
        findings.setup_inputs.extend(gemspecs.map(str::to_owned));
    } else if findings.checks.is_empty() {
        findings.add_note("this looks like Ruby, but no tests were found");
    }
    findings
}

fn has_task(rakefile: &str, name: &str) -> bool {
    let forms = [
        format!("task :{name}"),
        format!("task {name}:"),
        format!("task \"{name}\""),
        format!("task '{name}'"),
    ];
    let code = rakefile.lines().filter(|line| !line.trim_start().starts_with('#'));
    code.into_iter().any(|line| {
        forms.iter().any(|form| {
            let at = line.find(form.as_str()).map(|at| &line[at + form.len()..]);
            at.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        }) || (name == "test"
            && (line.contains("Rake::TestTask.new") || line.contains("Minitest::TestTask")))
    })
}
