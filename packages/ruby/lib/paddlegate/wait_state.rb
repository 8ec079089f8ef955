# frozen_string_literal: true

require "ffi"

module Paddlegate
  # The rules of a waiting call, in the core: when it is due, with which ticket, and whether it must
  # be cancelled. Times are seconds of the monotonic clock.
  class WaitState
    # The sizes of a `pg_waiter` and a `pg_wait`.
    SIZE = 120
    WAIT_SIZE = 48
    MICROS = 1_000_000.0
    private_constant :SIZE, :WAIT_SIZE, :MICROS

    # The state of a call that begins now. `owns_id`: only this call has its id, so that every
    # ticket and lease of the id belongs to it.
    def self.of_call(owns_id, max_wait_us, now)
      # Only whether there is an id matters here.
      id = "given" unless owns_id
      new(now) { |it, time, error| Native.pg_waiter_init(it, id, max_wait_us, time, error) }
    end

    # The state of a job in its worker, whose ticket stays in the queue when its patience is over.
    # `claim_timeout_us` is as in `pg_admit_within`.
    def self.of_job(claim_timeout_us, patience_us, now)
      new(now) do |it, time, error|
        Native.pg_waiter_init_job(it, "given", claim_timeout_us, patience_us, time, error)
      end
    end

    def initialize(now)
      @waiter = FFI::MemoryPointer.new(:char, SIZE)
      call { |error| yield(@waiter, micros(now), error) }
    end
    private_class_method :new

    # Returns how the next attempt waits: the arguments of {CallBuffer#wait}.
    def next(now, channel)
      wait = FFI::MemoryPointer.new(:char, WAIT_SIZE)
      call { |error| Native.pg_waiter_next(@waiter, micros(now), channel, wait, error) }
      max_wait_us, claim_timeout_us, address, *others = wait.read_array_of_int64(6)
      [max_wait_us, claim_timeout_us, address.zero? ? "" : channel, *others]
    end

    # Returns whether the decision is final; otherwise the call waits.
    def on_decision(now, decision)
      Native.pg_waiter_on_decision(@waiter, micros(now), decision.bytes) == 1
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
