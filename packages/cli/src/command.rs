//! `Command`: the command line arguments.

#[cfg(feature = "serve")]
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
#[cfg(feature = "serve")]
use paddlegate::Micros;

use crate::operate::Verb;

/// Operate, serve and try out rate limits that programs of all languages share.
#[derive(Debug, Parser)]
#[command(name = "paddlegate", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub(crate) struct Paddlegate {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  a check did not pass (plan --fail-on, doctor), or a file or this machine failed
  2  an argument, a document or a name is wrong; nothing was changed
  3  Redis did not answer or cannot decide now";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Operate(Box<Verb>),
    /// Run policies against arrivals on a virtual clock and compare the results
    Simulate(Box<Simulate>),
    /// Serve limits over HTTP
    #[cfg(feature = "serve")]
    Serve(Box<Serve>),
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write those of all commands
    Man {
        /// The folder for the pages of all commands [default: print the first page]
        #[arg(value_name = "FOLDER")]
        folder: Option<PathBuf>,
    },
}

#[cfg(feature = "serve")]
#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// The URL of the store: redis://[user:password@]host[:port][/db], rediss:// for TLS [default: limits in memory]
    #[arg(long, value_name = "URL", env = "PADDLEGATE_URL", hide_env_values = true)]
    pub(crate) redis: Option<String>,
    /// The time in which a call to the store ends, in seconds or like 500ms
    #[arg(long, value_name = "SPAN", default_value = "1", allow_negative_numbers = true, value_parser = time)]
    pub(crate) timeout: Micros,
    /// What decides while the store cannot
    #[arg(
        long,
        value_name = "MODE",
        default_value = "raise",
        help = "What decides while the store cannot: raise (status 503), fail_closed, fail_open or local"
    )]
    pub(crate) on_unavailable: String,
    /// The share of each limit that is granted meanwhile, in percent, 1 to 100: local [default: 100]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) local_share_percent: Option<u64>,
    /// The address to listen on; port 0 is a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8350")]
    pub(crate) listen: SocketAddr,
    /// Another address for the metrics [default: with the rest]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) metrics: Option<SocketAddr>,
    /// The address of Envoy's rate limit service, gRPC; the limits file says which limiter decides [default: not served]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) grpc: Option<SocketAddr>,
    /// A receiver of OpenTelemetry to which the metrics are pushed by OTLP over HTTP, with protobuf; /v1/metrics is added
    /// where the URL has no path [default: none]
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<String>,
    /// Headers for that receiver, such as a token: NAME=VALUE with commas between
    #[arg(long, value_name = "HEADERS", env = "OTEL_EXPORTER_OTLP_HEADERS", hide_env_values = true)]
    pub(crate) otlp_headers: Option<String>,
    /// The time between two pushes, in seconds, 1 to 86400
    #[arg(long, value_name = "SECONDS", default_value = "60", allow_negative_numbers = true)]
    pub(crate) otlp_interval: f64,
    /// Serve also a job server of Open Job Spec, under /ojs/v1
    #[arg(long)]
    pub(crate) ojs: bool,
    /// Export also the metrics that Open Job Spec names, of each key of its jobs
    #[arg(long, requires = "ojs")]
    pub(crate) ojs_metrics: bool,
    /// A document with limiters, of any format that Paddlegate reads; read again at SIGHUP
    #[arg(long, value_name = "FILE")]
    pub(crate) limits: Option<PathBuf>,
    /// The hashes of tokens and what each may do; read again at SIGHUP [default: this machine may do everything]
    #[arg(long, value_name = "FILE")]
    pub(crate) tokens: Option<PathBuf>,
    /// The folder with the built page of the simulator, to serve and to link to it (make build-simulator builds it)
    #[arg(long, value_name = "FOLDER")]
    pub(crate) simulator: Option<PathBuf>,
    /// The certificates of TLS, a PEM file; read again at SIGHUP
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key of TLS, a PEM file; read again at SIGHUP
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Serve an address of the network without TLS, behind a proxy that has it
    #[arg(long)]
    pub(crate) insecure_http: bool,
    /// The longest time for which a request that waits for a limit is held, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "300", allow_negative_numbers = true)]
    pub(crate) max_wait: f64,
    /// A name by which clients call the server, besides addresses and localhost; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// For tests of workers: the microseconds since 1970 at which a clock begins that only requests move
    #[arg(long, value_name = "MICROS", hide = true)]
    pub(crate) test_clock: Option<u64>,
}

/// Reads a number of seconds, or a span.
#[cfg(feature = "serve")]
fn time(text: &str) -> Result<Micros, String> {
    match text.parse() {
        Ok(seconds) => Micros::from_seconds("timeout", seconds).map_err(|error| error.message().to_owned()),
        Err(_) => crate::operate::span(text),
    }
}

const ARRIVALS: &str = "\
Arrivals are one of
  steady N/UNIT for SPAN       N in each UNIT, evenly
  poisson N/UNIT for SPAN      the same at random
  burst N every SPAN for SPAN  N at once, again and again
  ramp N..M/UNIT for SPAN      a rate that changes evenly
  daily N..M/UNIT for SPAN     at random, from N at midnight to M at noon
  jobs N                       N at once
  times FILE                   a record, or a time a line, or CSV with at and
                               any of cost, actual, work, count; - for standard
                               input; also cost.LABEL and actual.LABEL, one for
                               each label
where UNIT is s, m, h, d or a SPAN, and SPAN is like 500ms, 10s, 5m, 1h, 1d or
PT0.1S. All but times may end with: from SPAN.

Examples:
  paddlegate simulate policy.json --arrivals \"poisson 10/s for 1m\" --retry wait
  paddlegate simulate --scenario scenario.json --json";

#[derive(Args, Debug)]
#[command(after_help = ARRIVALS)]
pub(crate) struct Simulate {
    /// A document with limits, of any format that Paddlegate reads; - for standard input
    #[arg(value_name = "POLICY.json", required_unless_present = "scenario")]
    pub(crate) policy: Option<PathBuf>,
    /// A whole scenario, as the simulator's page exports it, instead of a policy and options; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "policy", "limiter", "arrivals", "cost", "actual", "work", "clients", "at_once", "retry", "attempts", "base", "cap",
        "wait",
    ])]
    pub(crate) scenario: Option<PathBuf>,
    /// The name of a limiter of the document; may be given up to four times [default: all]
    #[arg(long, value_name = "NAME")]
    pub(crate) limiter: Vec<String>,
    /// When jobs arrive; see below
    #[arg(long, value_name = "ARRIVALS", required_unless_present = "scenario")]
    pub(crate) arrivals: Option<String>,
    /// The units that a call asks for: N, or LEAST..MOST at random, or LABEL=UNITS,...; with --actual the estimate
    /// [default: 1]
    #[arg(long, value_name = "UNITS")]
    pub(crate) cost: Option<String>,
    /// The actual cost of a call in units: N, LEAST..MOST or LABEL=UNITS,... [default: what it asked for]
    #[arg(long, value_name = "UNITS")]
    pub(crate) actual: Option<String>,
    /// How long a call takes: SPAN or SPAN..SPAN [default: 0s]
    #[arg(long, value_name = "SPAN")]
    pub(crate) work: Option<String>,
    /// How many clients take the arrivals in turn [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) clients: Option<u64>,
    /// How many calls a client makes at once; 0: any number [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) at_once: Option<u64>,
    /// What refused callers do [default: none]
    #[arg(long, value_parser = ["none", "linear", "exponential", "wait", "ticket"])]
    pub(crate) retry: Option<String>,
    /// How often refused callers retry: linear, exponential [default: 20]
    #[arg(long, value_name = "N", requires = "retry")]
    pub(crate) attempts: Option<u64>,
    /// The maximum of the first delay: exponential [default: 1s]
    #[arg(long, value_name = "SPAN", requires = "retry")]
    pub(crate) base: Option<String>,
    /// The maximum delay: exponential [default: 1h]
    #[arg(long, value_name = "SPAN", requires = "retry")]
    pub(crate) cap: Option<String>,
    /// How long refused callers wait at most: wait, ticket [default: ten years]
    #[arg(long, value_name = "SPAN", requires = "retry")]
    pub(crate) wait: Option<String>,
    /// The simulated time [default: until nothing is left to happen]
    #[arg(long, value_name = "SPAN")]
    pub(crate) until: Option<String>,
    /// The seed of random arrivals, costs and delays [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Print the totals as a JSON array, an object for each policy
    #[arg(long)]
    pub(crate) json: bool,
    /// Write every decision to a file as CSV; the first 2,000,000 rows of each policy
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
}
