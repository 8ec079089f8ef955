# frozen_string_literal: true

module Paddlegate
  module Sidekiq
    module Limiter
      # The settings of {Limiter.configure}.
      class Configuration
        # The default delay of a rescheduled job: `(300 * job["overrated"]) + rand(300) + 1`
        # seconds.
        BACKOFF = ->(_limiter, job, _exception) { Library.backoff(job["overrated"], rand(300)) }

        # The options of a Redis pool that are used, and those that have no effect: each calling
        # thread has its own connection.
        SUPPORTED_OPTIONS = %i[url timeout network_timeout].freeze
        IGNORED_OPTIONS = %i[size pool_timeout pool_name].freeze
        private_constant :SUPPORTED_OPTIONS, :IGNORED_OPTIONS

        # A Hash with `url`, as in {Store#initialize}, and `timeout` (or `network_timeout`): seconds
        # within which every call returns or fails; default 1. `size` is accepted without effect.
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

        # A proc that is called with the limiter (or `nil`), the job and the exception, and returns
        # the seconds until the job runs again. `job["overrated"]` is how often the job was over the
        # limit, this time included. The default is {BACKOFF}: five minutes for each time, plus a
        # random time of up to five minutes.
        attr_reader :backoff

        # The classes of errors for which jobs are rescheduled; add the errors of other libraries.
        attr_reader :errors

        def initialize
          @redis = {}.freeze
          @backoff = BACKOFF
          @errors = [OverLimit]
        end

        def redis=(options)
          unless options.is_a?(Hash)
            Value.reject("must be a Hash with a url", "redis", options.class)
          end

          options = options.transform_keys(&:to_sym)
          surplus = options.keys - SUPPORTED_OPTIONS - IGNORED_OPTIONS
          unless surplus.empty?
            raise InvalidError.new("takes url, timeout and size, not #{surplus.first}", "redis")
          end

          @redis = options.freeze
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
          timeout = redis[:timeout] || redis[:network_timeout]
          Store.new(redis[:url] || default_url, timeout: timeout)
        end

        def freeze
          errors.freeze
          super
        end

        # @api private
        def self.check_backoff(backoff)
          return backoff if backoff.respond_to?(:call)

          Value.reject("must be a proc", "backoff", backoff)
        end

        private

        def initialize_copy(other)
          super
          @errors = other.errors.dup
        end

        # The variable that all languages of Paddlegate share, Sidekiq's Redis, and then Sidekiq's
        # order of variables.
        def default_url
          variable("PADDLEGATE_URL") || OwnRedis.url ||
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
