# frozen_string_literal: true

require "helper"

# Several jobs of which all run or none.
class BatchTest < Minitest::Test
  include Helper

  JOBS = %w[a b c d e].freeze

  def test_of_five_jobs_none_runs_or_three
    on_both(window: [3, :day]) do |limiter|
      admissions = limiter.admit_all(JOBS, on_limit: :drop)
      assert_equal [:drop] * 5, admissions.map(&:action)
      assert_equal [[:window, nil]], admissions.map { [_1.decision.reason, _1.permit] }.uniq
      assert_equal 3, limiter.peek.remaining
      partial = limiter.admit_all(JOBS, on_limit: :drop, partial: true)
      assert_equal %i[run run run drop drop], partial.map(&:action)
    end
  end

  def test_all_run
    on_both(concurrency: 5, window: [9, :day]) do |limiter|
      admissions = limiter.admit_all(JOBS)
      assert_equal [[:run, nil]], admissions.map { [_1.action, _1.after] }.uniq
      assert_equal 5, admissions.map { |admission| admission.permit.id }.uniq.size
      assert_equal 5, admissions.map { |admission| admission.permit.fencing_token }.uniq.size
      assert admissions.all?(&:frozen?)
      assert_equal [5, 5], limiter.stats.to_h.values_at(:leases, :units)
      admissions.each { |admission| assert_equal :released, admission.permit.release }
    end
  end

  def test_one_that_runs_already_goes_on
    on_both(concurrency: 2) do |limiter|
      permit = limiter.admit("a").permit
      assert_equal [:wait] * 3, limiter.admit_all(%w[a b c]).map(&:action)
      assert_equal [1, 0], limiter.stats.to_h.values_at(:leases, :tickets)
      assert_equal %i[run run], limiter.admit_all(%w[a b]).map(&:action)
      assert_equal :released, permit.release
    end
  end

  def test_on_limit_is_that_of_the_document
    limits = { "l" => { "window" => { "limit" => 1, "per" => "day" }, "on_limit" => "reschedule" } }
    store = Paddlegate::Store.new("memory://")
    limiter = store.limiters_from_document({ "limiters" => limits }).fetch("l")
    assert_equal %i[reschedule reschedule], limiter.admit_all(%w[a b]).map(&:action)
    assert_equal %i[refuse refuse], limiter.admit_all(%w[a b], on_limit: :raise).map(&:action)
  end

  def test_a_throttle_lets_no_two_run
    on_both(throttle: :hour) do |limiter|
      assert_equal %i[wait wait], limiter.admit_all(%w[a b]).map(&:action)
      assert_equal [:run], limiter.admit_all(%w[a]).map(&:action)
    end
  end

  def test_without_the_store
    limiter = Paddlegate::Store.new("redis://127.0.0.1:1").concurrent("c", 5)
    assert_raises(Paddlegate::UnavailableError) { limiter.admit_all(JOBS) }
  end

  def test_wrong_arguments_take_nothing
    limiter = memory.concurrent(unique, 5)
    [nil, 5, :id, "", "i" * 65, "i\0", "\xff", []].each do |bad|
      refused("id") { limiter.admit_all(["a", "b", bad]) }
    end
    [5, "", :Wait, "later", [], true].each do |bad|
      refused("on_limit") { limiter.admit_all(["a"], on_limit: bad) }
    end
    [nil, "a", 5, {}].each { |bad| refused("ids") { limiter.admit_all(bad) } }
    assert_empty limiter.admit_all([])
    assert_equal [0, 0], limiter.stats.to_h.values_at(:leases, :tickets)
  end

  private

  def on_both(**limits)
    [memory, redis].each { |store| yield store.limiter(unique("batch"), **limits) }
  end

  def refused(argument, &block)
    assert_equal argument, assert_raises(Paddlegate::InvalidError, &block).argument
  end
end
