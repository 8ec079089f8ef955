# frozen_string_literal: true

module Paddlegate
  module Sidekiq
    module Limiter
      # The settings of {Limiter.configure}.
      class Configuration
        # The default delay of a rescheduled job: `(300 * job["overrated"]) + rand(300) + 1`
        # seconds.
        BACKOFF = ->(_limiter, job, _exception) { Library.backoff(job["overrated"], rand(300)) }

        # The options of a Redis client or pool that are used, and those that have no effect: each
        # calling thread has its own connection.
        TIMEOUTS = %i[timeout network_timeout].freeze
        IGNORED_OPTIONS = %i[size pool_timeout pool_name driver id reconnect_attempts].freeze
        private_constant :TIMEOUTS, :IGNORED_OPTIONS

        # Where the limits are: a Hash or a pool.
        #
        # A Hash has a `url`, as in {Store#initialize}, or `host`, `port`, `path`, `db`, `username`,
        # `password`, `ssl` and `ssl_params`, which also replace the parts of a `url`; for Sentinel
        # `sentinels`, `name`, `sentinel_username` and `sentinel_password`; and `timeout` (or
        # `network_timeout`): seconds within which every call returns or fails; default 1. `size` is
        # accepted without effect. `ssl_params` may have `verify_mode`, and names of files as
        # `ca_file`, `cert` and `key`.
        #
        # Of a pool, which has `with` as a ConnectionPool, the address is used and not the
        # connections. It may be one of the gem redis or redis-client.
        #
        # The default `url` is that in the environment variable `PADDLEGATE_URL`, otherwise that of
        # Sidekiq's own Redis where Sidekiq is loaded, otherwise in the variable that
        # `REDIS_PROVIDER` names, otherwise in `REDIS_URL`, otherwise `redis://localhost:6379/0`.
        attr_reader :redis

        # Returns how often a job is rescheduled by default before it fails; 20 unless set. 0 never
        # reschedules.
        def reschedule
          @reschedule || Library::RESCHEDULE
        end

        # What decides when a job over its limit runs again: a proc, or `:planned`, with which the
        # job comes back when its turn comes: as much earlier as the interval in which Sidekiq looks
        # for scheduled jobs, and it waits in its worker for the rest, as for every turn within one
        # and a half of that interval. It keeps its place in the queue of its limiter, and
        # `reschedule` counts only where it was given to that limiter. For a limiter of
        # {Paddlegate::Factories} and an error of another library no turn is known, so {BACKOFF}
        # decides.
        #
        # A proc is called with the limiter (of one of {Paddlegate::Factories} the name, without any
        # `nil`), the job and the exception, and returns
        # the seconds until the job runs again. `job["overrated"]` is how often the job was over the
        # limit, this time included. The default is {BACKOFF}: five minutes for each time, plus a
        # random time of up to five minutes.
        attr_reader :backoff

        # The classes of errors for which jobs are rescheduled: {Paddlegate::OverLimit}, that of
        # {Limiter} too; add the errors of other libraries.
        attr_reader :errors

        def initialize
          @redis = {}.freeze
          @backoff = BACKOFF
          @errors = [Paddlegate::OverLimit]
        end

        def redis=(options)
          @redis = options.respond_to?(:with) ? options : check_options(options)
        end

        def reschedule=(times)
          @reschedule = Value.whole("reschedule", times)
        end

        def backoff=(backoff)
          @backoff = Configuration.check_backoff(backoff)
        end

        # @api private
        # Creates the store of the limiters.
        def make_store
          return Store.new(url_of_pool) unless redis.is_a?(Hash)

          Store.new(url_of(redis) || default_url, timeout: redis.values_at(*TIMEOUTS).compact.first)
        end

        def freeze
          errors.freeze
          super
        end

        # @api private
        def self.check_backoff(backoff)
          return backoff if backoff.respond_to?(:call) || backoff == :planned

          Value.reject("must be a proc or :planned", "backoff", backoff)
        end

        private

        def initialize_copy(other)
          super
          @errors = other.errors.dup
        end

        def check_options(options)
          unless options.is_a?(Hash)
            Value.reject("must be a Hash with a url, or a pool", "redis", options.class)
          end

          options = options.transform_keys(&:to_sym)
          surplus = options.keys - RedisUrl::OPTIONS - TIMEOUTS - IGNORED_OPTIONS - [:url]
          unless surplus.empty?
            known = "url, host, port, path, db, username, password, ssl, ssl_params, sentinels, " \
                    "name, timeout and size"
            raise InvalidError.new("takes #{known}, not #{surplus.first}", "redis")
          end

          url_of(options)
          options.freeze
        end

        def url_of(options)
          RedisUrl.of_options(**options.slice(:url, *RedisUrl::OPTIONS).compact)
        end

        def url_of_pool
          RedisUrl.of_pool(redis)
        end

        # The variable that all languages of Paddlegate share, Sidekiq's Redis, and then Sidekiq's
        # order of variables.
        def default_url
          variable("PADDLEGATE_URL") || RedisUrl.of_sidekiq ||
            variable(ENV.fetch("REDIS_PROVIDER", nil)) || variable("REDIS_URL") ||
            "redis://localhost:6379/0"
        end

        def variable(name)
          url = name && ENV.fetch(name, nil)
          url unless url.nil? || url.empty?
        end
      end
    end
  end
end
