# frozen_string_literal: true

module Paddlegate
  # One limit of a policy as a value, for {Factories#limiter} and {Live#override}. Frozen. The
  # methods take the arguments of the factories of the same names; see {Factories}.
  #
  #   Paddlegate.limiter("llm", rpm: Paddlegate::Limit.window(500, :minute),
  #                             tpm: Paddlegate::Limit.points(150_000, :minute), concurrency: 20)
  Limit = Struct.new(:kind, :numbers, :label) do
    class << self
      # At most `limit` leases at once, each at most `lock_timeout` (default 30 seconds) long unless
      # it is renewed.
      def concurrency(limit, lock_timeout: nil)
        new(:concurrency, [limit, lock_timeout])
      end

      # At most `limit` units in each aligned interval.
      def bucket(limit, interval, offset = 0)
        new(:bucket, [limit, interval, offset])
      end

      # At most `limit` units in any interval.
      def window(limit, interval)
        new(:window, [limit, interval])
      end

      # A burst of `capacity` units, which drains fully in `drain`. `refund` is `:full` (default) or
      # `:undrained`.
      def leaky(capacity, drain, refund: nil)
        new(:leaky, [capacity, drain, refund])
      end

      # A budget of `capacity` points, full again after `refill`. `refund` is `:full` (default) or
      # `:undrained`.
      def points(capacity, refill, refund: nil)
        new(:points, [capacity, refill, refund])
      end

      # At most `limit` units in each period of the calendar: `:day`, `:week`, `:month`, `:quarter`
      # or `:year`.
      def quota(limit, per, timezone: nil, starts: nil)
        new(:quota, [limit, per, timezone, starts])
      end

      # `limit` starts per `interval`, evenly spaced.
      def throttle(interval, limit: 1)
        new(:throttle, [limit, interval])
      end
    end

    def initialize(kind, numbers, label = nil)
      super
      numbers.freeze
      freeze
    end

    def inspect
      name = "#{label.inspect[0, 40]} " if label
      "#<Paddlegate::Limit #{name}#{kind} #{numbers.compact.map(&:inspect).join(", ")}>"
    end
    alias_method :to_s, :inspect
  end
end
