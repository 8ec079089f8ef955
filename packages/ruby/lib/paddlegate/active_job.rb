# frozen_string_literal: true

require_relative "../paddlegate"

module Paddlegate
  # Keeps jobs of ActiveJob, from Rails 6.1 on, within a limit, with any queue adapter that can
  # schedule:
  #
  #   require "paddlegate/active_job"
  #
  #   class SyncJob < ApplicationJob
  #     include Paddlegate::ActiveJob
  #     limited_by ERP, key: ->(account) { account.to_s }
  #
  #     def perform(account) = account.sync
  #   end
  #
  # A job over its limit is enqueued again for its turn. It keeps its place in the queue of the
  # limiter, and that is none of its executions.
  module ActiveJob
    # The {Permit} of a job that runs, to correct its estimate; `nil` before. Of several limits that
    # of the last.
    attr_accessor :permit

    def self.included(job)
      job.extend(ClassMethods)
      return if job.respond_to?(:paddlegate_limits)

      job.class_attribute(:paddlegate_limits, default: 0, instance_accessor: false)
    end

    # What a job class gets.
    module ClassMethods
      # Limits the jobs of this class.
      #
      # - `limiter`: a {Limiter}, or one of several that decide together
      # - `key`, `cost`, `estimate`, `settle_within`, `claim_timeout`, `priority`, `share` and
      #   `weight`: as in {Jobs#admit}
      # - `patience`: a job whose turn comes within so many seconds waits in its worker. A job that
      #   is put away comes back early by two thirds of it, since hosts bring jobs back late: give
      #   one and a half of the interval in which the host looks. Default 1; for the adapter of
      #   Sidekiq one and a half of its own interval, 7.5
      #
      # All but `claim_timeout` and `patience` may be procs of the job's arguments. With a
      # concurrency limit the job holds a lease, which is released when it ends, with or without an
      # error.
      #
      # A job that is performed at once, by `perform_now`, waits as {Limiter#within_limit} does.
      # When Redis is away, `on_unavailable` of the limiter decides; if that raises, the job comes
      # back after five seconds, as does one whose limiter is paused without an end. A job that can
      # never pass fails.
      def limited_by(limiter, patience: nil, claim_timeout: nil, **options)
        unknown = options.keys - %i[key cost estimate settle_within priority share weight]
        raise ArgumentError, "unknown keyword: #{unknown.first.inspect}" unless unknown.empty?

        Value.seconds("patience", patience) unless patience.nil?
        # Limits may have one limiter, in which each then needs an id of its own.
        number = self.paddlegate_limits += 1
        around_perform do |job, block|
          id = number == 1 ? job.job_id : "#{job.job_id}.#{number}"
          value = ->(it) { it.respond_to?(:call) ? it.call(*job.arguments) : it }
          given = options.transform_values(&value).compact
          ActiveJob.run(job, id, value.call(limiter), given, claim_timeout,
                        patience || ActiveJob.patience(job), &block)
        end
      end
    end

    class << self
      # @api private
      # Runs the body of a job whose turn has come; otherwise enqueues the job again.
      def run(job, id, limiter, options, claim_timeout, patience)
        # A job with several limits has the permit of an outer one, which says nothing of this one.
        permit = turn(job, id, limiter, options, claim_timeout, patience)
        job.permit = permit
        begin
          yield
        ensure
          release(permit)
        end
      rescue OverLimit => e
        raise if e.reason == :too_large || permit || job.enqueued_at.nil?

        put_back(job, JobTurn.delay(e, patience), e)
      rescue UnavailableError => e
        raise if permit || job.enqueued_at.nil?

        put_back(job, JobTurn::UNKNOWN, e)
      end

      # @api private
      # Returns the default patience.
      def patience(job)
        return JobTurn::PATIENCE unless job.class.queue_adapter_name == "sidekiq"

        JobTurn.sidekiq_patience
      end

      private

      def turn(job, id, limiter, options, claim_timeout, patience)
        return limiter.acquire(**options) if job.enqueued_at.nil?

        JobTurn.take(limiter, id, patience, claim_timeout: claim_timeout, **options)
      end

      def put_back(job, after, error)
        job.executions -= 1
        job.retry_job(wait: after, error: error)
      end

      def release(permit)
        permit.release
      rescue Error
        # A lease that cannot be released ends after its `lock_timeout`.
      end
    end
  end
end
