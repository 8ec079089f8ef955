# frozen_string_literal: true

# A limit for each customer by plan, one for all of them together, and one customer who gets more.
# Guide: docs/src/guides/per-customer.md
require "paddlegate"

PLANS = { free: 3, team: 10 }.freeze
ALL = Paddlegate.window("api", 12, :minute)

def limiter(customer, plan)
  Paddlegate.window("api:#{customer}", PLANS.fetch(plan), :minute, ttl: :day)
end

# Both limits at once: a refusal by one costs nothing in the other.
def serve(customer, plan)
  decision = Paddlegate.together(ALL, limiter(customer, plan)).try_acquire
  return "#{decision.remaining} left" if decision.allowed?
  return "service busy" if decision.limiter == ALL.name

  "retry in #{decision.retry_after.ceil} s"
end

4.times { puts "ada (free): #{serve("ada", :free)}" }
puts "ada (team): #{serve("ada", :team)}" # -> ada (team): 6 left

limiter("bob", :free).override(limit: 5, expires_in: :hour)
answers = Array.new(6) { serve("bob", :free) }
served = answers.count { |answer| answer.end_with?("left") }
puts served # 5
puts serve("eve", :free) # -> 2 left
2.times { serve("eve", :free) }
puts serve("fay", :free) # -> service busy
