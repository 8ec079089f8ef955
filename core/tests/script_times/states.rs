//! Builds states of any size: a separate script writes them in the layout of `engine/state.lua`.

use paddlegate::{Limit, Limiter, MAX_PERMITS, Micros, Operation, Paddlegate, Policy, Prepared, Request, Wait};

use crate::support::calls::{acquire, enter};
use crate::support::raw::{Raw, Reply, words};
use crate::support::set_clock;
use crate::{HOUR, LARGE};

pub(crate) const NOW: u64 = 1_700_000_000_000_000;
pub(crate) const SPAN: u64 = 3_600_000_000;
/// The maximum number of limits that one name can have in use.
pub(crate) const MAX_LABELS: u64 = 32;
/// The maximum number of limits of a policy.
pub(crate) const MAX_LIMITS: usize = 8;

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

/// Builds four limiters with leases up to their limits and tickets of the same ids, which decide together.
pub(crate) fn four_together(store: &Paddlegate, raw: &mut Raw, name: &str, size: u64) -> Limiter {
    let mut each = (1..=4).map(|number| leases_and_queue(store, raw, &format!("{name}-{number}"), size));
    let each: [Limiter; 4] = std::array::from_fn(|_| each.next().expect("four"));
    store.together(&each.each_ref()).expect("one limiter")
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

/// Builds `size` open permits above those that a limiter keeps.
pub(crate) fn too_many_permits(store: &Paddlegate, raw: &mut Raw, name: &str, size: u64) -> Limiter {
    permits(store, raw, name, MAX_PERMITS as u64 + size)
}

/// Builds a limiter list with `size` expired entries.
pub(crate) fn list(store: &Paddlegate, raw: &mut Raw, name: &str, size: u64) -> Limiter {
    let limiter = store.leaky(name, 100, HOUR).expect("a limiter");
    fill(&limiter, raw, &["list"], size);
    limiter
}

/// Builds the state of a name whose policies have `size` limits in use, at most as many as a name may have. The limiter
/// has the first of them.
pub(crate) fn labels(store: &Paddlegate, _: &mut Raw, name: &str, size: u64) -> Limiter {
    let limits: Vec<Limit> = (0..size.min(MAX_LABELS)).map(labelled).collect();
    for limits in limits.chunks(MAX_LIMITS) {
        acquire(&with_limits(store, name, limits.to_vec()), Request::estimate(10), NOW);
    }
    with_limits(store, name, limits[..1].to_vec())
}

/// Builds a name with `size` minutes of history, at most 60, and as many labels with refusals in the last minute, at most 32.
pub(crate) fn history(store: &Paddlegate, _: &mut Raw, name: &str, size: u64) -> Limiter {
    let limiter = with_limits(store, name, vec![labelled(0)]);
    let minutes = size.min(60);
    for minute in 0..minutes {
        acquire(&limiter, Request::cost(2), NOW + minute * 60_000_000);
    }
    for number in 0..size.min(MAX_LABELS) {
        let other = with_limits(store, name, vec![labelled(number)]);
        let at = NOW + (minutes - 1) * 60_000_000 + 1;
        acquire(&other, Request::cost(1), at);
        acquire(&other, Request::cost(LARGE), at);
    }
    limiter
}

/// Builds a limiter with the most limits, whose stream has `size` decisions, as many as it may have: its recording goes on.
pub(crate) fn recorded(store: &Paddlegate, raw: &mut Raw, name: &str, size: u64) -> Limiter {
    recorded_up_to(store, raw, name, size, size)
}

/// Builds a limiter whose stream has `size` decisions of a recording before the one that goes on, which keeps one.
pub(crate) fn recorded_before(store: &Paddlegate, raw: &mut Raw, name: &str, size: u64) -> Limiter {
    recorded_up_to(store, raw, name, size, 1)
}

fn recorded_up_to(store: &Paddlegate, raw: &mut Raw, name: &str, size: u64, most: u64) -> Limiter {
    let limiter = with_limits(store, name, (0..MAX_LIMITS as u64).map(labelled).collect());
    set_clock(NOW);
    limiter.record(Micros(SPAN), most).expect("a recording");
    fill(&limiter, raw, &["decisions"], size);
    limiter
}

/// Returns a limiter of this name with the limits of another policy.
pub(crate) fn with_limits(store: &Paddlegate, name: &str, limits: Vec<Limit>) -> Limiter {
    store.limiter(name, Policy::new(limits).expect("a policy")).expect("a limiter")
}

/// Returns the limit with this number: of every kind that several limits of a name can have, with the longest label.
pub(crate) fn labelled(number: u64) -> Limit {
    let limit = match number % 4 {
        0 => Limit::window(LARGE, HOUR),
        1 => Limit::leaky(LARGE, HOUR),
        2 => Limit::bucket(LARGE, HOUR),
        _ => Limit::points(LARGE, HOUR),
    };
    limit.and_then(|limit| limit.labelled(&format!("limit-{number:026}"))).expect("a limit")
}

/// As a job waits: for as long as it takes, and for an hour after its time.
pub(crate) fn wait() -> Wait<'static> {
    Wait { claim_timeout: Micros(SPAN), ..Wait::up_to(Micros(SPAN)) }
}

const FILL: &str = r"
local what, n, now, span, tag = ARGV[1], ARGV[2] + 0, ARGV[3] + 0, ARGV[4] + 0, ARGV[5]
local keys = {}
for i = 1, #KEYS do
  keys[string.match(KEYS[i], '}:(%l+)')] = KEYS[i]
end
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
  add('ZADD', keys.h, function(i) return text(now + span + i), 'lease' .. i end)
  add('HSET', keys.t, function(i) return '\31lease' .. i, record end)
elseif what == 'tickets' or what == 'waiters' then
  local times = string.format(' 1 %.0f %.0f %.0f %.0f ', now, now + span, now + 2 * span, span)
  times = times .. tag .. ' ' .. (what == 'waiters' and 'nobody' or '')
  add('ZADD', keys.q, function(i) return i + 1, 'ticket' .. i end)
  add('HSET', keys.t, function(i) return 'ticket' .. i, (i + 1) .. ' ' .. i .. times end)
elseif what == 'events' then
  add('LPUSH', keys.w, function(i) return text(now - (n - i)) end)
elseif what == 'between' then
  add('LPUSH', keys.w, function() return text(now - 5) end)
elseif what == 'permits' then
  local mark = text((now + 300000000) * 2)
  add('ZADD', keys.p, function(i) return mark, string.format('%s|%032d:%.0f:10', tag, i, now) end)
elseif what == 'decisions' then
  local stream = string.gsub(KEYS[1], ':s:', ':r:', 1)
  for i = 1, n do
    redis.call('XADD', stream, '*', 't', text(now) .. ' a 1 0 0 0 - - 1,1,1,1,1,1,1,1 ' .. tag .. ' lease' .. i)
  end
elseif what == 'list' then
  add('ZADD', keys.limiters, function(i) return text(now - i), 'limiter' .. i end)
end
if what == 'tickets' or what == 'waiters' then
  redis.call('HSET', keys.t, '', (n + 1) .. ' ' .. tag .. '=' .. (n + 1))
end
";

/// Adds `size` entries of each kind to the keys of a limiter.
fn fill(limiter: &Limiter, raw: &mut Raw, what: &[&str], size: u64) {
    let Ok(Prepared::Call(call)) = limiter.prepare(Operation::Reset) else { panic!("not on redis") };
    // The script, its digest, the number of keys, the keys, the number of limits, and the tag of the first.
    let words = words(call.bytes());
    let text = |word: &[u8]| String::from_utf8_lossy(word).into_owned();
    let count: usize = text(&words[2]).parse().expect("a number of keys");
    let (mut keys, tag) = (words[3..3 + count].to_vec(), words[4 + count].clone());
    keys.push(format!("{}}}:limiters", text(&keys[0]).split_once('}').expect("a tag").0).into_bytes());
    for what in what {
        let mut command = vec![b"EVAL".to_vec(), FILL.into(), keys.len().to_string().into()];
        command.extend(keys.clone());
        command.extend([(*what).into(), size.to_string().into(), NOW.to_string().into(), SPAN.to_string().into()]);
        command.push(tag.clone());
        let reply = raw.execute(&command);
        assert_eq!(reply, Reply::Nil, "{what}");
    }
}
