# frozen_string_literal: true

require "helper"

# Periods of the calendar, more units for an open permit, and what a correction gives back.
class QuotaTest < Minitest::Test
  include Helper

  Limit = Paddlegate::Limit

  # 2023-11-14T22:13:20Z, which is NOW, is 23:13:20 in Berlin.
  MIDNIGHT_IN_BERLIN = 46 * 60 + 40

  def test_all_units_return_at_midnight
    on_clocked do |store|
      spending = store.quota(unique, 5, :day, timezone: "Europe/Berlin")
      assert spending.allow?(cost: 5)
      refused = spending.try_acquire
      assert_equal [:quota, :quota, MIDNIGHT_IN_BERLIN.to_f],
                   [refused.reason, refused.label, refused.retry_after]
      at(MIDNIGHT_IN_BERLIN * 1_000_000)
      assert_equal 4, spending.try_acquire.remaining
    end
  end

  def test_a_quota_is_a_limit_as_others
    on_clocked do |store|
      limiters = [
        store.limiter(unique, monthly: Limit.quota(3, :month, starts: "31"), window: [9, 1]),
        store.limiter(unique, [[:quota, 3, "month", nil, "31"], [:window, 9, 1]]),
        store.limiter(unique, quota: [3, :month, "UTC", "31"], window: [9, 1])
      ]
      limiters.each do |limiter|
        assert limiter.allow?(cost: 3)
        refused = limiter.try_acquire
        # November has no 31st: the period ends on the 30th.
        assert_equal [:quota, (15 * DAY) + 6400.0], [refused.reason, refused.retry_after]
      end
    end
  end

  def test_the_list_shows_the_calendar
    on_clocked do |store|
      name = unique
      limiter = store.quota(name, 5, :month, timezone: "Europe/Berlin", starts: "15")
      limiter.allow?
      expected = { label: :quota, kind: :quota, amount: 5, interval: 31.0 * DAY, offset: 0.0,
                   per: :month, timezone: "Europe/Berlin", starts: "15" }
      assert_equal [expected], store.limiters(prefix: name).first.limits
      overridden = limiter.override(limit: 9).overrides.fetch(:quota)
      assert_equal({ label: :quota, kind: :quota, amount: 9, interval: 0.0, offset: 0.0 },
                   overridden)
      assert_equal 8, limiter.peek.remaining
    end
  end

  def test_a_permit_is_extended
    on_clocked do |store|
      shop = store.points(unique, 1000, 20)
      permit = shop.acquire(estimate: 200)
      first = permit.id
      assert_equal [true, 500], [permit.extend(300).allowed?, shop.peek(cost: 0).remaining]
      refute_equal first, permit.id
      second = permit.id
      refused = permit.extend({ points: 501 })
      assert_equal [false, 0.02, second], [refused.allowed?, refused.retry_after, permit.id]
      assert_equal :settled, permit.correct(450)
      assert_equal :already, permit.extend(1)
      assert_equal(%i[already unknown], [first, "nonsense"].map { |id| shop.extend(id, 1) })
      assert_equal 550, shop.peek(cost: 0).remaining
    end
  end

  def test_a_wrong_extension_changes_nothing
    shop = memory.points(unique, 1000, :day)
    permit = shop.acquire(estimate: 200)
    [0, 1001, -1, 1.5, "1", nil, {}, { tpm: 1 }].each do |units|
      error = assert_raises(Paddlegate::InvalidError, units.inspect) { permit.extend(units) }
      assert_equal "units", error.argument
    end
    assert_equal 800, shop.peek(cost: 0).remaining
    error = assert_raises(Paddlegate::InvalidError) { shop.acquire(cost: 1).extend(1) }
    assert_equal "estimate", error.argument
    assert_equal "permit", assert_raises(Paddlegate::InvalidError) { shop.extend(7, 1) }.argument
  end

  def test_permits_of_a_key_are_extended
    on_clocked do |store|
      shop = store.points(unique, 1000, 20, keyed: true)
      permit = shop.acquire(estimate: 200, key: "ann")
      assert permit.extend(100).allowed?
      assert shop.extend(permit, 100, key: "ann").allowed?
      assert_equal 600, shop.peek(cost: 0, key: "ann").remaining
      assert_equal 1000, shop.peek(cost: 0, key: "ben").remaining
    end
  end

  def test_objects_are_extended_by_modules_as_ever
    aside = Module.new { def aside = :here }
    shop = memory.points(unique, 1000, 20)
    extended = [shop, shop.acquire(estimate: 1)].map { |object| object.extend(aside) }
    assert_equal %i[here here], extended.map(&:aside)
  end

  def test_only_what_has_not_drained_is_given_back
    { nil => 1000, full: 1000, "undrained" => 0 }.each do |refund, remaining|
      on_clocked do |store|
        limiters = [store.points(unique, 1000, 20, refund: refund),
                    store.leaky(unique, 1000, 20, refund: refund),
                    store.limiter(unique, tpm: Limit.points(1000, 20, refund: refund)),
                    store.limiter(unique, leaky: [1000, 20, refund])]
        early = limiters.map { |limiter| limiter.acquire(estimate: 1000) }
        at(20_000_000)
        limiters.each { |limiter| limiter.acquire(estimate: 1000) }
        early.each { |permit| assert_equal :settled, permit.correct(0) }
        assert_equal [remaining] * 4, (limiters.map { |limiter| limiter.peek(cost: 0).remaining })
      end
    end
  end

  def test_wrong_numbers_are_refused
    {
      "per" => [->(it) { it.quota("q", 5, :hour) }, ->(it) { it.quota("q", 5, 60) },
                ->(it) { it.limiter("q", quota: [5]) }],
      "timezone" => [->(it) { it.quota("q", 5, :day, timezone: "Mars/Phobos") },
                     ->(it) { it.quota("q", 5, :day, timezone: 1) }],
      "starts" => [->(it) { it.quota("q", 5, :month, starts: "32") },
                   ->(it) { it.quota("q", 5, :month, starts: 15) }],
      "limit" => [->(it) { it.quota("q", 0, :day) }, ->(it) { it.quota("q", "5", :day) }],
      "refund" => [->(it) { it.points("q", 5, 1, refund: :half) },
                   ->(it) { it.limiter("q", leaky: [5, 1, "none"]) }]
    }.each do |argument, makers|
      makers.each do |make|
        error = assert_raises(Paddlegate::InvalidError) { make.call(memory) }
        assert_equal argument, error.argument, error.message
      end
    end
  end
end
