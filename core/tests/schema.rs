//! Tests that the committed JSON Schema matches the types; `PADDLEGATE_WRITE=1` writes it anew.

use std::{env, fs};

use paddlegate::formats::native::Limits;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/limits.schema.json");

#[test]
fn the_committed_schema_is_the_one_of_the_types() {
    let schema = Limits::json_schema().unwrap();
    if env::var_os("PADDLEGATE_WRITE").is_some() {
        fs::write(FILE, &schema).unwrap();
    }
    let committed = fs::read_to_string(FILE).unwrap();
    assert!(
        committed == schema,
        "the schema has changed; run this test with PADDLEGATE_WRITE=1 and look at the difference"
    );
}
