# frozen_string_literal: true

# Code under a limit, tested without a server, without waiting and with the limit switched off.
# Guide: docs/src/guides/testing.md
require "paddlegate"

# The code that is tested: it takes its limiter as an argument.
class Mailer
  def initialize(limiter) = @limiter = limiter

  def deliver(letter, **time)
    decision = @limiter.try_acquire(**time)
    decision.allowed? ? "sent #{letter}" : "later, in #{decision.retry_after.round} s"
  end
end

NOW = 1_700_000_000_000_000 # microseconds since 1970
store = Paddlegate::Store.new("memory://")

mailer = Mailer.new(store.window("mail", 1, :minute))
puts mailer.deliver("a", at_us: NOW) # -> sent a
puts mailer.deliver("b", at_us: NOW + 1_000_000) # -> later, in 59 s
puts mailer.deliver("b", at_us: NOW + 60_000_000) # -> sent b

puts Mailer.new(store.unlimited("mail")).deliver("c") # -> sent c
