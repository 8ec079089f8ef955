# frozen_string_literal: true

require "gate"
require "helper"
require "scheduler"

# Calls to a server in the fibers of a scheduler: the other fibers run on.
class FibersTest < Minitest::Test
  include Helper

  CALLS = {
    try_acquire: ->(limiter, _) { limiter.try_acquire },
    try_acquire_with_an_id: ->(limiter, _) { limiter.try_acquire(id: "x") },
    acquire: ->(limiter, _) { limiter.acquire },
    within_limit: ->(limiter, _) { limiter.within_limit { 1 } },
    allow: ->(_, store) { store.bucket("b", 9, 1).allow? },
    admit: ->(limiter, _) { limiter.admit("job") },
    enqueue: ->(limiter, _) { limiter.enqueue("job") },
    ready: ->(limiter, _) { limiter.ready },
    peek: ->(limiter, _) { limiter.peek },
    stats: ->(limiter, _) { limiter.stats },
    history: ->(limiter, _) { limiter.history },
    inspection: ->(limiter, _) { limiter.inspection },
    pause: ->(limiter, _) { limiter.pause(1) },
    runtime_state: ->(limiter, _) { limiter.runtime_state },
    learn: ->(limiter, _) { limiter.learn_from_response({ "retry-after" => "1" }, status: 429) },
    limiters: ->(_, store) { store.limiters },
    reset: ->(limiter, _) { limiter.reset }
  }.freeze

  CALLS.each do |name, call|
    define_method("test_#{name}") do
      behind_a_gate do |gate, limiter, store|
        order = []
        Scheduler.run do
          Fiber.schedule do
            call.call(limiter, store)
            order << :answered
          end
          3.times { sleep(0.001) && order << :other }
          gate.held = false
        end
        assert_equal %i[other other other answered], order
      end
    end
  end

  def test_a_fiber_that_is_ended_during_a_call_leaves_no_lease
    behind_a_gate do |gate, limiter|
      direct = redis.concurrent(limiter.name, 9)
      ended = nil
      Scheduler.run do
        caller = Fiber.schedule do
          limiter.try_acquire
        rescue IOError => e
          ended = e
        end
        eventually { direct.stats.leases == 1 }
        Fiber.scheduler.raise_in(caller, IOError)
        eventually { ended }
        gate.held = false
      end
      eventually { direct.stats.leases.zero? }
    end
  end

  private

  # A limiter whose server answers nothing until its gate is opened.
  def behind_a_gate
    gate = Gate.new(URL)
    store = Paddlegate::Store.new(gate.url, timeout: 20)
    limiter = store.concurrent(unique, 9)
    # From here on the server has the scripts of these calls, and decides before it answers.
    10.times { limiter.acquire.release }
    gate.held = true
    yield gate, limiter, store
  ensure
    gate.close
  end
end
