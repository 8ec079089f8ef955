# frozen_string_literal: true

module Paddlegate
  # The connection on which this process hears of the tickets that name its channel.
  class Hints
    # How many messages are read at once, and where a `pg_wakeup` has its id.
    ROOM = 64
    SIZE = 80
    ID = 8
    private_constant :ROOM, :SIZE, :ID

    # What tickets name so that their messages come here.
    attr_reader :channel

    # Can be read when there are messages; open as long as this is.
    attr_reader :io

    def initialize(handle)
      @handle = handle
      @channel = Library.text { |*room, error| Native.pg_wakeups_channel(handle, *room, error) }
      @io = IO.for_fd(Native.pg_wakeups_fd(handle), autoclose: false)
      @buffer = FFI::MemoryPointer.new(:char, ROOM * SIZE)
    end

    # Yields the id and the delay in seconds of the messages that have come, without waiting. After
    # an error none will come.
    def receive
      loop do
        count = fill
        count.times do |i|
          id = @buffer.get_string((i * SIZE) + ID).force_encoding("UTF-8")
          yield id, @buffer.get_int64(i * SIZE) / 1_000_000.0
        end
        return if count < ROOM
      end
    end

    def close
      @handle.free
    end

    private

    def fill
      exchange = Exchange.take
      code = Native.pg_wakeups_receive(@handle, @buffer, ROOM, exchange.place, exchange.error)
      exchange.check(code)
      exchange.place.get_uint64(0).tap { exchange.give_back }
    end
  end
end
