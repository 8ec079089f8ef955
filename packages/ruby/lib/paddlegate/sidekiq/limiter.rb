# frozen_string_literal: true

require_relative "over_limit"
require_relative "configuration"
require_relative "base"
require_relative "kinds"
require_relative "running_job"
require_relative "unlimited"

module Paddlegate
  module Sidekiq
    # A replacement for the limiters of Sidekiq Enterprise:
    #
    #   Sidekiq::Limiter = Paddlegate::Sidekiq::Limiter
    #
    # A name has letters, numbers, hyphens and underscores. An interval is a number of seconds, or
    # `:second`, `:minute`, `:hour`, `:day`. Creating a limiter contacts no server; invalid
    # arguments raise {InvalidError} or another ArgumentError. Every factory takes these `options`;
    # `nil` stands for the default:
    #
    # - `wait_timeout`: the maximum wait of {Base#within_limit} in seconds, for the kinds that wait;
    #   default 5, 0 does not wait.
    # - `policy`: `:raise` (default) raises {OverLimit}; `:ignore` (or `:skip`) skips the block and
    #   returns {SKIPPED}.
    # - `ttl`: seconds for which the limiter is listed and its metrics are kept after its last use;
    #   default 90 days.
    # - `reschedule`: how often a job over the limit is rescheduled before it fails; default: the
    #   value of {configure}.
    # - `backoff`: as {Configuration#backoff}, which it overrides: a proc or `:planned`.
    # - `group`: the group of the limiter, as in {Factories}; default none.
    # - `keyed` and `statistics`: as in {Factories}; default `false` and `true`. A keyed limiter has
    #   a limit for each `key:` of {Base#within_limit}, without a limiter for each.
    # - `on_unavailable` and `local_share_percent`: the behaviour while Redis cannot decide, as in
    #   {Factories}.
    #   Default `:raise`; with `:fail_closed` the job gets {OverLimit} and is rescheduled.
    module Limiter
      # The only constant that needs the C library, which is loaded on first use.
      autoload :Inner, File.expand_path("inner", __dir__)
      private_constant :Inner

      @lock = Mutex.new
      @config = Configuration.new.freeze

      class << self
        # Returns the settings of {configure}. Frozen.
        attr_reader :config

        # Yields a copy of the {Configuration} to change. The change applies to existing limiters
        # too. An error in the block changes nothing.
        def configure
          @lock.synchronize do
            changed = @config.dup
            yield changed
            @store = nil unless changed.redis.equal?(@config.redis)
            @config = changed.freeze
          end
          nil
        end

        # Creates a limiter of at most `limit` locks at once, each for at most `lock_timeout`
        # seconds; default 30.
        def concurrent(name, limit, lock_timeout: nil, **options, &block)
          reject_block(block)
          Concurrent.new(name, limit, lock_timeout, options)
        end

        # Creates a limiter of at most `limit` units in each `interval`: `:second`, `:minute`,
        # `:hour` or `:day` (UTC). Waits only if the interval is a second.
        def bucket(name, limit, interval, **options, &block)
          reject_block(block)
          Bucket.new(name, limit, interval, options)
        end

        # Creates a limiter of at most `limit` units in any `interval`, exactly. Waits only if
        # `wait_timeout` is not shorter than the interval.
        def window(name, limit, interval, **options, &block)
          reject_block(block)
          Window.new(name, limit, interval, options)
        end

        # Creates a limiter with a burst of `size` units, which drains fully in `drain`.
        def leaky(name, size, drain, **options, &block)
          reject_block(block)
          Leaky.new(name, size, drain, options)
        end

        # Creates a limiter with a budget of `points`, full again after `refill`, which is a time,
        # not a rate.
        def points(name, points, refill, **options, &block)
          reject_block(block)
          Points.new(name, points, refill, options)
        end

        # Creates a limiter that grants every call without a call to the server. Accepts the
        # arguments of any other factory.
        def unlimited(*_ignored, **_also_ignored, &block)
          reject_block(block)
          Unlimited.new
        end

        # Returns the seconds after which a job that failed with `exception` runs again, for a job
        # middleware. Returns `nil` if the job is not rescheduled and the exception is to be raised:
        # it is not a rate limit error, or the job has used up its reschedules.
        #
        # `limiter` is that of an {OverLimit}, otherwise `nil`. Changes nothing; the middleware adds
        # one to `job["overrated"]` when it reschedules.
        def next_reschedule(limiter, job, exception)
          return if config.errors.none? { |error| exception.is_a?(error) }

          rules = limiter.is_a?(Base) ? limiter : config
          times = overrated(job)
          if rules.backoff == :planned && exception.is_a?(OverLimit)
            return planned_delay(limiter, times, exception)
          end

          times = Library.reschedule_next(times, rules.reschedule) or return
          backoff = rules.backoff == :planned ? Configuration::BACKOFF : rules.backoff
          delay = backoff.call(limiter, job.merge("overrated" => times), exception)
          Value.seconds("backoff", delay)
          delay
        end

        # @api private
        # Returns how often in a row a job was over its limits. A failure ends the row: with it the
        # `retry_count` changes, and each of Sidekiq's retries has its own reschedules.
        def overrated(job)
          return 0 if job["overrated_retry"] != job["retry_count"]

          Value.whole("overrated", job["overrated"] || 0)
        end

        # Runs the block as the body of a job: its limiters with `backoff: :planned` keep its place.
        # For a job middleware; `job` has a `jid`, and `retry_count` after a failure.
        def in_job(job)
          JobTurn::HOSTS.push(:sidekiq) if JobTurn::HOSTS.empty?
          before = running_job
          Thread.current[JobTurn::RUNNING] = RunningJob.new(job)
          yield
        ensure
          Thread.current[JobTurn::RUNNING] = before
        end

        # @api private
        # Returns the job that this fiber runs; `nil` outside of jobs.
        def running_job
          Thread.current[JobTurn::RUNNING]
        end

        # @api private
        # Returns the store of all limiters, which is created on first use.
        def store
          @store || @lock.synchronize { @store ||= @config.make_store }
        end

        # @api private
        # Returns the store on which arguments are checked before there is a configuration.
        def validation_store
          @validation_store || @lock.synchronize { @validation_store ||= Store.new("memory://") }
        end

        private

        # A cost above the limit never passes.
        def planned_delay(limiter, times, exception)
          most = limiter.options[:reschedule] if limiter.is_a?(Base)
          return if exception.reason == :too_large
          return if most && Library.reschedule_next(times, most).nil?

          JobTurn.delay(exception, JobTurn.sidekiq_patience)
        end

        def reject_block(block)
          return unless block

          raise InvalidError.new("a limiter takes none here, use within_limit", "block")
        end
      end
    end
  end
end
