# frozen_string_literal: true

require "helper"

# Costs by label, debits, and costs above a limit that was lowered.
class CostsTest < Minitest::Test
  include Helper

  Limit = Paddlegate::Limit

  # Every verb that takes a cost or an estimate; what it answers.
  VERBS = {
    try_acquire: ->(llm, **cost) { llm.try_acquire(**cost) },
    acquire: ->(llm, **cost) { llm.acquire(wait_timeout: 0, **cost).decision },
    within_limit: lambda do |llm, **cost|
      llm.within_limit(wait_timeout: 0, **cost, &:decision)
    end,
    enqueue: ->(llm, **cost) { llm.enqueue("job", **cost) },
    admit: ->(llm, **cost) { llm.admit("job", **cost).decision },
    try_acquire_with_id: ->(llm, **cost) { llm.try_acquire(id: "call", **cost) },
    claim: lambda do |llm, **cost|
      llm.pause(60)
      llm.enqueue("claimed", **cost)
      llm.resume
      llm.claim("claimed", **cost)
    end
  }.freeze

  def test_every_verb_takes_a_cost_by_label
    VERBS.each_value do |verb|
      on_both do |llm|
        assert_equal [true, :rpm, 4], described(verb.call(llm, cost: { tpm: 900 }))
        assert_equal [4, 100], left(llm)
      end
    end
    on_both do |llm|
      assert llm.allow?(cost: { tpm: 900 })
      assert_equal [4, 100], left(llm)
      refute llm.allow?(cost: { tpm: 101 })
      assert_equal :points, llm.peek(cost: { tpm: 101 }).reason
      assert_predicate llm.peek(cost: { tpm: 100 }), :allowed?
      assert_equal 4, llm.within_limit(used: { "tpm" => 0, "rpm" => 0 }) { left(llm).first }
    end
  end

  def test_a_cost_that_is_changed_while_the_call_waits_is_charged_as_it_was
    [memory, redis].each do |store|
      one, other, third = Array.new(3) { store.window(unique, 10, 3600) }
      assert_equal 1, changed_while_waiting(one, one, { window: 9 }, &:itself)
      both = store.together(other, third)
      cost = { other.name => { window: 9 } }
      assert_equal 1, changed_while_waiting(both, other, cost) { |it| it[other.name] }
    end
  end

  def test_every_verb_takes_an_estimate_by_label
    VERBS.each_value do |verb|
      on_both do |llm|
        decision = verb.call(llm, estimate: { "tpm" => 900 })
        assert_equal [true, :rpm, 4], described(decision)
        assert_equal :settled, llm.correct(decision.permit, { "tpm" => 50 })
        assert_equal [4, 950], left(llm)
        assert_equal :already, llm.correct(decision.permit, 0)
      end
    end
  end

  def test_a_permit_is_corrected_by_label
    on_both do |llm|
      llm.within_limit(estimate: { tpm: 600 }) do |permit|
        assert_equal :settled, permit.correct({ tpm: 50 })
        assert_equal :already, permit.points_used({ tpm: 50 })
      end
      assert_equal [4, 950], left(llm)
      assert_equal :settled, llm.acquire(estimate: { tpm: 600 }).correct(tpm: 700, rpm: 0)
      assert_equal [4, 250], left(llm)
      assert_equal :settled, llm.acquire(estimate: { tpm: 200 }).correct(0)
      assert_equal [4, 250], left(llm)
    end
  end

  def test_a_number_is_for_every_limit_that_counts_units
    on_both do |llm|
      assert_equal [true, :rpm, 2], described(llm.try_acquire(cost: 3))
      assert_equal [2, 997], left(llm)
    end
  end

  def test_concurrency_counts_the_call
    limits = { tpm: Limit.points(1000, :hour), concurrency: 2 }
    limiter = clocked.limiter(unique, limits)
    limiter.within_limit(estimate: { tpm: 900 }) do |permit|
      assert_equal [:concurrency, 1], permit.decision.to_h.values_at(:label, :remaining)
      assert_equal :settled, permit.correct({ tpm: 100 })
    end
    assert_equal 0, limiter.stats.leases
    assert_equal [true, :tpm, 400], described(limiter.debit({ tpm: 500 }))
    assert_predicate limiter.peek(cost: { tpm: 400 }), :allowed?
    assert_equal :points, limiter.peek(cost: { tpm: 401 }).reason
    refused("cost") { limiter.acquire(cost: { tpm: 1, concurrency: 1 }) }
  end

  def test_an_empty_hash_counts_the_call
    limiter = clocked.limiter(unique, rpm: Limit.window(5, :minute), rpd: Limit.bucket(9, :day))
    assert_equal 4, limiter.try_acquire(cost: {}).remaining
    permit = limiter.acquire(estimate: {})
    assert_equal 3, limiter.peek(cost: 0).remaining
    assert_equal :settled, permit.correct({ rpm: 0 })
    assert_equal 4, limiter.peek(cost: 0).remaining
  end

  def test_wrong_costs
    wrong = [{ tokens: 1 }, { rpm: 1 }, {}, { tpm: 1, "tpm" => 1 }, { tpm: -1 }, { tpm: 1.5 },
             { tpm: true }, { tpm: nil }, { tpm: "1" }, { tpm: 10**12 + 1 }, { tpm: 1 << 80 },
             { nil => 1 }, { 5 => 1 }, { "" => 1 }, { "tpm\0" => 1 }, { "\xff" => 1 },
             (1..9).to_h { |i| ["l#{i}", 1] }, { ("l" * 10_000) => 1 }, [[:tpm, 1]], "tpm", :tpm]
    on_both do |llm|
      wrong.each do |bad|
        VERBS.each_value do |verb|
          refused("cost", bad) { verb.call(llm, cost: bad) }
          refused("estimate", bad) { verb.call(llm, estimate: bad) }
          llm.resume
        end
        refused("cost", bad) { llm.allow?(cost: bad) }
        refused("estimate", bad) { llm.peek(estimate: bad) }
        refused("used", bad) { llm.within_limit(used: bad) { flunk } }
        refused("actual", bad) { llm.correct("p:1:1", bad) }
        refused("cost", bad) { llm.debit(bad) }
      end
      refused("cost") { llm.debit(nil) }
      refused("cost") { llm.try_acquire(cost: { tpm: 1001 }) }
      refused("estimate") { llm.try_acquire(cost: { tpm: 1 }, estimate: { tpm: 1 }) }
      assert_equal [5, 1000], left(llm)
    end
    refused("cost") { memory.unlimited.try_acquire(cost: { tpm: 1 }) }
  end

  def test_a_debit_is_charged_in_any_case
    on_both do |llm|
      assert_equal [true, :rpm, 4], described(llm.debit({ tpm: 900 }))
      decision = llm.debit({ "tpm" => 900 })
      assert_equal [true, :tpm, 0], described(decision)
      # Without braces they are keywords.
      assert_raises(ArgumentError) { llm.debit(tpm: 900) }
      assert_equal [nil, nil, 0.0], decision.to_h.values_at(:reason, :permit, :retry_after)
      refused = llm.try_acquire(cost: { tpm: 1 })
      assert_equal [:points, 48.06], [refused.reason, refused.retry_after]
      # One whole limit of debt at most.
      llm.debit(10**6)
      assert_in_delta 60.06, llm.peek(cost: { tpm: 1 }).retry_after
    end
    refused("debit") { memory.throttle(unique, 1).debit(1) }
    refused("debit") { memory.concurrent(unique, 1).debit(1) }
  end

  def test_a_lowered_limit_refuses_a_cost_above_it
    on_both do |llm|
      llm.override(label: :tpm, limit: 500)
      decision = llm.try_acquire(cost: { tpm: 600 })
      assert_equal [:refused, :too_large, :tpm, 500, nil],
                   decision.to_h.values_at(:status, :reason, :label, :limit, :retry_after)
      error = assert_raises(Paddlegate::OverLimit) do
        llm.acquire(cost: { tpm: 600 }, wait_timeout: 0)
      end
      assert_equal [:too_large, nil], [error.reason, error.retry_after]
      assert_predicate llm.peek(cost: { tpm: 500 }), :allowed?
      llm.override(label: :tpm, limit: 500, expires_in: 30)
      assert_in_delta 30, llm.try_acquire(cost: { tpm: 600 }).retry_after
      llm.restore
      assert_predicate llm.try_acquire(cost: { tpm: 600 }), :allowed?
      refused("cost") { llm.try_acquire(cost: { tpm: 1001 }) }
    end
  end

  def test_who_waits_passes_when_the_limit_is_restored
    [memory, redis].each do |store|
      bucket = store.bucket(unique, 5, :day)
      bucket.override(limit: 2, expires_in: 20)
      waiter = Thread.new { bucket.within_limit(cost: 3, wait_timeout: 30) { :passed } }
      eventually { bucket.stats.tickets == 1 }
      bucket.restore
      assert_equal :passed, waiter.value
    end
  end

  def test_the_longest_permit
    most = 10**12
    labels = (1..8).map { |i| :"l#{i}" }
    [clocked, clocked(URL)].each do |store|
      limiter = store.limiter(unique, labels.to_h { |label| [label, Limit.bucket(most, :day)] })
      estimate = labels.to_h { |label| [label, most] }.merge(l8: most - 1)
      permit = limiter.acquire(id: "x" * 64, estimate: estimate)
      assert_equal 192, permit.id.bytesize
      assert_equal :settled, permit.correct(0)
      assert_equal most, limiter.peek.remaining
    end
  end

  private

  # Yields a limiter of five calls and 1000 tokens a minute, in memory and in Redis.
  def on_both
    on_clocked do |store|
      yield store.limiter(unique, rpm: Limit.window(5, :minute), tpm: Limit.points(1000, :minute))
    end
  end

  # Returns what is left when a call for nine was changed to one while it waited for `paused`.
  def changed_while_waiting(limiter, paused, cost)
    paused.pause(60)
    caller = Thread.new { limiter.acquire(cost: cost, wait_timeout: 120).decision.remaining }
    eventually { paused.queue.size == 1 }
    yield(cost)[:window] = 1
    paused.resume
    caller.value
  end

  def described(decision)
    [decision.allowed?, decision.label, decision.remaining]
  end

  # The calls and the tokens that are left.
  def left(llm)
    rpm, tpm = [{ rpm: 5, tpm: 0 }, { rpm: 0, tpm: 1000 }].map { |cost| llm.peek(cost: cost) }
    [rpm.reason ? rpm.remaining : 5, tpm.reason ? tpm.remaining : 1000]
  end

  def refused(argument, given = nil, &block)
    error = assert_raises(Paddlegate::InvalidError, given.inspect[0, 40], &block)
    assert_equal argument, error.argument, "#{given.inspect[0, 40]}: #{error.message}"
    assert_predicate error.message, :valid_encoding?
  end
end
