//! Routes and windows of Discord, for `paddlegate.discord`.

use paddlegate::upstream;
use pyo3::prelude::*;

use crate::decision::seconds;

/// The route of a request to Discord's API. Those of one name and major share a limit.
#[pyclass(frozen, get_all, module = "paddlegate._native")]
pub(crate) struct DiscordRoute {
    /// Method and path without ids.
    name: String,
    /// The channel, guild or webhook; empty without one.
    major: String,
    /// Whether the request counts for the global limit of the bot.
    is_global: bool,
    /// Whether it is the first answer to an interaction, which has no limit of a route.
    is_callback: bool,
    /// Whether it is a webhook's; each interaction has one for its later answers.
    has_token: bool,
}

#[pymethods]
impl DiscordRoute {
    /// Return the route of a request; None for one that is not to Discord's API.
    #[staticmethod]
    fn of(method: &str, path: &str, now_ms: i64) -> Option<Self> {
        let upstream::DiscordRoute { name, major, is_global, is_callback, has_token } =
            upstream::DiscordRoute::of(method, path, now_ms)?;
        Some(Self { name, major, is_global, is_callback, has_token })
    }
}

/// Return units and seconds of the window that the headers of a response describe.
///
/// None when they do not. A route without headers has a window of `without` in a second.
#[pyfunction]
#[pyo3(signature = (limit, remaining, reset_after, without))]
pub(crate) fn discord_window(
    limit: Option<&str>,
    remaining: Option<&str>,
    reset_after: Option<&str>,
    without: Option<u64>,
) -> Option<(u64, f64)> {
    let (units, length) = upstream::discord_window(limit, remaining, reset_after, without)?;
    Some((units, seconds(length)))
}
