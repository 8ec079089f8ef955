# frozen_string_literal: true

module Paddlegate
  module Sidekiq
    module Limiter
      # @api private
      # The limiter of Paddlegate behind a {Base}.
      class Inner < Paddlegate::Limiter
        # Rounds up fractions of a unit, as callers compute them, also in a Hash by label. Other
        # values are returned unchanged, to be checked later.
        def self.round_up(units)
          return units.transform_values { |of_label| round_up(of_label) } if units.is_a?(Hash)
          return units unless units.is_a?(Numeric) && units.real? && units.finite?

          units.ceil
        end

        def initialize(owner, store, name, limits, **options)
          @owner = owner
          super(store, name, limits, **options)
        end

        # Runs the block as {within_limit} does when the turn of the job has come. Otherwise the job
        # keeps its place in the queue under the id, and {OverLimit} says when its turn comes.
        def within_limit_of_job(id, patience, used: nil, **arguments)
          raise InvalidError.new("give one", "block") unless block_given?

          permit = turn_of_job(id, patience, used, arguments)
          begin
            yield permit
          ensure
            permit.release_after_block
          end
        end

        # The call has already been made, so a fraction must not cause an error.
        def correct(permit, actual)
          super(permit, Inner.round_up(actual))
        end

        def over_limit(decision)
          OverLimit.new(@owner, decision)
        end

        private

        def turn_of_job(id, patience, used, arguments)
          JobTurn.take(self, id, patience, cost: used, **arguments)
        rescue InvalidError => e
          raise used.nil? ? e : in_words_of_used(e)
        end
      end
    end
  end
end
