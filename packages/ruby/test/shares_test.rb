# frozen_string_literal: true

require "helper"

# The order of the queue: priorities, shares, and jobs that do not come back.
class SharesTest < Minitest::Test
  include Helper

  ORDERS = [
    ["priority", { priority: 10 }], ["priority", { priority: -1 }], ["priority", { priority: 1.5 }],
    ["priority", { priority: "9" }], ["share", { share: "" }], ["share", { share: "a\tb" }],
    ["share", { share: "x" * 129 }], ["share", { share: 7 }], ["share", { share: "a\0b" }],
    ["weight", { weight: 1 }], ["weight", { share: "a", weight: 0 }],
    ["weight", { share: "a", weight: 1001 }], ["weight", { share: "a", weight: "2" }]
  ].freeze

  def test_a_higher_priority_comes_first
    on_clocked do |store|
      workers, held = held_workers(store)
      assert_equal 0, workers.enqueue("report").position
      assert_equal 0, workers.enqueue("payment", priority: 9).position
      assert_equal 1, workers.claim("report").position
      workers.release(held)
      assert_equal :queued, workers.claim("report").status
      assert_equal :granted, workers.claim("payment").status
    end
  end

  def test_shares_take_turns
    on_clocked do |store|
      workers, = held_workers(store)
      positions = %w[a1 a2 a3].map { |id| workers.enqueue(id, share: :acme).position }
      assert_equal [0, 1, 2], positions
      assert_equal 1, workers.enqueue("b1", share: "globex").position
      # Four times as much as others: before the first of both.
      assert_equal 0, workers.enqueue("c1", share: "initech", weight: 4).position
    end
  end

  def test_a_call_that_waits_rises
    on_clocked do |store|
      workers = store.concurrent(unique, 1, lock_timeout: :hour, aging: :minute)
      workers.acquire
      position = lambda { |id, priority|
        workers.enqueue(id, priority: priority, claim_timeout: 600).position
      }
      assert_equal [0, 0], [position["report", 0], position["mail", 2]]
      clock.advance(119)
      assert_equal 1, position["report", 0]
      clock.advance(62)
      assert_equal 0, position["report", 0]
    end
  end

  def test_the_aging_is_from_a_second_to_a_week
    [0, 0.5, (7 * 86_400) + 1, "soon", true].each do |aging|
      error = assert_raises(Paddlegate::InvalidError) { memory.concurrent("x", 1, aging: aging) }
      assert_equal "aging", error.argument.to_s
    end
  end

  def test_a_waiting_call_of_a_higher_priority_comes_first
    store = memory
    workers = store.concurrent(unique, 1, wait_timeout: 30)
    held = workers.acquire
    order = Queue.new
    places = { "low" => {}, "high" => { priority: 5, share: "acme", weight: 2 } }
    waiters = places.each_with_index.map do |(name, place), ahead|
      thread = Thread.new { workers.within_limit(**place) { order << name } }
      eventually("#{name} waits") { workers.stats.tickets > ahead }
      thread
    end
    held.release
    waiters.each(&:join)
    assert_equal %w[high low], Array.new(2) { order.pop }
  end

  def test_the_queue_of_limiters_that_decide_together
    on_clocked do |store|
      workers, = held_workers(store)
      both = store.together(workers, store.window(unique, 9, :minute))
      assert_equal 0, both.enqueue("report").position
      assert_equal 0, both.enqueue("payment", priority: 9, share: "acme").position
    end
  end

  def test_others_pass_a_job_by_that_does_not_call
    { nil => 5, 30 => 30 }.each do |claim_timeout, passed_after|
      on_clocked do |store|
        workers, held = held_workers(store)
        assert_equal :wait, workers.admit("gone", claim_timeout: claim_timeout).action
        assert_equal 1, workers.admit("here", claim_timeout: claim_timeout).decision.position
        workers.release(held)
        at((passed_after - 1) * 1_000_000)
        assert_equal :wait, workers.admit("here", claim_timeout: claim_timeout).action
        # Its turn was at most a first guess of the wait later than it called.
        at((passed_after + 6) * 1_000_000)
        assert_equal :run, workers.admit("here", claim_timeout: claim_timeout).action
      end
    end
    assert_in_delta 5.0, Paddlegate::Jobs::ADMISSION_CLAIM_TIMEOUT
  end

  def test_a_wrong_place_changes_nothing
    workers, = held_workers(memory)
    calls = {
      acquire: [], within_limit: [], admit: ["job"], enqueue: ["job"], claim: ["job"]
    }
    calls.each do |verb, arguments|
      ORDERS.each do |argument, order|
        error = assert_raises(Paddlegate::InvalidError, "#{verb} #{order}") do
          workers.public_send(verb, *arguments, **order) { flunk("granted") }
        end
        assert_equal argument, error.argument, "#{verb} #{order}"
      end
    end
    [0, -1, "soon", Float::NAN, 11 * 365 * DAY].each do |claim_timeout|
      error = assert_raises(Paddlegate::InvalidError) do
        workers.admit("job", claim_timeout: claim_timeout)
      end
      assert_equal "claim_timeout", error.argument
    end
    assert_equal [1, 0], workers.stats.to_h.values_at(:leases, :tickets)
  end

  def test_the_limiters_of_sidekiq_take_a_place
    require "paddlegate/sidekiq"
    Paddlegate::Sidekiq::Limiter.configure { |config| config.redis = { url: URL } }
    limiter = Paddlegate::Sidekiq::Limiter.concurrent(unique, 1)
    error = assert_raises(Paddlegate::InvalidError) { limiter.within_limit(priority: 10) { nil } }
    assert_equal "priority", error.argument
    assert_equal 7, limiter.within_limit(priority: 9, share: "acme", weight: 2) { 7 }
  end

  private

  # One worker that is busy, and the id of its permit.
  def held_workers(store)
    workers = store.concurrent(unique, 1, lock_timeout: 600)
    [workers, workers.try_acquire.permit]
  end
end
