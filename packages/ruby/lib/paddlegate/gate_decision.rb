# frozen_string_literal: true

module Paddlegate
  # The decision on a request, as {Gate#admit} returns it. Frozen.
  #
  # - `allowed`: whether the request may proceed; otherwise its response is a failure
  # - `delay`: seconds (Float) by which to delay the response, whether it succeeds or fails
  # - `slot`: the name of the slot that counted the request; `nil` when nothing limits the request
  # - `level`: `:second`, `:minute` or `:hour`: the level that refused, or the one with the longest
  #   delay; `nil` when no level is full
  # - `retry_after`: seconds (Float) until a refused request may pass; 0 when allowed, `nil` when no
  #   time is known (0 actions)
  # - `reason`: why the request was refused, such as `:bucket`; `nil` when allowed
  GateDecision = Struct.new(:allowed, :delay, :slot, :level, :retry_after, :reason) do
    alias_method :allowed?, :allowed

    # @api private
    # Reads a `pg_gate_decision`.
    def self.read(memory)
      allowed, level, reason, delay, retry_after = memory.get_bytes(0, self::SLOT).unpack("l3x4q2")
      slot = memory.get_string(self::SLOT).force_encoding("UTF-8").freeze
      new(allowed == 1, delay / 1_000_000.0, slot.empty? ? nil : slot, Library::LEVELS[level],
          retry_after == -1 ? nil : retry_after / 1_000_000.0, Library::REASONS[reason]).freeze
    end
  end

  # The offset of the slot in a `pg_gate_decision`.
  GateDecision::SLOT = 32
  GateDecision::SIZE = 552
end
