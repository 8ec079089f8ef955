//! Keys: a letter or digit, then letters, digits and `.`, `_`, `:`, `-`.

use crate::dialect::field::Field;
use crate::error::{Error, Result};
use crate::limiter::MAX_NAME;

/// The key at that place.
pub(super) fn read(place: &Field<'_>) -> Result<String> {
    let key = place.text()?;
    if !is_key(key) {
        return Err(place.fault(format!(
            "must begin with a letter or digit and go on with letters, digits, '.', '_', ':' or '-', at most {MAX_NAME} bytes"
        )));
    }
    Ok(key.to_owned())
}

/// The key of a tenant. A tenant has no colon, so that no two pairs make the same key.
pub(super) fn of_tenant(tenant: Option<&str>, key: String) -> Result<String> {
    let Some(tenant) = tenant else { return Ok(key) };
    if !is_key(tenant) || tenant.contains(':') {
        return Err(Error::invalid(
            "tenant",
            "must begin with a letter or digit and go on with letters, digits, '.', '_' or '-'",
        ));
    }
    let key = format!("{tenant}:{key}");
    if key.len() > MAX_NAME {
        return Err(Error::invalid(
            "tenant",
            format!("makes the key longer than {MAX_NAME} bytes: bytes={}", key.len()),
        ));
    }
    Ok(key)
}

fn is_key(text: &str) -> bool {
    text.len() <= MAX_NAME
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte))
}
