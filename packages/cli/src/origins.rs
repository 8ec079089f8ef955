//! `Origins`: the option or file that each value of the scenario came from.

use paddlegate::Error;

use crate::failure::Failure;

/// The sources of a scenario's values, so that errors name an option or a file.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    /// The file of the scenario.
    file: Option<String>,
    /// Paths, and the options or files that set them.
    places: Vec<(String, String)>,
}

impl Origins {
    pub(crate) fn of_file(name: String) -> Self {
        Self { file: Some(name), ..Self::default() }
    }

    pub(crate) fn add(&mut self, path: impl Into<String>, place: impl Into<String>) {
        self.places.push((path.into(), place.into()));
    }

    /// Converts an error of the core whose message may start with a path.
    pub(crate) fn failure(&self, error: &Error) -> Failure {
        Failure::of_core(error.kind(), self.placed(error.message()))
    }

    /// Converts `at $.arrivals.count: must be ...` to `--arrivals: count: must be ...`.
    fn placed(&self, message: &str) -> String {
        let path = message.strip_prefix("at $.").and_then(|rest| rest.split_once(": "));
        let found = path.and_then(|(path, fault)| {
            let within = |(origin, place): &(String, String)| Some((place.clone(), rest_of(path, origin)?.to_owned()));
            // The longest matching path is the most specific.
            let (place, rest) = self.places.iter().filter_map(within).min_by_key(|(_, rest)| rest.len())?;
            Some(match rest.strip_prefix('.') {
                Some(member) => format!("{place}: {member}: {fault}"),
                None => format!("{place}: {fault}"),
            })
        });
        match (found, &self.file) {
            (Some(found), _) => found,
            (None, Some(file)) => format!("{file}: {message}"),
            (None, None) => message.to_owned(),
        }
    }
}

/// Returns the rest of a path after one of its parents, or after the path itself.
fn rest_of<'a>(path: &'a str, parent: &str) -> Option<&'a str> {
    path.strip_prefix(parent).filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_told_by_its_option_or_file() {
        let mut origins = Origins::of_file("a.json".to_owned());
        origins.add("arrivals", "--arrivals");
        origins.add("arrivals.text", "times.csv");
        origins.add("cost", "--cost");
        for (message, placed) in [
            ("at $.arrivals.count: must be whole", "--arrivals: count: must be whole"),
            ("at $.arrivals: would be too many", "--arrivals: would be too many"),
            ("at $.arrivals.text: line 3: must be", "times.csv: line 3: must be"),
            ("at $.cost[1]: must be whole", "--cost: must be whole"),
            ("at $.costs: has no meaning", "a.json: at $.costs: has no meaning"),
            ("without a path", "a.json: without a path"),
        ] {
            assert_eq!(origins.placed(message), placed);
        }
        assert_eq!(Origins::default().placed("at $.x: y"), "at $.x: y");
    }
}
