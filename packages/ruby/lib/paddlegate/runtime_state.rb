# frozen_string_literal: true

module Paddlegate
  # The pause, the overrides and the learned limits of a limiter, which take precedence over the
  # policies of the processes. Frozen.
  #
  # - `version`: a number that rises with every change; 0 when nothing is in force
  # - `in_use`: whether the store knew the limiter before this call: it had a state or statistics.
  #   `false` for a name that was never used, for limits of other kinds than those in use under the
  #   name, and for a limiter without any limit; an earlier command counts as a use
  # - `paused_for`: seconds (Float) for which the pause lasts from now; `nil` without a pause
  # - `overrides`: the active override of each limit of the policy, a Hash of `kind`, `amount`,
  #   `interval` and `offset` (seconds); `nil` for a limit without an override. The amount of a
  #   throttle is its starts per interval
  # - `expires_in`: seconds (Float) for which the overrides last from now; `nil` when they last
  #   until they are removed, and without overrides
  # - `learned`: the limits learned from the upstream, in the same form; they apply where no
  #   override is active
  RuntimeState = Struct.new(:version, :in_use, :paused_for, :overrides, :expires_in, :learned) do
    # @api private
    # Reads a `pg_runtime_state`.
    def self.read(memory)
      version, paused_for, expires_in, count = memory.get_array_of_int64(0, 4)
      new(version, memory.get_int32(self::IN_USE) == 1, seconds(paused_for),
          Policy.unpack(memory, self::OVERRIDES, count), seconds(expires_in),
          Policy.unpack(memory, self::LEARNED, count)).freeze
    end

    def self.seconds(micros)
      micros / 1_000_000.0 unless micros == -1
    end
    private_class_method :seconds
  end

  # The offsets of the fields of a `pg_runtime_state`.
  RuntimeState::IN_USE = 32
  RuntimeState::OVERRIDES = 40
  RuntimeState::LEARNED = 296
  RuntimeState::SIZE = 552
end
