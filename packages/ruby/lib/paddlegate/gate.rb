# frozen_string_literal: true

module Paddlegate
  # What a document of Invantive limits, on a store: its elements choose a slot for each request.
  # Made by {Factories#gate}; safe to share between threads and to keep over `fork`.
  #
  # The facts are texts, of which `nil` matches no criterion: `context`, `url`, `log_on_code`,
  # `data_container_id`, and `ip`, the address of the client without a port. Every method may raise
  # what a {Limiter} raises.
  class Gate
    NAMES = %w[context url log_on_code data_container_id ip].freeze
    private_constant :NAMES

    # @api private
    # Made by {Factories}.
    def initialize(store, document)
      @functions = store.memory? ? Native::Memory : Native::Server
      # Kept, as a store that is forgotten is closed.
      @store = store
      @handle = Library.invantive_gate(store.handle, Value.json("document", document))
    end

    # Counts a request in the slot of the first element that applies to it: a {GateDecision}. Never
    # waits, never raises because of a refusal, which counts nothing. `at_us` is the time of the
    # request in microseconds since 1970, for tests; by default the store asks its own clock.
    def admit(context: nil, url: nil, log_on_code: nil, data_container_id: nil, ip: nil, at_us: nil)
      texts = NAMES.zip([context, url, log_on_code, data_container_id, ip]).map do |name, value|
        FFI::MemoryPointer.from_string(Value.text(name, value)) unless value.nil?
      end
      buffer = CallBuffer.checkout
      attributes = buffer.attributes(texts, at_us)
      buffer.check(@functions.invantive_gate_admit(@handle, attributes, buffer.gate_decision,
                                                   buffer.error))
      decision = GateDecision.read(buffer.gate_decision)
      buffer.checkin
      decision
    end

    # Decides as {#admit}, sleeps for the `delay` of the verdict, and runs the block, which gets the
    # {GateDecision}; returns its value. Over the limit it raises {OverLimit}, after the delay too,
    # with the slot as its `limiter`.
    def within_limit(context: nil, url: nil, log_on_code: nil, data_container_id: nil, ip: nil)
      raise InvalidError.new("give one; without one, use admit", "block") unless block_given?

      decision = admit(context: context, url: url, log_on_code: log_on_code,
                       data_container_id: data_container_id, ip: ip)
      sleep(decision.delay) if decision.delay.positive?
      raise OverLimit.new(decision.slot, decision) unless decision.allowed?

      yield decision
    end

    def inspect
      "#<#{self.class}>"
    end
  end
end
