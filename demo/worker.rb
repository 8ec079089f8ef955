# frozen_string_literal: true

# Asks the shop as fast as the limits allow. Prints its counts as JSON lines.

require "json"
require "net/http"
require "paddlegate"

LIMITS = JSON.parse(ENV.fetch("DEMO_LIMITS"))
SHOP = URI(ENV.fetch("DEMO_SHOP"))
NAMES = %i[granted refused waited estimated corrected throttled].freeze
COUNTS = NAMES.to_h { |name| [name, 0] } # changes under the lock
LOCK = Mutex.new

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

def count(counts)
  LOCK.synchronize { counts.each { |name, number| COUNTS[name] += number } }
end

def report
  LOCK.synchronize { puts JSON.generate(language: "Ruby", **COUNTS) }
  $stdout.flush
end

def limited(limiter, **options)
  asked = now
  limiter.within_limit(**options, wait_timeout: LIMITS["waitSeconds"]) do |permit|
    count(granted: 1, waited: now - asked > 0.005 ? 1 : 0)
    yield permit
  end
rescue Paddlegate::OverLimit
  count(refused: 1)
end

def query(http, limiter)
  first = rand(5..40)
  estimate = 2 + first
  limited(limiter, estimate: estimate) do |permit|
    body = JSON.generate(query: "{ products(first: #{first}) { nodes { id } } }")
    answer = JSON.parse(http.post("/graphql", body).body)
    actual = answer.dig("extensions", "cost", "actualQueryCost")
    count(estimated: estimate, corrected: actual ? estimate - actual : 0, throttled: actual ? 0 : 1)
    permit.points_used(actual || 0)
  end
end

def order(http, limiter)
  limited(limiter) { count(throttled: http.get("/orders").code == "429" ? 1 : 0) }
end

queries, orders =
  if LIMITS["on"]
    name = LIMITS["name"]
    [Paddlegate.points(name, *LIMITS["points"]), Paddlegate.leaky(name, *LIMITS["leaky"])]
  else
    [Paddlegate.unlimited, Paddlegate.unlimited]
  end

report
$stdin.gets
finish = now + Float(ENV.fetch("DEMO_SECONDS"))
loops = [[:query, queries], [:query, queries], [:order, orders]].map do |task, limiter|
  Thread.new do
    Net::HTTP.start(SHOP.host, SHOP.port) do |http|
      while now < finish
        send(task, http, limiter)
        sleep LIMITS["pauseSeconds"]
      end
    end
  end
end
report while loops.none? { |thread| thread.join(0.2) && loops.none?(&:alive?) }
report
