# frozen_string_literal: true

# The jobs of active_job_test.rb, for a real Sidekiq process and for the adapter of this process.

require "active_job"
require "sidekiq"
require "paddlegate/active_job"

Redis.sadd_returns_boolean = false if defined?(Redis)
ActiveJob::Base.logger = Logger.new(IO::NULL)
ActiveJob::Base.queue_adapter = :sidekiq

Sidekiq.configure_server do |config|
  config.options[:poll_interval_average] = 0.1
end

APP_STORE = Paddlegate::Store.new(ENV.fetch("REDIS_URL"), timeout: 10)

# What all jobs have.
class Base < ActiveJob::Base
  include Paddlegate::ActiveJob

  queue_as :jobs

  private

  def note(*words)
    now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    Sidekiq.redis { |connection| connection.rpush("notes-#{self.class}", [now, *words].join(" ")) }
  end
end

# Two at once.
class Sync < Base
  limited_by APP_STORE.concurrent("sync", 2), patience: 0.2

  def perform(number)
    note("begin", number, executions)
    sleep(0.02)
    note("end", number, executions)
  end
end

# One at once of each key.
class Tenant < Base
  limited_by ->(*) { APP_STORE.concurrent("tenants", 1, keyed: true) }, key: ->(name, **) { name }

  def perform(name, number:)
    note("begin", name, number)
    note("end", name, number)
  end
end

# Corrects its estimate.
class Spend < Base
  limited_by APP_STORE.points("spend", 100, 1000), estimate: ->(units) { units }

  def perform(units)
    permit.correct(units - 1)
  end
end

# Fails once.
class Fails < Base
  retry_on ArgumentError, wait: 1, attempts: 2, jitter: 0
  limited_by APP_STORE.concurrent("fails", 1)

  def perform
    note("fails", executions)
    raise ArgumentError if executions == 1
  end
end

# Finds no server at first.
class Away < Base
  AWAY = Paddlegate::Store.new("redis://127.0.0.1:1", timeout: 0.1)
  limited_by lambda {
    first = Sidekiq.redis { |connection| connection.incr("away") } == 1
    (first ? AWAY : APP_STORE).window("away", 9, 1)
  }

  def perform
    note("ran", executions)
  end
end

# Has a wrong limiter, cost or key.
class Wrong < Base
  KEYED = APP_STORE.concurrent("wrong", 1, keyed: true)
  discard_on(StandardError) { |job, error| job.send(:note, job.arguments.first, error.class) }
  limited_by ->(what) { what == "name" ? APP_STORE.window("", 1, 1) : KEYED },
             cost: ->(what) { what == "cost" ? raise(IndexError, "no cost") : 1 },
             key: ->(what) { "a" unless what == "key" }

  def perform(what)
    note(what, "ran")
  end
end

# Takes longer than its lease.
class Long < Base
  limited_by APP_STORE.concurrent("long", 1, lock_timeout: 1)

  def perform(number)
    note("begin", number)
    sleep(3)
    note("end", number)
  end
end
