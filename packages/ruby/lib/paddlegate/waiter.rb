# frozen_string_literal: true

module Paddlegate
  # One call that waits in the queue of a limiter, by the rules of {WaitState}. It sleeps in Ruby,
  # so that whatever ends a sleep ends the wait: `Timeout`, `Thread#kill`, `Thread#raise`, a signal,
  # a fiber scheduler.
  class Waiter
    include Sleeper

    # Arguments of {CallBuffer#wait}.
    DEFAULT_CLAIM_TIMEOUT = 0
    END_OF_QUEUE = 0
    private_constant :DEFAULT_CLAIM_TIMEOUT, :END_OF_QUEUE

    # The id of the call in the store.
    attr_reader :id

    attr_reader :limiter

    # `order` is as in {Value.order}.
    def initialize(limiter, id, cost, estimate, settle_within, wait_timeout, order = nil,
                   limits = nil)
      @limiter = limiter
      # Whether only this call has the id, so that a ticket or a lease under it belongs to this
      # call.
      @owns_id = id.nil?
      @id = @owns_id ? Library.new_id : Value.text("id", id)
      @cost = Value.kept(cost)
      @estimate = Value.kept(estimate)
      @settle_within = settle_within
      @order = order
      @limits = Value.switch("limits", limits, false) unless limits.nil?
      max_wait = wait_timeout.nil? ? limiter.wait_timeout : Value.wait_timeout(wait_timeout)
      @max_wait_us = Value.interval("wait_timeout", max_wait)
    end

    # Makes this the wait of a job in its worker, for at most `patience` seconds. When its turn
    # comes later, {#acquire} raises an {OverLimit}, and the ticket stays in the queue.
    def of_job(claim_timeout_us, patience)
      @state = WaitState.of_job(claim_timeout_us, Value.interval("patience", patience), now)
      self
    end

    # Waits until the call is granted and returns a {Permit}. Raises {OverLimit} when the wait times
    # out, or at once when it is known to be longer.
    def acquire
      # A store that is being closed waits for the calls that may have a ticket.
      listen_for_wakeups(listen: false) unless @max_wait_us.zero?
      until (decision = attempt)
        listen_for_wakeups(listen: true)
        sleep_until_due
      end
      refuse(decision) unless decision.allowed?
      permit = Permit.new(@limiter, decision, @sent_at, !@estimate.nil?)
      # A grant that the store did not make leaves a ticket in its queue.
      cancel(delivered: true) if decision.degraded?
      permit
    ensure
      leave(delivered: !permit.nil?) if @hub
    end

    # Gives back a ticket or a lease, for a call that has ended. A call without a reply has used up
    # its time, so it does not wait for this.
    def cancel(delivered: false)
      return unless must_cancel?(delivered)

      Cleanup.cancel(@limiter, @id, wait: @error.nil?)
    end

    private

    # Leaves the hub. A store that is being closed waits for that, so the ticket goes back first.
    def leave(delivered:)
      if @hub.closed? && !delivered && must_cancel?(false)
        Cleanup.cancel_now(@limiter, @id)
        @sent_at = nil
      end
    ensure
      @hub.remove(self)
    end

    def must_cancel?(delivered)
      !@sent_at.nil? && state.must_cancel?(delivered)
    end

    def refuse(decision)
      # The store has nothing of a call that it has refused.
      @sent_at = nil unless decision.degraded?
      raise @limiter.over_limit(decision)
    end

    # The rules of the wait. Most calls end with the first attempt, without an error, and need none:
    # this one begins as the first attempt did.
    def state
      @state ||= WaitState.of_call(@owns_id, @max_wait_us, @sent_at).tap do |state|
        state.next(@sent_at, @channel)
        state.on_error(@error) if @error
        state.on_decision(@sent_at, @decision) if @decision
      end
    end

    # Calls the store once. Returns the decision, or `nil` when the call is queued.
    def attempt
      @wake_at = nil
      @channel = channel
      @decision = nil
      @sent_at = now
      decision = @limiter.acquire_with_id(@id, @cost, @estimate, @settle_within, next_wait, @order,
                                          @limits)
      @state = state if decision.status == :queued
      is_final = @state.nil? || @state.on_decision(now, decision)
      @decision = decision
      decision if is_final
    rescue Error => e
      @error = e
      @state&.on_error(e)
      raise
    end

    # Returns the arguments of {CallBuffer#wait}, or `nil` for a call that does not wait.
    def next_wait
      return @state.next(@sent_at, @channel) if @state

      [@max_wait_us, DEFAULT_CLAIM_TIMEOUT, @channel, END_OF_QUEUE] unless @max_wait_us.zero?
    end

    # Returns the seconds until the next attempt is due.
    def time_left
      @state.on_wakeup(@wake_at) if @wake_at
      @state.retry_at(channel) - now
    end
  end
end
