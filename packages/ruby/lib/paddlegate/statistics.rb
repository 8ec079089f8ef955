# frozen_string_literal: true

module Paddlegate
  # What a limiter has done in all processes, and who is there now. Frozen. Times are sums, in
  # seconds.
  #
  # - `granted`: calls that passed (leases held, of a limit of concurrency)
  # - `refused`: calls that were refused, and waits whose time was up
  # - `waited`: grants that had to wait, and `wait_time`: the time that those waited
  # - `units`: units taken, after corrections
  # - `corrections`: permits that were settled
  # - `held_time`: the time that released leases were held
  # - `overages`: leases whose holder released them after their end
  # - `reclaimed`: leases that had ended without a release when somebody else was granted one
  # - `lapsed`: tickets that lost their place because they did not look in time
  # - `leases`, `tickets`: leases held and tickets in the queue now
  Statistics = Struct.new(:granted, :refused, :waited, :wait_time, :units, :corrections, :held_time,
                          :overages, :reclaimed, :lapsed, :leases, :tickets) do
    # @api private
    # From the numbers of a `pg_statistics`.
    def self.of(numbers)
      statistics = new(*numbers)
      statistics.wait_time /= 1_000_000.0
      statistics.held_time /= 1_000_000.0
      statistics.freeze
    end

    # Grants that did not have to wait.
    def immediate
      granted - waited
    end
  end
end
