# frozen_string_literal: true

module Paddlegate
  # What is in force beside the policies of the processes. Frozen.
  #
  # - `version`: rises with every change; 0 when nothing is in force
  # - `paused_for`: seconds (Float) that a pause lasts; `nil` without one
  # - `overrides`: by limit of the policy what was told, a Hash of `kind`, `amount`, `interval` and
  #   `offset` (seconds); `nil` where nothing was told
  # - `expires_in`: seconds (Float) that the overrides hold; `nil` when they hold until they are
  #   removed, and without any
  # - `learned`: the same for what was learned from upstream, which rules where nothing was told
  Controls = Struct.new(:version, :paused_for, :overrides, :expires_in, :learned) do
    # @api private
    # From a `pg_controls`.
    def self.read(memory)
      version, paused_for, expires_in, count = memory.get_array_of_int64(0, 4)
      new(version, seconds(paused_for), Policy.unpack(memory, self::OVERRIDES, count),
          seconds(expires_in), Policy.unpack(memory, self::LEARNED, count)).freeze
    end

    def self.seconds(micros)
      micros / 1_000_000.0 unless micros == -1
    end
    private_class_method :seconds
  end

  # Where a `pg_controls` has its fields.
  Controls::OVERRIDES = 32
  Controls::LEARNED = 288
  Controls::SIZE = 544
end
