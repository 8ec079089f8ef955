# frozen_string_literal: true

module Paddlegate
  # Converts the responses of upstream APIs for the C library.
  module Upstream
    MAX_STATUS = 65_535
    private_constant :MAX_STATUS

    module_function

    # Returns the status, the headers and the body of the response of an HTTP client.
    def response(response)
      if response.respond_to?(:each_header) && response.respond_to?(:code)
        # Net::HTTP: the code is a String, and the body of a streamed response is not.
        body = response.body
        return [Integer(response.code), response.each_header.to_a, body.is_a?(String) ? body : ""]
      end

      status = %i[status code].find { |name| response.respond_to?(name) }
      unless status && response.respond_to?(:headers) && response.respond_to?(:body)
        Value.reject("must have status, headers and body", "response", response.class)
      end
      status = response.public_send(status)
      # Some clients have an object for the status.
      status = status.to_i if !status.nil? && !status.is_a?(Integer) && status.respond_to?(:to_i)
      body = response.body
      body = "" unless [String, Hash, Array].any? { |type| body.is_a?(type) }
      [status, response.headers || {}, body]
    end

    # Returns the header words of `pg_learn_from_response`, names and values in turn: an array of
    # pointers, and the texts, which must be kept as long. Ignores what cannot be a header.
    def headers(headers)
      words = pairs(headers).flat_map do |name, values|
        (values.is_a?(Array) ? values : [values]).flat_map { |value| header(name, value) }
      end
      Value.pointers(words)
    end

    # Returns text or bytes as they are, JSON for a Hash or Array, and what a {StreamUsage} found.
    def body(body)
      case body
      when nil then ""
      when StreamUsage then body.body
      # A copy, since another thread may change the original during the call.
      when String then body.dup
      when Hash, Array then Value.json("body", body)
      else Value.reject("must be a text, or what JSON was parsed into", "body", body.class)
      end
    end

    def status(status)
      Value.reject("must be an http status code", "status", status) if
        Value.whole("status", status) > MAX_STATUS

      status
    end

    def header(name, value)
      words = [name, value].map(&:to_s)
      value.nil? || words.any? { |word| word.include?("\0") } ? [] : words
    rescue ArgumentError, EncodingError
      []
    end

    # Returns the headers as a list of pairs, from such a list, a Hash, or an object that converts
    # to a Hash (as the responses of Net::HTTP).
    def pairs(headers)
      found = case headers
              when Array then headers
              when ->(it) { it.respond_to?(:to_hash) } then headers.to_hash.to_a
              when ->(it) { !it.nil? && it.respond_to?(:to_h) } then headers.to_h.to_a
              end
      return found if found&.all? { |pair| pair.is_a?(Array) && pair.size == 2 }

      Value.reject("must be a Hash or a list of pairs", "headers", headers.class)
    end
  end
end
