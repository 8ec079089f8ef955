# frozen_string_literal: true

module Paddlegate
  # Converts limits between Ruby and the C library.
  module Policy
    # The names of the arguments of each kind, in their order. A throttle may omit a limit of 1.
    ARGUMENTS = {
      bucket: %w[limit interval offset],
      window: %w[limit interval],
      leaky: %w[capacity drain],
      points: %w[capacity refill],
      throttle: %w[limit interval],
      concurrency: %w[limit lock_timeout],
      unlimited: [],
      paused: []
    }.freeze

    AMOUNTS = %w[limit capacity].freeze

    module_function

    # Converts `[[kind, number, ...], ...]` to an array of `pg_limit`.
    def pack(limits)
      reject("must be a list of lists", limits) unless limits.is_a?(Array) && limits.all?(Array)

      limits.map { |limit| pack_limit(*limit) }.join
    end

    def pack_limit(kind = nil, *values)
      kind = kind.to_sym if kind.is_a?(String)
      arguments = ARGUMENTS.fetch(kind) do
        reject("must be one of #{ARGUMENTS.keys.join(", ")}", kind, "kind")
      end
      values = [1, *values] if kind == :throttle && values.size < 2
      check_count(kind, arguments, values)
      amount = interval = offset = 0
      arguments.zip(values) do |argument, value|
        case argument
        when *AMOUNTS then amount = units(kind, argument, value)
        when "offset" then offset = Value.interval(argument, value || 0)
        when "lock_timeout" then interval = lock_timeout(value)
        else interval = Value.interval(argument, value)
        end
      end
      Library.limit(kind, amount, interval, offset)
    end

    # Returns the fields of a `pg_limit` as a Hash, times in seconds; `nil` for an empty one.
    def unpack_limit(bytes)
      kind, amount, interval, offset = bytes.unpack("lx4q3")
      return if kind.zero?

      { kind: Library::KINDS[kind], amount: amount, interval: interval / 1_000_000.0,
        offset: offset / 1_000_000.0 }.freeze
    end

    # Returns the limits in an array of `count` `pg_limit` at offset `at`.
    def unpack(memory, at, count)
      Array.new(count) { |i| unpack_limit(memory.get_bytes(at + (32 * i), 32)) }.freeze
    end

    def units(kind, argument, value)
      units = Value.whole(argument, value)
      # In a `pg_limit` of a throttle, 0 stands for 1.
      Value.reject("must be from 1", argument, value) if kind == :throttle && units.zero?

      units
    end

    def lock_timeout(value)
      value.nil? ? Library::LOCK_TIMEOUT_US : Value.interval("lock_timeout", value)
    end

    def check_count(kind, arguments, values)
      return if values.size <= arguments.size

      shown = arguments.empty? ? "no numbers" : arguments.join(", ")
      reject("#{kind} takes #{shown}", values)
    end

    def reject(reason, value, argument = "limits")
      raise InvalidError.new("#{reason}: #{value.inspect[0, 40]}", argument)
    end
  end
end
