# frozen_string_literal: true

# The host of rack_test.rb: Puma with an application of Rack.

require "puma"
require "puma/server"
require "rack"

require "paddlegate/rack"
require "paddlegate/testing/host"

KEY = ->(request) { request.get_header("HTTP_X_KEY") }

app = Rack::URLMap.new(
  Paddlegate::Testing::Host.routes.to_h do |route|
    options = route.keyed ? { key: KEY } : {}
    limited = Rack::Builder.app do
      use Rack::Lint
      use Paddlegate::Rack, route.limiter, **route.options, **options
      use Rack::Lint
      run(lambda do |_env|
        status, body = route.answer
        [status, { "content-type" => "text/plain" }, body]
      end)
    end
    [route.path, limited]
  end
)
server = Puma::Server.new(app, Puma::Events.stdio, min_threads: 8, max_threads: 8)
server.add_tcp_listener("127.0.0.1", Paddlegate::Testing::Host.port)
trap("TERM") { exit! }
server.run.join
