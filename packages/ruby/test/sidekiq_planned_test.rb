# frozen_string_literal: true

require "minitest/mock"
require "sidekiq_helper"
require "virtual_time"

# Jobs with `backoff: :planned`: they come back when their turn comes.
class SidekiqPlannedTest < Minitest::Test
  include SidekiqHelper

  MINUTE = 60_000_000

  # A job middleware and a scheduler on a test clock: runs all jobs that are due, one after the
  # other. Returns how often each ran, which passed, and after how many microseconds the last one.
  def simulate(clock, jobs, limiter)
    start = clock.now_us
    due = jobs.map { |job| [start, job] }
    runs = Hash.new(0)
    passed = []
    until due.empty?
      at, job = due.shift
      clock.now_us = [clock.now_us, at].max
      flunk "it never ends" if (runs[job["jid"]] += 1) > 100
      delay = work(limiter, job) { passed << job["jid"] } or next
      back = [clock.now_us + (delay * 1_000_000).ceil, job]
      due.insert(due.bsearch_index { |time, _| time > back.first } || due.size, back)
    end
    [runs, passed, clock.now_us - start]
  end

  # Runs a job as the middleware does, and returns when it comes back; `nil` when it has passed.
  def work(limiter, job, whole = nil, &block)
    Sidekiq::Limiter.in_job(job) { whole ? whole.call : limiter.within_limit(&block) }
    nil
  rescue Sidekiq::Limiter::OverLimit => e
    Sidekiq::Limiter.next_reschedule(e.limiter, job, e) or raise
  end

  def on_clock(patience: 7.5)
    VirtualTime.run do |time|
      time.start do
        Sidekiq::Limiter.stub(:store, time.store) do
          Paddlegate::JobTurn.stub(:sidekiq_patience, patience) { yield time.clock }
        end
      end
    end
  end

  def jobs(count)
    Array.new(count) { |number| { "jid" => "job-#{number}" } }
  end

  JOBS = SOAK ? 10_000 : 200

  def test_many_jobs_at_ten_a_minute
    { window: :minute, leaky: :minute, bucket: :minute }.each do |kind, per|
      on_clock do |clock|
        limiter = Sidekiq::Limiter.public_send(kind, "mail", 10, per, backoff: :planned)
        runs, passed, took = simulate(clock, jobs(JOBS), limiter)
        assert_equal JOBS, passed.uniq.size
        assert_operator took, :<=, JOBS / 10 * MINUTE
        assert_operator runs.values.max, :<=, 2, "#{kind}: a job asks twice at most"
        assert_equal jobs(JOBS).map { |job| job["jid"] }, passed, "#{kind}: in their order"
      end
    end
  end

  def test_the_configured_backoff_is_that_of_all_limiters
    Sidekiq::Limiter.configure { |config| config.backoff = :planned }
    on_clock do
      limiter = Sidekiq::Limiter.window("mail", 1, :minute)
      assert_predicate limiter, :planned?
      first, second, third = jobs(3)
      assert_nil work(limiter, first) { 1 }
      # Early by the interval in which Sidekiq looks.
      assert_in_delta 55, work(limiter, second) { 1 }, 1
      assert_in_delta 115, work(limiter, third) { 1 }, 1
      assert_in_delta 55, work(limiter, second) { 1 }, 1, "its place is kept"
      outside = over_limit { limiter.within_limit { 1 } }
      assert_in_delta 180, outside.retry_after, 1, "who is in no job waits behind them"
    end
  end

  def test_a_job_that_calls_twice_begins_anew_with_the_place_that_it_has
    on_clock(patience: 0) do |clock|
      limiter = Sidekiq::Limiter.window("mail", 2, :minute, wait_timeout: 0, backoff: :planned)
      limiter.within_limit { 1 }
      done = []
      twice = lambda do
        limiter.within_limit { done << 1 }
        limiter.within_limit { done << 2 }
      end
      assert_in_delta 60, work(limiter, { "jid" => "twice" }, twice), 1
      assert_in_delta 60, work(limiter, { "jid" => "later" }) { 1 }, 1
      clock.now_us += MINUTE
      assert work(limiter, { "jid" => "twice" }, twice), "the other one is next"
      assert_equal [1, 1], done
      assert_nil work(limiter, { "jid" => "later" }) { 1 }
    end
  end

  def test_a_call_inside_of_another_has_a_lease_of_its_own
    on_clock do
      limiter = Sidekiq::Limiter.concurrent("erp", 2, wait_timeout: 0, backoff: :planned)
      Sidekiq::Limiter.in_job({ "jid" => "1" }) do
        limiter.within_limit do
          limiter.within_limit { assert_equal 2, limiter.stats.leases }
          assert_equal 1, limiter.stats.leases
        end
      end
      assert_equal 0, limiter.stats.leases
    end
  end

  def test_a_call_inside_of_one_of_another_object_has_a_lease_of_its_own
    on_clock do
      erp = lambda do |**options|
        Sidekiq::Limiter.concurrent("erp", 2, wait_timeout: 0, backoff: :planned, **options)
      end
      Sidekiq::Limiter.in_job({ "jid" => "1" }) do
        erp.call.within_limit { erp.call.within_limit { assert_equal 2, erp.call.stats.leases } }
      end
      first, second = [{ group: "a", keyed: true }, { group: "b" }].map { |it| erp.call(**it) }
      second.limiter.acquire
      second.limiter.acquire
      job = { "jid" => "1" }
      nested = -> { first.within_limit(key: "a") { second.within_limit { flunk } } }
      assert work(nil, job, nested)
      assert_equal 1, second.stats.tickets, "another group is another limiter"
    end
  end

  def test_a_long_id_is_shortened
    on_clock do
      limiter = Sidekiq::Limiter.window("mail", 1, :minute, backoff: :planned)
      limiter.within_limit { 1 }
      jobs = %w[a b].map { |it| { "jid" => ("x" * 64) + it } }
      2.times { jobs.each { |job| assert work(limiter, job) { flunk } } }
      assert_equal 2, limiter.stats.tickets
      assert_equal([64, 64], limiter.limiter.queue.map { |it| it.id.bytesize })
    end
  end

  def test_when_a_job_gives_up
    on_clock do
      job = { "jid" => "1", "overrated" => 1_000_000 }
      limiter = Sidekiq::Limiter.window("mail", 1, :minute, backoff: :planned)
      limiter.within_limit { 1 }
      assert_in_delta 55, work(limiter, job) { 1 }, 1, "it comes back as often as it takes"
      twice = Sidekiq::Limiter.window("mail", 1, :minute, backoff: :planned, reschedule: 2)
      over_limit { work(twice, { "jid" => "2", "overrated" => 2 }) { 1 } }
      wide = Sidekiq::Limiter.window("wide", 5, :minute, backoff: :planned)
      wide.limiter.override(limit: 2)
      never = -> { wide.within_limit(used: 3) { flunk } }
      assert_equal :too_large, over_limit { work(wide, { "jid" => "3" }, never) }.reason
    end
  end

  def test_leases_keep_their_order_and_are_released
    # No job waits in its worker.
    on_clock(patience: 0) do |clock|
      limiter = Sidekiq::Limiter.concurrent("erp", 1, wait_timeout: 0, backoff: :planned)
      held = limiter.limiter.acquire
      first, second = jobs(2)
      assert work(limiter, first) { flunk }
      assert work(limiter, second) { flunk }
      held.release
      assert work(limiter, second) { flunk }, "the first goes first"
      assert_nil work(limiter, first) { 1 }
      clock.now_us += 1
      assert_raises(RuntimeError) { work(limiter, second) { raise "failed" } }
      assert_equal 0, limiter.stats.leases
    end
  end

  def test_estimates_keys_and_units
    on_clock do
      points = Sidekiq::Limiter.points("shopify", 100, :minute, backoff: :planned)
      Sidekiq::Limiter.in_job({ "jid" => "1" }) do
        points.within_limit(estimate: 60) { |it| assert_equal :settled, it.points_used(9.5) }
      end
      assert_equal 90, points.limiter.peek.remaining
      shops = Sidekiq::Limiter.leaky("shops", 4, :minute, backoff: :planned, keyed: true)
      Sidekiq::Limiter.in_job({ "jid" => "1" }) do
        assert_equal 7, shops.within_limit(key: "a", used: 3.5) { 7 }
        error = over_limit { shops.within_limit(key: "a") { 1 } }
        assert_same shops, error.limiter
        assert_equal 8, shops.within_limit(key: "b") { 8 }
      end
      ignored = Sidekiq::Limiter.window("i", 1, :minute, backoff: :planned, policy: :ignore)
      Sidekiq::Limiter.in_job({ "jid" => "1" }) do
        assert_equal [1, Paddlegate::SKIPPED], Array.new(2) { ignored.within_limit { 1 } }
      end
    end
  end

  def test_an_error_of_another_library_backs_off_by_default
    Sidekiq::Limiter.configure do |config|
      config.backoff = :planned
      config.errors << IOError
    end
    assert_includes 301..600, Sidekiq::Limiter.next_reschedule(nil, { "jid" => "1" }, IOError.new)
  end

  def test_without_a_server_on_unavailable_decides
    Sidekiq::Limiter.configure { |config| config.redis = { host: "127.0.0.1", port: 1 } }
    job = { "jid" => "1" }
    closed, raises, open = %i[fail_closed raise fail_open].map do |what|
      Sidekiq::Limiter.window("away", 5, :minute, backoff: :planned, on_unavailable: what)
    end
    assert_equal 1.0, work(closed, job) { flunk }
    assert_raises(Paddlegate::UnavailableError) { work(raises, job) { flunk } }
    assert_nil work(open, job) { 1 }
  end

  def test_what_is_wrong_fails_the_job
    on_clock do
      users = Sidekiq::Limiter.window("users", 5, :minute, backoff: :planned, keyed: true)
      one = Sidekiq::Limiter.window("one", 5, :minute, backoff: :planned)
      { "key" => -> { users.within_limit { flunk } },
        "used" => -> { one.within_limit(used: 9) { flunk } } }.each do |argument, call|
        error = assert_raises(Paddlegate::InvalidError) { work(one, { "jid" => "1" }, call) }
        assert_equal argument, error.argument
      end
    end
  end

  def test_jobs_in_jobs_and_jobs_without_an_id
    on_clock do
      limiter = Sidekiq::Limiter.window("mail", 1, :minute, backoff: :planned)
      Sidekiq::Limiter.in_job({ "jid" => "outer" }) do
        Sidekiq::Limiter.in_job({}) { limiter.within_limit { 1 } }
        Sidekiq::Limiter.running_job.enter("mail", nil, nil) { |id| assert_equal "outer", id }
      end
      assert_nil Sidekiq::Limiter.running_job
      over_limit { Sidekiq::Limiter.in_job({}) { limiter.within_limit { 1 } } }
      assert_equal 0, limiter.stats.tickets, "without an id there is no place to keep"
    end
  end
end
