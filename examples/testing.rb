# frozen_string_literal: true

# Code under a limit, tested without a server, without waiting and with the limit switched off.
# Guide: docs/src/guides/testing.md
require "paddlegate"

# The code that is tested: it takes its limiter as an argument.
class Mailer
  def initialize(limiter) = @limiter = limiter

  def deliver(letter)
    decision = @limiter.try_acquire
    decision.allowed? ? "sent #{letter}" : "later, in #{decision.retry_after.round} s"
  end
end

clock = Paddlegate::TestClock.new # moves only when the test moves it
store = Paddlegate::Store.new("memory://", clock: clock)

mailer = Mailer.new(store.window("mail", 1, :minute))
puts mailer.deliver("a") # -> sent a
clock.advance(1)
puts mailer.deliver("b") # -> later, in 59 s
clock.advance(59)
puts mailer.deliver("b") # -> sent b

puts Mailer.new(store.unlimited("mail")).deliver("c") # -> sent c
