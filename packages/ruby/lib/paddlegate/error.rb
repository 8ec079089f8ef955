# frozen_string_literal: true

module Paddlegate
  # In every error of this library, for `rescue Paddlegate::Error`.
  module Error
  end

  # Over the limit: come back after {#retry_after}. Nothing was charged.
  class OverLimit < StandardError
    include Error

    # The {Decision} that refused, or of a {Gate} the {GateDecision}; `nil` only of an error that a
    # test has made.
    attr_reader :decision

    # The name of the limiter, or of the slot of a {Gate}.
    attr_reader :limiter

    def initialize(limiter, decision)
      @limiter = limiter
      @decision = decision
      super("over the limit: limiter=#{limiter} reason=#{reason || "unknown"} " \
            "retry_after=#{retry_after || "unknown"}")
    end

    # Seconds (Float) after which the same call is granted if nobody else calls; `nil` when no time
    # is known (a paused limiter).
    def retry_after
      decision&.retry_after
    end

    # The kind of the limit that refused, such as `:window`; see {Decision#reason}.
    def reason
      decision&.reason
    end
  end

  # The call is wrong: fix the {#argument}. Nothing was changed.
  class InvalidError < ArgumentError
    include Error

    # The name of the wrong argument.
    attr_reader :argument

    # What is wrong with it.
    attr_reader :reason

    def initialize(reason, argument)
      @reason = reason
      @argument = argument
      super("#{argument}: #{reason}")
    end
  end

  # The store cannot decide now.
  class UnavailableError < StandardError
    include Error

    def initialize(message, may_have_counted: false)
      @may_have_counted = may_have_counted
      super(message)
    end

    # Whether the call may have been charged all the same.
    def may_have_counted?
      @may_have_counted
    end
  end

  # The stored value is not ours or is damaged: reset the limiter or use another database.
  class DataError < StandardError
    include Error
  end

  # A defect of this library; please report it.
  class InternalError < StandardError
    include Error
  end
end
