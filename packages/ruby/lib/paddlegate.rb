# frozen_string_literal: true

require_relative "paddlegate/version"
require_relative "paddlegate/error"
require_relative "paddlegate/factories"
require_relative "paddlegate/skipped"

# One rate limiter for every language a company runs.
#
#   ERP = Paddlegate.window("erp", 100, :minute)
#   ERP.within_limit { call_erp }
#
# The factories ({Factories}) of this module make limiters on the default store: the one at
# `PADDLEGATE_URL`, or what {configure} says, or the memory of this process. Loading this file
# starts nothing and connects to nothing.
module Paddlegate
  # Only these need the library and `ffi`, which are loaded at their first use.
  %i[Admission CallBuffer Cleanup Decision Gate GateDecision Hub Hubs Jobs Learned Library Limiter
     LimiterInfo Live LoadedLimiter Native Permit Policy RuntimeState Statistics Store Upstream
     Value Waiter WakeupListener].each do |name|
    file = name.to_s.gsub(/(?<=[a-z])(?=[A-Z])/, "_").downcase
    autoload name, File.expand_path("paddlegate/#{file}", __dir__)
  end

  # What {configure} sets for the default store.
  #
  # `url`: as in {Store#initialize}; `nil` is `PADDLEGATE_URL`, or memory when that is not set.
  # `timeout`: seconds within which every call has an answer or fails; `nil` is one second.
  Configuration = Struct.new(:url, :timeout)

  @configuration = Configuration.new.freeze
  @lock = Mutex.new

  class << self
    include Factories

    # What the default store is made of. Frozen; change it with {configure}.
    attr_reader :configuration

    # Yields a {Configuration} to change. Limiters that were made before keep their store.
    def configure
      changed = @configuration.dup
      yield changed
      @lock.synchronize do
        @configuration = changed.freeze
        @store = nil
      end
      nil
    end

    # What a GraphQL query will cost in points, said before it is sent: an estimate for
    # {Limiter#within_limit}, from 1 on.
    #
    # `variables`: those sent with the query, a Hash or JSON; by default none. `rules`: whose
    # points, `:shopify` (the default) or `:github`. `operation`: which of several operations of the
    # query.
    def graphql_cost(query, variables = nil, rules: nil, operation: nil)
      variables = Value.json("variables", variables) unless variables.nil?
      operation = Value.text("operation", operation) unless operation.nil?
      rules = Value.word("rules", rules) unless rules.nil?
      Library.graphql_cost(Value.text("query", query), variables, operation, rules)
    end

    # Closes the default store, as {Store#close}. The next limiter that is made on it opens another.
    def close
      store = @lock.synchronize { @store.tap { @store = nil } }
      store&.close
      nil
    end

    # The default store, made at its first use.
    def store
      @store || @lock.synchronize do
        @store ||= Store.new(@configuration.url, timeout: @configuration.timeout)
      end
    end
  end
end
