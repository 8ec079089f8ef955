# frozen_string_literal: true

require "sidekiq_helper"
require "minitest/mock"

# Every snippet of the page "Ent Rate Limiting" of Sidekiq's wiki (July 2023), unchanged and under
# its heading. Only what the page leaves out is added around it.
class SidekiqWikiTest < Minitest::Test
  include SidekiqHelper

  # A service that is called by the snippets, as their comments say.
  USER = 42

  def test_concurrent
    job = page(<<~'RUBY')
      ERP_LIMIT = Sidekiq::Limiter.concurrent('erp', 50, wait_timeout: 5, lock_timeout: 30)

      def perform(...)
        ERP_LIMIT.within_limit do
          # call ERP
        end
      end
    RUBY
    3.times { assert_nil job.new.perform(1, two: 2) }
    limiter = job::ERP_LIMIT
    assert_equal 50, limiter.size
    assert_equal [5.0, 30.0, :raise],
                 limiter.options.values_at(:wait_timeout, :lock_timeout, :policy)
  end

  def test_concurrent_metrics
    limiter = Sidekiq::Limiter.concurrent("erp", 1, wait_timeout: 5, lock_timeout: 30)
    waiter = limiter.within_limit do
      Thread.new { limiter.within_limit { nil } }.tap { eventually { limiter.stats.tickets == 1 } }
    end
    waiter.join
    assert_equal [2, 1, 1], [limiter.held, limiter.immediate, limiter.waited]
    assert_operator limiter.held_time, :>, 0
    assert_operator limiter.wait_time, :>, 0
    assert_equal [0, 0], [limiter.overages, limiter.reclaimed]
  end

  def test_bucket
    job = page(<<~'RUBY')
      def perform(user_id)
        user_throttle = Sidekiq::Limiter.bucket("stripe-#{user_id}", 30, :second, wait_timeout: 5)
        user_throttle.within_limit do
          # call stripe with user's account creds
        end
      end
    RUBY
    # The 31st waits for the next second.
    31.times { assert_nil job.new.perform(USER) }
    assert_equal 31, Sidekiq::Limiter.bucket("stripe-42", 30, :second).stats.granted
  end

  def test_window
    job = page(<<~'RUBY')
      def perform(user_id)
        user_throttle = Sidekiq::Limiter.window("stripe-#{user_id}", 5, :second, wait_timeout: 5)
        user_throttle.within_limit do
          # call stripe with user's account creds
        end
      end
    RUBY
    took = elapsed { 6.times { assert_nil job.new.perform(USER) } }
    assert_operator took, :>=, 0.99
  end

  def test_window_of_seconds
    limiter = page(<<~'RUBY', :value)
      # allow 5 operations within a 30 second window
      Sidekiq::Limiter.window("stripe-#{user_id}", 5, 30)
    RUBY
    5.times { limiter.within_limit { nil } }
    # The wait_timeout, 5 seconds, is shorter than the window.
    error = nil
    took = elapsed { error = over_limit { limiter.within_limit { flunk } } }
    assert_in_delta 30, error.retry_after, 20
    assert_operator took, :<, 20
  end

  def test_leaky_bucket
    pages = [page(<<~'RUBY', :value), page(<<~'RUBY', :value)]
      Sidekiq::Limiter.leaky("shopify-#{user_id}", 60, 60)
    RUBY
      Sidekiq::Limiter.leaky("shopify-#{user_id}", 60, :minute) # equivalent
    RUBY
    took = elapsed do
      60.times { pages.first.within_limit { nil } }
      # The burst is gone; then it is one each second.
      pages.each { |limiter| limiter.within_limit { nil } }
    end
    assert_operator took, :>=, 1.99
    [page(<<~'RUBY', :value), page(<<~'RUBY', :value)].each do |limiter|
      Sidekiq::Limiter.leaky("shopify-#{user_id}", 1, 1)
    RUBY
      Sidekiq::Limiter.leaky("shopify-#{user_id}", 1, :second) # equivalent
    RUBY
      assert_equal 1, limiter.size
    end
    no_sleep = page(<<~'RUBY', :value)
      Sidekiq::Limiter.leaky("shopify-#{user_id}", 60, :minute, wait_timeout: 0)
    RUBY
    error = over_limit { no_sleep.within_limit(used: 60) { flunk } }
    assert_in_delta 60, error.retry_after, 20
    assert_equal [62, 1], [no_sleep.hits, no_sleep.misses]
    # What the machine stalls in between is no sleep.
    assert_includes 0.0..took, no_sleep.sleep
  end

  def test_points
    handle = page(<<~'RUBY', :value)
      lmt = Sidekiq::Limiter.points("shopify", 1000, 20)
      query_estimate = 200 # use endpoint docs for logic to determine needed points
      lmt.within_limit(estimate: query_estimate) do |handle|
        # make the actual query here #
        actual = 50 # maybe our estimate was pessimistic
        handle.points_used(actual)
      end
    RUBY
    assert_equal :settled, handle
    assert_equal 50, Sidekiq::Limiter.points("shopify", 1000, 20).stats.units
  end

  def test_unlimited
    job = page(<<~'RUBY')
      ERP = Sidekiq::Limiter.concurrent("erp", 10)

      def perform(...)
        lmtr = current_user.admin? ? Sidekiq::Limiter.unlimited : ERP
        lmtr.within_limit do
          # always executes for admins
        end
      end
    RUBY
    job.attr_accessor :current_user
    [true, false].each do |admin|
      work = job.new
      work.current_user = Struct.new(:admin?).new(admin)
      assert_nil work.perform(:anything)
    end
    assert_equal 1, job::ERP.held
  end

  # It stands for other limiters in tests, whose metrics a program may report.
  def test_unlimited_has_the_metrics_of_all_kinds
    metrics = [Sidekiq::Limiter.concurrent("erp", 1), Sidekiq::Limiter.leaky("shop", 1, 1)]
              .flat_map { |limiter| limiter.class.public_instance_methods(false) } - [:within_limit]
    assert_equal 10, metrics.size
    unlimited = Sidekiq::Limiter.unlimited
    unlimited.within_limit { 1 }
    assert(metrics.all? { |metric| unlimited.public_send(metric).zero? })
  end

  def test_limiting_is_not_throttling
    delays = []
    worker = Class.new { define_singleton_method(:perform_in) { |delay, *| delays << delay } }
    page(<<~'RUBY', SomeWorker: worker)
      def self.some_args = 1
      1000.times do |index|
        SomeWorker.perform_in(index, some_args)
      end
    RUBY
    assert_equal 1000, delays.size
  end

  def test_back_off
    page(<<~'RUBY')
      Sidekiq::Limiter.configure do |config|
        # job is the job hash, 'overrated' is the number of times we've failed due to rate limiting
        # limiter is the associated limiter that raised the OverLimit error
        # exception is the exception that triggered the rate limiting (Sidekiq::Limiter::OverLimit
        # or one of your configured error classes) By default, back off 5 minutes for each rate
        # limit failure
        config.backoff = ->(limiter, job, exception) do
          (300 * job['overrated']) + rand(300) + 1
        end
      end
    RUBY
    limiter = Sidekiq::Limiter.window("erp", 1, :day, wait_timeout: 0)
    limiter.within_limit { nil }
    error = over_limit { limiter.within_limit { flunk } }
    delay = Sidekiq::Limiter.next_reschedule(error.limiter, { "overrated" => 3 }, error)
    assert_includes 1201..1500, delay
  end

  def test_redis
    page(<<~'RUBY')
      Sidekiq::Limiter.configure do |config|
        config.redis = { size: 10, url: 'redis://localhost/15' }
      end
    RUBY
    assert_equal({ size: 10, url: "redis://localhost/15" }, Sidekiq::Limiter.config.redis)
    refute_predicate Sidekiq::Limiter.store, :memory?
    # Making limiters asks no server, so that one is not needed here.
    assert_equal "erp", Sidekiq::Limiter.concurrent("erp", 10).name
  end

  def test_testing
    worker = Class.new do
      attr_accessor :limiter

      def perform(*)
        limiter.within_limit { :performed }
      end
    end
    test = page(<<~'RUBY', MyWorker: worker)
      def test_myworker
        my = MyWorker.new
        my.limiter = Sidekiq::Limiter.unlimited
        my.perform(...)
      end
    RUBY
           .new
    # The dots of the page stand for arguments.
    assert_equal :performed, test.test_myworker
  end

  def test_testing_with_stubs
    active_support = Module.new
    active_support.const_set(:TestCase, Class.new)
    page(<<~'RUBY', ActiveSupport: active_support)
      class ActiveSupport::TestCase
        def noop_window_limiter(&block)
          Sidekiq::Limiter.stub(:window, Sidekiq::Limiter.unlimited, &block)
        end
      end
    RUBY
    ran = 0
    active_support::TestCase.new.noop_window_limiter do
      9.times { Sidekiq::Limiter.window("erp", 1, :day).within_limit { ran += 1 } }
    end
    assert_equal 9, ran
    assert_equal 1, Sidekiq::Limiter.window("erp", 1, :day).size
  end

  def test_custom_errors
    slow_down = Class.new(StandardError)
    job = { "class" => "Some", "args" => [1] }
    error = slow_down.new
    assert_nil Sidekiq::Limiter.next_reschedule(nil, job, error)
    page(<<~'RUBY', SomeLib: Module.new { const_set(:SlowDownPlease, slow_down) })
      Sidekiq::Limiter.configure do |config|
        config.errors << SomeLib::SlowDownPlease
      end
    RUBY
    assert_includes 301..600, Sidekiq::Limiter.next_reschedule(nil, job, error)
  end

  def test_ttl
    # As ActiveSupport's, which is a number of seconds that is none of Ruby's.
    Integer.define_method(:weeks) { Struct.new(:to_f).new(self * 604_800.0) }
    limiter = page(<<~'RUBY', :value)
      Sidekiq::Limiter.window("stripe-#{user_id}", 5, 30, ttl: 2.weeks)
    RUBY
    assert_in_delta 1_209_600, limiter.options[:ttl]
    assert_in_delta 7_776_000, Sidekiq::Limiter.window("stripe", 5, 30).options[:ttl]
  ensure
    Integer.remove_method(:weeks)
  end

  def test_reschedules
    limits = [page(<<~'RUBY', :value), page(<<~'RUBY', :value), page(<<~'RUBY', :value)]
      Sidekiq::Limiter.window("stripe-#{user_id}", 5, 30, reschedule: 20) # default, 20 times
    RUBY
      Sidekiq::Limiter.window("stripe-#{user_id}", 5, 30, reschedule: 10) # only 10 times
    RUBY
      Sidekiq::Limiter.window("stripe-#{user_id}", 5, 30, reschedule: 0) # don't reschedule at all
    RUBY
    assert_equal [20, 10, 0], limits.map(&:reschedule)
    assert_equal 20, Sidekiq::Limiter.window("stripe-42", 5, 30).reschedule
  end

  private

  # Runs a snippet in a class of its own, where the constants are; the class, or the `:value`.
  def page(snippet, answer = :job, **constants)
    job = Class.new { define_singleton_method(:user_id) { USER } }
    constants.each { |name, value| job.const_set(name, value) }
    value = job.class_eval(snippet.sub("my.perform(...)", "my.perform(1)"), __FILE__, __LINE__)
    answer == :value ? value : job
  end
end
