# frozen_string_literal: true

module Paddlegate
  module Sidekiq
    module Limiter
      # Made by {Limiter.unlimited}. Asks no server, and takes whatever the others take.
      class Unlimited < Base
        # What the block gets.
        class Handle
          # Changes nothing: `:settled`.
          def points_used(_actual)
            :settled
          end
        end

        HANDLE = Handle.new.freeze
        EMPTY_STATISTICS = Statistics.of([0] * Statistics.members.size)
        private_constant :HANDLE, :EMPTY_STATISTICS

        # @api private
        def initialize # rubocop:disable Lint/MissingSuper
          @name = "unlimited"
          @options = {}.freeze
        end

        # Runs the block and returns its value.
        def within_limit(*_ignored, **_also_ignored)
          raise InvalidError.new("give one", "block") unless block_given?

          yield HANDLE
        end

        # Of nothing: all are 0.
        def stats
          EMPTY_STATISTICS
        end

        # There is nothing to forget.
        def reset; end
      end
    end
  end
end
