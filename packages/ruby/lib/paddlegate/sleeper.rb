# frozen_string_literal: true

module Paddlegate
  # Sleeps in Ruby until a time or a wake-up, so that whatever ends a sleep ends this one:
  # `Timeout`, `Thread#kill`, `Thread#raise`, a signal, a fiber scheduler. What includes it has an
  # `id` and a `limiter`, and says in `time_left` for how long.
  module Sleeper
    # Ends the sleep in `delay` seconds, unless it ends earlier. Called by the {Hub}.
    def wake(delay)
      at = now + delay
      @lock.synchronize do
        @wake_at = at if @wake_at.nil? || at < @wake_at
        @woken.signal
      end
    end

    private

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    # Registers at the hub of the limiter, which with `listen` listens from now on. Changes hubs
    # when the notification node of the limiter has changed.
    def listen_for_wakeups(listen:)
      hub = @limiter.hubs.find_or_create(@limiter)
      unless @lock
        @lock = Mutex.new
        @woken = ConditionVariable.new
      end
      @hub&.remove(self) unless @hub == hub
      @hub = hub
      hub.add(self, listen: listen)
    rescue ThreadError
      # A signal handler cannot lock, or no thread can be created: the call retries without
      # wake-ups.
      @hub = nil
    end

    def channel
      @hub ? @hub.channel : ""
    end

    # Raises {InvalidError} when the store is being closed.
    def sleep_until_due
      return sleep([time_left, 0].max) unless @hub

      @lock.lock
      while !@hub.closed? && (left = time_left).positive?
        @woken.wait(@lock, left)
      end
      raise Hub.store_is_closed if @hub.closed?
    ensure
      # In Ruby 3.1 the lock is not held after a fiber scheduler ended the wait with an error.
      @lock.unlock if @lock&.owned?
    end
  end
end
