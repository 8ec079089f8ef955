# frozen_string_literal: true

module Paddlegate
  # The answer of an upstream API as Ruby has it, for the library.
  module Upstream
    MAX_STATUS = 65_535
    private_constant :MAX_STATUS

    module_function

    # The status, the headers and the body of what an HTTP client answers.
    def response(response)
      if response.respond_to?(:each_header) && response.respond_to?(:code)
        # Net::HTTP: the code is a text, and a body that was streamed is no text.
        body = response.body
        return [Integer(response.code), response.each_header.to_a, body.is_a?(String) ? body : ""]
      end

      status = %i[status code].find { |name| response.respond_to?(name) }
      unless status && response.respond_to?(:headers) && response.respond_to?(:body)
        Value.refuse("must have status, headers and body", "response", response.class)
      end
      status = response.public_send(status)
      # Some clients have an object for it.
      status = status.to_i if !status.nil? && !status.is_a?(Integer) && status.respond_to?(:to_i)
      body = response.body
      body = "" unless [String, Hash, Array].any? { |type| body.is_a?(type) }
      [status, response.headers || {}, body]
    end

    # Names and values as the words of a `pg_learn_from_response`: its memory, which holds on to
    # theirs, and their count. What cannot be a header says nothing.
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
      Value.refuse("must be an http status code", "status", status) if
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
