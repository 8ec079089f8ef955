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
  Statistics = Struct.new(:granted, :refused, :waited, :wait_time, :units, :corrections, :held_time,
                          :overages, :reclaimed, :lapsed, :leases, :tickets, :shadow_refused) do
    # @api private
    # Creates statistics from the numbers of a `pg_statistics`.
    def self.of(numbers)
      statistics = new(*numbers)
      statistics.wait_time /= 1_000_000.0
      statistics.held_time /= 1_000_000.0
      statistics.freeze
    end

    # Returns the number of grants without a wait.
    def immediate
      granted - waited
    end
  end
end
