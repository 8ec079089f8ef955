//! Whether a user of the server has the rights that limiters need.

use super::check::Checks;
use super::node::Node;
use crate::human::{count, plain};

/// The commands of the page on ACL, with arguments as a limiter sends them.
const COMMANDS: [&str; 42] = [
    "EVALSHA 0 1 KEY",
    "EVAL 0 1 KEY",
    "GET KEY",
    "SET KEY 0",
    "TIME",
    "HINCRBY KEY 0 1",
    "HLEN KEY",
    "PEXPIRE KEY 1",
    "PTTL KEY",
    "ZADD KEY 0 0",
    "ZRANGEBYSCORE KEY 0 0",
    "ZREM KEY 0",
    "ZREMRANGEBYRANK KEY 0 0",
    "ZCOUNT KEY 0 0",
    "ZSCAN KEY 0",
    "SCAN 0",
    "HGETALL KEY",
    "LLEN KEY",
    "LINDEX KEY 0",
    "LPUSH KEY 0",
    "RPUSH KEY 0",
    "LTRIM KEY 0 0",
    "LRANGE KEY 0 0",
    "LREM KEY 0 0",
    "ZSCORE KEY 0",
    "ZCARD KEY",
    "ZRANGE KEY 0 0",
    "ZRANK KEY 0",
    "ZINCRBY KEY 1 0",
    "ZREMRANGEBYSCORE KEY 0 0",
    "ZUNION 1 KEY",
    "HGET KEY 0",
    "HSET KEY 0 0",
    "HDEL KEY 0",
    "HMGET KEY 0",
    "HSCAN KEY 0",
    "PUBLISH CHANNEL 0",
    "SUBSCRIBE CHANNEL",
    "UNLINK KEY",
    "XADD KEY * t 0",
    "XRANGE KEY - +",
    "XREVRANGE KEY + -",
];

/// What a connection to a database besides 0 needs too.
const OF_DATABASES: &str = "SELECT 0";

/// What a connection to a cluster needs too, while a slot moves.
const OF_CLUSTERS: &str = "ASKING";

/// Asks the server what the user may do, without doing it.
pub(super) fn check(
    node: &mut Node,
    user: Option<&str>,
    (has_database, is_cluster): (bool, bool),
    at: &str,
    checks: &mut Checks,
) {
    let user = match user.map_or_else(|| node.text(&["ACL", "WHOAMI"]), |user| Ok(user.to_owned())) {
        Ok(user) => user,
        Err(why) => return checks.unknown("rights", format!("{at}{why}"), ASK),
    };
    let mut missing: Vec<String> = Vec::new();
    let more = [has_database.then_some(OF_DATABASES), is_cluster.then_some(OF_CLUSTERS)];
    let needed: Vec<&str> = COMMANDS.into_iter().chain(more.into_iter().flatten()).collect();
    for command in &needed {
        let words: Vec<&str> = command
            .split(' ')
            .map(|word| match word {
                "KEY" => "pg2:{00}:s:paddlegate doctor",
                "CHANNEL" => "pg2:hints:doctor",
                word => word,
            })
            .collect();
        let said = match node.dry_run(&user, &words) {
            Ok(Some(said)) => said,
            Ok(None) => {
                let detail = format!("{at}there is no user {}", plain(&user));
                return checks.fault("rights", detail, "check the name; ACL USERS lists all");
            }
            // The words would only repeat themselves.
            Err(why) => {
                let code = why.rsplit(' ').next().unwrap_or_default();
                return checks.unknown("rights", format!("{at}cannot ask for those of {}: {code}", plain(&user)), ASK);
            }
        };
        let right = match said.as_str() {
            "OK" => continue,
            said if said.contains("channel") => "&pg2:hints:*".to_owned(),
            said if said.contains(" key") => "~pg2:*".to_owned(),
            _ => format!("+{}", words[0].to_lowercase()),
        };
        if !missing.contains(&right) {
            missing.push(right);
        }
    }
    if missing.is_empty() {
        let all = count(needed.len() as u64);
        return checks.ok("rights", format!("{at}user {} may run all {all} commands on pg2:*", plain(&user)));
    }
    let advice = format!("ACL SETUSER {user} {}", missing.join(" "));
    let rights = if missing.len() == 1 { "right" } else { "rights" };
    let detail = format!("{at}user {} lacks {} {rights}", plain(&user), count(missing.len() as u64));
    if missing.iter().all(|right| SPARED.contains(&&**right)) {
        checks.warn("rights", detail, advice);
    } else {
        checks.fault("rights", detail, advice);
    }
}

/// Without these every decision is made: waiting calls are woken late, a reset and a change of all keys fail, changes are missing from
/// their log, and so are the keys that are refused most.
const SPARED: [&str; 11] = [
    "&pg2:hints:*",
    "+publish",
    "+scan",
    "+subscribe",
    "+unlink",
    "+xadd",
    "+xrange",
    "+xrevrange",
    "+zincrby",
    "+zremrangebyscore",
    "+zunion",
];

const ASK: &str = "needs Redis 7 and +acl|whoami +acl|dryrun; the doctor tries decisions below";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_commands_are_those_of_the_page() {
        let page = include_str!("../../../../../docs/src/reference/redis-keys-acl.md");
        let rows = page
            .split("\n| for | commands |\n")
            .nth(1)
            .unwrap_or_default()
            .lines()
            .take_while(|line| line.starts_with('|'));
        let cells = rows.filter_map(|row| row.rsplit('|').nth(1)).map(|cell| cell.trim().trim_matches('`'));
        let listed: BTreeSet<&str> =
            cells.filter(|cell| !cell.starts_with('-')).flat_map(|cell| cell.split(' ')).collect();
        let own: BTreeSet<&str> = COMMANDS
            .iter()
            .chain([&OF_DATABASES, &OF_CLUSTERS])
            .filter_map(|command| command.split(' ').next())
            .collect();
        assert!(listed.len() > 30);
        assert_eq!(own.difference(&listed).copied().collect::<Vec<_>>(), [""; 0]);
        assert_eq!(listed.difference(&own).copied().collect::<Vec<_>>(), [""; 0]);
    }
}
