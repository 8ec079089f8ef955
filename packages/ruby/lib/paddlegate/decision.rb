# frozen_string_literal: true

module Paddlegate
  # The result of one call, with the numbers of the most restrictive limit: for a grant the limit
  # with the fewest remaining units, for a refusal the limit with the longest wait. Frozen.
  class Decision
    # The offsets and types of the fields of a `pg_decision`.
    STATUS = "@0l"
    REASON = "@4l"
    LABEL = "@8Z33"
    LIMITER = "@44l"
    LIMIT = "@48q"
    REMAINING = "@56q"
    RETRY_AFTER = "@64q"
    RESET_AFTER = "@72q"
    AT = "@80q"
    LEASE = "@88q"
    FENCE = "@96q"
    TICKET = "@104q"
    POSITION = "@112q"
    READY_AFTER = "@120q"
    PERMIT = "@128Z600"
    DEGRADED = "@728l"
    WOULD_REFUSE = "@732l"
    IS_LOWERED = "@736l"
    SIZE = 744
    GRANTED = 1
    STATUSES = %i[refused granted queued no_ticket].freeze
    NO_LIMITS = [].freeze
    private_constant :STATUS, :REASON, :LABEL, :LIMITER, :LIMIT, :REMAINING, :RETRY_AFTER,
                     :RESET_AFTER, :AT, :LEASE, :FENCE, :TICKET, :POSITION, :READY_AFTER, :PERMIT,
                     :DEGRADED, :WOULD_REFUSE, :IS_LOWERED, :STATUSES, :NO_LIMITS

    # The `pg_decision`.
    # @api private
    attr_reader :bytes

    # @api private
    # `bytes`: a `pg_decision`. A field is decoded when it is read, since most callers read one or
    # two. `names`: those of the limiters that decided together; `nil` for a single limiter.
    # `limits`: the `pg_decision_limits` that the call asked for, otherwise `nil`.
    def initialize(bytes, names = nil, limits = nil)
      @bytes = bytes
      @names = names
      @limits = limits
      freeze
    end

    # Returns each limit after this decision, in the order of the policy, as {DecisionLimit}s, for a
    # call with `limits: true`. Otherwise empty, as where no store decided.
    def limits
      @limits ? DecisionLimit.list(@limits, @names) : NO_LIMITS
    end

    # Returns the header fields, a Hash of Strings, that tell the caller of a server what this
    # decision left: of all {limits} if the call asked for them, otherwise of the tightest limit. A
    # refusal has `Retry-After`, in whole seconds, if the time is known.
    #
    # `fields`: `:draft`, `RateLimit-Policy` and `RateLimit` of the newest draft of the IETF;
    # `:"draft-6"`, `RateLimit-Limit`, `RateLimit-Remaining`, `RateLimit-Reset` and
    # `RateLimit-Policy` of the sixth; or `:x`, `X-RateLimit-Limit`, `X-RateLimit-Remaining`, and
    # `X-RateLimit-Reset` in seconds since 1970. Raises {InvalidError} for other names.
    def headers(fields = :draft)
      Library.headers(@bytes, @limits, @names || [], Value.word("fields", fields))
    end

    # Returns `:granted` or `:refused`. {Limiter#enqueue} and {Limiter#claim} also return `:queued`
    # (the call has a ticket) and `:no_ticket` (cancelled, lapsed or claimed before).
    def status
      STATUSES[@bytes.unpack1(STATUS)]
    end

    # Returns whether the call was granted.
    def allowed?
      @bytes.unpack1(STATUS) == GRANTED
    end

    # Returns whether the `on_unavailable` of the limiter decided because the store could not.
    def degraded?
      @bytes.unpack1(DEGRADED) == 1
    end

    # Returns whether the estimate was above the capacity of a limit and was lowered to it.
    def lowered?
      @bytes.unpack1(IS_LOWERED) == 1
    end

    # Returns why the call was refused or queued: the kind of the limit, such as `:window`, or
    # `:paused`; `:blocked` during a block ({Live#block}); `:too_large` for a cost above a limit
    # that was lowered at run time; `:running` for a job in its worker, if another run of it holds
    # its lease; `:unavailable` when the store could not decide. `nil` when granted.
    def reason
      Library::REASONS[@bytes.unpack1(REASON)]
    end

    # Returns, for a grant that only `mode: :shadow` made, why the call would have been refused or
    # would have had to wait, as {#reason}; otherwise `nil`. Such a grant charges nothing, and
    # `retry_after` is how long the call would have had to wait.
    def would_refuse
      Library::REASONS[@bytes.unpack1(WOULD_REFUSE)]
    end

    # Returns the label of the described limit, such as `:rpm`; without a label of its own that is
    # its kind. `nil` for a pause at run time, and when no limit applies.
    def label
      label = @bytes.unpack1(LABEL)
      label.to_sym unless label.empty?
    end

    # Returns the name of the limiter that the numbers are of, for limiters that decide together
    # ({Factories#together}); otherwise `nil`.
    def limiter
      index = number(LIMITER)
      @names[index] if index
    end

    # Returns the amount of the described limit in units, 1 for a throttle; `nil` when no limit
    # applies.
    def limit
      number(LIMIT)
    end

    # Returns the units that can be taken right after this decision; `nil` when no limit applies.
    def remaining
      number(REMAINING)
    end

    # Returns how many seconds (Float) to wait before the next attempt, or for a queued call before
    # {Limiter#claim}. If nothing else changes, an earlier attempt is refused and one at this time
    # is granted. 0 when granted; `nil` when no time is known (a pause without an end).
    def retry_after
      seconds(RETRY_AFTER)
    end

    # Returns the seconds (Float) until all units of the limit are available again, if no call is
    # made; `nil` when no time is known (a pause without an end).
    def reset_after
      seconds(RESET_AFTER)
    end

    # Returns the store's time of the decision, in microseconds since 1970; 0 when no store was
    # called.
    def at_us
      @bytes.unpack1(AT)
    end

    # Returns the id with which any process can correct or release the grant; `nil` unless the grant
    # has an estimate or a concurrency limit.
    def permit
      id = @bytes.unpack1(PERMIT).force_encoding("UTF-8")
      id unless id.empty?
    end

    # Returns the seconds (Float) for which the lease of the grant lasts; `nil` without a
    # concurrency limit.
    def lease
      seconds(LEASE)
    end

    # Returns the fencing token: a number that rises with every lease of the limiter, so that a
    # resource can reject late holders; `nil` without a concurrency limit.
    def fencing_token
      number(FENCE)
    end

    # Returns the number of the ticket of a queued call, which rises with every ticket; otherwise
    # `nil`.
    def ticket
      number(TICKET)
    end

    # Returns the number of tickets ahead of a queued call; `nil` unless it is queued.
    def position
      number(POSITION)
    end

    # Returns the seconds (Float) until a queued call can be granted, if all tickets ahead are;
    # `nil` when unknown.
    def ready_after
      seconds(READY_AFTER)
    end

    def to_h
      {
        status: status, allowed: allowed?, limit: limit, remaining: remaining,
        retry_after: retry_after, reset_after: reset_after, reason: reason, label: label,
        at_us: at_us, permit: permit, lease: lease, fencing_token: fencing_token, ticket: ticket,
        position: position, ready_after: ready_after, degraded: degraded?, limiter: limiter,
        would_refuse: would_refuse, lowered: lowered?, limits: limits
      }
    end

    def deconstruct_keys(_keys)
      to_h
    end

    def ==(other)
      other.is_a?(Decision) && to_h == other.to_h
    end
    alias eql? ==

    def hash
      to_h.hash
    end

    def inspect
      "#<#{self.class} #{to_h.map { |name, value| "#{name}=#{value.inspect}" }.join(" ")}>"
    end

    private

    # Reads a number; -1 stands for `nil`.
    def number(field)
      value = @bytes.unpack1(field)
      value unless value == -1
    end

    def seconds(field)
      micros = number(field)
      micros && (micros / 1_000_000.0)
    end
  end
end
