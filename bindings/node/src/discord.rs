//! Routes and windows of Discord, for `paddlegate/discord`.

use napi_derive::napi;
use paddlegate::upstream;

use crate::convert::{number, to_millis};

/// The route of a request to Discord's API.
#[napi(object, object_from_js = false)]
pub struct DiscordRoute {
    /// Method and path without ids. Routes of one name and major parameter share a limit.
    pub name: String,
    /// The channel, guild or webhook; empty without one.
    pub major: String,
    /// Whether the request counts for the global limit of the bot.
    pub is_global: bool,
    /// Whether it is the first answer to an interaction, which has no limit of a route.
    pub is_callback: bool,
    /// Whether it has the token of a webhook.
    pub has_token: bool,
}

/// The window of a route.
#[napi(object, object_from_js = false)]
pub struct DiscordWindow {
    /// The limit.
    pub units: f64,
    /// Its length.
    pub interval_ms: f64,
}

/// Returns the route of a request; nothing for one that is not to Discord's API.
// napi passes strings by value.
#[allow(clippy::needless_pass_by_value)]
#[napi(catch_unwind)]
pub fn discord_route(method: String, path: String, now_ms: i64) -> Option<DiscordRoute> {
    let upstream::DiscordRoute { name, major, is_global, is_callback, has_token } =
        upstream::DiscordRoute::of(&method, &path, now_ms)?;
    Some(DiscordRoute { name, major, is_global, is_callback, has_token })
}

/// Returns the window that the headers of a response describe.
// napi passes strings by value.
#[allow(clippy::needless_pass_by_value)]
#[napi(catch_unwind)]
pub fn discord_window(
    limit: Option<String>,
    remaining: Option<String>,
    reset_after: Option<String>,
    without: Option<u32>,
) -> Option<DiscordWindow> {
    let [limit, remaining, reset_after] = [&limit, &remaining, &reset_after].map(Option::as_deref);
    let (units, interval) = upstream::discord_window(limit, remaining, reset_after, without.map(u64::from))?;
    Some(DiscordWindow { units: number(units), interval_ms: to_millis(interval) })
}
