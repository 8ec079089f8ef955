# frozen_string_literal: true

module Paddlegate
  module Sidekiq
    module Limiter
      # The call is over the limit; a job middleware reschedules the job with
      # {Limiter.next_reschedule}.
      class OverLimit < Paddlegate::OverLimit
        # `limiter`: the {Base} that refused. Tests may raise an error without a limiter and a
        # decision.
        def initialize(limiter = nil, decision = nil)
          super
        end
      end
    end
  end
end
