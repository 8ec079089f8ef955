# frozen_string_literal: true

require "active_job"
require "sidekiq"
require "sidekiq_helper"
require "minitest/mock"
require "paddlegate/active_job"
require "virtual_time"

# Jobs that come back later than they asked for, on a virtual clock: who is late must not hold up
# those behind it. The limits are used within 1.3 times the least time.
class LateJobsTest < Minitest::Test
  include SidekiqHelper

  # Limits, jobs, how long each takes, and the least time for all.
  CASES = [
    [{ window: [20, 1] }, 140, 0, 6],
    [{ window: [2, 1] }, 60, 0, 29],
    [{ concurrency: 3, window: [20, 1] }, 140, 0.1, 6.1],
    [{ concurrency: 3 }, 120, 0.1, 4],
    [{ concurrency: 10 }, 100, 0.5, 5],
    [{ concurrency: 1 }, 20, 1, 20]
  ].freeze
  SEED = 1
  WORKERS = SOAK ? [5, 25] : [25]

  # A host of jobs with workers, which brings those that were put away back late.
  class Host
    # How often a job began.
    attr_reader :asked

    # `late` is asked when a job is due, and says by how much it is late.
    def initialize(time, workers, &late)
      @time = time
      @late = late
      @jobs = []
      @idle = []
      @asked = 0
      workers.times { @time.start { work } }
    end

    def push(&job)
      @jobs << job
      @idle.shift&.resume
    end

    def put_away(delay, &job)
      @time.after(delay + @late.call(@time.now + delay)) { push(&job) }
    end

    private

    # An idle worker waits to the end.
    def work
      loop do
        if (job = @jobs.shift)
          @asked += 1
          job.call
        else
          @time.sleep { |sleeping| @idle << sleeping }
        end
      end
    end
  end

  # Sidekiq's middleware on such a host, and its jobs.
  class SidekiqHost < Paddlegate::Sidekiq::Middleware
    def initialize(host, &perform)
      super()
      @host = host
      @perform = perform
    end

    def push(job)
      @host.push { call(nil, job, "limited", &@perform) }
    end

    private

    def put_away(job, delay)
      @host.put_away(delay) { call(nil, job, "limited", &@perform) }
    end

    def log; end
  end

  # The adapter of ActiveJob for such a host.
  class ActiveJobHost
    def initialize(host)
      @host = host
    end

    def enqueue(job)
      data = job.serialize
      @host.push { ActiveJob::Base.execute(data) }
    end

    def enqueue_at(job, time)
      data = job.serialize
      @host.put_away([time - Time.now.to_f, 0].max) { ActiveJob::Base.execute(data) }
    end
  end

  # What all jobs of a case are.
  class LimitedJob < ActiveJob::Base
    include Paddlegate::ActiveJob

    class << self
      attr_accessor :limiter, :takes
    end
    self.logger = Logger.new(IO::NULL)
    limited_by -> { limiter }

    def perform
      VirtualTime.current.sleep(self.class.takes)
    end
  end

  def test_active_job_up_to_half_a_second_late
    each_case(CASES, half_a_second) do |host, limits, count, takes, store|
      LimitedJob.queue_adapter = ActiveJobHost.new(host)
      LimitedJob.limiter = store.limiter("erp", **limits)
      LimitedJob.takes = takes
      count.times { LimitedJob.perform_later }
    end
  end

  # It looks three times a second.
  def test_sidekiq_up_to_half_a_second_late
    Paddlegate::JobTurn.stub(:sidekiq_patience, 1) { each_sidekiq_case(half_a_second) }
  end

  # On average, and at times half as much later.
  def test_sidekiq_that_looks_every_five_seconds
    assert_equal 7.5, Paddlegate::JobTurn.sidekiq_patience
    late = lambda do |random|
      looks = [random.rand(7.5)]
      lambda do |at|
        looks << (looks.last + 2.5 + random.rand(5.0)) while looks.last < at
        looks.find { |time| time >= at } - at
      end
    end
    each_sidekiq_case(late)
  end

  private

  def half_a_second
    ->(random) { ->(_) { random.rand(0.5) } }
  end

  # Its limiters have one limit.
  def each_sidekiq_case(late)
    each_case(CASES.select { |limits,| limits.one? }, late) do |host, limits, count, takes, store|
      kind, numbers = limits.first
      kind = :concurrent if kind == :concurrency
      limiter = Sidekiq::Limiter.public_send(kind, "erp", *numbers, wait_timeout: 0,
                                                                    backoff: :planned)
      # All its jobs are of this store.
      limiter.define_singleton_method(:limiter) { @limiter ||= create(store) }
      jobs = SidekiqHost.new(host) { limiter.within_limit { VirtualTime.current.sleep(takes) } }
      count.times { |number| jobs.push({ "jid" => number.to_s }) }
    end
  end

  def each_case(cases, late)
    cases.product(WORKERS).each do |(limits, count, takes, least), workers|
      host = nil
      took = VirtualTime.run do |time|
        host = Host.new(time, workers, &late.call(Random.new(SEED)))
        yield host, limits, count, takes, time.store
      end
      least = [least, count * takes.fdiv(workers)].max
      what = "limits=#{limits} workers=#{workers} seed=#{SEED}"
      assert_operator took, :<=, 1.3 * least, what
      assert_operator host.asked, :<=, 7 * count, what
    end
  end
end
