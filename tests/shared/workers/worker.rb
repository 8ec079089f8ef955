# frozen_string_literal: true

# The Ruby worker, with threads.

require "json"
require "paddlegate"

# What is sent for a decision, and what for an error.
module Shown
  module_function

  def decision(decision)
    {
      allowed: decision.allowed?, limit: decision.limit, remaining: decision.remaining,
      retry_us: micros(decision.retry_after), reset_us: micros(decision.reset_after),
      reason: decision.reason, at_us: decision.at_us, permit: decision.permit
    }
  end

  def error(error)
    {
      class: error.class.name,
      argument: (error.argument if error.respond_to?(:argument)),
      may_have_counted: (error.may_have_counted? if error.respond_to?(:may_have_counted?))
    }
  end

  def micros(seconds)
    (seconds * 1_000_000).round unless seconds.nil?
  end
end

# The lines that a hammering worker writes at its end.
class Records
  def initialize(path)
    @path = path
    @lines = Queue.new
    @errors = Hash.new(0)
    @may_have_counted = 0
  end

  def decision(key, units, decision)
    at = decision.at_us
    if decision.allowed?
      add(key, :grant, at: at, units: units, permit: decision.permit)
    else
      refusal = { retry: Shown.micros(decision.retry_after), reason: decision.reason }
      add(key, :refusal, at: at, units: units, **refusal)
    end
  end

  def settlement(key, permit, actual, answer, after, before)
    times = { after: after.at_us, before: before.at_us }
    add(key, :settlement, permit: permit, actual: actual, answer: answer, **times)
  end

  def error(error)
    @errors[error.class.name] += 1
    @may_have_counted += 1 if error.respond_to?(:may_have_counted?) && error.may_have_counted?
  end

  def write
    File.open(@path, "w") { |file| file.puts(@lines.pop) until @lines.empty? }
    { errors: @errors, may_have_counted: @may_have_counted }
  end

  private

  def add(key, kind, **fields)
    @lines << JSON.generate(limiter: key, is: kind, **fields)
  end
end

# A method for each verb.
class Worker
  def initialize
    @limiters = {}
  end

  def open(url:, timeout:, now_us: nil)
    @clock = now_us && Paddlegate::TestClock.new(now_us)
    @store = Paddlegate::Store.new(url, timeout: timeout, clock: @clock)
    nil
  end

  def set_clock(now_us:)
    @clock.now_us = now_us
  end

  def limiter(as:, name:, limits:)
    @limiters[as] = @store.limiter(name, limits)
    nil
  end

  def try_acquire(on:, **request)
    Shown.decision(@limiters[on].try_acquire(**request))
  end

  def peek(on:, **request)
    Shown.decision(@limiters[on].peek(**request))
  end

  def allow(on:, **request)
    @limiters[on].allow?(**request)
  end

  def acquire(on:, **request)
    Shown.decision(@limiters[on].acquire(**request).decision)
  end

  def correct(on:, permit:, actual:)
    @limiters[on].correct(permit, actual)
  end

  def reset(on:)
    @limiters[on].reset
  end

  def hammer(until:, seed:, loops:, plan:, path:)
    ends = binding.local_variable_get(:until)
    records = Records.new(path)
    threads = Array.new(loops) do |number|
      Thread.new do
        dice = Random.new((seed * loops) + number)
        call(dice, plan.sample(random: dice), records) while Time.now.to_f < ends
      end
    end
    threads.each(&:join)
    records.write
  end

  private

  def call(dice, entry, records)
    key = entry[:on]
    units = dice.rand(1..entry[:most])
    decision = @limiters[key].try_acquire(entry[:verb].to_sym => units)
    records.decision(key, units, decision)
    return if decision.permit.nil? || dice.rand(10).zero?

    (dice.rand(10).zero? ? 2 : 1).times do
      settle(key, decision.permit, dice.rand(0..(units * 3 / 2)), records)
    end
  rescue Paddlegate::Error => e
    records.error(e)
  end

  def settle(key, permit, actual, records)
    limiter = @limiters[key]
    after = limiter.peek(cost: 0)
    answer = limiter.correct(permit, actual)
    before = limiter.peek(cost: 0)
    records.settlement(key, permit, actual, answer, after, before)
  end
end

$stdout.sync = true
worker = Worker.new
$stdin.each_line do |line|
  arguments = JSON.parse(line, symbolize_names: true)
  answer =
    begin
      { value: worker.public_send(arguments.delete(:do), **arguments) }
    rescue Paddlegate::Error => e
      { error: Shown.error(e) }
    end
  puts JSON.generate(answer)
end
