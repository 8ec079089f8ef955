//! `Timelines`: all decisions of all policies, as CSV.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use paddlegate::simulate::Timeline;

use crate::failure::Failure;

/// A CSV file for the timelines of the policies, one after the other.
#[derive(Debug)]
pub(crate) struct Timelines {
    name: String,
    file: BufWriter<File>,
}

impl Timelines {
    /// Creates the file and writes the column names.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let file = File::create(path).map_err(|error| Failure::write(&name, &error))?;
        let mut timelines = Self { name, file: BufWriter::new(file) };
        timelines.put(&format!("policy,{}", Timeline::HEADER))?;
        Ok(timelines)
    }

    pub(crate) fn write(&mut self, policy: &str, timeline: &Timeline) -> Result<(), Failure> {
        let first = quoted(policy) + ",";
        let mut line = String::new();
        for row in 0..timeline.len() {
            line.clone_from(&first);
            timeline.write_row(row, &mut line);
            self.put(&line)?;
        }
        Ok(())
    }

    /// Writes buffered rows and closes the file.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.file.flush().map_err(|error| Failure::write(&self.name, &error))
    }

    fn put(&mut self, text: &str) -> Result<(), Failure> {
        self.file.write_all(text.as_bytes()).map_err(|error| Failure::write(&self.name, &error))
    }
}

/// Quotes a CSV field (RFC 4180).
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_they_must() {
        assert_eq!(quoted("a b"), "a b");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("a\"b\n"), "\"a\"\"b\n\"");
    }
}
