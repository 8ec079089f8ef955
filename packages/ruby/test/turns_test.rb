# frozen_string_literal: true

require "helper"

# Loops over the turns of queued jobs.
class TurnsTest < Minitest::Test
  include Helper

  JOBS = Array.new(30) { |number| "job #{number}" }.freeze

  def test_jobs_start_in_their_order
    both do |store|
      limiter = store.concurrent(unique, 3, lock_timeout: 600)
      fill(limiter, 3).each { |permit| limiter.release(permit) }
      started = []
      threads = []
      limiter.turns(wait_timeout: 60) do |job|
        started << job
        threads << Thread.new { limiter.admit(job).permit.release }
        break if started.size == JOBS.size
      end
      threads.each(&:join)
      assert_equal JOBS, started
    end
  end

  def test_several_loops_with_other_jobs_each
    both do |store|
      limiter = store.concurrent(unique, 2, lock_timeout: 600)
      permits = fill(limiter, 2)
      ran = Queue.new
      threads = Array.new(3) do
        Thread.new do
          limiter.turns(1) do |job|
            limiter.admit(job).permit.release
            ran << job
          end
        end
      end
      permits.each { |permit| limiter.release(permit) }
      assert_equal JOBS.sort, Array.new(JOBS.size) { ran.pop }.sort
      threads.each(&:kill).each(&:join)
      assert_equal [0, 0], [limiter.stats.tickets, limiter.stats.leases]
    end
  end

  def test_a_loop_that_sleeps_is_told_of_a_turn
    both do |store|
      limiter = store.concurrent(unique, 1, lock_timeout: 600)
      held = limiter.enqueue("first")
      loop = Thread.new { limiter.turns.first }
      assert_equal :wait, limiter.admit("job").action
      limiter.release(held.permit)
      assert_equal "job", loop.value
    end
  end

  def test_the_loop_of_a_key
    both do |store|
      limiter = store.concurrent(unique, 1, keyed: true)
      held = limiter.enqueue("first", key: "a")
      assert_equal :wait, limiter.admit("job", key: "a").action
      limiter.release(held.permit, key: "a")
      assert_equal ["job"], limiter.turns(key: "a").first(1)
      error = assert_raises(Paddlegate::InvalidError) { limiter.turns.next }
      assert_equal "key", error.argument
    end
  end

  def test_a_loop_ends_with_its_time
    both do |store|
      limiter = store.concurrent(unique, 1)
      assert_empty limiter.turns(wait_timeout: 0).to_a
      assert_empty limiter.turns(wait_timeout: 0.01).to_a
    end
  end

  def test_an_enumerator_gives_one_after_the_other
    both do |store|
      limiter = store.concurrent(unique, 2, lock_timeout: 600)
      permits = fill(limiter, 2)
      turns = limiter.turns(wait_timeout: 60)
      permits.each { |permit| limiter.release(permit) }
      assert_equal JOBS.first(2), [turns.next, turns.next]
    end
  end

  def test_bad_arguments_name_themselves
    limiter = memory.concurrent(unique, 1)
    [[0, nil, "count"], [101, nil, "count"], ["1", nil, "count"], [1, -1, "wait_timeout"],
     [1, "soon", "wait_timeout"]].each do |count, wait_timeout, argument|
      error = assert_raises(Paddlegate::InvalidError) do
        limiter.turns(count, wait_timeout: wait_timeout) { flunk }
      end
      assert_equal argument, error.argument
    end
  end

  def test_a_closed_store_ends_a_loop_with_an_error
    store = Paddlegate::Store.new(URL)
    limiter = store.concurrent(unique, 1)
    loop = Thread.new do
      Thread.current.report_on_exception = false
      limiter.turns { flunk }
    end
    sleep 0.01 until loop.status == "sleep"
    store.close
    assert_equal "store", assert_raises(Paddlegate::InvalidError) { loop.value }.argument
  end

  private

  def both
    yield memory
    yield redis
  end

  # Takes all `count` leases, queues the jobs behind them, and returns the permits.
  def fill(limiter, count)
    permits = Array.new(count) { |number| limiter.enqueue("first #{number}").permit }
    JOBS.each { |job| assert_equal :wait, limiter.admit(job).action }
    permits
  end
end
