# frozen_string_literal: true

require "helper"

# Limiters that refuse nobody, and blocks.
class ModesTest < Minitest::Test
  include Helper

  def test_shadow_refuses_nobody
    on_clocked do |store|
      name = unique
      shadow = store.window(name, 1, :minute, mode: :shadow)
      assert_nil shadow.try_acquire.would_refuse
      decision = shadow.try_acquire
      assert_equal [true, nil, :window, 60.0],
                   [decision.allowed?, decision.reason, decision.would_refuse, decision.retry_after]
      assert_equal :window, decision.to_h[:would_refuse]
      assert_equal(:window, shadow.within_limit { |permit| permit.decision.would_refuse })
      refute store.window(name, 1, :minute).allow?
      assert_equal [1, 1, 2], shadow.stats.to_h.values_at(:granted, :refused, :shadow_refused)
    end
  end

  def test_the_mode_is_overridden_for_all
    on_clocked do |store|
      name = unique
      first, second = Array.new(2) { store.window(name, 1, :minute) }
      first.allow?
      state = first.override(mode: :shadow, expires_in: :hour)
      assert_equal [:shadow, 3600.0], [state.mode, state.expires_in]
      assert_equal :window, second.try_acquire.would_refuse
      assert_equal [nil, 0], second.restore(mode: true).to_h.values_at(:mode, :version)
      refute second.allow?
      first.override(mode: "enforce")
      assert_equal :enforce, second.runtime_state.mode
      assert_nil first.restore.mode
    end
  end

  def test_the_list_has_the_mode
    on_clocked do |store|
      name = unique
      %i[enforce shadow].each do |mode|
        store.window("#{name}#{mode}", 1, :minute, mode: mode, keyed: true).allow?(key: "a")
        store.window("#{name}#{mode}-one", 1, :minute, mode: mode).allow?
      end
      modes = store.limiters(prefix: name).map { |it| [it.keyed, it.mode] }
      assert_equal [[true, :enforce], [false, :enforce], [true, :shadow], [false, :shadow]], modes
    end
  end

  def test_a_key_is_blocked
    on_clocked do |store|
      login = store.window(unique, 2, :minute, keyed: true)
      state = login.block(:hour, key: "mallory")
      assert_equal [3600.0, nil], [state.blocked_for, state.paused_for]
      refused = login.try_acquire(key: "mallory")
      assert_equal [:blocked, 3600.0], [refused.reason, refused.retry_after]
      assert login.allow?(key: "alice")
      assert_nil login.resume(key: "mallory").blocked_for
      assert login.allow?(key: "mallory")
      until_then = Time.at((NOW / 1_000_000) + 5)
      assert_in_delta 5.0, login.block(until: until_then, key: "alice").blocked_for
    end
  end

  def test_refusals_lead_to_a_block
    on_clocked do |store|
      login = store.window(unique, 1, :minute, keyed: true, block_after: [2, 60, :hour])
      reasons = Array.new(4) { login.try_acquire(key: "mallory").reason }
      assert_equal [nil, :window, :window, :blocked], reasons
      assert_in_delta 3600.0, login.runtime_state(key: "mallory").blocked_for
      assert login.allow?(key: "alice")
    end
  end

  def test_wrong_modes_and_blocks_change_nothing
    store = memory
    name = unique
    api = store.window(name, 1, :minute)
    both = store.together(api)
    {
      "mode" => [-> { store.window(name, 1, 60, mode: :loud) },
                 -> { store.window(name, 1, 60, mode: 1) }, -> { api.override(mode: :loud) },
                 -> { api.override(mode: :shadow, limit: 2) },
                 -> { api.restore(:window, mode: true) }, -> { api.restore(mode: :shadow) }],
      "block_after" => [
        [0, 60, 60], [1, 0.5, 60], [1, 60, 8 * DAY], [1, 60], 100, "abc", [1.5, 60, 60],
        [1, "soon", 60], [1, nil, 60], [-1, 60, 60], [1, 60, 60, 60], false
      ].map { |rule| -> { store.window(name, 1, 60, block_after: rule) } },
      "duration" => [-> { api.block }, -> { api.block(0) }, -> { api.block("soon") }],
      "until" => [-> { api.block(1, until: 5) }],
      "expires_in" => [-> { api.override(mode: :shadow, expires_in: 0) }],
      "block" => [-> { both.block(1) }],
      "override" => [-> { both.override(mode: :shadow) }]
    }.each do |argument, calls|
      calls.each do |call|
        error = assert_raises(Paddlegate::InvalidError, argument, &call)
        assert_equal argument, error.argument, error.message
      end
    end
    assert_equal [nil, :window], Array.new(2) { api.try_acquire.reason }
  end

  def test_the_limiters_of_sidekiq_have_modes
    require "paddlegate/sidekiq"
    Paddlegate::Sidekiq::Limiter.configure { |config| config.redis = { url: URL } }
    options = { mode: :shadow, block_after: [9, 60, 60], wait_timeout: 0 }
    limiter = Paddlegate::Sidekiq::Limiter.window(unique, 1, :minute, **options)
    assert_equal([1, 2], [1, 2].map { |number| limiter.within_limit { number } })
    assert_equal :shadow, limiter.options[:mode]
    error = assert_raises(Paddlegate::InvalidError) do
      Paddlegate::Sidekiq::Limiter.window("w", 1, :minute, mode: :loud)
    end
    assert_equal "mode", error.argument
  end
end
