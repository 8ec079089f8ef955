# frozen_string_literal: true

module Paddlegate
  module Sidekiq
    module Limiter
      # Over the limit; a job middleware reschedules the job by {Limiter.next_reschedule}.
      class OverLimit < Paddlegate::OverLimit
        # `limiter`: the {Base} that refused. Tests may raise one without a decision.
        def initialize(limiter = nil, decision = nil)
          super
        end
      end
    end
  end
end
