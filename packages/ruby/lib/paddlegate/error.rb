# frozen_string_literal: true

module Paddlegate
  # Included in every error of this library, for `rescue Paddlegate::Error`.
  module Error
  end

  # The call is over the limit; retry after {#retry_after}. Nothing was charged.
  class OverLimit < StandardError
    include Error

    # The {Decision} that refused, or for a {Gate} the {GateDecision}; `nil` only when a test
    # created the error without one.
    attr_reader :decision

    # The name of the limiter; of limiters that decide together that of the one that refused, and
    # for a {Gate} the name of the slot.
    attr_reader :limiter

    def initialize(limiter, decision)
      @limiter = limiter
      @decision = decision
      super("over the limit: limiter=#{limiter} reason=#{reason || "unknown"} " \
            "retry_after=#{retry_after || "unknown"}")
    end

    # Returns the seconds (Float) after which the same call is granted if no other call is made;
    # `nil` when no time is known: a pause without an end, or a cost above a limit that was lowered.
    def retry_after
      decision&.retry_after
    end

    # Returns why the call was refused, such as `:window`; see {Decision#reason}.
    def reason
      decision&.reason
    end
  end

  # An argument is invalid; fix the {#argument}. Nothing was changed.
  class InvalidError < ArgumentError
    include Error

    # The name of the invalid argument.
    attr_reader :argument

    # Why the argument is invalid.
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

    # Returns whether the call may have been charged nevertheless.
    def may_have_counted?
      @may_have_counted
    end
  end

  # A stored value is damaged or was not written by this library; reset the limiter or use another
  # database.
  class DataError < StandardError
    include Error
  end

  # A defect of this library; please report it.
  class InternalError < StandardError
    include Error
  end
end
