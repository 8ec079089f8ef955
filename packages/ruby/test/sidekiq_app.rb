# frozen_string_literal: true

# The jobs of sidekiq_process_test.rb, for real Sidekiq processes.

require "sidekiq"
require "paddlegate/sidekiq"

# Otherwise the gem warns of what this Sidekiq does.
Redis.sadd_returns_boolean = false if defined?(Redis)

# An error of another library.
class SlowDown < StandardError; end

Sidekiq.configure_server do |config|
  options = config.respond_to?(:options) ? config.options : config
  # The name of the setting in Sidekiq 6, and in 7 and 8.
  options[:poll_interval_average] = 0.1
  options[:average_scheduled_poll_interval] = 1
end

Sidekiq::Limiter.configure do |config|
  config.errors << SlowDown
  config.backoff = ->(_limiter, _job, _exception) { 0.2 }
end

# Writes what a job does into a list.
module Notes
  def note(*words)
    now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    Sidekiq.redis { |connection| connection.rpush("notes-#{self.class}", [now, *words].join(" ")) }
  end
end

# Three at once, and no retries.
class Limited
  include Sidekiq::Worker
  include Notes

  sidekiq_options retry: false, queue: "limited"
  LIMIT = Sidekiq::Limiter.concurrent("limited", 3, wait_timeout: 0, reschedule: 1000)

  def perform(number)
    LIMIT.within_limit do
      note("begin", number, jid)
      sleep(0.02)
      note("end", number, jid)
    end
  end
end

# Three at once and twenty a second; the first process that runs the victim is killed.
class Killed
  include Sidekiq::Worker
  include Notes

  sidekiq_options retry: false, queue: "limited"
  LIMIT = Sidekiq::Limiter.concurrent("killed", 3, wait_timeout: 0, lock_timeout: 5,
                                                   reschedule: 1000)
  RATE = Sidekiq::Limiter.window("killed-rate", 20, 1, wait_timeout: 0, reschedule: 1000)

  def perform(number, victim)
    LIMIT.within_limit { RATE.within_limit { work(number, victim) } }
  end

  private

  def work(number, victim)
    note("begin", number, Process.pid)
    sleep(0.02)
    kill(number) if number == victim
    note("end", number, Process.pid)
  end

  def kill(number)
    return if Sidekiq.redis { |connection| connection.incr("kills") } > 1

    note("kill", number, Process.pid)
    Process.kill("KILL", Process.pid)
    sleep
  end
end

# Ten a second; each comes back when its turn comes.
class Planned
  include Sidekiq::Worker
  include Notes

  sidekiq_options retry: false, queue: "limited"
  LIMIT = Sidekiq::Limiter.window("planned", 10, 1, wait_timeout: 0, backoff: :planned)

  def perform(number)
    note("asks", number)
    LIMIT.within_limit { note("runs", number) }
  end
end

# Never passes; is rescheduled twice.
class Hopeless
  include Sidekiq::Worker
  include Notes

  sidekiq_options queue: "limited"
  LIMIT = Sidekiq::Limiter.window("hopeless", 1, 3600, wait_timeout: 0, reschedule: 2)

  def perform
    note("asks")
    LIMIT.within_limit(used: 1) { nil }
    LIMIT.within_limit(used: 1) { nil }
  end
end

# Raises the error of another library, once.
class Foreign
  include Sidekiq::Worker
  include Notes

  sidekiq_options retry: false, queue: "limited"

  def perform(kind)
    times = Sidekiq.redis { |connection| connection.incr("times-#{kind}") }
    note(kind, times)
    raise SlowDown if kind == "slow" && times == 1
    raise ArgumentError, kind if kind == "wrong"
  end
end

# Finds no server at first; has no retries.
class Away
  include Sidekiq::Worker
  include Notes

  sidekiq_options retry: false, queue: "limited"
  AWAY = Paddlegate::Store.new("redis://127.0.0.1:1", timeout: 0.1).window("away", 1, 1)
  LIMIT = Sidekiq::Limiter.window("away", 1, 3600, wait_timeout: 0)

  def perform
    first = Sidekiq.redis { |connection| connection.incr("away") } == 1
    (first ? AWAY : LIMIT).within_limit { note("ran", jid) }
  end
end
