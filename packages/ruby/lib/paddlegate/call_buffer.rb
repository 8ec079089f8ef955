# frozen_string_literal: true

require "ffi"

module Paddlegate
  # The native memory for the input and output of one call of the C library.
  #
  # Each fiber keeps one buffer for all its calls. The buffer is checked out during a call, so that
  # a signal handler that calls a limiter meanwhile gets another buffer.
  class CallBuffer
    KEY = :paddlegate_call_buffer

    # The arguments whose names differ in the core, with their Ruby names.
    ARGUMENTS = { "for" => "duration", "now" => "now_us" }.freeze

    # A time in microseconds in a message of the core, which Ruby shows in seconds. Excludes
    # `now_us`, the time of a {TestClock}.
    MICROS = /\b(?!now_us=)(?<name>\w+)_us=(?<micros>\d+)/

    ERRORS = {
      2 => lambda do |message, argument, _|
        InvalidError.new(in_seconds(message), ARGUMENTS.fetch(argument, argument))
      end,
      3 => ->(message, _, counted) { UnavailableError.new(message, may_have_counted: counted) },
      4 => ->(message, *) { DataError.new(message) },
      5 => ->(message, *) { InternalError.new(message) }
    }.freeze

    REQUEST_SIZE = 88
    WAIT_SIZE = 48
    CHANNEL_SIZE = 64
    ATTRIBUTES_SIZE = 40

    # Enough for the name of a node, a channel or an id.
    TEXT_SIZE = 320

    private_constant :KEY, :ARGUMENTS, :MICROS, :ERRORS, :REQUEST_SIZE, :WAIT_SIZE,
                     :CHANNEL_SIZE, :ATTRIBUTES_SIZE

    def self.checkout
      buffer = Thread.current[KEY]
      return buffer if buffer&.take

      # The one that is in use, or that a call which failed has left, is never used again.
      Thread.current[KEY] = new.tap(&:take)
    end

    def self.in_seconds(message)
      message.gsub(MICROS) do
        found = Regexp.last_match
        "#{found[:name]}=#{found[:micros].to_i / 1_000_000.0}"
      end
    end
    private_class_method :in_seconds

    # The memory for a `pg_decision`, a `pg_error`, any other result (64 bits), and a text; that of
    # a `pg_decision_limits` if the request asks for it, otherwise `nil`.
    attr_reader :decision, :error, :result, :text, :limits

    def initialize
      @taken = false
      @request = FFI::MemoryPointer.new(:char, REQUEST_SIZE)
      @wait = FFI::MemoryPointer.new(:char, WAIT_SIZE + CHANNEL_SIZE)
      @decision = FFI::MemoryPointer.new(:char, Decision::SIZE)
      @error = FFI::MemoryPointer.new(:char, 296)
      @result = FFI::MemoryPointer.new(:int64)
      @text = FFI::MemoryPointer.new(:char, TEXT_SIZE)
    end

    # Returns a `pg_request`; `nil` when all arguments have their defaults. `order` is as in
    # {Value.order}; with `limits` the call writes each limit of its decision.
    def request(cost, estimate, settle_within, order = nil, limits = nil)
      @limits = limits ? FFI::MemoryPointer.new(:char, DecisionLimit::LIST_SIZE) : nil
      return if cost.nil? && estimate.nil? && settle_within.nil? && order.nil? && !limits

      priority, share, weight = order
      # Keeps the text and the arrays until the call has ended.
      @share = share && FFI::MemoryPointer.from_string(share)
      words = [number("cost", cost), number("estimate", estimate), 0, 0, 0, 0,
               settle_within.nil? ? 0 : micros("settle_within", settle_within),
               priority || 0, @share ? @share.address : 0, weight || 0,
               @limits ? @limits.address : 0]
      @costs = put_units(words, 2, "cost", cost) if cost.is_a?(Hash)
      @estimates = put_units(words, 4, "estimate", estimate) if estimate.is_a?(Hash)
      @request.put_array_of_int64(0, words)
    end

    # Returns a `pg_wait`. `queue_position`: 0 is the end of the queue, -1 the position of the
    # existing ticket, any other value the number of an earlier ticket. `keep_us` is how long the
    # ticket of a job stays after its claim timeout, `is_run` is 1 for a run of a job.
    def wait(max_wait_us, claim_timeout_us, channel, queue_position, keep_us = 0, is_run = 0)
      @wait.put_string(WAIT_SIZE, channel)
      @wait.put_array_of_int64(0, [max_wait_us, claim_timeout_us, @wait.address + WAIT_SIZE,
                                   queue_position, keep_us, is_run])
    end

    # Returns the memory for a `pg_runtime_state`. Created on first use, since few calls need it.
    def runtime_state
      @runtime_state ||= FFI::MemoryPointer.new(:char, RuntimeState::SIZE)
    end

    # Returns the memory for a `pg_learned`.
    def learned
      @learned ||= FFI::MemoryPointer.new(:char, Learned::SIZE)
    end

    # Returns the memory for a `pg_admission`.
    def admission
      @admission ||= FFI::MemoryPointer.new(:char, Admission::SIZE)
    end

    # Returns the `pg_request_attributes` of a request for a gate. The caller must keep `texts`,
    # some of which may be `nil`, until the call ends.
    def attributes(texts)
      @attributes ||= FFI::MemoryPointer.new(:char, ATTRIBUTES_SIZE)
      @attributes.write_array_of_pointer(texts)
    end

    # Returns the memory for a `pg_gate_decision`.
    def gate_decision
      @gate_decision ||= FFI::MemoryPointer.new(:char, GateDecision::SIZE)
    end

    def check(code)
      return if code.zero?

      _, counted, argument, message = @error.get_bytes(0, 296).unpack("l2Z32Z256")
      raise ERRORS.fetch(code).call(message.force_encoding("UTF-8"), argument, counted == 1)
    end

    def checkin
      # A later call that asks for no limits must not find those of this one.
      @limits = nil
      @taken = false
    end

    # Takes the buffer for a call and returns `true`; `false` if one has it.
    def take
      !@taken && (@taken = true)
    end

    private

    # Converts units: in a `pg_request` 0 stands for "not given" and -1 for 0.
    def number(argument, value)
      return 0 if value.nil? || value.is_a?(Hash)

      Value.whole(argument, value).zero? ? -1 : value
    end

    # Converts an interval: 0 stands for "not given"; 1 is the shortest, and the library refuses it.
    def micros(argument, interval)
      [Value.interval(argument, interval), 1].max
    end

    # Puts the address and the length of an array of `pg_units`, and returns its memory.
    def put_units(words, index, argument, by_label)
      memory, count = Value.units(argument, by_label)
      words[index, 2] = memory.address, count
      memory
    end
  end
end
