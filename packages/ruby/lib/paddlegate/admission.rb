# frozen_string_literal: true

module Paddlegate
  # The action for a job, as {Jobs#admit} returns it. Frozen.
  #
  # - `action`: `:run`, run the job and release the permit when the job has ended; `:wait`, call
  #   {Jobs#admit} again after a while; `:reschedule`, put the job away until its time; `:drop`,
  #   discard the job; `:refuse`, the job is over the limit and the caller decides what to do
  # - `after`: seconds (Float) until the job may run or the call should be repeated; `nil` when no
  #   time is known (a pause without an end), and for `:run` and `:drop`
  # - `decision`: the {Decision}, with the queue position of a job that waits
  # - `permit`: the {Permit} of a job that runs, otherwise `nil`
  Admission = Struct.new(:action, :after, :decision, :permit) do
    # @api private
    def initialize(*)
      super
      freeze
    end

    # @api private
    # Reads a `pg_admission`. The other parameters are those of {Permit#initialize}.
    def self.read(memory, limiter, sent_at, estimated)
      after = memory.get_int64(8)
      decision = limiter.decision_of(memory.get_bytes(self::DECISION, Decision::SIZE))
      permit = Permit.new(limiter, decision, sent_at, estimated) if decision.allowed?
      new(Library::ACTIONS[memory.get_int32(0)], after == -1 ? nil : after / 1_000_000.0, decision,
          permit)
    end
  end

  # The offset of the decision in a `pg_admission`.
  Admission::DECISION = 16
  Admission::SIZE = Admission::DECISION + Decision::SIZE
end
