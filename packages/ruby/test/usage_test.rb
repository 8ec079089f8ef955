# frozen_string_literal: true

require "helper"

# The interface as Ruby users write it.
class UsageTest < Minitest::Test
  include Helper

  def test_points_are_estimated_and_corrected
    shop = memory.points(unique, 1000, 3600)
    result = shop.within_limit(estimate: 200) do |h|
      assert_equal 800, h.decision.remaining
      assert_equal :settled, h.points_used(50)
      assert_equal :already, h.points_used(50)
      :result
    end
    assert_equal :result, result
    assert_in_delta 950, shop.peek(cost: 0).remaining, 5
  end

  def test_every_value_of_a_block_passes_through
    limiter = memory.unlimited
    [nil, false, [1, 2], "text"].each do |value|
      assert_equal [value], [limiter.within_limit { value }]
    end
  end

  def test_a_block_that_raises_leaves_the_estimate
    shop = memory.points(unique, 1000, 3600)
    assert_raises(ZeroDivisionError) { shop.within_limit(estimate: 600) { 1 / 0 } }
    assert_in_delta 400, shop.peek(cost: 0).remaining, 5
  end

  def test_a_block_may_leave_early
    shop = memory.window(unique, 5, DAY)
    assert_equal(:early, shop.within_limit { break :early })
    assert_equal 4, shop.peek(cost: 0).remaining
  end

  def test_used_is_another_word_for_cost
    limiter = memory.window(unique, 10, DAY)
    limiter.within_limit(used: 4) { nil }
    limiter.within_limit(cost: 3) { nil }
    limiter.within_limit { nil }
    assert_equal 2, limiter.peek(cost: 0).remaining
    error = assert_raises(Paddlegate::InvalidError) { limiter.within_limit(used: 1, cost: 1) { 0 } }
    assert_equal "used", error.argument
  end

  def test_a_decision_is_a_frozen_value
    store = clocked
    granted = store.bucket("b", 5, :day).try_acquire(cost: 2)
    assert_predicate granted, :allowed?
    assert_predicate granted, :frozen?
    assert_equal({ status: :granted, allowed: true, limit: 5, remaining: 3, retry_after: 0.0,
                   reset_after: 6400.0, reason: nil, label: :bucket, at_us: NOW, permit: nil,
                   lease: nil, fencing_token: nil, ticket: nil, position: nil, ready_after: nil,
                   degraded: false, limiter: nil, would_refuse: nil, lowered: false,
                   limits: [] }, granted.to_h)
    again = store.bucket("b", 5, :day).peek(cost: 0)
    assert_equal again, store.bucket("b", 5, :day).peek(cost: 0)
    assert_equal again.hash, store.bucket("b", 5, :day).peek(cost: 0).hash
    refute_equal granted, store.bucket("b", 6, :day).peek(cost: 0)
    assert_equal granted, Marshal.load(Marshal.dump(granted))
    assert_includes granted.inspect, "remaining=3"
    case granted
    in { allowed: true, remaining: } then assert_equal 3, remaining
    end
  end

  def test_a_refusal_says_when_to_come_back
    limiter = clocked.window(unique, 1, 0.5)
    assert_predicate limiter, :allow?
    at(200_000)
    refused = limiter.try_acquire
    refute_predicate refused, :allowed?
    assert_equal :window, refused.reason
    assert_in_delta 0.3, refused.retry_after, 1e-9
    at(499_999)
    refute_predicate limiter, :allow?
    at(500_000)
    assert_predicate limiter, :allow?
  end

  # `sleep` takes the number as it is, and never wakes too early.
  def test_who_sleeps_until_then_is_granted
    limiter = memory.throttle(unique, 0.000_7)
    limiter.try_acquire
    50.times do
      refused = limiter.try_acquire
      next if refused.allowed?

      sleep(refused.retry_after)
      assert_predicate limiter.try_acquire, :allowed?
    end
  end

  def test_a_look_needs_no_cost
    [memory, redis].each do |store|
      shop = store.points(unique, 5, :day)
      assert_equal [true, 5], [shop.peek.allowed?, shop.peek(cost: 0).remaining]
      shop.acquire(cost: 5)
      refute_predicate shop.peek, :allowed?
    end
  end

  def test_over_limit_tells_all
    limiter = memory.window("erp", 1, :day)
    limiter.acquire
    error = assert_raises(Paddlegate::OverLimit) { limiter.acquire }
    assert_kind_of Paddlegate::Error, error
    assert_equal "erp", error.limiter
    assert_equal :window, error.decision.reason
    assert_equal error.decision.retry_after, error.retry_after
    assert_includes error.message, "limiter=erp"
  end

  def test_only_an_estimate_can_be_corrected
    permit = memory.bucket(unique, 5, :day).acquire
    assert_nil permit.id
    error = assert_raises(Paddlegate::InvalidError) { permit.points_used(1) }
    assert_equal "estimate", error.argument
  end

  def test_unlimited_takes_the_arguments_of_any_other
    limiter = memory.unlimited("erp", 50, :second, wait_timeout: 3, lock_timeout: 30)
    assert_equal "erp", limiter.name
    decision = limiter.try_acquire(estimate: 3)
    assert_nil decision.limit
    assert_equal :settled, limiter.correct(decision.permit, 5)
    assert_equal "unlimited", memory.unlimited.name
  end

  def test_paused
    limiter = memory.paused(:erp)
    assert_equal "erp", limiter.name
    refute_predicate limiter, :allow?
    assert_nil limiter.try_acquire.retry_after
    error = assert_raises(Paddlegate::OverLimit) { limiter.within_limit { flunk } }
    assert_nil error.retry_after
  end

  def test_intervals
    store = clocked
    [1, 1.0, 1r, :second, "second", "PT1S", Class.new { def to_f = 1.0 }.new].each do |second|
      reset = store.window(unique, 1, second).try_acquire.reset_after
      assert_in_delta 1.0, reset, 1e-9, second.inspect
    end
    { minute: 60, hour: 3600, day: DAY }.each do |word, seconds|
      decision = store.throttle(unique, word).try_acquire
      assert_in_delta seconds, decision.reset_after, 1e-9
    end
  end

  def test_a_throttle_of_several_starts
    on_clocked do |store|
      [store.throttle(unique, 1, limit: 3), store.limiter(unique, throttle: [3, "second"]),
       store.limiter(unique, [[:throttle, 3, :second]])].each do |limiter|
        at(0)
        assert_predicate limiter.try_acquire(cost: 7), :allowed?
        [333_334, 666_667, 1_000_000, 1_333_334, 1_666_667, 2_000_000].each do |start|
          at(start - 1)
          no = limiter.try_acquire
          assert_equal [:throttle, 0.000_001, 1], [no.reason, no.retry_after, no.limit]
          at(start)
          assert_predicate limiter, :allow?
        end
        assert_equal 7, limiter.stats.granted
      end
    end
  end

  def test_several_limits_are_one
    store = clocked
    by_keyword = store.limiter("stripe", window: [100, 60], throttle: 0.1)
    by_list = store.limiter("stripe", [["window", 100, :minute], [:throttle, "PT0.1S"]])
    assert_predicate by_keyword, :allow?
    refused = by_list.try_acquire
    assert_equal [:throttle, :throttle, 0.1], [refused.reason, refused.label, refused.retry_after]
    refute store.limiter(unique, paused: [], unlimited: nil).allow?
  end

  def test_labels
    limit = Paddlegate::Limit
    store = clocked
    limits = { burst: limit.window(1, :second), "per-minute" => limit.window(2, :minute) }
    by_keyword = store.limiter("labels", **limits)
    by_mapping = store.limiter("labels", limits.transform_keys(&:to_s))
    assert_equal [true, :burst], by_keyword.try_acquire.to_h.values_at(:allowed, :label)
    assert_equal :burst, by_mapping.try_acquire.label
    at(1_000_000)
    assert_predicate by_mapping, :allow?
    refused = by_keyword.try_acquire
    assert_equal [:window, :"per-minute", 59.0],
                 [refused.reason, refused.label, refused.retry_after]
    assert_includes refused.inspect, 'label=:"per-minute"'
    assert_nil store.unlimited.try_acquire.label
  end

  def test_a_limit_as_a_value_takes_the_arguments_of_its_factory
    limit = Paddlegate::Limit
    limits = { a: limit.concurrency(5, lock_timeout: 3), b: limit.bucket(5, :day, :hour),
               c: limit.window(5, 60), d: limit.leaky(5, 60), e: limit.points(5, 60),
               f: limit.throttle(1, limit: 3), throttle: 0.1 }
    name = unique
    store = memory
    assert_in_delta 3.0, store.limiter(name, limits).try_acquire(cost: 1).lease
    listed = store.limiters.find { |info| info.name == name }.limits
    assert_equal %i[a b c d e f throttle], (listed.map { |info| info[:label] })
    assert_equal({ label: :b, kind: :bucket, amount: 5, interval: 86_400.0, offset: 3600.0 },
                 listed[1])
    assert_equal [3, 1.0], listed[5].values_at(:amount, :interval)
    assert_equal limit.window(5, 60), limit.window(5, 60)
    assert_predicate limit.window(5, 60), :frozen?
    assert_equal "#<Paddlegate::Limit window 5, :minute>", limit.window(5, :minute).inspect
    of_list = store.limiter(unique, [limit.window(5, 60), [:throttle, 0.1]])
    assert_equal :throttle, of_list.try_acquire.label
    erp = store.limiter(unique, erp: limit.concurrency(2), lock_timeout: 7)
    assert_in_delta 7.0, erp.try_acquire.lease
  end

  def test_a_name_has_one_state
    [memory, redis].each do |store|
      name = unique
      one = store.window(name, 5, :day)
      both = store.limiter(name, window: [5, :day], sms: Paddlegate::Limit.window(5, :day))
      assert_predicate one.try_acquire(cost: 4), :allowed?
      assert_equal [:window, 0], both.try_acquire.to_h.values_at(:label, :remaining)
      both.pause(2 * DAY)
      assert_equal [:paused, nil], one.try_acquire.to_h.values_at(:reason, :label)
    end
  end

  def test_a_bucket_may_have_an_offset
    store = clocked
    assert_in_delta 6400, store.bucket(unique, 1, :day).try_acquire.reset_after, 1e-9
    shifted = store.bucket(unique, 1, :day, :hour).try_acquire
    assert_in_delta 2800, shifted.reset_after, 1e-9
  end

  def test_reset_and_peek
    limiter = memory.leaky(unique, 3, :day)
    limiter.acquire(cost: 3)
    assert_equal 0, limiter.peek(cost: 0).remaining
    refute_predicate limiter.peek, :allowed?
    assert_nil limiter.reset
    assert_equal 3, limiter.peek.remaining
  end

  def test_stores_in_memory_share_nothing
    memory.window("shared", 1, :day).acquire
    assert_predicate Paddlegate::Store.new("memory://").window("shared", 1, :day), :allow?
    refute_predicate memory.window("shared", 1, :day), :allow?
  end

  def test_a_correction_from_another_process
    name = unique
    shop = redis.points(name, 1000, 3600)
    permit = shop.acquire(estimate: 500)
    program = <<~RUBY
      require "paddlegate"
      Paddlegate.configure { |c| c.timeout = 10 }
      print Paddlegate.points(#{name.inspect}, 1000, 3600).correct(#{permit.id.inspect}, 100)
    RUBY
    assert_equal "settled", ruby(program, "PADDLEGATE_URL" => URL)
    assert_equal :already, permit.points_used(100)
    assert_in_delta 900, shop.peek(cost: 0).remaining, 10
  end

  def test_what_is_shown_has_no_password
    store = Paddlegate::Store.new("redis://user:secret@127.0.0.1:1")
    refute_includes store.inspect, "secret"
    error = assert_raises(Paddlegate::UnavailableError) { store.bucket("b", 1, 1).try_acquire }
    refute_includes error.message, "secret"
    refute_predicate error, :may_have_counted?
    bad = ["redis://:secret@h:x", "http://secret", "redis://secret\xff", "redis://secret\0"]
    bad.each do |url|
      error = assert_raises(Paddlegate::InvalidError) { Paddlegate::Store.new(url) }
      assert_equal "url", error.argument
      refute_includes error.message, "secret"
    end
  end
end
