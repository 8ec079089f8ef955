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
      @alone = id.nil?
      @id = @alone ? Library.new_id : Value.text("id", id)
      @cost = cost
      @estimate = estimate
      @patience = wait_timeout.nil? ? limiter.wait_timeout : Value.wait_timeout(wait_timeout)
      # Whether there may be a ticket or a lease of this call to give back.
      @leaves = false
    end

    # Waits for its turn. Raises {OverLimit} when the time is up, or at once when it is known not to
    # be enough.
    def permit
      deadline = now + @patience
      hear(listen: false)
      place = END_OF_QUEUE
      loop do
        sent_at = now
        decision = enter(deadline - sent_at, place)
        return Permit.new(@limiter, decision, sent_at, !@estimate.nil?) if decision.allowed?
        raise @limiter.over_limit(decision) unless decision.status == :queued

        place = decision.ticket
        look_at = now + decision.retry_after
        hear(listen: true)
        # A ticket that does not know the channel is told nothing.
        sleep_until([look_at, deadline].min) if @channel == channel
      end
    ensure
      @hub&.remove(self)
    end

    # Gives back what there is: for a call that has ended without a permit. One that had no answer
    # has used up its time, so that it does not wait for this.
    def leave
      Cleanup.cancel(@limiter, @id, wait: !@unanswered) if @leaves
    end

    # Told by the {Hub} to look again after so many seconds.
    def look(delay)
      at = now + delay
      @lock.synchronize do
        @look_at = at if @look_at.nil? || at < @look_at
        @told.signal
      end
    end

    private

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    # At the end of its time, one last call grants or refuses.
    def enter(left, place)
      @look_at = nil
      @channel = channel
      wait = [Value.interval("wait_timeout", left), 0, @channel, place] if left.positive?
      queued = @leaves
      # A lease under an id of the caller may have been there before.
      @leaves ||= @alone
      decision = @limiter.enter(@id, @cost, @estimate, nil, wait)
      # One that the store has not made leaves the ticket of an earlier one where it is. Without one
      # there is nobody to ask, which would cost a connection per call.
      @leaves = decision.status == :queued || (@leaves && decision.allowed?) ||
                (queued && decision.degraded?)
      decision
    rescue Error => e
      @unanswered = true
      @leaves = queued || (@alone && e.is_a?(UnavailableError) && e.may_have_counted?)
      raise
    end

    # Has itself told by a hub, if there is one or it shall listen; by another one when its limiter
    # has moved to another place.
    def hear(listen:)
      hub = listen ? @limiter.hubs.at(@limiter) : @limiter.hubs.open(@limiter)
      return if hub.nil?

      unless @lock
        @lock = Mutex.new
        @told = ConditionVariable.new
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
      while (left = [time, @look_at || time].min - now).positive?
        @told.wait(@lock, left)
      end
    ensure
      # Ruby 3.1 leaves it unlocked when a scheduler ends the wait of a fiber by an error.
      @lock.unlock if @lock&.owned?
    end
  end
end
