# frozen_string_literal: true

require "io/wait"

module Paddlegate
  # Where the {Waiter}s of this process hear that their turn has come: one thread, which listens for
  # all of them while there are some.
  class Hub
    # Seconds until a lost connection is opened again: the first time, and at most.
    PAUSE = 0.05
    MAX_PAUSE = 1.0

    # Seconds after which a connection that nobody needs is closed.
    IDLE = 60

    # For how many seconds the end of the thread is waited for.
    CLOSING = 1
    private_constant :PAUSE, :MAX_PAUSE, :IDLE, :CLOSING

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
        drop(waiter)
        raise
      end
    end

    def remove(waiter)
      @lock.synchronize { drop(waiter) }
    end

    # Closes the connection, and ends the waits: the store is closed.
    def close
      thread = @lock.synchronize { @thread }
      thread&.kill
      let_all_look
      thread&.join(CLOSING)
    end

    private

    def drop(waiter)
      others = @waiters.fetch(waiter.id, []) - [waiter]
      others.empty? ? @waiters.delete(waiter.id) : @waiters[waiter.id] = others
    end

    # Whoever waits may keep interrupts off itself; the end of the program still ends this thread.
    def start
      Thread.new { Thread.handle_interrupt(Object => :immediate) { run } }
    end

    def run
      Thread.current.name = "paddlegate"
      pause = PAUSE
      while (limiter = wanted)
        begin
          listen(limiter) { pause = PAUSE }
        rescue InvalidError
          # The store is closed, which they hear when they ask.
          let_all_look
          sleep(pause)
        rescue Error, SystemCallError, IOError
          silence
          sleep(pause)
          pause = [2 * pause, MAX_PAUSE].min
        end
      end
    ensure
      silence
    end

    # There is no channel, unless it is that of another thread.
    def silence
      @lock.synchronize { @channel = "" if @thread.nil? || @thread == Thread.current }
    end

    # A limiter that somebody waits for. When nobody does, this no longer listens, and the next
    # waiter starts another thread.
    def wanted
      @lock.synchronize do
        next unless @thread == Thread.current

        unless (waiter = @waiters.each_value.first&.first)
          @channel = ""
          @thread = nil
        end
        waiter&.limiter
      end
    end

    def let_all_look
      waiters = @lock.synchronize { @waiters.values.flatten }
      waiters.each { |waiter| waiter.look(0) }
    end

    # Until the connection is lost, or nobody needs it.
    def listen(limiter)
      hints = limiter.listen
      yield
      # Their tickets do not know the channel, and messages may have been lost.
      opened(hints.channel).each { |waiter| waiter.look(0) }
      loop do
        if hints.io.wait_readable(IDLE)
          hints.receive { |id, delay| named(id).each { |waiter| waiter.look(delay) } }
        elsif wanted.nil?
          break
        end
      end
    ensure
      hints&.close
    end

    def opened(channel)
      @lock.synchronize do
        @channel = channel
        @waiters.values.flatten
      end
    end

    def named(id)
      @lock.synchronize { @waiters.fetch(id, []) }
    end
  end
end
