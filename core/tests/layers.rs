//! Tests the layers of the crate: a module uses only its own layer and the layers below it.

use std::fs;
use std::path::{Path, PathBuf};

/// The levels from top to bottom. Layers on the same level do not use each other.
const LEVELS: [&[&str]; 9] = [
    &["simulate"],
    &["formats"],
    &["client"],
    &["store", "upstream"],
    &["verbs"],
    &["engine"],
    &["model"],
    &["limits"],
    &["base"],
];

#[test]
fn every_module_belongs_to_a_layer() {
    for path in sources() {
        let layer = layer(&path);
        assert!(layer == "lib" || level(&layer).is_some(), "{} is in no layer", path.display());
    }
}

#[test]
fn each_layer_uses_only_lower_layers() {
    let mut dependencies = 0;
    for path in sources().into_iter().filter(|path| layer(path) != "lib") {
        let from = layer(&path);
        let text = fs::read_to_string(&path).expect("a source file");
        for (number, line) in code(&text) {
            for used in uses(line) {
                dependencies += 1;
                assert!(may_use(&from, &used), "{}:{number}: {from} uses {used}: {line}", path.display());
            }
        }
    }
    assert!(dependencies > 500, "the test reads nothing: dependencies={dependencies}");
}

#[test]
fn a_use_of_a_higher_layer_is_found() {
    let line = "use crate::client::limiter::Limiter;";
    assert_eq!(uses(line), ["client"]);
    assert!(!may_use("engine", "client") && may_use("formats", "client"));
    assert!(!may_use("store", "upstream") && !may_use("upstream", "store"));
    // A path through a re-export of lib.rs hides the layer, so the test rejects it.
    assert_eq!(uses("let error = crate::Error::internal(text);"), ["Error"]);
    assert!(!may_use("client", "Error"));
    let text = "use crate::base::micros::Micros;\n/// [`crate::Limiter`]\n#[cfg(test)]\nmod tests {\nuse crate::x::Y;";
    assert_eq!(code(text).collect::<Vec<_>>(), [(1, "use crate::base::micros::Micros;"), (3, "#[cfg(test)]")]);
}

/// Returns the lines of a file that are neither comments nor tests, with their numbers.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line));
    let lines = lines.take_while(|(_, line)| *line != "mod tests {");
    lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Returns the names that follow `crate::`.
fn uses(line: &str) -> Vec<String> {
    let name = |rest: &str| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    line.split("crate::").skip(1).map(name).collect()
}

fn may_use(from: &str, to: &str) -> bool {
    from == to || matches!((level(from), level(to)), (Some(from), Some(to)) if from < to)
}

fn level(layer: &str) -> Option<usize> {
    LEVELS.iter().position(|level| level.contains(&layer))
}

/// Returns the first component of a path below `src`, without its extension.
fn layer(path: &Path) -> String {
    let below = path.strip_prefix(root()).expect("a file below src");
    let first = below.components().next().expect("a name").as_os_str().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Returns all Rust files except those that contain only tests.
fn sources() -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![root()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with("tests.rs") {
                files.push(path);
            }
        }
    }
    files
}
