# frozen_string_literal: true

module Paddlegate
  # What a limiter has counted in each minute and hour, as UTC has them, by the clock of the store.
  # Frozen.
  #
  # - `minutes`: the last 60 minutes, the oldest first; the last one is not over
  # - `hours`: the last 48 hours, the oldest first; the last one is not over. They contain the
  #   minutes
  #
  # Both are lists of {History::Entry}.
  History = Struct.new(:minutes, :hours) do
    # @api private
    # Reads a `pg_history`.
    def self.of(memory)
      entries = memory.get_array_of_int64(0, self::NUMBERS).each_slice(5).map do |start, *counts|
        History::Entry.new(start / 1_000_000.0, *counts).freeze
      end
      new(entries.first(self::MINUTES).freeze, entries.drop(self::MINUTES).freeze).freeze
    end

    # @api private
    # The history of a limiter that was never used.
    def self.none
      new(History::Entry.none(60, self::MINUTES), History::Entry.none(3600, self::HOURS)).freeze
    end
  end

  # The counts of one minute or hour of a {History}. Frozen.
  #
  # - `start`: when it began, in seconds since 1970
  # - `granted`: granted calls (leases, for a concurrency limit)
  # - `refused`: refused calls, and waits that timed out
  # - `waited`: grants that waited in the queue
  # - `units`: charged units. A correction counts when it is made; when more was given back than
  #   charged, this is 0
  History::Entry = Struct.new(:start, :granted, :refused, :waited, :units) do
    # @api private
    # Returns so many entries of so many seconds each, without counts.
    def self.none(length, count)
      last = Time.now.to_i / length
      (last - count + 1..last).map { |i| new((length * i).to_f, 0, 0, 0, 0).freeze }.freeze
    end
  end

  # The parts of a `pg_history`: the minutes and the hours, of 5 numbers each.
  History::MINUTES = 60
  History::HOURS = 48
  History::NUMBERS = 5 * (History::MINUTES + History::HOURS)
  History::SIZE = 8 * History::NUMBERS
end
