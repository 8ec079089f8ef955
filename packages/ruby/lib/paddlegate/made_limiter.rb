# frozen_string_literal: true

module Paddlegate
  # A limiter that a store made, and what it was made of. A store keeps them by name: to make one
  # takes as long as fifty decisions in memory, and programs whose names come with the call, such as
  # those of shops, ask for one at each.
  # @api private
  class MadeLimiter
    # The most that a store keeps; with more it begins anew.
    MAX = 1_000

    attr_reader :limiter

    def initialize(limiter, options, kind, first, second, third = nil, fourth = nil)
      @limiter = limiter
      @options = options
      @kind = kind
      @first = first
      @second = second
      @third = third
      @fourth = fourth
    end

    # The first is the count, and 1.0 is none. As a time it equals 1, and `==` is the fastest.
    def of?(options, kind, first, second, third, fourth)
      @first.eql?(first) && @kind == kind && @second == second && @third == third &&
        @fourth == fourth && @options.eql?(options)
    end

    # Adds it to those of a store, unless its arguments may change until the next call.
    def keep(name, by_name)
      return unless [@first, @second, @third, @fourth, *@options.values].all?(&:frozen?)

      by_name.clear if by_name.size >= MAX
      by_name[name] = self
    end
  end
end
