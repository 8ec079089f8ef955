# frozen_string_literal: true

require "helper"

# What users' own tests take: memory under every limiter, and a clock.
class TestingTest < Minitest::Test
  include Helper

  PROGRAM = <<~RUBY
    A = Paddlegate.window("a", 1, :minute)
    STORE = Paddlegate::Store.new("redis://127.0.0.1:1", timeout: 0.1)
    KEYED = STORE.window("keyed", 1, :minute, keyed: true)
    ANN = KEYED.with_key("ann")
    BOTH = Paddlegate.together(A, Paddlegate.concurrent("leases", 2))
    DOCUMENT = { "limiters" => { "d" => { "window" => { "limit" => 1, "per" => "minute" } } } }
    D = Paddlegate.limiters_from_document(DOCUMENT).fetch("d")
    RUN = Paddlegate.conductor_limiter({ "name" => "n", "rateLimitConfig" => {
      "rateLimitKey" => "k", "concurrentExecLimit" => 1 } }, {})

    def of_one_test
      clock = Paddlegate::Testing.clock
      granted = [BOTH, A, ANN, KEYED.with_key("ann"), KEYED.with_key("ben"), D, D, RUN, RUN]
                .map { |limiter| limiter.try_acquire.allowed? }
      clock.advance(:minute)
      [*granted, A.allow?, KEYED.allow?(key: "ann"), D.allow?, Paddlegate.limiters.size,
       STORE.limiters.size, STORE.memory?, A.try_acquire.at_us - Paddlegate::Testing::BEGINNING]
    end
    EXPECTED = [true, false, true, false, true, true, false, true, false, true, true, true, 4, 1,
                true, 60_000_000].freeze
  RUBY

  def test_with_minitest_each_test_begins_anew
    output = ruby(<<~RUBY, "PADDLEGATE_URL" => "redis://127.0.0.1:1")
      require "minitest/autorun"
      require "paddlegate/testing/minitest"
      #{PROGRAM}
      class LimitsTest < Minitest::Test
        3.times { |number| define_method("test_\#{number}") { assert_equal EXPECTED, of_one_test } }
      end
    RUBY
    assert_includes output, "3 runs, 3 assertions, 0 failures, 0 errors, 0 skips"
  end

  def test_with_rspec_each_example_begins_anew
    output = ruby(<<~RUBY, "PADDLEGATE_URL" => "redis://127.0.0.1:1")
      $VERBOSE = false
      require "rspec/autorun"
      require "paddlegate/testing/rspec"
      #{PROGRAM}
      RSpec.describe "limits" do
        3.times { |number| it(number.to_s) { expect(of_one_test).to eq(EXPECTED) } }
      end
    RUBY
    assert_includes output, "3 examples, 0 failures"
  end

  def test_it_comes_before_the_program
    output = ruby(<<~RUBY)
      require "paddlegate"
      kept = Paddlegate::Store.new("memory://")
      begin
        require "paddlegate/testing"
      rescue RuntimeError => e
        puts e.message, kept.memory?
      end
    RUBY
    assert_includes output, "require paddlegate/testing before what makes limiters"
  end
end
