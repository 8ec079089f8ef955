//! Builds states of any size: a separate script writes them in the layout of `engine/state.lua`.

use paddlegate::{Limiter, Micros, Operation, Paddlegate, Prepared, QueuePosition, Request, Wait};

use crate::support::calls::{acquire, enter};
use crate::support::raw::{Raw, Reply, words};
use crate::support::set_clock;
use crate::{HOUR, LARGE};

pub(crate) const NOW: u64 = 1_700_000_000_000_000;
pub(crate) const SPAN: u64 = 3_600_000_000;

/// Builds leases that expire in an hour, under a limit that leaves room for a hundred more.
pub(crate) fn leases(store: &Paddlegate, raw: &mut Raw, name: &str, size: u64) -> Limiter {
    let limiter = store.concurrent(name, LARGE, HOUR).expect("a limiter");
    enter(&limiter, "first", 1, None, NOW);
    fill(&limiter, raw, &["leases"], size - 100);
    limiter
}

/// Builds one lease under a limit of one, and `size` tickets that wait for it.
pub(crate) fn queue(store: &Paddlegate, raw: &mut Raw, name: &str, size: u64) -> Limiter {
    queued(store, raw, name, size, 1, &["tickets"])
}

/// Builds one lease under a limit of one, and `size` waiters whose channel has no subscriber.
pub(crate) fn dead_waiters(store: &Paddlegate, raw: &mut Raw, name: &str, size: u64) -> Limiter {
    queued(store, raw, name, size, 1, &["waiters"])
}

/// Builds leases up to the limit, and tickets that wait for them.
pub(crate) fn leases_and_queue(store: &Paddlegate, raw: &mut Raw, name: &str, size: u64) -> Limiter {
    queued(store, raw, name, size - 100, size - 100, &["leases", "tickets"])
}

fn queued(store: &Paddlegate, raw: &mut Raw, name: &str, size: u64, limit: u64, fillings: &[&str]) -> Limiter {
    let limiter = store.concurrent(name, limit, HOUR).expect("a limiter");
    enter(&limiter, "first", 1, None, NOW);
    if limit > 1 {
        fill(&limiter, raw, &fillings[..1], limit - 1);
    }
    enter(&limiter, "head", 1, Some(wait()), NOW);
    fill(&limiter, raw, &fillings[usize::from(limit > 1)..], size - 1);
    limiter
}

/// Builds a full meter, and `size` tickets that wait for it.
pub(crate) fn meter_and_queue(store: &Paddlegate, raw: &mut Raw, name: &str, size: u64) -> Limiter {
    let limiter = store.leaky(name, 1, HOUR).expect("a limiter");
    acquire(&limiter, Request::cost(1), NOW);
    enter(&limiter, "head", 1, Some(wait()), NOW);
    fill(&limiter, raw, &["tickets"], size - 1);
    limiter
}

/// A window that has granted so much in the last second, which leaves room for a hundred more.
pub(crate) fn window(store: &Paddlegate, raw: &mut Raw, name: &str, size: u64) -> Limiter {
    let limiter = store.window(name, size, HOUR).expect("a limiter");
    fill(&limiter, raw, &["events"], size - 100);
    limiter
}

/// A window that has granted all in the last second: the first tenth to one call, whose permit is open, then four
/// fifths one by one, then the last tenth to another call.
pub(crate) fn window_with_permits(store: &Paddlegate, raw: &mut Raw, name: &str, size: u64) -> Limiter {
    let limiter = store.window(name, size, HOUR).expect("a limiter");
    let acquire = |id: &str, at: u64| {
        set_clock(at);
        limiter.acquire_with_id(Request::estimate(size / 10), id, None).expect("a decision").permit.expect("a permit");
    };
    acquire("first", NOW - 10);
    fill(&limiter, raw, &["between"], size / 10 * 8);
    acquire("last", NOW);
    limiter
}

/// Returns a limiter with an empty window.
pub(crate) fn empty_window(store: &Paddlegate, _: &mut Raw, name: &str, size: u64) -> Limiter {
    store.window(name, size, HOUR).expect("a limiter")
}

/// Builds `size` open permits.
pub(crate) fn permits(store: &Paddlegate, raw: &mut Raw, name: &str, size: u64) -> Limiter {
    let limiter = store.points(name, 1_000_000_000, HOUR).expect("a limiter");
    acquire(&limiter, Request::estimate(10), NOW);
    fill(&limiter, raw, &["permits"], size);
    limiter
}

/// Builds a limiter list with `size` expired entries.
pub(crate) fn list(store: &Paddlegate, raw: &mut Raw, name: &str, size: u64) -> Limiter {
    let limiter = store.leaky(name, 100, HOUR).expect("a limiter");
    fill(&limiter, raw, &["list"], size);
    limiter
}

/// As a job waits: for as long as it takes, and for an hour after its time.
pub(crate) fn wait() -> Wait<'static> {
    Wait { max_wait: Micros(SPAN), claim_timeout: Micros(SPAN), channel: "", position: QueuePosition::End }
}

const FILL: &str = r"
local what, n, now, span = ARGV[1], ARGV[2] + 0, ARGV[3] + 0, ARGV[4] + 0
local keys = #KEYS
local first, permits, queue, records, list = KEYS[3], KEYS[keys - 3], KEYS[keys - 2], KEYS[keys - 1], KEYS[keys]
local function text(number) return string.format('%.0f', number) end
-- A thousand at a time.
local function add(command, key, each)
  for from = 1, n, 1000 do
    local words = {}
    for i = from, math.min(from + 999, n) do
      local a, b = each(i)
      words[#words + 1] = a
      words[#words + 1] = b
    end
    redis.call(command, key, unpack(words))
  end
end
if what == 'leases' then
  local record = text(now - 1) .. ' ' .. text(now - 1) .. ' 1'
  add('ZADD', first, function(i) return text(now + span + i), 'lease' .. i end)
  add('HSET', records, function(i) return '\31lease' .. i, record end)
elseif what == 'tickets' or what == 'waiters' then
  local times = string.format(' 1 %.0f %.0f %.0f %.0f ', now, now + span, now + 2 * span, span)
  times = times .. (what == 'waiters' and 'nobody' or '')
  add('ZADD', queue, function(i) return i + 1, 'ticket' .. i end)
  add('HSET', records, function(i) return 'ticket' .. i, (i + 1) .. ' ' .. i .. times end)
elseif what == 'events' then
  add('LPUSH', first, function(i) return text(now - (n - i)) end)
elseif what == 'between' then
  add('LPUSH', first, function() return text(now - 5) end)
elseif what == 'permits' then
  local mark, rest = text((now + 300000000) * 2), ':' .. text(now) .. ':10'
  add('ZADD', permits, function(i) return mark, string.format('%032d', i) .. rest end)
elseif what == 'list' then
  add('ZADD', list, function(i) return text(now - i), 'limiter' .. i end)
end
if what == 'tickets' or what == 'waiters' then
  redis.call('HSET', records, '', (n + 1) .. ' ' .. (n + 1))
end
";

/// Adds `size` entries of each kind to the keys of a limiter.
fn fill(limiter: &Limiter, raw: &mut Raw, what: &[&str], size: u64) {
    let Ok(Prepared::Call(call)) = limiter.prepare(Operation::Reset) else { panic!("not on redis") };
    let mut keys = words(call.bytes()).split_off(1);
    let text = String::from_utf8_lossy(&keys[0]).into_owned();
    keys.push(format!("{}}}:limiters", text.split_once('}').expect("a tag").0).into_bytes());
    for what in what {
        let mut command = vec![b"EVAL".to_vec(), FILL.into(), keys.len().to_string().into()];
        command.extend(keys.clone());
        command.extend([(*what).into(), size.to_string().into(), NOW.to_string().into(), SPAN.to_string().into()]);
        let reply = raw.execute(&command);
        assert_eq!(reply, Reply::Nil, "{what}");
    }
}
