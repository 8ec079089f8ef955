# frozen_string_literal: true

# A limit for each customer by plan, one for all of them together, and one customer who gets more.
# Guide: docs/src/guides/per-customer.md
require "paddlegate"

PLANS = { free: 3, team: 10 }.freeze
ALL = Paddlegate.window("api", 12, :minute)

def limiter(customer, plan)
  Paddlegate.window("api:#{customer}", PLANS.fetch(plan), :minute, ttl: :day)
end

# The limit of all first: a refusal by it costs the customer nothing.
def serve(customer, plan)
  return "service busy" unless ALL.allow?

  decision = limiter(customer, plan).try_acquire
  decision.allowed? ? "#{decision.remaining} left" : "retry in #{decision.retry_after.ceil} s"
end

4.times { puts "ada (free): #{serve("ada", :free)}" }
puts "ada (team): #{serve("ada", :team)}" # -> ada (team): 6 left

limiter("bob", :free).override(limit: 5, expires_in: :hour)
answers = Array.new(6) { serve("bob", :free) }
served = answers.count { |answer| answer.end_with?("left") }
puts served # 5
puts serve("eve", :free) # -> 2 left
puts serve("eve", :free) # -> service busy
