# frozen_string_literal: true

module Paddlegate
  # What is in force beside the policies of the processes. Frozen.
  #
  # - `version`: rises with every change; 0 when nothing is in force
  # - `in_use`: whether the store knew the limiter before this call: it had a state or statistics;
  #   `false` for a name that nobody has used, for limits of other kinds than those in use under it,
  #   and without any limit; an earlier order counts as a use
  # - `paused_for`: seconds (Float) that a pause lasts; `nil` without one
  # - `overrides`: by limit of the policy what was told, a Hash of `kind`, `amount`, `interval` and
  #   `offset` (seconds); `nil` where nothing was told
  # - `expires_in`: seconds (Float) that the overrides hold; `nil` when they hold until they are
  #   removed, and without any
  # - `learned`: the same for what was learned from upstream, which rules where nothing was told
  RuntimeState = Struct.new(:version, :in_use, :paused_for, :overrides, :expires_in, :learned) do
    # @api private
    # From a `pg_runtime_state`.
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

  # Where a `pg_runtime_state` has its fields.
  RuntimeState::IN_USE = 32
  RuntimeState::OVERRIDES = 40
  RuntimeState::LEARNED = 296
  RuntimeState::SIZE = 552
end
