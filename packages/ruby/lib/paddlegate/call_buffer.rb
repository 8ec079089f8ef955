# frozen_string_literal: true

module Paddlegate
  # The memory through which one call of the library goes.
  #
  # A fiber keeps one for all its calls. It is put away while a call is under way, so that a signal
  # handler which calls a limiter in the middle of it gets another.
  class CallBuffer
    KEY = :paddlegate_call_buffer

    # What the arguments are called in Ruby that have another name in the core.
    ARGUMENTS = { "at" => "at_us", "for" => "duration" }.freeze

    # A time in a message of the core, which Ruby has in seconds; but the time of a call.
    MICROS = /\b(?!at_us=)(?<name>\w+)_us=(?<micros>\d+)/

    ERRORS = {
      2 => lambda do |message, argument, _|
        InvalidError.new(in_seconds(message), ARGUMENTS.fetch(argument, argument))
      end,
      3 => ->(message, _, counted) { UnavailableError.new(message, may_have_counted: counted) },
      4 => ->(message, *) { DataError.new(message) },
      5 => ->(message, *) { InternalError.new(message) }
    }.freeze

    WAIT_SIZE = 32
    CHANNEL_SIZE = 64
    ATTRIBUTES_SIZE = 48

    # Enough for a place, a channel or an id.
    TEXT_SIZE = 320

    private_constant :KEY, :ARGUMENTS, :MICROS, :ERRORS, :WAIT_SIZE, :CHANNEL_SIZE,
                     :ATTRIBUTES_SIZE

    def self.checkout
      fiber = Thread.current
      buffer = fiber[KEY]
      return new unless buffer

      fiber[KEY] = nil
      buffer
    end

    def self.in_seconds(message)
      message.gsub(MICROS) do
        found = Regexp.last_match
        "#{found[:name]}=#{found[:micros].to_i / 1_000_000.0}"
      end
    end
    private_class_method :in_seconds

    # A `pg_decision`, a `pg_error`, a place for what else a call may answer, and one for a text.
    attr_reader :decision, :error, :result, :text

    def initialize
      @request = FFI::MemoryPointer.new(:char, 24)
      @wait = FFI::MemoryPointer.new(:char, WAIT_SIZE + CHANNEL_SIZE)
      @decision = FFI::MemoryPointer.new(:char, Decision::SIZE)
      @error = FFI::MemoryPointer.new(:char, 296)
      @result = FFI::MemoryPointer.new(:int64)
      @text = FFI::MemoryPointer.new(:char, TEXT_SIZE)
    end

    # A `pg_request`; `nil` when nothing is asked for but the default.
    def request(cost, estimate, at_us)
      return if cost.nil? && estimate.nil? && at_us.nil?

      cost = cost.nil? ? 0 : units("cost", cost)
      estimate = estimate.nil? ? 0 : units("estimate", estimate)
      @request.put_array_of_int64(0, [cost, estimate, time(at_us)])
    end

    # A `pg_wait`.
    def wait(max_wait_us, claim_timeout_us, channel, queue_position)
      @wait.put_string(WAIT_SIZE, channel)
      @wait.put_array_of_int64(0, [max_wait_us, claim_timeout_us, @wait.address + WAIT_SIZE,
                                   queue_position])
    end

    # Microseconds since 1970; 0 stands for now.
    def time(at_us)
      return 0 if at_us.nil?

      raise InvalidError.new("must not be 0", "at_us") if Value.whole("at_us", at_us).zero?

      at_us
    end

    # A `pg_runtime_state`, for which only few calls have a use.
    def runtime_state
      @runtime_state ||= FFI::MemoryPointer.new(:char, RuntimeState::SIZE)
    end

    # A `pg_learned`.
    def learned
      @learned ||= FFI::MemoryPointer.new(:char, Learned::SIZE)
    end

    # A `pg_admission`.
    def admission
      @admission ||= FFI::MemoryPointer.new(:char, Admission::SIZE)
    end

    # Of a gate: a `pg_request_attributes`, and a `pg_gate_decision`. The texts, of which some may
    # be `nil`, are the caller's to keep.
    def attributes(texts, at_us)
      @attributes ||= FFI::MemoryPointer.new(:char, ATTRIBUTES_SIZE)
      @attributes.write_array_of_pointer(texts)
      @attributes.put_int64(texts.size * FFI::Pointer.size, time(at_us))
      @attributes
    end

    # As {#facts}.
    def gate_decision
      @gate_decision ||= FFI::MemoryPointer.new(:char, GateDecision::SIZE)
    end

    def check(code)
      return if code.zero?

      _, counted, argument, message = @error.get_bytes(0, 296).unpack("l2Z32Z256")
      raise ERRORS.fetch(code).call(message.force_encoding("UTF-8"), argument, counted == 1)
    end

    def checkin
      Thread.current[KEY] = self
    end

    private

    # 0 stands for "not given", -1 for 0.
    def units(argument, value)
      Value.whole(argument, value).zero? ? -1 : value
    end
  end
end
