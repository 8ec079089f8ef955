# frozen_string_literal: true

module Paddlegate
  module Sidekiq
    module Limiter
      # Made by {Limiter.concurrent}. Each of its metrics asks the server; {#stats} has all in one.
      class Concurrent < Base
        # @api private
        def initialize(name, limit, lock_timeout, options)
          @lock_timeout = Policy.lock_timeout(lock_timeout) / 1_000_000.0
          super(name, [[:concurrency, limit, @lock_timeout]], options)
        end

        # How many times a block was run.
        def held
          stats.granted
        end

        # For how many seconds locks were held, in sum.
        def held_time
          stats.held_time
        end

        # How many times there was a lock at once.
        def immediate
          stats.immediate
        end

        # How many times a lock was had after a wait.
        def waited
          stats.waited
        end

        # For how many seconds those waited, in sum.
        def wait_time
          stats.wait_time
        end

        # How many blocks took longer than their `lock_timeout`.
        def overages
          stats.overages
        end

        # How many locks went to somebody else because their time was over.
        def reclaimed
          stats.reclaimed
        end

        private

        def with_defaults(options)
          super.merge(lock_timeout: @lock_timeout)
        end
      end

      # Made by {Limiter.bucket}.
      class Bucket < Base
        ARGUMENTS = %i[used].freeze
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

        # Longer ones leave it to the job to come again.
        def max_wait
          @waits ? super : 0
        end
      end

      # Made by {Limiter.window}.
      class Window < Base
        ARGUMENTS = %i[used].freeze

        # @api private
        def initialize(name, limit, interval, options)
          @interval = Value.interval("interval", interval) / 1_000_000.0
          super(name, [[:window, limit, @interval]], options)
        end

        private

        # All or nothing: a wait that might end before the window does is not begun.
        def max_wait
          super < @interval ? 0 : super
        end
      end

      # Made by {Limiter.leaky}. Each of its metrics asks the server; {#stats} has all in one.
      class Leaky < Base
        ARGUMENTS = %i[used].freeze

        # @api private
        def initialize(name, size, drain, options)
          super(name, [[:leaky, size, drain]], options)
        end

        # How many calls passed.
        def hits
          stats.granted
        end

        # How many were over the limit.
        def misses
          stats.refused
        end

        # For how many seconds callers slept before they passed, in sum.
        def sleep
          stats.wait_time
        end
      end

      # Made by {Limiter.points}.
      class Points < Base
        ARGUMENTS = %i[estimate].freeze

        # @api private
        def initialize(name, points, refill, options)
          super(name, [[:points, points, refill]], options)
        end
      end
    end
  end
end
