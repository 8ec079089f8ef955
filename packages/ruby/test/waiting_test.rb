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

  in_soak def test_the_waiters_of_a_process_look_together
    limiter = redis.concurrent(unique, 1, wait_timeout: 600, lock_timeout: 600)
    holder = limiter.acquire
    waiting = Array.new(100) { Thread.new { limiter.within_limit { nil } } }
    sleep(0.05) until limiter.stats.tickets == 100
    # Each looks once by itself. A process that stalls lets each look once more.
    looked = 100
    8.times do
      before = scripts
      sleep(5.1)
      looked = scripts - before
      break if looked <= 20
    end
    assert_operator looked, :<=, 20
    assert_equal 100, limiter.stats.tickets
    holder.release
    waiting.each(&:join)
    assert_equal [101, 100, 0], limiter.stats.then { [_1.granted, _1.waited, _1.refused] }
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

  # How many scripts the server has run.
  def scripts
    address = URI(URL)
    TCPSocket.open(address.host, address.port) do |socket|
      socket.write("INFO commandstats\r\nQUIT\r\n")
      socket.read[/cmdstat_evalsha:calls=(\d+)/, 1].to_i
    end
  end

  # A limiter that has nothing left for a minute, and waits for that.
  def waiting
    memory.throttle(unique, 60, wait_timeout: 60).tap(&:acquire)
  end
end
