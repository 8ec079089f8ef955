# frozen_string_literal: true

module Paddlegate
  # The counters of a limiter over all processes, and its current leases and tickets. Frozen. Times
  # are sums in seconds.
  #
  # - `granted`: granted calls (leases, for a concurrency limit)
  # - `refused`: refused calls, and waits that timed out
  # - `waited`: grants that waited in the queue, and `wait_time`: the time for which those waited
  # - `units`: charged units, after corrections
  # - `corrections`: settled permits
  # - `held_time`: the time for which released leases were held
  # - `overages`: leases that were released after their end
  # - `reclaimed`: leases that had ended without a release when another lease was granted
  # - `lapsed`: tickets that lost their queue position because they were not claimed in time
  # - `leases`, `tickets`: current leases, and current tickets in the queue
  # - `shadow_refused`: calls that only `mode: :shadow` let pass; they count neither as granted nor
  #   as refused
  # - `refused_by`: how many of the refused calls each limit refused, by its label, such as
  #   `{ "window" => 3 }`; a pause, a block and the end of a wait refuse the others
  # - `waits`: how many of the grants that waited have waited how long, 22 counts in powers of two
  #   of a millisecond: below 1 ms, from 1 ms to below 2 ms, then to below 4 ms, and so on; the last
  #   from 2^20 ms (17 minutes and a half) on
  # - `degraded`: calls that processes decided without the store, by `on_unavailable`; they count
  #   neither as granted nor as refused
  # - `errors`: calls that failed because the store was unavailable
  # - `near_limit`: granted calls after which at most a fifth of a limit was left
  # - `estimated_units`: the units that grants and extensions charged: `units` before corrections
  # - `holds`: how many of the released leases were held how long, in counts as those of `waits`
  Statistics = Struct.new(:granted, :refused, :waited, :wait_time, :units, :corrections, :held_time,
                          :overages, :reclaimed, :lapsed, :leases, :tickets, :shadow_refused,
                          :refused_by, :waits, :degraded, :errors, :near_limit, :estimated_units,
                          :holds) do
    # @api private
    # The statistics of a limiter that was never used.
    def self.none
      numbers = members.to_h { |name| [name, name.end_with?("_time") ? 0.0 : 0] }
      times = ([0] * self::TIMES).freeze
      new(*numbers.merge(refused_by: {}.freeze, waits: times, holds: times).values).freeze
    end

    # @api private
    # Reads a `pg_statistics`.
    def self.of(memory)
      numbers = memory.get_array_of_int64(0, self::NUMBERS)
      waits = memory.get_array_of_int64(8 * self::NUMBERS, self::TIMES)
      last = memory.get_array_of_int64(self::LAST, 4)
      holds = memory.get_array_of_int64(self::LAST + 32, self::TIMES)
      statistics = new(*numbers, refused_by(memory).freeze, waits.freeze, *last, holds.freeze)
      statistics.wait_time /= 1_000_000.0
      statistics.held_time /= 1_000_000.0
      statistics.freeze
    end

    # Reads the `pg_refused_by` of a `pg_statistics`.
    def self.refused_by(memory)
      start = 8 * (self::NUMBERS + self::TIMES)
      Array.new(memory.get_int64(start)) do |i|
        at = start + 8 + (i * self::REFUSED_BY)
        [memory.get_string(at).force_encoding(Encoding::UTF_8), memory.get_int64(at + 40)]
      end.to_h
    end
    private_class_method :refused_by

    # Returns the number of grants without a wait.
    def immediate
      granted - waited
    end
  end

  # The parts of a `pg_statistics`: 13 numbers, the waits, a count, as many `pg_refused_by`, four
  # numbers, and how long leases were held.
  Statistics::NUMBERS = 13
  Statistics::TIMES = 22
  Statistics::REFUSED_BY = 48
  Statistics::LAST =
    (8 * (Statistics::NUMBERS + Statistics::TIMES + 1)) + (32 * Statistics::REFUSED_BY)
  Statistics::SIZE = Statistics::LAST + (8 * (4 + Statistics::TIMES))
end
