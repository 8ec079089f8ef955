# frozen_string_literal: true

require "helper"

# Requests before the gate of a document; what it chooses is tested in the core.
class GateTest < Minitest::Test
  include Helper

  def test_the_third_of_a_second_fails
    on_both({}, second: 2) do |gate, slot|
      at(400_000)
      2.times do
        verdict = gate.admit
        assert_equal [true, 0.0, slot, nil, 0.0, nil], verdict.to_a
        assert_predicate verdict, :allowed?
        assert_predicate verdict, :frozen?
      end
      refused = gate.admit
      assert_equal [false, 0.0, slot, :second, 0.6, :bucket], refused.to_a
      refute_predicate refused, :allowed?
      at(1_000_000)
      assert_predicate gate.admit, :allowed?
    end
  end

  def test_levels_are_decided_together
    on_both({}, second: 2, minute: 5) do |gate|
      minute = 60_000_000 - (NOW % 60_000_000)
      [0, 0, 1, 1, 2].each do |second|
        at(minute + (second * 1_000_000))
        assert_predicate gate.admit, :allowed?
      end
      refused = gate.admit
      assert_equal [:minute, 58.0], [refused.level, refused.retry_after]
      at(minute + 60_000_000)
      assert_predicate gate.admit, :allowed?
    end
  end

  def test_a_level_that_does_not_fail_delays
    on_both({}, second: 2, delay: 250, fail: false) do |gate|
      verdicts = Array.new(4) { gate.admit }
      assert_equal [0.0, 0.0, 0.25, 0.25], verdicts.map(&:delay)
      assert verdicts.all?(&:allowed?)
      assert_equal [:second, 0.0, nil], verdicts.last.to_a.values_at(3, 4, 5)
    end
  end

  def test_a_failure_is_delayed_too
    on_both({}, second: 2, delay: 250) do |gate|
      refused = Array.new(3) { gate.admit }.last
      assert_equal [false, 0.25], [refused.allowed?, refused.delay]
    end
  end

  def test_the_clock_of_the_store_decides
    on_both({ "ValidToUtc" => "2001-01-01T00:00:00Z" }, second: 0) do |gate, slot|
      assert_nil gate.admit.slot
      clock.now_us = 1
      assert_equal [slot, nil, :paused], gate.admit.to_a.values_at(2, 4, 5)
    end
  end

  def test_all_facts_must_match
    facts = { context: "käse/1", url: "https://example.com/a", log_on_code: "me",
              data_container_id: "box", ip: "10.1.2.3" }
    criteria = { "Context" => "käse*", "Url" => "https://example.com/*", "LogOnCode" => "me",
                 "DataContainerId" => "box", "IpAddressClientCidr" => "10.0.0.0/8" }
    on_both(criteria, hour: 100) do |gate, slot|
      assert_equal slot, gate.admit(**facts).slot
      facts.each_key do |fact|
        assert_nil gate.admit(**facts.except(fact)).slot
        assert_nil gate.admit(**facts, fact => fact == :ip ? "11.0.0.1" : "else").slot
      end
    end
  end

  def test_a_document_without_limits
    lists = { "RateLimitControlList" => nil, "RateLimitControlSlotList" => [] }
    ["{}", {}, lists].each do |document|
      assert_equal [true, 0.0, nil, nil, 0.0, nil],
                   redis.invantive_gate(document).admit(url: "x").to_a
    end
  end

  def test_two_processes_count_together
    document = control(unique, {}, hour: 3)
    gate = clocked(URL).invantive_gate(document)
    output = ruby(<<~RUBY, { "PADDLEGATE_URL" => URL }, JSON.generate(document))
      require "paddlegate"
      Paddlegate.configure do |config|
        config.timeout = 10
        config.clock = Paddlegate::TestClock.new(#{NOW})
      end
      gate = Paddlegate.invantive_gate(ARGV[0])
      2.times { gate.admit }
      print Process.wait2(fork { exit!(gate.admit.allowed? ? 0 : 1) })[1].exitstatus
    RUBY
    assert_equal "0", output
    refute_predicate gate.admit, :allowed?
  end

  def test_within_limit_delays_and_runs
    on_both({}, hour: 0, delay: 100, fail: false) do |gate, slot|
      value = nil
      took = elapsed { value = gate.within_limit(&:slot) }
      assert_equal slot, value
      assert_operator took, :>=, 0.1
    end
  end

  def test_a_delay_can_be_ended
    on_both({}, hour: 0, delay: 60_000, fail: false) do |gate|
      took = elapsed do
        assert_raises(Timeout::Error) { Timeout.timeout(0.1) { gate.within_limit { flunk } } }
      end
      assert_operator took, :<, 30
    end
  end

  def test_within_limit_raises_after_the_delay
    on_both({ "Context" => "full" }, hour: 0, delay: 100) do |gate, slot|
      error = nil
      took = elapsed do
        error = assert_raises(Paddlegate::OverLimit) do
          gate.within_limit(context: "full") { flunk }
        end
      end
      assert_operator took, :>=, 0.1
      assert_equal [slot, nil, :paused], [error.limiter, error.retry_after, error.reason]
      assert_equal :hour, error.decision.level
      assert_includes error.message, slot
      assert_equal(:value, gate.within_limit(context: "empty") { :value })
    end
  end

  def test_an_error_of_the_block_is_the_callers
    gate = memory.invantive_gate({})
    assert_raises(IOError) { gate.within_limit { raise IOError } }
  end

  def test_without_the_store
    gate = Paddlegate::Store.new("redis://127.0.0.1:1").invantive_gate(control("s", {}, second: 1))
    assert_raises(Paddlegate::UnavailableError) { gate.admit }
    assert_raises(Paddlegate::UnavailableError) { gate.within_limit { flunk } }
  end

  def test_a_server_that_does_not_answer_is_left
    silent(60) do |store, _|
      gate = store.invantive_gate(control("s", {}, second: 1))
      limiter = store.concurrent("s", 5)
      calls = [-> { gate.admit }, -> { limiter.admit_all(%w[a b]) },
               -> { limiter.apply_ojs_signal({ "type" => "rate_limited" }) },
               -> { limiter.apply_ojs_override({ "concurrency" => 1 }) }]
      calls.each do |call|
        took = elapsed { assert_raises(Timeout::Error) { Timeout.timeout(0.1) { call.call } } }
        assert_operator took, :<, 30
      end
    end
  end

  def test_wrong_facts
    gate = memory.invantive_gate(control("wrong", {}, hour: 1))
    %i[context url log_on_code data_container_id ip].each do |fact|
      [5, :word, [], {}, false, "\xff", "a\0"].each do |bad|
        refused(fact.name) { gate.admit(fact => bad) }
        refused(fact.name) { gate.within_limit(fact => bad) { flunk } }
      end
    end
    ["", "10.0.0.1:80", "somebody"].each { |bad| refused("ip") { gate.admit(ip: bad) } }
    refused("block") { gate.within_limit }
    assert_raises(ArgumentError) { gate.admit(uri: "x") }
    assert_predicate gate.admit, :allowed?, "nothing was counted"
  end

  def test_wrong_documents
    ["{", "[]", nil, 5, [], "\xff"].each do |bad|
      refused("document") do
        memory.invantive_gate(bad)
      end
    end
    wrong = control("wrong", { "SlotName" => "other" }, hour: 1)
    error = assert_raises(Paddlegate::InvalidError) { memory.invantive_gate(wrong) }
    assert_includes error.message, "$.RateLimitControlList[0].SlotName"
  end

  private

  # A control with one element, whose slot has one delay and one answer to overflow for all levels.
  def control(slot, criteria, delay: nil, fail: true, **levels)
    numbers = levels.each_with_object({}) do |(level, actions), all|
      word = level.name.capitalize
      all.update("ActionsPer#{word}" => actions, "DelayMsOnOverflow#{word}" => delay,
                 "FailOnOverflow#{word}" => fail)
    end
    { "RateLimitControlList" => [{ "SlotName" => slot, **criteria }],
      "RateLimitControlSlotList" => [{ "Name" => slot, **numbers }] }
  end

  def on_both(criteria, **levels)
    on_clocked do |store|
      slot = unique("slot")
      yield store.invantive_gate(control(slot, criteria, **levels)), slot
    end
  end

  def refused(argument, &block)
    assert_equal argument, assert_raises(Paddlegate::InvalidError, &block).argument
  end
end
