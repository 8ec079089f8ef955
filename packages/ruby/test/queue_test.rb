# frozen_string_literal: true

require "helper"

# Tickets for job systems, statistics and the list of limiters.
class QueueTest < Minitest::Test
  include Helper

  def test_tickets_keep_their_order
    both do |store|
      limiter = store.concurrent(unique, 1)
      held = limiter.acquire
      tickets = %w[a b c].map { |id| limiter.enqueue(id) }
      assert_equal [:queued] * 3, tickets.map(&:status)
      assert_equal [0, 1, 2], tickets.map(&:position)
      assert_equal tickets.map(&:ticket).sort.uniq, tickets.map(&:ticket)
      assert_equal [nil, nil], [tickets.first.ready_after, tickets.first.permit]
      refute_predicate tickets.first, :allowed?
      assert_operator tickets.first.retry_after, :>, 0
      assert_equal %i[cancelled unknown], [limiter.cancel("b"), limiter.cancel("b")]
      assert_equal :no_ticket, limiter.claim("b").status
      assert_equal [:queued, 1], [limiter.claim("c").status, limiter.claim("c").position]
      held.release
      refute_predicate limiter.try_acquire, :allowed?
      granted = limiter.claim("a")
      assert_equal [:granted, 30.0], [granted.status, granted.lease]
      assert_equal :released, limiter.release(granted.permit)
      assert_equal :granted, limiter.claim("c").status
      assert_equal :granted, limiter.enqueue("c").status
      assert_equal 0, limiter.stats.tickets
    end
  end

  def test_a_rate_says_when_a_ticket_is_ready
    limiter = clocked.throttle(unique, 10)
    limiter.try_acquire
    first = limiter.enqueue("a")
    second = limiter.enqueue("b")
    assert_equal [10.0, 10.0], [first.ready_after, first.retry_after]
    assert_equal [20.0, 20.0], [second.ready_after, second.retry_after]
    at(10_000_000)
    assert_equal :granted, limiter.claim("a").status
    assert_equal :no_ticket, limiter.claim("a").status
    at(19_999_999)
    assert_equal :queued, limiter.claim("b").status
    at(20_000_000)
    assert_equal :granted, limiter.claim("b").status
  end

  def test_a_ticket_that_is_not_claimed_lapses
    limiter = clocked.throttle(unique, 10)
    limiter.try_acquire
    limiter.enqueue("a", claim_timeout: 5)
    limiter.enqueue("b")
    at(20_000_000)
    assert_equal :granted, limiter.claim("b").status
    assert_equal :no_ticket, limiter.claim("a").status
    assert_equal 1, limiter.stats.lapsed
  end

  def test_enqueue_refuses_what_comes_too_late
    limiter = clocked.throttle(unique, 10)
    limiter.try_acquire
    assert_equal :refused, limiter.enqueue("a", wait_timeout: 9.9).status
    assert_equal :queued, limiter.enqueue("a", wait_timeout: 10.1).status
    assert_equal :refused, memory.paused("p").enqueue("a").status
    assert_equal :granted, memory.unlimited.enqueue("a").status
  end

  def test_costs_of_tickets
    limiter = memory.window(unique, 5, :hour)
    limiter.try_acquire(cost: 5)
    assert_equal :queued, limiter.enqueue("a", cost: 3).status
    assert_equal :queued, limiter.enqueue("b", estimate: 3).status
    assert_raises(Paddlegate::InvalidError) { limiter.enqueue("c", cost: 6) }
  end

  def test_it_is_counted_what_was_done
    both do |store|
      limiter = store.concurrent(unique, 1)
      permit = limiter.acquire
      limiter.try_acquire
      assert_raises(Paddlegate::OverLimit) { limiter.acquire(wait_timeout: 0.02) }
      waiter = Thread.new { limiter.acquire }
      Thread.pass until limiter.stats.tickets == 1
      permit.release
      waiter.value
      stats = limiter.stats
      assert_predicate stats, :frozen?
      assert_equal [2, 2, 1, 1, 1, 0], [stats.granted, stats.refused, stats.waited, stats.immediate,
                                        stats.leases, stats.tickets]
      assert_operator stats.held_time, :>, 0.02
      assert_operator stats.wait_time, :>, 0
      assert_equal 2, stats.to_h[:granted]
      limiter.reset
      assert_equal 0, limiter.stats.granted
    end
  end

  def test_units_and_corrections_are_counted
    shop = redis.points(unique, 1000, 20)
    permit = shop.acquire(estimate: 200)
    permit.points_used(50)
    stats = shop.stats
    assert_equal [50, 1, 0, 0], [stats.units, stats.corrections, stats.leases, stats.tickets]
    shop.reset
  end

  def test_limiters_are_listed
    name = unique("lïsted")
    both do |store|
      limiter = store.limiter(name, concurrency: 5, window: [100, :minute], ttl: 3600)
      store.bucket("#{name}-never", 1, 1)
      limiter.acquire
      found = store.limiters.select { |listed| listed.name.start_with?(name) }
      assert_equal [name], found.map(&:name)
      slots = { label: :concurrency, kind: :concurrency, amount: 5, interval: 30.0, offset: 0.0 }
      window = { label: :window, kind: :window, amount: 100, interval: 60.0, offset: 0.0 }
      assert_equal [slots, window], found.first.limits
      assert_equal store.memory? ? 90.0 * DAY : 3600.0, found.first.ttl
      assert_in_delta Time.now.to_f, found.first.last_used, 120 unless store.memory?
      assert_nil found.first.last_used if store.memory?
      assert_predicate found.first, :frozen?
      limiter.reset
    end
  end

  private

  def both
    yield memory
    yield redis
  end
end
