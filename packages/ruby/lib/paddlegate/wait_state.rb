# frozen_string_literal: true

require "ffi"

module Paddlegate
  # The rules of a waiting call, in the core: when it is due, with which ticket, and whether it must
  # be cancelled. Times are seconds of the monotonic clock.
  class WaitState
    # The sizes of a `pg_waiter` and a `pg_wait`, and the offset of the position in the latter.
    SIZE = 112
    WAIT_SIZE = 32
    POSITION_OFFSET = 24
    MICROS = 1_000_000.0
    private_constant :SIZE, :WAIT_SIZE, :POSITION_OFFSET, :MICROS

    # `owns_id`: only this call has its id, so that every ticket and lease of the id belongs to it.
    def initialize(owns_id, max_wait_us, now)
      @waiter = FFI::MemoryPointer.new(:char, SIZE)
      # Only whether there is an id matters here.
      id = "given" unless owns_id
      call { |error| Native.pg_waiter_init(@waiter, id, max_wait_us, micros(now), error) }
    end

    # Returns the maximum wait of the next attempt in microseconds, and its ticket or 0.
    def next(now, channel)
      wait = FFI::MemoryPointer.new(:char, WAIT_SIZE)
      call { |error| Native.pg_waiter_next(@waiter, micros(now), channel, wait, error) }
      [wait.get_int64(0), wait.get_int64(POSITION_OFFSET)]
    end

    def on_decision(now, decision)
      Native.pg_waiter_on_decision(@waiter, micros(now), decision.bytes)
    end

    def on_error(error)
      counted = error.is_a?(UnavailableError) && error.may_have_counted?
      Native.pg_waiter_on_error(@waiter, [0, counted ? 1 : 0].pack("l2x288"))
    end

    def on_wakeup(time)
      Native.pg_waiter_on_wakeup(@waiter, micros(time))
    end

    # Returns when the next attempt is due; 0.0 when the ticket does not name this channel.
    def retry_at(channel)
      Native.pg_waiter_retry_at(@waiter, channel) / MICROS
    end

    def must_cancel?(delivered)
      Native.pg_waiter_must_cancel(@waiter, delivered ? 1 : 0) == 1
    end

    private

    def micros(time)
      (time * MICROS).round
    end

    def call
      buffer = CallBuffer.checkout
      buffer.check(yield(buffer.error))
      buffer.checkin
    end
  end
end
