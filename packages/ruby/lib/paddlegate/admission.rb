# frozen_string_literal: true

module Paddlegate
  # What is done with a job; see {Jobs#admit}. Frozen.
  #
  # - `action`: `:run`, and release the permit when it has ended; `:wait`, ask again after a while;
  #   `:reschedule`, put it away until its time; `:drop`, discard it; `:refuse`, it is over the
  #   limit and what that means is left to you
  # - `after`: seconds (Float) until it may run, or should be asked about again; `nil` when that is
  #   not known (paused), and of a job that runs or is dropped
  # - `decision`: the {Decision}, with the place of a job that waits
  # - `permit`: the {Permit} of a job that runs, else `nil`
  Admission = Struct.new(:action, :after, :decision, :permit) do
    # @api private
    def initialize(*)
      super
      freeze
    end

    # @api private
    # From a `pg_admission`; the rest as in {Permit#initialize}.
    def self.read(memory, limiter, sent_at, estimated)
      after = memory.get_int64(8)
      decision = Decision.new(memory.get_bytes(self::DECISION, Decision::SIZE))
      permit = Permit.new(limiter, decision, sent_at, estimated) if decision.allowed?
      new(Library::ACTIONS[memory.get_int32(0)], after == -1 ? nil : after / 1_000_000.0, decision,
          permit)
    end
  end

  # Where a `pg_admission` has its decision.
  Admission::DECISION = 16
  Admission::SIZE = Admission::DECISION + Decision::SIZE
end
