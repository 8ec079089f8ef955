# frozen_string_literal: true

require "helper"

# Stores that are closed.
class CloseTest < Minitest::Test
  include Helper

  # Where a test counts connections it has a database of its own, by which they are known.
  HERE = "#{URL}/10".freeze

  def test_no_connection_is_left
    limiters = Array.new(200) do |number|
      store = Paddlegate::Store.new("#{URL}/11", timeout: 10)
      limiter = store.concurrent(unique, 1)
      permit = limiter.acquire
      # Every tenth listens, too.
      if (number % 10).zero?
        waiter = Thread.new { limiter.acquire }
        eventually { limiter.stats.tickets == 1 }
        permit.release
        waiter.value
      end
      assert_nil store.close
      limiter
    end
    eventually("closed") { connections(11).zero? }
    limiters.each { |limiter| refuses { limiter.peek } }
    assert_equal 0, connections(11)
  end

  def test_every_later_call_is_refused
    store = Paddlegate::Store.new(HERE, timeout: 10)
    limiter = store.concurrent(unique, 1)
    shop = store.points(unique, 5, 60)
    permit = limiter.acquire
    2.times { assert_nil store.close }
    [-> { limiter.try_acquire }, -> { limiter.acquire }, -> { limiter.within_limit { flunk } },
     -> { shop.allow?(cost: 1) }, -> { limiter.peek }, -> { permit.release }, -> { permit.renew },
     -> { limiter.stats }, -> { limiter.reset }, -> { limiter.pause(1) },
     -> { limiter.admit("job") }, -> { limiter.enqueue("job") },
     -> { shop.learn_from_response({}) },
     -> { store.limiters }, -> { store.window("w", 1, 1) }].each { |call| refuses(&call) }
    # The lease is where it was.
    assert_equal :released, Paddlegate::Store.new(HERE, timeout: 10)
                                             .concurrent(limiter.name, 1).release(permit)
  end

  def test_a_block_ends_all_the_same
    store = Paddlegate::Store.new(HERE, timeout: 10)
    assert_equal(:value, store.concurrent(unique, 1).within_limit { store.close || :value })
  end

  def test_waits_end
    store = Paddlegate::Store.new("#{URL}/12", timeout: 10)
    limiter = store.concurrent(unique, 1, wait_timeout: :hour)
    rate = store.throttle(unique, :hour, wait_timeout: 7200)
    rate.acquire
    limiter.acquire
    waiters = [limiter, limiter, rate].map do |waited_for|
      Thread.new { waited_for.acquire }.tap { |thread| thread.report_on_exception = false }
    end
    eventually("queued") { limiter.stats.tickets == 2 && rate.stats.tickets == 1 }
    eventually("asleep") { waiters.all?(&:stop?) }
    store.close
    waiters.each { |waiter| refuses { assert waiter.join(30) } }
    eventually("closed") { connections(12).zero? }
    other = Paddlegate::Store.new("#{URL}/12", timeout: 10)
    same = [other.concurrent(limiter.name, 1), other.throttle(rate.name, :hour)]
    assert_equal [0, 0], same.map { |it| it.stats.tickets }, "others need not wait for them"
    other.close
  end

  def test_a_wait_that_begins_meanwhile_ends
    store = Paddlegate::Store.new(HERE, timeout: 10)
    limiter = store.concurrent(unique, 1, wait_timeout: :hour)
    limiter.acquire
    enter = limiter.method(:acquire_with_id)
    closing = nil
    limiter.define_singleton_method(:acquire_with_id) do |*arguments|
      enter.call(*arguments).tap do
        closing = Thread.new { store.close }
        sleep(0.001) until store.hubs.instance_variable_get(:@closed)
      end
    end
    refuses { Timeout.timeout(30) { limiter.acquire } }
    closing.join
    other = Paddlegate::Store.new(HERE, timeout: 10)
    assert_equal 0, other.concurrent(limiter.name, 1).stats.tickets
    other.close
  end

  def test_memory_ends_its_waits_and_refuses_later_calls
    store = Paddlegate::Store.new("memory://")
    window = store.window("w", 2, 60)
    slots = store.concurrent("c", 1)
    assert_predicate window, :allow?
    slots.acquire
    waiting = Thread.new do
      assert_raises(Paddlegate::InvalidError) do
        slots.acquire(wait_timeout: 60)
      end
    end
    eventually { slots.stats.tickets == 1 }
    2.times { assert_nil store.close }
    assert_equal "store", waiting.value.argument
    [-> { window.allow? }, -> { window.acquire }, -> { window.stats },
     -> { store.window("x", 2, 60) }].each do |call|
      assert_equal "store", assert_raises(Paddlegate::InvalidError, &call).argument
    end
  end

  def test_the_default_store
    output = ruby(<<~RUBY, "PADDLEGATE_URL" => URL)
      require "paddlegate"
      Paddlegate.configure { |config| config.timeout = 10 }
      Paddlegate.close
      name = "#{unique}"
      limiter = Paddlegate.window(name, 5, 60)
      limiter.acquire
      2.times { Paddlegate.close }
      begin
        limiter.acquire
      rescue Paddlegate::InvalidError => e
        print e.argument, " "
      end
      print Paddlegate.window(name, 5, 60).acquire.decision.remaining
    RUBY
    assert_equal "store 3", output
  end

  def test_a_child_closes_its_own
    name = unique
    store = Paddlegate::Store.new(HERE, timeout: 10)
    limiter = store.concurrent(name, 1)
    held = limiter.acquire
    waiter = Thread.new { limiter.acquire(wait_timeout: 60) }
    eventually { limiter.stats.tickets == 1 }
    pid = fork do
      store.close
      exit!(true)
    end
    assert_predicate Process.wait2(pid).last, :success?
    held.release
    assert waiter.value.release
    store.close
  end

  # Nobody has the store any more but its limiter.
  def test_a_limiter_keeps_its_store
    limiter = Paddlegate::Store.new(HERE, timeout: 10).window(unique, 5, 60)
    3.times { GC.start }
    assert_predicate limiter, :allow?
  end

  private

  def refuses(&block)
    error = assert_raises(Paddlegate::InvalidError, &block)
    assert_equal "store", error.argument
  end

  def connections(database)
    command("CLIENT", "LIST").scan(/ db=#{database} /).size
  end
end
