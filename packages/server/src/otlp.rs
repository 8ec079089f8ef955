//! `Otlp`: where the metrics are pushed, and `push`, which does it by OTLP over HTTP.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::{CONTENT_TYPE, USER_AGENT};
use axum::http::uri::{PathAndQuery, Scheme};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use percent_encoding::percent_decode_str;
use prost::Message;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_rustls::rustls::crypto::ring;

use crate::app::App;
use crate::failure::Failure;
use crate::metrics::Own;
use crate::metrics::otlp::Sender;
use crate::wall_clock::since_1970;

/// The time for one message.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time for the last messages when the server stops.
const LAST_PATIENCE: Duration = Duration::from_secs(3);

/// The most bytes of an answer that are read.
const MAX_ANSWER: usize = 64 << 10;

/// The bounds of the time between two pushes.
const INTERVALS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(86_400));

/// A receiver of metrics.
#[derive(Clone)]
pub struct Otlp {
    url: Uri,
    headers: HeaderMap,
    interval: Duration,
}

/// Without the headers, which may have a token.
impl std::fmt::Debug for Otlp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Otlp").field("url", &self.url).field("interval", &self.interval).finish_non_exhaustive()
    }
}

impl Otlp {
    /// Creates a receiver.
    ///
    /// `url` is `http://host:port` or `https://host:port`, to which `/v1/metrics` is added, or has another path. `headers` are
    /// as of `OTEL_EXPORTER_OTLP_HEADERS`: `name=value` with commas between, values percent-encoded. `interval` is from a
    /// second to a day.
    pub fn new(url: &str, headers: Option<&str>, interval: Duration) -> Result<Self, Failure> {
        // What is wrong is not quoted: it may have a password.
        let wrong =
            || Failure::Input("--otlp: must be http://HOST:PORT or https://HOST:PORT, without a login".to_owned());
        let mut parts = url.parse::<Uri>().map_err(|_| wrong())?.into_parts();
        let is_known = matches!(&parts.scheme, Some(scheme) if *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS);
        if !is_known || parts.authority.as_ref().is_none_or(|authority| authority.as_str().contains('@')) {
            return Err(wrong());
        }
        if parts.path_and_query.as_ref().is_none_or(|path| path == "/") {
            parts.path_and_query = Some(PathAndQuery::from_static("/v1/metrics"));
        }
        let url = Uri::from_parts(parts).map_err(|_| wrong())?;
        Self::check_interval(interval)?;
        let mut all = HeaderMap::new();
        for (i, pair) in headers.unwrap_or_default().split(',').map(str::trim).enumerate() {
            if pair.is_empty() {
                continue;
            }
            let (name, value) = header(pair).ok_or_else(|| {
                Failure::Input(format!("--otlp-headers: must be NAME=VALUE with commas between: position={}", i + 1))
            })?;
            all.insert(name, value);
        }
        Ok(Self { url, headers: all, interval })
    }

    /// Refuses an interval that is not from a second to a day, also for a server without a receiver.
    pub fn check_interval(interval: Duration) -> Result<(), Failure> {
        if (INTERVALS.0..=INTERVALS.1).contains(&interval) {
            return Ok(());
        }
        let given = interval.as_secs_f64();
        Err(Failure::Input(format!("--otlp-interval: must be from 1 to 86400 seconds: otlp_interval={given}")))
    }
}

fn header(pair: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = pair.split_once('=')?;
    let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
    let mut value = HeaderValue::from_str(&value).ok()?;
    value.set_sensitive(true);
    Some((name.trim().parse().ok()?, value))
}

/// Pushes the metrics of all limiters until the server stops, and once more then. `say` gets what goes wrong, once until it is
/// mended: a push that was lost is made up for by the next one, since all sums count from the start.
pub(crate) async fn push(app: &App, otlp: &Otlp, say: impl Fn(&str)) {
    let connector = HttpsConnectorBuilder::new().with_provider_and_native_roots(ring::default_provider());
    let connector = match connector {
        Ok(connector) => connector.https_or_http().enable_http1().build(),
        Err(error) => return say(&format!("otlp: no certificates can be read: error={error}")),
    };
    let receiver = Receiver { otlp: otlp.clone(), client: Client::builder(TokioExecutor::new()).build(connector) };
    let sender = Sender { instance: paddlegate::new_id().unwrap_or_default(), started: now() };
    let mut ticks = interval(otlp.interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut failed = false;
    loop {
        let stops = tokio::select! {
            () = app.stopping().cancelled() => true,
            _ = ticks.tick() => false,
        };
        let pushed = receiver.push(app, &sender);
        let pushed = if stops {
            timeout(LAST_PATIENCE, pushed).await.unwrap_or_else(|_| Err("the receiver was too slow".to_owned()))
        } else {
            tokio::select! {
                // What a stop breaks off is sent again.
                () = app.stopping().cancelled() => continue,
                pushed = pushed => pushed,
            }
        };
        match &pushed {
            Err(reason) if !failed => say(&format!("otlp: the metrics were not taken, and are sent again: {reason}")),
            Ok(()) if failed => say("otlp: the metrics are taken again"),
            _ => {}
        }
        failed = pushed.is_err();
        if stops {
            return;
        }
    }
}

struct Receiver {
    otlp: Otlp,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl Receiver {
    async fn push(&self, app: &App, sender: &Sender) -> Result<(), String> {
        let snapshot = app.snapshots().read(app).await;
        let (own, at) = (Own::of(app, &snapshot), now());
        for message in sender.messages(&snapshot, &own, at) {
            let sent = timeout(PATIENCE, self.send(message.encode_to_vec().into())).await;
            sent.map_err(|_| format!("the receiver was too slow: after={} s", PATIENCE.as_secs()))??;
        }
        Ok(())
    }

    async fn send(&self, message: Bytes) -> Result<(), String> {
        let mut request = Request::new(Full::new(message));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.otlp.url.clone();
        let headers = request.headers_mut();
        headers.extend(self.otlp.headers.clone());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("paddlegate/", env!("CARGO_PKG_VERSION"))));
        let response = self.client.request(request).await.map_err(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            format!("error={}", cause.unwrap_or_else(|| error.to_string()))
        })?;
        if !response.status().is_success() {
            return Err(format!("status={}", response.status().as_u16()));
        }
        let answer = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
        let answer = answer.map_err(|error| format!("error={error}"))?.to_bytes();
        let partial = ExportMetricsServiceResponse::decode(answer).ok().and_then(|answer| answer.partial_success);
        match partial {
            Some(partial) if partial.rejected_data_points > 0 => {
                Err(format!("the receiver rejects some: points={}", partial.rejected_data_points))
            }
            _ => Ok(()),
        }
    }
}

/// Returns nanoseconds since 1970.
fn now() -> u64 {
    u64::try_from(since_1970().as_nanos()).unwrap_or(u64::MAX)
}
