# frozen_string_literal: true

module Paddlegate
  # What a limiter that a store made was made of, beside its kind and the first two arguments. A
  # store keeps its limiters by name: to make one takes as long as fifty decisions in memory, and
  # programs whose names come with the call, such as those of shops, ask for one at each.
  # @api private
  class MadeLimiter
    # The most that a store keeps; with more it begins anew.
    MAX = 1_000

    # Adds a limiter to those of a store, unless its arguments may change until the next call.
    #
    # A factory compares the first values itself. The first argument is the count, which it compares
    # with `eql?`, since 1.0 is none; as a time it equals 1, and `==` is the fastest. The last value
    # is a {MadeLimiter}, or `nil` for a limiter without options and further arguments.
    def self.keep(by_name, name, limiter, options, kind, first, second, third = nil, fourth = nil)
      return unless [first, second, third, fourth, *options.values].all?(&:frozen?)

      more = new(options, third, fourth) unless third.nil? && fourth.nil? && options.empty?
      by_name.clear if by_name.size >= MAX
      by_name[name] = [limiter, kind, first, second, more].freeze
    end

    def initialize(options, third, fourth)
      @options = options
      @third = third
      @fourth = fourth
    end

    def of?(options, third = nil, fourth = nil)
      @third == third && @fourth == fourth && @options.eql?(options)
    end
  end
end
