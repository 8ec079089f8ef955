# frozen_string_literal: true

require "sidekiq_helper"

# When a job comes again, and what is configured for all limiters.
class SidekiqRescheduleTest < Minitest::Test
  include SidekiqHelper

  JOB = { "class" => "Erp", "jid" => "b4a577edbccf1d805744efa9", "args" => [1, ["two"]].freeze,
          "retry" => false }.freeze

  def test_the_first_time
    limiter = Sidekiq::Limiter.window("erp", 1, :day)
    delays = Array.new(200) { Sidekiq::Limiter.next_reschedule(limiter, JOB, error_of(limiter)) }
    assert_includes 301..600, delays.min
    assert_includes 301..600, delays.max
    assert_operator delays.uniq.size, :>, 20
    # The job is left to the middleware.
    refute_includes JOB, "overrated"
  end

  def test_a_job_gives_up
    { nil => 20, 20 => 20, 2 => 2, 0 => 0 }.each do |cap, most|
      limiter = Sidekiq::Limiter.window("erp", 1, :day, reschedule: cap)
      times = (0..30).take_while { |overrated| reschedule(limiter, overrated) }
      assert_equal most, times.size
      assert_nil reschedule(limiter, 1_000_000_000_000)
    end
  end

  def test_the_limiters_own_goes_first
    own = ->(limiter, job, error) { [limiter.name.size, job["overrated"], error.message.size].sum }
    Sidekiq::Limiter.configure do |config|
      config.backoff = ->(*) { 7 }
      config.reschedule = 1
    end
    plain = Sidekiq::Limiter.window("erp", 1, :day)
    assert_equal [7, nil], [reschedule(plain, 0), reschedule(plain, 1)]
    limiter = Sidekiq::Limiter.window("erp", 1, :day, backoff: own, reschedule: 9)
    assert_equal 3 + 9 + error_of(limiter).message.size, reschedule(limiter, 8)
    assert_nil reschedule(limiter, 9)
    assert_same own, limiter.backoff
  end

  def test_a_foreign_error_without_a_limiter
    slow_down = Class.new(StandardError)
    Sidekiq::Limiter.configure { |config| config.errors << slow_down }
    seen = nil
    Sidekiq::Limiter.configure { |config| config.backoff = ->(*all) { (seen = all) && 5r } }
    child = Class.new(slow_down).new
    assert_equal 5r, Sidekiq::Limiter.next_reschedule(nil, JOB, child)
    assert_equal [nil, JOB.merge("overrated" => 1), child], seen
    assert_nil Sidekiq::Limiter.next_reschedule(nil, JOB, StandardError.new)
    # One of Paddlegate's own names its limiter by a text.
    Sidekiq::Limiter.configure { |config| config.errors << Paddlegate::OverLimit }
    error = Paddlegate::OverLimit.new("erp", nil)
    assert_equal 5r, Sidekiq::Limiter.next_reschedule(error.limiter, JOB, error)
  end

  def test_what_a_backoff_must_not_say
    [nil, -1, "soon", Float::NAN].each do |bad|
      limiter = Sidekiq::Limiter.window("erp", 1, :day, backoff: ->(*) { bad })
      error = assert_raises(ArgumentError) { reschedule(limiter, 0) }
      assert_equal "backoff", error.argument
    end
    ["1", -1, 1.5].each do |bad|
      error = assert_raises(ArgumentError) { reschedule(Sidekiq::Limiter.unlimited, bad) }
      assert_equal "overrated", error.argument
    end
  end

  def test_an_error_may_be_raised_by_a_test
    limiter = Sidekiq::Limiter.unlimited
    assert_same limiter, Sidekiq::Limiter::OverLimit.new(limiter).limiter
    error = assert_raises(Sidekiq::Limiter::OverLimit) { raise Sidekiq::Limiter::OverLimit }
    assert_nil error.retry_after
  end

  def test_wrong_configuration_changes_nothing
    before = Sidekiq::Limiter.config
    assert_predicate before, :frozen?
    {
      redis: [nil, "redis://localhost", { sentinels: [] }, { url: "memory://", db: 3 }],
      reschedule: [-1, 1.5, nil, "20"],
      backoff: [nil, 300]
    }.each do |option, values|
      values.each do |bad|
        error = assert_raises(ArgumentError, bad.inspect) do
          Sidekiq::Limiter.configure do |config|
            config.errors << StandardError
            config.public_send(:"#{option}=", bad)
          end
        end
        assert_equal option.to_s, error.argument
      end
    end
    assert_same before, Sidekiq::Limiter.config
    refute_includes before.errors, StandardError
    assert_raises(FrozenError) { before.errors << StandardError }
  end

  def test_a_limiter_follows_the_configuration
    limiter = Sidekiq::Limiter.concurrent(unique, 1)
    limiter.within_limit { nil }
    on_redis
    assert_equal 0, limiter.held
    limiter.within_limit { nil }
    assert_equal 1, redis.concurrent(limiter.name, 1).stats.granted
    # What is not about the store leaves it as it is.
    Sidekiq::Limiter.configure { |config| config.reschedule = 3 }
    assert_equal [1, 3], [limiter.held, limiter.reschedule]
  end

  def test_the_addresses_of_the_environment
    program = <<~RUBY
      require "paddlegate/sidekiq"
      limiter = Paddlegate::Sidekiq::Limiter.bucket("addresses", 5, :day)
      begin
        limiter.within_limit { print Paddlegate::Sidekiq::Limiter.store.memory? }
      rescue Paddlegate::UnavailableError
        print "unavailable"
      end
    RUBY
    none = { "PADDLEGATE_URL" => nil, "REDIS_URL" => nil, "REDIS_PROVIDER" => nil }
    nobody = "redis://127.0.0.1:1"
    {
      { "PADDLEGATE_URL" => "memory://", "REDIS_URL" => nobody } => "true",
      { "REDIS_URL" => "memory://" } => "true",
      { "PADDLEGATE_URL" => "", "REDIS_URL" => nobody } => "unavailable",
      { "REDIS_PROVIDER" => "MY_REDIS", "MY_REDIS" => "memory://", "REDIS_URL" => nobody } => "true"
    }.each do |environment, printed|
      assert_equal printed, ruby(program, none.merge(environment)), environment
    end
  end

  def test_over_fork
    on_redis
    limiter = Sidekiq::Limiter.concurrent(unique, 1)
    limiter.within_limit { nil }
    pid = fork { exit!(limiter.within_limit { limiter.held } == 2 ? 0 : 1) }
    assert_predicate Process.wait2(pid).last, :success?
    assert_equal 2, limiter.held
  end

  def test_requiring_starts_nothing
    output = ruby(<<~RUBY, "REDIS_URL" => "redis://127.0.0.1:1")
      require "paddlegate/sidekiq"
      Paddlegate::Sidekiq::Limiter.configure { |config| config.errors << StandardError }
      puts $LOADED_FEATURES.grep(/ffi/).size
      limiter = Paddlegate::Sidekiq::Limiter.concurrent("erp", 5)
      puts Dir.children("/proc/self/fd").count { |fd| File.socket?("/proc/self/fd/\#{fd}") }, limiter
    RUBY
    assert_equal %w[0 0 erp], output.split
  end

  private

  def error_of(limiter)
    Sidekiq::Limiter::OverLimit.new(limiter)
  end

  def reschedule(limiter, overrated)
    job = JOB.merge("overrated" => overrated)
    Sidekiq::Limiter.next_reschedule(limiter, job, error_of(limiter))
  end
end
