# frozen_string_literal: true

require "helper"
require "net/http"

# What upstream APIs say of their budgets, in the forms that Ruby's clients have.
class UpstreamTest < Minitest::Test
  include Helper

  COST = { "requestedQueryCost" => 252, "actualQueryCost" => 12,
           "throttleStatus" => { "maximumAvailable" => 1000.0, "currentlyAvailable" => 988,
                                 "restoreRate" => 50.0 } }.freeze
  SHOPIFY = { "data" => {}, "extensions" => { "cost" => COST } }.freeze

  def test_a_sync_lowers_what_is_left
    both do |store|
      shop = store.points(unique, 1000, 3600)
      shop.acquire(estimate: 300).points_used(300)
      assert_equal ["remaining"], shop.report_budget(remaining: 300).learned
      assert_in_delta 300, shop.peek(cost: 0).remaining, 30
    end
  end

  def test_new_numbers_rule_in_all_processes
    name = unique
    assert_nil redis.points(name, 1000, 20).report_budget(limit: 2000, restore_rate: 100).settlement
    other = Paddlegate::Store.new(URL, timeout: 10).points(name, 1000, 20)
    assert_equal 2000, other.peek(cost: 0).limit
    learned = { label: :points, kind: :points, amount: 2000, interval: 20.0, offset: 0.0 }
    assert_equal({ points: learned }, other.runtime_state.learned)
    assert_nil other.report_budget(limit: 4000, interval: :minute).settlement
    assert_in_delta 60.0, other.runtime_state.learned[:points][:interval]
    assert_nil other.report_budget(restore_rate: 1r).settlement
    assert_in_delta 1000.0, other.runtime_state.learned[:points][:interval]
  end

  def test_a_window_ends_when_upstream_says
    both do |store|
      hub = store.bucket(unique, 5000, :hour)
      assert_nil hub.report_budget(remaining: 0, reset_in: 1800).settlement
      assert_in_delta 1800, hub.try_acquire.retry_after, 5
      assert_nil hub.report_budget(remaining: 0, reset_at: Time.now + 600).settlement
      assert_in_delta 600, hub.try_acquire.retry_after, 5
    end
  end

  def test_a_later_report_goes_before
    shop = memory.points(unique, 1000, :day)
    early, late = Array.new(2) { shop.acquire(estimate: 10) }
    assert_nil shop.report_budget(remaining: 700, permit: late).settlement
    assert_equal ["a later answer was learned before"],
                 shop.report_budget(remaining: 100, permit: early.id).ignored
  end

  def test_an_answer_settles_its_permit
    [JSON.generate(SHOPIFY), JSON.generate(SHOPIFY).b, SHOPIFY].each do |body|
      both do |store|
        shop = store.points(unique, 1000, 200)
        permit = shop.acquire(estimate: 252)
        assert_equal :settled, permit.learn_from_response({}, body, provider: :shopify).settlement
        assert_equal :already, permit.points_used(12)
        assert_equal 12, shop.stats.units
        # Upstream refills sooner, and goes on meanwhile.
        assert_includes 988..1000, shop.peek(cost: 0).remaining
        assert_in_delta 20.0, shop.runtime_state.learned[:points][:interval]
      end
    end
  end

  def test_a_permit_is_settled_from_elsewhere
    shop = redis.points(unique, 1000, 20)
    permit = shop.acquire(estimate: 252)
    other = Paddlegate::Store.new(URL, timeout: 10).points(shop.name, 1000, 20)
    assert_equal :settled, other.learn_from_response({}, SHOPIFY, permit: permit.id).settlement
    assert_equal :already, shop.learn_from_response({}, SHOPIFY, permit: permit).settlement
    # Without a permit the cost settles nothing.
    assert_nil shop.learn_from_response({}, SHOPIFY).settlement
    assert_equal 12, shop.stats.units
  end

  def test_a_lease_without_an_estimate_has_nothing_to_settle
    api = memory.limiter(unique, concurrency: 5, bucket: [5000, :hour])
    permit = api.acquire
    assert_nil permit.learn_from_response({}).settlement
    assert_equal :unknown,
                 permit.learn_from_response({ "Retry-After" => 30 }, SHOPIFY,
                                            status: 429).settlement
    assert_in_delta 30, api.runtime_state.paused_for, 5
    assert_nil memory.bucket(unique, 5, :hour).acquire.learn_from_response({}).settlement
  end

  def test_a_refusal_pauses_all_processes
    name = unique
    api = redis.window(name, 100, :minute)
    assert_nil api.learn_from_response({ "Retry-After" => 30 }, "slow down", status: 429).settlement
    output = ruby(<<~RUBY, "PADDLEGATE_URL" => URL)
      require "paddlegate"
      Paddlegate.configure { |c| c.timeout = 10 }
      decision = Paddlegate.window(#{name.inspect}, 100, :minute).try_acquire
      print decision.reason, " ", decision.retry_after.ceil
    RUBY
    assert_match(/\Apaused (2\d|30)\z/, output)
    api.resume
    api.learn_from_response([%w[retry-after 999999]], status: 429)
    assert_in_delta 3600, api.runtime_state.paused_for, 5
    api.resume
    api.learn_from_response([%w[retry-after 999999]], status: 429, max_pause: :minute)
    assert_in_delta 60, api.runtime_state.paused_for, 5
  end

  def test_the_usage_of_a_stream_settles_its_permit
    api = memory.points(unique, 1000, :minute)
    usage = Paddlegate::StreamUsage.new
    ["data: {\"usage\":{\"total_tokens\":1", "2}}\n\n"].each { |chunk| usage.feed(chunk) }
    [nil, 5, :text].each { |bad| refused("chunk", bad) { usage.feed(bad) } }
    assert_equal ['{"usage":{"total_tokens":12}}', []], [usage.body, usage.ignored]
    permit = api.acquire(estimate: 100)
    assert_equal :settled, permit.learn_from_response({}, usage, status: 200).settlement
    assert_equal 988, api.peek(cost: 0).remaining
  end

  def test_forms_of_headers
    response = Net::HTTPTooManyRequests.new("1.1", "429", "Too Many Requests")
    response["Retry-After"] = "30"
    listed = Class.new { def to_h = { "Retry-After" => "30" } }.new
    [
      { "Retry-After" => "30" }, { "retry-after": 30 }, { "RETRY-AFTER" => ["30"] },
      [%w[Retry-After 30]], [[:"retry-after", [30]], ["x", nil], ["y\0", "z"]], response, listed,
      { "Retry-After" => "30", "x-bytes" => "\xff", nil => 1, "empty" => [], 5 => [nil] }
    ].each do |headers|
      api = memory.window(unique, 100, :minute)
      assert_nil api.learn_from_response(headers, status: 429).settlement
      assert_in_delta 30, api.runtime_state.paused_for, 5, headers.inspect
    end
  end

  # As Faraday has it.
  Response = Struct.new(:status, :headers, :body)

  def test_an_answer_of_an_http_client_is_read_whole
    faraday = Response.new(429, { "Retry-After" => "30" }, { "error" => "slow down" })
    net = Net::HTTPTooManyRequests.new("1.1", "429", "Too Many Requests")
    net["Retry-After"] = "30"
    net.instance_variable_set(:@read, true)
    [faraday, net].each do |response|
      api = memory.window(unique, 100, :minute)
      assert_equal ["pause"], api.learn_from_http(response).learned
      assert_in_delta 30, api.runtime_state.paused_for, 5
    end
    shop = memory.points(unique, 1000, 3600)
    permit = shop.acquire(estimate: 252)
    assert_equal :settled,
                 permit.learn_from_http(Response.new(200, {}, JSON.generate(SHOPIFY))).settlement
    refused("response", "object") { shop.learn_from_http(Object.new) }
  end

  def test_an_answer_says_what_was_learned_and_what_was_not
    both do |store|
      api = store.bucket(unique, 100, 60)
      headers = { "RateLimit" => '"s";r=5;t=30', "RateLimit-Policy" => '"s";q=1000000000000;w=60' }
      assert_equal ["limit: 1000000000000 is above max_learned, 1000 applies"],
                   api.learn_from_response(headers, status: 200).ignored
      told = api.learn_from_response(headers, status: 200, max_learned: 10**12)
      assert_equal %w[limit remaining], told.learned
      assert_equal ["pause: status is missing"],
                   api.learn_from_response({ "Retry-After" => 30 }).ignored
      discord = { "X-RateLimit-Bucket" => "abcd1234", "X-RateLimit-Global" => "true" }
      told = api.learn_from_response(discord, { "retry_after" => 2.5, "global" => true },
                                     status: 429)
      assert_equal [:global, "abcd1234", 2.5], [told.scope, told.bucket, told.pause]
    end
  end

  def test_what_is_not_understood_says_nothing
    api = memory.window(unique, 100, :minute)
    [{}, [], { "X-RateLimit-Remaining" => "many" }].each do |headers|
      ["", nil, "<html>", "\xff\0", "[1", [], {}].each do |body|
        assert_nil api.learn_from_response(headers, body).settlement
      end
    end
    assert_equal [0, 100], [api.runtime_state.version, api.peek(cost: 0).remaining]
  end

  def test_wrong_arguments_change_nothing
    api = memory.points(unique, 100, :minute)
    [nil, 5, "Retry-After: 5", [1], [[1]], [[1, 2, 3]], Object.new].each do |bad|
      refused("headers", bad) { api.learn_from_response(bad) }
    end
    [5, :body, Object.new, { "a" => Float::NAN }].each do |bad|
      refused("body", bad) { api.learn_from_response({}, bad) }
    end
    { status: [-1, "200", 70_000, 1 << 40], provider: [nil, 5, "nobody", "a\0"],
      max_pause: [-1, "never"], default_pause: [-1, "never"], max_learned: [-1, 1.5],
      permit: [5, "\0"] }.each do |argument, values|
      values.each do |bad|
        refused(argument.to_s, bad) do
          api.learn_from_response({ "Retry-After" => 5 }, **{ argument => bad })
        end
      end
    end
    { remaining: [-1, 1.5, "5", 1 << 52], restore_rate: [-1, 0, "5", Float::NAN],
      interval: [-1, "never"], label: [-1, "", "other"], reset_in: [-1, "never"],
      reset_at: [-1, "never"], permit: [5] }.each do |argument, values|
      values.each { |bad| refused(argument.to_s, bad) { api.report_budget(**{ argument => bad }) } }
    end
    refused("restore_rate", "both") { api.report_budget(interval: 5, restore_rate: 1) }
    refused("reset_at", "both") { api.report_budget(reset_in: 5, reset_at: Time.now) }
    assert_equal [0, 100], [api.runtime_state.version, api.peek(cost: 0).remaining]
  end

  def test_the_cost_of_a_query
    query = "query ($n: Int = 10) { products(first: $n) { edges { node { id title } } } }"
    assert_equal 6, Paddlegate.graphql_cost(query)
    assert_equal 9, Paddlegate.graphql_cost(query, { "n" => 50 })
    assert_equal 9, Paddlegate.graphql_cost(query, '{"n": 50}', rules: "shopify")
    assert_equal 1, Paddlegate.graphql_cost(query, { n: 100 }, rules: :github)
    two = "query A { a } mutation B { b { id } }"
    assert_equal 10, Paddlegate.graphql_cost(two, operation: "B")
    refused("operation", "C") { Paddlegate.graphql_cost(two, operation: "C") }
    [two, "{", "", nil, 5, "\xff"].each do |bad|
      refused("query", bad) { Paddlegate.graphql_cost(bad) }
    end
    [5, "[", [], { "n" => Float::NAN }].each do |bad|
      refused("variables", bad) { Paddlegate.graphql_cost(query, bad) }
    end
    [5, "nobody", :gitlab].each do |bad|
      refused("rules", bad) { Paddlegate.graphql_cost(query, rules: bad) }
    end
  end

  private

  def both(&block)
    [memory, redis].each(&block)
  end

  def refused(argument, given, &block)
    error = assert_raises(Paddlegate::InvalidError, "#{argument}: #{given.inspect}", &block)
    assert_equal argument, error.argument, given.inspect
  end
end
