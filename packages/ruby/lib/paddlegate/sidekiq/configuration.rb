# frozen_string_literal: true

module Paddlegate
  module Sidekiq
    module Limiter
      # What {Limiter.configure} sets.
      class Configuration
        # `(300 * job["overrated"]) + rand(300) + 1` seconds.
        BACKOFF = ->(_limiter, job, _exception) { Library.backoff(job["overrated"], rand(300)) }

        # Of the options of a Redis pool, those that are heard, and those that make no difference:
        # each thread that calls has a connection of its own.
        SUPPORTED_OPTIONS = %i[url timeout network_timeout].freeze
        IGNORED_OPTIONS = %i[size pool_timeout pool_name].freeze
        private_constant :SUPPORTED_OPTIONS, :IGNORED_OPTIONS

        # A Hash with `url`, as in {Store#initialize}, and `timeout` (or `network_timeout`): seconds
        # within which every call has an answer or fails, 1 by default. `size` is accepted and not
        # needed.
        #
        # Without a `url` it is `PADDLEGATE_URL`, `REDIS_URL`, or `redis://localhost:6379/0`.
        attr_reader :redis

        # How often a job is rescheduled by default before it fails; 20. 0 never reschedules.
        def reschedule
          @reschedule || Library::RESCHEDULE
        end

        # Called with the limiter (or `nil`), the job and the exception: after how many seconds the
        # job comes again. `job["overrated"]` is how often it was over the limit, this time
        # included. By default {BACKOFF}: five minutes for each time, and up to five at random.
        attr_reader :backoff

        # Classes of errors by which jobs are rescheduled; add those of other libraries.
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

        # As Sidekiq finds its Redis, after the address that all languages of Paddlegate share.
        def default_url
          urls = ["PADDLEGATE_URL", ENV.fetch("REDIS_PROVIDER", nil), "REDIS_URL"]
          urls = urls.compact.map { |name| ENV.fetch(name, nil) }
          urls.find { |url| url && !url.empty? } || "redis://localhost:6379/0"
        end
      end
    end
  end
end
