# frozen_string_literal: true

module Paddlegate
  # The permit of a grant. With a concurrency limit it holds a lease, which ends on {#release} or
  # after its `lock_timeout`.
  class Permit
    # The {Decision} that granted the permit.
    attr_reader :decision

    # @api private
    # `sent_at`: the time at which the granted call was sent, by the monotonic clock.
    def initialize(limiter, decision, sent_at, estimated)
      @limiter = limiter
      @decision = decision
      @id = decision.permit
      @estimated = estimated
      return unless (lease = decision.lease)

      @ends_at = sent_at + lease
      @pid = Process.pid
    end

    # Returns the id with which any process may call {Limiter#correct}, {Limiter#extend},
    # {Limiter#release} and {Limiter#renew}; `nil` without an estimate or a concurrency limit. It
    # changes when an extension is granted.
    attr_reader :id

    # Returns whether the `on_unavailable` of the limiter granted the permit without the store.
    def degraded?
      decision.degraded?
    end

    # Returns the fencing token: a number that rises with every lease of the limiter, so that a
    # resource can reject late holders; `nil` without a concurrency limit.
    def fencing_token
      decision.fencing_token
    end

    # Returns the minimum time in seconds (Float) for which the lease lasts from now, by the clock
    # of this process; `nil` without a concurrency limit.
    def expires_in
      @ends_at && [@ends_at - now, 0.0].max
    end

    # Returns whether the lease ended before its release, so that another call may have its slot.
    # Makes no call: true from the end of the lease on, or when the store has reported the loss.
    def lost?
      return false unless @ends_at

      @lost || (@settlement.nil? && now >= @ends_at)
    end

    # Ends the lease and returns `:released`; `:late` when it had ended before; `:unknown` when no
    # such lease exists, and without a concurrency limit. Calls the store once; later calls return
    # the same result.
    def release
      return :unknown unless @ends_at

      unless @settlement
        late = lost?
        @settlement = @limiter.release(id)
        @lost = late || @settlement != :released
      end
      @settlement
    end

    # Restarts the duration of the lease. Returns true; false when the lease has ended or was
    # released, and without a concurrency limit.
    def renew
      return false if @ends_at.nil? || @settlement

      sent_at = now
      lease = @limiter.renew(id)
      @ends_at = sent_at + lease if lease
      @lost = lease.nil?
      !lease.nil?
    end

    # Replaces the estimate by the actual cost, once: a number or a Hash, as a `cost` of {Limiter}.
    # Returns `:settled`; or `:already`, `:late` or `:unknown`, which change nothing. See
    # {Limiter#correct}. Raises {InvalidError} for a call without an estimate.
    def correct(actual)
      unless @estimated
        raise InvalidError.new("only a call with an estimate can be corrected", "estimate")
      end

      @limiter.correct(id, actual)
    end

    # Reserves more units for this call, such as a stream that grows: a number from 1 or a Hash, as
    # a `cost` of {Limiter}. Returns the {Decision}, and after a grant {#correct} compares with the
    # sum; or `:already`, `:late` or `:unknown` when the permit is not open. See {Limiter#extend}.
    # Raises {InvalidError} for a call without an estimate. With modules in place of the units it is
    # `Object#extend`.
    #
    #   permit.extend(500).allowed?
    def extend(units, *modules)
      return super if units.is_a?(Module)

      unless @estimated
        raise InvalidError.new("only a call with an estimate can be extended", "estimate")
      end

      extension = @limiter.extend(id, units)
      @id = extension.permit || id if extension.is_a?(Decision) && extension.allowed?
      extension
    end

    # Another name of {#correct}, as Sidekiq has it.
    def points_used(actual)
      correct(actual)
    end

    # Learns from the upstream API's response to this call, as {Limiter#learn_from_response} does.
    # The cost in the response settles the estimate; after that {#correct} returns `:already`.
    # For a lease without an estimate the settlement is `:unknown`, and the rest is learned. Returns
    # {Learned}.
    def learn_from_response(headers, body = "", status: nil, provider: :auto, max_pause: nil,
                            default_pause: nil, max_learned: nil)
      @limiter.learn_from_response(headers, body, status: status, provider: provider,
                                                  max_pause: max_pause,
                                                  default_pause: default_pause,
                                                  max_learned: max_learned, permit: id)
    end

    # Learns from the response of an HTTP client; see {Limiter#learn_from_http}.
    def learn_from_http(response, **options)
      @limiter.learn_from_http(response, **options, permit: id)
    end

    # @api private
    # Releases the lease after the block. An interrupt cannot prevent it; if the server cannot be
    # reached, the lease stays until its timeout. A forked process releases nothing.
    def release_after_block
      return unless @ends_at && @pid == Process.pid

      begin
        Thread.handle_interrupt(Object => :never) { release }
      rescue Error
        # The lease ends after its timeout.
      end
      warn("paddlegate: a lease ended before its block: limiter=#{@limiter.name} id=#{id}") if lost?
    end

    def inspect
      "#<#{self.class} limiter=#{@limiter.name.inspect} id=#{id.inspect}>"
    end

    private

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
