# frozen_string_literal: true

# Asks an upstream as fast as the limiter lets it, and learns from every answer. See client.py for
# the arguments.

require "json"
require "net/http"
require "paddlegate"

$stdout.sync = true
UPSTREAM, NAME, LIMIT, *NUMBERS = ARGV
LOOPS, SECONDS, SEED = NUMBERS.map(&:to_i)
KIND, AMOUNT, INTERVAL = JSON.parse(LIMIT)
LIMITER = Paddlegate::Store.new(ENV.fetch("PADDLEGATE_URL"), timeout: 10)
                           .limiter(NAME, [[KIND, AMOUNT, INTERVAL]])
URL = URI(UPSTREAM)

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

def call(http, dice, finish)
  requested = dice.rand(2..40)
  options = { wait_timeout: [finish - now, 0.001].max }
  options[:estimate] = requested if KIND == "points"
  permit = LIMITER.acquire(**options)
  response = http.post("/", JSON.generate(requested: requested))
  permit.learn_from_response(response.each_header.to_h, response.body, status: response.code.to_i)
  1
rescue Paddlegate::OverLimit
  0
end

def work(number, finish)
  dice = Random.new(SEED + number)
  answered = 0
  Net::HTTP.start(URL.host, URL.port) do |http|
    answered += call(http, dice, finish) while now < finish
  end
  answered
end

puts "ready"
$stdin.gets
FINISH = now + SECONDS
THREADS = Array.new(LOOPS) { |number| Thread.new { work(number, FINISH) } }
puts JSON.generate(answered: THREADS.sum(&:value))
