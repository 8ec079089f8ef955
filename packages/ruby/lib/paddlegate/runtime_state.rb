# frozen_string_literal: true

module Paddlegate
  # The pause, the block, the overrides and the learned limits of a limiter, which take precedence
  # over the policies of the processes. Frozen.
  #
  # - `version`: a number that rises with every change; 0 when nothing is in force
  # - `in_use`: whether the store knew the limiter before this call: it had a state or statistics.
  #   `false` for a name that was never used; an earlier command counts as a use
  # - `paused_for`: seconds (Float) for which the pause lasts from now; `nil` without a pause
  # - `overrides`: the active overrides in a Hash by label, also those of labels that this policy
  #   does not have. Each is a Hash of `label`, `kind`, `amount`, `interval` and `offset` (seconds).
  #   The amount of a throttle is its starts per interval
  # - `expires_in`: seconds (Float) for which the overrides last from now; `nil` when they last
  #   until they are removed, and without overrides
  # - `learned`: the limits learned from the upstream, in the same form; they apply where no
  #   override is active
  # - `blocked_for`: seconds (Float) for which the block lasts from now, by {Live#block} or by
  #   refusals (`block_after` of {Factories}); `nil` without a block
  # - `mode`: the override of the mode, `:enforce` or `:shadow`, which lasts as long as those of
  #   limits; `nil` without one
  RuntimeState = Struct.new(:version, :in_use, :paused_for, :overrides, :expires_in, :learned,
                            :blocked_for, :mode) do
    # @api private
    # Reads a `pg_runtime_state`.
    def self.read(memory)
      version, paused_for, expires_in = memory.get_array_of_int64(0, 3)
      overridden, learned = memory.get_array_of_int64(self::COUNTS, 2)
      new(version, memory.get_int32(self::IN_USE) == 1, seconds(paused_for),
          limits(memory, self::OVERRIDES, overridden), seconds(expires_in),
          limits(memory, self::LEARNED, learned), seconds(memory.get_int64(self::BLOCKED_FOR)),
          mode(memory.get_string(self::MODE))).freeze
    end

    def self.limits(memory, at, count)
      Policy.unpack(memory, at, count).to_h { |limit| [limit[:label], limit] }.freeze
    end

    def self.seconds(micros)
      micros / 1_000_000.0 unless micros == -1
    end

    def self.mode(name)
      name.to_sym unless name.empty?
    end
    private_class_method :limits, :seconds, :mode
  end

  # The offsets of the fields of a `pg_runtime_state`.
  RuntimeState::IN_USE = 24
  RuntimeState::COUNTS = 32
  RuntimeState::OVERRIDES = 48
  RuntimeState::LEARNED = 5424
  RuntimeState::BLOCKED_FOR = 10_800
  RuntimeState::MODE = 10_808
  RuntimeState::SIZE = 10_824
end
