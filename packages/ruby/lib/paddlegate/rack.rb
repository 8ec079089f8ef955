# frozen_string_literal: true

require "rack/body_proxy"
require "rack/request"
require_relative "../paddlegate"

module Paddlegate
  # Keeps the requests of a Rack application within a limit, in `config.ru` or in Rails:
  #
  #   require "paddlegate/rack"
  #
  #   use Paddlegate::Rack, PER_USER, key: ->(request) { request.get_header("HTTP_X_API_KEY") }
  #
  # A request over the limit is answered with 429, one for which the store could not decide with
  # 503, if `on_unavailable` of the limiter is `:raise`. A lease of a concurrency limit is renewed,
  # and ends when the body is closed, as a server does at its end and when the client has gone.
  #
  # The options are those of {RequestLimit}. Procs are called with the `Rack::Request`; `over_limit`
  # with the {Decision} too, and it returns a response of Rack; `refund_if` with the status alone.
  # The application finds the {Permit} in `env["paddlegate.permit"]`.
  class Rack
    # Where the environment of a request has its permit.
    PERMIT = "paddlegate.permit"
    FINISHED = "rack.response_finished"
    PROBLEM = { "content-type" => "application/problem+json" }.freeze
    private_constant :FINISHED, :PROBLEM

    # @api private
    # Returns the address of the peer, and what it says about those before it.
    def self.address(env)
      env.values_at("REMOTE_ADDR", "HTTP_X_FORWARDED_FOR")
    end

    # @api private
    # Yields, and returns the response of the block. The turns, which the block may take, end with
    # its body.
    def self.finish(turns, env)
      status, headers, body = response = yield
      turns.each { |turn| turn.answered(status) }
      held = turns.select(&:leased?)
      return response if held.empty?

      release = -> { held.each(&:release) }
      # For those that close no body, such as of a connection that the application has taken over.
      env[FINISHED]&.push(proc { release.call })
      [status, headers, ::Rack::BodyProxy.new(body, &release)]
    ensure
      abandon(turns) if held.nil?
    end

    # The application has failed, or the thread was interrupted.
    def self.abandon(turns)
      turns.each(&:release)
      turns.each { |turn| turn.answered(500) }
    end
    private_class_method :abandon

    def initialize(app, limiter, **options)
      @app = app
      @limit = RequestLimit.new(limiter, **options)
    end

    def call(env)
      request = ::Rack::Request.new(env)
      turn = @limit.take(*Rack.address(env)) { |option, *rest| option.call(request, *rest) }
      return @app.call(env) if turn.nil?

      env[PERMIT] = turn.permit
      response = turn.refused? ? refusal(turn) : Rack.finish([turn], env) { @app.call(env) }
      with_fields(turn.fields, *response)
    end

    private

    def refusal(turn)
      turn.over_limit || [turn.status, PROBLEM, [turn.problem]]
    end

    # Those of an inner limit stay.
    def with_fields(fields, status, headers, body)
      headers = headers.dup
      fields.each { |name, value| headers[name.downcase] ||= value }
      [status, headers, body]
    end
  end
end
