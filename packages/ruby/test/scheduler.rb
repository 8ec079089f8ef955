# frozen_string_literal: true

# The least that is a fiber scheduler: fibers that sleep, and that wait to be woken.
class Scheduler
  # Runs a block in a fiber, until all fibers have ended.
  def self.run(&block)
    Thread.new do
      Thread.current.report_on_exception = false
      Fiber.set_scheduler(new)
      Fiber.schedule(&block)
    end.join
  end

  def initialize
    @wakes = {}
    @ready = Thread::Queue.new
    @blocked = 0
    @woken = IO.pipe
  end

  def fiber(&block)
    Fiber.new(blocking: false, &block).tap(&:resume)
  end

  # Ends what a fiber waits for by an error.
  def raise_in(fiber, error)
    @ready << [fiber, error]
  end

  def block(_blocker, timeout = nil)
    @blocked += 1
    kernel_sleep(timeout)
  ensure
    @blocked -= 1
  end

  # Called by other threads.
  def unblock(_blocker, fiber)
    @ready << [fiber]
    @woken.last.write(".")
  rescue IOError
    # All have ended meanwhile.
  end

  def kernel_sleep(duration = nil)
    fiber = Fiber.current
    @wakes[fiber] = now + duration if duration
    Fiber.yield
  ensure
    @wakes.delete(fiber)
  end

  # Files block here.
  def io_wait(file, events, timeout)
    events if (events & IO::READABLE).zero? || file.wait_readable(timeout)
  end

  def close
    turn until @wakes.empty? && @ready.empty? && @blocked.zero?
    @woken.each(&:close)
  end

  private

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  def turn
    @woken.first.read_nonblock(64) if IO.select([@woken.first], nil, nil, pause)
    Array.new(@ready.size) { @ready.pop }.each do |fiber, error|
      next unless fiber.alive?

      error ? fiber.raise(error) : fiber.resume
    end
    @wakes.select { |_, time| time <= now }.each_key { |fiber| fiber.resume if @wakes.key?(fiber) }
  end

  def pause
    return 0 unless @ready.empty?

    [(@wakes.values.min || (now + 60)) - now, 0].max
  end
end
