# frozen_string_literal: true

require "helper"

# How long an estimate can be settled.
class SettleTest < Minitest::Test
  include Helper

  MINUTE = 60_000_000
  HOUR = 3600

  # Every verb that takes an estimate and charges it; the permit of its call.
  VERBS = {
    try_acquire: ->(shop, **request) { shop.try_acquire(**request).permit },
    try_acquire_with_id: ->(shop, **request) { shop.try_acquire(id: "call", **request).permit },
    acquire: ->(shop, **request) { shop.acquire(wait_timeout: 0, **request).id },
    within_limit: ->(shop, **request) { shop.within_limit(wait_timeout: 0, **request, &:id) },
    admit: ->(shop, **request) { shop.admit("job", **request).permit.id },
    enqueue: ->(shop, **request) { shop.enqueue("queued", **request).permit },
    claim: lambda do |shop, **request|
      key = request.slice(:key)
      shop.pause(60, **key)
      shop.enqueue("claimed", estimate: 1, **key)
      shop.resume(**key)
      shop.claim("claimed", **request).permit
    end
  }.freeze

  WRONG = [-1, 0, 0.0, 1e-9, 299.999999, 604_800.000001, 10**30, Float::INFINITY, Float::NAN, "",
           "1", :fortnight, :minute, true, false, [], {}, Object.new, "PT4M59S", "P8D",
           "day\0"].freeze

  def test_every_verb_takes_it
    VERBS.each do |name, verb|
      on_clocked do |store|
        shop = store.points(unique, 1000, :day)
        id = verb.call(shop, estimate: 200, settle_within: HOUR)
        at(6 * MINUTE)
        assert_equal :settled, shop.correct(id, 50), name
        assert_equal :already, shop.correct(id, 50), name
        shop.reset
      end
    end
  end

  def test_every_verb_of_a_key_takes_it
    VERBS.each do |name, verb|
      on_clocked do |store|
        shop = store.points(unique, 1000, :day, keyed: true)
        id = verb.call(shop, estimate: 200, settle_within: HOUR, key: "ann")
        at(6 * MINUTE)
        assert_equal :settled, shop.correct(id, 50, key: "ann"), name
      end
    end
  end

  def test_without_it_there_are_five_minutes
    VERBS.each do |name, verb|
      [{}, { settle_within: nil }].each do |request|
        shop = clocked.points(unique, 1000, :day)
        id = verb.call(shop, estimate: 200, **request)
        at((5 * MINUTE) - 1)
        assert_equal :settled, shop.correct(id, 50), name
        id = verb.call(shop, estimate: 200, **request)
        at((10 * MINUTE) - 1)
        assert_equal :late, shop.correct(id, 50), name
      end
    end
  end

  def test_it_is_an_interval
    intervals = { 300 => 5, 300.0 => 5, 3600r => 60, :hour => 60, "day" => 1440, "PT2H" => 120,
                  "P7D" => 7 * 1440 }
    intervals.each do |given, minutes|
      us = minutes * MINUTE
      shop = clocked.points(unique, 1000, :day)
      ids = Array.new(2) { shop.try_acquire(estimate: 10, settle_within: given).permit }
      at(us - 1)
      assert_equal :settled, shop.correct(ids[0], 1), given
      at(us)
      assert_equal :late, shop.correct(ids[1], 1), given
    end
  end

  def test_the_permit_and_other_grants
    on_clocked do |store|
      shop = store.points(unique, 1000, :day)
      slots = store.limiter(unique, points: [100, :day], concurrency: 2)
      both = store.together(shop, store.points(unique, 100, :day))
      permits = [shop, slots, both].map { |it| it.acquire(estimate: 20, settle_within: HOUR) }
      leased = slots.try_acquire(estimate: 20, settle_within: HOUR).permit
      at(6 * MINUTE)
      permits.each { |permit| assert_equal :settled, permit.points_used(5) }
      assert_equal :settled, slots.correct(leased, 5)
    end
  end

  def test_a_response_settles_it_later
    shop = clocked.points(unique, 1000, :day)
    permit = shop.acquire(estimate: 200, settle_within: HOUR)
    at(6 * MINUTE)
    body = { "extensions" => { "cost" => { "actualQueryCost" => 46 } } }
    learned = permit.learn_from_response({}, JSON.generate(body), status: 200, provider: :shopify)
    assert_equal [:settled, 46], [learned.settlement, learned.cost]
  end

  def test_who_waits_for_a_grant
    shop = clocked.points(unique, 100, :day)
    shop.pause(HOUR)
    waiter = Thread.new { shop.acquire(estimate: 50, settle_within: HOUR, wait_timeout: :day) }
    eventually { shop.stats.tickets == 1 }
    shop.resume
    permit = waiter.value
    at(6 * MINUTE)
    assert_equal :settled, permit.correct(1)
  end

  def test_peek_and_allow_take_it
    on_clocked do |store|
      shop = store.points(unique, 100, :day)
      keyed = store.points(unique, 100, :day, keyed: true)
      assert_equal 100, shop.peek(estimate: 1, settle_within: HOUR).remaining
      assert shop.allow?(estimate: 60, settle_within: HOUR)
      refute shop.allow?(estimate: 60, settle_within: HOUR)
      assert keyed.peek(estimate: 60, settle_within: HOUR, key: "ann").allowed?
      assert keyed.allow?(estimate: 60, settle_within: HOUR, key: "ann")
    end
  end

  def test_points_of_sidekiq
    require "paddlegate/sidekiq"
    Paddlegate::Sidekiq::Limiter.configure { |config| config.redis = { url: "memory://" } }
    limiter = Paddlegate::Sidekiq::Limiter.points("points", 100, :day)
    limiter.within_limit(estimate: 9.5, settle_within: "PT1H") do |handle|
      assert_equal 90, handle.decision.remaining
      assert_equal :settled, handle.points_used(1)
    end
    [299.5, 604_800.5, "soon"].each do |bad|
      refused(bad) { limiter.within_limit(estimate: 1, settle_within: bad) { flunk } }
    end
    other = Paddlegate::Sidekiq::Limiter.bucket("bucket", 100, :day)
    assert_raises(ArgumentError) { other.within_limit(used: 1, settle_within: HOUR) { flunk } }
    assert_equal 1, limiter.stats.units
  end

  def test_wrong_times
    on_clocked do |store|
      shop = store.points(unique, 1000, :day)
      WRONG.each do |bad|
        VERBS.except(:claim).each_value do |verb|
          refused(bad) { verb.call(shop, estimate: 1, settle_within: bad) }
        end
        refused(bad) { shop.claim("nobody", estimate: 1, settle_within: bad) }
        refused(bad) { shop.peek(estimate: 1, settle_within: bad) }
        refused(bad) { shop.allow?(estimate: 1, settle_within: bad) }
      end
      assert_equal 1000, shop.peek(cost: 0).remaining
      assert_equal 0, shop.stats.tickets
    end
  end

  def test_it_is_for_an_estimate
    on_clocked do |store|
      rows = store.bucket(unique, 1000, :day)
      [{}, { cost: 1 }, { cost: 0 }, { cost: { bucket: 1 } }].each do |request|
        VERBS.except(:claim).each_value do |verb|
          refused(request) { verb.call(rows, settle_within: HOUR, **request) }
        end
        refused(request) { rows.peek(settle_within: HOUR, **request) }
        refused(request) { rows.allow?(settle_within: HOUR, **request) }
      end
      refused("used") { rows.within_limit(used: 1, settle_within: HOUR) { flunk } }
      assert_equal 1000, rows.peek(cost: 0).remaining
    end
  end

  def test_an_error_shows_seconds
    error = assert_raises(Paddlegate::InvalidError) do
      memory.points(unique, 10, :day).try_acquire(estimate: 1, settle_within: 299.5)
    end
    assert_includes error.message, "settle_within=299.5"
    refute_includes error.message, "_us"
  end

  private

  def refused(bad, &block)
    error = assert_raises(Paddlegate::InvalidError, bad.inspect, &block)
    assert_equal "settle_within", error.argument, bad.inspect
    assert_includes error.message, "settle_within"
  end
end
