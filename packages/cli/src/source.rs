//! `read`: the text of files and of standard input.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use crate::failure::Failure;

/// The path that stands for standard input.
const STDIN: &str = "-";

/// Returns the name of a path in messages.
pub(crate) fn name(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == STDIN
}

/// Reads the whole text of a file, or of standard input for `-`.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let done = if is_stdin(path) {
        io::stdin().lock().read_to_end(&mut bytes).map(|_| ())
    } else {
        fs::read(path).map(|read| bytes = read)
    };
    let name = name(path);
    done.map_err(|error| Failure::Other(format!("cannot read {name}: {error}")))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::Input(format!("{name}: is not UTF-8, save it as such: byte={at}"))
    })
}
