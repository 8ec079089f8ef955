# frozen_string_literal: true

module Paddlegate
  module Sidekiq
    module Limiter
      # Created by {Limiter.unlimited}. Calls no server, and accepts the arguments of the other
      # limiters.
      class Unlimited < Base
        # The argument of the block.
        class Handle
          # Returns `:settled` and changes nothing.
          def correct(_actual)
            :settled
          end
          alias points_used correct
        end

        HANDLE = Handle.new.freeze
        EMPTY_STATISTICS = Statistics.none
        # The metrics of {Concurrent} and {Leaky}.
        METRICS = { held: :granted, held_time: :held_time, immediate: :immediate, waited: :waited,
                    wait_time: :wait_time, overages: :overages, reclaimed: :reclaimed,
                    hits: :granted, misses: :refused, sleep: :wait_time }.freeze
        private_constant :HANDLE, :EMPTY_STATISTICS, :METRICS

        # Each returns 0, so that `unlimited` can stand for any other limiter.
        METRICS.each { |metric, counter| define_method(metric) { stats.public_send(counter) } }

        # @api private
        def initialize # rubocop:disable Lint/MissingSuper
          @name = "unlimited"
          @options = {}.freeze
        end

        # Runs the block and returns its value.
        def within_limit(*_ignored, **_also_ignored)
          raise InvalidError.new("give one", "block") unless block_given?

          Limiter.running_job&.begin
          yield HANDLE
        end

        # Returns a {Paddlegate::Limiter} that grants every call.
        def limiter
          Limiter.validation_store.unlimited(name)
        end

        # Returns {Statistics} that are all 0.
        def stats
          EMPTY_STATISTICS
        end

        # Returns a {History} without counts.
        def history
          History.none
        end

        # Does nothing, since there is no state.
        def reset(**_ignored); end
      end
    end
  end
end
