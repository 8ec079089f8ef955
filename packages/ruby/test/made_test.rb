# frozen_string_literal: true

require "helper"

# A limiter that a program asks for at each call is made once.
class MadeTest < Minitest::Test
  MAKES = {
    concurrent: ->(pg, name) { pg.concurrent(name, 5, lock_timeout: 1) },
    bucket: ->(pg, name) { pg.bucket(name, 5, :minute, 3) },
    window: ->(pg, name) { pg.window(name, 5, "PT1M") },
    leaky: ->(pg, name) { pg.leaky(name, 5, 60, refund: :undrained, keyed: true) },
    points: ->(pg, name) { pg.points(name, 5, 60) },
    quota: ->(pg, name) { pg.quota(name, 5, :month, starts: "15") },
    throttle: ->(pg, name) { pg.throttle(name, 1, limit: 3) }
  }.freeze

  # Without options, and options of that kind.
  PLAIN = {
    concurrent: [->(pg, by, &block) { pg.concurrent("one", 5, **by, &block) },
                 [{ lock_timeout: 60 }]],
    bucket: [->(pg, by, &block) { pg.bucket("one", 5, 60, **by, &block) }, []],
    window: [->(pg, by, &block) { pg.window("one", 5, 60, **by, &block) }, []],
    leaky: [->(pg, by, &block) { pg.leaky("one", 5, 60, **by, &block) },
            [{ refund: :undrained }]],
    points: [->(pg, by, &block) { pg.points("one", 5, 60, **by, &block) },
             [{ refund: :undrained }]],
    quota: [->(pg, by, &block) { pg.quota("one", 5, :month, **by, &block) },
            [{ timezone: "+01:00" }, { starts: "15" }]],
    throttle: [->(pg, by, &block) { pg.throttle("one", 60, **by, &block) }, [{ limit: 3 }]]
  }.freeze

  def setup
    @pg = Paddlegate::Store.new("memory://")
  end

  def test_a_limiter_that_was_asked_for_before_is_the_same_one
    MAKES.each do |kind, make|
      assert_same make.call(@pg, "#{kind} one"), make.call(@pg, "#{kind} one"), kind
      refute_same make.call(@pg, "#{kind} one"), make.call(@pg, "#{kind} two"), kind
    end
  end

  def test_other_arguments_make_another_limiter
    one = @pg.leaky("one", 5, 60, ttl: 60)
    [
      @pg.points("one", 5, 60, ttl: 60),
      @pg.leaky("one", 6, 60, ttl: 60),
      @pg.leaky("one", 5, 61, ttl: 60),
      @pg.leaky("one", 5, 60, ttl: 61),
      @pg.leaky("one", 5, 60, ttl: 60, keyed: true),
      @pg.leaky("one", 5, 60),
      Paddlegate::Store.new("memory://").leaky("one", 5, 60, ttl: 60)
    ].each { |other| refute_same one, other }
  end

  def test_a_limiter_without_options_is_none_with_options
    PLAIN.each do |kind, (make, options)|
      plain = make.call(@pg, {})
      assert_same plain, make.call(@pg, {}), kind
      [*options, { ttl: 60 }, { keyed: true }].each do |given|
        refute_same plain, make.call(@pg, given), "#{kind} #{given}"
        plain = make.call(@pg, {})
      end
      assert_raises(Paddlegate::InvalidError) { make.call(@pg, {}) { nil } }
      assert_raises(ArgumentError) { make.call(@pg, { what: 1 }) }
    end
    assert_same @pg.bucket("bucket", 5, 60), @pg.bucket("bucket", 5, 60, 0.0)
    refute_same @pg.bucket("bucket", 5, 60), @pg.bucket("bucket", 5, 60, 1)
  end

  def test_what_would_be_refused_is_refused_after_a_limiter_of_that_name
    @pg.window("one", 1, 60)
    [1.0, true, "1", nil].each do |limit|
      assert_raises(Paddlegate::InvalidError) { @pg.window("one", limit, 60) }
    end
    assert_raises(Paddlegate::InvalidError) { @pg.window("one", 1, 60, ttl: -1) }
    assert_raises(Paddlegate::InvalidError) { @pg.window("one", 1, 60) { nil } }
    assert_raises(ArgumentError) { @pg.window("one", 1, 60, what: 1) }
  end

  def test_equal_times_are_the_same_and_equal_counts_are_not
    one = @pg.bucket("one", 1, 60, 3, wait_timeout: 1)
    assert_same one, @pg.bucket("one", 1, 60.0, 3r, wait_timeout: 1)
    refute_same one, @pg.bucket("one", 1, 60, 3, wait_timeout: 1.0)
    others = [{}, { timezone: "+01:00" }, { timezone: "+02:00", starts: "15" }, { starts: "15" }]
    others.each do |by|
      quota = @pg.quota("two", 5, :month, timezone: "+01:00", starts: "15")
      refute_same quota, @pg.quota("two", 5, :month, **by), by
    end
  end

  def test_a_store_without_references_is_closed_although_it_made_limiters
    gone = ObjectSpace::WeakMap.new
    # The stack of a thread that has ended keeps nothing.
    Thread.new do
      100.times do
        store = Paddlegate::Store.new("memory://")
        assert_predicate store.window("one", 1, 60), :allow?
        gone[store] = true
      end
    end.join
    GC.start
    assert_operator gone.size, :<, 50
  end

  def test_arguments_that_can_change_are_read_at_each_call
    interval = +"minute"
    one = @pg.window("one", 1, interval)
    interval.replace("hour")
    refute_same one, @pg.window("one", 1, interval)
    rule = [1, 60, 60]
    @pg.window("two", 1, 60, block_after: rule)
    rule[0] = 0
    assert_raises(Paddlegate::InvalidError) { @pg.window("two", 1, 60, block_after: rule) }
  end

  def test_a_store_keeps_the_limiters_of_a_thousand_names
    first = @pg.window("first", 1, 60)
    999.times { |i| @pg.window("user-#{i}", 1, 60) }
    assert_same first, @pg.window("first", 1, 60)
    @pg.window("one more", 1, 60)
    refute_same first, @pg.window("first", 1, 60)
  end
end
