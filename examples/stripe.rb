# frozen_string_literal: true

# Charges under a rate and a concurrency limit. A refusal of Stripe pauses every process.
# Guide: docs/src/guides/stripe.md
require "paddlegate"

# A Stripe that refuses the third charge.
class Stripe
  Answer = Struct.new(:status, :headers, :body)

  def initialize = @asked = 0

  def charge
    @asked += 1
    return Answer.new(200, {}, "{}") unless @asked == 3

    Answer.new(429, { "Stripe-Rate-Limited-Reason" => "global-rate" }, "{}")
  end
end

STRIPE = Stripe.new
LIMIT = Paddlegate.limiter("stripe:live", concurrency: 20, leaky: [80, 1])

def charge
  LIMIT.within_limit do
    answer = STRIPE.charge
    LIMIT.learn_from_response(answer.headers, answer.body, status: answer.status, provider: :stripe)
    answer.status
  end
end

began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
puts Array.new(3) { charge }.join(" ") # -> 200 200 429
puts LIMIT.try_acquire.reason.inspect # :paused
puts charge # 200
puts Process.clock_gettime(Process::CLOCK_MONOTONIC) - began > 0.5 # -> true
