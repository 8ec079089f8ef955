# frozen_string_literal: true

require "json"

module Paddlegate
  # Converts Ruby values for the C library, which checks the ranges of numbers.
  module Value
    # The largest integer that is exact in every language.
    MAX = (1 << 53) - 1

    # Ten years in microseconds: the maximum time span.
    MAX_SPAN = 3650 * 86_400 * 1_000_000

    # The size of a `pg_units`.
    UNITS_SIZE = 24
    private_constant :UNITS_SIZE

    module_function

    def whole(argument, value)
      return value if value.is_a?(Integer) && value.between?(0, MAX)

      reject("must be a whole number, not negative, below 2^53", argument, value)
    end

    # Converts a cost, a number of units or a Hash of them. Returns the number, 0 for a Hash, and
    # the array of `pg_units` with its length.
    def cost(argument, value)
      value.is_a?(Hash) ? [0, *units(argument, value)] : [whole(argument, value), nil, 0]
    end

    # Returns an array of `pg_units` and its length. The memory has the texts too.
    def units(argument, cost)
      rows = cost.flat_map { |key, value| unit_rows(argument, word(argument, key), value) }
      at = UNITS_SIZE * rows.size
      texts = rows.sum { |label, _, limiter| label.bytesize + limiter.to_s.bytesize + 2 }
      memory = FFI::MemoryPointer.new(:char, at + texts + 1)
      rows.each_with_index do |(label, units, limiter), i|
        addresses = [label, limiter].map do |text|
          next 0 if text.nil?

          memory.put_string(at, text)
          (memory.address + at).tap { at += text.bytesize + 1 }
        end
        memory.put_array_of_int64(UNITS_SIZE * i, [addresses[0], units, addresses[1]])
      end
      [memory, rows.size]
    end

    # Returns a cost that stays as it is now when the caller changes the Hash.
    def kept(cost)
      return cost unless cost.is_a?(Hash)

      cost.transform_values { |units| units.is_a?(Hash) ? units.dup : units }
    end

    # Returns `[label, units, limiter]` for each number of an entry of a cost, whose key is the name
    # of a limiter if its value is a Hash.
    def unit_rows(argument, key, value)
      return [[key, whole(argument, value), nil]] unless value.is_a?(Hash)

      value.map { |label, units| [word(argument, label), whole(argument, units), key] }
    end

    # Returns the place of a call in a queue as `[priority, share, weight]`, with 0 and `nil` for
    # what is not given; `nil` when nothing is.
    def order(priority, share, weight)
      return if priority.nil? && share.nil? && weight.nil?

      # In a `pg_request`, a weight of 0 stands for "not given".
      reject("must be from 1 to 1000", "weight", weight) if weight.eql?(0)
      [priority.nil? ? 0 : whole("priority", priority), share.nil? ? nil : word("share", share),
       weight.nil? ? 0 : whole("weight", weight)]
    end

    # Returns an interval in microseconds.
    def interval(argument, value)
      case value
      when Symbol, String then Library.parse_interval(argument, text(argument, value.to_s))
      else [seconds(argument, value) * 1_000_000, MAX].min.round
      end
    end

    # Returns the numbers of a rule `[refusals, within, for]`, times in microseconds. All errors
    # name the rule.
    def block_after(rule)
      unless rule.is_a?(Array) && rule.size == 3
        reject("must be [refusals, within, for]", "block_after", rule)
      end

      refusals, *times = rule
      [whole("block_after", refusals), *times.map { |time| interval("block_after", time) }]
    end

    # Returns a maximum wait in seconds.
    def wait_timeout(value)
      micros = interval("wait_timeout", value)
      reject("must be at most ten years", "wait_timeout", value) if micros > MAX_SPAN

      micros / 1_000_000.0
    end

    # Returns a number of seconds, finite and not negative.
    def seconds(argument, value)
      return value if value.is_a?(Float) && value >= 0 && value.finite?

      number = value.to_f if value.respond_to?(:to_f) && !value.nil? && !value.is_a?(String)
      return number if number && number >= 0 && number.finite?

      reject("must be a number of seconds, finite and not negative", argument, value)
    rescue RangeError
      reject("must be a number of seconds, finite and not negative", argument, value)
    end

    # Returns whether the library reads a value as it is meant, without the copy that {text} makes.
    # The library checks that it is UTF-8.
    def plain?(value)
      value.is_a?(String) && value.encoding == Encoding::UTF_8
    end

    # Returns a text in UTF-8; bytes without an encoding count as UTF-8.
    def text(argument, value)
      reject("must be a text", argument, value) unless value.is_a?(String)

      binary = value.encoding == Encoding::BINARY
      text = binary ? value.dup.force_encoding("UTF-8") : value.encode(Encoding::UTF_8)
      reject("is not UTF-8", argument) unless text.valid_encoding?
      reject("has a zero byte", argument) if text.include?("\0")

      text
    rescue EncodingError
      reject("is not UTF-8", argument)
    end

    # Returns the bytes of a String in any encoding.
    def bytes(argument, value)
      value.is_a?(String) ? value.b : reject("must be a text", argument, value)
    end

    # Returns the id of a permit, given as an id or a {Permit}.
    def permit(value)
      return text("permit", value) unless value.is_a?(Permit)

      value.id || reject("has no id: neither an estimate nor a limit of concurrency", "permit")
    end

    # Converts texts to an array of pointers. Returns the array and the memory of the texts, which
    # must be kept as long.
    def pointers(words)
      texts = words.map { |word| FFI::MemoryPointer.from_string(word) }
      memory = FFI::MemoryPointer.new(:pointer, [texts.size, 1].max)
      memory.write_array_of_pointer(texts)
      [memory, texts]
    end

    # Returns a Symbol or a String as text.
    def word(argument, value)
      text(argument, value.is_a?(Symbol) ? value.name : value)
    end

    # Returns a switch: `true` or `false`, or the default for `nil`.
    def switch(argument, value, default)
      return value.nil? ? default : value if [true, false, nil].include?(value)

      reject("must be true or false", argument, value)
    end

    # Returns microseconds since 1970 for a Time (or an object with `to_time`) or a number of
    # seconds.
    def timestamp(argument, value)
      value = value.to_time if value.respond_to?(:to_time)
      value = value.to_r if value.is_a?(Time)
      [seconds(argument, value) * 1_000_000, MAX].min.round
    end

    # Returns JSON text as it is, and the JSON of a Hash or an Array.
    def json(argument, value)
      return text(argument, value) unless value.is_a?(Hash) || value.is_a?(Array)

      JSON.generate(value)
    rescue JSON::JSONError, EncodingError
      reject("cannot be written as JSON", argument)
    end

    # Raises {InvalidError} with the reason, and with the value if one is given. {text} gives none
    # for a String, since a URL may contain a password.
    def reject(reason, argument, *value)
      shown = value.map { |it| ": #{it.inspect[0, 40]}" }.first
      raise InvalidError.new("#{reason}#{shown}", argument)
    end
  end
end
