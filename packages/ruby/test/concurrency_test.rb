# frozen_string_literal: true

require "helper"

# Limits of concurrency: leases, and what becomes of them.
class ConcurrencyTest < Minitest::Test
  include Helper

  def test_a_block_holds_a_lease
    both do |store|
      limiter = store.concurrent(unique, 1)
      value = limiter.within_limit do |permit|
        refute_predicate limiter.try_acquire, :allowed?
        assert_operator permit.fencing_token, :>, 0
        assert_in_delta 30, permit.expires_in, 5
        refute_predicate permit, :lost?
        assert_equal 1, limiter.stats.leases
        :value
      end
      assert_equal :value, value
      assert_equal 0, limiter.stats.leases
      assert_predicate limiter.try_acquire, :allowed?
    end
  end

  def test_a_lease_ends_with_its_block_however_that_ends
    limiter = memory.concurrent(unique, 1)
    assert_raises(ZeroDivisionError) { limiter.within_limit { 1 / 0 } }
    assert_equal(:early, limiter.within_limit { break :early })
    assert_equal(:thrown, catch(:ball) { limiter.within_limit { throw :ball, :thrown } })
    thread = Thread.new { limiter.within_limit { Thread.stop } }
    Thread.pass until thread.stop?
    thread.kill.join
    assert_raises(Timeout::Error) do
      limiter.within_limit { Timeout.timeout(0.05) { sleep } }
    end
    assert_equal 0, limiter.stats.leases
    assert_equal 5, limiter.stats.granted
  end

  def test_a_permit_is_released_once
    both do |store|
      limiter = store.concurrent(unique, 1)
      permit = limiter.acquire
      assert_equal %i[released released], [permit.release, permit.release]
      refute_predicate permit, :lost?
      refute permit.renew
      assert_equal :unknown, limiter.release(permit.id)
      other = limiter.acquire
      assert_operator other.fencing_token, :>, permit.fencing_token
      assert_equal :released, limiter.release(other.id)
    end
  end

  def test_a_permit_of_another_limiter_frees_nothing
    limiter = memory.concurrent(unique, 1)
    other = memory.concurrent(unique, 1)
    permit = limiter.acquire
    other.acquire
    assert_equal :unknown, other.release(permit.id)
    assert_nil other.renew(permit.id)
    assert_equal [1, 1], [limiter.stats.leases, other.stats.leases]
  end

  def test_without_concurrency_there_is_no_lease
    [memory.bucket(unique, 5, :day), memory.unlimited].each do |limiter|
      permit = limiter.acquire
      assert_nil permit.fencing_token
      assert_nil permit.expires_in
      refute_predicate permit, :lost?
      assert_equal :unknown, permit.release
      refute permit.renew
      refute_predicate permit, :lost?
    end
  end

  def test_a_lost_lease_is_known_without_asking
    both do |store|
      limiter = store.concurrent(unique, 1, lock_timeout: 0.05)
      permit = nil
      _, said = capture_io do
        assert_equal(:value, limiter.within_limit do |held|
          permit = held
          sleep(0.1)
          assert_predicate held, :lost?
          assert_in_delta 0.0, held.expires_in
          refute held.renew
          :value
        end)
      end
      assert_predicate permit, :lost?
      assert_equal :late, permit.release
      assert_match(/lease.*limiter=#{limiter.name}/, said)
      assert_equal 1, limiter.stats.overages
    end
  end

  def test_a_lease_may_be_renewed
    both do |store|
      limiter = store.concurrent(unique, 1, lock_timeout: 60)
      permit = limiter.acquire
      Thread.pass until permit.expires_in < 59.9
      # Time goes on between the two, at times for long.
      assert((1..20).any? { permit.renew && permit.expires_in > 59.9 })
      assert_in_delta 60, limiter.renew(permit.id), 1e-6
      limiter.reset
      refute permit.renew
      assert_predicate permit, :lost?
    end
  end

  def test_an_id_takes_one_lease
    limiter = memory.concurrent(unique, 1)
    first = limiter.acquire(id: "job 1")
    assert_equal first.fencing_token, limiter.acquire(id: "job 1").fencing_token
    assert_predicate limiter.try_acquire(id: "job 1"), :allowed?
    refute_predicate limiter.try_acquire(id: "job 2"), :allowed?
    assert_equal 1, limiter.stats.leases
    assert_equal :cancelled, limiter.cancel("job 1")
    assert_equal 0, limiter.stats.leases
  end

  def test_a_decision_has_the_lease
    limiter = memory.concurrent(unique, 1, lock_timeout: 7)
    decision = limiter.try_acquire
    assert_equal [:granted, 7.0], [decision.status, decision.lease]
    assert_equal :released, limiter.release(decision.permit)
    limiter.acquire
    decision = limiter.try_acquire
    assert_equal %i[refused concurrency], [decision.status, decision.reason]
    assert_equal [nil, nil, nil], [decision.lease, decision.fencing_token, decision.permit]
  end

  def test_in_a_policy
    limiter = memory.limiter("ojs", concurrency: 5, lock_timeout: 3, window: [9, 60], throttle: 60)
    decision = limiter.try_acquire
    assert_equal [3.0, nil], [decision.lease, decision.reason]
    assert_equal :throttle, limiter.try_acquire.reason
    others = [{ concurrency: [5, 3] }, { limits: [[:concurrency, 5, 3]] },
              { limits: [["concurrency", 5]] }, { concurrency: 5 }]
    leases = others.map do |how|
      memory.limiter(unique, how.delete(:limits), **how).try_acquire.lease
    end
    assert_equal [3.0, 3.0, 30.0, 30.0], leases
  end

  def test_a_limit_of_0_is_a_pause
    limiter = memory.concurrent(unique, 0, wait_timeout: 0.05)
    refute_predicate limiter.try_acquire, :allowed?
    assert_raises(Paddlegate::OverLimit) { limiter.within_limit { flunk } }
  end

  # Nobody could release the lease.
  def test_allow_is_not_enough_for_a_lease
    both do |store|
      document = { "limiters" => { "erp" => { "concurrency" => { "limit" => 1 } } } }
      limiters = [store.concurrent(unique, 1),
                  store.concurrent(unique, 1, on_unavailable: :fail_open),
                  store.limiter(unique, concurrency: 1, window: [5, 60], ttl: 60),
                  store.limiters_from_document(document).fetch("erp")]
      limiters.each do |limiter|
        error = assert_raises(Paddlegate::InvalidError) { limiter.allow? }
        assert_equal "allow", error.argument
        assert_equal [0, 0], limiter.stats.to_h.values_at(:leases, :granted)
      end
      assert_predicate store.limiter(unique, window: [5, 60], throttle: 1), :allow?
    end
  end

  def test_a_permit_stands_for_its_id
    limiter = memory.limiter(unique, concurrency: 2, points: [1000, :hour])
    permit = limiter.acquire(estimate: 200)
    assert_equal :settled, limiter.correct(permit, 50)
    assert_in_delta 30.0, limiter.renew(permit)
    assert_equal ["remaining[points]"],
                 limiter.report_budget(remaining: 500, label: :points, permit: permit).learned
    assert_equal %i[released unknown], [limiter.release(permit), limiter.release(permit.id)]
    without = memory.window(unique, 5, 60)
    [->(one) { without.release(one) }, ->(one) { without.renew(one) },
     ->(one) { without.correct(one, 1) }, lambda { |one|
                                            without.report_budget(permit: one)
                                          }].each do |verb|
      error = assert_raises(Paddlegate::InvalidError) { verb.call(without.acquire) }
      assert_equal "permit", error.argument
    end
  end

  def test_an_estimate_of_a_lease_may_be_corrected
    limiter = memory.limiter(unique, concurrency: 1, points: [1000, :hour])
    limiter.within_limit(estimate: 200) { |permit| assert_equal :settled, permit.points_used(50) }
    assert_operator limiter.peek(cost: 0).remaining, :<=, 950
    error = assert_raises(Paddlegate::InvalidError) do
      limiter.within_limit(cost: 1) { |permit| permit.points_used(1) }
    end
    assert_equal "estimate", error.argument
  end

  def test_a_server_that_is_gone_does_not_fail_the_block
    silent(0.2) do |store|
      # No block can even begin with this server; a permit of another can end.
      decision = memory.concurrent(unique, 1).try_acquire
      now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      permit = Paddlegate::Permit.new(store.concurrent("x", 1), decision, now, false)
      assert_nil permit.release_after_block
      assert_raises(Paddlegate::UnavailableError) { permit.release }
    end
  end

  def test_ignore_skips_the_block
    [:ignore, "ignore", :skip, "skip"].each do |policy|
      limiter = memory.concurrent(unique, 1, on_limit: policy, wait_timeout: 0)
      limiter.within_limit do
        assert_same(Paddlegate::SKIPPED, limiter.within_limit { flunk })
        assert_raises(Paddlegate::OverLimit) { limiter.acquire }
      end
      assert_nil(limiter.within_limit { nil })
    end
    assert_equal "Paddlegate::SKIPPED", Paddlegate::SKIPPED.inspect
    assert_equal "Paddlegate::SKIPPED", Paddlegate::SKIPPED.to_s
    assert_predicate Paddlegate::SKIPPED, :frozen?
    assert_same(Paddlegate::SKIPPED, memory.paused("p", on_limit: :ignore).within_limit { flunk })
  end

  def test_only_its_own_refusal_is_ignored
    limiter = memory.unlimited("u", on_limit: :ignore)
    inner = memory.paused("p")
    assert_raises(Paddlegate::OverLimit) { limiter.within_limit { inner.acquire } }
  end

  private

  def both
    yield memory
    yield redis
  end
end
