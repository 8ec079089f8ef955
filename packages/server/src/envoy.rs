//! `router`: Envoy's rate limit service, by gRPC: whether a request may pass, of any Envoy, Istio or gateway that is built on it.
//!
//! The limits file says which limiter decides on a descriptor ([`Mapping`]), and the core decides.

mod answer;
mod decide;
mod mapping;
mod messages;

use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures_util::stream::{Stream, unfold};
use prost::Message;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tonic::server::{Grpc, ServerStreamingService, UnaryService};
use tonic::{Code, Status};
use tonic_prost::ProstCodec;

pub(crate) use self::mapping::Mapping;
use self::messages::{HealthRequest, HealthResponse, RateLimitRequest, ServingStatus};
use crate::access::Access;
use crate::app::App;
use crate::body::{MAX_BODY, read};
use crate::problem::Problem;
use crate::routes::health;

const SERVICE: &str = "envoy.service.ratelimit.v3.RateLimitService";
const SHOULD_RATE_LIMIT: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
const HEALTH_CHECK: &str = "/grpc.health.v1.Health/Check";
const HEALTH_WATCH: &str = "/grpc.health.v1.Health/Watch";

/// How often a watched health is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Returns the methods: the decision, and the health check of gRPC, once or as a stream.
pub(crate) fn router(app: &App) -> Router {
    let unknown = async |uri: Uri| to_response(Status::unimplemented(format!("no such method: path={:?}", uri.path())));
    Router::new()
        .route(SHOULD_RATE_LIMIT, post(should_rate_limit))
        .route(HEALTH_CHECK, post(check))
        .route(HEALTH_WATCH, post(watch))
        .fallback(unknown)
        .with_state(app.clone())
}

async fn should_rate_limit(State(app): State<App>, request: Request) -> Response {
    let started = Instant::now();
    let headers = request.headers();
    let access = match is_grpc(headers).and_then(|()| Ok(Access::of(&app, headers)?)) {
        Ok(access) => access,
        Err(refused) => return refused.into_response(),
    };
    let decided = app.clone();
    let decide =
        async move |asked: RateLimitRequest| decide::decide(&decided, &access, &asked).await.map_err(to_status);
    let response = unary(&app, request, decide).await;
    // An error is in the headers already.
    if !response.headers().contains_key("grpc-status") {
        app.request_times().count(started.elapsed());
    }
    response
}

/// Tells whether the server can decide, as `/readyz` does.
async fn check(State(app): State<App>, request: Request) -> Response {
    if let Err(refused) = is_grpc(request.headers()) {
        return refused.into_response();
    }
    let checked = app.clone();
    let answer = async move |asked: HealthRequest| {
        if !matches!(asked.service.as_str(), "" | SERVICE) {
            return Err(Status::not_found("no such service"));
        }
        Ok(HealthResponse { status: status(&checked).await.into() })
    };
    unary(&app, request, answer).await
}

async fn status(app: &App) -> ServingStatus {
    if health::check(app).await.is_ok() { ServingStatus::Serving } else { ServingStatus::NotServing }
}

/// Tells the same at once and whenever it changes, until the server stops or reads its tokens again.
async fn watch(State(app): State<App>, request: Request) -> Response {
    if let Err(refused) = is_grpc(request.headers()) {
        return refused.into_response();
    }
    let (parts, body) = request.into_parts();
    let bytes = match read(body, &app).await {
        Ok(bytes) => bytes,
        Err(problem) => return to_response(to_status(problem)),
    };
    let codec = ProstCodec::<HealthResponse, HealthRequest>::default();
    let mut grpc = Grpc::new(codec).max_decoding_message_size(MAX_BODY);
    grpc.server_streaming(Watch(app), Request::from_parts(parts, Body::from(bytes))).await.map(Body::new)
}

/// The method that watches.
struct Watch(App);

impl ServerStreamingService<HealthRequest> for Watch {
    type Response = HealthResponse;
    type ResponseStream = Pin<Box<dyn Stream<Item = Result<HealthResponse, Status>> + Send>>;
    type Future = Ready<Result<tonic::Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: tonic::Request<HealthRequest>) -> Self::Future {
        // The protocol has a status for an unknown service, because it may come later.
        let is_known = matches!(request.get_ref().service.as_str(), "" | SERVICE);
        let start = (self.0.clone(), self.0.streams(), None);
        let told =
            unfold(start, move |(app, ended, last): (App, CancellationToken, Option<ServingStatus>)| async move {
                loop {
                    let now = if is_known { status(&app).await } else { ServingStatus::ServiceUnknown };
                    if last != Some(now) && !ended.is_cancelled() {
                        return Some((Ok(HealthResponse { status: now.into() }), (app, ended, Some(now))));
                    }
                    tokio::select! {
                        biased;
                        () = ended.cancelled() => return None,
                        () = sleep(LOOK) => {}
                    }
                }
            });
        ready(Ok(tonic::Response::new(Box::pin(told))))
    }
}

/// What is no call of gRPC, or nobody's.
enum Refused {
    NoGrpc,
    Problem(Problem),
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        match self {
            Self::NoGrpc => StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response(),
            Self::Problem(problem) => to_response(to_status(problem)),
        }
    }
}

/// A browser sends this type to another site only where that site agrees, which this one does not.
fn is_grpc(headers: &HeaderMap) -> Result<(), Refused> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_grpc = matches!(kind, "application/grpc" | "application/grpc+proto");
    if is_grpc { Ok(()) } else { Err(Refused::NoGrpc) }
}

/// Reads one message and answers it with one.
async fn unary<Q, A, F>(app: &App, request: Request, answer: impl FnOnce(Q) -> F) -> Response
where
    Q: Message + Default + 'static,
    A: Message + Default + 'static,
    F: Future<Output = Result<A, Status>> + Send + 'static,
{
    let (parts, body) = request.into_parts();
    let bytes = match read(body, app).await {
        Ok(bytes) => bytes,
        Err(problem) => return to_response(to_status(problem)),
    };
    let mut grpc = Grpc::new(ProstCodec::<A, Q>::default()).max_decoding_message_size(MAX_BODY);
    grpc.unary(Unary(Some(answer)), Request::from_parts(parts, Body::from(bytes))).await.map(Body::new)
}

/// A method by a function.
struct Unary<C>(Option<C>);

impl<Q, A, F, C> UnaryService<Q> for Unary<C>
where
    F: Future<Output = Result<A, Status>> + Send + 'static,
    C: FnOnce(Q) -> F,
{
    type Response = A;
    type Future = Pin<Box<dyn Future<Output = Result<tonic::Response<A>, Status>> + Send>>;

    fn call(&mut self, request: tonic::Request<Q>) -> Self::Future {
        let answer = self.0.take().map(|answer| answer(request.into_inner()));
        Box::pin(async move {
            let answer = answer.ok_or_else(|| Status::internal("a request has one message"))?;
            answer.await.map(tonic::Response::new)
        })
    }
}

fn to_response(status: Status) -> Response {
    status.into_http::<Body>().into_response()
}

fn to_status(problem: Problem) -> Status {
    let code = match problem.status {
        400 => Code::InvalidArgument,
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 => Code::NotFound,
        408 => Code::DeadlineExceeded,
        413 | 429 => Code::ResourceExhausted,
        503 => Code::Unavailable,
        _ => Code::Internal,
    };
    let argument = problem.argument.map(|argument| format!("{argument}: ")).unwrap_or_default();
    Status::new(code, format!("{argument}{}", problem.detail))
}
