# frozen_string_literal: true

module Paddlegate
  # What a grant hands over. With a limit of concurrency it is a lease, which ends by {#release} or
  # after its `lock_timeout`.
  class Permit
    # The {Decision} that granted it.
    attr_reader :decision

    # @api private
    # `sent_at`: when the call that was granted was sent, by the monotonic clock.
    def initialize(limiter, decision, sent_at, estimated)
      @limiter = limiter
      @decision = decision
      @estimated = estimated
      return unless (lease = decision.lease)

      @ends_at = sent_at + lease
      @pid = Process.pid
    end

    # The id under which any process may call {Limiter#correct}, {Limiter#release} and
    # {Limiter#renew}; `nil` when there was no estimate and there is no limit of concurrency.
    def id
      decision.permit
    end

    # Whether it was granted without the store, by `on_unavailable` of the limiter.
    def degraded?
      decision.degraded?
    end

    # A number that rises with every lease of the limiter, to fence off holders that are late; `nil`
    # without a limit of concurrency.
    def fence
      decision.fence
    end

    # Seconds (Float) that the lease lasts at least, by the clock of this process; `nil` without a
    # limit of concurrency.
    def expires_in
      @ends_at && [@ends_at - now, 0.0].max
    end

    # Whether the lease has ended before it was released, so that another may have its place. Asks
    # nobody: true from its end on, or when the server has said so.
    def lost?
      return false unless @ends_at

      @lost || (@settlement.nil? && now >= @ends_at)
    end

    # Ends the lease: `:released`; `:late` when it had ended before; `:unknown` when it is not
    # there, and without a limit of concurrency. Asks once; later calls answer the same.
    def release
      return :unknown unless @ends_at

      unless @settlement
        late = lost?
        @settlement = @limiter.release(id)
        @lost = late || @settlement != :released
      end
      @settlement
    end

    # Gives the lease its whole time again. False when it has ended, or was released.
    def renew
      return false if @ends_at.nil? || @settlement

      sent_at = now
      lease = @limiter.renew(id)
      @ends_at = sent_at + lease if lease
      @lost = lease.nil?
      !lease.nil?
    end

    # Replaces the estimate by what the call did cost, once: `:settled`; or `:already`, `:late`,
    # `:unknown`, which change nothing. See {Limiter#correct}.
    def points_used(actual)
      unless @estimated
        raise InvalidError.new("only a call with an estimate can be corrected", "estimate")
      end

      @limiter.correct(id, actual)
    end

    # Learns from the answer of an upstream API to this call, as {Limiter#learn}, and settles the
    # estimate by the cost that it tells, after which {#points_used} answers `:already`. Of a lease
    # without an estimate a cost is `:unknown`; the rest is learned. Answers {Learned}.
    def learn_from_response(headers, body = "", status: nil, provider: :auto, max_pause: nil,
                            max_learned: nil)
      @limiter.learn_from_response(headers, body, status: status, provider: provider,
                                                  max_pause: max_pause, max_learned: max_learned,
                                                  permit: id)
    end

    # As {#learn_from_response}, from the answer of an HTTP client: see {Limiter#learn_from_http}.
    def learn_from_http(response, **options)
      @limiter.learn_from_http(response, **options, permit: id)
    end

    # @api private
    # At the end of the block. Nothing that comes meanwhile keeps the lease; a server that cannot be
    # reached does, until the lease ends by itself. A child has no part in it.
    def release_after_block
      return unless @ends_at && @pid == Process.pid

      begin
        Thread.handle_interrupt(Object => :never) { release }
      rescue Error
        # It ends by itself.
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
