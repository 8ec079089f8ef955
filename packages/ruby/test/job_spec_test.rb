# frozen_string_literal: true

require "helper"

# What Open Job Spec says of a limiter while it runs.
class JobSpecTest < Minitest::Test
  include Helper

  def test_a_signal_pauses_and_a_shorter_one_changes_nothing
    on_both do |limiter, store|
      assert limiter.apply_ojs_signal({ "type" => "rate_limited", "retry_after" => 30 })
      shorter = '{"error":{"type":"RateLimitExceeded","retry_after":10}}'
      at(5_000_000)
      assert limiter.apply_ojs_signal(shorter)
      at(29_999_999)
      refused = limiter.try_acquire
      assert_equal [:paused, 0.000001], [refused.reason, refused.retry_after]
      at(30_000_000)
      assert_predicate limiter.try_acquire, :allowed?
      assert_predicate store.window(unique, 1, :day), :allow?, "others go on"
    end
  end

  def test_the_later_of_two_times_holds
    on_both do |limiter, _|
      signal = { "type" => "rate_limited", "retry_after" => 20,
                 "rate_limit_until" => Time.at((NOW / 1_000_000) + 40).utc.strftime("%FT%TZ") }
      assert limiter.apply_ojs_signal(signal)
      assert_equal 40.0, limiter.runtime_state.paused_for
    end
  end

  def test_a_signal_without_a_time_pauses_for_half_a_minute
    on_both do |limiter, _|
      assert limiter.apply_ojs_signal({ "type" => "rate_limited" })
      assert_equal 30.0, limiter.runtime_state.paused_for
    end
  end

  def test_another_failure_is_no_signal
    on_both do |limiter, _|
      [{}, { "type" => "timeout", "retry_after" => "soon" }, { "type" => 5 }].each do |failure|
        refute limiter.apply_ojs_signal(failure)
        refute limiter.apply_ojs_signal({ "error" => failure })
      end
      assert_equal 0, limiter.runtime_state.version
    end
  end

  def test_an_override_changes_what_it_names
    on_both do |limiter, _|
      limiter.apply_ojs_override({ "concurrency" => 4 })
      document = { "rate" => { "limit" => 3, "period" => "PT1H" },
                   "expires_at" => Time.at((NOW / 1_000_000) + 60).utc.strftime("%FT%TZ") }
      runtime_state = limiter.apply_ojs_override(document)
      assert_equal([[:concurrency, 4, 30.0], [:window, 3, 3600.0]],
                   runtime_state.overrides.values.map { _1.values_at(:kind, :amount, :interval) })
      assert_equal 60.0, runtime_state.expires_in
      at(10_000_000)
      runtime_state = limiter.apply_ojs_override('{"concurrency":null}')
      assert_equal [3, 50.0],
                   [*runtime_state.overrides.values.map { _1[:amount] }, runtime_state.expires_in]
      at(60_000_000)
      assert_empty limiter.runtime_state.overrides
    end
  end

  def test_a_concurrency_of_0_pauses
    on_both do |limiter, _|
      limiter.apply_ojs_override({ "concurrency" => 0 })
      refute_predicate limiter.try_acquire, :allowed?
      limiter.apply_ojs_override({ "concurrency" => 1 })
      assert_equal(%i[run drop], %w[a b].map { limiter.admit(_1, on_limit: :drop).action })
    end
  end

  def test_a_strategy_that_the_policy_does_not_have
    on_both do |limiter, store|
      other = store.unlimited(limiter.name)
      other.apply_ojs_override({ "concurrency" => 1, "throttle" => { "interval" => "PT1S" } })
      assert_equal %i[concurrency throttle], limiter.runtime_state.overrides.keys
      assert_equal [true, false], Array.new(2) { limiter.try_acquire.allowed? }
      assert other.apply_ojs_signal({ "type" => "rate_limited", "retry_after" => 60 })
      assert_equal :paused, limiter.try_acquire.reason
    end
  end

  def test_without_the_store
    limiter = Paddlegate::Store.new("redis://127.0.0.1:1").concurrent("c", 5)
    assert_raises(Paddlegate::UnavailableError) do
      limiter.apply_ojs_signal({ "type" => "rate_limited" })
    end
    assert_raises(Paddlegate::UnavailableError) do
      limiter.apply_ojs_override({ "concurrency" => 1 })
    end
    refute limiter.apply_ojs_signal({}), "nobody is asked"
  end

  def test_wrong_documents_change_nothing
    on_both do |limiter, _|
      ["{", nil, 5, :word, "\xff", "{}\0", { "type" => "rate_limited", "retry_after" => "soon" },
       { "type" => "rate_limited", "rate_limit_until" => 5 }].each do |bad|
        refused("document") { limiter.apply_ojs_signal(bad) }
      end
      ["{", "[]", nil, 5, [], {}, { "concurency" => 1 }, { "concurrency" => -1 },
       { "throttle" => { "interval" => "soon" } },
       { "concurrency" => 1, "expires_at" => "2001-01-01T00:00:00Z" }].each do |bad|
        refused("document") { limiter.apply_ojs_override(bad) }
      end
      assert_equal 0, limiter.runtime_state.version
    end
    error = assert_raises(Paddlegate::InvalidError) do
      memory.concurrent("c",
                        1).apply_ojs_override({ "rate" => { "limit" => 0, "period" => "PT1S" } })
    end
    assert_includes error.message, "$.rate"
  end

  private

  def on_both
    on_clocked do |store|
      yield store.limiter(unique("ojs"), [[:concurrency, 2, 30], [:window, 9, :day]]), store
    end
  end

  def refused(argument, &block)
    assert_equal argument, assert_raises(Paddlegate::InvalidError, &block).argument
  end
end
