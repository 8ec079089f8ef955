# frozen_string_literal: true

require "helper"

# Waiting is Ruby's own sleep: it ends when the limit allows, and whenever Ruby wants it to.
class WaitingTest < Minitest::Test
  include Helper

  def test_waits_until_the_limit_allows
    limiter = memory.throttle(unique, 0.2)
    spent = elapsed do
      limiter.acquire
      limiter.within_limit { nil }
      limiter.acquire
    end
    assert_operator spent, :>=, 0.39
  end

  def test_waits_in_redis_too
    limiter = redis.leaky(unique, 1, 0.2)
    assert_operator elapsed { 2.times { limiter.acquire } }, :>=, 0.19
  end

  def test_gives_up_at_once_when_the_time_does_not_fit
    limiter = memory.throttle(unique, 60)
    limiter.acquire
    [{}, { wait_timeout: 0 }, { wait_timeout: 50.5 }, { wait_timeout: 50r / 3 }].each do |options|
      spent = elapsed { assert_raises(Paddlegate::OverLimit) { limiter.acquire(**options) } }
      assert_operator spent, :<, 20
    end
  end

  def test_a_limiter_has_a_wait_timeout_of_its_own
    limiter = memory.throttle(unique, 60, wait_timeout: 0.1)
    limiter.acquire
    assert_raises(Paddlegate::OverLimit) { limiter.acquire }
    short = memory.throttle(unique, 0.2, wait_timeout: 0)
    spent = elapsed { 2.times { short.acquire(wait_timeout: :minute) } }
    assert_operator spent, :>=, 0.19
  end

  def test_timeout_ends_a_wait
    limiter = waiting
    spent = elapsed { assert_raises(Timeout::Error) { Timeout.timeout(0.1) { limiter.acquire } } }
    assert_operator spent, :<, 20
  end

  def test_kill_ends_a_wait
    limiter = waiting
    thread = Thread.new { limiter.within_limit { flunk } }
    Thread.pass until thread.stop?
    assert_operator elapsed { thread.kill.join }, :<, 20
  end

  def test_raise_ends_a_wait
    limiter = waiting
    thread = Thread.new { limiter.acquire }
    thread.report_on_exception = false
    Thread.pass until thread.stop?
    thread.raise(IOError)
    assert_raises(IOError) { thread.value }
  end

  def test_a_wait_that_was_ended_takes_nothing
    limiter = memory.leaky(unique, 2, :hour)
    2.times { limiter.acquire }
    assert_raises(Timeout::Error) do
      Timeout.timeout(0.1) { limiter.acquire(wait_timeout: 7200) }
    end
    assert_operator limiter.peek(cost: 0).reset_after, :<, 3600
    eventually { limiter.stats.tickets.zero? }
  end

  private

  # A limiter that has nothing left for a minute, and waits for that.
  def waiting
    memory.throttle(unique, 60, wait_timeout: 60).tap(&:acquire)
  end
end
