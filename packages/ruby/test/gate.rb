# frozen_string_literal: true

require "socket"
require "uri"

# The way to a server, which can be shut: then whoever comes, or is on the way, is sent away. While
# it is held, commands reach the server and its answers do not come back.
class Gate
  attr_reader :url, :asked

  attr_writer :shut, :held

  def initialize(url)
    address = URI(url)
    @listener = TCPServer.new("127.0.0.1", 0)
    @url = "redis://127.0.0.1:#{@listener.addr[1]}"
    # How often somebody came.
    @asked = 0
    @thread = Thread.new { serve(address.host, address.port || 6379) }
  end

  def close
    @held = false
    @listener.close
    @thread.join
  end

  private

  def serve(host, port)
    loop do
      client = @listener.accept
      @asked += 1
      next client.close if @shut

      server = TCPSocket.new(host, port)
      Thread.new { carry(client, server) }
      Thread.new { carry(server, client) { sleep(0.001) while @held } }
    end
  rescue IOError
    # Closed.
  end

  def carry(from, to)
    loop do
      bytes = from.readpartial(4096)
      break if @shut

      yield if block_given?
      to.write(bytes)
    end
  rescue IOError, SystemCallError
    # One of them is gone, and so is the other.
  ensure
    from.close
    to.close
  end
end
