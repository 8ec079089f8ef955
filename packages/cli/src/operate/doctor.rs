//! `doctor`: whether a Redis is fit for limits that programs share.

mod check;
mod lists;
mod node;
mod probe;
mod rights;
mod server;

use clap::Args;
use paddlegate::store::redis::{Address, RedisConfig};
use serde_json::json;

use self::check::Checks;
use self::node::Node;
use super::pretty;
use super::store::Store;
use crate::failure::Failure;
use crate::print;

/// The arguments of `doctor`.
#[derive(Args, Debug)]
pub(crate) struct Doctor {
    /// The user whose rights are checked, such as that of the programs [default: that of the URL]
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Delete the values of other programs in the place of the lists of limiters, which hide all limiters
    #[arg(long)]
    repair: bool,
    #[command(flatten)]
    store: Store,
}

/// Checks the connection, each server and what a limiter needs of them.
pub(crate) fn run(order: &Doctor) -> Result<(), Failure> {
    let paddlegate = order.store.open()?;
    let redis = paddlegate.redis().ok_or_else(|| Failure::Other("the store is in memory".to_owned()))?;
    let (config, timeout) = (redis.location(), redis.timeout().duration());
    let mut checks = Checks::default();
    let found = connect(config, |address| Node::connect(config, address, timeout), &mut checks);
    let is_reached = found.is_some();
    if let Some((node, info)) = found {
        let is_cluster = info.number("cluster_enabled") == Some(1);
        let mut nodes = vec![(node, info)];
        if is_cluster {
            nodes = server::masters(nodes.remove(0), config, timeout, &mut checks);
        }
        let shows_nodes = nodes.len() > 1;
        for (mut node, info) in nodes {
            let at = if shows_nodes { format!("{}: ", node.address()) } else { String::new() };
            server::check(&mut node, &info, &at, &mut checks);
            rights::check(&mut node, order.user.as_deref(), (config.db != 0, is_cluster), &at, &mut checks);
            lists::check(&mut node, order.repair, &at, &mut checks);
        }
        probe::check(&paddlegate, &mut checks);
    }
    if order.store.json {
        print(&pretty(&json!({ "ok": !checks.have_fault(), "checks": checks.json() })))?;
    } else {
        print(&checks.text())?;
    }
    match (is_reached, checks.have_fault()) {
        (false, _) => Err(Failure::Unavailable("no server of the URL can be used".to_owned())),
        (true, true) => Err(Failure::Refused),
        (true, false) => Ok(()),
    }
}

const PRIMARY: &str = "name its primary first in the URL: here the first call of each program fails";
const LOGIN: &str = "check address, port, login and TLS of the URL";

/// Connects to the nodes of the URL in their order, and returns the first that is no replica.
fn connect(
    config: &RedisConfig,
    open: impl Fn(&Address) -> Result<Node, String>,
    checks: &mut Checks,
) -> Option<(Node, server::Info)> {
    let mut found = None;
    let mut failed = Vec::new();
    for address in &config.nodes {
        match open(address).and_then(|mut node| server::Info::read(&mut node).map(|info| (node, info))) {
            Ok((node, info)) if info.text("role") == Some("slave") && info.number("cluster_enabled") != Some(1) => {
                failed.push((format!("{} is a replica, which cannot decide", node.address()), PRIMARY));
            }
            Ok(usable) if found.is_none() => found = Some(usable),
            Ok(_) => {}
            Err(why) => failed.push((format!("{address} {why}"), LOGIN)),
        }
    }
    for (why, advice) in failed {
        // Programs find the next node, at the cost of a failed call each.
        if found.is_some() {
            checks.warn("connection", why, advice);
        } else {
            checks.fault("connection", why, advice);
        }
    }
    if let Some((node, _)) = &mut found {
        match node.round_trip() {
            Ok(time) => {
                let tls = if config.tls { " by TLS" } else { "" };
                checks.ok("connection", format!("{}{tls}, round trip {}", node.address(), crate::human::span(time)));
            }
            Err(why) => checks.fault("connection", format!("{} {why}", node.address()), "check the rights of the user"),
        }
    }
    found
}
