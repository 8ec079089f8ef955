# frozen_string_literal: true

module Paddlegate
  module Sidekiq
    module Limiter
      # @api private
      # The limiter of Paddlegate that does the work of a {Base}.
      class Inner < Paddlegate::Limiter
        # Units as callers compute them: a fraction of one is taken as a whole one. Anything else is
        # left to be checked.
        def self.round_up(units)
          return units unless units.is_a?(Numeric) && units.real? && units.finite?

          units.ceil
        end

        def initialize(owner, store, name, limits, **options)
          @owner = owner
          super(store, name, limits, **options)
        end

        # The call has been made when this is told, so that a fraction must not fail.
        def correct(permit, actual, at_us: nil)
          super(permit, Inner.round_up(actual), at_us: at_us)
        end

        def over_limit(decision)
          OverLimit.new(@owner, decision)
        end
      end
    end
  end
end
