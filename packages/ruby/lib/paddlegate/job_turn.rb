# frozen_string_literal: true

module Paddlegate
  # @api private
  # How a job asks for its turn, in a job system that can put it away until then.
  module JobTurn
    # When a job comes back, in seconds, for which no time is known.
    UNKNOWN = 5
    # How long a job waits in its worker at most, in seconds, when its turn comes later than it
    # seemed.
    LONGEST_WAIT = 30

    # Returns the {Permit} of a job whose turn has come, or comes within `patience` seconds.
    # Otherwise the job has a ticket in the queue of the limiter, and an {OverLimit} is raised. Its
    # `retry_after` is the time until its turn. `options` are those of {Jobs#admit}.
    def self.take(limiter, id, patience, claim_timeout: nil, key: nil, **options)
      limiter = limiter.with_key(key) unless key.nil?
      admission = limiter.admit(id, on_limit: :reschedule, claim_timeout: claim_timeout, **options)
      return admission.permit if admission.action == :run

      after = admission.after
      if admission.action == :refuse || after.nil? || after > patience
        raise limiter.over_limit(admission.decision)
      end

      # With its ticket it waits here until it is woken.
      limiter.acquire(id: id, wait_timeout: LONGEST_WAIT, **options)
    end
  end
end
