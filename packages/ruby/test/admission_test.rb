# frozen_string_literal: true

require "helper"

# Jobs before their limits: run, wait, reschedule, drop, refuse.
class AdmissionTest < Minitest::Test
  include Helper

  def test_concurrency_and_rate_are_decided_together
    on_both(concurrency: 1, window: [10, 60]) do |limiter|
      first = limiter.admit("a")
      assert_equal [:run, nil, :granted], [first.action, first.after, first.decision.status]
      assert_predicate first, :frozen?
      %w[b c d e f].each do |job|
        dropped = limiter.admit(job, on_limit: :drop)
        assert_equal [:drop, nil, nil], [dropped.action, dropped.after, dropped.permit]
      end
      assert_equal :released, first.permit.release
      assert_equal [1, 1, 0], limiter.stats.to_h.values_at(:granted, :units, :tickets)
    end
  end

  def test_a_job_keeps_its_ticket_when_its_patience_and_its_claim_timeout_are_over
    [memory, redis].each do |store|
      limiter = store.concurrent(unique("patience"), 1, lock_timeout: 600)
      holder = limiter.acquire
      { "a" => 0, "b" => 0.2 }.each do |job, patience|
        error = assert_raises(Paddlegate::OverLimit) do
          Paddlegate::JobTurn.take(limiter, job, patience, claim_timeout: 0.001)
        end
        refute_nil error.retry_after
      end
      sleep 0.5
      # A ticket that does not stay is removed by the calls of others.
      limiter.admit("another")
      assert_equal %w[a b another], limiter.queue.map(&:id)
      assert_equal 0, limiter.stats.refused
      holder.release
    end
  end

  def test_a_rescheduled_job_comes_when_the_limit_allows_it
    on_both(window: [1, 0.7]) do |limiter|
      ask = lambda do |job, on_limit = :reschedule|
        limiter.admit(job, on_limit: on_limit).then { [_1.action, _1.after] }
      end
      assert_equal [:run, nil], ask.call("a")
      assert_equal [:reschedule, 0.7], ask.call("b")
      assert_equal [:reschedule, 1.4], ask.call("c")
      at(700_000)
      assert_equal [:drop, nil], ask.call("new", :drop)
      assert_equal [:run, nil], ask.call("b")
    end
  end

  def test_of_five_jobs_three_run
    on_both(window: [3, 60]) do |limiter|
      admissions = limiter.admit_all(%w[a b c d e], on_limit: "drop", partial: true)
      assert_equal %i[run run run drop drop], admissions.map(&:action)
    end
  end

  def test_a_job_that_is_tried_again_counts_as_a_new_one
    on_both(window: [2, 60]) do |limiter|
      actions = %w[job/1 job/2 job/3].map { |job| limiter.admit(job, on_limit: :raise).action }
      assert_equal %i[run run refuse], actions
    end
  end

  def test_a_job_that_runs_is_asked_about_again_and_takes_nothing
    on_both(concurrency: 1) do |limiter|
      permits = Array.new(3) { limiter.admit("task").permit }
      assert_equal [1, 1], [limiter.stats.leases, permits.map(&:id).uniq.size]
      other = limiter.admit("other")
      assert_equal [:wait, 0, nil], [other.action, other.decision.position, other.permit]
      assert_operator other.after, :>, 0
      assert_equal :queued, other.decision.status
      permits.first.release
      assert_equal :run, limiter.admit("other").action
    end
  end

  def test_what_jobs_cost
    on_both(points: [100, 3600]) do |limiter|
      permit = limiter.admit("a", estimate: 80).permit
      assert_equal :wait, limiter.admit("b", estimate: 80).action
      assert_equal :settled, permit.points_used(10)
      assert_equal :run, limiter.admit("b", estimate: 80).action
      error = assert_raises(Paddlegate::InvalidError) { limiter.admit("c", cost: 101) }
      assert_equal "cost", error.argument
      assert_raises(Paddlegate::InvalidError) { limiter.admit("c") }
    end
  end

  def test_on_limit_is_that_of_the_document
    window = { "limit" => 1, "per" => 60 }
    actions = { "wait" => :wait, "reschedule" => :reschedule, "drop" => :drop, "raise" => :refuse,
                "ignore" => :refuse }
    actions.each do |on_limit, action|
      document = { "limiters" => { "l" => { "window" => window, "on_limit" => on_limit } } }
      limiter = Paddlegate::Store.new("memory://").limiters_from_document(document).fetch("l")
      assert_equal [:run, action], limiter.admit_all(%w[a b], partial: true).map(&:action)
      assert_equal :drop, limiter.admit("c", on_limit: :drop).action
    end
    skips = memory.window(unique, 1, 60, on_limit: :ignore)
    assert_equal %i[run wait], skips.admit_all(%w[a b], partial: true).map(&:action)
  end

  def test_paused_and_unlimited
    assert_equal [:wait, nil], memory.paused("p").admit("a").then { [_1.action, _1.after] }
    assert_equal :run, memory.unlimited("u").admit("a").action
  end

  def test_without_the_store
    store = Paddlegate::Store.new("redis://127.0.0.1:1")
    closed = store.concurrent("c", 1, on_unavailable: :fail_closed)
    %i[wait reschedule].each do |on_limit|
      admission = closed.admit("a", on_limit: on_limit)
      assert_equal [on_limit, :unavailable], [admission.action, admission.decision.reason]
      assert_operator admission.after, :<=, 1
    end
    open = store.concurrent("c", 1, on_unavailable: :fail_open).admit("a")
    assert_equal [:run, true], [open.action, open.permit.degraded?]
    assert_equal :unknown, open.permit.release
    local = store.concurrent("c", 1, on_unavailable: :local)
    assert_equal(%i[run run wait], %w[a a b].map { |job| local.admit(job).action })
  end

  def test_wrong_arguments
    limiter = memory.concurrent(unique, 5)
    [nil, 5, :id, "", "i" * 65, "i\0", "\xff", []].each do |bad|
      refused("id") { limiter.admit(bad) }
      refused("id") { limiter.admit_all(["a", bad]) } unless bad.is_a?(String)
    end
    [5, "", :Wait, "later", [], true].each do |bad|
      refused("on_limit") { limiter.admit("a", on_limit: bad) }
      refused("on_limit") { limiter.admit_all(["a"], on_limit: bad) }
    end
    [nil, "a", 5, {}].each { |bad| refused("ids") { limiter.admit_all(bad) } }
    refused("cost") { limiter.admit("a", cost: -1) }
    assert_equal [0, 0], limiter.stats.to_h.values_at(:leases, :tickets)
    assert_empty limiter.admit_all([])
  end

  private

  def on_both(**limits)
    on_clocked { |store| yield store.limiter(unique("admission"), **limits) }
  end

  def refused(argument, &block)
    assert_equal argument, assert_raises(Paddlegate::InvalidError, &block).argument
  end
end
