# frozen_string_literal: true

require "json"

module Paddlegate
  # Ruby's values as the library takes them. What a number may be is decided there.
  module Value
    # Beyond it a number is not exact in every language.
    MAX = (1 << 53) - 1

    # Ten years in microseconds: the longest span.
    MAX_SPAN = 3650 * 86_400 * 1_000_000

    module_function

    def whole(argument, value)
      return value if value.is_a?(Integer) && value.between?(0, MAX)

      reject("must be a whole number, not negative, below 2^53", argument, value)
    end

    # A span in microseconds.
    def interval(argument, value)
      case value
      when Symbol, String then Library.parse_interval(argument, text(argument, value.to_s))
      else [seconds(argument, value) * 1_000_000, MAX].min.round
      end
    end

    # A span of waiting in seconds.
    def wait_timeout(value)
      micros = interval("wait_timeout", value)
      reject("must be at most ten years", "wait_timeout", value) if micros > MAX_SPAN

      micros / 1_000_000.0
    end

    # A Float that is not negative.
    def seconds(argument, value)
      return value if value.is_a?(Float) && value >= 0 && value.finite?

      number = value.to_f if value.respond_to?(:to_f) && !value.nil? && !value.is_a?(String)
      return number if number && number >= 0 && number.finite?

      reject("must be a number of seconds, finite and not negative", argument, value)
    rescue RangeError
      reject("must be a number of seconds, finite and not negative", argument, value)
    end

    # A text in UTF-8; bytes without an encoding are taken to be that.
    def text(argument, value)
      reject("must be a text", argument, value) unless value.is_a?(String)

      binary = value.encoding == Encoding::BINARY
      text = binary ? value.dup.force_encoding("UTF-8") : value.encode("UTF-8")
      reject("is not UTF-8", argument) unless text.valid_encoding?
      reject("has a zero byte", argument) if text.include?("\0")

      text
    rescue EncodingError
      reject("is not UTF-8", argument)
    end

    # The id of a permit, or of a {Permit}.
    def permit(value)
      return text("permit", value) unless value.is_a?(Permit)

      value.id || reject("has no id: neither an estimate nor a limit of concurrency", "permit")
    end

    # Texts as a list for the library: its memory, and theirs, to be kept as long.
    def pointers(words)
      texts = words.map { |word| FFI::MemoryPointer.from_string(word) }
      memory = FFI::MemoryPointer.new(:pointer, [texts.size, 1].max)
      memory.write_array_of_pointer(texts)
      [memory, texts]
    end

    # A Symbol or a text, as text.
    def word(argument, value)
      text(argument, value.is_a?(Symbol) ? value.name : value)
    end

    # Microseconds since 1970 of a Time (or what has `to_time`), or of a number of seconds.
    def timestamp(argument, value)
      value = value.to_time if value.respond_to?(:to_time)
      value = value.to_r if value.is_a?(Time)
      [seconds(argument, value) * 1_000_000, MAX].min.round
    end

    # JSON as it is, or of a Hash or an Array.
    def json(argument, value)
      return text(argument, value) unless value.is_a?(Hash) || value.is_a?(Array)

      JSON.generate(value)
    rescue JSON::JSONError, EncodingError
      reject("cannot be written as JSON", argument)
    end

    # A text is not shown: a url may have a password.
    def reject(reason, argument, *value)
      shown = value.map { |it| ": #{it.inspect[0, 40]}" }.first
      raise InvalidError.new("#{reason}#{shown}", argument)
    end
  end
end
