# frozen_string_literal: true

require "helper"

# What the vectors of header fields and keys of callers cannot say.
class WebTest < Minitest::Test
  RPM = { label: :rpm, kind: :window, amount: 5, interval: 60.0, offset: 0.0 }.freeze

  def setup
    clock = Paddlegate::TestClock.new(1_000_000_000)
    @store = Paddlegate::Store.new("memory://", clock: clock)
  end

  def test_a_limiter_shows_its_policy
    slots = Paddlegate::Limit.concurrency(3)
    limiter = @store.limiter("api", { rpm: Paddlegate::Limit.window(5, 60), slots: slots })
    concurrency = { label: :slots, kind: :concurrency, amount: 3, interval: 30.0, offset: 0.0 }
    assert_equal [RPM, concurrency], limiter.limits
    assert_empty @store.unlimited.limits
    keyed = @store.limiter("keyed", { rpm: Paddlegate::Limit.window(5, 60) }, keyed: true)
    assert_equal [RPM], keyed.with_key("a").limits
    assert_equal [RPM, *limiter.limits], @store.together(keyed.with_key("a"), limiter).limits
  end

  def test_fields_are_those_of_the_newest_draft_by_default
    limiter = @store.window("api", 2, 60)
    decision = limiter.acquire(cost: 2, limits: true).decision
    assert_equal decision.headers, decision.headers("draft")
    assert_equal %("window";q=2;w=60), decision.headers["RateLimit-Policy"]
    error = assert_raises(Paddlegate::OverLimit) do
      limiter.within_limit(wait_timeout: 0, limits: true) { flunk }
    end
    assert_equal "60", error.decision.headers(:x)["Retry-After"]
  end

  def test_limiters_that_decide_together_have_their_names
    limiters = %w[one two].map { |name| @store.window(name, 2, 60) }
    decision = @store.together(*limiters).try_acquire(limits: true)
    assert_equal %("one";q=2;w=60, "two";q=2;w=60), decision.headers["RateLimit-Policy"]
  end

  def test_bytes_in_any_encoding_give_a_key
    assert_equal Paddlegate.plain_key(""), Paddlegate.caller_key(nil)
    latin = "caf\xE9".dup.force_encoding("ISO-8859-1")
    assert_equal Paddlegate.plain_key("caf\xE9".b), Paddlegate.plain_key(latin)
    assert_equal "é", Paddlegate.plain_key("é".b)
    assert_match(/\Asha256:/, Paddlegate.caller_key("a\0b"))
    assert_equal Encoding::UTF_8, Paddlegate.plain_key("é".b).encoding
  end

  def test_other_types_are_refused_by_name
    decision = @store.window("api", 2, 60).peek
    {
      "fields" => [-> { decision.headers(5) }, -> { decision.headers(:y) }],
      "address" => [-> { Paddlegate.caller_key(5) }],
      "forwarded_for" => [-> { Paddlegate.caller_key("", forwarded_for: 5) }],
      "trusted_proxies" => [-> { Paddlegate.caller_key("", trusted_proxies: "10.0.0.1") },
                            -> { Paddlegate.caller_key("", trusted_proxies: [5]) }],
      "ipv6_prefix" => [-> { Paddlegate.caller_key("", ipv6_prefix: "64") },
                        -> { Paddlegate.caller_key("", ipv6_prefix: 0) }],
      "text" => [-> { Paddlegate.plain_key(nil) }]
    }.each do |argument, calls|
      calls.each do |call|
        error = assert_raises(Paddlegate::InvalidError, &call)
        assert_equal argument, error.argument
      end
    end
  end
end
