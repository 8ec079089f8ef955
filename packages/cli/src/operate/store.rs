//! `Store`: the options that name the Redis of a verb.

use clap::Args;
use paddlegate::{Error, ErrorKind, Micros, Paddlegate};

use super::span;
use crate::failure::Failure;

/// The options that every verb has.
#[derive(Args, Debug)]
pub(crate) struct Store {
    /// The URL of Redis: redis://[user:password@]host[:port][/db], rediss:// for TLS, more nodes after commas
    #[arg(long, value_name = "URL", env = "PADDLEGATE_URL", hide_env_values = true)]
    redis: Option<String>,
    /// The time in which a call to Redis ends
    #[arg(long, value_name = "SPAN", default_value = "1s", value_parser = span)]
    timeout: Micros,
    /// Print JSON; times are seconds
    #[arg(long)]
    pub(crate) json: bool,
}

impl Store {
    /// Opens the store. Connects at the first call.
    pub(crate) fn open(&self) -> Result<Paddlegate, Failure> {
        let input = |message: &str| Failure::Input(format!("--redis: {message}"));
        let url = self.redis.as_deref().filter(|url| !url.is_empty());
        let url = url.ok_or_else(|| input("is missing; give the URL of Redis, or set PADDLEGATE_URL"))?;
        if url == "memory://" {
            return Err(input("must be a Redis server; a store in memory is that of one process"));
        }
        Paddlegate::open(url, Some(self.timeout.duration())).map_err(|error| failure(&error))
    }
}

/// Converts an error of the core; that of an argument names the option.
pub(crate) fn failure(error: &Error) -> Failure {
    let option = match error.argument() {
        Some("url") => "--redis: ",
        Some("timeout") => "--timeout: ",
        Some("name" | "limiter") => "NAME: ",
        Some("key") => "--key: ",
        Some("group") => "--group: ",
        Some("label") => "--label: ",
        Some("for" | "expires_in") => "--expires-in: ",
        Some("limit" | "capacity" | "limits") => "--limit: ",
        Some("interval" | "per" | "drain" | "refill" | "lock_timeout" | "every") => "--interval: ",
        Some("offset") => "--offset: ",
        Some("count") => "--count: ",
        Some("lasts") => "--for: ",
        Some("most") => "--max: ",
        Some("reason") => "--reason: ",
        Some("by") => "--by: ",
        _ => "",
    };
    let charged = if error.may_have_counted() { "; it may have been done nevertheless" } else { "" };
    let message = format!("{option}{}{charged}", error.message());
    match error.kind() {
        ErrorKind::Invalid => Failure::Input(message),
        ErrorKind::Unavailable => Failure::Unavailable(message),
        _ => Failure::Other(message),
    }
}
