//! `DiscordRoute`: which requests to Discord share a limit, and how large that is.
//!
//! After <https://discord.com/developers/docs/topics/rate-limits>, and what discord.py and @discordjs/rest do where that is
//! silent: reactions of a channel share one limit, and the deletion of a message is limited by its age.

use sha2::{Digest, Sha256};

use super::decimal::seconds;
use super::discord::whole;
use crate::base::micros::Micros;
use crate::model::limit::MAX_WINDOW;

/// The resources whose id has its own limit.
const MAJOR: [&str; 3] = ["channels", "guilds", "webhooks"];
/// The start of the times in Discord's ids, in Unix milliseconds.
const EPOCH_MS: i64 = 1_420_070_400_000;
/// Messages up to this age, and from the other on, have their own limits of deletion.
const NEW_MS: i64 = 10_000;
const OLD_MS: i64 = 14 * 86_400_000;
/// No window of a route is longer: a day.
const LONGEST: Micros = Micros(86_400_000_000);

/// The route of a request to Discord's API.
///
/// # Examples
///
/// ```
/// # use paddlegate::upstream::DiscordRoute;
/// let route = DiscordRoute::of("post", "/api/v10/channels/100000000000000001/messages", 0).expect("a route");
/// assert_eq!((route.name.as_str(), route.major.as_str()), ("POST/channels/:id/messages", "100000000000000001"));
/// assert_eq!(DiscordRoute::of("GET", "/attachments/1/2/a.png", 0), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscordRoute {
    /// Method and path without ids. Routes of one name and major parameter share a limit.
    pub name: String,
    /// The channel, guild or webhook; empty without one. A webhook's token is in it as a digest.
    pub major: String,
    /// Whether the request counts for the global limit of the bot.
    pub is_global: bool,
    /// Whether it is the first answer to an interaction, which has no limit of a route.
    pub is_callback: bool,
    /// Whether it has the token of a webhook; each interaction has one for its later answers.
    pub has_token: bool,
}

impl DiscordRoute {
    /// Returns the route of a request by its method, the path of its URL, and the time in Unix milliseconds; `None` for one
    /// that is not to Discord's API.
    pub fn of(method: &str, path: &str, now_ms: i64) -> Option<Self> {
        let mut parts: Vec<&str> = path_in_api(path)?.trim_matches('/').split('/').collect();
        let kind = parts[0];
        let is_interaction = kind == "interactions";
        let has_token = kind == "webhooks" && parts.len() > 2;
        let is_major = MAJOR.contains(&kind) && parts.get(1).is_some_and(|part| is_id(part));
        let mut major = if is_major { parts[1].to_owned() } else { String::new() };
        if parts.len() > 2 && (has_token || is_interaction) {
            // A token is a secret, which is not for the names of limiters.
            major = if has_token { format!("{major}/{}", digest(parts[2])) } else { String::new() };
            parts[2] = ":token";
        }
        if let Some(at) = code_of(&parts).filter(|at| *at < parts.len()) {
            parts[at] = ":code";
        }
        if let Some(at) = parts.iter().position(|part| *part == "reactions") {
            parts.truncate(at + 1);
        }
        let names: Vec<&str> = parts.iter().map(|part| if is_id(part) { ":id" } else { part }).collect();
        let mut name = format!("{}/{}", method.to_ascii_uppercase(), names.join("/"));
        if name == "DELETE/channels/:id/messages/:id" {
            name.push_str(age_class(parts[3], now_ms));
        }
        let is_callback = is_interaction && names.last() == Some(&"callback");
        Some(Self { name, major, is_global: !(is_interaction || has_token), is_callback, has_token })
    }
}

/// Returns the units and the length of the window that the headers of a response describe; `None` without both.
///
/// The arguments are `X-RateLimit-Limit`, `-Remaining` and `-Reset-After`. Only the first response of a window tells its
/// length. A route without headers has no limit of its own; then the window has `without` units in a second.
///
/// # Examples
///
/// ```
/// # use paddlegate::{Micros, upstream::discord_window};
/// assert_eq!(discord_window(Some("5"), Some("4"), Some("4.98"), None), Some((5, Micros(5_000_000))));
/// assert_eq!(discord_window(Some("5"), Some("3"), Some("4.98"), None), None);
/// assert_eq!(discord_window(None, None, None, Some(50)), Some((50, Micros(1_000_000))));
/// ```
pub fn discord_window(
    limit: Option<&str>,
    remaining: Option<&str>,
    reset_after: Option<&str>,
    without: Option<u64>,
) -> Option<(u64, Micros)> {
    let (Some(limit), Some(remaining), Some(reset_after)) = (limit, remaining, reset_after) else {
        let is_limited = limit.is_some() || remaining.is_some();
        return without.filter(|_| !is_limited).map(|units| (units, Micros(1_000_000)));
    };
    let (limit, remaining): (u64, u64) = (limit.parse().ok()?, remaining.parse().ok()?);
    let reset_after = seconds(reset_after)?;
    let is_first = (1..=MAX_WINDOW).contains(&limit) && remaining.checked_add(1) == Some(limit);
    (is_first && reset_after.0 > 0 && reset_after < LONGEST).then(|| (limit, whole(reset_after)))
}

/// Returns the place of the code of an invite or of a template. A code is no major parameter, so it has no limit of its own.
fn code_of(parts: &[&str]) -> Option<usize> {
    match parts {
        ["invites", ..] => Some(1),
        ["guilds", "templates", ..] => Some(2),
        ["guilds", _, "templates", ..] => Some(3),
        _ => None,
    }
}

/// Returns what follows `/api` or `/api/v10`.
fn path_in_api(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("/api").filter(|rest| rest.starts_with('/') && rest.len() > 1)?;
    let versioned = rest.strip_prefix("/v").and_then(|version| version.find('/').map(|at| version.split_at(at)));
    match versioned {
        Some((version, rest)) if is_number(version) && rest.len() > 1 => Some(rest),
        _ => Some(rest),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_id(text: &str) -> bool {
    (16..=20).contains(&text.len()) && is_number(text)
}

fn digest(token: &str) -> String {
    let digest: [u8; 32] = Sha256::digest(token).into();
    digest.first_chunk().map_or_else(String::new, |head| format!("{:016x}", u64::from_be_bytes(*head)))
}

fn age_class(id: &str, now_ms: i64) -> &'static str {
    let sent_ms = id.parse::<u64>().map_or(EPOCH_MS, |id| (id >> 22).cast_signed() + EPOCH_MS);
    match now_ms.saturating_sub(sent_ms) {
        ..=NEW_MS => ":new",
        OLD_MS.. => ":old",
        _ => "",
    }
}
