# frozen_string_literal: true

module Paddlegate
  # The limiters of a store that were made last, by name: to make one takes as long as fifty
  # decisions in memory, and programs whose names come with the call, such as those of shops, ask
  # for one at each.
  # @api private
  class MadeLimiters
    # The most limiters that are kept; a store with more begins anew.
    MAX = 1_000

    Made = Struct.new(:limit, :options, :limiter)
    private_constant :Made

    def initialize
      @by_name = {}
    end

    # Returns the limiter of the name if it was made with these arguments; else the one that the
    # block makes. `limit` is a list of the factory itself.
    def get(name, limit, options)
      made = @by_name[name]
      return made.limiter if made && made.limit.eql?(limit) && made.options.eql?(options)

      limiter = yield
      # Other objects may change between two calls.
      if limit.all?(&:frozen?) && options.each_value.all?(&:frozen?)
        @by_name.clear if @by_name.size >= MAX
        @by_name[name] = Made.new(limit, options, limiter)
      end
      limiter
    end
  end
end
