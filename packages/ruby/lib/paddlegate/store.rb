# frozen_string_literal: true

module Paddlegate
  # The store of the state of limiters: the memory of this process, or a Redis that many processes
  # share.
  class Store
    include Factories

    # @api private
    attr_reader :handle, :hubs

    # Creates a store. Opens no connection; the first call of a limiter does. The garbage collector
    # closes a store once neither the program nor a limiter references it.
    #
    # `url`: `redis://[user:password@]host[:port][/db]`, `rediss://` for TLS, `unix:///path[?db=n]`
    # or `memory://`; more nodes of a cluster may follow after commas, and with
    # `redis+sentinel://host,host/master` they are sentinels. `nil` (default) uses
    # `PADDLEGATE_URL`, or memory when that variable is not set. `timeout`: seconds within which
    # every call returns or fails; default 1. `clock`: a {TestClock} by which the store decides,
    # for tests; default: the clock of the store. For a store in Redis it raises {InvalidError}
    # unless the environment variable `PADDLEGATE_TEST_CLOCK` is 1.
    def initialize(url = nil, timeout: nil, clock: nil)
      url = Value.text("url", url) unless url.nil?
      unless clock.nil? || clock.is_a?(TestClock)
        Value.reject("must be a TestClock", "clock", clock)
      end

      # 0 stands for the default; 1 is the smallest timeout, and the library refuses it.
      timeout_us = timeout.nil? ? 0 : [Value.interval("timeout", timeout), 1].max
      @handle = Library.open_store(url, timeout_us, clock&.handle)
      @memory = Native.pg_store_is_memory(@handle) == 1
      @hubs = Hubs.new
    end

    # Closes all connections of this process to the store, even if it still has limiters. Waiting
    # calls give back their tickets and raise {InvalidError}, as does every later call that needs
    # the state of a limiter. A second call has no effect.
    def close
      begin
        # By its connections.
        @hubs.close
      ensure
        @handle.free
      end
      nil
    end

    # Returns whether the limiters of this store count in this process only.
    def memory?
      @memory
    end

    # Returns a text without the address, which may contain a password.
    def inspect
      "#<#{self.class} #{memory? ? "memory" : "redis"}>"
    end

    private

    def store
      self
    end
  end
end

# Loads everything that calls need with the first store, and nothing during a wait: the `require` of
# RubyGems breaks when an interrupt or a `Timeout` ends it.
Paddlegate.constants.each { |name| Paddlegate.const_get(name) }
