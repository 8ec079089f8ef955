# frozen_string_literal: true

module Paddlegate
  # A page of the list of limiters, as {Factories#limiter_page} returns it. Frozen.
  #
  # `limiters`: a list of {LimiterInfo}, sorted by name. `cursor`: the cursor of the next page;
  # `nil` on the last page.
  LimiterPage = Struct.new(:limiters, :cursor)
end
