# frozen_string_literal: true

require "helper"

ENV["REDIS_URL"] = Helper::URL
require "active_job_app"
require "sidekiq/api"

# Jobs of ActiveJob within limits, in a real Sidekiq process and in this one.
class ActiveJobTest < Minitest::Test
  include Helper

  # One case with a real process each time.
  JOBS = SOAK ? 1_000 : 30

  def setup
    Sidekiq.redis(&:flushdb)
  end

  def test_jobs_over_the_limit_come_back_in_their_turn
    in_sidekiq do
      JOBS.times { |number| Sync.perform_later(number) }
      eventually { ended(Sync).size >= JOBS }
      assert_equal (0...JOBS).to_a, ended(Sync).map { |_, _, number| number.to_i }.sort
      assert_equal %w[1], ended(Sync).map(&:last).uniq, "coming back is no execution"
      assert_operator at_once(Sync), :<=, 2
      assert_equal 0, APP_STORE.concurrent("sync", 2).stats.leases
    end
  end

  in_soak def test_each_key_has_its_limit
    in_sidekiq do
      20.times { |number| Tenant.perform_later(%w[a b][number % 2], number: number) }
      eventually { ended(Tenant).size >= 20 }
      assert_equal %w[a b], ended(Tenant).map { |_, _, name| name }.uniq.sort
    end
    # The process sent its last counts when it ended.
    assert_equal 20, APP_STORE.concurrent("tenants", 1, keyed: true).stats.granted
  end

  in_soak def test_an_estimate_is_corrected_and_a_failure_releases
    in_sidekiq do
      Spend.perform_later(40)
      Fails.perform_later
      Away.perform_later
      eventually { APP_STORE.points("spend", 100, 1000).stats.units == 39 }
      eventually { notes(Fails).size == 2 }
      eventually { notes(Away).size == 1 }
      assert_equal %w[1 2], notes(Fails).map(&:last), "its own retry counts"
      assert_equal "1", notes(Away).first.last
      eventually { APP_STORE.concurrent("fails", 1).stats.leases.zero? }
    end
  end

  in_soak def test_what_is_wrong_fails_its_job_alone
    in_sidekiq do
      %w[name cost key fine].each { |what| Wrong.perform_later(what) }
      eventually { notes(Wrong).size == 4 }
    end
    assert_equal [%w[cost IndexError], %w[fine ran], %w[key Paddlegate::InvalidError],
                  %w[name Paddlegate::InvalidError]], notes(Wrong).map { _1.drop(1) }.sort
    stats = Wrong::KEYED.stats
    assert_equal [1, 0, 0], [stats.granted, stats.leases, stats.tickets]
  end

  in_soak def test_a_lease_that_ends_while_its_job_runs_makes_room_once
    in_sidekiq do
      3.times { |number| Long.perform_later(number) }
      eventually { ended(Long).size == 3 }
    end
    assert_equal %w[0 1 2], ended(Long).map(&:last).sort
    stats = APP_STORE.concurrent("long", 1, lock_timeout: 1).stats
    assert_equal [3, 0, 0], [stats.granted, stats.leases, stats.tickets]
  end

  in_soak def test_no_job_is_lost_with_a_process_that_is_stopped
    in_sidekiq do
      JOBS.times { |number| Sync.perform_later(number) }
      eventually { notes(Sync).any? }
    end
    in_sidekiq { eventually { ended(Sync).size >= JOBS } }
    assert_equal (0...JOBS).to_a, ended(Sync).map { |_, _, number| number.to_i }.sort
    assert_operator at_once(Sync), :<=, 2
    assert_equal 0, APP_STORE.concurrent("sync", 2).stats.leases
  end

  def test_what_is_performed_now_waits_and_fails_as_a_call
    limiter = memory.concurrent("now", 1, wait_timeout: 60)
    job = job_class { limited_by limiter }
    held = limiter.acquire
    waiter = Thread.new { job.perform_now }
    eventually { limiter.stats.tickets == 1 }
    held.release
    waiter.join
    assert_equal 1, limiter.stats.waited
    none = memory.window("none", 1, :hour, wait_timeout: 0).tap(&:allow?)
    assert_raises(Paddlegate::OverLimit) { job_class { limited_by none }.perform_now }
    small = memory.window("small", 5, :hour)
    assert_raises(Paddlegate::InvalidError) { job_class { limited_by small, cost: 6 }.perform_now }
  end

  def test_a_job_with_two_limits_comes_back_and_releases_both
    erp = memory.concurrent("erp", 2)
    mail = memory.window("mail", 1, :hour)
    parent = job_class { limited_by erp }
    job = Class.new(parent) do
      include Paddlegate::ActiveJob
      self.queue_adapter = :test
      limited_by mail, patience: 0
      limited_by erp
    end
    2.times { enqueued(job).perform_now }
    come_back = job.queue_adapter.enqueued_jobs
    assert_equal([0], come_back.map { |it| it["executions"] })
    assert_equal [0, 3], [erp.stats.leases, erp.stats.granted]
    assert_equal 1, mail.stats.tickets
  end

  def test_a_refusal_in_a_job_that_runs_is_that_of_the_job
    none = memory.window("none", 1, :hour, wait_timeout: 0).tap(&:allow?)
    erp = memory.concurrent("erp", 1)
    job = Class.new(job_class { limited_by erp }) do
      define_method(:perform) { none.within_limit { flunk } }
    end
    assert_raises(Paddlegate::OverLimit) { enqueued(job).perform_now }
    assert_equal 0, erp.stats.leases
  end

  def test_keys_and_estimates_in_this_process
    tenants = memory.concurrent("tenants", 1, keyed: true)
    leases = ->(name) { tenants.inspection(key: name).lease_count }
    held = []
    keyed = Class.new(job_class { limited_by ->(*) { tenants }, key: ->(name) { name } }) do
      define_method(:perform) { |name| held << [name, leases.call(name)] }
    end
    %w[a b].each { |name| enqueued(keyed, name).perform_now }
    assert_equal [["a", 1], ["b", 1]], held
    assert_equal([0, 0], %w[a b].map(&leases))

    spend = memory.points("spend", 100, :hour)
    spends = Class.new(job_class { limited_by spend, estimate: ->(units) { units } }) do
      define_method(:perform) { |units| permit.correct(units - 1) }
    end
    enqueued(spends, 40).perform_now
    assert_equal 39, spend.stats.units
  end

  def test_a_failure_releases_and_what_is_wrong_fails_its_job_alone
    erp = memory.concurrent("erp", 1, keyed: true)
    limited = job_class do
      limited_by ->(what) { what == "name" ? APP_STORE.window("", 1, 1) : erp },
                 cost: ->(what) { what == "cost" ? raise(IndexError) : 1 },
                 key: ->(what) { "a" unless what == "key" }
    end
    job = Class.new(limited) do
      define_method(:perform) { |what| raise ArgumentError if what == "fails" }
    end
    { "name" => Paddlegate::InvalidError, "cost" => IndexError, "key" => Paddlegate::InvalidError,
      "fails" => ArgumentError }.each do |what, error|
      assert_raises(error, what) { enqueued(job, what).perform_now }
    end
    enqueued(job, "fine").perform_now
    assert_equal [2, 0], [erp.stats.granted, erp.inspection(key: "a").lease_count]
  end

  def test_a_job_that_has_begun_is_not_put_back_when_redis_goes
    lost = Paddlegate::Store.new("redis://127.0.0.1:1").points("lost", 9, 1)
    call = nil
    limiter = memory.window("begun", 9, 1)
    begun = Class.new(job_class { limited_by limiter }) do
      define_method(:perform) { call.call }
    end
    begun.queue_adapter = :test
    [-> { lost.acquire(cost: 1) }, -> { lost.correct("#{"0" * 32}:1:1", 1) }].each do |it|
      call = it
      assert_raises(Paddlegate::UnavailableError) { enqueued(begun).perform_now }
    end
    assert_empty begun.queue_adapter.enqueued_jobs
    first = job_class { limited_by lost, cost: 1 }
    first.queue_adapter = :test
    enqueued(first).perform_now
    assert_equal 1, first.queue_adapter.enqueued_jobs.size
  end

  def test_bad_input_is_named
    limiter = memory.window("bad", 1, 1)
    error = assert_raises(Paddlegate::InvalidError) do
      job_class { limited_by limiter, patience: -1 }
    end
    assert_equal "patience", error.argument
    assert_raises(ArgumentError) { job_class { limited_by limiter, retries: 3 } }
  end

  private

  def job_class(&block)
    Class.new(Base) do
      class_eval(&block)
      def perform; end
    end
  end

  # A job as a worker gets it.
  def enqueued(job, *arguments)
    job.new(*arguments).tap { |it| it.enqueued_at = Time.now.utc.iso8601 }
  end

  def in_sidekiq
    log = Tempfile.new("sidekiq")
    pid = Process.spawn(RbConfig.ruby, "-I#{ROOT}/lib", "-I#{__dir__}", "-S", "sidekiq",
                        "-r", "#{__dir__}/active_job_app.rb", "-q", "jobs", "-c", "5",
                        %i[out err] => [log.path, "a"])
    yield
  ensure
    Process.kill("TERM", pid)
    Process.wait(pid)
    puts File.read(log.path) unless passed?
    log.close!
  end

  def notes(job)
    Sidekiq.redis { |connection| connection.lrange("notes-#{job}", 0, -1) }.map(&:split)
  end

  def ended(job)
    notes(job).select { |_, what,| what == "end" }
  end

  def at_once(job)
    running = 0
    notes(job).sort_by { |at,| at.to_i }.map { |_, what,| running += what == "begin" ? 1 : -1 }.max
  end
end
