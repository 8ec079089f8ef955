# frozen_string_literal: true

require "gate"
require "helper"

# Other threads and signals while a call is under way.
class ThreadsTest < Minitest::Test
  include Helper

  def test_other_threads_run_during_a_call
    # Who carries the call to the server is a thread of this process.
    gate = Gate.new(URL)
    limiter = Paddlegate::Store.new(gate.url, timeout: 10).bucket(unique, 5, 60)
    assert_predicate limiter.try_acquire, :allowed?
  ensure
    gate.close
  end

  def test_a_server_that_does_not_answer
    # Not the default, which is one second.
    silent(0.2) do |store|
      spent = Array.new(3) do
        elapsed do
          error = assert_raises(Paddlegate::UnavailableError) do
            store.bucket("b", 5, 60).try_acquire
          end
          assert_predicate error, :may_have_counted?
        end
      end
      # The fastest, so that a machine that stalls fails nothing.
      assert_includes 0.19..0.9, spent.min
    end
  end

  # No call waits for the time-outs of others: each ends after one and a half at most.
  in_soak def test_a_thousand_calls_at_a_server_that_does_not_answer
    silent(6) do |store|
      limiter = store.bucket("b", 5, 60)
      calls = Array.new(1_000) do
        Thread.new do
          elapsed { assert_raises(Paddlegate::UnavailableError) { limiter.try_acquire } }
        end
      end
      assert_operator calls.map(&:value).max, :<, 9
    end
  end

  def test_timeout_ends_a_call
    silent(20) do |store|
      limiter = store.bucket("b", 5, 60)
      verbs = [-> { limiter.try_acquire }, -> { limiter.peek }, -> { limiter.allow? },
               -> { limiter.reset }, -> { limiter.within_limit { flunk } },
               -> { limiter.correct("#{"0" * 32}:1:1", 1) }]
      verbs.each do |verb|
        spent = elapsed { assert_raises(Timeout::Error) { Timeout.timeout(0.2) { verb.call } } }
        assert_operator spent, :<, 15
      end
    end
  end

  def test_kill_ends_a_call
    silent(20) do |store|
      limiter = store.bucket("b", 5, 60)
      thread = Thread.new { limiter.try_acquire }
      sleep(0.1)
      assert_operator elapsed { thread.kill.join }, :<, 15
    end
  end

  def test_an_interrupt_ends_the_program
    silent(20) do |_, url|
      program = <<~RUBY
        require "paddlegate"
        limiter = Paddlegate::Store.new(ARGV.first, timeout: 20).bucket("b", 5, 60)
        # It may be ignored, as by nohup.
        trap("INT", "DEFAULT")
        begin
          Thread.new { sleep(0.2) && Process.kill("INT", Process.pid) }
          begin
            limiter.try_acquire
          rescue Paddlegate::UnavailableError
            sleep(15) # the call has ended, and Ruby has not yet looked at the signal
          end
        rescue Interrupt
          print "interrupted"
        end
      RUBY
      spent = elapsed { assert_equal "interrupted", ruby(program, {}, url) }
      assert_operator spent, :<, 18
    end
  end

  def test_threads_share_a_limiter
    { clocked => 2000, clocked(URL) => 100 }.each do |store, tries|
      limiter = store.bucket(unique, 4 * tries, DAY)
      threads = Array.new(8) { Thread.new { tries.times.count { limiter.allow? } } }
      assert_equal 4 * tries, threads.sum(&:value)
    end
  end

  def test_permits_are_not_mixed_up_between_threads
    limiter = redis.points(unique, 1_000_000, DAY)
    threads = Array.new(8) do
      Thread.new do
        permits = Array.new(50) { limiter.acquire(estimate: 2) }
        permits.map { |permit| permit.points_used(1) }
      end
    end
    assert_equal({ settled: 400 }, threads.flat_map(&:value).tally)
  end

  # A signal handler runs in the middle of whatever its thread does.
  def test_a_signal_handler_may_use_a_limiter
    limiter = redis.bucket(unique, 1_000_000, DAY)
    other = redis.paused("p")
    handled = 0
    before = trap("USR2") { handled += 1 unless other.allow? }
    sender = Thread.new { loop { sleep(0.001) && Process.kill("USR2", Process.pid) } }
    1000.times { assert_allowed limiter }
    assert_allowed limiter until handled.positive?
    sender.kill.join
  ensure
    trap("USR2", before || "DEFAULT")
  end

  def test_calls_in_a_call_have_buffers_of_their_own
    outer, inner = Array.new(2) { Paddlegate::CallBuffer.checkout }
    refute_same outer, inner
    [inner, outer].each(&:checkin)
    limiter = memory.bucket(unique, 5, DAY)
    later = Array.new(3) do
      # Its buffer is lost.
      assert_raises(Paddlegate::InvalidError) { limiter.try_acquire(cost: 6) }
      buffers = Array.new(2) { Paddlegate::CallBuffer.checkout.tap(&:checkin) }
      assert_same(*buffers)
      buffers.first
    end
    assert_equal 3, later.uniq.size
  end

  def test_fibers_share_a_limiter
    limiter = memory.window(unique, 3, DAY)
    fibers = Array.new(5) { Fiber.new { Fiber.yield(limiter.allow?) } }
    assert_equal 3, fibers.count(&:resume)
  end

  def test_forgotten_limiters_are_closed
    limiters = 3.times.sum do
      10_000.times { memory.unlimited }
      GC.start
      ObjectSpace.each_object(Paddlegate::Limiter).count
    end
    assert_operator limiters, :<, 25_000
  end

  private

  # A signal leaves a call 100 ms to end, which a machine that stalls may take.
  def assert_allowed(limiter)
    assert_predicate limiter.try_acquire, :allowed?
  rescue Paddlegate::UnavailableError => e
    assert_predicate e, :may_have_counted?
  end
end
