# frozen_string_literal: true

module Paddlegate
  module Sidekiq
    module Limiter
      # Created by {Limiter.concurrent}. Each metric calls the server; {#stats} returns all metrics
      # in one call.
      class Concurrent < Base
        # @api private
        def initialize(name, limit, lock_timeout, options)
          @lock_timeout = Policy.lock_timeout(lock_timeout) / 1_000_000.0
          super(name, [[:concurrency, limit, @lock_timeout]], options)
        end

        # Returns how many locks were granted.
        def held
          stats.granted
        end

        # Returns the total time in seconds for which locks were held.
        def held_time
          stats.held_time
        end

        # Returns how many locks were granted without a wait.
        def immediate
          stats.immediate
        end

        # Returns how many locks were granted after a wait.
        def waited
          stats.waited
        end

        # Returns the total wait in seconds of the locks that were granted after a wait.
        def wait_time
          stats.wait_time
        end

        # Returns how many blocks took longer than their `lock_timeout`.
        def overages
          stats.overages
        end

        # Returns how many locks expired without a release before another caller got a lock.
        def reclaimed
          stats.reclaimed
        end

        private

        def with_defaults(options)
          super.merge(lock_timeout: @lock_timeout)
        end
      end

      # Created by {Limiter.bucket}.
      class Bucket < Base
        ARGUMENTS = %i[used key priority share weight].freeze
        INTERVALS = %w[second minute hour day].freeze
        private_constant :INTERVALS

        # @api private
        def initialize(name, limit, interval, options)
          unless (interval.is_a?(Symbol) || interval.is_a?(String)) &&
                 INTERVALS.include?(interval.to_s)
            Value.reject("must be :second, :minute, :hour or :day", "interval", interval)
          end

          @waits = interval.to_s == "second"
          super(name, [[:bucket, limit, interval]], options)
        end

        private

        # With an interval longer than a second the call does not wait, and the job is rescheduled.
        def max_wait
          @waits ? super : 0
        end
      end

      # Created by {Limiter.window}.
      class Window < Base
        ARGUMENTS = %i[used key priority share weight].freeze

        # @api private
        def initialize(name, limit, interval, options)
          @interval = Value.interval("interval", interval) / 1_000_000.0
          super(name, [[:window, limit, @interval]], options)
        end

        private

        # Waits for a whole interval or not at all, since a shorter wait might end before the window
        # does.
        def max_wait
          super < @interval ? 0 : super
        end
      end

      # Created by {Limiter.leaky}. Each metric calls the server; {#stats} returns all metrics in
      # one call.
      class Leaky < Base
        ARGUMENTS = %i[used key priority share weight].freeze

        # @api private
        def initialize(name, size, drain, options)
          super(name, [[:leaky, size, drain]], options)
        end

        # Returns how many calls were granted.
        def hits
          stats.granted
        end

        # Returns how many calls were over the limit.
        def misses
          stats.refused
        end

        # Returns the total wait of granted calls in seconds.
        def sleep
          stats.wait_time
        end
      end

      # Created by {Limiter.points}.
      class Points < Base
        ARGUMENTS = %i[estimate settle_within key priority share weight].freeze

        # @api private
        def initialize(name, points, refill, options)
          super(name, [[:points, points, refill]], options)
        end
      end
    end
  end
end
