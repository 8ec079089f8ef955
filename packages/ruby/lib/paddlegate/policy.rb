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

    # The sizes of a `pg_limit`, which has the pointer to its label at the end, and of a
    # `pg_labelled_limit`.
    LIMIT_SIZE = 40
    LABEL = 32
    LABELLED_SIZE = 72

    module_function

    # Yields limits as an array of `pg_limit` and its length. `limits`: a Hash from labels to
    # {Limit}s or from kinds to numbers, or a list of {Limit}s and of `[kind, number, ...]`.
    def pack(limits)
      limits = read(limits)
      memory = FFI::MemoryPointer.new(:char, LIMIT_SIZE * [limits.size, 1].max)
      labels = limits.map.with_index { |limit, i| put(memory + (LIMIT_SIZE * i), limit) }
      yield(memory, limits.size).tap { labels.clear }
    end

    # Converts limits, as in {pack}, to a list of {Limit}s.
    def read(limits)
      case limits
      when Hash then limits.map { |name, value| read_named(name, value) }
      when Array then limits.map { |value| read_value(value) }
      else reject("must be a list, or a mapping from labels to limits", limits)
      end
    end

    def read_named(name, value)
      return Limit.new(name, [*value]) unless value.is_a?(Limit)

      Limit.new(value.kind, value.numbers, label(name))
    end

    def read_value(value)
      return value if value.is_a?(Limit)

      reject("must be a list of limits or of lists", value) unless value.is_a?(Array)
      Limit.new(value.first, value.drop(1))
    end

    # Writes a `pg_limit` and returns the memory of its label, which must be kept as long.
    def put(memory, limit)
      memory.put_bytes(0, pack_limit(limit.kind, limit.numbers))
      return if limit.label.nil?

      label = FFI::MemoryPointer.from_string(label(limit.label))
      memory.put_pointer(LABEL, label)
      label
    end

    # Returns the text of a label, which is a Symbol or a String.
    def label(label)
      Value.word("label", label)
    end

    def pack_limit(kind, values)
      kind = kind.to_sym if kind.is_a?(String)
      arguments = ARGUMENTS.fetch(kind) do
        reject("must be one of #{ARGUMENTS.keys.join(", ")}, or have a Limit", kind, "kind")
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
      [Library::KINDS.index(kind), amount, interval, offset].pack("lx4q3")
    end

    # Returns the fields of a `pg_labelled_limit` as a Hash, times in seconds.
    def unpack_limit(bytes)
      kind, amount, interval, offset, label = bytes.unpack("lx4q3Z33")
      { label: label.to_sym, kind: Library::KINDS[kind], amount: amount,
        interval: interval / 1_000_000.0, offset: offset / 1_000_000.0 }.freeze
    end

    # Returns the limits in an array of `count` `pg_labelled_limit` at offset `at`.
    def unpack(memory, at, count)
      Array.new(count) do |i|
        unpack_limit(memory.get_bytes(at + (LABELLED_SIZE * i), LABELLED_SIZE))
      end.freeze
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
