# frozen_string_literal: true

module Paddlegate
  module Sidekiq
    # The server middleware of Sidekiq 6 to 8: a job over its limit runs again later, which is none
    # of its retries. Installed by `require "paddlegate/sidekiq"` after Sidekiq, as the outermost:
    # others see that the job did not end.
    class Middleware
      include ::Sidekiq::ServerMiddleware if defined?(::Sidekiq::ServerMiddleware)

      # The sorted set of Sidekiq's scheduled jobs.
      SCHEDULE = "schedule"
      private_constant :SCHEDULE

      # Runs a job. Over the limit, and for an error of {Limiter::Configuration#errors}, it is put
      # away for as long as {Limiter.next_reschedule} says. The error is raised when that is `nil`.
      #
      # When a limiter raises because its Redis is away, the job is put away for five seconds, also
      # one without retries, if no limiter has granted it anything yet; that does not count as a
      # reschedule. A job whose work may have begun fails with the error, also with an {OverLimit}
      # that was decided without Redis: Sidekiq's retries decide whether it runs again.
      def call(_instance, job, _queue, &block)
        # `perform` may change its arguments. A job comes back as it came, as in Sidekiq's retries.
        text = ::Sidekiq.dump_json(job)
        run(job, -> { ::Sidekiq.load_json(text) }, &block)
      end

      private

      def run(job, original)
        Limiter.in_job(job) do
          yield
        rescue *Limiter.config.errors => e
          raise if degraded?(e) && Limiter.running_job.begun?

          reschedule(original.call, e) or raise
        rescue UnavailableError => e
          raise unless Limiter.running_job.unavailable?(e)

          put_away(original.call, JobTurn::UNKNOWN)
          log { "rate limits unavailable, rescheduling for later: #{e.message}" }
        end
      end

      # Returns whether the error is a refusal that was decided without the store.
      def degraded?(error)
        error.is_a?(Paddlegate::OverLimit) && error.decision.respond_to?(:degraded?) &&
          error.decision.degraded?
      end

      # Returns whether the job runs again later.
      def reschedule(job, error)
        limiter = error.respond_to?(:limiter) ? error.limiter : nil
        delay = Limiter.next_reschedule(limiter, job, error) or return false

        put_away(counted(job), delay)
        log { "#{limiter || error.class} over rate limit, rescheduling for later" }
        true
      end

      def log(&block)
        ::Sidekiq.logger.info(&block)
      end

      def counted(job)
        job = job.merge("overrated" => Limiter.overrated(job) + 1)
        job["overrated_retry"] = job["retry_count"] if job["retry_count"]
        job
      end

      # As Sidekiq's retries do, without its client: the job is the same one, with the same id.
      def put_away(job, delay)
        ::Sidekiq.redis do |connection|
          connection.zadd(SCHEDULE, (Time.now.to_f + delay).to_s, ::Sidekiq.dump_json(job))
        end
      end
    end
  end
end
