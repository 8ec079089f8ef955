//! `guard`: what every request must pass, so that no page of another site can use the server through a browser.

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;

use crate::app::App;
use crate::problem::Problem;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// The headers by which proxies tell of the request that they ask about.
const OF_PROXIES: [&str; 5] = ["x-forwarded-for", "x-forwarded-uri", "x-original-uri", "x-original-url", "x-real-ip"];

/// Pages load nothing from elsewhere and run no inline script.
const CONTENT_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; \
     base-uri 'none'; frame-ancestors 'none'",
);

/// A response to a request that was held for its `wait_timeout`, whose time says nothing of the server.
#[derive(Clone, Copy)]
pub(crate) struct Held;

/// Checks where a request comes from, measures the verbs, and adds the headers of every response.
pub(crate) async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    let started = (request.method() == Method::POST).then(Instant::now);
    let mut response = match check(&app, &request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    if let Some(started) = started
        && !response.status().is_server_error()
        && response.extensions().get::<Held>().is_none()
    {
        app.request_times().count(started.elapsed());
    }
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    // The simulator has a policy of its own, for WebAssembly.
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(CONTENT_POLICY);
    // Without a referrer at all a browser would not say of a form that it is of this site.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

fn check(app: &App, request: &Request) -> Result<(), Problem> {
    let (method, headers) = (request.method(), request.headers());
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(Ok(host)), None) = (hosts.next().map(HeaderValue::to_str), hosts.next()) else {
        return Err(Problem::new(StatusCode::BAD_REQUEST, "bad_host", "send one header host"));
    };
    // A name of another site may lead to this machine: the browser of a victim would call it with that name.
    if !is_known(host_name(host), &app.options().hosts) {
        let detail = "the server is not called so; add the name by --host NAME";
        return Err(Problem::new(StatusCode::FORBIDDEN, "bad_host", detail));
    }
    if is_of_proxy(request) {
        return Ok(());
    }
    let refused = |detail| Problem::new(StatusCode::FORBIDDEN, "cross_site", detail);
    if let Some(origin) = headers.get(header::ORIGIN) {
        let own = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        let is_own = own.is_some_and(|(scheme, authority)| {
            authority.eq_ignore_ascii_case(host) && matches!(scheme, "http" | "https")
        });
        if !is_own {
            return Err(refused("the header origin names another site"));
        }
    }
    if let Some(site) = headers.get(FETCH_SITE) {
        let is_own = matches!(site.as_bytes(), b"same-origin" | b"none");
        let navigates = headers.get(FETCH_MODE).is_some_and(|mode| mode == "navigate");
        // A link of another site may lead here, and nothing more.
        if !(is_own || method == Method::GET && navigates) {
            return Err(refused("the request comes from another site"));
        }
    }
    Ok(())
}

/// Whether a proxy asks about a request of another site, whose headers it passes on. A page cannot send one of its own headers here
/// without asking first, which is refused.
fn is_of_proxy(request: &Request) -> bool {
    let path = request.uri().path();
    let is_check = request.method() == Method::GET && path.starts_with("/v1/limiters/") && path.ends_with("/check");
    is_check && OF_PROXIES.iter().any(|name| request.headers().contains_key(*name))
}

/// Returns the name without the port.
fn host_name(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    host.split(':').next().unwrap_or_default()
}

/// Addresses are safe, because only names can be made to lead elsewhere.
fn is_known(name: &str, hosts: &[String]) -> bool {
    name.parse::<std::net::IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
}
