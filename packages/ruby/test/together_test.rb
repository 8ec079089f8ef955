# frozen_string_literal: true

require "helper"

# Several limiters that decide together.
class TogetherTest < Minitest::Test
  include Helper

  Limit = Paddlegate::Limit

  def test_all_are_charged_or_none
    on_clocked do |store|
      org = store.window(unique("org"), 5, :minute)
      user = store.bucket(unique("user"), 2, :minute)
      both = store.together(org, user)
      granted = both.try_acquire(cost: 2)
      assert_equal [true, user.name, 0], [granted.allowed?, granted.limiter, granted.remaining]
      refused = both.try_acquire
      assert_equal [:refused, :bucket, user.name],
                   refused.to_h.values_at(:status, :reason, :limiter)
      assert_equal [3, 0], left(org, user)
      refute_predicate both.peek(cost: 1), :allowed?
      refute both.allow?
      at((refused.retry_after * 1_000_000).round)
      assert_equal(:passed, both.within_limit { :passed })
      assert_equal [2, 1], left(org, user)
      assert_nil org.try_acquire.limiter
    end
  end

  def test_who_is_over_the_limit_is_told_by_its_name
    org = memory.window(unique("org"), 1, :hour)
    user = memory.window(unique("user"), 9, :hour)
    both = memory.together(user, org, wait_timeout: 0)
    assert_equal "#{user.name} + #{org.name}", both.name
    both.within_limit { nil }
    error = assert_raises(Paddlegate::OverLimit) { both.acquire }
    assert_equal [org.name, :window], [error.limiter, error.reason]
    assert_equal org.name, error.decision.limiter
    assert_includes error.message, "limiter=#{org.name} reason=window"
    assert_includes error.decision.inspect, "limiter=#{org.name.inspect}"
    assert_equal org.name, error.decision.deconstruct_keys([:limiter])[:limiter]
    skips = memory.together(user, org, wait_timeout: 0, on_limit: :ignore)
    assert_equal [0.0, :ignore], [skips.wait_timeout, skips.on_limit]
    assert_same(Paddlegate::SKIPPED, skips.within_limit { flunk })
    defaults = memory.together(user, org)
    assert_equal [org.wait_timeout, :raise], [defaults.wait_timeout, defaults.on_limit]
  end

  def test_a_cost_is_by_limiter_and_label
    on_clocked do |store|
      limits = { rpm: Limit.window(10, :minute), tpm: Limit.points(1000, :minute) }
      model = store.limiter(unique("model"), limits)
      team = store.bucket(unique("team"), 2000, :minute)
      both = store.together(model, team)
      estimate = { model.name => { tpm: 900 }, team.name => { bucket: 700 } }
      permit = both.acquire(estimate: estimate)
      assert_equal [model.name, true, 9], [permit.decision.limiter, *described(permit.decision)]
      assert_equal [1300], left(team)
      # A name beside a nested Hash, and without one; Symbols as Strings.
      actual = { model.name => { "tpm" => 100 }, team.name.to_sym => 50 }
      assert_equal :settled, permit.correct(actual)
      assert_equal :already, both.correct(permit, { tpm: 0, team.name => 0 })
      assert_equal [1950], left(team)
      assert_equal 900, model.peek(cost: { tpm: 901 }).remaining
      assert_equal [true, 8], described(both.debit({ tpm: 0, team.name => 1010 }))
      used = { model.name => { tpm: 1, rpm: 0 }, team.name => 940 }
      assert(both.within_limit(used: used) { true })
      assert_equal [0], left(team)
      assert_equal :bucket, both.admit("job", cost: { tpm: 1 }, on_limit: :drop).decision.reason
    end
  end

  def test_leases_are_of_all_that_have_them
    on_clocked do |store|
      org = store.concurrent(unique("org"), 2, lock_timeout: 60)
      user = store.concurrent(unique("user"), 1, lock_timeout: 30)
      rate = store.bucket(unique("rate"), 9, :minute)
      all = store.together(org, user, rate)
      all.within_limit do |permit|
        assert_in_delta 30, permit.decision.lease
        assert permit.fencing_token
        assert_predicate permit, :renew
        assert_equal user.name, all.try_acquire.limiter
        assert_equal [1, 0, 8], left(org, user, rate)
        assert_raises(Paddlegate::InvalidError) { all.allow? }
      end
      assert_equal [2, 1, 8], left(org, user, rate)
      id = all.try_acquire(id: "x" * 64).permit
      assert_equal %i[released unknown], [all.release(id), all.release(id)]
    end
  end

  def test_a_turn_comes_from_either_limiter
    [memory, redis].each do |store|
      each = %w[a b].map { |name| store.concurrent(unique(name), 1, lock_timeout: :hour) }
      held = each.map(&:acquire)
      both = store.together(*each, wait_timeout: :hour)
      waiter = Thread.new { both.within_limit { |permit| permit.decision.limiter } }
      each.zip(held) do |limiter, permit|
        eventually { limiter.stats.tickets == 1 }
        permit.release
      end
      assert_includes each.map(&:name), waiter.value
      each.each { |limiter| assert_equal [0, 0], limiter.stats.to_h.values_at(:leases, :tickets) }
    end
  end

  def test_an_interrupted_wait_leaves_no_ticket
    [memory, redis].each do |store|
      each = %w[a b].map { |name| store.concurrent(unique(name), 1, lock_timeout: :hour) }
      held = each.last.acquire
      waiter = Thread.new { store.together(*each).acquire(wait_timeout: :hour) }
      eventually { each.last.stats.tickets == 1 }
      waiter.kill.join
      eventually { each.last.stats.tickets.zero? }
      assert_equal 0, each.first.stats.leases
      held.release
    end
  end

  def test_jobs_are_admitted
    on_clocked do |store|
      org = store.concurrent(unique("org"), 2)
      user = store.concurrent(unique("user"), 1)
      both = store.together(org, user)
      none = both.admit_all(%w[a b])
      assert_equal [[:wait, user.name]] * 2, none.map { [_1.action, _1.decision.limiter] }
      run, wait = both.admit_all(%w[a b], partial: true)
      assert_equal %i[run wait], [run.action, wait.action]
      assert_equal user.name, both.enqueue("c").limiter
      assert_equal :released, run.permit.release
      assert_equal :granted, both.claim("b").status
      assert_equal [:cancelled] * 2, [both.cancel("b"), both.cancel("c")]
      assert_equal [2, 1], left(org, user)
    end
  end

  def test_the_longest_permit
    most = 10**12
    labels = (1..8).map { |i| :"l#{i}" }
    limits = labels.to_h { |label| [label, Limit.bucket(most, :day)] }
    estimate = labels.to_h { |label| [label, most] }.merge(l8: most - 1)
    on_clocked do |store|
      each = Array.new(4) { store.limiter(unique, limits) }
      all = store.together(*each)
      permit = all.acquire(id: "x" * 64, estimate: estimate)
      assert_equal 64 + (4 * (1 + 16 + (7 * 14) + 13)), permit.id.bytesize
      assert_equal :settled, permit.correct(0)
      assert_equal most, all.peek.remaining
    end
  end

  def test_a_group_is_an_option_and_listed
    group = unique("group")
    [memory, redis].each do |store|
      each = [store.window(unique, 5, :minute, group: group),
              store.limiter(unique, group: group.to_sym, bucket: [5, :minute]),
              store.concurrent(unique, 5, group: group, on_unavailable: :fail_open)]
      together = store.together(*each)
      assert_equal [group] * 4, [*each, together].map(&:group)
      together.within_limit { nil }
      listed = store.limiters.to_h { |info| [info.name, info.group] }
      assert_equal [group] * 3, listed.values_at(*each.map(&:name))
      assert_nil store.window(unique, 5, :minute).group
    end
    assert_equal group, memory.unlimited(unique, 5, group: group).group
  end

  def test_a_document_gives_groups
    [memory, redis].each do |store|
      a, b, alone = Array.new(3) { unique }
      limits = { window: { limit: 5, per: "hour" } }
      grouped = { **limits, group: "acmé" }
      document = { limiters: { a => grouped, b => grouped, alone => limits } }
      loaded = store.limiters_from_document(document)
      assert_equal ["acmé", "acmé", nil], loaded.values_at(a, b, alone).map(&:group)
      assert_predicate store.together(loaded[a], loaded[b]), :allow?
      assert_equal 4, store.window(a, 5, :hour, group: "acmé").peek.remaining
    end
  end

  def test_a_group_is_part_of_the_state_in_redis
    name = unique
    grouped = redis.window(name, 1, :hour, group: "acme")
    assert_predicate grouped.try_acquire, :allowed?
    refute_predicate grouped.peek, :allowed?
    assert_predicate redis.window(name, 1, :hour).peek, :allowed?
    assert_equal [nil, "acme"], redis.tap { _1.window(name, 1, :hour).try_acquire }.limiters
                                     .select { |info| info.name == name }.map(&:group)
  end

  def test_the_strictest_decides_without_the_store
    store = Paddlegate::Store.new("redis://127.0.0.1:1")
    modes = { %i[fail_open local] => false, %i[fail_open fail_open] => true }
    modes.each do |(first, second), allowed|
      limiters = [store.window("a", 5, 60, on_unavailable: first),
                  store.window("b", 5, 60, on_unavailable: second)]
      decision = store.together(*limiters).try_acquire
      assert_equal [allowed, true, nil], [decision.allowed?, decision.degraded?, decision.limiter]
    end
    plain = store.together(store.window("a", 5, 60), store.window("b", 5, 60))
    assert_raises(Paddlegate::UnavailableError) { plain.try_acquire }
    closed = store.together(store.window("a", 5, 60, on_unavailable: :fail_closed))
    error = assert_raises(Paddlegate::OverLimit) { closed.acquire }
    assert_equal ["a", :unavailable], [error.limiter, error.reason]
  end

  def test_the_module_has_the_shortcut
    each = [Paddlegate.window(unique, 5, 60), Paddlegate.window(unique, 5, 60)]
    assert_equal each.first.name, Paddlegate.together(*each).try_acquire.limiter
  end

  def test_wrong_limiters
    a = memory.window("a", 5, 60)
    b = memory.window("b", 5, 60)
    five = Array.new(5) { |i| memory.window("five-#{i}", 5, 60) }
    elsewhere = Paddlegate::Store.new("memory://").window("c", 5, 60)
    wrong = [[], five, [a, a], [a, memory.window("a", 9, 60)], [a, elsewhere],
             [memory.together(a, b), five[0]], [a, nil], [[a, b]], ["a"], [a, :b], [a, memory]]
    wrong.each { |bad| refused("limiters") { memory.together(*bad) } }
    grouped = memory.window("g", 5, 60, group: "acme")
    refused("group") { memory.together(a, grouped) }
    ["", "g" * 513, "a\0", "\xff", 5, []].each do |bad|
      refused("group") { memory.window("g", 5, 60, group: bad) }
    end
    refused("wait_timeout") { memory.together(a, b, wait_timeout: -1) }
    refused("on_limit") { memory.together(a, b, on_limit: :wait) }
    assert_raises(ArgumentError) { memory.together(a, b, ttl: 60) }
  end

  def test_wrong_costs
    limits = { rpm: Limit.window(5, :minute), tpm: Limit.points(1000, :minute) }
    a = memory.limiter(unique("a"), limits)
    b = memory.bucket(unique("b"), 5, :minute)
    both = memory.together(a, b)
    wrong = [{ "nobody" => { tpm: 1 } }, { a.name => { tokens: 1 } }, { a.name => { rpm: 1 } },
             { a.name => { tpm: 1.5 } }, { a.name => { tpm: { x: 1 } } }, { a.name => { 5 => 1 } },
             { a.name => { tpm: nil } }, { a.name => [1] }, { a.name => 1, a.name.to_sym => 1 },
             { a.name => { tpm: 1 }, tokens: 1 }, { a.name => { "\xff" => 1 } },
             { nil => { tpm: 1 } }, { a.name => { tpm: -1 } },
             { a.name => { tpm: 1, "tpm" => 1 } }, { a.name => {} }]
    wrong.each do |bad|
      refused("cost") { both.try_acquire(cost: bad) }
      refused("estimate") { both.within_limit(estimate: bad) { flunk } }
      refused("used") { both.within_limit(used: bad) { flunk } }
      refused("actual") { both.correct("p+1:1+1:1", bad) }
      refused("cost") { both.debit(bad) }
    end
    refused("cost") { b.try_acquire(cost: { b.name => { bucket: 1 } }) }
    assert_equal [5], left(b)
  end

  def test_what_is_of_one_name
    both = memory.together(memory.window("a", 5, 60), memory.window("b", 5, 60))
    refused("statistics") { both.stats }
    refused("history") { both.history }
    refused("reset") { both.reset }
    refused("pause") { both.pause(1) }
    refused("override") { both.override(limit: 1) }
    refused("runtime_state") { both.runtime_state }
    refused("learn") { both.report_budget(remaining: 1) }
  end

  private

  def described(decision)
    [decision.allowed?, decision.remaining]
  end

  def left(*limiters)
    limiters.map { |limiter| limiter.peek(cost: 0).remaining }
  end

  def refused(argument, &block)
    error = assert_raises(Paddlegate::InvalidError, &block)
    assert_equal argument, error.argument, error.message
  end
end
