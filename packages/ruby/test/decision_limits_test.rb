# frozen_string_literal: true

require "helper"

# The numbers of each limit in a decision that asks for them.
class DecisionLimitsTest < Minitest::Test
  include Helper

  AFTER_ONE = [[:rpm, 3, 2, 0.0, 60.0], [:tpm, 100, 60, 0.0, 40.0],
               [:workers, 2, 1, 0.0, 30.0]].freeze
  REFUSED = [[:rpm, 3, 2, 0.0, 60.0], [:tpm, 100, 60, 10.0, 40.0],
             [:workers, 2, 1, 0.0, 30.0]].freeze

  def test_a_decision_has_each_limit_if_its_call_asks
    on_clocked do |store|
      limiter = model(store)
      granted = limiter.try_acquire(cost: { tpm: 40 }, limits: true)
      assert_equal AFTER_ONE, numbers(granted)
      refused = limiter.try_acquire(cost: { tpm: 70 }, limits: true)
      assert_equal :tpm, refused.label
      assert_equal REFUSED, numbers(refused)
      assert_equal REFUSED, numbers(limiter.peek(cost: { tpm: 70 }, limits: true))
      assert_equal REFUSED, numbers(limiter.try_acquire(cost: { tpm: 70 }, id: "a", limits: true))
      [nil, false].each { |limits| assert_empty limiter.peek(cost: 1, limits: limits).limits }
      assert(refused.limits.frozen? && refused.limits.all?(&:frozen?))
      limiter.reset
    end
  end

  def test_several_limiters_name_theirs_and_a_key_has_its_own
    on_clocked do |store|
      org = store.bucket(unique, 9, :day)
      per_user = store.window(unique, 5, :minute, keyed: true)
      both = store.together(org, per_user.with_key("bob"))
      limits = both.try_acquire(cost: 2, limits: true).limits
      shown = limits.map { |limit| [limit.limiter, limit.label, limit.remaining] }
      assert_equal [[org.name, :bucket, 7], [per_user.name, :window, 3]], shown
      own = per_user.try_acquire(key: "bob", limits: true)
      assert_equal [[:window, 5, 2, 0.0, 60.0]], numbers(own)
      assert_equal numbers(own), numbers(per_user.peek(cost: 0, key: "bob", limits: true))
    end
  end

  def test_a_permit_and_its_error_have_each_limit_if_the_call_asks
    on_clocked do |store|
      limiter = model(store)
      assert_equal AFTER_ONE, numbers(limiter.acquire(cost: { tpm: 40 }, limits: true).decision)
      assert_equal [60.0, 100.0, 30.0],
                   limiter.peek(cost: 0, limits: true).limits.map(&:interval)
      [0, 1].each do |wait_timeout|
        error = assert_raises(Paddlegate::OverLimit) do
          limiter.within_limit(cost: { tpm: 70 }, limits: true, wait_timeout: wait_timeout) do
            flunk
          end
        end
        assert_equal REFUSED, numbers(error.decision)
      end
      limiter.reset
    end
  end

  def test_limits_is_true_or_false
    limiter = memory.window("x", 3, :minute)
    [1, "yes", []].each do |limits|
      [-> { limiter.try_acquire(limits: limits) }, lambda {
                                                     limiter.peek(limits: limits)
                                                   }].each do |call|
        assert_equal "limits", assert_raises(Paddlegate::InvalidError, &call).argument.to_s
      end
    end
    assert_equal 3, limiter.peek.remaining
  end

  def test_a_call_after_one_that_asks_gets_none
    limiter = memory.window("y", 9, :minute)
    assert_equal 1, limiter.try_acquire(limits: true).limits.size
    assert_empty limiter.try_acquire(cost: 2).limits
    assert_empty limiter.try_acquire.limits
    memory.together(limiter, memory.bucket("z", 9, :day)).try_acquire(limits: true)
    assert_empty limiter.try_acquire.limits
    limiter.try_acquire(limits: true)
    assert_empty limiter.debit(1).limits
  end

  private

  def model(store)
    limit = Paddlegate::Limit
    store.limiter(unique, rpm: limit.window(3, 60), tpm: limit.points(100, 100),
                          workers: limit.concurrency(2))
  end

  def numbers(decision)
    decision.limits.map do |it|
      assert_nil it.limiter
      [it.label, it.limit, it.remaining, it.retry_after, it.reset_after]
    end
  end
end
