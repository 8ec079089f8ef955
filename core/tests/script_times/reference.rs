//! A script that is always the same, whose time says how fast the machine is at the moment.

use crate::support::raw::{Raw, Reply};

/// The time of the script on an idle machine, in microseconds. Times are scaled to a machine on which it takes this.
pub(crate) const TIME: i64 = 2_500;

/// The work of our scripts: commands on small keys, and texts that are taken apart and put together.
const SCRIPT: &str = r"
local text = '1 1 1'
for i = 1, 400 do
  local field = 'field' .. i % 100
  local _, _, count, sum, last = string.find(text, '^(%d+) (%d+) (%d+)$')
  local numbers = {count = count + 1, sum = sum + i, last = last + 0}
  redis.call('HSET', KEYS[1], field, string.format('%.0f %.0f %.0f', numbers.count, numbers.sum, i))
  redis.call('ZADD', KEYS[2], i % 100, field)
  redis.call('ZRANGE', KEYS[2], 0, 0)
  text = redis.call('HGET', KEYS[1], field)
end
return redis.call('UNLINK', KEYS[1], KEYS[2])
";

/// Runs the script on keys of this name.
pub(crate) fn run(raw: &mut Raw, name: &str) {
    let keys = ["counts", "order"].map(|what| format!("{name}:{what}"));
    let reply = raw.execute(&["EVAL", SCRIPT, "2", &keys[0], &keys[1]]);
    assert_eq!(reply, Reply::Integer(2));
}
