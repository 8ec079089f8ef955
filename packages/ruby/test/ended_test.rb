# frozen_string_literal: true

require "gate"
require "helper"
require "minitest/mock"

# Calls that are ended from outside, or that have no answer, give back what was granted to them.
class EndedTest < Minitest::Test
  include Helper

  ENDINGS = {
    kill: ->(thread) { thread.kill },
    raise: ->(thread) { thread.raise(IOError) },
    timeout: ->(thread) { thread.raise(Timeout::Error) }
  }.freeze

  VERBS = {
    try_acquire: ->(limiter) { limiter.try_acquire },
    acquire: ->(limiter) { limiter.acquire },
    within_limit: ->(limiter) { limiter.within_limit { sleep } }
  }.freeze

  # The server has granted, and its answer is on the way.
  VERBS.each do |verb, call|
    define_method("test_#{verb}_that_is_ended_leaves_no_lease") do
      held_up do |gate, limiter, direct|
        ENDINGS.each do |ending, order|
          gate.held = true
          thread = Thread.new { call.call(limiter) }
          thread.report_on_exception = false
          eventually { direct.stats.leases == 1 }
          order.call(thread)
          assert_ended thread
          gate.held = false
          eventually("#{verb} that ended by #{ending}") { direct.stats.leases.zero? }
        end
      end
    end
  end

  def test_timeout_leaves_no_lease
    held_up do |gate, limiter, direct|
      seen = hold_cancels(limiter)
      VERBS.each_value do |call|
        gate.held = true
        assert_raises(Timeout::Error) { Timeout.timeout(1.5) { call.call(limiter) } }
        eventually { direct.stats.leases == 1 }
        seen << true
        gate.held = false
        eventually { direct.stats.leases.zero? }
      end
    end
  end

  def test_a_call_without_an_answer_leaves_no_lease
    # Long enough that a machine that stalls sends it.
    held_up(timeout: 1.5) do |gate, limiter, direct|
      seen = hold_cancels(limiter)
      VERBS.each_value do |call|
        gate.held = true
        error = assert_raises(Paddlegate::UnavailableError) { call.call(limiter) }
        assert_predicate error, :may_have_counted?
        eventually { direct.stats.leases == 1 }
        seen << true
        gate.held = false
        eventually { direct.stats.to_h.values_at(:leases, :tickets).sum.zero? }
      end
    end
  end

  # As near to the end of the call as an interrupt can come.
  def test_a_call_that_is_ended_when_it_was_answered
    [memory, redis].each do |store|
      limiter = store.concurrent(unique, 1)
      enter = limiter.method(:acquire_with_id)
      limiter.define_singleton_method(:acquire_with_id) do |*arguments|
        enter.call(*arguments)
        raise IOError
      end
      VERBS.each_value do |call|
        assert_raises(IOError) { call.call(limiter) }
        eventually { limiter.stats.leases.zero? }
      end
      assert_equal 3, limiter.stats.granted
    end
  end

  # Under an id of the caller there may have been a lease before.
  def test_an_id_of_the_caller_keeps_its_lease
    limiter = memory.concurrent(unique, 1)
    limiter.try_acquire(id: "mine")
    limiter.define_singleton_method(:acquire_with_id) { |*| raise IOError }
    assert_raises(IOError) { limiter.try_acquire(id: "mine") }
    assert_equal 1, limiter.stats.leases
  end

  def test_the_end_of_the_program_waits_for_what_is_given_back
    name = unique
    program = <<~RUBY
      require "paddlegate"
      limiter = Paddlegate::Store.new(ARGV.first, timeout: 10).concurrent(ARGV.last, 1)
      enter = limiter.method(:acquire_with_id)
      limiter.define_singleton_method(:acquire_with_id) do |*arguments|
        enter.call(*arguments)
        raise Paddlegate::UnavailableError.new("no answer", may_have_counted: true)
      end
      begin
        limiter.try_acquire
      rescue Paddlegate::UnavailableError
        print "ended"
      end
    RUBY
    assert_equal "ended", ruby(program, {}, URL, name)
    limiter = redis.concurrent(name, 1)
    assert_equal 1, limiter.stats.granted
    eventually { limiter.stats.leases.zero? }
  end

  # What the store did not answer has used up the time of the call.
  def test_a_call_without_an_answer_does_not_wait_for_its_cancel
    thread = Object.new
    thread.define_singleton_method(:join) { |*| raise "it waits" }
    silent(0.1) do |store|
      limiter = store.concurrent("c", 1)
      Paddlegate::Cleanup.stub(:start, thread) do
        VERBS.each_value do |call|
          assert_raises(Paddlegate::UnavailableError) { call.call(limiter) }
        end
      end
    end
  end

  if ENV["PADDLEGATE_SOAK"]
    # The fastest of several, on a machine that does not stall.
    def test_a_call_without_an_answer_ends_within_its_timeout
      silent(0.1) do |store|
        limiter = store.concurrent("c", 1)
        VERBS.each do |verb, call|
          spent = Array.new(10) do
            elapsed { assert_raises(Paddlegate::UnavailableError) { call.call(limiter) } }
          end
          assert_operator spent.min, :<, 0.15, verb
        end
      end
    end

    def test_a_wait_whose_server_falls_silent_ends_within_its_timeout
      spent = Array.new(10) do
        held_up do |gate, limiter, direct|
          direct.acquire
          elapsed do
            waiter = Thread.new { Timeout.timeout(0.3) { limiter.acquire(wait_timeout: 30) } }
            waiter.report_on_exception = false
            eventually { direct.stats.tickets == 1 }
            gate.held = true
            assert_ended waiter
          end
        end
      end
      assert_operator spent.min, :<, 0.35
    end
  end

  private

  # A limiter on the other side of a gate, and the same without a gate.
  def held_up(timeout: 20)
    gate = Gate.new(URL)
    store = Paddlegate::Store.new(gate.url, timeout: timeout)
    name = unique("ended")
    limiter = store.concurrent(name, 1)
    # From here on the server has the scripts of all calls, and answers each only when it has
    # decided: those of the first calls, and those of calls in quick succession.
    10.times { limiter.acquire.release }
    yield gate, limiter, redis.concurrent(name, 1)
  ensure
    gate.close
  end

  # Lets a limiter give back what was granted when the queue that is returned says so, so that a
  # test sees the lease before. The counts do not show it: a call without an answer may not be
  # counted.
  def hold_cancels(limiter)
    seen = Queue.new
    limiter.define_singleton_method(:cancel) do |id|
      seen.pop
      super(id)
    end
    seen
  end

  def assert_ended(thread)
    assert thread.join(10), "it goes on"
  rescue IOError, Timeout::Error
    # So it was told.
  end
end
