# frozen_string_literal: true

require "sidekiq_helper"

# The cases of Sidekiq's limiters by their numbers; those of the decisions alone are vectors.
class SidekiqTest < Minitest::Test
  include SidekiqHelper

  FACTORIES = { concurrent: [5], bucket: [5, :day], window: [5, 60], leaky: [5, 60],
                points: [5, 60] }.freeze

  def test_no_place_and_no_wait
    on_redis
    limiter = Sidekiq::Limiter.concurrent(unique, 2, wait_timeout: 0)
    error = nil
    limiter.within_limit do
      limiter.within_limit do
        error = over_limit { limiter.within_limit { flunk } }
      end
    end
    # Nobody took a ticket.
    assert_equal 0, limiter.stats.lapsed + limiter.stats.tickets
    assert_same limiter, error.limiter
    assert_kind_of Paddlegate::OverLimit, error
    assert_equal :concurrency, error.decision.reason
    assert_includes error.message, "limiter=#{limiter.name}"
  end

  def test_a_release_calls_a_waiter
    on_redis
    # Not by a look of its own, which comes after five seconds. A machine that stalls does not do so
    # each time.
    assert((1..5).any? { from_release_to_entry < 4 })
  end

  def test_fractions_of_a_second
    on_redis
    limiter = Sidekiq::Limiter.concurrent(unique, 1, wait_timeout: 0.05)
    # The fastest of several: whole seconds would be noticed.
    took = limiter.within_limit do
      Array.new(5) { elapsed { over_limit { limiter.within_limit { flunk } } } }
    end
    assert_includes 0.05..0.9, took.min
    limiter = Sidekiq::Limiter.concurrent(unique, 1, lock_timeout: 0.06)
    capture_io { limiter.within_limit { |permit| assert_in_delta 0.06, permit.decision.lease } }
  end

  def test_another_process_makes_the_same_limiter
    on_redis
    name = unique
    limiter = Sidekiq::Limiter.concurrent(name, 2)
    output = limiter.within_limit do
      limiter.within_limit { ruby(<<~RUBY, "REDIS_URL" => URL, "PADDLEGATE_URL" => nil) }
        require "paddlegate/sidekiq"
        Sidekiq = Paddlegate::Sidekiq
        Sidekiq::Limiter.configure { |config| config.redis = { timeout: 10 } }
        limiter = Sidekiq::Limiter.concurrent(#{name.inspect}, 2, wait_timeout: 0)
        begin
          limiter.within_limit { print "inside" }
        rescue Sidekiq::Limiter::OverLimit => e
          print "\#{e.limiter} over rate limit"
        end
      RUBY
    end
    assert_equal "#{name} over rate limit", output
  end

  def test_a_lock_is_reclaimed
    on_redis
    name = unique
    slow = Sidekiq::Limiter.concurrent(name, 1, lock_timeout: 0.3)
    _out, warned = capture_io do
      slow.within_limit do
        # The same name may have other lock timeouts.
        other = Sidekiq::Limiter.concurrent(name, 1, wait_timeout: 20, lock_timeout: 30)
        other.within_limit { sleep(0.1) }
      end
    end
    assert_includes warned, "a lease ended before its block"
    assert_equal [2, 1, 1], [slow.held, slow.overages, slow.reclaimed]
  end

  def test_values_pass_through
    limiter = Sidekiq::Limiter.concurrent("values", 1, wait_timeout: 0)
    [nil, false, 0, [1, 2]].each { |value| assert_equal [value], [limiter.within_limit { value }] }
    assert_raises(ZeroDivisionError) { limiter.within_limit { 1 / 0 } }
    assert_equal(:free, limiter.within_limit { :free })
  end

  def test_a_block_is_skipped
    %i[ignore skip].each do |policy|
      limiter = Sidekiq::Limiter.concurrent("full", 1, wait_timeout: 0, policy: policy)
      inside = limiter.within_limit { limiter.within_limit { flunk } }
      assert_same Paddlegate::SKIPPED, inside
    end
  end

  def test_a_call_takes_several
    [%w[bucket day], %w[window day], %w[leaky day]].each do |kind, interval|
      limiter = Sidekiq::Limiter.public_send(kind, kind, 10, interval.to_sym, wait_timeout: 0)
      assert_equal(:value, limiter.within_limit(used: 9) { :value })
      over_limit { limiter.within_limit(used: 2) { flunk } }
      limiter.within_limit { nil }
      over_limit { limiter.within_limit { flunk } }
      assert_equal 10, limiter.stats.units
    end
  end

  def test_long_buckets_never_wait
    { minute: 60, hour: 3600, day: DAY }.each do |interval, seconds|
      limiter = Sidekiq::Limiter.bucket("bucket", 1, interval, wait_timeout: seconds)
      error = nil
      took = elapsed do
        # Whatever the time is, two of three are in one interval.
        error = over_limit { 3.times { limiter.within_limit { nil } } }
      end
      assert_operator took, :<, 20
      assert_operator error.retry_after, :<=, seconds
      assert_equal seconds.to_f, limiter.options[:wait_timeout]
    end
  end

  def test_a_window_waits_for_all_of_it_or_not_at_all
    limiter = Sidekiq::Limiter.window("window", 1, 0.3, wait_timeout: 0.3)
    assert_operator elapsed { 2.times { limiter.within_limit { nil } } }, :>=, 0.29
    long = Sidekiq::Limiter.window("long", 1, 60, wait_timeout: 50)
    long.within_limit { nil }
    assert_operator elapsed { over_limit { long.within_limit { flunk } } }, :<, 20
  end

  def test_a_leaky_limiter_may_change_its_size
    limiter = Sidekiq::Limiter.leaky("leaky", 40, 2000, wait_timeout: 0)
    limiter.within_limit(used: 40) { nil }
    assert_in_delta 50, over_limit { limiter.within_limit { flunk } }.retry_after, 10
    smaller = Sidekiq::Limiter.leaky("leaky", 20, 2000, wait_timeout: 0)
    # The level is clamped: one leaves each 100 seconds.
    assert_in_delta 100, over_limit { smaller.within_limit { flunk } }.retry_after, 10
  end

  def test_names
    ["0", "a0b", "erp", "stripe-1_2", :erp].each do |name|
      FACTORIES.each do |kind, numbers|
        assert_equal name.to_s, Sidekiq::Limiter.public_send(kind, name, *numbers).name
      end
    end
    ["", " ", "a b", "a/b", "a{b}", "a\n", "\n", "a.b", "a:b", "é", "x" * 513, nil, 5].each do |bad|
      FACTORIES.each do |kind, numbers|
        error = assert_raises(ArgumentError, bad.inspect) do
          Sidekiq::Limiter.public_send(kind, bad, *numbers)
        end
        assert_equal "name", error.argument
      end
    end
  end

  def test_an_estimate_above_the_size_takes_all_of_it
    limiter = Sidekiq::Limiter.points("points", 100, :day, wait_timeout: 0)
    limiter.within_limit(estimate: 101) do |handle|
      assert_equal 100, limiter.stats.units
      handle.points_used(3)
    end
    assert_equal 3, limiter.stats.units
  end

  def test_a_block_that_raises_leaves_its_estimate
    limiter = Sidekiq::Limiter.points("points", 100, :day, wait_timeout: 0)
    assert_raises(ZeroDivisionError) { limiter.within_limit(estimate: 60) { 1 / 0 } }
    over_limit { limiter.within_limit(estimate: 50) { flunk } }
    limiter.within_limit(estimate: 40) { |handle| handle.points_used(0) }
    limiter.within_limit(estimate: 40) { nil }
    assert_equal 100, limiter.stats.units
  end

  def test_points_need_an_estimate
    limiter = Sidekiq::Limiter.points("points", 100, 20)
    error = assert_raises(ArgumentError) { limiter.within_limit { flunk } }
    assert_equal "estimate", error.argument
  end

  def test_fractions_of_points_are_whole_ones
    limiter = Sidekiq::Limiter.points("points", 100, :day)
    { 10.2 => 11, 21r / 2 => 11, 7.0 => 7, 0 => 0, 0.0 => 0 }.each do |actual, taken|
      limiter.reset
      limiter.within_limit(estimate: 49.5) do |handle|
        assert_equal 50, limiter.stats.units
        assert_equal :settled, handle.points_used(actual)
      end
      assert_equal taken, limiter.stats.units
    end
    limiter.within_limit(estimate: 1) do |handle|
      [-1, Float::NAN, nil, "5"].each do |bad|
        assert_raises(ArgumentError) { handle.points_used(bad) }
      end
    end
  end

  def test_a_cost_by_label_is_rounded_too
    points = Sidekiq::Limiter.points(unique, 100, :day)
    points.within_limit(estimate: { points: 49.5 }) do |handle|
      assert_equal 50, handle.decision.remaining
      assert_equal :settled, handle.correct({ "points" => 10.2 })
    end
    assert_equal 11, points.stats.units
    bucket = Sidekiq::Limiter.bucket(unique, 10, :day)
    bucket.within_limit(used: { bucket: 2.1 }) do |permit|
      assert_equal 7, permit.decision.remaining
    end
    [{ points: 1 }, { bucket: "1" }, { bucket: Float::NAN }].each do |bad|
      error = assert_raises(ArgumentError) { bucket.within_limit(used: bad) { flunk } }
      assert_equal "used", error.argument
    end
  end

  def test_points_wait
    limiter = Sidekiq::Limiter.points("points", 100, 1, wait_timeout: 1)
    took = elapsed { [100, 30].each { |points| limiter.within_limit(estimate: points) { nil } } }
    assert_operator took, :>=, 0.29
  end

  def test_unlimited_takes_anything
    Sidekiq::Limiter.configure { |config| config.redis = { url: "redis://127.0.0.1:1" } }
    [[], ["erp"], ["erp", 5, :second], [{ wait_timeout: 1 }]].each do |arguments|
      limiter = Sidekiq::Limiter.unlimited(*arguments, policy: :raise)
      [{}, { used: 3 }, { estimate: 3 }, { anything: nil }].each do |asks|
        assert_equal(:settled, limiter.within_limit(**asks) { |handle| handle.points_used(5) })
        assert_equal(:settled, limiter.within_limit(**asks) { |handle| handle.correct({ a: 5 }) })
      end
      assert_equal(:value, limiter.within_limit(5) { :value })
      assert_equal ["unlimited", 0, nil], [limiter.to_s, limiter.stats.granted, limiter.delete]
      assert_equal 20, limiter.reschedule
      assert_raises(ArgumentError) { limiter.within_limit }
    end
  end

  def test_factories_take_no_block
    FACTORIES.merge(unlimited: []).each do |kind, numbers|
      error = assert_raises(ArgumentError) do
        Sidekiq::Limiter.public_send(kind, "name", *numbers) { flunk }
      end
      assert_includes error.message, "within_limit"
    end
  end

  def test_delete_leaves_nothing
    on_redis
    FACTORIES.each do |kind, numbers|
      limiter = Sidekiq::Limiter.public_send(kind, unique, *numbers, wait_timeout: 0)
      asks = kind == :points ? { estimate: 5 } : {}
      (asks.empty? ? 5 : 1).times { limiter.within_limit(**asks) { nil } }
      assert_nil limiter.delete
      assert_equal 0, limiter.stats.granted
      assert_equal(:value, limiter.within_limit(**asks) { :value })
      assert_nil limiter.reset
    end
  end

  def test_wrong_arguments_change_nothing
    FACTORIES.each do |kind, numbers|
      make = ->(*list, **options) { Sidekiq::Limiter.public_send(kind, "n", *list, **options) }
      assert_raises(ArgumentError) { make.call(*numbers, wait_timout: 5) }
      assert_raises(ArgumentError) { make.call("5", *numbers.drop(1)) }
      wrong = { wait_timeout: -1, policy: :raises, ttl: 0, reschedule: 1.5, backoff: 300,
                group: "", keyed: "yes", statistics: 0 }
      wrong.each do |option, bad|
        error = assert_raises(ArgumentError) { make.call(*numbers, option => bad) }
        assert_equal option.to_s, error.argument
      end
      assert_raises(ArgumentError) { make.call(*numbers, wait_timeout: 1e9) }
      limiter = make.call(*numbers)
      assert_raises(ArgumentError) { limiter.within_limit }
      assert_raises(ArgumentError) { limiter.within_limit(cost: 1) { flunk } }
      assert_raises(ArgumentError) { limiter.within_limit(wait_timeout: 1) { flunk } }
      assert_equal 0, limiter.stats.granted
    end
    ["fortnight", 60, nil, "PT1S", :Second].each do |interval|
      error = assert_raises(ArgumentError) { Sidekiq::Limiter.bucket("n", 5, interval) }
      assert_equal "interval", error.argument
    end
    assert_raises(ArgumentError) { Sidekiq::Limiter.concurrent("n", 5, lock_timeout: 0) }
    assert_raises(ArgumentError) { Sidekiq::Limiter.bucket("n", 5, :day, lock_timeout: 5) }
    limiter = Sidekiq::Limiter.concurrent("n", 5)
    assert_raises(ArgumentError) { limiter.within_limit(used: 1) { flunk } }
  end

  def test_a_group_is_that_of_the_limiter
    on_redis
    name = unique
    Sidekiq::Limiter.concurrent(name, 5, group: "acme").within_limit do
      assert_equal 1, redis.concurrent(name, 5, group: "acme").stats.leases
      assert_equal 0, redis.concurrent(name, 5).stats.leases
    end
  end

  def test_a_limit_for_each_key
    on_redis
    FACTORIES.each do |kind, numbers|
      limiter = Sidekiq::Limiter.public_send(kind, unique, *numbers, wait_timeout: 0, keyed: true)
      asks = kind == :points ? { estimate: 4.5 } : {}
      refused = lambda do |**key|
        error = assert_raises(ArgumentError) { limiter.within_limit(**asks, **key) { flunk } }
        assert_equal "key", error.argument
      end
      refused.call
      ["", 5, 1.5, []].each { |bad| refused.call(key: bad) }
      assert_equal(:ran, limiter.within_limit(key: "a", **asks) { :ran })
      [limiter, Sidekiq::Limiter.unlimited].each do |one|
        assert_equal([:ran, nil, nil], [one.within_limit(key: "b", **asks) { :ran },
                                        one.reset(key: "b"), one.delete(key: "b")])
      end
      assert_equal 2, limiter.stats.granted, "of all keys"
      assert_raises(ArgumentError) { limiter.reset }
      assert_equal true, limiter.options[:keyed]
    end
    refute_includes Sidekiq::Limiter.window("n", 5, 60).options, :keyed
  end

  def test_a_key_is_over_its_limit
    limiter = Sidekiq::Limiter.points(unique, 5, :day, wait_timeout: 0, keyed: true)
    handle = limiter.within_limit(estimate: 5, key: "a") { |permit| permit }
    error = over_limit { limiter.within_limit(estimate: 1, key: "a") { flunk } }
    assert_same limiter, error.limiter
    assert(limiter.within_limit(estimate: 5, key: "b") { true })
    # A fraction of a point of this key alone.
    assert_equal :settled, handle.points_used(3.5)
    over_limit { limiter.within_limit(estimate: 2, key: "a") { flunk } }
    assert(limiter.within_limit(estimate: 1, key: "a") { true })
  end

  def test_statistics_can_be_off
    limiter = Sidekiq::Limiter.leaky(unique, 5, 60, statistics: false)
    assert(limiter.within_limit { true })
    assert_equal "statistics", assert_raises(ArgumentError) { limiter.hits }.argument
  end

  def test_an_error_of_a_limiter_inside_is_its_own
    outer = Sidekiq::Limiter.concurrent("n", 5, policy: :ignore)
    inner = Paddlegate::Store.new("memory://").window("n", 1, :day, wait_timeout: 0)
    error = assert_raises(Paddlegate::OverLimit) do
      outer.within_limit { 2.times { inner.within_limit { nil } } }
    end
    assert_equal "n", error.limiter
  end

  def test_the_redis_by_the_options_of_a_client
    {
      { host: "redis.example" } => "redis://redis.example:6379/0",
      { host: "::1", port: "7000", db: 3, ssl: true } => "rediss://[::1]:7000/3",
      { "path" => "/tmp/redis.sock", "db" => 2 } => "unix:///tmp/redis.sock?db=2",
      { url: "rediss://me:se%2Fcret@a:7000/1", db: 5 } => "rediss://me:se%2Fcret@a:7000/5",
      { url: "redis://a", username: "me", password: "a b", size: 5 } => "redis://me:a%20b@a:6379/0",
      { url: "redis://a:7000,b:7001/2", timeout: 2 } => "redis://a:7000,b:7001/2",
      { url: "rediss://a/1", ssl_params: { verify_mode: OpenSSL::SSL::VERIFY_NONE } } =>
        "rediss://a:6379/1?ssl_cert_reqs=none",
      { url: "rediss://a?ssl_cert_reqs=none", db: 2 } => "rediss://a:6379/2?ssl_cert_reqs=none",
      { host: "a", ssl: true, ssl_params: { ca_file: "/ca 1.pem", cert: "/c", "key" => "/k",
                                            verify_mode: OpenSSL::SSL::VERIFY_PEER } } =>
        "rediss://a:6379/0?ssl_ca_certs=%2Fca%201.pem&ssl_certfile=%2Fc&ssl_keyfile=%2Fk",
      { host: "a", ssl_params: { verify_mode: 0 } } => "redis://a:6379/0",
      { url: "redis://:pw@main/2", role: :master,
        sentinels: [{ host: "a", port: 7 }, { host: "::1" }] } =>
        "redis+sentinel://:pw@a:7,[::1]:26379/main/2",
      { name: "main", ssl: true, sentinels: [{ "host" => "a", "password" => "p w" }] } =>
        "rediss+sentinel://a:26379/main/0?sentinel_password=p%20w",
      { name: "a b", sentinels: [{ host: "a" }], sentinel_username: "u", sentinel_password: "p" } =>
        "redis+sentinel://a:26379/a%20b/0?sentinel_username=u&sentinel_password=p"
    }.each do |options, url|
      Sidekiq::Limiter.configure { |config| config.redis = options }
      assert_equal url, Sidekiq::Limiter.config.send(:url_of, Sidekiq::Limiter.config.redis)
    end
    uri = URI.parse(Helper::URL)
    Sidekiq::Limiter.configure { |config| config.redis = { host: uri.host, port: uri.port } }
    assert_equal 1, Sidekiq::Limiter.concurrent(unique, 1).tap { |it| it.within_limit { 1 } }.held
  end

  def test_a_pool_gives_its_address
    require "connection_pool"
    require "redis"
    pool = ConnectionPool.new(size: 1) { Redis.new(url: Helper::URL) }
    Sidekiq::Limiter.configure { |config| config.redis = pool }
    name = unique
    Sidekiq::Limiter.window(name, 5, :minute).within_limit { 1 }
    store = Paddlegate::Store.new(Helper::URL, timeout: 10)
    assert_equal 4, store.window(name, 5, :minute).peek.remaining
  end

  def test_wrong_redis_options
    [7, "redis://localhost", { sentinels: [] }, { name: "a", sentinels: [1] }, { port: "x" },
     { sentinels: [{ host: "a" }] }, { host: "a", role: :slave, sentinels: [{ host: "a" }] },
     { ssl: true, ssl_params: { ciphers: "a" } }, { ssl: true, ssl_params: { cert: 1 } },
     { db: 1.5 },
     { url: "memory://", db: 1 }, { url: "redis://a:7000,b:7001", db: 1 }].each do |options|
      before = Sidekiq::Limiter.config
      error = assert_raises(Paddlegate::InvalidError) do
        Sidekiq::Limiter.configure { |config| config.redis = options }
      end
      assert_equal "redis", error.argument
      assert_same before, Sidekiq::Limiter.config, "nothing has changed"
    end
  end

  def test_all_verbs_are_on_the_limiter_behind
    erp = Sidekiq::Limiter.window(unique, 5, :minute)
    erp.limiter.override(limit: 2)
    2.times { erp.within_limit { 1 } }
    over_limit { erp.within_limit { 1 } }
    assert_equal [2, 0], [erp.limiter.inspection.limits.first.taken, erp.limiter.peek.remaining]
    assert erp.limiter.pause(60).in_use
    assert_equal [2, 1], [erp.history.minutes.sum(&:granted), erp.history.hours.sum(&:refused)]
    unlimited = Sidekiq::Limiter.unlimited
    assert unlimited.limiter.try_acquire.allowed?
    none = unlimited.history
    assert_equal [60, 48, 0], [none.minutes.size, none.hours.size, none.hours.sum(&:granted)]
    { 60 => none.minutes, 3600 => none.hours }.each do |length, entries|
      before, last = entries.last(2).map(&:start)
      assert_equal [length, 0], [last - before, last % length]
    end
  end

  private

  def from_release_to_entry
    limiter = Sidekiq::Limiter.concurrent(unique, 1)
    now = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
    released = nil
    waiter = limiter.within_limit do
      thread = Thread.new { limiter.within_limit { now.call } }
      eventually { limiter.stats.tickets == 1 }
      sleep(0.05)
      released = now.call
      thread
    end
    (waiter.value - released).tap do
      assert_equal [2, 1, 1], [limiter.held, limiter.immediate, limiter.waited]
    end
  end
end
