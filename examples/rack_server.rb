# frozen_string_literal: true

# A server that lets each client make three requests a minute, and two downloads go on at once.
#
# Guide: docs/src/guides/rack.md

require "net/http"
require "puma"
require "puma/server"
require "rack"
require "paddlegate/rack"

PER_CLIENT = Paddlegate.window("http", 3, :minute, keyed: true)
DOWNLOADS = Paddlegate.concurrent("downloads", 2)
GATE = Queue.new

app = Rack::Builder.app do
  use Paddlegate::Rack, PER_CLIENT, key: ->(request) { request.get_header("HTTP_X_CLIENT") }
  map("/hello") { run ->(_env) { [200, { "content-type" => "text/plain" }, ["hello\n"]] } }
  map("/download") do
    use Paddlegate::Rack, DOWNLOADS, status: 503
    run(lambda do |_env|
      body = Enumerator.new { |chunks| chunks << "first part, " << GATE.pop }
      [200, { "content-type" => "text/plain" }, body]
    end)
  end
end

server = Puma::Server.new(app, Puma::Events.strings)
port = server.add_tcp_listener("127.0.0.1", 0).addr[1]
server.run

def get(port, path, client = nil)
  fields = client ? { "X-Client" => client } : {}
  Net::HTTP.start("127.0.0.1", port) { |http| http.request(Net::HTTP::Get.new(path, fields)) }
end

answers = Array.new(4) { get(port, "/hello", "ann") }
puts answers.map(&:code).join(" ") # -> 200 200 200 429
puts "#{answers.last["ratelimit"]}, #{answers.last.body}"
puts get(port, "/hello", "ben").code # -> 200

downloads = Array.new(2) { Thread.new { get(port, "/download").body } }
sleep(0.01) until DOWNLOADS.stats.leases == 2
puts get(port, "/download").code # -> 503
2.times { GATE << "and the rest" }
puts downloads.map(&:value).uniq # -> first part, and the rest
sleep(0.01) until DOWNLOADS.stats.leases.zero?
server.stop(true)
