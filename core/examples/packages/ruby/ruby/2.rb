require "paddlegate/sidekiq"

module Sidekiq
  Limiter = Paddlegate::Sidekiq::Limiter
end

Sidekiq::Limiter.configure do |config|
  config.redis = { size: 10, url: ENV.fetch("PADDLEGATE_URL", "memory://") }
  config.errors << IOError                        # errors of other libraries by which jobs are rescheduled
  config.reschedule = 10                          # so often; 20 by default
end

ERP_LIMIT = Sidekiq::Limiter.concurrent("erp", 50, wait_timeout: 5, lock_timeout: 30)
ERP_LIMIT.within_limit { "call ERP" }
ERP_LIMIT.held                                    # also immediate, waited, wait_time, held_time, overages, reclaimed

lmt = Sidekiq::Limiter.points("shopify", 1000, 20)
lmt.within_limit(estimate: 200) { |handle| handle.points_used(50) }

begin
  Sidekiq::Limiter.bucket("mail", 1, :day).then { |mail| 2.times { mail.within_limit { "send" } } }
rescue Sidekiq::Limiter::OverLimit => e
  job = { "jid" => "b4a577edbcc", "args" => [1], "overrated" => 0 }
  Sidekiq::Limiter.next_reschedule(e.limiter, job, e) # 301 to 600 seconds; nil when the job gives up
end
Paddlegate.configure do |c|
  c.url = ENV.fetch("PADDLEGATE_URL", "memory://")
  c.timeout = 0.5                                 # every call has an answer or fails within it; default 1 s
end

local = Paddlegate::Store.new("memory://")        # this process only
local.window("login", 5, :minute).allow?
