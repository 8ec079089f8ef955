# frozen_string_literal: true

module Paddlegate
  # Where limiters keep their state: this process, or a Redis that is shared by many.
  class Store
    include Factories

    # @api private
    attr_reader :handle, :hubs

    # `url`: `redis://[user:password@]host[:port][/db]`, `rediss://` for TLS, `unix:///path[?db=n]`
    # or `memory://`; more nodes of a cluster after commas. `nil` is `PADDLEGATE_URL`, or memory
    # when that is not set. `timeout`: seconds within which every call has an answer or fails; 1 by
    # default.
    #
    # Connects to nothing; the first call of a limiter does. A store that is forgotten together with
    # its limiters is closed by the garbage collector.
    def initialize(url = nil, timeout: nil)
      url = Value.text("url", url) unless url.nil?
      # 0 would stand for the default; the least that is refused will do.
      timeout_us = timeout.nil? ? 0 : [Value.interval("timeout", timeout), 1].max
      @handle = Library.open_store(url, timeout_us)
      @memory = Native.pg_store_is_memory(@handle) == 1
      @hubs = Hubs.new
    end

    # Closes all connections of this process, whatever limiters of the store there are. A call that
    # waits raises {InvalidError}, and so does every later one that needs the server. Closing twice
    # does the same as once. A store in memory has nothing to close and goes on.
    def close
      return if memory?

      @handle.free
      @hubs.close
      nil
    end

    # Whether limiters of this store count in this process only.
    def memory?
      @memory
    end

    # Not the address, which may have a password.
    def inspect
      "#<#{self.class} #{memory? ? "memory" : "redis"}>"
    end

    private

    def store
      self
    end
  end
end

# All that a call needs is loaded with the first store, and nothing in the middle of a wait: the
# `require` of RubyGems does not survive that an interrupt or a `Timeout` ends it.
Paddlegate.constants.each { |name| Paddlegate.const_get(name) }
