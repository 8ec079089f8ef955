# frozen_string_literal: true

module Paddlegate
  module Sidekiq
    module Limiter
      # @api private
      # A job that runs, and the id under which it keeps its places: another one after each failure,
      # since the failed run may have been charged.
      class RunningJob
        def initialize(job)
          @id = [job["jid"], job["retry_count"]].compact.join(".") unless job["jid"].nil?
          @entered = []
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
