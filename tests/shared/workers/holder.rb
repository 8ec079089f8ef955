# frozen_string_literal: true

# Takes a lease, works and gives it back, again and again. Arguments and lines: see holder.py.

require "paddlegate"

$stdout.sync = true
NAME, LIMIT, *NUMBERS = ARGV
LOCK_MS, HOLD_MS, ROUNDS, LOOPS = NUMBERS.map(&:to_i)
STORE = Paddlegate::Store.new(ENV.fetch("PADDLEGATE_URL"), timeout: 10)
KIND, AMOUNT, INTERVAL = LIMIT.split("/")
LIMITER =
  if INTERVAL
    STORE.limiter(NAME, [[KIND, Integer(AMOUNT), Float(INTERVAL)]], wait_timeout: 120)
  else
    STORE.concurrent(NAME, Integer(LIMIT), wait_timeout: 120, lock_timeout: LOCK_MS / 1000.0)
  end

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

def hold
  ROUNDS.times do
    permit = LIMITER.acquire
    $stdout.write("enter #{permit.fencing_token || 0} #{permit.decision.ticket || 0} #{now}\n")
    sleep(HOLD_MS / 1000.0)
    $stdout.write("leave #{permit.fencing_token} #{now}\n") if permit.fencing_token
    answer = permit.release
    $stdout.write("answer #{permit.fencing_token} #{answer}\n") if permit.fencing_token
  end
end

Array.new(LOOPS) { Thread.new { hold } }.each(&:join)
