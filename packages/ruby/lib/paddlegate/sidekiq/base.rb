# frozen_string_literal: true

module Paddlegate
  module Sidekiq
    module Limiter
      # The methods of all limiters. Safe to share between threads and to keep over `fork`.
      class Base
        NAME = /\A[A-Za-z0-9_-]+\z/
        OPTIONS = %i[wait_timeout policy ttl reschedule backoff group keyed statistics
                     mode block_after aging on_unavailable local_share_percent].freeze

        # The keywords of {#within_limit}.
        ARGUMENTS = %i[key priority share weight].freeze
        private_constant :NAME, :OPTIONS

        attr_reader :name

        # The options with their defaults, times in seconds; `reschedule`, `backoff`, `group`,
        # `keyed`, `statistics`, `mode`, `block_after`, `aging` and `local_share_percent` only if
        # they were given. Frozen.
        attr_reader :options

        # The limit in units: at once, in the interval, or in the bucket.
        attr_reader :size

        # @api private
        # Called by the factories of {Limiter}. `limits` is as in {Policy.pack}.
        def initialize(name, limits, options)
          @name = check_name(name)
          @size = limits.first[1]
          @limits = limits
          @options = with_defaults(options).freeze
          create(Limiter.validation_store)
        end

        # Runs the block within the limit and returns its value. Over the limit it raises
        # {OverLimit}, with which the job is rescheduled; with `policy: :ignore` it skips the block
        # and returns {SKIPPED}.
        #
        # `used` (bucket, window and leaky limiters): the units that the call takes; default 1.
        # `estimate` (points limiters): the estimated units; the block gets a handle whose
        # `points_used(actual)` corrects the estimate. `settle_within` (points limiters): how long
        # it can be corrected, an interval from 5 minutes (default) to 7 days. `key` (limiters with
        # `keyed: true`): the key whose limit it is, 1 to 512 bytes. `priority`, `share` and
        # `weight` order the calls that wait, as those of {Paddlegate::Limiter}.
        def within_limit(**arguments, &block)
          unknown = arguments.keys - self.class::ARGUMENTS
          raise ArgumentError, "unknown keyword: #{unknown.first.inspect}" unless unknown.empty?

          units = arguments.slice(:used, :estimate).transform_values { |it| Inner.round_up(it) }
          arguments = { **arguments, **units }
          job = Limiter.running_job if planned? && options[:policy] == :raise
          return limiter.within_limit(**arguments, &block) if job.nil?

          job.enter(name, options[:group], arguments[:key]) do |id|
            next limiter.within_limit(**arguments, &block) if id.nil?

            patience = [options[:wait_timeout], JobTurn.sidekiq_patience].max
            limiter.within_limit_of_job(id, patience, **arguments, &block)
          end
        end

        # Returns whether a job over this limit comes back when its turn comes: `backoff: :planned`.
        def planned?
          backoff == :planned
        end

        # Returns how often a job over this limit is rescheduled before it fails.
        def reschedule
          @options[:reschedule] || Limiter.config.reschedule
        end

        # Returns the proc for the delay of a rescheduled job, or `:planned`; see
        # {Configuration#backoff}.
        def backoff
          @options[:backoff] || Limiter.config.backoff
        end

        # Returns the counters of this limiter over all processes, {Statistics}, in one call. Those
        # of a keyed limiter are of all its keys.
        def stats
          limiter.stats
        end

        # Returns what was counted in each of the last 60 minutes and 48 hours, a {History}, of all
        # keys.
        def history
          limiter.history
        end

        # Deletes the charged units, the locks, the queue and the metrics. A keyed limiter needs a
        # `key`, and the metrics, which are of all keys, stay.
        def reset(key: nil)
          limiter.reset(key: key)
        end

        # Resets the limiter, as {#reset} does. Its name is listed until its `ttl` ends.
        def delete(key: nil)
          reset(key: key)
        end

        # Returns the name, for logs.
        def to_s
          name
        end

        def inspect
          "#<#{self.class} name=#{name.inspect} size=#{size.inspect}>"
        end

        # Returns the {Paddlegate::Limiter} on the configured store, which has all verbs: `peek`,
        # `pause`, `override`, `inspection`, `admit` and the others.
        #
        #   ERP_LIMIT.limiter.override(limit: 10, expires_in: :hour)
        def limiter
          store = Limiter.store
          cached = @cached
          cached = @cached = [store, create(store)].freeze unless cached&.first.equal?(store)
          cached.last
        end

        private

        def create(store)
          given = options.slice(:ttl, :group, :keyed, :statistics, :mode, :block_after, :aging,
                                :on_unavailable, :local_share_percent)
          given[:on_limit] = options[:policy]
          Inner.new(self, store, name, @limits, wait_timeout: max_wait, **given)
        end

        # Returns the maximum wait in seconds.
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

          wait, policy, ttl, reschedule, backoff = options.values_at(*OPTIONS)
          others = options.slice(:group, :keyed, :statistics, :mode, :block_after, :aging,
                                 :local_share_percent)
          on_unavailable = options[:on_unavailable]
          Paddlegate::Limiter.ignores?(policy, "policy") unless policy.nil?
          { wait_timeout: wait.nil? ? Library::WAIT_TIMEOUT : Value.wait_timeout(wait),
            policy: policy.nil? ? :raise : policy,
            ttl: ttl.nil? ? Library::TTL : Value.interval("ttl", ttl) / 1_000_000.0,
            reschedule: reschedule && Value.whole("reschedule", reschedule),
            backoff: backoff && Configuration.check_backoff(backoff), **others,
            on_unavailable: on_unavailable.nil? ? :raise : on_unavailable }.compact
        end
      end
    end
  end
end
