# frozen_string_literal: true

module Paddlegate
  # One call that waits in the queue of a limiter. It sleeps in Ruby, so that whatever ends a sleep
  # ends the wait: `Timeout`, `Thread#kill`, `Thread#raise`, a signal, a fiber scheduler.
  class Waiter
    END_OF_QUEUE = 0
    private_constant :END_OF_QUEUE

    # The id of the call in the store.
    attr_reader :id

    attr_reader :limiter

    def initialize(limiter, id, cost, estimate, wait_timeout)
      @limiter = limiter
      # Whether only this call has the id, so that a ticket or a lease under it belongs to this
      # call.
      @owns_id = id.nil?
      @id = @owns_id ? Library.new_id : Value.text("id", id)
      @cost = cost
      @estimate = estimate
      @max_wait = wait_timeout.nil? ? limiter.wait_timeout : Value.wait_timeout(wait_timeout)
      # Whether this call may have a ticket or a lease to give back.
      @may_hold = false
    end

    # Waits until the call is granted and returns a {Permit}. Raises {OverLimit} when the wait times
    # out, or at once when it is known to be longer.
    def acquire
      deadline = now + @max_wait
      listen_for_wakeups(listen: false)
      queue_position = END_OF_QUEUE
      loop do
        sent_at = now
        decision = attempt(deadline - sent_at, queue_position)
        return Permit.new(@limiter, decision, sent_at, !@estimate.nil?) if decision.allowed?
        raise @limiter.over_limit(decision) unless decision.status == :queued

        queue_position = decision.ticket
        retry_at = now + decision.retry_after
        listen_for_wakeups(listen: true)
        # A ticket that does not name the current channel gets no wake-up.
        sleep_until([retry_at, deadline].min) if @channel == channel
      end
    ensure
      @hub&.remove(self)
    end

    # Gives back a ticket or a lease, for a call that ended without a permit. A call without a reply
    # has used up its time, so it does not wait for this.
    def cancel
      Cleanup.cancel(@limiter, @id, wait: !@unanswered) if @may_hold
    end

    # Schedules the next attempt in `delay` seconds, unless an earlier one is scheduled. Called by
    # the {Hub}.
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

    # Calls the store once. `left` is the rest of the wait in seconds; when it is used up, the call
    # is granted or refused without a ticket.
    def attempt(left, queue_position)
      @wake_at = nil
      @channel = channel
      wait = [Value.interval("wait_timeout", left), 0, @channel, queue_position] if left.positive?
      had_ticket = @may_hold
      # Under the caller's id an earlier call may have taken the lease.
      @may_hold ||= @owns_id
      decision = @limiter.acquire_with_id(@id, @cost, @estimate, nil, wait)
      # A degraded decision leaves an earlier ticket in the queue. Without one there is nothing to
      # cancel, and a cancellation would cost a connection per call.
      @may_hold = decision.status == :queued || (@may_hold && decision.allowed?) ||
                  (had_ticket && decision.degraded?)
      decision
    rescue Error => e
      @unanswered = true
      @may_hold = had_ticket || (@owns_id && e.is_a?(UnavailableError) && e.may_have_counted?)
      raise
    end

    # Registers the call at the hub of its limiter if the hub is open, or with `listen` in any case.
    # Changes hubs when the notification node of the limiter has changed.
    def listen_for_wakeups(listen:)
      hub = listen ? @limiter.hubs.find_or_create(@limiter) : @limiter.hubs.find_open(@limiter)
      return if hub.nil?

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

    def sleep_until(time)
      return sleep([time - now, 0].max) unless @hub

      @lock.lock
      while (left = [time, @wake_at || time].min - now).positive?
        @woken.wait(@lock, left)
      end
    ensure
      # In Ruby 3.1 the lock is not held after a fiber scheduler ended the wait with an error.
      @lock.unlock if @lock&.owned?
    end
  end
end
