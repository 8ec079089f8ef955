//! `serve`: runs the server until it is told to stop.

use std::io::{self, Write};

use paddlegate::Micros;
use paddlegate_server::Options;

use crate::command::Serve;
use crate::failure::Failure;

/// Serves until SIGINT or SIGTERM.
pub(crate) fn serve(order: Serve) -> Result<(), Failure> {
    let Serve { redis, listen, limits, test_clock } = order;
    let test_clock = test_clock.map(Micros);
    let options = Options { redis, listen, limits, test_clock, ..Options::default() };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Other(format!("cannot start a runtime: {error}")))?;
    let ready = |address| {
        // Scripts read the port from this line; nobody may read it.
        let _ = writeln!(io::stdout(), "listening on http://{address}");
    };
    runtime.block_on(paddlegate_server::serve(options, ready)).map_err(|failure| match failure {
        paddlegate_server::Failure::Input(message) => Failure::Input(message),
        paddlegate_server::Failure::Other(message) => Failure::Other(message),
    })
}
