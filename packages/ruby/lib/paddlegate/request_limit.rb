# frozen_string_literal: true

module Paddlegate
  # The requests of a server within a limiter: what its adapter, such as {Rack}, has of the rules.
  #
  #   LIMIT = Paddlegate::RequestLimit.new(PER_USER, key: ->(request) { request["x-user"] })
  #
  #   turn = LIMIT.take(address) { |option, *arguments| option.call(request, *arguments) }
  #
  # - `limiter`: a {Limiter}, or a proc that returns one, or `nil`: the request is not limited
  # - `key`: the key of a keyed limiter, by default the address of the caller; a proc may return
  #   `nil`: the request is not limited. Any text will do: one that is no key is digested
  # - `cost`: the units that a request takes, as in {Limiter}
  # - `wait`: how long a request may wait for its turn, an interval; default 0: it is refused
  # - `fields`: the header fields of a response, `:draft` (default), `:"draft-6"`, `:x`, or `nil`:
  #   only `Retry-After`
  # - `status`: the status of a refusal, default 429
  # - `over_limit`: a proc of the {Decision} that makes the answer of a refusal, by default problem
  #   details in JSON
  # - `skip`: a proc that returns whether a request is not limited
  # - `refund_if`: a proc of the status of the response that returns whether the cost is given back
  # - `trusted_proxies`: the addresses or networks of the proxies whose `X-Forwarded-For` is
  #   believed, default none
  #
  # The host says what else a proc is given: see its adapter.
  class RequestLimit
    # The header fields, the status and the procs of a {RequestTurn}.
    attr_reader :fields, :status, :over_limit, :refund_if

    def initialize(limiter, key: nil, cost: nil, wait: 0, fields: :draft, status: 429,
                   over_limit: nil, skip: nil, refund_if: nil, trusted_proxies: [])
      @limiter = limiter
      @key = key
      @cost = cost
      @wait = Value.interval("wait", wait) / 1_000_000.0
      @fields = fields
      @status = status
      @over_limit = over_limit
      @skip = skip
      @refund_if = refund_if
      @trusted_proxies = trusted_proxies
    end

    # Takes the cost of a request, and returns its {RequestTurn}; `nil` for one that is not limited.
    #
    # `address` is that of the peer, `forwarded_for` its field `X-Forwarded-For`. The block calls an
    # option that is a proc, with the arguments that it has anyway and those of its host.
    def take(address, forwarded_for = nil, &ask)
      return if @skip && ask.call(@skip)

      limiter = value(@limiter, ask) or return
      if @key || (limiter.keyed? && limiter.key.nil?)
        key = @key ? value(@key, ask) : caller_key(address, forwarded_for)
        return if key.nil?

        limiter = limiter.with_key(Paddlegate.plain_key(key.to_s))
      end
      RequestTurn.take(self, limiter, value(@cost, ask), @wait, ask)
    end

    private

    def value(option, ask)
      option.respond_to?(:call) ? ask.call(option) : option
    end

    def caller_key(address, forwarded_for)
      Paddlegate.caller_key(address.to_s, forwarded_for: forwarded_for,
                                          trusted_proxies: @trusted_proxies)
    end
  end
end
