//! `serve`: runs the server until it is told to stop.

use std::io::{self, Write};

use paddlegate::{Micros, OnUnavailable};
use paddlegate_server::{Options, Otlp, Server};

use crate::command::Serve;
use crate::failure::Failure;

/// Serves until SIGINT or SIGTERM.
pub(crate) fn serve(order: Serve) -> Result<(), Failure> {
    let Serve { redis, listen, metrics, grpc, otlp, otlp_headers, otlp_interval, limits, tokens, simulator, .. } =
        order;
    let Serve { tls_cert, tls_key, insecure_http, max_wait, host, test_clock, ojs, ojs_metrics, .. } = order;
    let Serve { timeout, on_unavailable, local_share_percent, .. } = order;
    let seconds = |option, seconds| {
        let span = Micros::from_seconds(option, seconds).map(Micros::duration);
        span.map_err(|error| Failure::Input(error.message().to_owned()))
    };
    let on_unavailable = OnUnavailable::from_name(&on_unavailable, local_share_percent).map_err(|error| {
        let option = error.argument().unwrap_or_default().replace('_', "-");
        Failure::Input(format!("--{option}: {}", error.message()))
    })?;
    let interval = seconds("--otlp-interval", otlp_interval)?;
    Otlp::check_interval(interval).map_err(failure)?;
    let otlp = otlp.map(|url| Otlp::new(&url, otlp_headers.as_deref(), interval)).transpose().map_err(failure)?;
    let test_clock = test_clock.map(Micros);
    let tls = tls_cert.zip(tls_key);
    let options = Options {
        max_wait: seconds("--max-wait", max_wait)?,
        timeout: Some(timeout.duration()),
        on_unavailable,
        test_clock,
        redis,
        listen,
        metrics,
        grpc,
        otlp,
        ojs,
        ojs_metrics,
        limits,
        tokens,
        simulator,
        tls,
        insecure_http,
        hosts: host,
        ..Options::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Other(format!("cannot start a runtime: {error}")))?;
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    let ready = |server: &Server| {
        // Scripts read the port from these lines; nobody may read them.
        let _ = writeln!(io::stdout(), "listening on {scheme}://{}", server.address());
        if let Some(address) = server.metrics_address() {
            let _ = writeln!(io::stdout(), "metrics on {scheme}://{address}/metrics");
        }
        if let Some(address) = server.grpc_address() {
            let _ = writeln!(io::stdout(), "grpc on {address}");
        }
    };
    let say = |message: &str| {
        let _ = writeln!(io::stderr(), "{message}");
    };
    runtime.block_on(paddlegate_server::serve(options, ready, say)).map_err(failure)
}

fn failure(failure: paddlegate_server::Failure) -> Failure {
    match failure {
        paddlegate_server::Failure::Input(message) => Failure::Input(message),
        paddlegate_server::Failure::Other(message) => Failure::Other(message),
    }
}
