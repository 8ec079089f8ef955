# frozen_string_literal: true

require "json"
require "paddlegate"

Paddlegate.configure { |config| config.timeout = 20 }
API = Paddlegate.window(ARGV.first, 20, 0.5)
$stdin.gets
left = { true => 30, false => 30 }
while left.values.max.positive?
  decision = API.try_acquire
  left[decision.allowed?] -= 1
  retry_us = decision.allowed? ? nil : (decision.retry_after * 1_000_000).round
  puts JSON.generate(at: decision.at_us, retry: retry_us)
  sleep 0.002
end
