//! `Body`, `Query` and `Name`: the parts of a request, whose errors are problems that name the wrong member.

use axum::body::{Bytes, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::app::App;
use crate::problem::Problem;

/// The maximum length of a body in bytes: 1 MiB.
pub(crate) const MAX_BODY: usize = 1 << 20;

/// Reads a body, which must be short and arrive in time.
pub(crate) async fn read(body: axum::body::Body, app: &App) -> Result<Bytes, Problem> {
    let patience = app.options().client_timeout;
    match timeout(patience, to_bytes(body, MAX_BODY)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => {
            let detail = format!("the body must have at most {MAX_BODY} bytes, and all that it announces");
            Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail))
        }
        Err(_) => {
            let detail = format!("the body must arrive within {} s", patience.as_secs());
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", detail))
        }
    }
}

/// Returns a request whose body has been read, for those who read it without these bounds.
pub(crate) async fn buffered(request: Request, app: &App) -> Result<Request, Problem> {
    let (parts, body) = request.into_parts();
    Ok(Request::from_parts(parts, read(body, app).await?.into()))
}

/// A body in JSON. No body is `{}`.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let bytes = read(body, app).await?;
        if bytes.is_empty() {
            return parse(b"{}").map(Self);
        }
        if !is_json(&parts) {
            let detail = "the body must be JSON: send the header content-type: application/json";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail));
        }
        parse(&bytes).map(Self)
    }
}

fn is_json(parts: &Parts) -> bool {
    let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // A list would be read as the members of an object in their order.
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
        return Err(Problem::invalid("body", "must be a JSON object"));
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        // Where the place is not known, it is "?".
        let known = path.trim_end_matches(['?', '.']);
        let argument = if known.is_empty() { "body".to_owned() } else { known.to_owned() };
        Problem::invalid(argument, plain(&error.into_inner().to_string()))
    })?;
    json.end().map_err(|error| Problem::invalid("body", error.to_string()))?;
    Ok(value)
}

/// Says in words of JSON what is wrong, not in those of Rust.
fn plain(message: &str) -> String {
    let Some((found, expected)) = message.split_once("expected ") else { return message.to_owned() };
    let end = expected.find([' ', ',']).unwrap_or(expected.len());
    let (kind, rest) = expected.split_at(end);
    let word = match kind {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "struct" | "map" => {
            let rest = rest.trim_start();
            let name = if kind == "struct" { rest.find([' ', ',']).unwrap_or(rest.len()) } else { 0 };
            return format!("{found}expected an object{}", &rest[name..]);
        }
        _ => return message.to_owned(),
    };
    format!("{found}expected {word}{rest}")
}

/// The parameters of the query.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<App> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Problem> {
        axum::extract::Query::try_from_uri(&parts.uri)
            .map(|axum::extract::Query(query)| Self(query))
            .map_err(|error| Problem::invalid("query", error.body_text()))
    }
}

/// The name of a limiter, which is a part of the path, percent-encoded.
pub(crate) struct Name(pub(crate) String);

impl FromRequestParts<App> for Name {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let name = Path::<String>::from_request_parts(parts, app).await;
        let Path(name) = name.map_err(|error| Problem::invalid("name", error.body_text()))?;
        if name.is_empty() || name.len() > paddlegate::MAX_NAME {
            let detail = format!("must have 1 to {} bytes: bytes={}", paddlegate::MAX_NAME, name.len());
            return Err(Problem::invalid("name", detail));
        }
        Ok(Self(name))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::json::Acquire;

    #[test]
    fn what_is_wrong_is_told_in_words_of_json() {
        let told = |body: Value| {
            let problem = parse::<Acquire>(body.to_string().as_bytes()).expect_err("it is wrong");
            (problem.argument.unwrap_or_default(), problem.detail)
        };
        for body in [json!([]), json!([null, "key"]), json!("text"), json!(5), json!(null)] {
            let (argument, detail) = told(body);
            assert_eq!(argument, "body");
            assert!(detail.contains("object"), "{detail}");
            assert!(!detail.contains("Acquire") && !detail.contains("struct"), "{detail}");
        }
        let (argument, detail) = told(json!({ "priority": "high" }));
        assert_eq!(argument, "priority");
        assert!(detail.contains("expected a whole number from 0") && !detail.contains("u64"), "{detail}");
    }
}
