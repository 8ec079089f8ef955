# frozen_string_literal: true

require "helper"

# Limits that are changed while they are in use; what they then decide is in control.json.
class LiveTest < Minitest::Test
  include Helper

  # Who is not called looks by itself, after five seconds.
  SOON = 3

  def test_a_pause
    both do |store|
      limiter = store.window(unique, 100, :minute)
      runtime_state = limiter.pause(30)
      assert_in_delta 30, runtime_state.paused_for, 5
      assert_predicate runtime_state, :frozen?
      refused = limiter.try_acquire
      assert_equal %i[refused paused], [refused.status, refused.reason]
      assert_in_delta 30, refused.retry_after, 5
      # A wait that cannot be long enough is not begun.
      spent = elapsed { assert_raises(Paddlegate::OverLimit) { limiter.acquire(wait_timeout: 20) } }
      assert_operator spent, :<, 18
      # A pause that ends sooner changes nothing.
      assert_operator limiter.pause(until: Time.now + 5).paused_for, :>, 20
      assert_nil limiter.resume.paused_for
      assert_predicate limiter, :allow?
    end
  end

  def test_a_pause_until
    limiter = clocked.bucket(unique, 5, :day)
    moment = Time.at(0, NOW + 60_000_000, :microsecond)
    [moment, moment.to_r, (NOW / 1_000_000) + 60, Struct.new(:to_time).new(moment)].each do |until_|
      limiter.resume
      assert_in_delta 60, limiter.pause(until: until_).paused_for, 1e-9
    end
  end

  def test_a_resume_from_another_process_calls_a_waiter
    name = unique
    limiter = redis.concurrent(name, 1)
    limiter.pause(20)
    waiter = Thread.new { limiter.within_limit(wait_timeout: 60) { monotonic } }
    eventually { limiter.stats.tickets == 1 }
    resumed = ruby(<<~RUBY, "PADDLEGATE_URL" => URL).to_f
      require "paddlegate"
      Paddlegate.configure { |c| c.timeout = 10 }
      limiter = Paddlegate.concurrent(#{name.inspect}, 1)
      limiter.runtime_state
      print Process.clock_gettime(Process::CLOCK_MONOTONIC)
      limiter.resume
    RUBY
    assert_operator waiter.value - resumed, :<, SOON
  end

  def test_more_places_call_waiters
    [memory, redis].each do |store|
      name = unique
      limiter = store.concurrent(name, 1)
      limiter.acquire
      go = Queue.new
      waiters = Array.new(2) { Thread.new { limiter.within_limit(wait_timeout: 30) { go.pop } } }
      eventually { limiter.stats.tickets == 2 }
      # Of another connection, with other numbers.
      other = store.memory? ? store : Paddlegate::Store.new(URL, timeout: 10)
      other.concurrent(name, 7).override(limit: 3)
      assert_operator elapsed { eventually { limiter.stats.leases == 3 } }, :<, SOON
      2.times { go << nil }
      waiters.each(&:join)
      # A process that still has the old number does not bring it back.
      assert_equal 3, limiter.peek.limit
      assert_empty other.concurrent(name, 7).restore.overrides
      assert_equal 1, limiter.peek.limit
    end
  end

  def test_what_waits_in_a_pause_can_be_ended
    both do |store|
      limiter = store.concurrent(unique, 5)
      limiter.pause(20)
      thread = Thread.new { limiter.acquire(wait_timeout: 60) }
      eventually { limiter.stats.tickets == 1 }
      thread.kill.join
      assert_raises(Timeout::Error) { Timeout.timeout(0.1) { limiter.acquire(wait_timeout: 60) } }
      eventually { limiter.stats.tickets.zero? }
      limiter.resume
      assert_equal [0, 0], [limiter.stats.leases, limiter.stats.granted]
    end
  end

  def test_an_override_of_a_throttle
    both do |store|
      limiter = store.throttle(unique, 1)
      three = { label: :throttle, kind: :throttle, amount: 3, interval: 1.0, offset: 0.0 }
      assert_equal({ throttle: three }, limiter.override(limit: 3).overrides)
      six = limiter.override(limit: 6, interval: 60).overrides
      assert_equal({ throttle: three.merge(amount: 6, interval: 60.0) }, six)
      [0, 1_000_001].each do |bad|
        error = assert_raises(Paddlegate::InvalidError) { limiter.override(limit: bad) }
        assert_equal "limit", error.argument
      end
      assert_empty limiter.restore.overrides
    end
  end

  def test_an_override
    both do |store|
      limiter = store.limiter(unique, window: [5, :minute], leaky: [50, :minute])
      runtime_state = limiter.override(limit: 2, label: :window, expires_in: :hour)
      window = { label: :window, kind: :window, amount: 2, interval: 60.0, offset: 0.0 }
      assert_equal({ window: window }, runtime_state.overrides)
      assert_predicate runtime_state.overrides, :frozen?
      assert_in_delta 3600, runtime_state.expires_in, 5
      assert_equal 2, limiter.peek.limit
      runtime_state = limiter.override(label: "leaky", interval: 10, expires_at: Time.now + 60)
      assert_equal [50, 2], (runtime_state.overrides.values.map { |limit| limit[:amount] })
      assert_in_delta 10.0, runtime_state.overrides[:leaky][:interval]
      assert_in_delta 60, runtime_state.expires_in, 5
      assert_equal({ window: window }, limiter.restore(:leaky).overrides)
      assert_operator limiter.runtime_state.version, :>, 0
      assert_empty limiter.restore.overrides
      assert_equal 0, limiter.runtime_state.version
      assert_equal 5, limiter.peek.limit
    end
  end

  def test_a_pause_of_a_name_that_nobody_has_used_says_so
    both do |store|
      name = unique
      limiter = store.window(name, 10, :minute)
      assert_same false, limiter.runtime_state.in_use
      limiter.try_acquire
      assert_same true, store.window(name, 10, :minute).pause(1).in_use
      assert_same false, store.bucket(unique, 10, :minute).pause(1).in_use
    end
  end

  def test_an_override_of_whole_limits
    both do |store|
      name = unique
      window = store.window(name, 5, :minute)
      limits = { window: Paddlegate::Limit.window(9, :minute),
                 "sms" => Paddlegate::Limit.bucket(2, :day, :hour) }
      runtime_state = window.override(limits: limits, expires_in: :hour)
      assert_equal %i[sms window], runtime_state.overrides.keys
      assert_equal [:bucket, 2, 3600.0],
                   runtime_state.overrides[:sms].values_at(:kind, :amount, :offset)
      assert_in_delta 3600, runtime_state.expires_in, 5
      assert_equal 9, window.peek.limit
      # The policy that has the other label.
      sms = store.limiter(name, sms: Paddlegate::Limit.bucket(100, :day, :hour))
      assert_equal [:sms, 2], sms.peek.to_h.values_at(:label, :limit)
      assert_equal [:window], window.restore("sms").overrides.keys
      assert_equal 100, sms.peek.limit
      # Numbers as in the factory.
      assert_equal 3, sms.override(limits: { throttle: [3, 1] }).overrides[:throttle][:amount]
      assert_empty sms.restore.overrides
    end
  end

  def test_of_two_limits_one_must_be_named
    limiter = memory.limiter(unique, rpm: Paddlegate::Limit.window(5, 60), throttle: 1)
    refused(:label, limiter, :override, limit: 5)
    refused(:label, limiter, :report_budget, remaining: 5)
    refused(:label, limiter, :override, limit: 5, label: :window)
    assert_equal ["remaining[rpm]"], limiter.report_budget(remaining: 2, label: :rpm).learned
  end

  def test_wrong_arguments_change_nothing
    limiter = memory.bucket(unique, 5, :day)
    [
      [:pause, {}], [:pause, { until: "now" }], [:pause, { until: -1 }], [:pause, { until: 1e300 }]
    ].each { |verb, given| refused(given.keys.last || :pause, limiter, verb, **given) }
    [-1, "5", Float::NAN, 0, 1e300].each { |bad| refused(:pause, limiter, :pause, bad) }
    refused(:until, limiter, :pause, 5, until: Time.now)
    { limit: [-1, 0, 1.5, "5", 1 << 52], interval: [0, -1, "never"], label: [-1, "", "other", 1.0],
      expires_in: [0, -1, "never"], expires_at: [-1, "never", 1e300] }.each do |argument, values|
      values.each { |bad| refused(argument, limiter, :override, limit: 3, **{ argument => bad }) }
    end
    refused(:expires_at, limiter, :override, limit: 3, expires_in: 5, expires_at: Time.now)
    [1, "", "A", "0"].each { |bad| refused(:label, limiter, :restore, bad) }
    limits = { bucket: [1, 1] }
    [{ limit: 3 }, { interval: 3 }, { label: :bucket }].each do |more|
      refused(:limits, limiter, :override, limits: limits, **more)
    end
    [5, {}, [], [5]].each { |bad| refused(:limits, limiter, :override, limits: bad) }
    window = Paddlegate::Limit.window(1, 1)
    refused(:limits, limiter, :override, limits: { bucket: window })
    refused(:limits, limiter, :override, limits: { "a" => window, a: window })
    assert_equal [0, nil, {}],
                 limiter.runtime_state.to_h.values_at(:version, :paused_for, :overrides)
    assert_equal 5, limiter.peek(cost: 0).remaining
  end

  def test_a_policy_without_limits_can_be_paused
    both do |store|
      limiter = store.unlimited(unique)
      refused(:label, limiter, :override, limit: 5)
      limiter.pause(20)
      assert_in_delta 20, limiter.runtime_state.paused_for, 5
      assert_nil limiter.resume.paused_for
    end
  end

  private

  def both(&block)
    [memory, redis].each(&block)
  end

  def monotonic
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  # What the library calls two of Ruby's arguments.
  NAMES = { pause: "duration" }.freeze

  def refused(argument, limiter, verb, *list, **given)
    error = assert_raises(Paddlegate::InvalidError, "#{verb} #{list} #{given}") do
      limiter.public_send(verb, *list, **given)
    end
    named = NAMES.fetch(argument, argument.to_s)
    assert_equal named, error.argument, "#{verb} #{list} #{given}"
  end
end
