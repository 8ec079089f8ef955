# frozen_string_literal: true

require "helper"

# Limiters with a state for each key, and without statistics.
class KeyedTest < Minitest::Test
  include Helper

  BROKEN = "\xff".dup.force_encoding("UTF-8")
  NOT_A_KEY = ["", "k" * 513, "é" * 257, 5, 1.5, true, false, [], {}, "a\0b", BROKEN,
               Object.new].freeze

  # Every method that takes a key, with what it needs. Each call changes nothing of another key.
  VERBS = {
    try_acquire: [], allow?: [], peek: [], acquire: [], within_limit: [], reset: [],
    debit: [1], refund: [1], correct: ["p:1:1", 1], extend: ["p:1:1", 1], release: ["p:1:1"],
    renew: ["p:1:1"],
    admit: ["job"], admit_all: [%w[job]], enqueue: ["job"], claim: ["job"], cancel: ["job"],
    ready: [], inspection: [], queue: [],
    pause: [1], block: [1], resume: [], restore: [], runtime_state: [],
    apply_ojs_signal: [{ "type" => "rate_limited" }], apply_ojs_override: [{ "rate" => nil }],
    learn_from_response: [{ "Retry-After" => "30" }]
  }.freeze
  # Those that need keywords.
  WITH_KEYWORDS = { override: { limit: 1 }, report_budget: { remaining: 0 },
                    turns: { wait_timeout: 0 } }.freeze
  # What is not of a key.
  KEYLESS = %i[stats history limits with_key name group key handle wait_timeout on_limit keyed? hubs
               notification_node over_limit decision_of listen acquire_with_id
               call_ready].freeze

  def test_each_key_has_a_state_of_its_own
    on_clocked do |store|
      name = unique
      limiter = store.window(name, 2, :minute, keyed: true)
      assert limiter.try_acquire(cost: 2, key: "ann").allowed?
      refused = limiter.try_acquire(key: "ann")
      assert_equal [false, :window, 60.0], [refused.allowed?, refused.reason, refused.retry_after]
      assert_equal [0, 2, 2], left(limiter, "ann", "ben", "Ann")
      assert_equal 2, store.window(name, 2, :minute).peek.remaining
      at(60_000_000)
      assert limiter.allow?(key: "ann")
    end
  end

  def test_a_key_is_a_word
    limiter = memory.window(unique, 9, :minute, keyed: true)
    assert limiter.allow?(key: :ann)
    assert limiter.allow?(key: "ann".encode("UTF-16LE"))
    assert limiter.allow?(key: "ann".b)
    assert_equal 6, left(limiter, "ann").first
    # The bytes of the second in ISO-8859-1 are those of the first in UTF-8.
    %w[é Ã© ¥].each_with_index do |text, i|
      [text, text.encode("ISO-8859-1"), text.encode("UTF-16LE"), text.b].each do |given|
        2.times { assert limiter.allow?(key: given) }
      end
      assert_equal 1, left(limiter, text).first, i
    end
    key = +"ann"
    kept = limiter.with_key(key)
    key << "e"
    assert_equal "ann", kept.key
    assert_predicate kept.key, :frozen?
    refute_predicate key, :frozen?
  end

  def test_the_limiter_of_a_key
    limiter = memory.window("per-user", 2, :minute, keyed: true, wait_timeout: 0,
                                                    on_limit: :ignore, group: "acme")
    ann = limiter.with_key("ann")
    assert_equal [Paddlegate::Limiter, "per-user", "acme", 0.0, :ignore, "ann", true],
                 [ann.class, ann.name, ann.group, ann.wait_timeout, ann.on_limit, ann.key,
                  ann.keyed?]
    assert_equal [nil, true], [limiter.key, limiter.keyed?]
    plain = memory.window("plain", 2, 60)
    assert_equal [nil, false], [plain.key, plain.keyed?]
    assert_includes ann.inspect, 'name="per-user" key="ann"'
    refute_includes limiter.inspect, "key"
    2.times { assert_equal(:ran, ann.within_limit { :ran }) }
    assert_same(Paddlegate::SKIPPED, limiter.within_limit(key: "ann") { flunk })
    ben = ann.with_key("ben")
    assert_equal ["ben", "ann", 2, 0], [ben.key, ann.key, ben.peek.remaining, ann.peek.remaining]
    assert_equal 2, ann.peek(key: "ben").remaining
  end

  def test_every_method_takes_a_key
    verbs = VERBS.keys + WITH_KEYWORDS.keys + [:learn_from_http]
    methods = Paddlegate::Limiter.public_instance_methods - Object.public_instance_methods
    assert_empty methods - verbs - KEYLESS, "a new method takes a key, or is listed here"
    verbs.each do |verb|
      # `learn_from_http` passes its options on.
      given = Paddlegate::Limiter.instance_method(verb).parameters
      assert_includes given, verb == :learn_from_http ? %i[keyrest options] : %i[key key]
    end
  end

  def test_every_method_needs_the_key_and_no_other
    [memory, redis].each do |store|
      keyed = store.window(unique, 5, :minute, keyed: true)
      plain = store.window(unique, 5, :minute)
      each_verb do |verb, arguments, keywords|
        call = lambda do |limiter, **key|
          limiter.public_send(verb, *arguments, **keywords, **key) { nil }
        end
        refused("key") { call.call(keyed) }
        refused("key") { call.call(keyed, key: nil) }
        refused("key") { call.call(plain, key: "ann") }
        NOT_A_KEY.each { |bad| refused("key") { call.call(keyed, key: bad) } }
      end
      refused("key") { keyed.with_key("ann").stats }
      refused("key") { plain.with_key("ann") }
      NOT_A_KEY.each { |bad| refused("key") { keyed.with_key(bad) } }
      assert_equal [5, 5], [*left(keyed, "ann"), plain.peek.remaining]
      assert_equal [0, 0], keyed.stats.to_h.values_at(:granted, :refused)
      refute_predicate plain.runtime_state, :in_use
    end
  end

  def test_every_method_is_that_of_the_limiter_of_the_key
    on_clocked do |store|
      each_verb do |verb, arguments, keywords|
        seen = [true, false].map do |as_option|
          limiter = store.window(unique, 5, :minute, keyed: true)
          limiter.debit(2, key: "ann")
          called = as_option ? limiter : limiter.with_key("ann")
          key = as_option ? { key: "ann" } : {}
          called.public_send(verb, *arguments, **keywords, **key) { nil }
          assert_equal 5, left(limiter, "ben").first
          refute_predicate limiter.runtime_state(key: "ben"), :in_use
          [limiter.stats, limiter.runtime_state(key: "ann"), limiter.peek(key: "ann").to_h]
        end
        assert_equal(*seen, verb)
      end
    end
  end

  def test_commands_are_of_one_key
    on_clocked do |store|
      limiter = store.window(unique, 5, :minute, keyed: true)
      assert_in_delta 30, limiter.pause(30, key: "ann").paused_for
      assert_in_delta 90, limiter.pause(until: Time.at(0, NOW + 90_000_000, :microsecond),
                                        key: "ann").paused_for
      assert_equal 3, limiter.override(limit: 3, key: "ben").overrides[:window][:amount]
      whole = { window: Paddlegate::Limit.window(4, :hour) }
      assert_equal 4, limiter.override(limits: whole, key: "cid").overrides[:window][:amount]
      assert_equal [:paused, nil], %w[ann ben].map { limiter.peek(key: _1).reason }
      assert_equal [3, 4, 5], %w[ben cid dan].map { limiter.peek(key: _1).limit }
      assert_nil limiter.resume(key: "ann").paused_for
      assert_empty limiter.restore(:window, key: "ben").overrides
      assert_empty limiter.restore(key: "cid").overrides
      assert_equal %w[limit remaining],
                   limiter.report_budget(remaining: 1, limit: 2, key: "ann").learned.sort
      assert_equal [1, 5], left(limiter, "ann", "ben")
      response = Struct.new(:status, :headers, :body).new(429, { "Retry-After" => "30" }, "")
      assert_equal ["pause"], limiter.learn_from_http(response, key: "ben").learned
      assert limiter.apply_ojs_signal({ "type" => "rate_limited" }, key: "dan")
      assert_equal %i[paused paused], %w[ben dan].map { limiter.peek(key: _1).reason }
      assert limiter.allow?(key: "cid")
    end
  end

  def test_permits_keep_their_key
    on_clocked do |store|
      limiter = store.limiter(unique, concurrency: 1, points: [100, :minute], keyed: true)
      permit = limiter.acquire(estimate: 40, key: "ann")
      GC.start
      assert_equal %i[unknown unknown], [limiter.release(permit, key: "ben"),
                                         limiter.correct(permit, 0, key: "ben")]
      assert_nil limiter.renew(permit, key: "ben")
      at(1_000_000)
      assert_predicate permit, :renew
      assert_equal :settled, permit.correct(10)
      assert_equal :released, permit.release
      assert_equal :granted, limiter.try_acquire(estimate: 90, key: "ann").status
    end
  end

  def test_a_permit_outlives_the_block
    limiter = memory.points(unique, 100, :minute, keyed: true)
    permit = limiter.within_limit(estimate: 40, key: "ann") { |it| it }
    GC.start
    assert_equal :settled, permit.correct(10)
    report = permit.learn_from_response({ "Retry-After" => "30" }, status: 429)
    assert_equal ["pause"], report.learned
    assert_equal :paused, limiter.peek(estimate: 1, key: "ann").reason
    assert_nil limiter.peek(estimate: 1, key: "ben").reason
  end

  def test_leases_end_with_their_block
    on_clocked do |store|
      limiter = store.concurrent(unique, 1, keyed: true)
      limiter.within_limit(key: "ann") do
        assert_equal [0, 1], left(limiter, "ann", "ben")
        refused("allow") { limiter.allow?(key: "ben") }
      end
      assert_raises(KeyError) { limiter.within_limit(key: "ann") { raise KeyError } }
      assert_equal 1, left(limiter, "ann").first
      id = limiter.try_acquire(key: "ann", id: "mine").permit
      assert_in_delta 30, limiter.renew(id, key: "ann")
      assert_equal %i[unknown released], %w[ben ann].map { limiter.release(id, key: _1) }
    end
  end

  def test_a_turn_comes_to_a_key
    [memory, redis].each do |store|
      limiter = store.concurrent(unique, 1, lock_timeout: :hour, wait_timeout: :hour, keyed: true)
      held = limiter.acquire(key: "ann")
      waiter = Thread.new { limiter.within_limit(key: "ann") { |permit| permit.decision.status } }
      eventually { waiting(limiter, "ann") == 1 }
      limiter.enqueue("behind", key: "ann")
      assert_equal :granted, limiter.try_acquire(key: "ben").status
      GC.start
      held.release
      assert_equal :granted, waiter.value
      assert_equal :granted, limiter.claim("behind", key: "ann").status
      assert_equal :cancelled, limiter.cancel("behind", key: "ann")
      assert_equal 2, limiter.stats.waited
      # A wait has opened the connection for wake-ups, which belongs to no key.
      refused("key") { limiter.acquire }
    end
  end

  def test_an_interrupted_wait_leaves_no_ticket
    [memory, redis].each do |store|
      limiter = store.concurrent(unique, 1, lock_timeout: :hour, keyed: true)
      held = limiter.acquire(key: "ann")
      waiter = Thread.new { limiter.acquire(wait_timeout: :hour, key: "ann") }
      eventually { waiting(limiter, "ann") == 1 }
      waiter.kill.join
      eventually { waiting(limiter, "ann").zero? }
      held.release
      assert_equal 1, left(limiter, "ann").first
    end
  end

  def test_a_lease_without_a_reply_is_given_back
    server = TCPServer.new("127.0.0.1", 0)
    calls = Queue.new
    thread = Thread.new { forward(server, calls) }
    store = Paddlegate::Store.new("redis://127.0.0.1:#{server.addr[1]}", timeout: 1)
    limiter = store.concurrent(unique, 1, lock_timeout: :hour, keyed: true)
    direct = redis.concurrent(limiter.name, 1, lock_timeout: :hour, keyed: true)
    # The server knows the script, so that the call takes a lease.
    direct.release(direct.try_acquire(key: "ann").permit, key: "ann")
    assert_raises(Paddlegate::UnavailableError) { limiter.try_acquire(key: "ann") }
    GC.start
    eventually { direct.stats.granted == 2 }
    eventually { direct.peek(key: "ann").remaining == 1 }
  ensure
    thread&.kill
    server&.close
  end

  def test_jobs
    on_clocked do |store|
      limiter = store.concurrent(unique, 1, keyed: true)
      admission = limiter.admit("a", key: "ann")
      assert_equal :run, admission.action
      assert_equal %i[wait run], %w[ann ben].map { limiter.admit("b", key: _1).action }
      GC.start
      assert_equal :released, admission.permit.release
      run = limiter.admit_all(%w[b], key: "ann").first
      assert_equal %i[run wait],
                   limiter.admit_all(%w[b c], partial: true, key: "ann").map(&:action)
      assert_equal :refuse, limiter.admit("d", on_limit: :raise, cost: 1, key: "ann").action
      assert_equal :released, run.permit.release
      assert_equal :cancelled, limiter.cancel("c", key: "ann")
      assert_equal :unknown, limiter.cancel("c", key: "ann")
    end
  end

  def test_statistics_are_of_all_keys
    on_clocked do |store|
      limiter = store.window(unique, 2, :minute, keyed: true)
      %w[ann ann ann ben].each { |key| limiter.allow?(key: key) }
      statistics = limiter.stats
      assert_equal [3, 1, 3], statistics.to_h.values_at(:granted, :refused, :units)
      limiter.reset(key: "ann")
      assert_equal [2, 1], left(limiter, "ann", "ben")
      assert_equal statistics, limiter.stats
    end
  end

  def test_all_keys_are_one_entry_of_the_list
    [memory, redis].each do |store|
      keyed = store.window(unique, 2, :minute, keyed: true)
      plain = store.window(unique, 2, :minute)
      %w[ann ben].each { |key| keyed.allow?(key: key) }
      plain.allow?
      listed = store.limiters.select { |info| [keyed.name, plain.name].include?(info.name) }
      assert_equal({ keyed.name => true, plain.name => false },
                   listed.to_h { |info| [info.name, info.keyed] })
      assert_equal 2, listed.size
    end
  end

  def test_without_statistics
    [memory, redis].each do |store|
      [{}, { key: "ann" }].each do |key|
        limiter = store.window(unique, 1, :minute, statistics: false, keyed: !key.empty?)
        assert_equal [true, false], Array.new(2) { limiter.allow?(**key) }
        refused("statistics") { limiter.stats }
        assert_empty(store.limiters.select { |info| info.name == limiter.name })
      end
    end
  end

  def test_options_of_every_factory
    factories = { concurrent: [5], bucket: [5, 60], window: [5, 60], leaky: [5, 60],
                  points: [5, 60], throttle: [60], unlimited: [], paused: [],
                  limiter: [{ window: [5, 60] }] }
    factories.each do |kind, numbers|
      make = ->(**options) { memory.public_send(kind, unique, *numbers, **options) }
      assert_equal [true, false, false], [true, false, nil].map { make.call(keyed: _1).keyed? }
      refused("key") { make.call(keyed: true).peek(estimate: 1) }
      assert make.call(keyed: true).peek(estimate: 1, key: "ann").status
      refused("statistics") { make.call(statistics: false).stats }
      [true, nil].each { |on| assert_equal 0, make.call(statistics: on).stats.granted }
      [1, 0, "true", :yes, [], {}].each do |bad|
        refused("keyed") { make.call(keyed: bad) }
        refused("statistics") { make.call(statistics: bad) }
      end
    end
  end

  def test_keys_decide_together
    on_clocked do |store|
      org = store.window(unique("org"), 3, :minute, keyed: true)
      user = store.bucket(unique("user"), 2, :minute, keyed: true)
      of = ->(*keys) { store.together(*[org, user].zip(keys).map { |one, key| one.with_key(key) }) }
      assert of.call("acme", "ann").allow?(cost: 2)
      GC.start
      assert_equal user.name, of.call("acme", "ann").try_acquire.limiter
      assert_equal org.name, of.call("acme", "ben").try_acquire(cost: 2).limiter
      both = of.call("acme", "ben")
      GC.start
      assert(both.within_limit { true })
      assert_equal [0, 1], [*left(org, "acme"), *left(user, "ben")]
      assert_equal [false, nil], [both.keyed?, both.key]
      refused("key") { store.together(org, user.with_key("ann")) }
      refused("key") { both.with_key("ann") }
      refused("key") { both.allow?(key: "ann") }
    end
  end

  def test_documents
    limits = { window: { limit: 2, per: "minute" } }
    document = { limiters: { keyed: { **limits, keyed: true, on_limit: "ignore",
                                                wait_timeout: "0s" },
                             silent: { **limits, statistics: false } } }
    [memory, clocked(URL)].each do |store|
      loaded = store.limiters_from_document(document)
      assert_equal [true, false], loaded.values.map(&:keyed?)
      keyed = loaded["keyed"]
      keyed.reset(key: "ann")
      ran = Array.new(3) { keyed.within_limit(key: "ann") { :ran } }
      assert_equal [:ran, :ran, Paddlegate::SKIPPED], ran
      refused("statistics") { loaded["silent"].stats }
    end
  end

  def test_a_key_while_the_store_is_away
    store = Paddlegate::Store.new("redis://127.0.0.1:1")
    limiter = store.window("away", 1, 60, keyed: true, on_unavailable: :local)
    assert_equal [true, false, true], %w[ann ann ben].map { limiter.allow?(key: _1) }
    assert_predicate limiter.with_key("ann").try_acquire, :degraded?
    plain = store.window("away", 1, 60, keyed: true)
    assert_raises(Paddlegate::UnavailableError) { plain.allow?(key: "ann") }
  end

  # The handle of a key ends with the call, where nothing of the call remains.
  def test_handles_end_with_the_call
    limiter = memory.window(unique, 1_000, :minute, keyed: true)
    remain = %i[acquire within_limit admit admit_all]
    each_verb do |verb, arguments, keywords|
      GC.disable
      before = open_handles
      limiter.public_send(verb, *arguments, **keywords, key: "ann") { nil }
      assert_equal remain.include?(verb) ? 1 : 0, open_handles - before, verb
    ensure
      GC.enable
    end
    500.times { limiter.within_limit(key: "ben") { nil } }
    GC.start
    assert_operator open_handles, :<, 100, "the others are collected"
  end

  # A decision has its bytes; a yes or no has no object at all.
  def test_a_call_without_a_key_makes_nothing_more
    limiter = memory.window(unique, 100_000, :minute)
    { allow?: 0, try_acquire: 2, peek: 2 }.each do |verb, expected|
      before = 0
      made = Array.new(3) do
        before = GC.stat(:total_allocated_objects)
        limiter.public_send(verb)
        GC.stat(:total_allocated_objects) - before
      end
      assert_equal expected, made.min, verb
    end
  end

  private

  def each_verb(&block)
    VERBS.each { |verb, arguments| block.call(verb, arguments, {}) }
    WITH_KEYWORDS.each { |verb, keywords| block.call(verb, [], keywords) }
  end

  def open_handles
    ObjectSpace.each_object(Paddlegate::Native::LimiterHandle)
               .count { |handle| Paddlegate::Native.pg_limiter_is_keyed(handle) == 1 }
  end

  # How many wait in the queue of a key.
  def waiting(limiter, key)
    position = limiter.enqueue("probe", key: key).position
    limiter.cancel("probe", key: key)
    position
  end

  def left(limiter, *keys)
    keys.map { |key| limiter.peek(cost: 0, key: key).remaining }
  end

  def refused(argument, &block)
    error = assert_raises(Paddlegate::InvalidError, &block)
    assert_equal argument, error.argument, error.message
  end

  # Passes calls on to the server, and the replies of scripts to nobody.
  def forward(server, calls)
    loop do
      client = server.accept
      there = TCPSocket.new(URI(URL).host, URI(URL).port)
      Thread.new do
        until (bytes = client.readpartial(65_536)).empty?
          calls << bytes if bytes.include?("EVAL")
          there.write(bytes)
        end
      rescue IOError, SystemCallError
        nil
      end
      Thread.new do
        loop do
          bytes = there.readpartial(65_536)
          client.write(bytes) if calls.empty?
        end
      rescue IOError, SystemCallError
        nil
      end
    end
  end
end
