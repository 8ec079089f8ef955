# frozen_string_literal: true

require "digest"

module Paddlegate
  # @api private
  # How a job asks for its turn, in a job system that can put it away until then.
  module JobTurn
    # When a job comes back, in seconds, for which no time is known.
    UNKNOWN = 5
    # How long a job waits in its worker at least, in seconds, unless its class says otherwise.
    PATIENCE = 1
    # A claim timeout that is not given, in C.
    NOT_GIVEN = -1
    # The longest id of a job on a limiter, in bytes; a longer one is shortened.
    MAX_ID = 64
    # Where Sidekiq 7, 6.5 and 6 have their settings, which of them are the interval, and its
    # default.
    SIDEKIQ_SETTINGS = %i[default_configuration [] options].freeze
    SIDEKIQ_POLLS = %i[poll_interval_average average_scheduled_poll_interval].freeze
    SIDEKIQ_POLL = 5
    # Where a fiber has the job that it runs, which is told of each call; only inside of a host that
    # asks for it.
    RUNNING = :paddlegate_running_job
    # Has something in it once this process runs such jobs. Calls in memory ask it first, since to
    # ask for the job of the fiber would cost them a fifth.
    HOSTS = [].dup
    private_constant :NOT_GIVEN, :MAX_ID, :SIDEKIQ_SETTINGS, :SIDEKIQ_POLLS, :SIDEKIQ_POLL

    # Returns the {Permit} of a job whose turn has come, or comes within `patience` seconds.
    # Otherwise the job has a ticket in the queue of the limiter, and an {OverLimit} is raised. Its
    # `retry_after` is the time until its turn. `options` are those of {Jobs#admit}.
    def self.take(limiter, id, patience, cost: nil, estimate: nil, key: nil, settle_within: nil,
                  claim_timeout: nil, priority: nil, share: nil, weight: nil)
      limiter = limiter.with_key(key) unless key.nil?
      claim_timeout =
        claim_timeout.nil? ? NOT_GIVEN : Value.interval("claim_timeout", claim_timeout)
      order = Value.order(priority, share, weight)
      id = Digest::SHA256.hexdigest(id) if id.bytesize > MAX_ID
      waiter = Waiter.new(limiter, id, cost, estimate, settle_within, nil, order)
      waiter.of_job(claim_timeout, patience).acquire
    end

    # Returns the seconds after which a job comes back that was over a limit. One with a ticket
    # comes early by two thirds of its patience, and waits in its worker: hosts bring jobs back
    # late, and meanwhile nobody behind it would run.
    def self.delay(error, patience)
      after = error.retry_after or return UNKNOWN
      return after unless error.decision.status == :queued

      [after - (patience * 2 / 3.0), 0].max
    end

    # Returns the patience of jobs of Sidekiq. It looks for scheduled jobs in an interval that is an
    # average, and half as long again at times.
    def self.sidekiq_patience
      return SIDEKIQ_POLL * 1.5 unless defined?(::Sidekiq) && ::Sidekiq.respond_to?(:redis)

      settings = SIDEKIQ_SETTINGS.find { |it| ::Sidekiq.respond_to?(it) }
      settings = settings == :[] ? ::Sidekiq : ::Sidekiq.public_send(settings)
      poll = SIDEKIQ_POLLS.filter_map { |name| settings[name] }.min || SIDEKIQ_POLL
      [poll * 1.5, PATIENCE].max
    end

    # Returns what the block returns: the result of a call that takes units. The job that runs here
    # learns of it.
    def self.tell(&call)
      job = Thread.current[RUNNING]
      job ? job.learn(&call) : yield
    end
  end
end
