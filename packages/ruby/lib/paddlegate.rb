# frozen_string_literal: true

require_relative "paddlegate/version"
require_relative "paddlegate/error"
require_relative "paddlegate/factories"
require_relative "paddlegate/limit"
require_relative "paddlegate/skipped"

# A rate limiter that processes in several languages share through Redis.
#
#   ERP = Paddlegate.window("erp", 100, :minute)
#   ERP.within_limit { call_erp }
#
# The factories ({Factories}) of this module create limiters on the default store: the URL of
# {configure}, otherwise the URL in the environment variable `PADDLEGATE_URL`, otherwise the memory
# of this process. Loading this file starts no thread and opens no connection.
module Paddlegate
  # Only these constants need the C library and the gem `ffi`, which are loaded on first use.
  %i[Admission CallBuffer Cleanup Decision DecisionLimit Gate GateDecision History Hub Hubs
     Inspection JobTurn Jobs Learned Library Limiter LimiterInfo LimiterPage Live LoadedLimiter
     Native Permit Policy Renewal RequestLimit RequestTurn RuntimeState Sleeper Statistics Store
     StreamUsage TestClock Turns Upstream Value WaitState Waiter WakeupListener].each do |name|
    file = name.to_s.gsub(/(?<=[a-z])(?=[A-Z])/, "_").downcase
    autoload name, File.expand_path("paddlegate/#{file}", __dir__)
  end

  # The settings of the default store, as {configure} sets them.
  #
  # `url`: as in {Store#initialize}; `nil` (default) uses `PADDLEGATE_URL`, or memory when that
  # variable is not set. `timeout`: seconds within which every call returns or fails; `nil`
  # (default) is one second. `clock`: a {TestClock} for tests; `nil` (default) is the clock of the
  # store.
  Configuration = Struct.new(:url, :timeout, :clock)

  @configuration = Configuration.new.freeze
  @lock = Mutex.new

  class << self
    include Factories

    # Returns the settings of the default store. Frozen; change them with {configure}.
    attr_reader :configuration

    # Yields a copy of the {Configuration} to change, and uses it for the default store from then
    # on. Existing limiters keep their store.
    def configure
      changed = @configuration.dup
      yield changed
      @lock.synchronize do
        @configuration = changed.freeze
        @store = nil
      end
      nil
    end

    # Returns the estimated cost of a GraphQL query in points, from 1, before the query is sent: an
    # `estimate` for {Limiter#within_limit}.
    #
    # `variables`: the variables of the query, a Hash or JSON; default none. `rules`: the cost rules
    # of `:shopify` (default) or `:github`. `operation`: the name of the operation, for a query with
    # several.
    def graphql_cost(query, variables = nil, rules: nil, operation: nil)
      variables = Value.json("variables", variables) unless variables.nil?
      operation = Value.text("operation", operation) unless operation.nil?
      rules = Value.word("rules", rules) unless rules.nil?
      Library.graphql_cost(Value.text("query", query), variables, operation, rules)
    end

    # Returns the key of a caller by the address of its connection, for a keyed limiter. Every
    # address gives a key.
    #
    # An IPv4 address is itself, also in IPv6 form. The key of an IPv6 caller is its network,
    # `2001:db8:1:2::/64`: `ipv6_prefix` is the length, from 1 to 128 (default 64). Ports, brackets
    # and zones are cut. What is no address is as in {plain_key}; a Unix socket has the address ""
    # or `nil`.
    #
    # `trusted_proxies`: the proxies in front of this process: addresses, networks such as
    # "10.0.0.0/8", and "unix" for one that connects by a Unix socket. Behind one of them the caller
    # is the last entry of `forwarded_for`, the value of `X-Forwarded-For`, that is not trusted.
    def caller_key(address, forwarded_for: nil, trusted_proxies: [], ipv6_prefix: nil)
      unless trusted_proxies.is_a?(Array)
        Value.reject("must be a list", "trusted_proxies", trusted_proxies)
      end
      proxies = trusted_proxies.map { |proxy| Value.text("trusted_proxies", proxy) }
      prefix = ipv6_prefix.nil? ? -1 : Value.whole("ipv6_prefix", ipv6_prefix)
      Library.caller_key(Value.bytes("address", address || ""),
                         Value.bytes("forwarded_for", forwarded_for || ""), proxies, prefix)
    end

    # Returns the key for a text of a stranger, such as a header: the text itself if it is a key,
    # which has 1 to 512 bytes of UTF-8 without a zero byte, otherwise "sha256:" and its digest in
    # hexadecimal.
    def plain_key(text)
      Library.plain_key(Value.bytes("text", text))
    end

    # Closes the default store, as {Store#close} does. The next limiter on the default store opens a
    # new one.
    def close
      store = @lock.synchronize { @store.tap { @store = nil } }
      store&.close
      nil
    end

    # Returns the default store, which is created on first use.
    def store
      @store || @lock.synchronize do
        @store ||= Store.new(@configuration.url, timeout: @configuration.timeout,
                                                 clock: @configuration.clock)
      end
    end
  end
end
