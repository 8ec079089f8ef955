# frozen_string_literal: true

require "helper"
require "rack"

require "paddlegate/rack"
require "paddlegate/testing/adapter_kit"

# Requests to a Rack application, in Puma.
class RackTest < Minitest::Test
  include Helper
  include Paddlegate::Testing::AdapterKit

  HOST = File.expand_path("rack_host.rb", __dir__)
end

# The options that are procs of the request, and what is between middlewares.
class RackOptionsTest < Minitest::Test
  include Helper

  APP = ->(_env) { [200, { "content-type" => "text/plain" }, ["ok"]] }

  def test_a_request_chooses_its_limiter_or_is_not_limited
    free, paid = Array.new(2) { |number| memory.window(unique, number + 1, :hour) }
    plans = { "free" => free, "paid" => paid }
    limiter = ->(request) { plans[request.params["plan"]] }
    app = limited(limiter, skip: ->(request) { request.path == "/up" }, cost: ->(_) { 1 })
    statuses = lambda do |*paths|
      paths.map { |path| get(app, path).status }
    end
    assert_equal [200, 429], statuses["/?plan=free", "/?plan=free"]
    assert_equal [200, 200, 429], statuses["/?plan=paid", "/?plan=paid", "/?plan=paid"]
    assert_equal [200, 200], statuses["/?plan=none", "/up?plan=free"]
  end

  def test_an_answer_of_its_own
    limiter = memory.window(unique, 1, :hour)
    answer = lambda do |request, decision|
      [420, { "content-type" => "text/plain" }, ["#{request.path} #{decision.reason}"]]
    end
    app = limited(limiter, over_limit: answer)
    get(app, "/a")
    refused = get(app, "/a")
    assert_equal [420, "/a window"], [refused.status, refused.body]
    assert_includes 1..3600, refused["retry-after"].to_i
  end

  def test_the_application_has_the_permit
    limiter = memory.points(unique, 100, :hour)
    app = limited(limiter, cost: 10, refund_if: ->(_) { false }) do |env|
      env.fetch("paddlegate.permit").correct(3)
      APP.call(env)
    end
    get(app)
    assert_equal 3, limiter.stats.units
  end

  def test_the_fields_are_those_of_the_inner_limit
    inner = memory.window(unique, 3, :hour)
    app = limited(memory.window(unique, 9, :hour), &limited(inner).method(:call))
    assert_match(/q=3;/, get(app)["ratelimit-policy"])
    inner.try_acquire(cost: 2)
    refused = get(app)
    assert_equal 429, refused.status
    assert_match(/q=3;/, refused["ratelimit-policy"])
  end

  def test_a_lease_ends_once_whatever_ends_it
    limiter = memory.concurrent(unique, 2)
    finished = []
    app = Paddlegate::Rack.new(APP, limiter)
    _, _, body = app.call(environment("rack.response_finished" => finished))
    assert_equal 1, limiter.stats.leases
    finished.first.call({}, 200, {}, nil)
    assert_equal 0, limiter.stats.leases
    body.close
    assert_equal [1, 0], limiter.stats.to_h.values_at(:granted, :leases)
  end

  def test_a_body_keeps_its_methods
    body = Struct.new(:to_path).new("/file")
    app = Paddlegate::Rack.new(->(_) { [200, {}, body] }, memory.concurrent(unique, 1))
    assert_equal "/file", app.call(environment).last.to_path
  end

  def test_an_interrupted_application_holds_nothing
    limiter = memory.concurrent(unique, 1)
    app = Paddlegate::Rack.new(->(_) { throw :out }, limiter)
    catch(:out) { app.call(environment) }
    assert_equal 0, limiter.stats.leases
  end

  def test_an_error_of_the_program_is_one
    keyed = memory.window(unique, 1, :hour, keyed: true)
    {
      "wait" => -> { Paddlegate::Rack.new(APP, keyed, wait: -1) },
      "fields" => -> { get(limited(memory.window(unique, 1, :hour), fields: :z)) },
      "cost" => -> { get(limited(keyed, cost: 2)) },
      "key" => -> { get(limited(memory.window(unique, 1, :hour), key: ->(_) { "a" })) }
    }.each do |argument, call|
      error = assert_raises(Paddlegate::InvalidError, argument, &call)
      assert_equal argument, error.argument
    end
    assert_raises(ArgumentError) { Paddlegate::Rack.new(APP, keyed, keys: 1) }
    error = assert_raises(Paddlegate::UnavailableError) do
      get(limited(keyed) { raise Paddlegate::UnavailableError, "of the application" })
    end
    assert_equal "of the application", error.message
  end

  private

  def limited(limiter, **options, &app)
    Rack::Lint.new(Paddlegate::Rack.new(Rack::Lint.new(app || APP), limiter, **options))
  end

  def get(app, path = "/")
    Rack::MockRequest.new(app).get(path, "REMOTE_ADDR" => "192.0.2.1")
  end

  def environment(more = {})
    Rack::MockRequest.env_for("/").merge(more)
  end
end
