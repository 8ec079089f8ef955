//! Keys: a letter or digit, then letters, digits and `.`, `_`, `:`, `-`.

use crate::base::error::{Error, Result};
use crate::formats::field::Field;

/// The maximum length of a key, queue or tenant in bytes: a tenant and a key fit into one limiter name.
const MAX_KEY: usize = 247;

/// Reads a key.
pub(super) fn read(place: &Field<'_>) -> Result<String> {
    let key = place.text()?;
    if !is_key(key) {
        return Err(place.fault(format!(
            "must begin with a letter or digit and go on with letters, digits, '.', '_', ':' or '-', at most {MAX_KEY} bytes"
        )));
    }
    Ok(key.to_owned())
}

/// Returns the limiter name of a key or queue. Keys, queues and tenants contain no slash, so the name is unique.
pub(super) fn limiter_name(tenant: Option<&str>, kind: &str, key: &str) -> Result<String> {
    let Some(tenant) = tenant else { return Ok(format!("ojs/{kind}/{key}")) };
    if !is_key(tenant) {
        return Err(Error::invalid(
            "tenant",
            format!(
                "must begin with a letter or digit and go on with letters, digits, '.', '_', ':' or '-', at most {MAX_KEY} bytes"
            ),
        ));
    }
    Ok(format!("ojs/tenant/{tenant}/{kind}/{key}"))
}

fn is_key(text: &str) -> bool {
    text.len() <= MAX_KEY
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte))
}
