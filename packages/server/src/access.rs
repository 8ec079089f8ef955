//! `Access`: what the caller of a request may do, and `Tokens`: who may do what.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::app::App;
use crate::failure::Failure;
use crate::problem::Problem;

/// What a token allows for names with its prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Lists, looks and counts.
    Read,
    /// Takes and gives back.
    Decide,
    /// Pauses, overrides and resets, and brings policies of its own.
    Operate,
}

/// The tokens of the file, by their hashes.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    by_hash: HashMap<[u8; 32], Arc<Token>>,
}

/// One token of the file. The prefix of all names is empty.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Token {
    /// Who has it, for the audit log.
    name: String,
    /// The SHA-256 of the token in hexadecimal.
    sha256: String,
    #[serde(default)]
    read: Vec<String>,
    #[serde(default)]
    decide: Vec<String>,
    #[serde(default)]
    operate: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokensFile {
    tokens: Vec<Token>,
}

/// What the caller of a request may do.
#[derive(Clone, Debug)]
pub(crate) struct Access(Option<Arc<Token>>);

impl Tokens {
    /// Reads the file; a fault names the file and the place in it, and never a hash.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let fault = |message: String| Failure::Input(format!("{}: {message}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| fault(format!("cannot be read: {error}")))?;
        let mut json = serde_json::Deserializer::from_str(&text);
        let file: TokensFile = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            // The text and the path of a fault may quote a token that was pasted there.
            let inner = error.into_inner();
            fault(format!("at line {} column {}: is not as the guide says", inner.line(), inner.column()))
        })?;
        let mut by_hash = HashMap::new();
        for (i, token) in file.tokens.into_iter().enumerate() {
            let hash = hex(&token.sha256)
                .ok_or_else(|| fault(format!("at $.tokens[{i}].sha256: must be 64 hexadecimal digits")))?;
            if by_hash.insert(hash, Arc::new(token)).is_some() {
                return Err(fault(format!("at $.tokens[{i}].sha256: is the hash of an earlier token")));
            }
        }
        if by_hash.is_empty() {
            return Err(fault("at $.tokens: has no token, so nobody could call; add one".to_owned()));
        }
        Ok(Self { by_hash })
    }

    /// Returns the access of a request by its header `authorization`.
    fn access(&self, headers: &HeaderMap) -> Option<Access> {
        let given = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
        let (scheme, rest) = given.split_once(' ')?;
        let token = if scheme.eq_ignore_ascii_case("bearer") {
            rest.trim().as_bytes().to_vec()
        } else if scheme.eq_ignore_ascii_case("basic") {
            // Browsers ask for a name and a password; the password is the token.
            let decoded = STANDARD.decode(rest.trim()).ok()?;
            let colon = decoded.iter().position(|byte| *byte == b':')?;
            decoded[colon + 1..].to_vec()
        } else {
            return None;
        };
        let hash: [u8; 32] = Sha256::digest(&token).into();
        // The time of the look-up tells of the hash, not of the token.
        self.by_hash.get(&hash).map(|token| Access(Some(token.clone())))
    }
}

impl Access {
    /// That of a server without tokens.
    #[cfg(test)]
    pub(crate) const fn anybody() -> Self {
        Self(None)
    }

    /// Returns what the caller of a request with these headers may do.
    pub(crate) fn of(app: &App, headers: &HeaderMap) -> Result<Self, Problem> {
        let Some(tokens) = app.tokens() else { return Ok(Self(None)) };
        tokens.access(headers).ok_or_else(|| {
            let detail = "send a token of the tokens file: authorization: Bearer TOKEN";
            Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
        })
    }

    /// Fails unless the caller has the scope for this name.
    pub(crate) fn check(&self, scope: Scope, name: &str) -> Result<(), Problem> {
        if self.may(scope, name) {
            return Ok(());
        }
        let scope = match scope {
            Scope::Read => "read",
            Scope::Decide => "decide",
            Scope::Operate => "operate",
        };
        let detail = format!("the token does not have the scope for this name: scope={scope} name={name:?}");
        Err(Problem::new(StatusCode::FORBIDDEN, "forbidden", detail))
    }

    /// Returns whether the caller has the scope for this name.
    pub(crate) fn may(&self, scope: Scope, name: &str) -> bool {
        let Some(token) = &self.0 else { return true };
        let prefixes = match scope {
            Scope::Read => &token.read,
            Scope::Decide => &token.decide,
            Scope::Operate => &token.operate,
        };
        prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()))
    }

    /// Returns the name of the token, for the audit log.
    pub(crate) fn who(&self) -> &str {
        self.0.as_ref().map_or("anonymous", |token| &token.name)
    }
}

impl FromRequestParts<App> for Access {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        Self::of(app, &parts.headers)
    }
}

fn hex(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (i, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * i..2 * i + 2)?, 16).ok()?;
    }
    Some(hash)
}
