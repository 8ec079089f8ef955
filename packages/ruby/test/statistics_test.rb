# frozen_string_literal: true

require_relative "helper"

# Statistics by label and by time, and that all is counted when a process ends.
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

  def test_refusals_by_label_and_the_histograms_of_waits_and_leases
    on_clocked do |store|
      at(0)
      limit = Paddlegate::Limit
      limiter = store.limiter(unique, rpm: limit.window(2, 60), workers: limit.concurrency(1))
      assert_equal [{}, [0] * 22], limiter.stats.to_h.values_at(:refused_by, :waits)
      wait_for_second(limiter)
      assert_equal :rpm, limiter.try_acquire.label
      limiter.pause(60)
      assert_equal :paused, limiter.try_acquire.reason
      stats = limiter.stats
      assert_equal [2, { "rpm" => 1 }], [stats.refused, stats.refused_by]
      assert_equal [1, 0.003, [0, 0, 1, *[0] * 19]], [stats.waited, stats.wait_time, stats.waits]
      assert_equal [stats.waits, 2, 2, 2],
                   [stats.holds, stats.near_limit, stats.units, stats.estimated_units]
      assert [stats, stats.refused_by, stats.waits, stats.holds].all?(&:frozen?)
      limiter.reset
    end
  end

  private

  # The second job waits for 3 ms.
  def wait_for_second(limiter)
    first = limiter.admit("first")
    assert_equal :wait, limiter.admit("second").action
    at(3_000)
    first.permit.release
    assert_equal :run, limiter.admit("second").action
  end
end
