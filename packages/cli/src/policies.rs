//! `choose`: the policies of a document.

use paddlegate::{Definition, Document};

use crate::failure::Failure;

/// The maximum number of names in a message.
const SHOWN: usize = 10;

/// The location of a document: its file, and its path in the file.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) file: String,
    /// For example `$.policies[0].document`, or `$`.
    pub(crate) path: String,
    /// The option or member that selects limiters of the document.
    pub(crate) chooser: &'static str,
    /// The maximum number of selected limiters.
    pub(crate) most: usize,
}

impl Site {
    fn fault(&self, message: &str) -> Failure {
        Failure::Input(format!("{}: at {}: {message}", self.file, self.path))
    }
}

/// Returns the limiters of a document with one of the names, in that order; all when no name is given.
pub(crate) fn choose(text: &str, names: &[&str], site: &Site) -> Result<Vec<Definition>, Failure> {
    let found = find(text, names, site)?;
    if found.len() > site.most {
        let which = if site.most == 1 { "one".to_owned() } else { format!("up to {}", site.most) };
        let (chooser, count) = (site.chooser, found.len());
        return Err(site.fault(&format!("has {count} limiters, choose {which} by {chooser}: {}", listed(&found))));
    }
    Ok(found)
}

fn find(text: &str, names: &[&str], site: &Site) -> Result<Vec<Definition>, Failure> {
    let document = Document::parse(text).and_then(|document| Ok((document.format(), document.definitions()?)));
    let (format, definitions) = document.map_err(|error| {
        // Errors of documents start with a path of their own.
        let message = match error.message().strip_prefix("at $") {
            Some(rest) => format!("{}: at {}{rest}", site.file, site.path),
            None => format!("{}: {}", site.file, error.message()),
        };
        Failure::of_core(error.kind(), message)
    })?;
    if definitions.is_empty() {
        return Err(site.fault(&format!(
            "this {format} defines no limiter by itself, give a document that does, such as \
             {{\"limiters\": {{\"a\": {{\"window\": {{\"limit\": 5, \"per\": \"1s\"}}}}}}}}"
        )));
    }
    if names.is_empty() {
        return Ok(definitions);
    }
    let look_up = |name: &&str| {
        let found = definitions.iter().find(|definition| definition.name == *name).cloned();
        found.ok_or_else(|| {
            let shown: String = name.chars().take(40).collect();
            site.fault(&format!("has no limiter {shown:?}; it has {}", listed(&definitions)))
        })
    };
    names.iter().map(look_up).collect()
}

fn listed(definitions: &[Definition]) -> String {
    let names = definitions.iter().take(SHOWN);
    let names: Vec<String> = names.map(|definition| format!("{:?}", short(&definition.name))).collect();
    let more = definitions.len().saturating_sub(SHOWN);
    if more == 0 { names.join(", ") } else { format!("{} and {more} more", names.join(", ")) }
}

fn short(name: &str) -> String {
    name.chars().take(40).collect()
}
