# frozen_string_literal: true

module Paddlegate
  # One limit after a {Decision}, by itself: a pause and the calls ahead in the queue do not count.
  # Frozen.
  #
  # - `limiter`: for limiters that decide together ({Factories#together}), the name of the one that
  #   has the limit; otherwise `nil`
  # - `label`: its label, such as `:rpm`; `kind`: its kind, such as `:window`
  # - `limit`: the limit in units, 1 for a throttle; `remaining`: the units that can be taken right
  #   after the decision
  # - `interval`: seconds (Float) of the interval, to drain or refill fully, of a lease, or of the
  #   longest period of a quota
  # - `retry_after`: seconds (Float) for which this limit holds the call up, 0 when it does not, as
  #   after a grant; `nil` when no time is known
  # - `reset_after`: seconds (Float) until all units are available again; `nil` when no time is
  #   known
  DecisionLimit = Struct.new(:limiter, :label, :kind, :limit, :interval, :remaining,
                             :retry_after, :reset_after) do
    # @api private
    # Reads a `pg_decision_limits`. `names` are those of the limiters that decided together.
    def self.list(bytes, names)
      Array.new(bytes.unpack1("Q")) do |i|
        read(bytes.byteslice(8 + (i * self::SIZE), self::SIZE), names)
      end.freeze
    end

    # Reads a `pg_decision_limit`.
    def self.read(bytes, names)
      label, index, kind, limit, interval, remaining, *times = bytes.unpack("Z33x3l2x4q5")
      times.map! { |micros| micros == -1 ? nil : micros / 1_000_000.0 }
      new(index == -1 ? nil : names[index], label.to_sym, Library::KINDS[kind], limit,
          interval / 1_000_000.0, remaining, *times).freeze
    end
    private_class_method :read
  end

  # The sizes of a `pg_decision_limit` and of a `pg_decision_limits`.
  DecisionLimit::SIZE = 88
  DecisionLimit::LIST_SIZE = 8 + (32 * 88)
end
