# frozen_string_literal: true

require "helper"

# Runs of workflows of Conductor; what a key is is tested in the core.
class WorkflowTest < Minitest::Test
  include Helper

  def test_the_fourth_and_fifth_wait_in_their_order
    on_both do |store, key|
      limiter = store.conductor_limiter(definition, { "correlationId" => key })
      assert_equal ["conductor/workflow/#{key}", :wait], [limiter.name, limiter.on_limit]
      first, *, fourth, fifth = %w[1 2 3 4 5].map { |run| limiter.admit(run) }
      assert_equal %i[wait wait], [fourth, fifth].map(&:action)
      assert_equal :released, first.permit.release
      assert_equal(%i[run wait], %w[4 5].map { |run| limiter.admit(run).action })
    end
  end

  def test_each_key_has_its_own_limit
    on_both do |store, key|
      actions = %w[a b].flat_map do |half|
        limiter = store.conductor_limiter(JSON.generate(definition),
                                          "{\"correlationId\":\"#{key}#{half}\"}")
        Array.new(6) { |i| limiter.admit("#{half}#{i}").action }
      end
      assert_equal 6, actions.count(:run)
    end
  end

  def test_a_run_without_a_key_is_not_limited
    on_both do |store, _|
      [{}, { "correlationId" => nil }, { "correlationId" => "" }, "{}"].each do |run|
        limiter = store.conductor_limiter(definition, run)
        assert_equal "conductor/unlimited/order", limiter.name
        assert_equal([:run] * 4, Array.new(4) { |i| limiter.admit(i.to_s).action })
      end
    end
  end

  def test_a_policy_of_reject_refuses
    on_both do |store, key|
      limiter = store.conductor_limiter(definition("policy" => "REJECT"),
                                        { "correlationId" => key })
      3.times { |i| limiter.admit(i.to_s) }
      assert_equal [:refuse, 0], [limiter.admit("3").action, limiter.stats.tickets]
      assert_equal :raise, limiter.on_limit
      assert_raises(Paddlegate::OverLimit) { limiter.within_limit(wait_timeout: 0) { flunk } }
    end
  end

  def test_leases_last_as_they_are_told
    run = { "correlationId" => unique }
    assert_equal 30.0, memory.conductor_limiter(definition, run).try_acquire.lease
    run = { "correlationId" => unique }
    assert_equal 3600.0,
                 memory.conductor_limiter(definition, run, lock_timeout: :hour).try_acquire.lease
  end

  def test_without_the_store
    store = Paddlegate::Store.new("redis://127.0.0.1:1")
    limiter = store.conductor_limiter(definition, { "correlationId" => "k" },
                                      on_unavailable: :fail_open)
    assert_predicate limiter.admit("1").permit, :degraded?
  end

  def test_wrong_arguments
    ["{", "[]", nil, 5, [], {}, "\xff"].each do |bad|
      refused("definition") { memory.conductor_limiter(bad, {}) }
    end
    ["{", "[]", nil, 5, [], "\xff"].each do |bad|
      refused("run") { memory.conductor_limiter(definition, bad) }
    end
    refused("run") { memory.conductor_limiter(definition, { "correlationId" => "k" * 513 }) }
    [0, -1, "later", [], Float::NAN].each do |bad|
      refused("lock_timeout") { memory.conductor_limiter(definition, {}, lock_timeout: bad) }
    end
    wrong = definition("policy" => "LATER")
    error = assert_raises(Paddlegate::InvalidError) { memory.conductor_limiter(wrong, {}) }
    assert_includes error.message, "$.rateLimitConfig.policy"
  end

  private

  def definition(more = {})
    config = { "rateLimitKey" => "${workflow.correlationId}", "concurrentExecLimit" => 3, **more }
    { "name" => "order", "tasks" => [], "rateLimitConfig" => config }
  end

  def on_both
    [memory, redis].each { |store| yield store, unique("workflow") }
  end

  def refused(argument, &block)
    assert_equal argument, assert_raises(Paddlegate::InvalidError, &block).argument
  end
end
