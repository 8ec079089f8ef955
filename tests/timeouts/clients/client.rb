# frozen_string_literal: true

# Calls a limiter. What it reads and says is in timeouts_test.py.

require "paddlegate"

$stdout.sync = true

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :float_millisecond)
end

def call(limiter)
  began = now
  what =
    begin
      limiter.try_acquire
      "answered"
    rescue Paddlegate::UnavailableError
      "unavailable"
    rescue StandardError => e
      e.class.name
    end
  "#{(now - began).round(1)} #{what}"
end

trap("USR2") { nil }
limiter = nil
$stdin.each_line do |line|
  verb, what, timeout = line.split
  if verb == "open"
    limiter = Paddlegate::Store.new(what, timeout: timeout.to_f / 1000).bucket("timeouts",
                                                                               1_000_000, :day)
    puts "opened"
  elsif what == "1"
    puts call(limiter)
  else
    puts Array.new(what.to_i) { Thread.new { call(limiter) } }.map(&:value).join(" ")
  end
end
