# frozen_string_literal: true

require "json"

module Paddlegate
  # A request within a {RequestLimit}: granted, or refused.
  #
  # The host of a granted one calls {answered} once it knows the status of the response, and
  # {release} when the response has ended or the client has gone. Until then its lease is renewed.
  class RequestTurn
    # The {Permit}; `nil` when the request is refused.
    attr_reader :permit

    # The {Decision}; `nil` when the store could not decide.
    attr_reader :decision

    # @api private
    def self.take(limit, limiter, cost, wait, ask)
      # Without a permit that can be corrected nothing can be given back.
      charge = limit.refund_if ? { estimate: cost || 1 } : { cost: cost }
      permit = limiter.acquire(**charge, wait_timeout: wait, limits: !limit.fields.nil?)
      new(limit, ask, permit, permit.decision).tap { |turn| Renewal.start(permit, turn) }
    rescue OverLimit => e
      new(limit, ask, nil, e.decision)
    rescue UnavailableError
      new(limit, ask, nil, nil)
    end

    # @api private
    def initialize(limit, ask, permit, decision)
      @limit = limit
      @ask = ask
      @permit = permit
      @decision = decision
    end

    # Returns whether the request is refused.
    def refused?
      @permit.nil?
    end

    # Returns whether a lease is held until {release}.
    def leased?
      !@permit&.expires_in.nil?
    end

    # Returns the header fields of the response, a Hash.
    def fields
      return {} if @decision.nil?
      return @decision.headers(@limit.fields) if @limit.fields

      @decision.headers.slice("Retry-After")
    end

    # Returns the status of a refusal; 503 when the store could not decide.
    def status
      @decision ? @limit.status : 503
    end

    # Returns what the option `over_limit` answers; `nil` without one.
    def over_limit
      @ask.call(@limit.over_limit, @decision) if @decision && @limit.over_limit
    end

    # Returns the body of a refusal: problem details in JSON, `application/problem+json`.
    def problem
      return JSON.generate(title: "Service Unavailable", status: 503) if @decision.nil?

      JSON.generate(type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
                    title: "Request cannot be satisfied as assigned quota has been exceeded",
                    status: status, retry_after: @decision.headers["Retry-After"]&.to_i)
    end

    # Gives the cost back if a response of this status costs nothing.
    def answered(status)
      @permit.correct(0) if @permit && @limit.refund_if&.call(status)
    rescue Error
      # It stays charged, which is safe.
    end

    # Ends the lease. A second call has no effect.
    def release
      return unless leased?

      Renewal.stop(@permit, self)
      @permit.release_after_block
    end
  end
end
