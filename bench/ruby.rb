# frozen_string_literal: true

# The share of Ruby: `ruby.rb redis`, one caller by the clock and by the processor time of this
# process, and `ruby.rb memory`.

require "json"
require "hiredis"
require "redis"
require "paddlegate"

ROUNDS = Integer(ENV.fetch("BENCH_ROUNDS"))
SECONDS = Float(ENV.fetch("BENCH_SECONDS"))
HUGE = 10**9 # Nothing is refused: a refusal is less work.
GCRA = File.read("#{__dir__}/gcra.lua")

# Wall and processor seconds of one call; a contestant is a procedure that makes so many calls.
def turn(side, calls)
  before = clock
  side.call(calls)
  clock.zip(before).map { |now, start| (now - start) / calls }
end

def clock
  ids = [Process::CLOCK_MONOTONIC, Process::CLOCK_PROCESS_CPUTIME_ID]
  ids.map { |id| Process.clock_gettime(id) }
end

def calls_per_round(side)
  side.call(64) # Connects and loads the script.
  calls = 64
  calls *= 2 while turn(side, calls).first * calls < SECONDS * 0.7
  calls
end

# The fastest form of the reference, so that it competes at its best.
def fastest(forms)
  times = forms.transform_values do |form|
    calls = calls_per_round(form)
    Array.new(3) { turn(form, calls).first }.min
  end
  best = times.min_by(&:last).first
  shown = times.map { |name, time| format("%<name>s %<us>.1f us", name: name, us: time * 1e6) }
  warn "       the reference is #{best} (#{shown.join(", ")})"
  forms.fetch(best)
end

def emit(name, variant, unit, reference, ours)
  scale = { "us" => 1e6, "ns" => 1e9 }.fetch(unit)
  line = { case: name, variant: variant, placement: ENV.fetch("BENCH_PLACEMENT") }
  puts JSON.generate(line.merge(reference: reference * scale, ours: ours * scale, unit: unit))
end

# Lets both take turns; a block emits what each turn took.
def compare(reference, ours)
  sides = [reference, ours].map { |side| [side, calls_per_round(side)] }
  ROUNDS.times { yield(*sides.map { |side, calls| turn(side, calls) }) }
end

def by_redis_rb(driver)
  client = Redis.new(url: ENV.fetch("PADDLEGATE_URL"), driver: driver, timeout: 20)
  digest = client.script(:load, GCRA)
  keys = ["gcra"]
  numbers = [1, 10**12]
  ->(calls) { calls.times { client.evalsha(digest, keys, numbers) } }
end

def with_redis
  # A busy machine may stop for a while; that is no failure here.
  Paddlegate.configure { |config| config.timeout = 20 }
  limiter = Paddlegate.leaky("ruby", HUGE, 1)
  ours = ->(calls) { calls.times { limiter.try_acquire } }
  reference = fastest("plain Ruby" => by_redis_rb(:ruby), "hiredis" => by_redis_rb(:hiredis))
  compare(reference, ours) do |(wall, cpu), (our_wall, our_cpu)|
    emit("ruby", "one", "us", wall, our_wall)
    emit("ruby", "cpu", "us", cpu, our_cpu)
  end
  abort "refused" unless limiter.allow?
end

METERS = {} # rubocop:disable Style/MutableConstant

# What one writes by hand, as in python.py.
def gcra(key, interval = 1e-9, burst = 1.0)
  now = Process.clock_gettime(Process::CLOCK_REALTIME)
  empty = METERS.fetch(key, now)
  empty = now if empty < now
  empty += interval
  return false if empty - burst > now

  METERS[key] = empty
  true
end

def in_memory
  store = Paddlegate::Store.new("memory://")
  limiter = store.leaky("ruby", HUGE, 1)
  per_user = store.leaky("users", HUGE, 1, keyed: true)
  ours = ->(calls) { calls.times { limiter.allow? } }
  {
    "by hand" => [->(calls) { calls.times { gcra("ruby") } }, ours],
    "keyed" => [ours, ->(calls) { calls.times { per_user.allow?(key: "ada") } }]
  }.each do |variant, sides|
    compare(*sides) { |(wall), (our_wall)| emit("ruby memory", variant, "ns", wall, our_wall) }
  end
  abort "refused" unless limiter.allow?
end

{ "redis" => method(:with_redis), "memory" => method(:in_memory) }.fetch(ARGV.first).call
