# frozen_string_literal: true

require "gate"
require "helper"
require "sidekiq_helper"

# What limiters answer while their store cannot decide.
class UnavailableTest < Minitest::Test
  include Helper

  # Where nobody listens.
  NOWHERE = "redis://127.0.0.1:1"

  DOCUMENT = { "limiters" => { "l" => { "window" => { "limit" => 1, "per" => 60 } } } }.freeze

  def test_raise_is_an_error_and_never_a_refusal
    [{}, { on_unavailable: nil, local_share_percent: nil },
     { on_unavailable: :raise }].each do |options|
      limiter = lost.window("w", 1, :minute, **options)
      10.times { assert_raises(Paddlegate::UnavailableError) { limiter.try_acquire } }
      assert_raises(Paddlegate::UnavailableError) { limiter.within_limit { flunk } }
      assert_raises(Paddlegate::UnavailableError) { limiter.admit("job") }
    end
  end

  # The server of the tests gets a user, whose name no other test has.
  def test_a_missing_right_is_told_once_on_standard_error
    user = unique("user")
    command("ACL", "SETUSER", user, "on", ">secret", "~pg2:*", "&*", "+@all", "-eval", "-evalsha")
    url = Helper::URL.sub("//", "//#{user}:secret@")
    told = ruby(<<~RUBY)
      require "paddlegate"
      store = Paddlegate::Store.new("#{url}", timeout: 10)
      limiter = store.bucket("api", 5, :minute, on_unavailable: :fail_open)
      7.times { limiter.try_acquire.degraded? or abort "not degraded" }
    RUBY
    assert_equal 1, told.lines.size, told
    assert_match(/\Apaddlegate: .*on_unavailable=fail_open .*limiter="api" .*NOPERM/, told)
  ensure
    command("ACL", "DELUSER", user)
  end

  def test_closed_refuses_at_once
    limiter = lost.window("w", 7, :minute, on_unavailable: :fail_closed)
    10.times do
      decision = limiter.try_acquire
      assert_equal [:refused, :unavailable, true, 7, 0, nil], of(decision)
      assert_operator decision.retry_after, :<=, 1
      assert decision.to_h.fetch(:degraded)
    end
    refute_predicate limiter, :allow?
    assert_predicate limiter.peek, :degraded?
    spent = elapsed do
      error = assert_raises(Paddlegate::OverLimit) do
        limiter.within_limit(wait_timeout: 30) { flunk }
      end
      assert_predicate error.decision, :degraded?
      assert_includes error.message, "reason=unavailable"
    end
    assert_operator spent, :<, 20
    assert_raises(Paddlegate::OverLimit) { limiter.acquire(id: "mine", wait_timeout: :minute) }
    assert_raises(Paddlegate::InvalidError) { limiter.try_acquire(estimate: -1) }
    assert_raises(Paddlegate::UnavailableError) { limiter.stats }
  end

  def test_closed_with_a_policy_that_skips
    limiter = lost.window("w", 7, :minute, on_unavailable: "fail_closed", on_limit: :ignore)
    assert_same(Paddlegate::SKIPPED, limiter.within_limit { flunk })
  end

  def test_open_runs_and_counts_nothing
    slots = lost.concurrent("c", 1, on_unavailable: :fail_open)
    10.times do
      result = slots.within_limit do |permit|
        assert_predicate permit, :degraded?
        assert_equal [nil, nil, false, false],
                     [permit.fencing_token, permit.expires_in, permit.lost?,
                      permit.renew]
        assert_equal :unknown, permit.release
        :ran
      end
      assert_equal :ran, result
      assert_equal :unknown, slots.release(slots.try_acquire.permit)
    end
    points = lost.points("p", 1000, 20, on_unavailable: :fail_open)
    settlement = points.within_limit(estimate: 400) do |permit|
      [permit.points_used(100), permit.learn_from_response({}, "", status: 200).ignored]
    end
    ignored = ["not a rate limit answer", "the limiter has no limit that could learn"]
    assert_equal [:unknown, ignored], settlement
  end

  def test_local_keeps_its_share_of_the_limit
    slots = lost.concurrent("c", 5, on_unavailable: :local, local_share_percent: 50)
    permits = Array.new(2) { slots.acquire }
    assert_equal [true, 2], [permits.all?(&:degraded?), permits.first.decision.limit]
    spent = elapsed do
      error = assert_raises(Paddlegate::OverLimit) do
        slots.within_limit(wait_timeout: 25) { flunk }
      end
      assert_equal [true, :concurrency], [error.decision.degraded?, error.decision.reason]
    end
    assert_operator spent, :<, 20, "nobody waits"
    assert_equal true, permits.first.renew
    assert_equal :released, permits.first.release
    3.times { assert_equal(:ran, slots.within_limit { :ran }) }

    points = lost.points("p", 1000, 20, on_unavailable: :local)
    points.within_limit(estimate: 400) { |permit| assert_equal :settled, permit.points_used(100) }
    assert_operator points.peek(cost: 0).remaining, :>=, 900
    refute lost.window("w", 1, :minute, on_unavailable: :local, local_share_percent: 50).allow?,
           "half is none"
  end

  def test_every_factory_and_every_loaded_limiter
    open = { on_unavailable: :fail_open }
    made = [lost.concurrent("l", 5, **open), lost.bucket("l", 5, 60, **open),
            lost.window("l", 5, 60, **open), lost.leaky("l", 5, 60, **open),
            lost.throttle("l", 60, **open), lost.limiter("l", window: [5, 60], **open),
            lost.points("l", 5, 60, **open)]
    made << lost.limiters_from_document(DOCUMENT, **open).fetch("l")
    Tempfile.create("limits") do |file|
      file.write(JSON.generate(DOCUMENT))
      file.close
      made << lost.load(file.path, **open).fetch("l")
    end
    made.each do |limiter|
      decision = limiter.try_acquire(estimate: 1)
      assert_equal [true, true], [decision.allowed?, decision.degraded?]
    end
    refute_predicate lost.paused("l", **open), :allow?
    refute_predicate lost.unlimited("l", **open).try_acquire, :degraded?
  end

  def test_wrong_options
    { on_unavailable: [5, "", "Open", :shut, true, "open\0", [], "\xff"],
      local_share_percent: [0, 101, -1, 1.5, "5", 1 << 60] }.each do |argument, values|
      values.each do |bad|
        options = { on_unavailable: :local, argument => bad }
        refused(argument) { memory.window("w", 5, 60, **options) }
        refused(argument) { memory.limiters_from_document(DOCUMENT, **options) }
        refused(argument) { Sidekiq::Limiter.window("w", 5, 60, **options) }
      end
    end
    [{ local_share_percent: 5 },
     { local_share_percent: 5, on_unavailable: :fail_open }].each do |options|
      refused(:local_share_percent) { memory.window("w", 5, 60, **options) }
    end
  end

  def test_in_memory_it_makes_no_difference
    limiter = memory.window(unique, 2, 60, on_unavailable: :fail_open)
    decisions = Array.new(3) { limiter.try_acquire }
    assert_equal %i[granted granted refused], decisions.map(&:status)
    assert_equal [nil, nil, :window], decisions.map(&:reason)
    refute decisions.any?(&:degraded?)
  end

  def test_a_store_that_fails_is_asked_once_a_second_and_used_when_it_is_back
    through_gate(on_unavailable: :fail_open) do |gate, limiter|
      refute_predicate limiter.try_acquire, :degraded?
      gate.shut = true
      5.times { assert_predicate limiter.try_acquire, :degraded? }
      asked = gate.asked
      seconds = elapsed do
        100.times { assert_predicate limiter.try_acquire, :degraded? }
        100.times { limiter.within_limit { |permit| assert_predicate permit, :degraded? } }
      end
      assert_operator gate.asked - asked, :<=, 2 + (2 * seconds.to_i)
      gate.shut = false
      eventually { !limiter.try_acquire.degraded? }
      20.times { refute_predicate limiter.try_acquire, :degraded? }
    end
  end

  def test_a_server_that_does_not_answer
    silent(0.1) do |store|
      limiter = store.concurrent("c", 1, on_unavailable: :fail_open)
      5.times { assert_predicate limiter.try_acquire, :degraded? }
      spent = elapsed { 100.times { limiter.within_limit { |permit| assert permit.degraded? } } }
      # Now and then it is asked again, but not by each of them.
      assert_operator spent, :<, 5
    end
  end

  def test_a_server_that_dies_while_a_block_runs
    %i[fail_closed fail_open local].each do |mode|
      through_gate(on_unavailable: mode) do |gate, limiter|
        result = limiter.within_limit do |permit|
          refute_predicate permit, :degraded?
          gate.shut = true
          :ran
        end
        assert_equal :ran, result
      end
    end
  end

  def test_what_was_granted_without_the_store_ends_without_it
    %i[fail_open local].each do |mode|
      through_gate(on_unavailable: mode) do |gate, limiter|
        limiter.peek
        gate.shut = true
        settlement = { fail_open: :unknown, local: :released }.fetch(mode)
        before = limiter.acquire
        gate.shut = false
        assert_equal settlement, before.release
        gate.shut = true
        limiter.within_limit { |permit| assert_equal settlement, permit.release }
      end
    end
  end

  def test_a_wait_ends_when_the_server_dies
    through_gate do |gate, limiter, store|
      first = limiter.acquire
      waiters = %i[fail_closed fail_open local].map do |mode|
        waited_for = store.concurrent(limiter.name, 1, on_unavailable: mode)
        # The answer to the wait may be lost with the server; this one says what is left, too.
        waited_for.peek
        Thread.new { outcome(waited_for) }
      end
      eventually { limiter.stats.tickets == 3 }
      gate.shut = true
      # Sooner than they would look by themselves.
      hub = limiter.hubs.find_or_create(limiter)
      eventually do
        hub.send(:wake_all)
        waiters.none?(&:alive?)
      end
      # The lease that is held counts in this process, too.
      assert_equal %i[unavailable ran concurrency], waiters.map(&:value)
      # Nobody else's lease has ended by it.
      assert_equal :released, redis.concurrent(limiter.name, 1).release(first.id)
    end
  end

  def test_nobody_listens_for_a_refusal_without_the_store
    through_gate(on_unavailable: :fail_closed) do |gate, limiter|
      limiter.try_acquire
      gate.shut = true
      5.times { limiter.try_acquire }
      asked = gate.asked
      threads = Thread.list.size
      seconds = elapsed do
        20.times { assert_raises(Paddlegate::OverLimit) { limiter.within_limit { flunk } } }
      end
      assert_operator gate.asked - asked, :<=, 2 + (2 * seconds.to_i)
      # Threads of tests before may end meanwhile.
      assert_operator Thread.list.size, :<=, threads
    end
  end

  private

  def lost
    @lost ||= Paddlegate::Store.new(NOWHERE)
  end

  # A limiter of concurrency whose way to Redis can be shut.
  def through_gate(**options)
    gate = Gate.new(URL)
    store = Paddlegate::Store.new(gate.url, timeout: 10)
    yield gate, store.concurrent(unique, 1, **options), store
  ensure
    gate.close
  end

  # What becomes of a block that waits.
  def outcome(limiter)
    limiter.within_limit(wait_timeout: 20) { :ran }
  rescue Paddlegate::OverLimit => e
    e.decision.reason
  end

  def of(decision)
    [decision.status, decision.reason, decision.degraded?, decision.limit, decision.remaining,
     decision.permit]
  end

  def refused(argument, &block)
    error = assert_raises(Paddlegate::InvalidError, &block)
    assert_equal argument.name, error.argument
  end
end

# The same options in place of Sidekiq's limiters.
class SidekiqUnavailableTest < Minitest::Test
  include SidekiqHelper

  FACTORIES = { concurrent: [5], bucket: [5, :day], window: [5, 60], leaky: [5, 60] }.freeze

  def setup
    super
    Sidekiq::Limiter.configure { |config| config.redis = { url: UnavailableTest::NOWHERE } }
  end

  def test_every_factory
    FACTORIES.each do |kind, numbers|
      make = ->(**options) { Sidekiq::Limiter.public_send(kind, "lost", *numbers, **options) }
      assert_raises(Paddlegate::UnavailableError) { make.call.within_limit { flunk } }
      error = over_limit { make.call(on_unavailable: :fail_closed).within_limit { flunk } }
      assert_equal :unavailable, error.decision.reason
      assert_equal(:ran, make.call(on_unavailable: :fail_open).within_limit { :ran })
      local = make.call(on_unavailable: :local, local_share_percent: 20, wait_timeout: 0)
      local.within_limit { over_limit { local.within_limit { flunk } } }
      assert_equal [:local, 20], local.options.values_at(:on_unavailable, :local_share_percent)
    end
    points = Sidekiq::Limiter.points("lost", 100, 60, on_unavailable: :fail_open)
    assert_equal(:unknown, points.within_limit(estimate: 50) { |handle| handle.points_used(2.5) })
  end

  def test_the_default_raises
    assert_equal [:raise, nil],
                 Sidekiq::Limiter.window("w", 5, 1).options.values_at(:on_unavailable,
                                                                      :local_share_percent)
  end

  def test_a_job_that_was_refused_comes_again
    limiter = Sidekiq::Limiter.window("lost", 5, 1, on_unavailable: :fail_closed)
    error = over_limit { limiter.within_limit { flunk } }
    delay = Sidekiq::Limiter.next_reschedule(error.limiter, { "overrated" => 0 }, error)
    assert_includes 300..900, delay
  end
end
