# frozen_string_literal: true

module Paddlegate
  # The answer to one call, with the numbers of the limit that is the tightest: of a grant the one
  # with the least left, of a refusal the one that takes longest to let the call pass. Frozen.
  class Decision
    # Where a `pg_decision` has its fields.
    STATUS = "@0l"
    REASON = "@4l"
    INDEX = "@8q"
    LIMIT = "@16q"
    REMAINING = "@24q"
    RETRY_AFTER = "@32q"
    RESET_AFTER = "@40q"
    AT = "@48q"
    LEASE = "@56q"
    FENCE = "@64q"
    TICKET = "@72q"
    POSITION = "@80q"
    READY_AFTER = "@88q"
    PERMIT = "@96Z96"
    DEGRADED = "@192l"
    SIZE = 200
    GRANTED = 1
    STATUSES = %i[refused granted queued gone].freeze
    private_constant :STATUS, :REASON, :INDEX, :LIMIT, :REMAINING, :RETRY_AFTER, :RESET_AFTER, :AT,
                     :LEASE, :FENCE, :TICKET, :POSITION, :READY_AFTER, :PERMIT, :DEGRADED, :STATUSES

    # @api private
    # `bytes`: those of a `pg_decision`. Most callers look at one or two fields, so they are read
    # when asked for.
    def initialize(bytes)
      @bytes = bytes
      freeze
    end

    # `:granted` or `:refused`; of {Limiter#enqueue} and {Limiter#claim} also `:queued` (it has a
    # place in the queue) and `:gone` (it has none: cancelled, lapsed or claimed before).
    def status
      STATUSES[@bytes.unpack1(STATUS)]
    end

    # Whether the call may go ahead.
    def allowed?
      @bytes.unpack1(STATUS) == GRANTED
    end

    # Whether the store could not decide, so that `on_unavailable` of the limiter has.
    def degraded?
      @bytes.unpack1(DEGRADED) == 1
    end

    # The kind of the limit that refused, such as `:window`; `nil` when granted. `:unavailable` when
    # it was refused because the store cannot decide.
    def reason
      Library::KINDS[@bytes.unpack1(REASON)]
    end

    # Which limit of the policy the numbers describe, counted from 0.
    def index
      @bytes.unpack1(INDEX)
    end

    # The units of that limit; `nil` when nothing limits.
    def limit
      number(LIMIT)
    end

    # The units that could be taken right after this decision; `nil` when nothing limits.
    def remaining
      number(REMAINING)
    end

    # Seconds (Float): refused before, granted at it. 0 when granted; `nil` when no time is known
    # (a paused limiter). Of a queued call, when to claim.
    def retry_after
      seconds(RETRY_AFTER)
    end

    # Seconds (Float) until all of the limit is there again, if nobody calls; `nil` when no time is
    # known.
    def reset_after
      seconds(RESET_AFTER)
    end

    # The store's time of the decision, in microseconds since 1970; 0 when no store was asked.
    def at_us
      @bytes.unpack1(AT)
    end

    # The id under which a grant may be corrected or released, from any process; `nil` unless it has
    # an estimate or a limit of concurrency.
    def permit
      id = @bytes.unpack1(PERMIT).force_encoding("UTF-8")
      id unless id.empty?
    end

    # Seconds (Float) that the lease of a grant lasts; `nil` without a limit of concurrency.
    def lease
      seconds(LEASE)
    end

    # A number that rises with every lease of the limiter, to fence off holders that are late; `nil`
    # without a limit of concurrency.
    def fence
      number(FENCE)
    end

    # The number of the ticket of a queued call, which rises with every ticket; else `nil`.
    def ticket
      number(TICKET)
    end

    # How many stand before a queued call; `nil` unless it is queued.
    def position
      number(POSITION)
    end

    # Seconds (Float) after which a queued call passes if all before it do; `nil` where that is not
    # known.
    def ready_after
      seconds(READY_AFTER)
    end

    def to_h
      {
        status: status, allowed: allowed?, limit: limit, remaining: remaining,
        retry_after: retry_after, reset_after: reset_after, reason: reason, index: index,
        at_us: at_us, permit: permit, lease: lease, fence: fence, ticket: ticket,
        position: position, ready_after: ready_after, degraded: degraded?
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

    # -1 stands for a number that there is none of.
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
