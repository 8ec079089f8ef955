# frozen_string_literal: true

module Paddlegate
  # One call on its way into a limiter. It sleeps in Ruby, so that whatever ends a sleep ends the
  # wait: `Timeout`, `Thread#kill`, `Thread#raise`, a signal, a fiber scheduler.
  class Waiter
    END_OF_QUEUE = 0
    private_constant :END_OF_QUEUE

    # Under which it is known to the store.
    attr_reader :id

    attr_reader :limiter

    def initialize(limiter, id, cost, estimate, wait_timeout)
      @limiter = limiter
      # Whether nobody else has its id: what there is under it is its own.
      @owns_id = id.nil?
      @id = @owns_id ? Library.new_id : Value.text("id", id)
      @cost = cost
      @estimate = estimate
      @max_wait = wait_timeout.nil? ? limiter.wait_timeout : Value.wait_timeout(wait_timeout)
      # Whether there may be a ticket or a lease of this call to give back.
      @may_hold = false
    end

    # Waits for its turn. Raises {OverLimit} when the time is up, or at once when it is known not to
    # be enough.
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
        # A ticket that does not know the channel is told nothing.
        sleep_until([retry_at, deadline].min) if @channel == channel
      end
    ensure
      @hub&.remove(self)
    end

    # Gives back what there is: for a call that has ended without a permit. One that had no answer
    # has used up its time, so that it does not wait for this.
    def cancel
      Cleanup.cancel(@limiter, @id, wait: !@unanswered) if @may_hold
    end

    # Told by the {Hub} to look again after so many seconds.
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

    # At the end of its time, one last call grants or refuses.
    def attempt(left, queue_position)
      @wake_at = nil
      @channel = channel
      wait = [Value.interval("wait_timeout", left), 0, @channel, queue_position] if left.positive?
      had_ticket = @may_hold
      # A lease under an id of the caller may have been there before.
      @may_hold ||= @owns_id
      decision = @limiter.acquire_with_id(@id, @cost, @estimate, nil, wait)
      # One that the store has not made leaves the ticket of an earlier one where it is. Without one
      # there is nobody to ask, which would cost a connection per call.
      @may_hold = decision.status == :queued || (@may_hold && decision.allowed?) ||
                  (had_ticket && decision.degraded?)
      decision
    rescue Error => e
      @unanswered = true
      @may_hold = had_ticket || (@owns_id && e.is_a?(UnavailableError) && e.may_have_counted?)
      raise
    end

    # Has itself told by a hub, if there is one or it shall listen; by another one when its limiter
    # has moved to another place.
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
      # Nothing can be locked in a signal handler, or no thread can be made: it looks by itself.
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
      # Ruby 3.1 leaves it unlocked when a scheduler ends the wait of a fiber by an error.
      @lock.unlock if @lock&.owned?
    end
  end
end
