//! Any text is a document with limiters that can be made, or an error that says where.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paddlegate::{Document, Paddlegate};

fuzz_target!(|text: &str| {
    match Document::parse(text) {
        Ok(document) => {
            let _ = document.definitions();
            let _ = Paddlegate::memory().load(text);
        }
        Err(error) => assert!(error.argument() == Some("document") && error.message().starts_with("at $"), "{error}"),
    }
});
