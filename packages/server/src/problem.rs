//! `Problem`: an error response, as problem details of RFC 9457.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use paddlegate::{Error, ErrorKind};
use serde::Serialize;

/// An error response of the type `application/problem+json`.
#[derive(Clone, Debug, Serialize)]
pub struct Problem {
    /// The name of the problem, which never changes: that of the core's [`ErrorKind`], or one of the server's own.
    pub code: &'static str,
    /// The title of the status.
    pub title: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong, and what to do.
    pub detail: String,
    /// The member of the request that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// Whether the call may have been charged nevertheless.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub may_have_counted: Option<bool>,
}

impl Problem {
    /// Creates a problem.
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        let title = status.canonical_reason().unwrap_or("Error");
        Self { code, title, status: status.as_u16(), detail: detail.into(), argument: None, may_have_counted: None }
    }

    /// Creates the problem of a request with a wrong member.
    pub fn invalid(argument: impl Into<String>, detail: impl Into<String>) -> Self {
        let argument = Some(argument.into());
        Self { argument, ..Self::new(StatusCode::BAD_REQUEST, ErrorKind::Invalid.name(), detail) }
    }

    /// Creates the problem of a thing that does not exist.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", detail)
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let (kind, detail) = (error.kind(), error.message());
        match kind {
            ErrorKind::Invalid => Self {
                argument: error.argument().map(str::to_owned),
                ..Self::new(StatusCode::BAD_REQUEST, kind.name(), detail)
            },
            ErrorKind::Unavailable => Self {
                may_have_counted: Some(error.may_have_counted()),
                ..Self::new(StatusCode::SERVICE_UNAVAILABLE, kind.name(), detail)
            },
            ErrorKind::OverLimit => Self::new(StatusCode::TOO_MANY_REQUESTS, kind.name(), detail),
            ErrorKind::Data | ErrorKind::Internal => Self::new(StatusCode::INTERNAL_SERVER_ERROR, kind.name(), detail),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (status, body).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        if status == StatusCode::UNAUTHORIZED {
            // Browsers ask for a name and a password, which is the token.
            let schemes = HeaderValue::from_static(r#"Bearer, Basic realm="paddlegate", charset="UTF-8""#);
            response.headers_mut().insert(header::WWW_AUTHENTICATE, schemes);
        }
        response
    }
}
