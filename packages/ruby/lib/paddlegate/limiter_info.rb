# frozen_string_literal: true

module Paddlegate
  # A limiter of {Factories#limiters}. Frozen.
  #
  # `limits`: its limits as they were last used, each a Hash of `kind`, `amount`, `interval` and
  # `offset` (seconds). `last_used`: seconds since 1970, to the minute; `nil` in memory, which does
  # not keep it. `ttl`: for how many seconds after that it is listed and its statistics are kept.
  LimiterInfo = Struct.new(:name, :limits, :last_used, :ttl) do
    # @api private
    # From a `pg_limiter_info`; `nil` from the one after the last.
    def self.read(memory)
      name = memory.get_string(0)
      return if name.empty?

      count = memory.get_uint64(self::COUNT)
      limits = Policy.unpack(memory, self::LIMITS, count)
      last_used, ttl = memory.get_bytes(self::COUNT + 8, 16).unpack("q2")
      last_used = last_used == -1 ? nil : last_used / 1_000_000.0
      new(name.force_encoding("UTF-8").freeze, limits, last_used, ttl / 1_000_000.0).freeze
    end
  end

  # Where a `pg_limiter_info` has its fields.
  LimiterInfo::LIMITS = 520
  LimiterInfo::COUNT = 776
  LimiterInfo::SIZE = 800
end
