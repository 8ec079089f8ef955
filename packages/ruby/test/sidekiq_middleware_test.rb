# frozen_string_literal: true

require "sidekiq"
require "gate"
require "sidekiq_helper"

# Which jobs the middleware puts away, and which it leaves to Sidekiq.
class SidekiqMiddlewareTest < Minitest::Test
  include SidekiqHelper

  # A middleware that keeps what it puts away.
  class Middleware < Paddlegate::Sidekiq::Middleware
    def away
      @away ||= []
    end

    private

    def put_away(job, delay)
      away << [job, delay]
    end

    def log; end
  end

  JOB = { "class" => "Charge", "jid" => "1", "args" => [7], "retry" => false }.freeze
  # A slot of an Invantive document.
  DOCUMENT = { "RateLimitControlList" => [{ "SlotName" => "s" }],
               "RateLimitControlSlotList" => [{ "Name" => "s", "ActionsPerSecond" => 9 }] }.freeze

  # What lets a job do some work.
  GRANTS = {
    block: ->(store) { store.window("w", 9, 1).within_limit { 1 } },
    block_of_leases: ->(store) { store.concurrent("c", 9).within_limit { 1 } },
    acquire: ->(store) { store.points("p", 9, 1).acquire(estimate: 1) },
    try_acquire: ->(store) { store.bucket("b", 9, 1).try_acquire },
    try_acquire_with_id: ->(store) { store.concurrent("c", 9).try_acquire(id: "x") },
    try_acquire_with_a_lease: ->(store) { store.concurrent("c", 9).try_acquire },
    allow: ->(store) { store.bucket("b", 9, 1).allow? },
    allow_of_a_key: ->(store) { store.bucket("b", 9, 1, keyed: true).allow?(key: "k", cost: 2) },
    admit: ->(store) { store.bucket("b", 9, 1).admit("x") },
    admit_all: ->(store) { store.bucket("b", 9, 1).admit_all(%w[x y]) },
    claim: ->(store) { store.bucket("b", 9, 1).enqueue("x") },
    together: ->(store) { store.together(*%w[a b].map { |it| store.window(it, 9, 1) }).acquire },
    gate: ->(store) { store.invantive_gate(DOCUMENT).within_limit { 1 } },
    of_sidekiq: ->(_) { Sidekiq::Limiter.window("s", 9, 1).within_limit { 1 } },
    planned: ->(_) { Sidekiq::Limiter.leaky("l", 9, 1, backoff: :planned).within_limit { 1 } },
    unlimited: ->(_) { Sidekiq::Limiter.unlimited.within_limit { 1 } }
  }.freeze

  # What a job asks of limiters first.
  ASKS = GRANTS.except(:of_sidekiq, :planned, :unlimited).freeze

  # What else finds no Redis: no work is done or not done by it.
  OTHERS = {
    points_used: ->(store) { store.points("p", 9, 1).correct("#{"0" * 32}:1:1", 1) },
    release: ->(store) { store.concurrent("c", 9).release("x:1:1") },
    stats: ->(store) { store.window("w", 9, 1).stats },
    peek: ->(store) { store.window("w", 9, 1).peek },
    raised: ->(_) { raise Paddlegate::UnavailableError, "of another one" }
  }.freeze

  def test_a_job_whose_first_call_finds_no_redis_comes_back
    ASKS.each do |what, ask|
      assert_equal [[JOB, 5]], away { ask.call(lost) }, what
      assert_equal [[JOB, 5]], away { memory.bucket("none", 1, 1).peek && ask.call(lost) }, what
      # What was refused has done nothing.
      assert_equal [[JOB, 5]], away { 2.times { closed.allow? } && ask.call(lost) }, what
    end
  end

  def test_a_job_that_has_begun_its_work_is_never_run_again
    GRANTS.each do |what, grant|
      ASKS.merge(OTHERS).each do |then_what, ask|
        fails("#{what}, then #{then_what}") do
          grant.call(Paddlegate::Store.new("memory://"))
          ask.call(lost)
        end
      end
    end
    OTHERS.each { |what, other| fails(what) { other.call(lost) } }
  end

  def test_a_job_that_loses_redis_in_its_block_is_never_run_again
    gate = Gate.new(URL)
    points = Paddlegate::Store.new(gate.url, timeout: 10).points(unique, 9, :day)
    charged = 0
    fails do
      points.within_limit(estimate: 5) do |handle|
        charged += 1
        gate.shut = true
        handle.points_used(1)
      end
    end
    assert_equal 1, charged
  ensure
    gate.close
  end

  def test_an_error_that_was_rescued_and_raised_again_later_is_none_of_a_first_call
    fails do
      error = assert_raises(Paddlegate::UnavailableError) { lost.window("w", 1, 1).acquire }
      memory.window("w", 1, 1).within_limit { raise error }
    end
  end

  def test_a_refusal_without_redis_runs_a_job_again_only_if_it_has_not_begun
    %i[fail_closed local].each do |mode|
      options = { on_unavailable: mode, wait_timeout: 0 }
      options[:local_share_percent] = 1 if mode == :local
      refuse = -> { lost.window("w", 1, 1, **options).within_limit { flunk } }
      (_, delay), = away(&refuse)
      assert_includes 301..600, delay
      fails(mode, Paddlegate::OverLimit) { memory.window("w", 1, 1).within_limit { refuse.call } }
    end
  end

  def test_limiters_of_the_factories_reschedule_too
    limit = Paddlegate::Limit
    both = memory.limiter("both", { rpm: limit.window(1, :day), burst: limit.window(1, 60) },
                          wait_timeout: 0)
    each = memory.together(memory.window("a", 1, :day), memory.window("b", 1, :day),
                           wait_timeout: 0)
    [both, each].each do |limiter|
      limiter.acquire
      (job, delay), = away { limiter.within_limit { flunk } }
      assert_equal JOB.merge("overrated" => 1), job
      assert_includes 301..600, delay
      (job, delay), = away(job) { limiter.within_limit { flunk } }
      assert_equal 2, job["overrated"]
      assert_includes 601..900, delay
      fails("gives up", Paddlegate::OverLimit, JOB.merge("overrated" => 20)) do
        limiter.within_limit { flunk }
      end
    end
    # They keep no place.
    Sidekiq::Limiter.configure { |config| config.backoff = :planned }
    (_, delay), = away { both.within_limit { flunk } }
    assert_includes 301..600, delay
    Sidekiq::Limiter.configure do |config|
      config.backoff = ->(limiter, job, error) { [limiter, job["overrated"], error.class] && 7 }
    end
    assert_equal([[JOB.merge("overrated" => 1), 7]], away { both.within_limit { flunk } })
  end

  def test_an_error_that_is_configured_is_a_reschedule_and_another_is_none
    Sidekiq::Limiter.configure do |config|
      config.errors << IOError
      config.backoff = ->(limiter, *) { limiter.nil? ? 9 : flunk }
    end
    assert_equal([[JOB.merge("overrated" => 1), 9]], away { raise IOError })
    fails("other", ArgumentError) { raise ArgumentError }
  end

  private

  def lost
    @lost ||= Paddlegate::Store.new("redis://127.0.0.1:1")
  end

  def closed
    @closed ||= memory.paused("closed")
  end

  # Runs a job, and returns what was put away.
  def away(job = JOB, &perform)
    middleware = Middleware.new
    middleware.call(nil, job, "queue", &perform)
    middleware.away
  end

  # A job fails, and nothing was put away.
  def fails(what = nil, error = Paddlegate::UnavailableError, job = JOB, &perform)
    middleware = Middleware.new
    assert_raises(error, what) { middleware.call(nil, job, "queue", &perform) }
    assert_empty middleware.away, what
  end
end
