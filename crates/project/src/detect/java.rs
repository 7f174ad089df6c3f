//! Java and its relatives: Maven and Gradle, by their wrappers where there are some.

use super::place::{Part, Place, Sign};

const GRADLE: &[&str] =
    &["build.gradle.kts", "build.gradle", "settings.gradle.kts", "settings.gradle"];

pub(super) fn detect(place: &Place) -> Part {
    let mut part = Part::default();
    if place.exists("pom.xml") {
        let program = if place.exists("mvnw") { "./mvnw" } else { "mvn" };
        let signs: &[Sign] = &[
            &["mvn", "test"],
            &["mvn", "verify"],
            &["mvn", "install"],
            &["mvnw", "test"],
            &["mvnw", "verify"],
            &["mvnw", "install"],
        ];
        part.check(&format!("{program} -B test"), "there is a pom.xml", "pom.xml", signs);
        part.cache.push("target".to_owned());
    }
    if let Some(file) = place.first(GRADLE) {
        let program = if place.exists("gradlew") { "./gradlew" } else { "gradle" };
        let signs: &[Sign] = &[
            &["gradle", "test"],
            &["gradle", "check"],
            &["gradle", "build"],
            &["gradlew", "test"],
            &["gradlew", "check"],
            &["gradlew", "build"],
        ];
        part.check(&format!("{program} test"), &format!("there is a {file}"), file, signs);
        part.cache.extend([".gradle".to_owned(), "build".to_owned()]);
        if place.exists("pom.xml") {
            part.note("there are Maven and Gradle files; both are run");
        }
    }
    part
}

/// Folders that the top names as its modules.
pub(super) fn covers(top: &Place, folder: &str) -> bool {
    let module = format!("<module>{folder}</module>");
    let settings = ["settings.gradle.kts", "settings.gradle"];
    let is_named = |text: &str| {
        let words = text.split(|c: char| !c.is_alphanumeric() && !"_-.".contains(c));
        words.into_iter().any(|word| word == folder)
    };
    top.has("pom.xml", &module)
        || settings.iter().any(|file| top.read(file).is_some_and(|text| is_named(&text)))
}
