# frozen_string_literal: true

module Paddlegate
  # The {Hub}s of a store: one per process and place, made at the first wait.
  class Hubs
    def initialize
      @lock = Mutex.new
      @by_place = {}
    end

    # The hub that hears for a limiter already; `nil` when there is none.
    def open(limiter)
      return if @by_place.empty? || @pid != Process.pid

      hub = @by_place[limiter.place]
      hub unless hub.nil? || hub.channel.empty?
    end

    # The hub for a limiter. What a fork has inherited is left to the parent.
    def at(limiter)
      place = limiter.place
      @lock.synchronize do
        @by_place = {} unless @pid == Process.pid
        @pid = Process.pid
        @by_place[place] ||= Hub.new
      end
    end

    # Ends the waits of this process, whose store is closed.
    def close
      hubs = @lock.synchronize do
        @by_place.values.tap { @by_place = {} } if @pid == Process.pid
      end
      hubs&.each(&:close)
    end
  end
end
