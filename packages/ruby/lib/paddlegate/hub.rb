# frozen_string_literal: true

require "io/wait"

module Paddlegate
  # The waiters of this process at one node. One thread receives the wake-ups for all of them; it
  # ends when there are no waiters.
  class Hub
    # The time in seconds without a wake-up after which the connection is closed if there are no
    # waiters.
    IDLE_TIMEOUT = 60

    # The maximum time in seconds for which {#close} waits for the thread to end.
    JOIN_TIMEOUT = 1

    # The maximum time in seconds for which {#wait_until_left} waits. A server that replies takes a
    # fraction of it.
    LEAVE_TIMEOUT = 5
    private_constant :IDLE_TIMEOUT, :JOIN_TIMEOUT, :LEAVE_TIMEOUT

    # The channel that tickets name to receive wake-ups here; empty without a connection.
    attr_reader :channel

    # The error of a wait whose store is being closed, as the library has it.
    def self.store_is_closed
      InvalidError.new("is closed; open another one", "store")
    end

    def initialize
      @lock = Mutex.new
      @left = ConditionVariable.new
      @closed = false
      @waiters = {}
      @channel = ""
    end

    # Registers a waiter for its wake-ups. With `listen` it starts the thread if none runs; the
    # thread wakes all waiters when the channel is open, so that their tickets can name it.
    def add(waiter, listen:)
      @lock.synchronize do
        raise Hub.store_is_closed if @closed

        @waiters[waiter.id] = @waiters.fetch(waiter.id, []) | [waiter]
        @thread = start if listen && !@thread&.alive?
      rescue ThreadError
        # No thread can be created, so the waiter would get no wake-up.
        delete(waiter)
        raise
      end
    end

    def remove(waiter)
      @lock.synchronize { delete(waiter) }
    end

    # Closes the connection and ends the waits: woken waiters find the hub closed.
    def close
      thread = @lock.synchronize do
        @closed = true
        @thread
      end
      thread&.kill
      wake_all
      thread&.join(JOIN_TIMEOUT)
    end

    # Returns whether the store of the waits is being closed.
    def closed?
      @closed
    end

    # Returns when there are no waiters, or after {LEAVE_TIMEOUT}.
    def wait_until_left
      deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + LEAVE_TIMEOUT
      @lock.synchronize do
        until @waiters.empty?
          rest = deadline - Process.clock_gettime(Process::CLOCK_MONOTONIC)
          break unless rest.positive?

          @left.wait(@lock, rest)
        end
      end
    end

    private

    def delete(waiter)
      others = @waiters.fetch(waiter.id, []) - [waiter]
      others.empty? ? @waiters.delete(waiter.id) : @waiters[waiter.id] = others
      @left.broadcast
    end

    # The caller may have deferred interrupts; at exit the program must still be able to end this
    # thread.
    def start
      Thread.new { Thread.handle_interrupt(Object => :immediate) { run } }
    end

    def run
      Thread.current.name = "paddlegate"
      failures = 0
      while (limiter = limiter_with_waiters)
        begin
          listen(limiter) { failures = 0 }
        rescue InvalidError
          # The store is closed. The waiters get the error on their next call.
          wake_all
          sleep(Library.reconnect_pause(failures))
        rescue Error, SystemCallError, IOError
          clear_channel
          sleep(Library.reconnect_pause(failures))
          failures += 1
        end
      end
    ensure
      clear_channel
    end

    # Clears the channel, unless it belongs to another thread.
    def clear_channel
      @lock.synchronize { @channel = "" if @thread.nil? || @thread == Thread.current }
    end

    # Returns a limiter that has waiters. Without any it returns `nil` and the thread ends; the next
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

    # Receives wake-ups until there are no waiters, or an error ends the connection. Yields once the
    # connection is open.
    def listen(limiter)
      listener = limiter.listen
      yield
      # The existing tickets do not name the channel, and wake-ups may have been lost.
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
