# frozen_string_literal: true

# A worker written for the limiters of Sidekiq Enterprise, unchanged, on Paddlegate.
# Guide: docs/src/guides/coming-from-sidekiq.md
require "paddlegate/sidekiq"

module Sidekiq
  Limiter = Paddlegate::Sidekiq::Limiter
end

ERP_LIMIT = Sidekiq::Limiter.concurrent("erp", 2, wait_timeout: 5, lock_timeout: 30)
STRIPE_LIMIT = Sidekiq::Limiter.bucket("stripe", 3, :day, wait_timeout: 0)

# As perform of a Sidekiq job.
def perform(number)
  ERP_LIMIT.within_limit { STRIPE_LIMIT.within_limit { "charged #{number}" } }
rescue Sidekiq::Limiter::OverLimit => e
  job = { "jid" => "j#{number}", "overrated" => 0 }
  seconds = Sidekiq::Limiter.next_reschedule(e.limiter, job, e)
  seconds ? "rescheduled" : "gave up"
end

puts Array.new(4) { |number| perform(number) }.join(", ")
puts perform(5) # -> rescheduled
puts ERP_LIMIT.held # 5
