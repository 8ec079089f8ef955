# frozen_string_literal: true

module Paddlegate
  # A limiter in the list of {Factories#limiters} or {Factories#limiter_page}. Frozen.
  #
  # `group`: the group, `nil` without one and in memory. `limits`: the limits of all policies of the
  # name as last used, each a Hash of `label`, `kind`, `amount`, `interval` and `offset` (seconds)
  # as in a {RuntimeState}; that of a quota has `per` (a Symbol), `timezone` and `starts` too, and
  # its `interval` is that of its longest period. `last_used`: seconds since 1970, to the minute;
  # `nil` in memory, which does not record it. `ttl`: seconds for which the limiter is listed and
  # its statistics are kept after that. `keyed`: whether it has a state for each key; all keys are
  # one entry. `mode`: `:enforce` or `:shadow`, as last used; {Limiter#runtime_state} has an
  # override of it.
  LimiterInfo = Struct.new(:name, :group, :limits, :last_used, :ttl, :keyed, :mode) do
    # @api private
    # Reads a `pg_limiter_info`; `nil` for the one that marks the end of the list.
    def self.read(memory)
      name = memory.get_string(0)
      return if name.empty?

      group = memory.get_string(self::GROUP).force_encoding("UTF-8").freeze
      count = memory.get_uint64(self::COUNT)
      limits = Policy.unpack(memory, self::LIMITS, count)
      last_used, ttl = memory.get_bytes(self::COUNT + 8, 16).unpack("q2")
      last_used = last_used == -1 ? nil : last_used / 1_000_000.0
      new(name.force_encoding("UTF-8").freeze, group.empty? ? nil : group, limits, last_used,
          ttl / 1_000_000.0, memory.get_int32(self::KEYED) == 1,
          memory.get_string(self::MODE).to_sym).freeze
    end
  end

  # The offsets of the fields of a `pg_limiter_info`.
  LimiterInfo::GROUP = 520
  LimiterInfo::LIMITS = 1040
  LimiterInfo::COUNT = 6416
  LimiterInfo::KEYED = 6440
  LimiterInfo::MODE = LimiterInfo::KEYED + 4
  LimiterInfo::SIZE = 6464
end
