# frozen_string_literal: true

module Paddlegate
  # The connection on which this process receives the wake-ups of the tickets that name its channel.
  class WakeupListener
    # The maximum number of wake-ups per read, the size of a `pg_wakeup`, and the offset of its id.
    BATCH_SIZE = 64
    WAKEUP_SIZE = 80
    ID_OFFSET = 8
    private_constant :BATCH_SIZE, :WAKEUP_SIZE, :ID_OFFSET

    # The channel that tickets name to receive their wake-ups here.
    attr_reader :channel

    # An IO that is readable when there are wake-ups, valid as long as the listener.
    attr_reader :io

    def initialize(handle)
      @handle = handle
      @channel = Library.text { |*target, error| Native.pg_wakeups_channel(handle, *target, error) }
      @io = IO.for_fd(Native.pg_wakeups_fd(handle), autoclose: false)
      @wakeups = FFI::MemoryPointer.new(:char, BATCH_SIZE * WAKEUP_SIZE)
    end

    # Yields the id and the delay in seconds of each wake-up that has arrived, without waiting.
    # After an error no further wake-up arrives.
    def receive
      loop do
        count = read_batch
        count.times do |i|
          id = @wakeups.get_string((i * WAKEUP_SIZE) + ID_OFFSET).force_encoding("UTF-8")
          yield id, @wakeups.get_int64(i * WAKEUP_SIZE) / 1_000_000.0
        end
        return if count < BATCH_SIZE
      end
    end

    def close
      @handle.free
    end

    private

    def read_batch
      buffer = CallBuffer.checkout
      code = Native.pg_wakeups_receive(@handle, @wakeups, BATCH_SIZE, buffer.result, buffer.error)
      buffer.check(code)
      buffer.result.get_uint64(0).tap { buffer.checkin }
    end
  end
end
