//! The routes and windows of Discord are those that the vectors of all languages say.

use std::collections::HashMap;

use crate::support::sequence::config;
use paddlegate::Micros;
use paddlegate::upstream::{DiscordRoute, discord_window};
use proptest::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;

const SEEDS: &str = "proptest-regressions/discord.txt";

#[derive(Deserialize)]
struct RouteCase {
    method: String,
    path: String,
    #[serde(default)]
    now_ms: i64,
    route: Option<(String, String, bool, bool, bool)>,
}

#[derive(Deserialize)]
struct WindowCase {
    headers: HashMap<String, String>,
    numbers: Option<(u64, f64)>,
}

fn cases<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let path = format!("{}/../tests/discord/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn routes_are_those_of_all_languages() {
    for case in cases::<RouteCase>("routes.json") {
        let route = DiscordRoute::of(&case.method, &case.path, case.now_ms)
            .map(|it| (it.name, it.major, it.is_global, it.is_callback, it.has_token));
        assert_eq!(route, case.route, "{} {}", case.method, case.path);
    }
}

#[test]
fn windows_are_those_of_all_languages() {
    for case in cases::<WindowCase>("numbers.json") {
        let header = |name: &str| case.headers.get(&format!("X-RateLimit-{name}")).map(String::as_str);
        let window = discord_window(header("Limit"), header("Remaining"), header("Reset-After"), Some(50));
        let expected = case.numbers.map(|(units, seconds)| (units, Micros::from_seconds("seconds", seconds).unwrap()));
        assert_eq!(window, expected, "{:?}", case.headers);
    }
}

proptest! {
    #![proptest_config(config(300, SEEDS))]

    #[test]
    fn nothing_panics_and_no_token_is_shown(
        path in "/api(/v10)?/(webhooks|interactions|channels|reactions)/([0-9]{15,21}|é|)/(sécret|[0-9]{20}|)/?[a-z/]{0,9}",
        texts in prop::array::uniform3(prop::option::of("[0-9.-]{0,22}")),
        now: i64,
    ) {
        if let Some(route) = DiscordRoute::of("delete", &path, now / 2) {
            let is_secret = path.contains("webhooks") || path.contains("interactions");
            prop_assert!(!(is_secret && route.name.contains("sécret")), "{route:?}");
        }
        let [limit, remaining, reset_after] = texts.each_ref().map(Option::as_deref);
        let _ = discord_window(limit, remaining, reset_after, None);
    }
}
