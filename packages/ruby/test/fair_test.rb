# frozen_string_literal: true

require "helper"
require "scheduler"

# Waiting in turn: threads, fibers, and what ends a wait.
class FairTest < Minitest::Test
  include Helper

  def test_fifty_wait_and_one_release_lets_one_in
    both do |store|
      limiter = store.concurrent(unique, 1)
      held = limiter.acquire
      entered = Queue.new
      go = Queue.new
      threads = Array.new(50) do |number|
        thread = Thread.new do
          limiter.within_limit(wait_timeout: 60) do
            entered << number
            go.pop
          end
        end
        eventually { limiter.stats.tickets == number + 1 }
        thread
      end
      held.release
      assert_equal 0, entered.pop
      # The others stay where they are.
      assert_equal [1, 49], [limiter.stats.leases, limiter.stats.tickets]
      assert_empty entered
      50.times { go << nil }
      threads.each(&:join)
      assert_equal (1..49).to_a, Array.new(49) { entered.pop }
      assert_equal [51, 50, 0, 0], counts(limiter, :granted, :waited, :leases, :tickets)
    end
  end

  def test_a_wait_ends_with_its_time
    both do |store|
      limiter = store.concurrent(unique, 1)
      limiter.acquire
      # The default is five seconds, and so long it sleeps at most.
      assert_once_within(4) do
        spent = elapsed do
          error = assert_raises(Paddlegate::OverLimit) { limiter.acquire(wait_timeout: 0.05) }
          assert_equal :concurrency, error.decision.reason
        end
        assert_operator spent, :>=, 0.05
        spent
      end
      assert_equal [0, 1], counts(limiter, :tickets, :leases)
    end
  end

  def test_a_lease_that_ends_by_itself_lets_the_next_in
    both do |store|
      limiter = store.concurrent(unique, 1, lock_timeout: 0.3)
      limiter.acquire
      # It looks when the lease ends, and not as late as one that waits to be called.
      decision = limiter.enqueue("looks")
      assert_operator decision.retry_after, :<=, 0.3
      limiter.cancel("looks")
      limiter.acquire(wait_timeout: 60).release
      assert_equal 1, limiter.stats.reclaimed
    end
  end

  def test_whatever_ends_a_wait_leaves_nothing
    both do |store|
      limiter = store.concurrent(unique, 1)
      limiter.acquire
      # Once before anybody listens, once while somebody does.
      2.times do
        spent = elapsed do
          assert_raises(Timeout::Error) do
            Timeout.timeout(0.2) { limiter.acquire(wait_timeout: 30) }
          end
        end
        assert_operator spent, :<, 20
        assert_gone limiter
        [[:kill], [:raise, IOError]].each do |ending|
          thread = Thread.new { limiter.within_limit(wait_timeout: 30) { flunk } }
          thread.report_on_exception = false
          eventually { limiter.stats.tickets == 1 }
          thread.public_send(*ending)
          spent = elapsed do
            thread.join
          rescue IOError
            assert_includes ending, IOError
          end
          assert_operator spent, :<, 20
          assert_gone limiter
        end
      end
    end
  end

  def test_a_call_that_is_ended_keeps_what_its_id_had_before
    both do |store|
      limiter = store.concurrent(unique, 1)
      permit = limiter.acquire(id: "held")
      %i[acquire within_limit].each do |verb|
        ended = ending_of_enter(limiter) do
          limiter.public_send(verb, id: "held") { flunk }
        end
        assert_kind_of IOError, ended
        assert_equal 1, limiter.stats.leases
      end
      assert permit.renew
    end
  end

  def test_a_wait_under_an_id_that_is_ended_leaves_nothing
    both do |store|
      limiter = store.concurrent(unique, 1)
      limiter.acquire
      thread = Thread.new { limiter.acquire(id: "waits") }
      eventually { limiter.stats.tickets == 1 && thread.stop? }
      thread.kill.join
      assert_gone limiter
    end
  end

  def test_who_listens_does_not_keep_off_the_end_of_the_program
    spent = elapsed do
      ruby(<<~RUBY)
        require "paddlegate"
        limiter = Paddlegate::Store.new("memory://").concurrent("slots", 1)
        limiter.acquire
        Thread.handle_interrupt(Object => :never) do
          limiter.acquire(wait_timeout: 0.2)
        rescue Paddlegate::OverLimit
          # Now a thread listens.
        end
      RUBY
    end
    assert_operator spent, :<, 30
  end

  def test_waiters_are_called_by_the_ids_they_gave
    both do |store|
      limiter = store.concurrent(unique, 1)
      held = limiter.acquire(id: "заказ-16")
      assert_operator held.id, :start_with?, "заказ-16:"
      listener = limiter.listen
      limiter.acquire_with_id("заказ-17", nil, nil, nil, [60_000_000, 0, listener.channel, 0])
      held.release
      assert listener.io.wait_readable(30)
      called = []
      listener.receive { |id, _delay| called << id }
      assert_equal ["заказ-17"], called
    ensure
      listener&.close
    end
  end

  def test_a_waiter_whom_nobody_can_call_is_not_kept
    limiter = memory.concurrent(unique, 1)
    limiter.acquire
    hub = limiter.hubs.find_or_create(limiter)
    hub.define_singleton_method(:start) { raise ThreadError, "no more threads" }
    assert_raises(Paddlegate::OverLimit) { limiter.acquire(wait_timeout: 0.01) }
    assert_empty hub.instance_variable_get(:@waiters)
  end

  # A thread that nobody needed any more, while another one began to listen.
  def test_a_thread_that_ends_leaves_the_channel_of_the_next
    listened = [Listening.new("first"), Listening.new("second")]
    limiter = Struct.new(:left) { define_method(:listen) { left.shift } }.new(listened.dup)
    waiter = Struct.new(:id, :limiter) { define_method(:wake) { |_| nil } }.new("x", limiter)
    hub = Paddlegate::Hub.new
    hub.add(waiter, listen: true)
    eventually { hub.channel == "first" }
    ending = Thread.list.find { |thread| thread == hub.instance_variable_get(:@thread) }
    hub.remove(waiter)
    listened.first.idle << nil
    eventually { hub.channel.empty? }
    hub.add(waiter, listen: true)
    eventually { hub.channel == "second" }
    listened.first.closed << nil
    assert ending.join(30)
    assert_equal ["second", []], [hub.channel, limiter.left]
  ensure
    hub&.remove(waiter)
    listened&.each { |listener| [listener.idle, listener.closed].each { |queue| queue << nil } }
  end

  def test_an_interrupt_ends_a_wait
    name = unique
    limiter = redis.concurrent(name, 1)
    limiter.acquire
    program = <<~RUBY
      require "paddlegate"
      Paddlegate.configure { |c| c.timeout = 10 }
      limiter = Paddlegate.concurrent(ARGV.first, 1, wait_timeout: 30)
      # It may be ignored, as by nohup.
      trap("INT", "DEFAULT")
      Thread.new { sleep(0.01) until limiter.stats.tickets == 1; Process.kill("INT", Process.pid) }
      begin
        limiter.within_limit { nil }
      rescue Interrupt
        sleep(0.01) until limiter.stats.tickets.zero?
        print "interrupted"
      end
    RUBY
    assert_equal "interrupted", ruby(program, { "PADDLEGATE_URL" => URL }, name)
  end

  def test_the_end_of_a_program_leaves_nothing
    name = unique
    limiter = redis.concurrent(name, 1)
    program = <<~RUBY
      require "paddlegate"
      Paddlegate.configure { |c| c.timeout = 10 }
      limiter = Paddlegate.concurrent(ARGV.first, 1, wait_timeout: 30)
      3.times { Thread.new { limiter.within_limit { sleep } } }
      sleep(0.01) until limiter.stats.tickets == 2
      print "ended"
    RUBY
    assert_equal "ended", ruby(program, { "PADDLEGATE_URL" => URL }, name)
    assert_equal [0, 0], counts(limiter, :leases, :tickets)
  end

  def test_a_killed_process_lets_the_others_in
    name = unique
    before = subscriptions
    limiter = redis.concurrent(name, 1)
    held = limiter.acquire
    program = <<~RUBY
      require "paddlegate"
      Paddlegate.configure { |c| c.timeout = 10 }
      Paddlegate.concurrent(ARGV.first, 1).acquire(wait_timeout: 60)
    RUBY
    pid = spawn({ "PADDLEGATE_URL" => URL }, RbConfig.ruby, "-I#{ROOT}/lib", "-e", program, name)
    # From here on its place is known to be lost when nobody hears that its turn has come.
    eventually { limiter.stats.tickets == 1 && subscriptions > before }
    Process.kill("KILL", pid)
    Process.wait(pid)
    waiter = Thread.new { limiter.acquire(wait_timeout: 30) }
    eventually { limiter.stats.tickets == 2 }
    held.release
    assert_operator elapsed { waiter.value }, :<, 25
  end

  def test_many_threads_share_a_few_leases
    both do |store|
      limiter = store.concurrent(unique, 3)
      inside = 0
      most = 0
      lock = Mutex.new
      threads = Array.new(12) do
        Thread.new do
          20.times do
            limiter.within_limit(wait_timeout: 60) do
              lock.synchronize { most = [most, inside += 1].max }
              Thread.pass
              lock.synchronize { inside -= 1 }
            end
          end
        end
      end
      threads.each(&:join)
      assert_operator most, :<=, 3
      assert_equal [240, 0, 0], counts(limiter, :granted, :leases, :tickets)
    end
  end

  def test_rates_are_waited_for_in_turn
    both do |store|
      limiter = store.throttle(unique, 0.1)
      limiter.acquire
      order = Queue.new
      threads = Array.new(5) do |number|
        Thread.new { limiter.within_limit { order << number } }.tap do
          eventually { limiter.stats.tickets + order.size == number + 1 }
        end
      end
      threads.each(&:join)
      assert_equal [0, 1, 2, 3, 4], Array.new(5) { order.pop }
    end
  end

  def test_one_thread_listens_and_nothing_does_without_a_wait
    output = ruby(<<~RUBY, { "PADDLEGATE_URL" => URL }, unique)
      require "paddlegate"
      Paddlegate.configure { |c| c.timeout = 10 }
      limiter = Paddlegate.concurrent(ARGV.first, 1)
      100.times { limiter.within_limit { nil } }
      before = Thread.list.size
      held = limiter.acquire
      threads = 5.times.map { Thread.new { limiter.within_limit { nil } } }
      sleep(0.01) until limiter.stats.tickets == 5
      held.release
      threads.each(&:join)
      print before, " ", Thread.list.size
    RUBY
    assert_equal "1 2", output
  end

  def test_lost_hints_cost_time_and_nothing_else
    limiter = redis.concurrent(unique, 1)
    killer = Thread.new { loop { kill_subscriptions && sleep(0.3) } }
    threads = Array.new(8) do
      Thread.new do
        10.times { limiter.within_limit(wait_timeout: 60) { sleep(0.01) } }
      end
    end
    threads.each { |thread| assert thread.join(60) }
    assert_equal [80, 0, 0], counts(limiter, :granted, :leases, :tickets)
  ensure
    killer&.kill&.join
  end

  def test_a_lost_connection_is_opened_again
    # Sooner than it would look by itself.
    assert_once_within(4) do
      limiter = redis.concurrent(unique, 1)
      held = limiter.acquire
      waiter = Thread.new { limiter.acquire(wait_timeout: 60) }
      eventually { limiter.stats.tickets == 1 && subscriptions.positive? }
      kill_subscriptions
      eventually { subscriptions.positive? }
      held.release
      elapsed { waiter.value }
    end
  end

  def test_a_signal_handler_may_wait
    limiter = memory.concurrent(unique, 1, lock_timeout: 0.5)
    done = nil
    before = trap("USR1") { done = limiter.acquire(wait_timeout: 20).decision.status }
    limiter.acquire
    other = Thread.new { limiter.acquire(wait_timeout: 20).release }
    # On a machine that stalls the lease has ended before.
    eventually { limiter.stats.tickets == 1 || !other.alive? }
    Process.kill("USR1", Process.pid)
    eventually { done }
    assert_equal :granted, done
    other.join
  ensure
    trap("USR1", before || "DEFAULT")
  end

  def test_fibers_wait_in_turn
    both do |store|
      limiter = store.concurrent(unique, 1)
      order = []
      ticks = 0
      Scheduler.run do
        held = limiter.acquire
        5.times do |number|
          Fiber.schedule { limiter.within_limit { order << number } }
          eventually { limiter.stats.tickets == number + 1 }
        end
        Fiber.schedule { 10.times { sleep(0.01) && ticks += 1 } }
        Fiber.schedule do
          sleep(0.05)
          order << :released
          held.release
        end
      end
      assert_equal [:released, 0, 1, 2, 3, 4], order
      assert_equal 10, ticks
      assert_equal [6, 0, 0], counts(limiter, :granted, :leases, :tickets)
    end
  end

  def test_a_fiber_that_is_ended_leaves_nothing
    limiter = redis.concurrent(unique, 1)
    limiter.acquire
    ended = nil
    Scheduler.run do
      waiter = Fiber.schedule do
        limiter.acquire
      rescue IOError => e
        ended = e
      end
      sleep(0.05)
      Fiber.scheduler.raise_in(waiter, IOError)
    end
    assert_kind_of IOError, ended
    assert_gone limiter
  end

  def test_a_fiber_gives_up_in_time
    limiter = memory.concurrent(unique, 1)
    limiter.acquire
    # Later it would have looked by itself.
    assert_once_within(4.9) do
      elapsed do
        Scheduler.run do
          assert_raises(Paddlegate::OverLimit) { limiter.acquire(wait_timeout: 0.05) }
        end
      end
    end
  end

  # A listener that is idle, and closed, when a test says so.
  class Listening
    attr_reader :channel, :idle, :closed

    def initialize(channel)
      @channel = channel
      @idle = Queue.new
      @closed = Queue.new
    end

    def io
      self
    end

    def wait_readable(_seconds)
      idle.pop
    end

    def close
      closed.pop
    end
  end
  private_constant :Listening

  private

  # How a call ends that is interrupted when it was answered and does not know it yet.
  def ending_of_enter(limiter)
    enter = limiter.method(:acquire_with_id)
    limiter.define_singleton_method(:acquire_with_id) do |*arguments|
      enter.call(*arguments)
      raise IOError
    end
    yield
  rescue IOError => e
    e
  ensure
    limiter.singleton_class.remove_method(:acquire_with_id)
  end

  def both
    yield memory
    yield redis
  end

  def counts(limiter, *names)
    limiter.stats.to_h.values_at(*names)
  end

  def assert_gone(limiter)
    eventually { limiter.stats.tickets.zero? }
    assert_equal 1, limiter.stats.leases
  end

  def kill_subscriptions
    command("CLIENT", "KILL", "TYPE", "pubsub")
  end

  # How many connections listen, of whatever test.
  def subscriptions
    command("CLIENT", "LIST", "TYPE", "pubsub").scan(/^id=/).size
  end
end
