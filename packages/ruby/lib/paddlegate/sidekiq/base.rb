# frozen_string_literal: true

module Paddlegate
  module Sidekiq
    module Limiter
      # What all limiters can. Safe to share between threads and to keep over `fork`.
      class Base
        NAME = /\A[A-Za-z0-9_-]+\z/
        OPTIONS = %i[wait_timeout policy ttl reschedule backoff on_unavailable share].freeze

        # What {#within_limit} takes.
        ARGUMENTS = [].freeze
        private_constant :NAME, :OPTIONS

        attr_reader :name

        # The options with their defaults, times in seconds; `reschedule`, `backoff` and `share`
        # only where they are its own. Frozen.
        attr_reader :options

        # How many units there are: at once, in the interval, or in the bucket.
        attr_reader :size

        # @api private
        # Made by the factories of {Limiter}. `limits` is as in {Policy.pack}.
        def initialize(name, limits, options)
          @name = check_name(name)
          @size = limits.first[1]
          @limits = limits
          @options = with_defaults(options).freeze
          create(Limiter.validation_store)
        end

        # Runs the block within the limit and returns its value. Raises {OverLimit}, with which the
        # job comes again later; or skips the block and returns {SKIPPED}, with `policy: :ignore`.
        #
        # `used` (of a bucket, a window or a leaky limiter): how many units the call takes, by
        # default 1. `estimate` (of points): how many it is likely to take; the block gets a handle
        # whose `points_used(actual)` corrects it.
        def within_limit(**arguments, &block)
          unknown = arguments.keys - self.class::ARGUMENTS
          raise ArgumentError, "unknown keyword: #{unknown.first.inspect}" unless unknown.empty?

          limiter.within_limit(**arguments.transform_values { |units| Inner.round_up(units) },
                               &block)
        end

        # How often a job is rescheduled that this refuses, before it fails.
        def reschedule
          @options[:reschedule] || Limiter.config.reschedule
        end

        # After how many seconds such a job comes again; see {Configuration#backoff}.
        def backoff
          @options[:backoff] || Limiter.config.backoff
        end

        # What all processes did with it: {Statistics}, in one call.
        def stats
          limiter.stats
        end

        # Forgets all that was taken, all who hold and wait, and the metrics.
        def reset
          limiter.reset
        end

        # As {#reset}. Its name is listed until its `ttl` is over.
        def delete
          reset
        end

        # The name, for logs.
        def to_s
          name
        end

        def inspect
          "#<#{self.class} name=#{name.inspect} size=#{size.inspect}>"
        end

        private

        # The limiter on the store that is configured now.
        def limiter
          store = Limiter.store
          cached = @cached
          cached = @cached = [store, create(store)].freeze unless cached&.first.equal?(store)
          cached.last
        end

        def create(store)
          given = options.slice(:policy, :ttl, :on_unavailable, :share)
          Inner.new(self, store, name, @limits, wait_timeout: max_wait, **given)
        end

        # For how many seconds it waits.
        def max_wait
          options[:wait_timeout]
        end

        def check_name(name)
          name = name.name if name.is_a?(Symbol)
          name = Value.text("name", name)
          return name.dup.freeze if NAME.match?(name)

          Value.reject("must have letters, numbers, hyphens and underscores only", "name", name)
        end

        def with_defaults(options)
          unknown = options.keys - OPTIONS
          raise ArgumentError, "unknown keyword: #{unknown.first.inspect}" unless unknown.empty?

          wait, policy, ttl, reschedule, backoff, mode, share = options.values_at(*OPTIONS)
          { wait_timeout: wait.nil? ? Library::WAIT_TIMEOUT : Value.wait_timeout(wait),
            policy: policy.nil? ? :raise : policy,
            ttl: ttl.nil? ? Library::TTL : Value.interval("ttl", ttl) / 1_000_000.0,
            reschedule: reschedule && Value.whole("reschedule", reschedule),
            backoff: backoff && Configuration.check_backoff(backoff),
            on_unavailable: mode.nil? ? :raise : mode, share: share }.compact
        end
      end
    end
  end
end
