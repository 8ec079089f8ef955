# frozen_string_literal: true

# A limit for each user by plan, one for all of them together, and one user who gets more.
# Guide: docs/src/guides/per-user.md
require "paddlegate"

PLANS = {
  free: Paddlegate.window("api", 3, :minute, keyed: true),
  team: Paddlegate.window("api", 10, :minute, keyed: true)
}.freeze
ALL = Paddlegate.window("everybody", 12, :minute)

# Both limits at once: a refusal by one costs nothing in the other.
def serve(user, plan)
  decision = Paddlegate.together(ALL, PLANS.fetch(plan).with_key(user)).try_acquire
  return "#{decision.remaining} left" if decision.allowed?
  return "service busy" if decision.limiter == ALL.name

  "retry in #{decision.retry_after.ceil} s"
end

4.times { puts "ada (free): #{serve("ada", :free)}" }
puts "ada (team): #{serve("ada", :team)}" # -> ada (team): 6 left

PLANS[:free].override(limit: 5, expires_in: :hour, key: "bob")
answers = Array.new(6) { serve("bob", :free) }
served = answers.count { |answer| answer.end_with?("left") }
puts served # 5
puts serve("eve", :free) # -> 2 left
2.times { serve("eve", :free) }
puts serve("fay", :free) # -> service busy
