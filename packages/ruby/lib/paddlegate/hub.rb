# frozen_string_literal: true

require "io/wait"

module Paddlegate
  # Where the {Waiter}s of this process hear that their turn has come: one thread, which listens for
  # all of them while there are some.
  class Hub
    # Seconds until a lost connection is opened again: the first time, and at most.
    RECONNECT_DELAY = 0.05
    MAX_RECONNECT_DELAY = 1.0

    # Seconds after which a connection that nobody needs is closed.
    IDLE_TIMEOUT = 60

    # For how many seconds the end of the thread is waited for.
    JOIN_TIMEOUT = 1
    private_constant :RECONNECT_DELAY, :MAX_RECONNECT_DELAY, :IDLE_TIMEOUT, :JOIN_TIMEOUT

    # What tickets name so that their messages come here; empty while it does not listen.
    attr_reader :channel

    def initialize
      @lock = Mutex.new
      @waiters = {}
      @channel = ""
    end

    # Hears for a waiter, which is told to look when there is a channel for its ticket.
    def add(waiter, listen:)
      @lock.synchronize do
        @waiters[waiter.id] = @waiters.fetch(waiter.id, []) | [waiter]
        @thread = start if listen && !@thread&.alive?
      rescue ThreadError
        # No thread can be made, so that nobody would call it.
        delete(waiter)
        raise
      end
    end

    def remove(waiter)
      @lock.synchronize { delete(waiter) }
    end

    # Closes the connection, and ends the waits: the store is closed.
    def close
      thread = @lock.synchronize { @thread }
      thread&.kill
      wake_all
      thread&.join(JOIN_TIMEOUT)
    end

    private

    def delete(waiter)
      others = @waiters.fetch(waiter.id, []) - [waiter]
      others.empty? ? @waiters.delete(waiter.id) : @waiters[waiter.id] = others
    end

    # Whoever waits may keep interrupts off itself; the end of the program still ends this thread.
    def start
      Thread.new { Thread.handle_interrupt(Object => :immediate) { run } }
    end

    def run
      Thread.current.name = "paddlegate"
      reconnect_delay = RECONNECT_DELAY
      while (limiter = limiter_with_waiters)
        begin
          listen(limiter) { reconnect_delay = RECONNECT_DELAY }
        rescue InvalidError
          # The store is closed, which they hear when they ask.
          wake_all
          sleep(reconnect_delay)
        rescue Error, SystemCallError, IOError
          clear_channel
          sleep(reconnect_delay)
          reconnect_delay = [2 * reconnect_delay, MAX_RECONNECT_DELAY].min
        end
      end
    ensure
      clear_channel
    end

    # There is no channel, unless it is that of another thread.
    def clear_channel
      @lock.synchronize { @channel = "" if @thread.nil? || @thread == Thread.current }
    end

    # A limiter that somebody waits for. When nobody does, this no longer listens, and the next
    # waiter starts another thread.
    def limiter_with_waiters
      @lock.synchronize do
        next unless @thread == Thread.current

        unless (waiter = @waiters.each_value.first&.first)
          @channel = ""
          @thread = nil
        end
        waiter&.limiter
      end
    end

    def wake_all
      waiters = @lock.synchronize { @waiters.values.flatten }
      waiters.each { |waiter| waiter.wake(0) }
    end

    # Until the connection is lost, or nobody needs it.
    def listen(limiter)
      listener = limiter.listen
      yield
      # Their tickets do not know the channel, and messages may have been lost.
      open_channel(listener.channel).each { |waiter| waiter.wake(0) }
      loop do
        if listener.io.wait_readable(IDLE_TIMEOUT)
          listener.receive { |id, delay| waiters_with(id).each { |waiter| waiter.wake(delay) } }
        elsif limiter_with_waiters.nil?
          break
        end
      end
    ensure
      listener&.close
    end

    def open_channel(channel)
      @lock.synchronize do
        @channel = channel
        @waiters.values.flatten
      end
    end

    def waiters_with(id)
      @lock.synchronize { @waiters.fetch(id, []) }
    end
  end
end
