//! The routes of Open Job Spec, and what holds for all of them: the content type, the request id, the form of errors.

mod admin;
mod jobs;
mod rate_limits;
mod service;
mod workers;

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::fault::Fault;
use crate::server::Ojs;

/// The content type of all answers.
const CONTENT: HeaderValue = HeaderValue::from_static("application/openjobspec+json");

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const VERSION: HeaderName = HeaderName::from_static("ojs-version");

/// The most bytes of a request.
const MAX_BODY: usize = 1 << 20;

/// What the routes share.
pub(crate) type Shared = Arc<Ojs>;

/// Returns the routes under `/ojs`.
pub fn router(ojs: Arc<Ojs>) -> Router {
    Router::new()
        .merge(jobs::router())
        .merge(workers::router())
        .merge(rate_limits::router())
        .merge(admin::router())
        .merge(service::router())
        .route("/ojs/{*path}", any(missing))
        .method_not_allowed_fallback(missing)
        .layer(middleware::from_fn(headers))
        .with_state(ojs)
}

async fn missing(method: Method, uri: Uri) -> Fault {
    Fault::not_found(format!("no such route: method={method} path={:?}", uri.path()))
}

/// An answer: its status, its body, and headers of its own.
pub(crate) struct Answer {
    status: StatusCode,
    body: Option<Value>,
    headers: Vec<(&'static str, String)>,
}

/// The result of a route.
pub(crate) type Outcome = Result<Answer, Fault>;

impl Answer {
    pub(crate) fn ok(body: Value) -> Self {
        Self { status: StatusCode::OK, body: Some(body), headers: Vec::new() }
    }

    pub(crate) fn created(body: Value, location: String) -> Self {
        Self { status: StatusCode::CREATED, body: Some(body), headers: vec![("location", location)] }
    }

    pub(crate) fn nothing() -> Self {
        Self { status: StatusCode::NO_CONTENT, body: None, headers: Vec::new() }
    }

    pub(crate) fn with(mut self, headers: Vec<(&'static str, String)>) -> Self {
        self.headers.extend(headers);
        self
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let body = self.body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let mut response = (self.status, body).into_response();
        let headers = response.headers_mut();
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        }
        response
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        // The request id is known further out.
        response.extensions_mut().insert(self);
        response
    }
}

/// Gives every answer its headers, and an error its body with the request id.
async fn headers(request: Request, next: Next) -> Response {
    let id = request_id(request.headers());
    let mut response = next.run(request).await;
    if let Some(fault) = response.extensions_mut().remove::<Fault>() {
        *response.body_mut() = Body::from(fault.body(&id).to_string());
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, CONTENT);
    headers.insert(VERSION, HeaderValue::from_static("1.0"));
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, id);
    }
    response
}

/// Returns the id of a request: the client's own, or a new one.
fn request_id(headers: &HeaderMap) -> String {
    let own = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).filter(|id| !id.is_empty() && id.len() <= 128);
    own.map_or_else(|| format!("req_{}", Uuid::now_v7()), str::to_owned)
}

/// Reads the body of a request, which is an object.
pub(crate) async fn object(body: Body) -> Result<Map<String, Value>, Fault> {
    let bytes = to_bytes(body, MAX_BODY).await;
    let bytes = bytes.map_err(|_| Fault::payload(format!("the body has more than {MAX_BODY} bytes")))?;
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(Fault::payload("the body must be a JSON object")),
        Err(error) => Err(Fault::payload(format!("the body is not JSON: {error}"))),
    }
}
