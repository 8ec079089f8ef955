# frozen_string_literal: true

module Paddlegate
  module Sidekiq
    module Limiter
      # @api private
      # A job that runs, and the id under which it keeps its places: another one after each failure,
      # since the failed run may have been charged. It knows whether its work has begun: a job that
      # has done some of it must not run again because a later call found no Redis.
      class RunningJob
        def initialize(job)
          @id = [job["jid"], job["retry_count"]].compact.join(".") unless job["jid"].nil?
          @entered = []
          @begun = false
        end

        # Returns whether a limiter has granted anything to this run of the job.
        def begun?
          @begun
        end

        # Returns whether the error is of a call that found no store, made before the work began.
        def unavailable?(error)
          !@begun && @error.equal?(error)
        end

        # The work begins.
        def begin
          @begun = true
        end

        # Yields for a call that takes units, and learns of its result from what the block returns.
        def learn
          result = yield
          decisions = [result].flatten.map { |it| it.is_a?(Admission) ? it.decision : it }
          @begun ||= decisions.any?(&:allowed?)
          result
        rescue UnavailableError => e
          @error = e
          raise
        end

        # Yields the id for a call of a limiter, which is given by its name, group and key, since a
        # program may have several objects of it. It is `nil` for a job without one, and for a call
        # inside of another one, which must not share its lease.
        def enter(*limiter)
          return yield(nil) if @entered.include?(limiter)

          begin
            @entered.push(limiter)
            yield @id
          ensure
            @entered.delete(limiter)
          end
        end
      end
    end
  end
end
