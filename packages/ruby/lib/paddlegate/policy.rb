# frozen_string_literal: true

module Paddlegate
  # Converts limits between Ruby and the C library.
  module Policy
    # The names of the arguments of each kind, in their order. A throttle may omit a limit of 1.
    ARGUMENTS = {
      bucket: %w[limit interval offset],
      window: %w[limit interval],
      leaky: %w[capacity drain refund],
      points: %w[capacity refill refund],
      throttle: %w[limit interval],
      concurrency: %w[limit lock_timeout],
      quota: %w[limit per timezone starts],
      unlimited: [],
      paused: []
    }.freeze

    AMOUNTS = %w[limit capacity].freeze

    # The arguments that are names, and the offsets of their pointers in a `pg_limit`.
    NAMES = { "per" => 40, "timezone" => 48, "starts" => 56, "refund" => 64 }.freeze

    # The sizes of a `pg_limit`, with the offset of the pointer to its label, and of a
    # `pg_labelled_limit`.
    LIMIT_SIZE = 72
    LABEL = 32
    LABELLED_SIZE = 168

    module_function

    # Yields limits as an array of `pg_limit` and its length. `limits`: a Hash from labels to
    # {Limit}s or from kinds to numbers, or a list of {Limit}s and of `[kind, number, ...]`.
    def pack(limits)
      limits = read(limits)
      memory = FFI::MemoryPointer.new(:char, LIMIT_SIZE * [limits.size, 1].max)
      texts = limits.map.with_index { |limit, i| put(memory + (LIMIT_SIZE * i), limit) }
      yield(memory, limits.size).tap { texts.clear }
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

    # Writes a `pg_limit` and returns the memory of its texts, which must be kept as long.
    def put(memory, limit)
      numbers, names = pack_limit(limit.kind, limit.numbers)
      memory.put_bytes(0, numbers)
      names[LABEL] = label(limit.label) unless limit.label.nil?
      names.map do |offset, text|
        FFI::MemoryPointer.from_string(text).tap { |it| memory.put_pointer(offset, it) }
      end
    end

    # Returns the text of a label, which is a Symbol or a String.
    def label(label)
      Value.word("label", label)
    end

    # Returns the numbers of a `pg_limit`, and its names by their offsets.
    def pack_limit(kind, values)
      kind = kind.to_sym if kind.is_a?(String)
      arguments = ARGUMENTS.fetch(kind) do
        reject("must be one of #{ARGUMENTS.keys.join(", ")}, or have a Limit", kind, "kind")
      end
      values = [1, *values] if kind == :throttle && values.size < 2
      check_count(kind, arguments, values)
      amount = interval = offset = 0
      names = {}
      arguments.zip(values) do |argument, value|
        case argument
        when *NAMES.keys then names[NAMES[argument]] = Value.word(argument, value) unless value.nil?
        when *AMOUNTS then amount = units(kind, argument, value)
        when "offset" then offset = Value.interval(argument, value || 0)
        when "lock_timeout" then interval = lock_timeout(value)
        else interval = Value.interval(argument, value)
        end
      end
      [[Library::KINDS.index(kind), amount, interval, offset].pack("lx4q3"), names]
    end

    # Returns the fields of a `pg_labelled_limit` as a Hash, times in seconds.
    def unpack_limit(bytes)
      kind, amount, interval, offset, label, per, *calendar = bytes.unpack("lx4q3Z33Z8Z65Z24")
      limit = { label: label.to_sym, kind: Library::KINDS[kind], amount: amount,
                interval: interval / 1_000_000.0, offset: offset / 1_000_000.0 }
      unless per.empty?
        timezone, starts = calendar.map { |text| text.force_encoding("UTF-8").freeze }
        limit.update(per: per.to_sym, timezone: timezone, starts: starts)
      end
      limit.freeze
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
