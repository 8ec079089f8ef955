# frozen_string_literal: true

require "helper"

# A clock that only the test moves.
class TestClockTest < Minitest::Test
  include Helper

  def test_stores_decide_by_their_clock
    on_clocked do |store|
      limiter = store.window(unique, 1, :minute)
      assert_equal NOW, limiter.try_acquire.at_us
      assert_nil clock.advance(59.999_999)
      assert_in_delta 0.000_001, limiter.try_acquire.retry_after, 1e-9
      clock.advance("PT0.000001S")
      assert_equal NOW + 60_000_000, clock.now_us
      assert_predicate limiter, :allow?
      # As that of a server may run.
      at(0)
      refute_predicate limiter, :allow?
    end
  end

  def test_the_range_of_its_time
    clock = Paddlegate::TestClock.new
    assert_equal 0, clock.now_us
    clock.now_us = 1 << 52
    assert_equal 1 << 52, clock.now_us
    assert_includes clock.inspect, "now_us=4503599627370496"
  end

  def test_a_wait_reads_the_clock
    on_clocked do |store|
      limiter = store.concurrent(unique, 1)
      held = limiter.acquire
      waiter = Thread.new { limiter.within_limit(wait_timeout: 60) { clock.now_us } }
      eventually { limiter.stats.tickets == 1 }
      at(5)
      held.release
      assert_equal NOW + 5, waiter.value
      assert_in_delta 0.000_005, limiter.stats.wait_time, 1e-9
    end
  end

  # By real time it would wait for an hour.
  def test_a_wait_in_memory_ends_when_the_clock_is_moved
    clock = Paddlegate::TestClock.new(NOW)
    store = Paddlegate::Store.new("memory://", clock: clock)
    limiter = store.throttle(unique, 3600, wait_timeout: 7200)
    limiter.acquire
    waiter = Thread.new { limiter.acquire.decision.at_us }
    eventually { limiter.stats.tickets == 1 }
    clock.advance(3600)
    assert_equal clock.now_us, waiter.value
  end

  def test_a_store_keeps_its_clock
    limiter = clocked.throttle(unique, 1)
    @clock = nil
    GC.start
    assert_equal [NOW, 1.0], [limiter.try_acquire.at_us, limiter.try_acquire.retry_after]
  end

  # It could end the leases of other processes.
  def test_a_clock_in_redis_needs_the_environment
    program = <<~RUBY
      require "paddlegate"
      clock = Paddlegate::TestClock.new
      Paddlegate::Store.new("memory://", clock: clock)
      begin
        Paddlegate::Store.new(ARGV[0], clock: clock)
      rescue Paddlegate::InvalidError => e
        print e.argument
      end
    RUBY
    [nil, "", "0"].each do |value|
      assert_equal "clock", ruby(program, { "PADDLEGATE_TEST_CLOCK" => value }, URL)
    end
    assert_empty ruby(program, { "PADDLEGATE_TEST_CLOCK" => "1" }, URL)
  end
end
