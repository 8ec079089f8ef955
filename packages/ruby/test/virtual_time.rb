# frozen_string_literal: true

require "helper"

# Workers, and the limiters of a store in memory, on a virtual clock. One worker runs at a time, and
# the clock moves to the next thing that happens when all of them wait: the same in each run, and on
# each machine.
class VirtualTime
  # One sleep of a worker, which is resumed once at most.
  Sleeping = Struct.new(:ready, :go) do
    def resume
      ready&.push(go)
      self.ready = nil
    end
  end

  # A hub without a thread of its own: wake-ups arrive between two workers.
  class Hub
    attr_reader :channel

    def initialize(limiter)
      @listener = limiter.listen
      @channel = @listener.channel
      @waiters = []
    end

    def add(waiter, **)
      @waiters |= [waiter]
    end

    def remove(waiter)
      @waiters.delete(waiter)
    end

    def closed?
      false
    end

    def deliver
      while @listener.io.wait_readable(0)
        @listener.receive do |id, delay|
          @waiters.select { |waiter| waiter.id == id }.each { |waiter| waiter.wake(delay) }
        end
      end
    end
  end

  # What a waiting call and a permit ask a clock for.
  module Clock
    def wake(delay)
      super
      @sleeping&.resume
    end

    private

    def now
      VirtualTime.current&.now || super
    end

    def sleep_until_due
      time = VirtualTime.current or return super
      while (left = time_left).positive?
        time.sleep(left) { |sleeping| @sleeping = sleeping }
      end
    end
  end
  [Paddlegate::Waiter, Paddlegate::Permit].each { |type| type.prepend(Clock) }

  # Yields a new one, runs all workers to their end, and returns the seconds that have passed.
  def self.run
    time = new
    yield time
    time.run
  end

  def self.current
    Thread.current.thread_variable_get(:virtual_time)
  end

  attr_reader :store, :clock

  def initialize
    @clock = Paddlegate::TestClock.new(Helper::NOW)
    @store = Paddlegate::Store.new("memory://", clock: @clock)
    @ready = []
    @timers = []
    @workers = []
    @parked = Queue.new
    @hubs = hubs = {}
    create = ->(limiter) { hubs[limiter.notification_node] ||= Hub.new(limiter) }
    @store.hubs.define_singleton_method(:find_or_create, &create)
  end

  # The seconds since the start.
  def now
    (@clock.now_us - Helper::NOW) / 1_000_000.0
  end

  # Starts a worker.
  def start
    go = Queue.new
    time = self
    @workers << Thread.new do
      Thread.current.report_on_exception = false
      Thread.current.thread_variable_set(:virtual_time, time)
      Thread.current.thread_variable_set(:go, go)
      go.pop
      yield
    ensure
      @parked << Thread.current
    end
    @ready << go
  end

  # Calls a block later, between two workers.
  def after(seconds, &block)
    at = now + seconds
    @timers.insert(@timers.bsearch_index { |time,| time > at } || @timers.size, [at, block])
  end

  # Lets the worker wait, for so many seconds at most. Yields the {Sleeping}, which ends the wait.
  def sleep(seconds = nil)
    go = Thread.current.thread_variable_get(:go)
    sleeping = Sleeping.new(@ready, go)
    yield sleeping if block_given?
    after(seconds) { sleeping.resume } if seconds
    @parked << nil
    go.pop
  end

  def run
    Thread.current.thread_variable_set(:virtual_time, self)
    step until @ready.empty? && @timers.empty?
    @ended
  ensure
    Thread.current.thread_variable_set(:virtual_time, nil)
    @workers.each(&:kill)
  end

  private

  def step
    if (go = @ready.shift)
      go << nil
      # The error of a worker is raised here.
      @parked.pop&.join
      @ended = now
      @hubs.each_value(&:deliver)
    else
      at, block = @timers.shift
      # Seconds are rounded, and a microsecond late is late enough.
      @clock.now_us = [@clock.now_us, Helper::NOW + (at * 1_000_000).floor + 1].max
      block.call
    end
  end
end
