# frozen_string_literal: true

require_relative "over_limit"
require_relative "configuration"
require_relative "base"
require_relative "kinds"
require_relative "unlimited"

module Paddlegate
  module Sidekiq
    # Stands in for the limiters of Sidekiq Enterprise:
    #
    #   Sidekiq::Limiter = Paddlegate::Sidekiq::Limiter
    #
    # A name has letters, numbers, hyphens and underscores. An interval is a number of seconds, or
    # `:second`, `:minute`, `:hour`, `:day`. Making a limiter asks no server; wrong arguments raise
    # {InvalidError} or another ArgumentError. Every factory takes these `options`, of which `nil`
    # is the default:
    #
    # - `wait_timeout`: for how many seconds {Base#within_limit} waits, where that kind waits at
    #   all; 5 by default, 0 does not wait.
    # - `policy`: `:raise` raises {OverLimit}, the default; `:ignore` (or `:skip`) skips the block
    #   and returns {SKIPPED}.
    # - `ttl`: for how many seconds after its last use it is listed and its metrics are kept; 90
    #   days by default.
    # - `reschedule`: how often a job that is over the limit is rescheduled before it fails; by
    #   default what {configure} says.
    # - `backoff`: as {Configuration#backoff}, before which it goes.
    # - `on_unavailable` and `share`: what becomes of a job while Redis cannot decide, as of
    #   {Factories}. `:raise` by default; `:closed` is {OverLimit}, so that the job comes again.
    module Limiter
      # The only one that needs the library, which is loaded at its first use.
      autoload :Inner, File.expand_path("inner", __dir__)
      private_constant :Inner

      @lock = Mutex.new
      @config = Configuration.new.freeze

      class << self
        # What {configure} has set. Frozen.
        attr_reader :config

        # Yields a {Configuration} to change. Limiters that were made before obey too. An error in
        # the block changes nothing.
        def configure
          @lock.synchronize do
            changed = @config.dup
            yield changed
            @store = nil unless changed.redis.equal?(@config.redis)
            @config = changed.freeze
          end
          nil
        end

        # At most `limit` at once, each for at most `lock_timeout` seconds, by default 30.
        def concurrent(name, limit, lock_timeout: nil, **options, &block)
          reject_block(block)
          Concurrent.new(name, limit, lock_timeout, options)
        end

        # At most `limit` in each second, minute, hour or day (UTC); `interval` is that word. Only
        # one of a second waits.
        def bucket(name, limit, interval, **options, &block)
          reject_block(block)
          Bucket.new(name, limit, interval, options)
        end

        # At most `limit` in any `interval`, exactly. Waits only where `wait_timeout` is not shorter
        # than the interval.
        def window(name, limit, interval, **options, &block)
          reject_block(block)
          Window.new(name, limit, interval, options)
        end

        # A burst of `size`, which drains fully in `drain`.
        def leaky(name, size, drain, **options, &block)
          reject_block(block)
          Leaky.new(name, size, drain, options)
        end

        # A budget of `points`, full again after `refill`, which is a time, not a rate.
        def points(name, points, refill, **options, &block)
          reject_block(block)
          Points.new(name, points, refill, options)
        end

        # Everything passes, and no server is asked. Takes the arguments of any other factory.
        def unlimited(*_ignored, **_also_ignored, &block)
          reject_block(block)
          Unlimited.new
        end

        # For a job middleware: after how many seconds a job comes again that ended by `exception`;
        # `nil` when it does not, and the exception is to be raised: it is no rate limit, or the job
        # was rescheduled often enough.
        #
        # `limiter` is that of an {OverLimit}, else `nil`. Changes nothing; the middleware adds one
        # to `job["overrated"]` when it reschedules.
        def next_reschedule(limiter, job, exception)
          return if config.errors.none? { |error| exception.is_a?(error) }

          rules = limiter.is_a?(Base) ? limiter : config
          times = Value.whole("overrated", job["overrated"] || 0)
          times = Library.reschedule_next(times, rules.reschedule) or return
          delay = rules.backoff.call(limiter, job.merge("overrated" => times), exception)
          Value.seconds("backoff", delay)
          delay
        end

        # @api private
        # The store of all limiters, made at the first use.
        def store
          @store || @lock.synchronize { @store ||= @config.make_store }
        end

        # @api private
        # Where arguments are checked before there is a configuration.
        def validation_store
          @validation_store || @lock.synchronize { @validation_store ||= Store.new("memory://") }
        end

        private

        def reject_block(block)
          return unless block

          raise InvalidError.new("a limiter takes none here, use within_limit", "block")
        end
      end
    end
  end
end
