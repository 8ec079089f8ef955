//! Whether another program has a value in the place of a list of limiters. The lists cannot be read then.

use super::check::Checks;
use super::node::Node;

/// The number of lists: one for each hash tag.
const LISTS: u16 = 256;

const ADVICE: &str = "if no other program needs it, `paddlegate doctor --repair` deletes it";

/// Looks at each list of this node, and deletes what is none if that is asked for.
pub(super) fn check(node: &mut Node, is_repair: bool, at: &str, checks: &mut Checks) {
    for tag in 0..LISTS {
        let key = format!("pg2:{{{tag:02x}}}:limiters");
        match node.ask(&["ZCARD", &key]) {
            Err(why) if why.ends_with("WRONGTYPE") => {}
            // The right to it is checked before, and in a cluster most lists are on other nodes.
            Err(why) if why.starts_with("refused") => continue,
            Err(why) => return checks.unknown("list", format!("{at}{why}"), "try again"),
            Ok(_) => continue,
        }
        let held = format!("{at}{key} holds a value of another program");
        if !is_repair {
            checks.fault("list", held, ADVICE);
            continue;
        }
        match node.ask(&["UNLINK", &key]) {
            Ok(_) => checks.ok("list", format!("deleted: {held}")),
            Err(why) => checks.fault("list", format!("{held}; {why}"), "grant +unlink"),
        }
    }
}
