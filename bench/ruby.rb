# frozen_string_literal: true

# The share of Ruby: one caller, by the clock and by the processor time of this process.

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

def emit(variant, reference, ours)
  line = { case: "ruby", variant: variant, placement: ENV.fetch("BENCH_PLACEMENT") }
  puts JSON.generate(line.merge(reference: reference * 1e6, ours: ours * 1e6, unit: "us"))
end

def by_redis_rb(driver)
  client = Redis.new(url: ENV.fetch("PADDLEGATE_URL"), driver: driver, timeout: 20)
  digest = client.script(:load, GCRA)
  keys = ["gcra"]
  numbers = [1, 10**12]
  ->(calls) { calls.times { client.evalsha(digest, keys, numbers) } }
end

# A busy machine may stop for a while; that is no failure here.
Paddlegate.configure { |config| config.timeout = 20 }
limiter = Paddlegate.leaky("ruby", HUGE, 1)
ours = ->(calls) { calls.times { limiter.try_acquire } }
reference = fastest("plain Ruby" => by_redis_rb(:ruby), "hiredis" => by_redis_rb(:hiredis))

sides = [reference, ours].map { |side| [side, calls_per_round(side)] }
ROUNDS.times do
  (wall, cpu), (our_wall, our_cpu) = sides.map { |side, calls| turn(side, calls) }
  emit("one", wall, our_wall)
  emit("cpu", cpu, our_cpu)
end
abort "refused" unless limiter.allow?
