# frozen_string_literal: true

module Paddlegate
  # The {Hub}s of a store: one per process and node, created at the first wait.
  class Hubs
    def initialize
      @lock = Mutex.new
      @by_node = {}
    end

    # Returns the hub of a limiter. A hub inherited by a fork stays with the parent.
    def find_or_create(limiter)
      node = limiter.notification_node
      @lock.synchronize do
        @by_node = {} unless @pid == Process.pid
        @pid = Process.pid
        raise Hub.store_is_closed if @closed

        @by_node[node] ||= Hub.new
      end
    end

    # Ends the waits of this process for a store that is about to be closed, and waits until they
    # have given back their tickets.
    def close
      hubs = @lock.synchronize do
        @closed = true
        @by_node.values.tap { @by_node = {} } if @pid == Process.pid
      end
      hubs&.each(&:close)
      hubs&.each(&:wait_until_left)
    end
  end
end
