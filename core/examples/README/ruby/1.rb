require "paddlegate"

Paddlegate.configure { |config| config.url = "redis://127.0.0.1:12845" }

API = Paddlegate.window("stripe", 100, :minute)
SHOP = Paddlegate.points("shopify-42", 1000, 20)
ERP = Paddlegate.concurrent("erp", 50)
BOTH = Paddlegate.limiter("github", concurrency: 5, window: [80, 60], throttle: 0.1)

ERP.within_limit { |permit| puts "call the erp for at most #{permit.expires_in} s" }
API.within_limit { puts "call stripe" }

SHOP.within_limit(estimate: 200) { |permit| permit.points_used(50) }

decision = BOTH.try_acquire
puts "#{decision.reason} refuses for #{decision.retry_after} s" unless decision.allowed?

begin
  API.acquire(cost: 90, wait_timeout: 0)
rescue Paddlegate::OverLimit => e
  puts "come back in #{e.retry_after} s"
end
