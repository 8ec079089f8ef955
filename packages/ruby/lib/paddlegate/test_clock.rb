# frozen_string_literal: true

module Paddlegate
  # A clock for tests of code that uses limiters. It moves only when the test moves it.
  #
  #   clock = Paddlegate::TestClock.new
  #   mail = Paddlegate::Store.new("memory://", clock: clock).window("mail", 1, :minute)
  #   mail.allow?          # => true
  #   mail.allow?          # => false
  #   clock.advance(:minute)
  #   mail.allow?          # => true
  #
  # Several stores may share a clock. A call that waits still sleeps in real time, and reads the
  # clock at each attempt. Safe to share between threads.
  class TestClock
    # @api private
    attr_reader :handle

    # Creates a clock at a time in microseconds since 1970, from 0 (default) to 2^52. Another time
    # raises {InvalidError}.
    def initialize(now_us = 0)
      @handle = Library.test_clock(Value.whole("now_us", now_us))
    end

    # Returns the time in microseconds since 1970.
    def now_us
      Native.pg_test_clock_now(@handle)
    end

    # Sets the time, as {#initialize} does. An earlier time than before is that of a server whose
    # clock ran backwards.
    def now_us=(now_us)
      change(:pg_test_clock_set, Value.whole("now_us", now_us))
    end

    # Moves the clock forward by an interval, as in {Factories}; also by 0.
    def advance(span)
      change(:pg_test_clock_advance, Value.interval("span", span))
    end

    def inspect
      "#<#{self.class} now_us=#{now_us}>"
    end

    private

    def change(function, micros)
      buffer = CallBuffer.checkout
      buffer.check(Native.public_send(function, @handle, micros, buffer.error))
      buffer.checkin
      nil
    end
  end
end
