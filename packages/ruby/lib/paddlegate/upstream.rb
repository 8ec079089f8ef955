# frozen_string_literal: true

module Paddlegate
  # The answer of an upstream API as Ruby has it, for the library.
  module Upstream
    MAX_STATUS = 65_535
    private_constant :MAX_STATUS

    module_function

    # Names and values as the words of a `pg_learn`: its memory, which holds on to theirs, and their
    # count. What cannot be a header says nothing.
    def headers(headers)
      words = pairs(headers).flat_map do |name, values|
        (values.is_a?(Array) ? values : [values]).flat_map { |value| header(name, value) }
      end
      Value.pointers(words)
    end

    # Text or bytes as they are, or what JSON was parsed into.
    def body(body)
      case body
      when nil then ""
      # A copy, as another thread may change theirs while the library reads.
      when String then body.dup
      when Hash, Array then Value.json("body", body)
      else Value.refuse("must be a text, or what JSON was parsed into", "body", body.class)
      end
    end

    def status(status)
      Value.refuse("is no status of HTTP", "status", status) if
        Value.whole("status", status) > MAX_STATUS

      status
    end

    def header(name, value)
      words = [name, value].map(&:to_s)
      value.nil? || words.any? { |word| word.include?("\0") } ? [] : words
    rescue ArgumentError, EncodingError
      []
    end

    # A list of pairs, a Hash, or what can be made into one (as the answers of Net::HTTP).
    def pairs(headers)
      found = case headers
              when Array then headers
              when ->(it) { it.respond_to?(:to_hash) } then headers.to_hash.to_a
              when ->(it) { !it.nil? && it.respond_to?(:to_h) } then headers.to_h.to_a
              end
      return found if found&.all? { |pair| pair.is_a?(Array) && pair.size == 2 }

      Value.refuse("must be a Hash or a list of pairs", "headers", headers.class)
    end
  end
end
