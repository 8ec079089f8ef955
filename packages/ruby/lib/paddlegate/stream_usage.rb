# frozen_string_literal: true

module Paddlegate
  # Finds the usage in the body of a response that is read in chunks, without holding it: JSON,
  # or server-sent events with JSON, of OpenAI (in chat it sends usage if the request has
  # `stream_options: { include_usage: true }`), Anthropic, Gemini and Groq; or GraphQL with
  # `extensions.cost`. {Limiter#learn_from_response} takes it in the place of the body.
  #
  #   usage = Paddlegate::StreamUsage.new
  #   response.read_body { |chunk| usage.feed(chunk) }
  #   permit.learn_from_response(response, usage, status: 200)
  class StreamUsage
    ROOM = 65_536
    private_constant :ROOM

    def initialize
      @handle = Library.stream_usage
    end

    # Reads the next bytes of the body, which may end anywhere.
    def feed(chunk)
      Value.reject("must be bytes or text", "chunk", chunk.class) unless chunk.is_a?(String)
      call { |error| Native.pg_stream_usage_feed(@handle, chunk, chunk.bytesize, error) }
      nil
    end

    # Returns what was found as the body of a response: JSON, or "" for nothing.
    def body
      text(:pg_stream_usage_body)
    end

    # Returns what was found and not kept, with the reason; complete after the last chunk.
    def ignored
      text(:pg_stream_usage_ignored).split("\n")
    end

    private

    def text(function)
      memory = FFI::MemoryPointer.new(:char, ROOM)
      call { |error| Native.public_send(function, @handle, memory, ROOM, error) }
      memory.read_string.force_encoding("UTF-8")
    end

    def call
      buffer = CallBuffer.checkout
      buffer.check(yield(buffer.error))
      buffer.checkin
    end
  end
end
