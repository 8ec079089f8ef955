# frozen_string_literal: true

require "helper"

# Wrong arguments that only Ruby has, by the argument that the error names.
class MisuseTest < Minitest::Test
  include Helper

  BROKEN = "\xff".dup.force_encoding("UTF-8")
  NOT_WHOLE = [-1, 1.5, 1.0, 1r, "1", :one, true, [], {}, Float::NAN, Float::INFINITY, 1 << 53,
               1 << 80, Object.new].freeze
  NOT_SECONDS = [-1, -0.1, "1", "", :fortnight, nil, true, [], {}, Float::NAN, -Float::INFINITY,
                 Complex(1, 1), Object.new, BROKEN, "minute\0"].freeze
  NOT_A_NAME = ["", "x" * 513, "é" * 257, nil, 5, [], "a\0b", BROKEN, "\xed\xa0\x80",
                "\xff".dup.force_encoding("BINARY"), "\xff".dup.force_encoding("UTF-16LE")].freeze

  FACTORIES = {
    concurrent: [5], bucket: [5, 60], window: [5, 60], leaky: [5, 60], points: [5, 60],
    throttle: [60], unlimited: [], paused: []
  }.freeze

  def test_names
    FACTORIES.each do |kind, numbers|
      NOT_A_NAME.each do |name|
        refused("name", name) { memory.public_send(kind, name, *numbers) }
      end
    end
  end

  def test_names_are_compared_as_utf8
    memory.window("übung", 2, :day).acquire
    memory.window("übung".encode("ISO-8859-1"), 2, :day).acquire
    refute_predicate memory.window("übung".b, 2, :day), :allow?
  end

  def test_amounts
    NOT_WHOLE.each do |bad|
      refused("limit", bad) { memory.bucket("b", bad, 60) }
      refused("limit", bad) { memory.window("w", bad, 60) }
      refused("limit", bad) { memory.concurrent("c", bad) }
      refused("limit", bad) { memory.limiter("l", concurrency: bad) } unless bad.is_a?(Enumerable)
      refused("capacity", bad) { memory.leaky("l", bad, 60) }
      refused("capacity", bad) { memory.points("p", bad, 60) }
      refused("limit", bad) { memory.throttle("t", 60, limit: bad) }
      refused("limit", bad) { memory.limiter("l", throttle: [bad, 60]) }
    end
  end

  def test_starts_of_a_throttle
    assert_predicate memory.throttle(unique, 0.000_003, limit: 3), :allow?
    [0, nil, 4, 10**12].each do |bad|
      error = refused("limit", bad) { memory.throttle("t", 0.000_003, limit: bad) }
      assert_includes error.message, "limit"
      refused("limit", bad) { memory.limiter("l", throttle: [bad, 0.000_003]) }
    end
    refused("interval", "missing") { memory.limiter("l", throttle: []) }
    refused("interval", nil) { memory.limiter("l", throttle: [3, nil]) }
    refused("limits", "surplus") { memory.limiter("l", throttle: [3, 1, 1]) }
  end

  def test_intervals
    (NOT_SECONDS + [0, 1e300, Float::INFINITY, 10**30]).each do |bad|
      refused("interval", bad) { memory.bucket("b", 5, bad) }
      refused("interval", bad) { memory.window("w", 5, bad) }
      refused("drain", bad) { memory.leaky("l", 5, bad) }
      refused("refill", bad) { memory.points("p", 5, bad) }
      refused("interval", bad) { memory.throttle("t", bad) }
      next if bad.nil?

      refused("lock_timeout", bad) { memory.concurrent("c", 5, lock_timeout: bad) }
      refused("lock_timeout", bad) { memory.limiter("l", concurrency: 5, lock_timeout: bad) }
      refused("ttl", bad) { memory.concurrent("c", 5, ttl: bad) }
      refused("timeout", bad) { Paddlegate::Store.new("redis://localhost", timeout: bad) }
    end
    refused("lock_timeout", "no concurrency") { memory.limiter("l", throttle: 1, lock_timeout: 1) }
    [1, nil].each do |given|
      numbers = [5, given, nil]
      refused("limits", numbers) { memory.limiter("l", concurrency: numbers, lock_timeout: 1) }
    end
    refused("limit", nil) { memory.limiter("l", concurrency: 5, window: [nil, 1], lock_timeout: 1) }
    refused("ttl", 0.5) { memory.throttle("t", 1, ttl: 0.5) }
    refused("offset", -1) { memory.bucket("b", 5, 60, -1) }
    refused("offset", 60) { memory.bucket("b", 5, 60, 60) }
  end

  def test_requests
    limiter = memory.bucket("requests", 5, :day)
    %i[try_acquire allow? peek acquire within_limit].each do |verb|
      ask = lambda do |**request|
        # Only within_limit looks at the block.
        limiter.public_send(verb, **request) { flunk }
      end
      # A Hash is a cost by label: see costs_test.rb.
      (NOT_WHOLE - [{}]).each do |bad|
        refused("cost", bad) { ask.call(cost: bad) }
        refused("estimate", bad) { ask.call(estimate: bad) }
      end
      refused("cost", false) { ask.call(cost: false) }
      refused("estimate", "both") { ask.call(cost: 1, estimate: 1) }
    end
    assert_equal 5, limiter.peek(cost: 0).remaining
  end

  def test_arguments_are_named_as_they_were_written
    limiter = memory.bucket("names", 5, :day)
    [6, -1, 1.5].each do |bad|
      error = refused("used", bad) { limiter.within_limit(used: bad) { flunk } }
      assert_includes error.message, "used"
      refute_includes error.message, "cost"
    end
    refused("estimate", "both") { limiter.within_limit(used: 1, estimate: 1) { flunk } }
    refused("cost", 6) { limiter.within_limit(cost: 6) { flunk } }
    # Not of what the block does itself.
    refused("cost", 6) { limiter.within_limit(used: 1) { limiter.try_acquire(cost: 6) } }
    refused("duration", 0) { limiter.pause(0) }
    refused("duration", nil) { limiter.pause }
    assert_equal 4, limiter.peek(cost: 0).remaining
  end

  def test_times_are_told_in_seconds
    messages = [[0.5, -> { memory.window("w", 5, 60, ttl: 0.5) }],
                [60.0, -> { memory.bucket("b", 5, 60, 60) }],
                [0.0, -> { memory.leaky("l", 5, 0) }],
                [0.0005, -> { Paddlegate::Store.new("redis://127.0.0.1", timeout: 0.0005) }]]
    messages.each do |seconds, call|
      message = assert_raises(Paddlegate::InvalidError, &call).message
      assert_includes message, "=#{seconds}"
      refute_includes message, "_us"
    end
  end

  def test_corrections
    limiter = memory.points("corrections", 5, :day)
    (NOT_WHOLE + [nil]).each do |bad|
      refused("actual", bad) { limiter.correct("p", bad) }
    end
    [nil, 5, :p, "", "p" * 581, BROKEN, "p\0"].each do |bad|
      refused("permit", bad) { limiter.correct(bad, 1) }
      refused("permit", bad) { limiter.release(bad) }
      refused("permit", bad) { limiter.renew(bad) }
    end
    assert_equal [:unknown, nil], [limiter.release("p"), limiter.renew("p")]
  end

  def test_wait_timeouts
    limiter = memory.bucket("waits", 5, :day)
    # Of ten years and a second, too.
    (NOT_SECONDS - [nil] + [Float::INFINITY, 315_360_001]).each do |bad|
      refused("wait_timeout", bad) { memory.bucket("b", 5, 60, wait_timeout: bad) }
      refused("wait_timeout", bad) { limiter.acquire(wait_timeout: bad) }
      refused("wait_timeout", bad) { limiter.within_limit(wait_timeout: bad) { flunk } }
    end
    assert_equal 5, limiter.peek(cost: 0).remaining
    assert_in_delta 5.0, limiter.wait_timeout
    spans = { 0.5r => 0.5, minute: 60, "PT0.1S" => 0.1, 0 => 0, 315_360_000 => 315_360_000 }
    spans.each do |given, seconds|
      assert_in_delta seconds, memory.bucket("b", 5, 60, wait_timeout: given).wait_timeout
    end
  end

  def test_nil_in_a_list_is_not_given
    name = "nil-in-a-list"
    listed = memory.limiter(name, [[:concurrency, 5, nil]], lock_timeout: 60)
    assert_in_delta 60.0, listed.try_acquire.lease
    named = memory.limiter(name, concurrency: [5, nil], lock_timeout: 60)
    assert_in_delta 60.0, named.try_acquire.lease
    assert_in_delta 30.0, memory.limiter(name, concurrency: [5, nil]).try_acquire.lease
  end

  def test_nil_is_the_default
    limiter = memory.concurrent("nil", 1, lock_timeout: nil, wait_timeout: nil, on_limit: nil,
                                          ttl: nil)
    assert_in_delta 5.0, limiter.wait_timeout
    permit = limiter.acquire(wait_timeout: nil, id: nil)
    assert_in_delta 30.0, permit.decision.lease
    assert_raises(Paddlegate::OverLimit) { limiter.within_limit(wait_timeout: 0) { flunk } }
    %i[enqueue claim].each do |verb|
      decision = limiter.public_send(verb, "a", claim_timeout: nil, wait_timeout: nil)
      assert_equal :queued, decision.status
    end
    # Not 0: it would have been refused.
    waiter = Thread.new { limiter.within_limit(wait_timeout: nil) { :ran } }
    eventually { limiter.stats.tickets == 2 }
    limiter.cancel("a")
    permit.release
    assert_equal :ran, waiter.value
  end

  def test_ids_and_tickets
    limiter = memory.concurrent("tickets", 5)
    [5, :id, "", "i" * 65, BROKEN, "i\0", [], true].each do |bad|
      refused("id", bad) { limiter.acquire(id: bad) }
      refused("id", bad) { limiter.within_limit(id: bad) { flunk } }
      refused("id", bad) { limiter.try_acquire(id: bad) }
      %i[enqueue claim cancel].each { |verb| refused("id", bad) { limiter.public_send(verb, bad) } }
    end
    (NOT_SECONDS - [nil] + [Float::INFINITY]).each do |bad|
      %i[enqueue claim].each do |verb|
        refused("claim_timeout", bad) { limiter.public_send(verb, "i", claim_timeout: bad) }
        refused("wait_timeout", bad) { limiter.public_send(verb, "i", wait_timeout: bad) }
      end
    end
    refused("claim_timeout", 0) { limiter.enqueue("i", claim_timeout: 0) }
    refused("claim_timeout", 1e9) { limiter.enqueue("i", claim_timeout: 1e9) }
    refused("wait_timeout", 1e9) { limiter.enqueue("i", wait_timeout: 1e9) }
    refused("wait_timeout", 1e9) { limiter.acquire(wait_timeout: 1e9) }
    refused("cost", -1) { limiter.enqueue("i", cost: -1) }
    assert_equal [0, 0, 0], limiter.stats.to_h.values_at(:granted, :leases, :tickets)
  end

  def test_clocks
    clock = Paddlegate::TestClock.new(5)
    (NOT_WHOLE + [nil, (1 << 52) + 1]).each do |bad|
      refused("now_us", bad) { Paddlegate::TestClock.new(bad) }
      refused("now_us", bad) { clock.now_us = bad }
    end
    NOT_SECONDS.each { |bad| refused("span", bad) { clock.advance(bad) } }
    refused("now_us", 1 << 52) { clock.advance(1 << 52) }
    assert_equal 5, clock.now_us
    [5, "now", true, false, Time.now, Paddlegate::TestClock].each do |bad|
      refused("clock", bad) { Paddlegate::Store.new("memory://", clock: bad) }
    end
  end

  def test_what_to_do_over_the_limit
    [5, "raises", :Ignore, true, [], "", BROKEN].each do |bad|
      refused("on_limit", bad) { memory.concurrent("c", 5, on_limit: bad) }
      refused("on_limit", bad) { memory.unlimited("u", on_limit: bad) }
    end
  end

  def test_unknown_keywords
    assert_raises(ArgumentError) { memory.concurrent("c", 5, look_timeout: 5) }
    assert_raises(ArgumentError) { memory.bucket("b", 5, 60, lock_timeout: 5) }
  end

  def test_policies
    [5, {}, "window", [5], [nil], [["window", 1, 1], 5]].each do |bad|
      refused("limits", bad) { memory.limiter("l", bad) }
    end
    refused("limits", []) { memory.limiter("l", []) }
    refused("limits", nil) { memory.limiter("l") }
    refused("limits", "nine") { memory.limiter("l", [[:window, 1, 1]] * 9) }
    refused("limits", "both") { memory.limiter("l", [[:window, 1, 1]], throttle: 1) }
    refused("limits", "twice") { memory.limiter("l", [[:window, 1, 1], [:window, 2, 2]]) }
    refused("limits", "surplus") { memory.limiter("l", window: [1, 1, 1]) }
    refused("limits", "surplus") { memory.limiter("l", paused: 1) }
    refused("limit", "missing") { memory.limiter("l", window: []) }
    refused("interval", "missing") { memory.limiter("l", window: [1]) }
    [nil, 5, "windows", :Window, []].each do |kind|
      refused("kind", kind) { memory.limiter("l", [[kind, 1, 1]]) }
    end
  end

  def test_labels
    window = Paddlegate::Limit.window(1, 1)
    [5, nil, [], "", "Window", "1st", "a b", "\u00e4", "a" * 33, "a\0", BROKEN].each do |bad|
      refused("label", bad) { memory.limiter("l", { bad => window }) }
    end
    refused("limits", "twice") { memory.limiter("l", { "a" => window, a: window }) }
    refused("kind", "rpm") { memory.limiter("l", rpm: 5) }
    refused("limit", "in a value") { memory.limiter("l", rpm: Paddlegate::Limit.window(-1, 1)) }
  end

  def test_factories_take_no_block
    FACTORIES.each do |kind, numbers|
      error = refused("block", kind) { memory.public_send(kind, "n", *numbers) { flunk } }
      assert_includes error.message, "within_limit"
      refused("block", kind) { Paddlegate.public_send(kind, "n", *numbers) { flunk } }
    end
    refused("block", "limiter") { memory.limiter("n", window: [1, 1]) { flunk } }
    refused("block", "none") { memory.unlimited.within_limit }
  end

  private

  def refused(argument, given, &block)
    error = assert_raises(Paddlegate::InvalidError, "#{argument}: #{given.inspect[0, 40]}", &block)
    assert_equal argument, error.argument, given.inspect[0, 40]
    assert_kind_of Paddlegate::Error, error
    assert_kind_of ArgumentError, error
    assert_predicate error.message, :valid_encoding?
    error
  end
end
