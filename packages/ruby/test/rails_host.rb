# frozen_string_literal: true

# The host of rails_test.rb and rails_live_test.rb: Puma with an application of Rails.

require "logger"
require "action_controller/railtie"
require "puma"
require "puma/server"

require "paddlegate/rails"
require "paddlegate/testing/host"

ROUTES = Paddlegate::Testing::Host.routes
ACTION = ->(route) { "get_#{route.path.delete_prefix("/").tr("-", "_")}" }

# Each route is an action.
class Base < ActionController::Base
  include Paddlegate::Rails

  def self.inherited(controller)
    super
    ROUTES.each do |route|
      options = route.keyed ? { key: -> { request.get_header("HTTP_X_KEY") } } : {}
      controller.limited_by route.limiter, **route.options, **options, only: ACTION[route]
      controller.define_method(ACTION[route]) do
        # Otherwise Rails reads the body to its end for its digest, and sends nothing before.
        response.headers["Last-Modified"] = Time.now.httpdate
        respond(*route.answer)
      end
    end
  end
end

# Its bodies are read by the server.
class PlainController < Base
  private

  def respond(status, body)
    self.status = status
    self.response_body = body
  end
end

# Its bodies are written by a thread of each request.
class LiveController < Base
  include ActionController::Live

  private

  def respond(status, body)
    response.status = status
    body.each { |text| response.stream.write(text) }
  ensure
    response.stream.close
  end
end

# The application.
class App < Rails::Application
  config.eager_load = false
  config.secret_key_base = "secret"
  config.logger = Logger.new(IO::NULL)
  config.hosts.clear
  config.consider_all_requests_local = false
end
App.initialize!
App.routes.draw do
  ROUTES.each { |route| get route.path, to: "#{ENV.fetch("CONTROLLER")}##{ACTION[route]}" }
end

server = Puma::Server.new(App, Puma::Events.stdio, min_threads: 8, max_threads: 8)
server.add_tcp_listener("127.0.0.1", Paddlegate::Testing::Host.port)
trap("TERM") { exit! }
server.run.join
