# frozen_string_literal: true

module Paddlegate
  # An Invantive document with its limiters in a store; the elements of the document choose a slot
  # for each request. Created by {Factories#invantive_gate}; safe to share between threads and to
  # keep over `fork`.
  #
  # The attributes of a request are texts: `context`, `url`, `log_on_code`, `data_container_id`, and
  # `ip`, the address of the client without a port. An attribute that is `nil` matches no criterion.
  # Every method may raise the errors of a {Limiter}.
  class Gate
    NAMES = %w[context url log_on_code data_container_id ip].freeze
    private_constant :NAMES

    # @api private
    # Called by {Factories}.
    def initialize(store, document)
      @functions = store.memory? ? Native::Memory : Native::Server
      # A reference to the store, since the garbage collector closes a store without references.
      @store = store
      @handle = Library.invantive_gate(store.handle, Value.json("document", document))
    end

    # Counts a request in the slot of the first matching element and returns a {GateDecision}. Never
    # waits and never raises because of a refusal; a refused request is not counted.
    def admit(context: nil, url: nil, log_on_code: nil, data_container_id: nil, ip: nil)
      texts = NAMES.zip([context, url, log_on_code, data_container_id, ip]).map do |name, value|
        FFI::MemoryPointer.from_string(Value.text(name, value)) unless value.nil?
      end
      JobTurn.tell do
        buffer = CallBuffer.checkout
        attributes = buffer.attributes(texts)
        buffer.check(@functions.invantive_gate_admit(@handle, attributes, buffer.gate_decision,
                                                     buffer.error))
        GateDecision.read(buffer.gate_decision).tap { buffer.checkin }
      end
    end

    # Decides as {#admit} does, sleeps for the `delay` of the decision, then yields the
    # {GateDecision} and returns the value of the block. Over the limit it raises {OverLimit}, also
    # after the delay, with the slot as its `limiter`.
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
