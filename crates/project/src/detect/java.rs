//! Java and its relatives: Maven and Gradle, by their wrappers where there are some.

use super::project_folder::{CommandWords, Findings, ProjectFolder};

const GRADLE: &[&str] =
    &["build.gradle.kts", "build.gradle", "settings.gradle.kts", "settings.gradle"];

pub(super) fn detect(place: &ProjectFolder) -> Findings {
    let mut findings = Findings::default();
    if place.exists("pom.xml") {
        let program = if place.exists("mvnw") { "./mvnw" } else { "mvn" };
        let signs: &[CommandWords] = &[
            &["mvn", "test"],
            &["mvn", "verify"],
            &["mvn", "install"],
            &["mvnw", "test"],
            &["mvnw", "verify"],
            &["mvnw", "install"],
        ];
        findings.add_check(&format!("{program} -B test"), "there is a pom.xml", "pom.xml", signs);
        findings.cache.push("target".to_owned());
    }
    if let Some(file) = place.first_existing(GRADLE) {
        let program = if place.exists("gradlew") { "./gradlew" } else { "gradle" };
        let signs: &[CommandWords] = &[
            &["gradle", "test"],
            &["gradle", "check"],
            &["gradle", "build"],
            &["gradlew", "test"],
            &["gradlew", "check"],
            &["gradlew", "build"],
        ];
        findings.add_check(&format!("{program} test"), &format!("there is a {file}"), file, signs);
        findings.cache.extend([".gradle".to_owned(), "build".to_owned()]);
        if place.exists("pom.xml") {
            findings.add_note("there are Maven and Gradle files; both are run");
        }
    }
    findings
}

/// Tells whether the top names a folder as its module.
pub(super) fn covers(top: &ProjectFolder, folder: &str) -> bool {
    let module = format!("<module>{folder}</module>");
    let settings = ["settings.gradle.kts", "settings.gradle"];
    let is_named = |text: &str| {
        let words = text.split(|c: char| !c.is_alphanumeric() && !"_-.".contains(c));
        words.into_iter().any(|word| word == folder)
    };
    top.file_contains("pom.xml", &module)
        || settings.iter().any(|file| top.read(file).is_some_and(|text| is_named(&text)))
}
