# frozen_string_literal: true

require "json"
require "minitest/autorun"
require "open3"
require "rbconfig"
require "securerandom"
require "socket"
require "tempfile"
require "timeout"
require "tmpdir"
require "uri"

require "paddlegate"

# What several tests need.
module Helper
  ROOT = File.expand_path("..", __dir__)
  REPOSITORY = File.expand_path("../..", ROOT)

  # The Redis to test on. A test without one fails.
  URL = ENV.fetch("PADDLEGATE_TEST_URL")
  SOAK = ENV["PADDLEGATE_SOAK"] == "1"

  NOW = 1_700_000_000_000_000
  DAY = 86_400

  # Methods of test classes.
  module ClassMethods
    # For a test that takes long: it runs in a soak alone.
    def in_soak(test)
      remove_method(test) unless SOAK
    end
  end

  def self.included(test)
    test.extend(ClassMethods)
  end

  # A name that no other test and no other run has.
  def unique(name = "test")
    "ruby-#{name}-#{SecureRandom.hex(6)}"
  end

  def memory
    @memory ||= Paddlegate::Store.new("memory://")
  end

  def redis
    @redis ||= Paddlegate::Store.new(URL, timeout: 10)
  end

  # A store whose clock stands at NOW until {#at} moves it.
  def clocked(url = "memory://")
    at(0)
    Paddlegate::Store.new(url, timeout: 10, clock: clock)
  end

  # Yields such a store in memory, and one in Redis.
  def on_clocked
    ["memory://", URL].each { |url| yield clocked(url) }
  end

  def clock
    @clock ||= Paddlegate::TestClock.new
  end

  # Sets the clock to so many microseconds after NOW.
  def at(after_us)
    clock.now_us = NOW + after_us
  end

  def elapsed
    start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    yield
    Process.clock_gettime(Process::CLOCK_MONOTONIC) - start
  end

  # Yields up to five times, until something took less than so many seconds: what a machine that
  # stalls does not do each time.
  def assert_once_within(seconds)
    assert((1..5).any? { yield < seconds }, "never within #{seconds} s")
  end

  # Waits for a condition, which another thread or process is about to make true.
  def eventually(what = "it")
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + (SOAK ? 600 : 60)
    until yield
      flunk("never: #{what}") if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
      sleep(0.002)
    end
  end

  # What Redis answers to a command that this library has no use for.
  def command(*words)
    address = URI(URL)
    socket = TCPSocket.new(address.host, address.port || 6379)
    socket.write("*#{words.size}\r\n", *words.map { |word| "$#{word.bytesize}\r\n#{word}\r\n" })
    answer = socket.gets
    answer.start_with?("$") ? socket.read(answer[1..].to_i) : answer
  ensure
    socket&.close
  end

  # A store and its address whose server takes the call and never answers.
  def silent(timeout)
    server = TCPServer.new("127.0.0.1", 0)
    url = "redis://127.0.0.1:#{server.addr[1]}"
    yield Paddlegate::Store.new(url, timeout: timeout), url
  ensure
    server&.close
  end

  # What a program prints. It has this package and must end well.
  def ruby(program, environment = {}, *arguments)
    output, status = Timeout.timeout(60) do
      Open3.capture2e(environment, RbConfig.ruby, "-w", "-I#{ROOT}/lib", "-", *arguments,
                      stdin_data: program)
    end
    assert status.success?, output
    output
  end
end
