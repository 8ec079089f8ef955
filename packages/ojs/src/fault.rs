//! `Fault`: an error response as Open Job Spec has it.

use axum::http::StatusCode;
use paddlegate::{Error, ErrorKind};
use serde_json::{Value, json};

/// Where the meaning of the codes is described.
const DOCS: &str = "https://openjobspec.org/spec/errors";

/// An error response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// The member of the request that is wrong.
    pub(crate) argument: Option<String>,
    pub(crate) hint: &'static str,
}

impl Fault {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>, hint: &'static str) -> Self {
        Self { status, code, message: message.into(), argument: None, hint }
    }

    /// A member of the request is wrong.
    pub(crate) fn invalid(argument: &str, message: impl std::fmt::Display) -> Self {
        let fault = Self::new(
            StatusCode::BAD_REQUEST,
            "invalid_request",
            format!("{argument}: {message}"),
            "correct the member and send the request again",
        );
        Self { argument: Some(argument.to_owned()), ..fault }
    }

    /// A number of a retry policy is out of its range.
    pub(crate) fn validation(argument: &str, message: impl std::fmt::Display) -> Self {
        let fault = Self::invalid(argument, message);
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, code: "validation_error", ..fault }
    }

    /// The server does not do what a member of the request asks for.
    pub(crate) fn unsupported(argument: &str, message: impl std::fmt::Display) -> Self {
        let fault = Self::invalid(argument, message);
        let hint = "leave the member out, or use a server that supports it";
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, code: "unsupported", hint, ..fault }
    }

    /// The body is not JSON, or no object.
    pub(crate) fn payload(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_payload", message, "send a JSON object")
    }

    /// There is no such thing.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message, "check the id; ended jobs are kept for a day")
    }

    /// The job is not in the state for it.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message, "read the job to see its state")
    }

    /// The id is taken.
    pub(crate) fn duplicate(id: &str) -> Self {
        let message = format!("a job has this id: id={id}");
        Self::new(StatusCode::CONFLICT, "duplicate", message, "leave the id out to get a new one")
    }

    /// The store does not answer.
    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        let hint = "send the request again after a while";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message, hint)
    }

    /// Something is wrong that no request may bring about.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "backend_error", message, "report it with the request id")
    }

    /// Returns the fault as that of a job of a batch.
    pub(crate) fn of_job(self, number: usize) -> Self {
        Self { message: format!("jobs[{number}]: {}", self.message), ..self }
    }

    /// Returns the body of the response.
    pub(crate) fn body(&self, request_id: &str) -> Value {
        let details = self.argument.as_ref().map_or_else(|| json!({}), |argument| json!({"argument": argument}));
        json!({"error": {
            "code": self.code, "type": self.code, "message": self.message, "hint": self.hint, "docs_url": DOCS,
            "retryable": self.status == StatusCode::SERVICE_UNAVAILABLE, "details": details, "request_id": request_id,
        }})
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Invalid => Self::invalid(error.argument().unwrap_or("request"), error.message()),
            ErrorKind::Unavailable => Self::unavailable(error.message()),
            _ => Self::internal(error.message()),
        }
    }
}

impl From<redis::RedisError> for Fault {
    fn from(error: redis::RedisError) -> Self {
        // Its text has no URL; a reply of the server may quote keys only.
        Self::unavailable(format!("the store does not answer: {error}"))
    }
}
