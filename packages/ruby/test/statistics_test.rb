# frozen_string_literal: true

require_relative "helper"

# What a process counts itself is sent when it ends.
class StatisticsTest < Minitest::Test
  include Helper

  ENDS = {
    "the end of the program" => "burst",
    "exit" => "burst; exit",
    "a thread" => "Thread.new { burst }.join",
    "a closed store" => "burst; STORE.close",
    "a fork" => "API.peek; Process.wait(fork { burst })"
  }.freeze

  def test_all_is_counted_at_the_end_of_a_process
    ENDS.each do |what, program|
      name = unique("end")
      ruby(<<~RUBY)
        require "paddlegate"
        STORE = Paddlegate::Store.new("#{URL}", timeout: 20)
        API = STORE.bucket("#{name}", 3, "day")
        def burst
          5.times { API.allow? }
        end
        #{program}
      RUBY
      stats = redis.bucket(name, 3, "day").stats
      assert_equal [3, 2, 3], [stats.granted, stats.refused, stats.units], what
    end
  end
end
