//! What a server says of itself: version, eviction, memory, persistence, clients, clock, scripts and notifications.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use paddlegate::store::redis::{Address, RedisConfig};

use super::check::Checks;
use super::node::Node;
use crate::human::{count, share, span};

/// The slots of a cluster.
const SLOTS: u64 = 16_384;
/// A script that takes longer on average holds up all others, in hundredths of a microsecond.
const LONG_SCRIPT: u64 = 100_000;
/// A difference of clocks that confuses those who compare times, in microseconds.
const FAR: u64 = 1_000_000;

/// The reply of `INFO`.
#[derive(Debug, Default)]
pub(super) struct Info(HashMap<String, String>);

impl Info {
    /// Reads what a server says; nothing from one whose user may not ask.
    pub(super) fn read(node: &mut Node) -> Result<Self, String> {
        let mut all = HashMap::new();
        for words in [&["INFO"][..], &["INFO", "commandstats"]] {
            match node.text(words) {
                Ok(text) => all.extend(text.lines().filter_map(|line| {
                    line.split_once(':').map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
                })),
                Err(why) if why.ends_with("NOPERM") => return Ok(Self::default()),
                Err(why) => return Err(why),
            }
        }
        Ok(Self(all))
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }
}

/// Returns the masters of a cluster, and reports those that do not serve.
pub(super) fn masters(
    (mut node, info): (Node, Info),
    config: &RedisConfig,
    timeout: Duration,
    checks: &mut Checks,
) -> Vec<(Node, Info)> {
    let advice = "decisions on the missing slots fail; see CLUSTER NODES";
    let told = node.text(&["CLUSTER", "INFO"]).and_then(|state| Ok((state, node.text(&["CLUSTER", "NODES"])?)));
    let (state, list) = match told {
        Ok(told) => told,
        Err(why) => {
            checks.unknown("cluster", format!("{} {why}", node.address()), "grant +cluster|info +cluster|nodes");
            return vec![(node, info)];
        }
    };
    let value = |name: &str| state.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
    let slots = value("cluster_slots_ok").and_then(|slots| slots.parse().ok()).unwrap_or(0);
    let mut found = Vec::new();
    let mut missing = Vec::new();
    for line in list.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, place, flags, ..] = words[..] else { continue };
        if !flags.split(',').any(|flag| flag == "master") {
            continue;
        }
        let place = place.split('@').next().unwrap_or_default();
        let address =
            place.rsplit_once(':').and_then(|(host, port)| Some(Address::Tcp(host.to_owned(), port.parse().ok()?)));
        let opened = address.ok_or_else(|| "has no address".to_owned()).and_then(|address| {
            let mut node = Node::connect(config, &address, timeout)?;
            Info::read(&mut node).map(|info| (node, info))
        });
        match opened {
            Ok(opened) => found.push(opened),
            Err(why) => missing.push(format!("{place} {why}")),
        }
    }
    if value("cluster_state") == Some("ok") && slots == SLOTS {
        checks.ok("cluster", format!("{} masters serve all {} slots", count(found.len() as u64), count(SLOTS)));
    } else {
        checks.fault("cluster", format!("{} of {} slots are served", count(slots), count(SLOTS)), advice);
    }
    for why in missing {
        checks.fault("cluster", why, advice);
    }
    found
}

/// Checks one server; the findings begin with `at`.
pub(super) fn check(node: &mut Node, info: &Info, at: &str, checks: &mut Checks) {
    if info.0.is_empty() {
        checks.unknown(
            "server",
            format!("{at}the user may not INFO"),
            "grant +info to see version, eviction and memory",
        );
    } else {
        version(info, at, checks);
        eviction(info, at, checks);
        memory(info, at, checks);
        persistence(info, at, checks);
        clients(info, at, checks);
        scripts(info, at, checks);
    }
    clock(node, at, checks);
    notifications(node, at, checks);
}

fn version(info: &Info, at: &str, checks: &mut Checks) {
    if let Some(version) = info.text("valkey_version") {
        return checks.ok("version", format!("{at}Valkey {version}"));
    }
    let version = info.text("redis_version").unwrap_or("unknown");
    let mut parts = version.split('.').map(|part| part.parse::<u64>().unwrap_or(0));
    if (parts.next(), parts.next()) >= (Some(6), Some(2)) {
        checks.ok("version", format!("{at}Redis {version}"));
    } else {
        checks.fault("version", format!("{at}Redis {version}"), "use Redis 6.2 or newer, or Valkey");
    }
}

fn eviction(info: &Info, at: &str, checks: &mut Checks) {
    let advice = "set maxmemory-policy noeviction: an evicted limiter grants its limit anew";
    let most = info.number("maxmemory").unwrap_or(0);
    match info.text("maxmemory_policy") {
        Some("noeviction") => checks.ok("eviction", format!("{at}maxmemory-policy noeviction")),
        Some(policy) if most == 0 => {
            checks.warn("eviction", format!("{at}maxmemory-policy {policy}, without a maxmemory so far"), advice);
        }
        Some(policy) => {
            checks.fault("eviction", format!("{at}maxmemory-policy {policy}, maxmemory {}", bytes(most)), advice);
        }
        None => checks.unknown("eviction", format!("{at}INFO has no maxmemory_policy"), advice),
    }
}

fn memory(info: &Info, at: &str, checks: &mut Checks) {
    let (used, most) = (info.number("used_memory").unwrap_or(0), info.number("maxmemory").unwrap_or(0));
    if most == 0 {
        return checks.ok("memory", format!("{at}{} used, no maxmemory", bytes(used)));
    }
    let detail = format!("{at}{} of {} used ({})", bytes(used), bytes(most), share(used, most));
    if used.saturating_mul(10) > most.saturating_mul(9) {
        checks.warn("memory", detail, "give more: without room decisions fail or are evicted");
    } else {
        checks.ok("memory", detail);
    }
}

fn persistence(info: &Info, at: &str, checks: &mut Checks) {
    let ok = |name| info.text(name) != Some("err");
    if info.number("loading") == Some(1) {
        return checks.fault("persistence", format!("{at}the server is loading its data"), "wait until it has");
    }
    if !ok("rdb_last_bgsave_status") || !ok("aof_last_write_status") {
        let advice = "make room on its disk: it may refuse writes until it can save";
        return checks.fault("persistence", format!("{at}the last save has failed"), advice);
    }
    if info.number("aof_enabled") == Some(1) {
        checks.ok("persistence", format!("{at}append-only file"));
    } else {
        checks.ok("persistence", format!("{at}no append-only file: a crash forgets what was taken since a save"));
    }
}

fn clients(info: &Info, at: &str, checks: &mut Checks) {
    let Some((now, most)) = info.number("connected_clients").zip(info.number("maxclients")) else { return };
    let detail = format!("{at}{} of {} connections", count(now), count(most));
    if now.saturating_mul(10) > most.saturating_mul(9) {
        checks.warn("clients", detail, "raise maxclients, or close what does not use its connections");
    } else {
        checks.ok("clients", detail);
    }
}

/// Reads how long scripts take; those of all programs, also such that are not of Paddlegate.
fn scripts(info: &Info, at: &str, checks: &mut Checks) {
    let Some(all) = info.text("cmdstat_evalsha") else {
        return checks.ok("scripts", format!("{at}none has run since the server started"));
    };
    let value = |name: &str| all.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    let calls = value("calls").and_then(|calls| calls.parse().ok()).unwrap_or(0);
    let (whole, part) = value("usec_per_call").and_then(|time| time.split_once('.')).unwrap_or(("0", "00"));
    let hundredths = format!("{whole}{part}").parse().unwrap_or(0);
    let detail = format!("{at}EVALSHA takes {whole}.{part} us on average, {} calls", count(calls));
    if hundredths > LONG_SCRIPT {
        checks.warn("scripts", detail, "the server is slow or other scripts are long; see SLOWLOG GET");
    } else {
        checks.ok("scripts", detail);
    }
}

fn clock(node: &mut Node, at: &str, checks: &mut Checks) {
    let before = local();
    let reply = node.ask(&["TIME"]).and_then(|reply| {
        redis::from_redis_value::<(u64, u64)>(reply).map_err(|_| "replied to TIME in an unknown form".to_owned())
    });
    let after = local();
    match reply {
        Err(why) => checks.fault("clock", format!("{at}{why}"), "grant +time: scripts read the clock of the server"),
        Ok((seconds, micros)) => {
            let server = seconds.saturating_mul(1_000_000).saturating_add(micros);
            // The reply was made between the two times.
            let apart = before.saturating_sub(server).max(server.saturating_sub(after));
            let detail = format!("{at}{} from this machine's", span(apart / 1_000 * 1_000));
            if apart > FAR {
                checks.warn(
                    "clock",
                    detail,
                    "decisions follow the server's alone; but set both by NTP to compare times",
                );
            } else {
                checks.ok("clock", detail);
            }
        }
    }
}

fn notifications(node: &mut Node, at: &str, checks: &mut Checks) {
    let reply = node.ask(&["CONFIG", "GET", "notify-keyspace-events"]).and_then(|reply| {
        redis::from_redis_value::<HashMap<String, String>>(reply).map_err(|_| "replied in an unknown form".to_owned())
    });
    match reply.map(|reply| reply.into_values().next().unwrap_or_default()) {
        Ok(events) if events.is_empty() => checks.ok("events", format!("{at}no notifications of keys")),
        Ok(events) => {
            let advice = "each change of a key costs a message; no part of Paddlegate needs them";
            checks.warn("events", format!("{at}notify-keyspace-events {events}"), advice);
        }
        Err(why) => checks.unknown("events", format!("{at}{why}"), "grant +config|get, or ask who runs the server"),
    }
}

fn bytes(number: u64) -> String {
    let mega = number / 1_048_576;
    if mega == 0 { format!("{} kB", count(number / 1_024)) } else { format!("{} MB", count(mega)) }
}

/// The clock of this machine, in microseconds since 1970, to compare it with the server's.
#[allow(clippy::disallowed_methods)]
fn local() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).ok().and_then(|time| u64::try_from(time.as_micros()).ok()).unwrap_or(0)
}
