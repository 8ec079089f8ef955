//! `Simulator`: the built page of the simulator, served from memory.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use axum::body::Bytes;

use crate::failure::Failure;

/// The types of the files that a built page has; others are not served.
const TYPES: [(&str, &str); 7] = [
    ("html", "text/html; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("svg", "image/svg+xml"),
    ("wasm", "application/wasm"),
];

/// How deep the folders of a built page may lie, which ends the reading of a link to a parent.
const MAX_DEPTH: usize = 8;

/// The files of the page. They are read once, so no request reaches a file.
#[derive(Debug, Default)]
pub(crate) struct Simulator {
    files: HashMap<String, File>,
}

/// One file.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) media_type: &'static str,
    pub(crate) content: Bytes,
}

impl Simulator {
    /// Reads a folder.
    pub(crate) fn read(folder: &Path) -> Result<Self, Failure> {
        let fault = |message: &str| Failure::Input(format!("--simulator: {}: {message}", folder.display()));
        let mut read = Self::default();
        read.add(folder, "", MAX_DEPTH).map_err(|error| fault(&format!("cannot be read: {error}")))?;
        if read.get("index.html").is_none() {
            return Err(fault("has no index.html; build the page by make build-simulator and give its folder dist"));
        }
        Ok(read)
    }

    /// Returns a file by its path from the folder.
    pub(crate) fn get(&self, path: &str) -> Option<&File> {
        self.files.get(if path.is_empty() { "index.html" } else { path })
    }

    fn add(&mut self, folder: &Path, prefix: &str, depth: usize) -> std::io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            let name = format!("{prefix}{name}");
            if path.is_dir() {
                if depth > 0 {
                    self.add(&path, &format!("{name}/"), depth - 1)?;
                }
            } else if let Some((_, media_type)) =
                TYPES.iter().find(|(end, _)| path.extension().is_some_and(|own| own == *end))
            {
                self.files.insert(name, File { media_type, content: fs::read(&path)?.into() });
            }
        }
        Ok(())
    }
}
